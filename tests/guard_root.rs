//! A folder that paths cannot leave, on a real file system.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use tinymcp::ToolError;
use tinymcp::guard::{FileKind, Root, RootError, RootErrorKind};

/// A folder `in` and one `out` beside it, which has a secret; both are removed at the end.
struct Place {
    home: PathBuf,
    root: Root,
}

impl Place {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let home = env::temp_dir().join(format!("tinymcp-guard-{}-{count}", std::process::id()));
        fs::create_dir_all(home.join("out")).expect("a folder");
        fs::write(home.join("out/secret"), "secret").expect("written");
        let root = Root::create(home.join("in")).expect("a root");
        Self { home, root }
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.home.join("in").join(path)
    }

    /// The names in the folder outside.
    fn outside(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.join("out")).expect("a folder");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }

    #[cfg(unix)]
    fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.inside(name)).expect("a link");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}

fn kind<T: std::fmt::Debug>(result: Result<T, RootError>) -> RootErrorKind {
    result.expect_err("an error").kind()
}

#[test]
fn files_are_written_read_listed_and_removed() {
    let place = Place::new();
    let root = &place.root;
    root.create_dir_all("a/b").expect("made");
    root.create_dir_all("a/b").expect("there already");
    root.write("a/b/one.txt", "1").expect("new");
    root.write("./a//b/../b/one.txt", "one").expect("replaced");
    assert_eq!(root.read_to_string("a/b/one.txt").expect("text"), "one");
    root.create_new("two.bin", [0xff, 0]).expect("new");
    assert_eq!(kind(root.create_new("two.bin", "")), RootErrorKind::Exists);
    assert_eq!(root.read("two.bin").expect("bytes"), [0xff, 0]);
    assert_eq!(kind(root.read_to_string("two.bin")), RootErrorKind::NotText);

    root.append_file("log").expect("new").write_all(b"a").expect("written");
    root.append_file("log").expect("there").write_all(b"b").expect("written");
    let mut text = String::new();
    root.open_file("log").expect("there").read_to_string(&mut text).expect("text");
    assert_eq!(text, "ab");

    let metadata = root.metadata("log").expect("there");
    assert_eq!((metadata.kind, metadata.len, metadata.is_read_only), (FileKind::File, 2, false));
    assert!(metadata.modified.is_some());
    assert_eq!(root.metadata(".").expect("itself").kind, FileKind::Folder);
    assert!(root.exists("a/b").expect("known") && !root.exists("a/c").expect("known"));

    let names = |path: &str| -> Vec<_> {
        let entries = root.read_dir(path).expect("a folder");
        entries.into_iter().map(|entry| entry.path.display().to_string()).collect()
    };
    assert_eq!(names("."), ["a", "log", "two.bin"]);
    assert_eq!(names("a/b"), ["a/b/one.txt"]);
    let walk = root.walk("a").expect("a folder");
    let walked: Vec<_> =
        walk.entries.iter().map(|entry| (entry.path.to_str(), entry.kind, entry.len)).collect();
    assert_eq!(walked[1], (Some("a/b/one.txt"), FileKind::File, 3));
    assert!(walked.len() == 2 && walk.unread.is_empty());

    root.rename("a/b/one.txt", "three.txt").expect("renamed");
    root.remove_file("three.txt").expect("removed");
    root.remove_dir("a/b").expect("removed");
    assert_eq!(kind(root.remove_file("a")), RootErrorKind::NotAFile);
    assert_eq!(names("."), ["a", "log", "two.bin"], "and nothing temporary is left");

    let below = root.subfolder("a").expect("a folder");
    below.write("x", "y").expect("written");
    assert_eq!(root.read("a/x").expect("there"), b"y");
    assert_eq!(kind(below.read("../log")), RootErrorKind::BadPath);
}

/// Everything that takes a path, by name.
fn attempts(root: &Root, path: &str) -> Vec<(&'static str, Result<(), RootError>)> {
    vec![
        ("read", root.read(path).map(drop)),
        ("read_to_string", root.read_to_string(path).map(drop)),
        ("open_file", root.open_file(path).map(drop)),
        ("metadata", root.metadata(path).map(drop)),
        ("exists", root.exists(path).map(drop)),
        ("read_dir", root.read_dir(path).map(drop)),
        ("walk", root.walk(path).map(drop)),
        ("subfolder", root.subfolder(path).map(drop)),
        ("write", root.write(path, "bad")),
        ("create_new", root.create_new(path, "bad")),
        ("append_file", root.append_file(path).map(drop)),
        ("create_dir_all", root.create_dir_all(path)),
        ("remove_file", root.remove_file(path)),
        ("remove_dir", root.remove_dir(path)),
        ("rename from", root.rename(path, "renamed")),
        ("rename to", root.rename("own", path)),
    ]
}

#[test]
fn no_text_leads_out() {
    let place = Place::new();
    place.root.write("own", "own").expect("written");
    let absolute = place.home.join("out/secret").display().to_string();
    for path in [
        "../out/secret",
        "a/../../out/secret",
        "..",
        "/",
        &absolute,
        "",
        "own\0",
        "..\\out\\secret",
        "C:own",
        "nul",
    ] {
        for (what, result) in attempts(&place.root, path) {
            let error = result.expect_err(what);
            assert_eq!(error.kind(), RootErrorKind::BadPath, "{what} {path:?}: {error}");
            let told = error.path().replace("\\u{0}", "\0");
            assert_eq!(told, path, "{what}: {error}");
        }
    }
    assert_eq!(place.outside(), ["secret"]);
    assert_eq!(place.root.read("own").expect("left alone"), b"own");
}

#[test]
#[cfg(unix)]
fn no_link_leads_out() {
    let place = Place::new();
    let root = &place.root;
    root.write("own", "own").expect("written");
    place.link("../out", "up");
    place.link(place.home.join("out"), "absolute");
    place.link("/proc/self/root", "magic");
    place.link("up", "chain");
    place.link("../in/../out/secret", "file");
    place.link("../out/new", "dangling");
    let home = place.home.display().to_string();
    for path in ["up/secret", "absolute/secret", "chain/secret", "magic/etc", "up/new", "absolute/deep/new"] {
        for (what, result) in attempts(root, path) {
            let error = result.expect_err(what);
            assert_eq!(error.kind(), RootErrorKind::Outside, "{what} {path}: {error}");
            assert!(!format!("{error:?}").contains(&home), "{error:?}");
        }
    }
    // The last part itself: what is of the link and not of its target is done to the link, which is inside.
    for (path, target) in [("file", "../in/../out/secret"), ("dangling", "../out/new"), ("up", "../out")] {
        for (what, result) in attempts(root, path) {
            let is_of_the_link = ["remove_file", "rename from", "rename to"].contains(&what);
            assert!(result.is_err() || is_of_the_link, "{what} {path}");
            let _ = fs::remove_file(place.inside(path));
            place.link(target, path);
            root.write("own", "own").expect("written");
        }
    }
    assert_eq!(place.outside(), ["secret"]);
    assert_eq!(fs::read(place.home.join("out/secret")).expect("there"), b"secret");
}

#[test]
#[cfg(unix)]
fn links_that_stay_inside_are_followed_but_not_by_a_walk() {
    let place = Place::new();
    let root = &place.root;
    root.create_dir_all("real").expect("made");
    root.write("real/file", "old").expect("written");
    place.link("real", "folder");
    place.link("real/file", "file");
    place.link(".", "cycle");
    place.link("../out", "out");
    assert_eq!(root.read("cycle/cycle/folder/file").expect("read"), b"old");
    root.write("file", "new").expect("written");
    assert_eq!(root.read("real/file").expect("read"), b"new");
    assert!(fs::symlink_metadata(place.inside("file")).expect("there").is_symlink(), "the link stays");
    let walk = root.walk(".").expect("a walk");
    let links: Vec<_> = walk.entries.iter().filter(|entry| entry.kind == FileKind::Link).collect();
    assert_eq!((walk.entries.len(), links.len()), (6, 4), "{walk:?}");
    root.remove_file("cycle").expect("the link is removed");
    assert!(root.exists("real/file").expect("known"));
    place.link("loop", "loop");
    assert_eq!(kind(root.read("loop")), RootErrorKind::System);
}

/// A link is turned outwards and back, and a folder is put away for a link, while others read and write through them.
#[test]
#[cfg(unix)]
fn a_link_that_is_swapped_in_between_leads_nowhere() {
    let place = Place::new();
    let root = &place.root;
    for folder in ["folder", "real"] {
        root.create_dir_all(folder).expect("made");
        root.write(format!("{folder}/secret"), "mine").expect("written");
    }
    place.link("real", "turning");
    place.link("../out", "outwards");
    let is_over = AtomicBool::new(false);
    let [within, outside, writes] = [0; 3].map(AtomicUsize::new);
    let until = Instant::now() + Duration::from_millis(800);
    thread::scope(|scope| {
        scope.spawn(|| {
            let [turning, next] = ["turning", "next"].map(|name| place.inside(name));
            let [folder, parked, outwards] = ["folder", "parked", "outwards"].map(|name| place.inside(name));
            while !is_over.load(Ordering::Relaxed) {
                for target in ["../out", "real"] {
                    place.link(target, "next");
                    fs::rename(&next, &turning).expect("turned");
                }
                fs::rename(&folder, &parked).expect("parked");
                fs::rename(&outwards, &folder).expect("the link in its place");
                fs::rename(&folder, &outwards).expect("and away");
                fs::rename(&parked, &folder).expect("and back");
            }
        });
        for path in ["turning/secret", "folder/secret"] {
            let (within, outside) = (&within, &outside);
            scope.spawn(move || {
                while Instant::now() < until {
                    let count = match root.read(path) {
                        Ok(text) => {
                            assert_eq!(text, b"mine");
                            within
                        }
                        Err(e) => {
                            let is_fine =
                                matches!(e.kind(), RootErrorKind::Outside | RootErrorKind::NotFound);
                            assert!(is_fine, "{e:?}");
                            outside
                        }
                    };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            let mut count = 0;
            while Instant::now() < until {
                count += 1;
                for folder in ["turning", "folder"] {
                    // Each works or does not: what counts is what is outside at the end.
                    let _ = root.write(format!("{folder}/new"), "x");
                    let _ = root.create_new(format!("{folder}/new{count}"), "x");
                    let _ = root.append_file(format!("{folder}/log")).map(|mut file| file.write_all(b"x"));
                    let _ = root.rename(format!("{folder}/new"), format!("{folder}/moved"));
                    let _ = root.remove_file(format!("{folder}/new{count}"));
                }
                let _ = root.create_dir_all(format!("turning/made{count}"));
                writes.fetch_add(1, Ordering::Relaxed);
            }
            is_over.store(true, Ordering::Relaxed);
        });
    });
    let counts = [within, outside, writes].map(AtomicUsize::into_inner);
    assert!(counts.iter().all(|count| *count > 5), "{counts:?}");
    assert_eq!(place.outside(), ["secret"]);
    assert_eq!(fs::read(place.home.join("out/secret")).expect("there"), b"secret");
}

#[test]
#[cfg(unix)]
fn what_is_no_file_does_not_hang() {
    let place = Place::new();
    let root = &place.root;
    let made = std::process::Command::new("mkfifo").arg(place.inside("pipe")).status().expect("mkfifo");
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(place.inside("socket")).expect("a socket");
    let started = Instant::now();
    for path in ["pipe", "socket"] {
        assert_eq!(kind(root.read(path)), RootErrorKind::NotAFile);
        assert_eq!(kind(root.open_file(path)), RootErrorKind::NotAFile);
        assert_eq!(kind(root.write(path, "x")), RootErrorKind::NotAFile);
        assert_eq!(kind(root.append_file(path)), RootErrorKind::NotAFile);
    }
    root.create_dir_all("folder").expect("made");
    for path in ["folder", "."] {
        assert_eq!(kind(root.read(path)), RootErrorKind::NotAFile);
        assert_eq!(kind(root.write(path, "x")), RootErrorKind::NotAFile);
    }
    assert!(started.elapsed() < Duration::from_secs(5));
    // Devices cannot be made here by everyone; those of the system are there.
    let devices = Root::open("/dev").expect("a folder");
    assert_eq!(kind(devices.read("zero")), RootErrorKind::NotAFile);
    assert_eq!(kind(devices.read("null")), RootErrorKind::NotAFile);
}

#[test]
fn limits_hold() {
    let place = Place::new();
    let root = place.root.clone().max_file_bytes(10).max_entries(3);
    root.write("ten", "0123456789").expect("just fits");
    assert_eq!(root.read("ten").expect("just fits").len(), 10);
    assert_eq!(kind(root.write("ten", "0123456789a")), RootErrorKind::TooLarge);
    fs::write(place.inside("big"), "0123456789a").expect("written");
    let error = root.read("big").expect_err("too large");
    assert_eq!(error.to_string(), "big: more than 10 bytes");
    assert!(root.open_file("big").is_ok(), "the program reads as it likes");

    assert_eq!(root.walk(".").expect("few").entries.len(), 2);
    root.create_dir_all("folder").expect("made");
    assert_eq!(root.walk(".").expect("just fits").entries.len(), 3);
    root.write("folder/one", "").expect("written");
    assert_eq!(root.walk(".").expect_err("too many").to_string(), ".: more than 3 entries");
    assert_eq!(root.read_dir(".").expect("three").len(), 3);
    root.write("more", "").expect("written");
    assert_eq!(kind(root.read_dir(".")), RootErrorKind::TooMany);

    let deep = "d/".repeat(70);
    place.root.create_dir_all(&deep).expect("made");
    let walk = place.root.walk("d").expect("a walk");
    assert_eq!((walk.entries.len(), walk.unread.len()), (64, 1), "{:?}", walk.unread);
}

/// In /proc, which has files that say they are empty.
#[test]
#[cfg(target_os = "linux")]
fn a_file_without_a_size_is_read_up_to_the_limit() {
    let root = Root::open("/proc/self").expect("a folder").read_only();
    assert!(root.read_to_string("status").expect("text").contains("VmRSS"));
    assert_eq!(kind(root.max_file_bytes(10).read("status")), RootErrorKind::TooLarge);
}

#[test]
fn a_read_only_root_changes_nothing() {
    let place = Place::new();
    place.root.write("own", "own").expect("written");
    let root = place.root.clone().read_only();
    assert_eq!(root.read("own").expect("readable"), b"own");
    let changes =
        ["write", "create_new", "append_file", "create_dir_all", "remove_file", "remove_dir", "rename from"];
    for (what, result) in attempts(&root, "own") {
        if changes.contains(&what) {
            let error = result.expect_err(what);
            assert_eq!(error.to_string(), "own: the folder is read-only", "{what}");
        }
    }
    assert_eq!(kind(root.subfolder(".").expect("itself").write("x", "")), RootErrorKind::ReadOnly);
    assert_eq!(place.root.read_dir(".").expect("a folder").len(), 1);
}

/// Half a file is never seen, and a new one is there once.
#[test]
fn a_file_is_replaced_as_a_whole() {
    let place = Place::new();
    let root = &place.root;
    let texts = [b'a', b'b'].map(|byte| vec![byte; 100_000]);
    root.write("file", &texts[0]).expect("written");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..60 {
                root.write("file", &texts[round % 2]).expect("written");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let text = root.read("file").expect("always there");
                assert!(texts.contains(&text), "a mixture of {} bytes", text.len());
            }
        });
        let makers: Vec<_> =
            (0..4).map(|n| scope.spawn(move || root.create_new("once", n.to_string()).is_ok())).collect();
        let made = makers.into_iter().filter_map(|maker| maker.join().ok()).filter(|made| *made).count();
        assert_eq!(made, 1);
    });
    assert_eq!(root.read_dir(".").expect("a folder").len(), 2, "nothing temporary is left");
}

#[test]
#[cfg(unix)]
fn permissions_are_kept() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let mode = || fs::metadata(place.inside("file")).expect("there").permissions().mode() & 0o777;
    place.root.write("file", "old").expect("written");
    fs::set_permissions(place.inside("file"), fs::Permissions::from_mode(0o640)).expect("set");
    place.root.write("file", "new").expect("written");
    assert_eq!(mode(), 0o640);
    fs::set_permissions(place.inside("file"), fs::Permissions::from_mode(0o440)).expect("set");
    assert_eq!(kind(place.root.write("file", "newer")), RootErrorKind::ReadOnly);
    assert!(place.root.metadata("file").expect("there").is_read_only);
    assert_eq!(place.root.read("file").expect("there"), b"new");
}

#[test]
fn errors_tell_what_was_given_and_not_where_it_is() {
    let place = Place::new();
    let home = place.home.display().to_string();
    let root = &place.root;
    assert!(!format!("{root:?}").contains(&home));
    for (result, text) in [
        (root.read("no/such").map(drop), "no/such: not found"),
        (root.write("no/such", ""), "no/such: its folder is missing"),
        (root.rename("gone", "new"), "gone: not found"),
        (root.read("a\n\u{1b}[2Jb").map(drop), "a\\u{a}\\u{1b}[2Jb: the path has a control character"),
        (root.remove_dir("."), ".: that is the folder itself"),
    ] {
        let error = ToolError::from(result.expect_err("an error"));
        assert_eq!(error.to_string(), text);
    }
    let told = root.clone().show_location().read("gone").expect_err("an error").to_string();
    let location = root.location().display().to_string();
    assert_eq!(told, format!("gone: not found (in {location})"));
    let error = std::io::Error::from(root.read("gone").expect_err("an error"));
    assert_eq!(
        (error.kind(), error.to_string()),
        (std::io::ErrorKind::NotFound, "gone: not found".to_owned())
    );
    let error = Root::open(place.home.join("nowhere")).expect_err("an error");
    assert_eq!(error.kind(), RootErrorKind::NotFound);
}

#[test]
fn file_uris_mean_paths_inside_alone() {
    let place = Place::new();
    let root = &place.root;
    let base = root.uri(".").expect("a URI");
    for (uri, want) in [
        (root.uri("a b/100%.txt").expect("a URI"), "a b/100%.txt"),
        (base.clone(), "."),
        (format!("{base}/"), "."),
        (base.replacen("file://", "FILE://localhost", 1), "."),
        (base.replacen("file://", "file:", 1) + "/x", "x"),
        (format!("{base}/%252e%252e"), "%2e%2e"),
    ] {
        assert_eq!(root.relative_uri(&uri).expect("inside"), Path::new(want), "{uri}");
    }
    for uri in [
        format!("{base}/../out/secret"),
        format!("{base}/%2e%2e/out/secret"),
        format!("{base}/..%2fout"),
        format!("{base}/a%00"),
        format!("{base}/a%"),
        format!("{base}/a%zz"),
        format!("{base}/a%ff"),
        format!("{base}x/a"),
        format!("{base}/a?b"),
        format!("{base}/a#b"),
        "file:///etc/passwd".to_owned(),
        "file://host/etc".to_owned(),
        "file:a".to_owned(),
        "http://a/".to_owned(),
        "ü".to_owned(),
        String::new(),
    ] {
        assert_eq!(kind(root.relative_uri(&uri)), RootErrorKind::BadPath, "{uri}");
    }
}

#[test]
#[cfg(unix)]
fn native_names_are_those_of_this_system() {
    let place = Place::new();
    let root = place.root.clone().native_names();
    for name in ["nul", "12:30", "a\\b", "end.", "line\nbreak"] {
        assert_eq!(kind(place.root.write(name, "")), RootErrorKind::BadPath);
        root.write(name, name).expect("written");
        assert_eq!(root.read_to_string(name).expect("read"), name);
    }
    assert_eq!(kind(root.read("../out/secret")), RootErrorKind::BadPath);
}
