//! The audit log: what is written when, what is hidden, what comes of a disk that is full and of a process that is killed.

#![allow(clippy::print_stdout, reason = "the child talks to its test, and figures are shown on demand")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::Error;
use tinymcp::host::audit::{
    Account, AuditLog, AuditSink, Ended, Fsync, Intent, Kind, LineKind, OnFailure, Outcome, Redaction,
};
use tinymcp::json::Json;
use tinymcp::protocol::{CallToolResult, Implementation};

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

fn folder() -> Folder {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let number = FOLDERS.fetch_add(1, SeqCst);
    let path = std::env::temp_dir().join(format!("tinymcp-audit-{}-{number}", std::process::id()));
    fs::create_dir_all(&path).expect("a folder");
    Folder(path)
}

impl Folder {
    fn file(&self) -> PathBuf {
        self.0.join("audit.jsonl")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("text");
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is torn: {text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

fn accounts(path: &Path) -> Vec<Account> {
    AuditLog::read_all(path).expect("opens").explain().collect::<io::Result<_>>().expect("reads")
}

fn parsed(value: &Value) -> Json {
    Json::from(value)
}

#[test]
fn an_intent_is_written_before_and_an_outcome_after() {
    let folder = folder();
    let log = AuditLog::builder().program("tests").create(folder.file()).expect("a log");
    let identity = Implementation::new("notes-server", "1.2.0");
    let arguments = parsed(&json!({"title": "Plan", "n": 1}));
    let intent = Intent::call("notes", "create_note")
        .with_identity(&identity)
        .with_arguments(&arguments)
        .with_allowed("rule allow notes/*");
    let entry = log.intent(&intent).expect("written");

    let written = lines(&folder.file());
    assert_eq!(written.len(), 2);
    assert_eq!(written[0]["type"], "header");
    assert_eq!((&written[0]["format"], &written[0]["version"]), (&json!("tinymcp-audit"), &json!(1)));
    assert_eq!((&written[0]["pid"], &written[0]["program"]), (&json!(std::process::id()), &json!("tests")));
    let before = &written[1];
    assert_eq!(before["id"], entry.id());
    for (member, want) in [
        ("type", json!("intent")),
        ("kind", json!("call")),
        ("server", json!("notes")),
        ("tool", json!("create_note")),
        ("identity", json!({"name": "notes-server", "version": "1.2.0"})),
        ("allowed", json!("rule allow notes/*")),
        ("arguments", json!({"title": "Plan", "n": 1})),
        ("arguments_bytes", json!(arguments.as_str().len())),
    ] {
        assert_eq!(before[member], want, "{member}");
    }
    let time = before["time"].as_str().expect("a time");
    assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
    assert!(before["ms"].is_f64());

    entry.outcome(&Outcome::of_call(&Ok(CallToolResult::text("done"))));
    let after = lines(&folder.file()).pop().expect("a line");
    assert_eq!(
        (&after["type"], &after["id"], &after["outcome"]),
        (&json!("outcome"), &before["id"], &json!("ok"))
    );
    assert_eq!(after["result"], json!({"content": [{"type": "text", "text": "done"}]}));
    assert!(after["took_ms"].is_f64() && after["result_bytes"].is_u64());
}

#[test]
fn every_kind_and_every_end_is_read_as_it_was_written() {
    let folder = folder();
    let log = AuditLog::open(folder.file()).expect("a log");
    let kinds = [
        (Kind::Start, "target"),
        (Kind::Call, "tool"),
        (Kind::Read, "uri"),
        (Kind::Prompt, "prompt"),
        (Kind::Sample, "target"),
        (Kind::Elicit, "target"),
        (Kind::Consent, "target"),
        (Kind::Restart, "target"),
        (Kind::State, "target"),
    ];
    for (kind, _) in kinds {
        let intent = Intent::new(kind).with_server("s").with_target("what").with_detail("more");
        log.intent(&intent).expect("written").outcome(&Outcome::ok().with_result("r"));
    }
    for ((kind, key), account) in kinds.into_iter().zip(accounts(&folder.file())) {
        assert_eq!(account.kind(), Some(kind));
        assert_eq!(
            (account.server(), account.target(), account.ended()),
            (Some("s"), Some("what"), Ended::Ok)
        );
        assert_eq!(account.intent().expect("an intent").text(key).as_deref(), Some("what"));
        assert_eq!(account.outcome().expect("an outcome").text("result").as_deref(), Some("r"));
    }
    let before = accounts(&folder.file()).len();
    let busy = Error::Busy("64 requests in flight".into());
    let ends = [
        (Outcome::of_call(&Ok(CallToolResult::error("no"))), Ended::ToolError),
        (Outcome::denied("by the user"), Ended::Denied),
        (Outcome::failed(&Error::Denied("by a rule".into())), Ended::Denied),
        (Outcome::failed(&busy), Ended::Error),
        (Outcome::unknown("the connection broke"), Ended::Unknown),
    ];
    let wanted: Vec<_> = ends.iter().map(|(outcome, ended)| (outcome.ended(), *ended)).collect();
    for (outcome, _) in &ends {
        log.intent(&Intent::call("s", "t")).expect("written").outcome(outcome);
    }
    drop(log.intent(&Intent::call("s", "dropped")).expect("written"));
    log.event(&Intent::new(Kind::State).with_server("s").with_detail("ready")).expect("written");
    let read = accounts(&folder.file()).split_off(before);
    for (account, (told, wanted)) in read.iter().zip(wanted) {
        assert_eq!((account.ended(), told), (wanted, wanted));
    }
    let failed = read[3].outcome().expect("an outcome");
    assert_eq!(failed.text("error_kind").as_deref(), Some("busy"));
    assert_eq!(failed.text("error").as_deref(), Some("busy: 64 requests in flight"));
    assert_eq!((read[5].ended(), read[5].target()), (Ended::Unknown, Some("dropped")));
    let event = &read[6];
    assert_eq!(
        (event.kind(), event.ended(), event.outcome().is_none()),
        (Some(Kind::State), Ended::Ok, true)
    );
    let text = read[3].to_string();
    assert!(
        text.contains(" call s/t: error after ") && text.ends_with(": busy: 64 requests in flight"),
        "{text}"
    );
}

#[test]
fn what_is_secret_is_hidden_everywhere() {
    let folder = folder();
    let redaction = Redaction::new().with_key("pin").with_glob("acct-*");
    let log = AuditLog::builder().redaction(redaction).open(folder.file()).expect("a log");
    log.hide("hunter2-from-env").expect("room");
    let arguments = parsed(
        &json!({"Api-Key": "SECRET1", "nested": [{"pin": 12345}], "note": "acct-SECRET2", "x": "hunter2-from-env"}),
    );
    let intent = Intent::call("s", "t")
        .with_arguments(&arguments)
        .with_allowed("rule for acct-SECRET3")
        .with_detail("password=SECRET4 hunter2-from-env");
    let entry = log.intent(&intent).expect("written");
    let result = CallToolResult::structured(&json!({"token": "SECRET5", "ok": 9_007_199_254_740_993_u64}))
        .expect("JSON");
    entry.outcome(&Outcome::of_call(&Ok(result)));
    let uri = "https://u:SECRET6@host/?access_token=SECRET7&page=2";
    let entry = log.intent(&Intent::new(Kind::Read).with_server("s").with_target(uri)).expect("written");
    entry.outcome(&Outcome::failed(&Error::Protocol("Authorization: Bearer SECRET8".into())));

    assert_eq!(
        arguments,
        parsed(
            &json!({"Api-Key": "SECRET1", "nested": [{"pin": 12345}], "note": "acct-SECRET2", "x": "hunter2-from-env"})
        )
    );
    let text = fs::read_to_string(folder.file()).expect("text");
    assert!(!text.contains("SECRET") && !text.contains("hunter2") && !text.contains("12345"), "{text}");
    assert!(text.contains("9007199254740993") && text.contains("page=2"), "{text}");
    assert!(!format!("{log:?}").contains("hunter2"));
}

#[test]
fn what_is_large_is_shown_by_its_beginning() {
    let folder = folder();
    let log = AuditLog::builder().max_value_bytes(100).open(folder.file()).expect("a log");
    let long = "é".repeat(1_000_000);
    let arguments = parsed(&json!({"text": long}));
    let entry = log.intent(&Intent::call("s", "t").with_arguments(&arguments)).expect("written");
    entry.outcome(&Outcome::of_call(&Ok(CallToolResult::text(long.clone()))));
    let entry = log.intent(&Intent::call("s", &long)).expect("written");
    entry.outcome(&Outcome::failed(&Error::Protocol(long)));
    let written = lines(&folder.file());
    for (line, member) in [(&written[1], "arguments"), (&written[2], "result")] {
        assert!(line.get(member).is_none());
        let preview = line[format!("{member}_preview")].as_str().expect("a preview");
        assert!((90..=100).contains(&preview.len()) && preview.contains('é'), "{preview}");
        assert!(line[format!("{member}_bytes")].as_u64().expect("a length") > 2_000_000);
    }
    assert!(fs::metadata(folder.file()).expect("a file").len() < 20_000);
}

#[test]
fn a_torn_last_line_is_ended_and_told() {
    let folder = folder();
    let log = AuditLog::open(folder.file()).expect("a log");
    std::mem::drop(log.intent(&Intent::call("s", "first")).expect("written"));
    let id = log.intent(&Intent::call("s", "second")).map(|entry| entry.id()).expect("written");
    drop(log);
    let whole = fs::read(folder.file()).expect("bytes");
    for cut in 1..whole.len() {
        fs::write(folder.file(), &whole[..cut]).expect("written");
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let opened = AuditLog::builder()
            .on_trouble(move |trouble| heard.lock().expect("lock").push(trouble.to_string()))
            .open(folder.file());
        let log = opened.unwrap_or_else(|e| panic!("cut at {cut}: {e}"));
        log.intent(&Intent::call("s", "third")).expect("written").outcome(&Outcome::ok());
        drop(log);
        let is_torn = whole[cut - 1] != b'\n';
        let told = told.lock().expect("lock").clone();
        assert_eq!(told.len(), usize::from(is_torn), "{told:?}");
        let mut explained = AuditLog::read(folder.file()).expect("opens").explain();
        let read: Vec<_> = explained.by_ref().map(|account| account.expect("reads")).collect();
        assert!(explained.damaged() <= 1);
        let last = read.last().expect("an account");
        assert_eq!((last.target(), last.ended()), (Some("third"), Ended::Ok), "cut at {cut}");
        assert!(read.len() >= 2 || read.iter().all(|account| account.id() != Some(id.clone())));
        let text = fs::read_to_string(folder.file()).expect("text");
        let header = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let header = header.filter(|line| line["type"] == "header").next_back().expect("a header");
        assert_eq!(header.get("repaired").is_some(), is_torn);
    }
}

#[test]
fn a_file_has_one_log() {
    let folder = folder();
    let log = AuditLog::builder().rotate(4096, 2).open(folder.file()).expect("a log");
    let again = |path: &Path| AuditLog::open(path).expect_err("in use");
    let error = again(&folder.file());
    assert_eq!(error.kind(), ErrorKind::ResourceBusy);
    let text = error.to_string();
    assert!(text.contains("audit.jsonl") && text.ends_with("in use by another audit log"), "{text}");
    // By another way to it, and after it was rotated.
    assert_eq!(
        again(&folder.0.join("../").join(folder.0.file_name().expect("a name")).join("audit.jsonl")).kind(),
        ErrorKind::ResourceBusy
    );
    for _ in 0..100 {
        log.event(&Intent::new(Kind::State).with_detail("ready")).expect("written");
    }
    assert!(folder.0.join("audit.jsonl.1").exists());
    assert_eq!(again(&folder.file()).kind(), ErrorKind::ResourceBusy);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.file(), folder.0.join("link")).expect("a link");
        assert_eq!(again(&folder.0.join("link")).kind(), ErrorKind::ResourceBusy);
    }
    let other = AuditLog::open(folder.0.join("other.jsonl")).expect("another file");
    let clone = log.clone();
    drop(log);
    assert_eq!(again(&folder.file()).kind(), ErrorKind::ResourceBusy);
    drop((clone, other));
    AuditLog::open(folder.file()).expect("free again");
    assert_eq!(AuditLog::create(folder.file()).expect_err("is there").kind(), ErrorKind::AlreadyExists);
}

#[test]
fn what_is_no_audit_file_is_left_alone() {
    let folder = folder();
    let header = r#"{"type":"header","format":"tinymcp-audit","version":2,"run":"x"}"#;
    for text in ["hello\n", "hello", "{}\n", "\n", "{\"type\":\"header\"}\n", &format!("{header}\n"), header]
    {
        fs::write(folder.file(), text).expect("written");
        let error = AuditLog::open(folder.file()).expect_err(text);
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{text}: {error}");
        assert_eq!(fs::read_to_string(folder.file()).expect("text"), text);
    }
    let newer = AuditLog::read(folder.file()).expect("opens").next().expect("a line");
    assert!(newer.expect_err("newer").to_string().contains("version 2"));
    assert!(AuditLog::open(folder.0.join("none").join("audit.jsonl")).is_err());
    assert!(AuditLog::open(&folder.0).is_err());
    fs::write(folder.file(), "").expect("written");
    AuditLog::open(folder.file()).expect("an empty file is a new one");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_lets_calls_go_on_or_denies_them_as_the_policy_says() {
    let full = Path::new("/dev/full");
    for policy in [OnFailure::Continue, OnFailure::Deny] {
        for fsync in [Fsync::Never, Fsync::EachLine, Fsync::Every(Duration::from_millis(1))] {
            let told = Arc::new(Mutex::new(Vec::new()));
            let heard = Arc::clone(&told);
            let log = AuditLog::builder()
                .on_failure(policy)
                .fsync(fsync)
                .rotate(1, 1)
                .on_trouble(move |trouble| heard.lock().expect("lock").push(trouble.to_string()))
                .open(full)
                .expect("opens");
            for n in 1..=10_u64 {
                let before = log.failures();
                match (policy, log.intent(&Intent::call("notes", "create_note"))) {
                    (OnFailure::Continue, Ok(entry)) => entry.outcome(&Outcome::ok()),
                    (OnFailure::Deny, Err(Error::Denied(reason))) => {
                        assert!(reason.contains("audit log") && reason.contains("/dev/full"), "{reason}");
                    }
                    (policy, result) => panic!("{policy:?}: {result:?}"),
                }
                assert!(log.failures() > before, "call {n}");
            }
            let told = told.lock().expect("lock");
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(
                told[0].starts_with("the audit log cannot be written: audit file /dev/full: "),
                "{told:?}"
            );
        }
    }
}

/// A disk that can be full for a while.
#[derive(Clone, Default)]
struct Disk {
    lines: Arc<Mutex<Vec<Value>>>,
    is_full: Arc<AtomicBool>,
    is_unsyncable: Arc<AtomicBool>,
    syncs: Arc<AtomicUsize>,
}

impl AuditSink for Disk {
    fn write_line(&self, line: &str) -> io::Result<()> {
        if self.is_full.load(SeqCst) {
            return Err(ErrorKind::StorageFull.into());
        }
        assert!(line.ends_with('\n') && !line[..line.len() - 1].contains('\n'));
        self.lines.lock().expect("lock").push(serde_json::from_str(line).expect("JSON"));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, SeqCst);
        if self.is_unsyncable.load(SeqCst) { Err(io::Error::other("no sync")) } else { Ok(()) }
    }
}

impl Disk {
    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.lines.lock().expect("lock"))
    }
}

#[test]
fn a_log_recovers_with_its_disk_and_says_how_much_is_lost() {
    for policy in [OnFailure::Continue, OnFailure::Deny] {
        let (disk, told) = (Disk::default(), Arc::new(Mutex::new(Vec::new())));
        let heard = Arc::clone(&told);
        let log = AuditLog::builder()
            .on_failure(policy)
            .on_trouble(move |trouble| {
                heard.lock().expect("lock").push(trouble.to_string());
                panic!("a callback that panics harms nobody");
            })
            .to(disk.clone())
            .expect("a log");
        let open = log.intent(&Intent::call("s", "before")).expect("written");
        disk.is_full.store(true, SeqCst);
        open.outcome(&Outcome::ok());
        let lost = log.intent(&Intent::call("s", "during"));
        assert_eq!(lost.is_ok(), policy == OnFailure::Continue);
        assert_eq!(log.event(&Intent::new(Kind::State)).is_ok(), policy == OnFailure::Continue);
        assert_eq!(log.failures(), 3);
        disk.take();
        disk.is_full.store(false, SeqCst);
        if let Ok(entry) = lost {
            entry.outcome(&Outcome::ok());
        }
        log.intent(&Intent::call("s", "after")).expect("written").outcome(&Outcome::ok());
        let written = disk.take();
        assert_eq!((&written[0]["type"], &written[0]["lines"]), (&json!("lost"), &json!(3)));
        assert_eq!(written[0]["denied"], if policy == OnFailure::Deny { 2 } else { 0 });
        if policy == OnFailure::Continue {
            // The outcome tells what the intent would have.
            assert_eq!((&written[1]["tool"], &written[1]["intent_lost"]), (&json!("during"), &json!(true)));
        }
        assert_eq!(log.failures(), 3);
        let told = told.lock().expect("lock");
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[1].ends_with("3 lines are lost"), "{told:?}");
    }
}

#[test]
fn lines_are_brought_to_the_disk_as_asked() {
    let pair =
        |log: &AuditLog| log.intent(&Intent::call("s", "t")).map(|entry| entry.outcome(&Outcome::ok()));
    let disk = Disk::default();
    let log = AuditLog::builder().to(disk.clone()).expect("a log");
    pair(&log).expect("written");
    drop(log);
    assert_eq!(disk.syncs.load(SeqCst), 0);

    let log = AuditLog::builder()
        .fsync(Fsync::EachLine)
        .on_failure(OnFailure::Deny)
        .to(disk.clone())
        .expect("a log");
    pair(&log).expect("written");
    assert_eq!(disk.syncs.load(SeqCst), 3);
    disk.is_unsyncable.store(true, SeqCst);
    disk.take();
    assert!(matches!(pair(&log), Err(Error::Denied(_))));
    // The line is there, and says that nothing was done.
    let written = disk.take();
    assert_eq!(
        (&written[0]["type"], &written[1]["outcome"]),
        (&json!("intent"), &json!("denied")),
        "{written:?}"
    );
    assert_eq!(written[0]["id"], written[1]["id"]);
    disk.is_unsyncable.store(false, SeqCst);
    pair(&log).expect("written");
    drop(log);

    // Timed: at the end at the latest, with a single sync for all that was written meanwhile.
    let disk = Disk::default();
    let timed = AuditLog::builder().fsync(Fsync::Every(Duration::from_secs(3600)));
    let log = timed.to(disk.clone()).expect("a log");
    for _ in 0..100 {
        pair(&log).expect("written");
    }
    assert_eq!(disk.syncs.load(SeqCst), 0);
    drop(log);
    assert_eq!(disk.syncs.load(SeqCst), 1);

    let disk = Disk::default();
    disk.is_unsyncable.store(true, SeqCst);
    let timed = AuditLog::builder().fsync(Fsync::Every(Duration::from_millis(1))).on_failure(OnFailure::Deny);
    let log = timed.to(disk.clone()).expect("a log");
    while log.failures() == 0 {
        let _ = pair(&log);
    }
    assert!(matches!(pair(&log), Err(Error::Denied(_))));
    disk.is_unsyncable.store(false, SeqCst);
    pair(&log).expect("well again");
}

#[test]
fn files_are_rotated_and_no_line_is_lost_or_split() {
    let folder = folder();
    let log = AuditLog::builder()
        .rotate(4096, 1000)
        .fsync(Fsync::Every(Duration::from_millis(1)))
        .open(folder.file());
    let log = log.expect("a log");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let log = &log;
            scope.spawn(move || {
                for n in 0..100 {
                    let target = format!("{thread}-{n}");
                    let entry = log.intent(&Intent::call("s", &target)).expect("written");
                    entry.outcome(&Outcome::of_call(&Ok(CallToolResult::text("x".repeat(n)))));
                }
            });
        }
    });
    drop(log);
    let read = accounts(&folder.file());
    assert_eq!(read.len(), 400);
    assert!(read.iter().all(|account| account.ended() == Ended::Ok && account.target().is_some()));
    let files: Vec<_> =
        fs::read_dir(&folder.0).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    assert!(files.len() > 20, "{}", files.len());
    for file in &files {
        assert!(fs::metadata(file).expect("a file").len() <= 4096);
        assert_eq!(lines(file)[0]["type"], "header");
    }

    // Few are kept, those that are newest.
    let log = AuditLog::builder().rotate(4096, 2).open(folder.0.join("few")).expect("a log");
    for n in 0..1000 {
        log.event(&Intent::new(Kind::State).with_target(&n.to_string())).expect("written");
    }
    let kept: Vec<_> =
        ["few.2", "few.1", "few"].iter().flat_map(|name| lines(&folder.0.join(name))).collect();
    let kept: Vec<_> =
        kept.iter().filter_map(|line| line["target"].as_str()?.parse::<usize>().ok()).collect();
    assert!(kept.len() > 30 && kept.iter().copied().eq(1000 - kept.len()..1000), "{kept:?}");
    assert!(!folder.0.join("few.3").exists());
}

#[test]
fn a_file_that_cannot_be_rotated_grows_on() {
    let folder = folder();
    // No file can be renamed to this.
    fs::create_dir_all(folder.0.join("audit.jsonl.1/x")).expect("a folder");
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let log = AuditLog::builder()
        .rotate(4096, 1)
        .on_trouble(move |trouble| heard.lock().expect("lock").push(trouble.to_string()))
        .open(folder.file())
        .expect("a log");
    for n in 0..100 {
        log.event(&Intent::new(Kind::State).with_target(&n.to_string())).expect("written");
    }
    assert_eq!(lines(&folder.file()).len(), 101);
    let told = told.lock().expect("lock");
    assert!((1..=5).contains(&told.len()) && told[0].contains("cannot be rotated"), "{told:?}");
    assert_eq!(log.failures(), 0);
}

#[test]
fn damaged_lines_cost_themselves_alone() {
    let folder = folder();
    let log = AuditLog::open(folder.file()).expect("a log");
    log.intent(&Intent::call("s", "one")).expect("written").outcome(&Outcome::ok());
    let mut file = OpenOptions::new().append(true).open(folder.file()).expect("a file");
    file.write_all(b"\xff\xfe no JSON\n[1]\n\n{\"type\":\"later\"}\n").expect("written");
    log.intent(&Intent::call("s", "two")).expect("written").outcome(&Outcome::ok());
    file.write_all(br#"{"type":"intent","id":"to"#).expect("written");
    let kinds: Vec<_> =
        AuditLog::read(folder.file()).expect("opens").map(|line| line.expect("a line").kind()).collect();
    use LineKind::{Damaged, Header, Intent as Before, Other, Outcome as After};
    assert_eq!(kinds, [Header, Before, After, Damaged, Damaged, Damaged, Other, Before, After, Damaged]);
    let mut explained = AuditLog::read(folder.file()).expect("opens").explain();
    assert_eq!((explained.by_ref().count(), explained.damaged()), (2, 4));
}

const CHILD: &str = "TINYMCP_TEST_AUDIT_CHILD";

/// Not a test by itself: what other tests start.
#[test]
fn child() {
    let Ok(folder) = std::env::var(CHILD) else { return };
    let folder = Path::new(&folder);
    let log = AuditLog::builder().rotate(64 * 1024, 1000).open(folder.join("audit.jsonl"));
    let log = match log {
        Ok(log) => log,
        Err(e) => return println!("refused: {:?}", e.kind()),
    };
    let done = OpenOptions::new().append(true).create(true).open(folder.join("done")).expect("a file");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (log, mut done) = (&log, &done);
            scope.spawn(move || {
                for n in 0.. {
                    let arguments = parsed(&json!({"text": "x".repeat(n * 7 % 3000)}));
                    let target = format!("{thread}-{n}");
                    let Ok(entry) = log.intent(&Intent::call("s", &target).with_arguments(&arguments)) else {
                        return;
                    };
                    // The deed.
                    done.write_all(format!("{}\n", entry.id()).as_bytes()).expect("done");
                    entry.outcome(&Outcome::of_call(&Ok(CallToolResult::text("done"))));
                    println!("did {target}");
                    if log.failures() > 100 {
                        return;
                    }
                }
            });
        }
    });
}

fn start_child(folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command.args(["child", "--exact", "--nocapture"]).env(CHILD, folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

#[test]
fn after_kill_9_the_file_is_whole_and_explains_each_call() {
    let folder = folder();
    let mut seed = 0x9e37_79b9_u64;
    for round in 0..25 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut child = start_child(&folder.0).spawn().expect("starts");
        let mut said = BufReader::new(child.stdout.take().expect("piped")).lines();
        let deeds = usize::try_from(seed >> 33).expect("fits") % 400;
        for _ in 0..=deeds {
            let line = said.next().expect("goes on").expect("text");
            assert!(!line.contains("refused"), "round {round}: {line}");
        }
        // A second process is refused while the first writes.
        if round == 0 {
            let output = start_child(&folder.0).output().expect("runs");
            assert!(String::from_utf8_lossy(&output.stdout).contains("refused: ResourceBusy"), "{output:?}");
        }
        child.kill().expect("killed");
        child.wait().expect("reaped");
    }
    let mut explained = AuditLog::read_all(folder.file()).expect("opens").explain();
    let read: Vec<_> = explained.by_ref().map(|account| account.expect("reads")).collect();
    // A line can be torn only where a process was killed.
    assert!(explained.damaged() <= 25, "{}", explained.damaged());
    let text = fs::read_to_string(folder.0.join("done")).expect("text");
    let done: BTreeSet<_> = text.lines().map(str::to_owned).collect();
    let told: BTreeMap<_, _> = read.iter().map(|account| (account.id().expect("an id"), account)).collect();
    assert_eq!(told.len(), read.len(), "an id is there twice");
    assert!(done.len() > 1000, "{}", done.len());
    let mut unknown = 0;
    for id in &done {
        let account = told.get(id).unwrap_or_else(|| panic!("{id} was done without a line"));
        assert!(account.target().is_some() && account.intent().is_some());
        assert!(matches!(account.ended(), Ended::Ok | Ended::Unknown), "{account}");
        unknown += usize::from(account.ended() == Ended::Unknown);
    }
    for account in read.iter().filter(|account| account.ended() == Ended::Ok) {
        assert!(done.contains(&account.id().expect("an id")), "{account} was not done");
    }
    // At most one in each thread of each process.
    assert!(unknown <= 100, "{unknown}");
    AuditLog::open(folder.file()).expect("and goes on");
}

/// The disk takes a part of a line and no more.
#[cfg(target_os = "linux")]
#[test]
fn a_line_that_is_cut_by_a_full_disk_is_ended_when_there_is_room() {
    let folder = folder();
    let limited = r#"trap '' XFSZ; ulimit -f 20; exec "$0" "$@""#;
    let exe = std::env::current_exe().expect("a path");
    let output = Command::new("sh")
        .args(["-c", limited, exe.to_str().expect("text"), "child", "--exact"])
        .env(CHILD, &folder.0)
        .output()
        .expect("runs");
    assert!(output.status.success(), "{output:?}");
    let bytes = fs::read(folder.file()).expect("bytes");
    assert!(bytes.len() == 20 * 512 || bytes.len() == 20 * 1024, "{}", bytes.len());
    let log = AuditLog::open(folder.file()).expect("a log");
    log.intent(&Intent::call("s", "last")).expect("written").outcome(&Outcome::ok());
    let mut explained = AuditLog::read(folder.file()).expect("opens").explain();
    let read: Vec<_> = explained.by_ref().map(|account| account.expect("reads")).collect();
    assert!(explained.damaged() <= 1 && read.len() > 2);
    assert_eq!(
        read.last().map(|account| (account.target(), account.ended())),
        Some((Some("last"), Ended::Ok))
    );
}

#[test]
fn an_entry_is_cheap() {
    let folder = folder();
    let log = AuditLog::open(folder.file()).expect("a log");
    let arguments = parsed(&json!({"title": "Plan", "content": "some text", "tags": ["a", "b"]}));
    let intent =
        Intent::call("notes", "create_note").with_arguments(&arguments).with_allowed("rule allow notes/*");
    let result = Ok(CallToolResult::text("saved as notes/plan.md"));
    let begun = std::time::Instant::now();
    for _ in 0..2000 {
        log.intent(&intent).expect("written").outcome(&Outcome::of_call(&result));
    }
    let each = begun.elapsed() / 2000;
    // 10 to 15 µs with optimization; the bound is for a debug build on a crowded machine.
    println!("an intent and its outcome: {each:?}");
    assert!(each < Duration::from_millis(1), "{each:?}");
    assert!(File::open(folder.file()).expect("a file").metadata().expect("metadata").len() > 2000 * 400);
}
