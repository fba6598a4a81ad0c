//! The audit log where something goes wrong: a disk that is full, a line that is torn, a process that is killed.

#![allow(clippy::print_stdout, reason = "the child talks to its test")]

#[path = "support/audited.rs"]
mod audited;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use audited::{folder, parsed};
use serde_json::{Value, json};
use tinymcp::Error;
use tinymcp::host::audit::{AuditLog, AuditSink, Ended, Fsync, Intent, Kind, OnFailure, Outcome};
use tinymcp::protocol::CallToolResult;

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
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let header = lines.rfind(|line| line["type"] == "header").expect("a header");
        assert_eq!(header.get("repaired").is_some(), is_torn);
    }
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
