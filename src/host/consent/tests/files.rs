//! The file of grants.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// A folder that is removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tinymcp-grants-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("grants.json")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(path: &Path) -> Grants {
    Grants::open(path).expect("a file of grants")
}

/// A host of its own, whose user always says yes.
fn agreed(grants: &Grants, tools: &[&str]) {
    let user = User::who_says(&vec![Answer::Always; tools.len()]);
    let gate = asks(&user, grants);
    for name in tools {
        call(&gate, "s", &tool(name, "")).expect("yes");
    }
}

fn tools_of(grants: &Grants) -> Vec<String> {
    grants.list().expect("readable").into_iter().filter_map(|grant| grant.tool).collect()
}

fn is_granted(grants: &Grants, name: &str) -> bool {
    call(&asks(&User::default(), grants), "s", &tool(name, "")).is_ok()
}

#[test]
fn what_is_always_allowed_outlives_the_process() {
    let folder = Folder::new("always");
    // The folder is made as well.
    let file = folder.0.join("a/b/grants.json");
    agreed(&open(&file), &["t", "u"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&folder.0.join("a"))), (0o600, 0o700));
    }
    let grants = open(&file);
    let user = User::default();
    let permit = call(&asks(&user, &grants), "s", &tool("t", "")).expect("granted");
    assert_eq!((permit.reason(), user.asked().len()), ("the user said yes, always", 0));
    // What was agreed to is in it, to show what has changed.
    denied(call(&asks(&user, &grants), "s", &tool("t", "now it does more")));
    let change = user.asked().remove(0).change.expect("it is another");
    assert!(change.contains("+   \"description\": \"now it does more\""), "{change}");
    assert!(
        grants.list().expect("readable").iter().all(|grant| grant.is_kept && grant.since > 1_600_000_000)
    );
    assert_eq!(grants.revoke_tool("s", "t").expect("written"), 1 + 1);
    assert!(permit.was_revoked());
    assert_eq!(tools_of(&open(&file)), ["u"]);
}

#[test]
fn what_one_process_takes_back_another_does_not_bring_back() {
    let folder = Folder::new("lost");
    let (one, other) = (open(&folder.file()), open(&folder.file()));
    agreed(&one, &["t"]);
    // The other has read it,
    assert!(is_granted(&other, "t"));
    one.revoke_tool("s", "t").expect("written");
    // sees that it is gone, and does not write what it had read.
    assert!(!is_granted(&other, "t"));
    agreed(&other, &["u"]);
    assert_eq!((tools_of(&one), tools_of(&other)), (vec!["u".to_owned()], vec!["u".to_owned()]));
}

#[test]
fn many_write_at_once_and_nothing_is_lost() {
    let folder = Folder::new("many");
    agreed(&open(&folder.file()), &["gone"]);
    let file = folder.file();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let file = &file;
            scope.spawn(move || {
                let grants = open(file);
                for i in 0..10 {
                    agreed(&grants, &[&format!("t{writer}-{i}")]);
                    if i == 5 {
                        grants.revoke_tool("s", "gone").expect("written");
                        grants.revoke_tool("s", &format!("t{writer}-0")).expect("written");
                    }
                }
            });
        }
    });
    let mut tools = tools_of(&open(&file));
    tools.sort();
    let mut wanted: Vec<_> = (0..4).flat_map(|w| (1..10).map(move |i| format!("t{w}-{i}"))).collect();
    wanted.sort();
    assert_eq!(tools, wanted);
    assert!(folder.names().iter().all(|name| !name.contains("new-")), "{:?}", folder.names());
}

#[test]
fn a_writer_that_is_killed_leaves_the_old_file_and_the_next_clears_up() {
    let folder = Folder::new("killed");
    agreed(&open(&folder.file()), &["t"]);
    // Between writing and renaming.
    fs::write(folder.0.join("grants.json.new-999999-0"), "{\"version\":1,\"gra").expect("written");
    let grants = open(&folder.file());
    assert_eq!(tools_of(&grants), ["t"]);
    // One of this very process that has the same number does not matter either.
    let own = format!("grants.json.new-{}-0", std::process::id());
    fs::write(folder.0.join(own), "").expect("written");
    agreed(&grants, &["u"]);
    assert_eq!(tools_of(&open(&folder.file())), ["t", "u"]);
    assert!(folder.names().iter().all(|name| !name.contains("new-")), "{:?}", folder.names());
}

#[test]
fn what_is_no_file_of_grants_grants_nothing_and_is_kept() {
    let folder = Folder::new("broken");
    let file = folder.file();
    let whole = {
        agreed(&open(&file), &["t"]);
        fs::read_to_string(&file).expect("text")
    };
    let opened = open(&file);
    for broken in [
        "",
        "null",
        "[]",
        "{}",
        &whole[..whole.len() / 2],
        &whole.replace("\"version\": 1", "\"version\": 2"),
        &whole.replace("\"call\"", "\"everything\""),
        &whole.replace("\"server\"", "\"sever\""),
        &format!("{whole}{whole}"),
        "\u{0}\u{0}",
    ] {
        fs::write(&file, broken).expect("written");
        let error = Grants::open(&file).expect_err(broken).to_string();
        assert!(error.contains("grants.json") && error.contains("no file of grants"), "{error}");
        // One that was whole when it was opened: the user is asked, and told why.
        assert!(opened.list().is_err());
        let user = User::who_says(&[Answer::Always]);
        let (gate, told) =
            gatekeeper(Rules::new(), Some(Arc::new(user.clone())), &opened, AskLimits::default());
        call(&gate, "s", &tool("t", "")).expect("the user says yes");
        assert_eq!(user.asked().len(), 1);
        let told = told.lock().expect("no panic").clone();
        assert!(
            told[0].contains("what was agreed to before is not known") && told[1].contains("is not kept"),
            "{told:?}"
        );
        // It is remembered for the session, as it cannot be kept.
        call(&gate, "s", &tool("t", "")).expect("for the session");
        assert_eq!(fs::read_to_string(&file).expect("text"), broken);
        assert!(opened.revoke_all().is_err());
        denied(call(&gate, "s", &tool("t", "")));
    }
    // Whole again, and yet nothing that was taken back meanwhile.
    fs::write(&file, &whole).expect("written");
    assert!(!is_granted(&opened, "t") && tools_of(&opened).is_empty());
    agreed(&opened, &["u"]);
    assert_eq!((tools_of(&opened), tools_of(&open(&file))), (vec!["u".to_owned()], vec!["u".to_owned()]));
}

#[cfg(unix)]
#[test]
fn a_link_leads_to_the_file() {
    let folder = Folder::new("link");
    let (real, link) = (folder.0.join("real.json"), folder.file());
    agreed(&open(&real), &["t"]);
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    let grants = open(&link);
    agreed(&grants, &["u"]);
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert_eq!(tools_of(&open(&real)), ["t", "u"]);
    assert!(Grants::open(&folder.0).is_err());
}

#[test]
fn a_start_is_allowed_as_it_was_shown() {
    use crate::host::config::ServerEntry;
    let folder = Folder::new("start");
    let entry = |file: &str, arg: &str| {
        let mut entry = ServerEntry::command("s", "npx", [arg]);
        entry.source = Some(file.into());
        entry
    };
    let user = User::who_says(&[Answer::Always, Answer::Always, Answer::Session]);
    let gate = asks(&user, &open(&folder.file()));
    let start = |entry: &ServerEntry| gate.permit(&Subject::start(entry, &entry.canonical()), None).map(drop);
    let (one, other) = (entry("/one.json", "good"), entry("/other.json", "good"));
    start(&one).expect("yes");
    start(&other).expect("yes");
    // Servers of one name in two files do not stand in each other's way.
    start(&one).expect("as before");
    start(&other).expect("as before");
    assert_eq!(user.asked().len(), 2);
    let changed = entry("/one.json", "evil");
    start(&changed).expect("yes");
    let question = user.asked().remove(0);
    let change = question.change.expect("another command");
    assert!(change.contains("-     \"good\"") && change.contains("+     \"evil\""), "{change}");
    assert!(question.summary.ends_with("npx evil"));
    start(&changed).expect("for the session");
    // Calls are another matter.
    denied(call(&gate, "s", &tool("start", "")));
}
