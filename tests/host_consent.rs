//! Who may do what: policies, questions, what is remembered, and how it is taken back.

#![cfg(target_os = "linux")]

mod support;

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use support::hosts::{entry, folder, lines};
use support::peers::{self, LONG, brief, eventually};
use tinymcp::client::CallOptions;
use tinymcp::host::audit::{AuditLog, Ended, Kind, OnFailure};
use tinymcp::host::config::Config;
use tinymcp::host::consent::{Answer, Consent, Decision, Grants, Question, QuestionKind, Rules, Subject};
use tinymcp::host::{Host, HostBuilder, ServerState};
use tinymcp::{CancelToken, Error};

#[test]
fn child() {
    peers::child();
}

/// Gives its answers in turn, and keeps what was asked.
#[derive(Clone, Default)]
struct User {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl User {
    fn saying(answers: &[Answer]) -> Self {
        let user = Self::default();
        user.answers.lock().expect("no panic").extend(answers);
        user
    }

    fn asked(&self) -> Vec<Question> {
        std::mem::take(&mut *self.asked.lock().expect("no panic"))
    }
}

impl Consent for User {
    fn ask(&self, question: &Question, _: &CancelToken) -> Answer {
        self.asked.lock().expect("no panic").push(question.clone());
        self.answers.lock().expect("no panic").pop_front().unwrap_or(Answer::No)
    }
}

fn with(role: &str) -> HostBuilder {
    Host::builder().client(|_, builder| builder.patience(brief())).server(entry("s", role))
}

fn started(builder: HostBuilder) -> Host {
    let host = builder.start().expect("starts");
    host.wait_ready(LONG);
    host
}

fn echo(host: &Host) -> tinymcp::Result<String> {
    host.call_tool("s__echo", json!({"text": "hi"})).map(|result| result.text_content())
}

fn denied(result: tinymcp::Result<String>) -> String {
    match result.expect_err("it is denied") {
        Error::Denied(why) => why,
        error => panic!("{error}"),
    }
}

#[test]
fn without_anybody_to_ask_it_is_denied() {
    let host = started(with("steady"));
    let why = denied(echo(&host));
    assert!(why.contains("tool echo of server s") && why.contains("HostBuilder::consent"), "{why}");
    // A trusted server's word counts, as far as it goes.
    let host = started(with("steady").policy(Rules::new().trust("s")));
    assert_eq!(echo(&host).expect("it only reads"), "hi");
    let why = denied(host.call_tool("s__die", ()).map(|result| result.text_content()));
    assert!(why.contains("tool die"), "{why}");
}

#[test]
fn answers_count_as_long_as_they_say() {
    let user = User::saying(&[Answer::Once, Answer::No, Answer::Session]);
    let host = started(with("steady").consent(user.clone()));
    assert!(echo(&host).is_ok());
    assert!(denied(echo(&host)).contains("the user said no"));
    for _ in 0..3 {
        assert!(echo(&host).is_ok());
    }
    let asked = user.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(
        (asked[0].kind, asked[0].server.as_str(), asked[0].tool.as_deref()),
        (QuestionKind::Call, "s", Some("echo"))
    );
    assert_eq!(asked[0].arguments.as_ref().map(|json| json.as_str()), Some(r#"{"text":"hi"}"#));
    assert!(asked[0].hints.iter().any(|hint| hint.contains("only reads")), "{:?}", asked[0].hints);
}

#[test]
fn always_is_kept_in_a_file_of_the_users_own() {
    let file = folder("grants").join("grants.json");
    let user = User::saying(&[Answer::Always]);
    let host = started(with("steady").consent(user.clone()).grants(&Grants::open(&file).expect("opens")));
    assert!(echo(&host).is_ok());
    drop(host);
    assert_eq!(fs::metadata(&file).expect("written").permissions().mode() & 0o777, 0o600);
    assert_eq!(
        fs::read_dir(file.parent().expect("a folder")).expect("listed").count(),
        1,
        "nothing is left beside it"
    );
    // Another host, which has nobody to ask.
    let grants = Grants::open(&file).expect("opens");
    let host = started(with("steady").grants(&grants));
    assert!(echo(&host).is_ok());
    let listed = grants.list().expect("read");
    assert!(
        listed.len() == 1 && listed[0].is_kept && listed[0].tool.as_deref() == Some("echo"),
        "{listed:?}"
    );
    // The same name for another command is another server.
    let other = started(with("steady,version=2").grants(&grants));
    denied(echo(&other));
    // Taken back by another handle of the file, it counts nowhere.
    assert_eq!(Grants::open(&file).expect("opens").revoke_tool("s", "echo").expect("written"), 1);
    denied(echo(&host));
    assert!(grants.list().expect("read").is_empty());
}

#[test]
fn what_is_no_file_of_grants_grants_nothing() {
    let file = folder("broken").join("grants.json");
    for text in ["", "{", r#"{"version": 2, "grants": []}"#, r#"{"version": 1, "grants": [{"kind": "all"}]}"#]
    {
        fs::write(&file, text).expect("written");
        let error = Grants::open(&file).expect_err("no such file").to_string();
        assert!(error.contains("grants.json") && error.contains("no file of grants"), "{error}");
    }
    // One that breaks later: nothing is granted by it, and it is not written over.
    fs::remove_file(&file).expect("removed");
    let grants = Grants::open(&file).expect("there is none yet");
    let user = User::saying(&[Answer::Always, Answer::Always]);
    let host = started(with("steady").consent(user.clone()).grants(&grants));
    assert!(echo(&host).is_ok());
    fs::write(&file, "broken").expect("written");
    let events = host.watch();
    assert!(echo(&host).is_ok());
    assert_eq!(user.asked().len(), 2);
    while !events.next_timeout(LONG).expect("told").to_string().contains("consent is not kept") {}
    assert_eq!(fs::read_to_string(&file).expect("read"), "broken");
}

#[test]
fn taking_back_ends_a_call_that_is_under_way() {
    let marks = folder("revoked").join("marks");
    let grants = Grants::new();
    let user = User::saying(&[Answer::Once]);
    let host = started(with("steady").consent(user).grants(&grants));
    let handle = host.handle();
    let arguments = json!({"file": marks, "line": "once", "ms": 60_000});
    let calling = std::thread::spawn(move || handle.call_tool("s__mark_slowly", arguments));
    eventually("it runs", || lines(&marks) == ["once"]);
    assert_eq!(grants.revoke_tool("s", "mark_slowly").expect("nothing to write"), 1);
    let error = calling.join().expect("no panic").expect_err("it was taken back");
    assert!(
        matches!(&error, Error::OutcomeUnknown(_)) && error.to_string().contains("taken back"),
        "{error}"
    );
    // By a rule as well.
    let marks = folder("revoked-rule").join("marks");
    let host = started(with("steady").policy(Rules::new().allow("*", "*")).grants(&grants));
    let handle = host.handle();
    let arguments = json!({"file": marks, "line": "once", "ms": 60_000});
    let calling = std::thread::spawn(move || handle.call_tool("s__mark_slowly", arguments));
    eventually("it runs", || lines(&marks) == ["once"]);
    assert_eq!(grants.revoke_all().expect("nothing to write"), 1);
    assert!(matches!(calling.join().expect("no panic"), Err(Error::OutcomeUnknown(_))));
}

#[test]
fn asking_has_its_own_time_and_its_end_is_told() {
    let closed = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&closed);
    let never = move |_: &Question, cancel: &CancelToken| {
        assert!(cancel.wait_timeout(LONG));
        seen.lock().expect("no panic").push(cancel.reason().expect("a reason").to_owned());
        Answer::Once // too late
    };
    let host = started(with("steady").consent(never).ask_time(Duration::from_millis(200)));
    // The call has far less time than the question.
    let options = CallOptions::default().with_total(Duration::from_millis(50));
    let result = host.call_tool_with("s__echo", json!({"text": "hi"}), &options);
    let why = denied(result.map(|result| result.text_content()));
    assert!(why.contains("did not answer within 200 ms"), "{why}");
    eventually("the dialog is told", || closed.lock().expect("no panic").len() == 1);
    // Whoever gives the call up need not wait for the user.
    let host = started(with("steady").consent(|_: &Question, cancel: &CancelToken| {
        assert!(cancel.wait_timeout(LONG));
        Answer::No
    }));
    let token = CancelToken::new();
    let begun = Instant::now();
    let options = CallOptions::default().with_cancel(&token);
    let result = std::thread::scope(|scope| {
        let calling = scope.spawn(|| host.call_tool_with("s__echo", json!({"text": "hi"}), &options));
        token.cancel("changed my mind");
        calling.join().expect("no panic")
    });
    assert!(matches!(result, Err(Error::Cancelled(_))) && begun.elapsed() < LONG);
}

#[test]
fn a_panic_denies() {
    let host =
        started(with("steady").consent(|_: &Question, _: &CancelToken| -> Answer { panic!("no terminal") }));
    denied(echo(&host));
    let host = started(with("steady").policy(|_: &Subject<'_>| -> Decision { panic!("no policy") }));
    assert!(denied(echo(&host)).contains("the policy panicked"));
}

#[test]
fn a_policy_of_the_programs_own_sees_everything() {
    let policy = |subject: &Subject<'_>| match subject {
        Subject::Call { arguments, .. } if arguments.as_str().contains("secret") => {
            Decision::Deny("no secrets".into())
        }
        _ => Decision::Allow("anything else".into()),
    };
    let host = started(with("steady").policy(policy));
    assert!(echo(&host).is_ok());
    let error = host.call_tool("s__echo", json!({"text": "a secret"})).expect_err("denied").to_string();
    assert_eq!(error, "denied: tool echo of server s: no secrets");
}

/// A configuration of one server that plays `role`.
fn config(file: &Path, role: &str) -> Config {
    let (program, args, (variable, value)) = peers::started_as(&format!("host:{role}"));
    let server = json!({"command": program, "args": args, "env": {variable: value, "TOKEN": "${env:HOME}"}});
    fs::write(file, json!({"mcpServers": {"s": server}}).to_string()).expect("written");
    Config::read(file).expect("read")
}

#[test]
fn a_server_of_a_file_is_started_once_the_user_has_seen_it() {
    let folder = folder("start");
    let (file, grants) = (folder.join("mcp.json"), Grants::open(folder.join("grants.json")).expect("opens"));
    let builder = |config: &Config| Host::builder().config(config).grants(&grants);
    // Nobody was asked.
    let host = started(builder(&config(&file, "steady")));
    let Some(ServerState::Failed(why)) = host.state("s") else { panic!("it must not start") };
    assert!(why.contains("starting server s"), "{why}");
    // What is asked shows what is run, and what it gets.
    let user = User::saying(&[Answer::Always]);
    let host = started(builder(&config(&file, "steady")).consent(user.clone()));
    assert_eq!(host.state("s"), Some(ServerState::Ready));
    let [question] = &user.asked()[..] else { panic!("one question") };
    let text = question.to_string();
    for wanted in ["Start server s: ", "--exact child", "mcp.json", "HOME"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    drop(host);
    // The same again is not asked; another command is, with what has changed.
    let host = started(builder(&config(&file, "steady")));
    assert_eq!(host.state("s"), Some(ServerState::Ready));
    drop(host);
    let user = User::saying(&[Answer::Once]);
    let host = started(builder(&config(&file, "steady,version=2")).consent(user.clone()));
    assert_eq!(host.state("s"), Some(ServerState::Ready));
    let [question] = &user.asked()[..] else { panic!("one question") };
    let change = question.change.as_deref().expect("a change");
    assert!(
        change.lines().any(|line| line.starts_with('-')) && change.lines().any(|line| line.starts_with('+')),
        "{change}"
    );
}

#[test]
fn the_audit_log_tells_what_was_allowed_why_and_what_was_not() {
    let file = folder("audit").join("audit.jsonl");
    let log = AuditLog::open(&file).expect("opens");
    let host = started(with("steady").policy(Rules::new().allow("s", "echo")).audit(&log));
    assert!(echo(&host).is_ok());
    denied(host.call_tool("s__die", ()).map(|result| result.text_content()));
    host.close();
    let all: Vec<_> =
        AuditLog::read(&file).expect("opens").explain().map(|account| account.expect("read")).collect();
    let calls: Vec<_> = all.iter().filter(|account| account.kind() == Some(Kind::Call)).collect();
    let told: Vec<_> =
        calls.iter().map(|account| (account.target().expect("a tool"), account.ended())).collect();
    assert_eq!(told, [("echo", Ended::Ok), ("die", Ended::Denied)]);
    let allowed = calls[0].intent().expect("an intent").text("allowed");
    assert_eq!(allowed.as_deref(), Some("rule allow s/echo"));
    assert!(all.iter().any(|account| account.kind() == Some(Kind::Start) && account.ended() == Ended::Ok));
}

#[test]
fn a_full_disk_stops_everything_or_nothing_as_the_log_says() {
    let full = |policy| AuditLog::builder().on_failure(policy).open("/dev/full").expect("opens");
    let allow = || Rules::new().allow("*", "*");
    let log = full(OnFailure::Continue);
    let host = started(with("steady").policy(allow()).audit(&log));
    assert!(echo(&host).is_ok());
    assert!(log.failures() > 0);
    let log = full(OnFailure::Deny);
    let host = started(with("steady").policy(allow()).audit(&log));
    let Some(ServerState::Failed(why)) = host.state("s") else { panic!("its start is not written down") };
    assert!(why.contains("audit log"), "{why}");
}
