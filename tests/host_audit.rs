//! The audit log: what is written when, what is hidden, how files are rotated and read.

#![allow(clippy::print_stdout, reason = "figures are shown on demand")]

#[path = "support/audited.rs"]
mod audited;

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use audited::{accounts, folder, lines, parsed};
use serde_json::json;
use tinymcp::Error;
use tinymcp::host::audit::{AuditLog, Ended, Fsync, Intent, Kind, LineKind, Outcome, Redaction};
use tinymcp::protocol::{CallToolResult, Implementation};

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

#[test]
fn an_entry_is_cheap() {
    let folder = folder();
    let log = AuditLog::open(folder.file()).expect("a log");
    let arguments = parsed(&json!({"title": "Plan", "content": "some text", "tags": ["a", "b"]}));
    let intent =
        Intent::call("notes", "create_note").with_arguments(&arguments).with_allowed("rule allow notes/*");
    let result = Ok(CallToolResult::text("saved as notes/plan.md"));
    let begun = Instant::now();
    for _ in 0..2000 {
        log.intent(&intent).expect("written").outcome(&Outcome::of_call(&result));
    }
    let each = begun.elapsed() / 2000;
    // 10 to 15 µs with optimization; the bound is for a debug build on a crowded machine.
    println!("an intent and its outcome: {each:?}");
    assert!(each < Duration::from_millis(1), "{each:?}");
    assert!(File::open(folder.file()).expect("a file").metadata().expect("metadata").len() > 2000 * 400);
}

#[cfg(unix)]
#[test]
fn a_file_that_somebody_moves_is_begun_anew() {
    let folder = folder();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let log = AuditLog::builder()
        .on_trouble(move |trouble| heard.lock().expect("lock").push(trouble.to_string()))
        .open(folder.file())
        .expect("a log");
    let before = log.intent(&Intent::call("s", "before")).expect("written");
    for round in 1..=2 {
        let moved = folder.0.join("moved.jsonl");
        if round == 1 {
            fs::rename(folder.file(), &moved).expect("moved");
        } else {
            fs::remove_file(folder.file()).expect("removed");
        }
        let begun = Instant::now();
        while told.lock().expect("lock").len() < round {
            log.event(&Intent::new(Kind::State).with_detail("ready")).expect("written");
            assert!(begun.elapsed() < Duration::from_secs(20), "nobody noticed");
        }
    }
    before.outcome(&Outcome::ok());
    assert_eq!(told.lock().expect("lock")[0], "the audit file was moved or removed, and a new one is begun");
    let written = lines(&folder.file());
    assert_eq!((&written[0]["type"], &written[0]["continued"]), (&json!("header"), &json!(true)));
    assert_eq!(written.last().expect("a line")["type"], "outcome");
    assert_eq!(log.failures(), 0);
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(folder.file()).expect("a file").permissions().mode() & 0o777, 0o600);
}
