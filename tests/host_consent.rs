//! What a user is asked by a host of real servers, and what comes of the answers.

#![cfg(target_os = "linux")]

mod support;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use serde_json::json;
use support::hosts::{entry, folder, lines};
use support::peers::{self, LONG, brief, eventually};
use tinymcp::client::{Asked, CallOptions, Caller, ClientHandler};
use tinymcp::context::Ability;
use tinymcp::host::config::ServerEntry;
use tinymcp::host::consent::{
    Answer, AskLimits, Consent, Decision, Grants, Question, QuestionKind, Rules, Subject,
};
use tinymcp::host::{Host, HostBuilder, HostEvent, ServerState};
use tinymcp::protocol::{CreateMessageParams, CreateMessageResult};
use tinymcp::{Arguments, CancelToken, Error, ErrorObject};

#[test]
fn child() {
    peers::child();
}

/// A user who answers by what is asked, and keeps it.
#[derive(Clone)]
struct User(Arc<dyn Fn(&Question) -> Answer + Send + Sync>, Arc<Mutex<Vec<Question>>>);

impl User {
    fn who(answers: impl Fn(&Question) -> Answer + Send + Sync + 'static) -> Self {
        Self(Arc::new(answers), Arc::default())
    }

    fn who_says(answer: Answer) -> Self {
        Self::who(move |_| answer)
    }

    fn asked(&self) -> Vec<Question> {
        std::mem::take(&mut *self.1.lock().expect("no panic"))
    }
}

impl Consent for User {
    fn ask(&self, question: &Question, _: &CancelToken) -> Answer {
        self.1.lock().expect("no panic").push(question.clone());
        (self.0)(question)
    }
}

/// A user whose questions the test sees, and who never answers one.
fn absent() -> (impl Consent, Receiver<(Question, CancelToken)>) {
    let (shown, questions): (Sender<(Question, CancelToken)>, _) = unbounded();
    let user = move |question: &Question, cancel: &CancelToken| {
        shown.send((question.clone(), cancel.clone())).expect("the test looks");
        let _ = cancel.wait_timeout(LONG);
        Answer::Always // too late
    };
    (user, questions)
}

fn host() -> HostBuilder {
    Host::builder().client(|_, builder| builder.patience(brief()))
}

/// As a file would have it, which says that it runs this.
fn configured(role: &str) -> ServerEntry {
    let mut entry = entry("s", role);
    entry.source = Some("/home/me/project/.mcp.json".into());
    entry
}

fn started(builder: HostBuilder) -> Host {
    let host = builder.start().expect("starts");
    host.wait_ready(LONG);
    host
}

fn failed(host: &Host) -> String {
    match host.state("s") {
        Some(ServerState::Failed(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// A role that leaves a line when it is started.
fn leaving(file: &Path) -> String {
    format!("changing={},steady", file.display())
}

#[test]
fn nothing_is_run_that_the_user_has_not_agreed_to() {
    let file = folder("not-agreed").join("starts");
    let user = User::who_says(Answer::No);
    let host = started(host().consent(user.clone()).server(configured(&leaving(&file))));
    let why = failed(&host);
    assert!(why.contains("starting server s") && why.contains("the user said no"), "{why}");
    let [question] = &user.asked()[..] else { panic!("one question") };
    assert_eq!(question.kind, QuestionKind::Start);
    let text = question.to_string();
    assert!(text.contains("/home/me/project/.mcp.json") && text.contains("Start server s: /"), "{text}");
    assert_eq!(lines(&file), [""; 0]);
}

#[test]
fn nobody_to_ask_is_no() {
    let file = folder("nobody").join("starts");
    let host = started(host().server(configured(&leaving(&file))).server(entry("own", "steady")));
    let why = failed(&host);
    assert!(why.contains("nobody is set to do that") && why.contains("HostBuilder::consent"), "{why}");
    assert_eq!(lines(&file), [""; 0]);
    // What the program itself has asked for is started, and no call of it is made unasked.
    let error = host.call_tool("own__echo", json!({"text": "x"})).expect_err("nobody to ask");
    assert!(
        matches!(&error, Error::Denied(why) if why.contains("HostBuilder::consent") && why.contains("tool echo of server own")),
        "{error}"
    );
}

#[test]
fn a_command_is_agreed_to_once_and_again_when_it_changes() {
    let folder = folder("command");
    let grants = || Grants::open(folder.join("grants.json")).expect("readable");
    let user = User::who_says(Answer::Always);
    let start = |role: &str| {
        let host = started(host().consent(user.clone()).grants(&grants()).server(configured(role)));
        assert_eq!(host.state("s"), Some(ServerState::Ready));
        host.close();
        user.asked()
    };
    assert_eq!(start("steady").len(), 1);
    assert_eq!(start("steady").len(), 0);
    let mut evil = configured("steady");
    let tinymcp::host::config::Reach::Command(command) = &mut evil.reach else { panic!("a command") };
    command.args.push("--nocapture".to_owned());
    let host = started(host().consent(user.clone()).grants(&grants()).server(evil));
    let [question] = &user.asked()[..] else { panic!("one question") };
    let change = question.change.as_deref().expect("it has changed");
    assert!(change.lines().any(|line| line.starts_with('+') && line.contains("--nocapture")), "{change}");
    host.close();
    // Taken back, it is asked again.
    assert_eq!(grants().revoke_server("s").expect("written"), 1);
    assert_eq!(start("steady").len(), 1);
}

#[test]
fn taking_back_ends_a_call_whose_outcome_is_unknown_then() {
    let folder = folder("revoked");
    for (answer, rules) in [
        (Answer::Once, Rules::new()),
        (Answer::Session, Rules::new()),
        (Answer::Always, Rules::new()),
        (Answer::No, Rules::new().allow("*", "*")),
    ] {
        let file = folder.join(format!("marks-{answer:?}"));
        let grants = Grants::new();
        let user = User::who_says(answer);
        let host =
            started(host().policy(rules).consent(user.clone()).grants(&grants).server(entry("s", "steady")));
        let handle = host.handle();
        let arguments = json!({"file": file, "line": "once", "ms": 60_000});
        let calling = std::thread::spawn(move || handle.call_tool("s__mark_slowly", arguments));
        eventually("it runs", || lines(&file) == ["once"]);
        assert_eq!(grants.revoke_tool("s", "mark").expect("no file"), 0);
        grants.revoke_tool("s", "mark_slowly").expect("no file");
        let error = calling.join().expect("no panic").expect_err("taken back");
        assert!(
            matches!(&error, Error::OutcomeUnknown(_)) && error.to_string().contains("taken back"),
            "{error}"
        );
        assert_eq!(lines(&file), ["once"]);
        assert_eq!(grants.list().expect("no file"), []);
        user.asked();
    }
}

#[test]
fn the_time_for_asking_is_not_the_calls() {
    let user = User::who(|_| {
        // A user who takes longer than the call may.
        let _ = CancelToken::new().wait_timeout(Duration::from_millis(1_200));
        Answer::Once
    });
    let host = started(host().consent(user).server(entry("s", "steady")));
    let options = CallOptions::default().with_timeout(Duration::from_secs(1));
    let arguments = json!({"text": "late"});
    let arguments = Arguments::new(&arguments).expect("an object");
    let result = host.call("s__echo", arguments, &options).expect("in time");
    assert_eq!(result.text_content(), "late");
}

#[test]
fn a_user_who_is_away_says_no_in_time() {
    let (user, questions) = absent();
    let limits = AskLimits::default().with_time(Duration::from_millis(200));
    let host = started(host().consent(user).ask_limits(limits).server(entry("s", "steady")));
    let error = host.call_tool("s__echo", json!({"text": "x"})).expect_err("nobody answers");
    assert!(matches!(&error, Error::Denied(why) if why.contains("within 200 ms")), "{error}");
    let (_, withdrawn) = questions.recv_timeout(LONG).expect("it was asked");
    assert!(withdrawn.is_cancelled());
}

#[test]
fn a_question_about_a_server_that_is_removed_is_withdrawn() {
    let (user, questions) = absent();
    let host = started(host().consent(user).server(entry("s", "steady")));
    let handle = host.handle();
    let calling = std::thread::spawn(move || handle.call_tool("s__echo", json!({"text": "x"})));
    let (_, withdrawn) = questions.recv_timeout(LONG).expect("it is asked");
    host.remove("s").expect("removed");
    calling.join().expect("no panic").expect_err("it is gone");
    assert!(withdrawn.wait_timeout(LONG));
}

#[test]
fn a_caller_that_gives_up_is_not_waited_for() {
    let (user, questions) = absent();
    let host = started(host().consent(user).server(entry("s", "steady")));
    let stop = CancelToken::new();
    let (handle, options) = (host.handle(), CallOptions::default().with_cancel(&stop));
    let calling = std::thread::spawn(move || {
        let arguments = json!({"text": "x"});
        handle.call("s__echo", Arguments::new(&arguments).expect("an object"), &options)
    });
    let (_, withdrawn) = questions.recv_timeout(LONG).expect("it is asked");
    stop.cancel("the user pressed stop");
    let error = calling.join().expect("no panic").expect_err("given up");
    assert!(matches!(&error, Error::Cancelled(why) if why == "the user pressed stop"), "{error}");
    assert!(withdrawn.wait_timeout(LONG));
}

/// Answers every request for sampling, and counts them.
#[derive(Clone, Default)]
struct Model(Arc<Mutex<usize>>);

impl ClientHandler for Model {
    fn can(&self, ability: Ability) -> bool {
        ability == Ability::Sampling
    }

    fn sample(&self, _: &Asked<CreateMessageParams>) -> Result<CreateMessageResult, ErrorObject> {
        *self.0.lock().expect("no panic") += 1;
        Ok(CreateMessageResult::text("m", "the secrets"))
    }
}

#[test]
fn sampling_and_what_comes_of_it_are_two_questions() {
    let user = User::who(|question| match question.kind {
        QuestionKind::Sample => Answer::Session,
        _ => Answer::No,
    });
    let model = Model::default();
    let rules = Rules::new().allow("*", "*");
    let host = host().policy(rules).consent(user.clone()).handler(model.clone());
    let host = started(host.server(entry("bad", "malicious")));
    let answered = host.call_tool("bad__ask", json!({"times": 3})).expect("answers").text_content();
    assert_eq!((answered.as_str(), *model.0.lock().expect("no panic")), ("0", 3));
    let asked = user.asked();
    let kinds: Vec<_> = asked.iter().map(|question| question.kind).collect();
    let answer = QuestionKind::SampleAnswer;
    assert_eq!(kinds, [QuestionKind::Sample, answer, answer, answer]);
    assert!(asked[0].to_string().contains("| user: the user's secrets, please\n"), "{}", asked[0]);
    assert!(asked[1].to_string().contains("| the secrets\n"), "{}", asked[1]);
}

#[test]
fn a_no_for_the_session_ends_a_flood() {
    let user = User::who_says(Answer::NoSession);
    let model = Model::default();
    let rules = Rules::new().allow("*", "*");
    let host = host().policy(rules).consent(user.clone()).handler(model.clone());
    let host = started(host.server(entry("bad", "malicious")));
    let answered = host.call_tool("bad__ask", json!({"times": 1_000})).expect("answers").text_content();
    assert_eq!((answered.as_str(), user.asked().len(), *model.0.lock().expect("no panic")), ("0", 1, 0));
}

#[test]
fn a_flood_is_told_with_a_count() {
    let user = User::who_says(Answer::No);
    let rules = Rules::new().allow("*", "*");
    let limits = AskLimits::default().with_per_minute(5);
    let host = host().policy(rules).consent(user.clone()).ask_limits(limits).handler(Model::default());
    let host = started(host.server(entry("bad", "malicious")));
    let events = host.watch();
    host.call_tool("bad__ask", json!({"times": 1_000})).expect("answers");
    assert_eq!(user.asked().len(), 5);
    let trouble = std::iter::from_fn(|| events.try_next()).filter_map(|event| match event {
        HostEvent::Trouble { problem, .. } => Some(problem),
        _ => None,
    });
    let told: Vec<_> = trouble.collect();
    assert_eq!(told.len(), 10, "{told:?}");
    assert!(told[0].contains("one was denied") && told[9].contains("512 were denied"), "{told:?}");
}

#[test]
fn a_program_can_have_a_policy_of_its_own() {
    let policy = |subject: &Subject<'_>| match subject {
        Subject::Call { arguments, .. } if arguments.as_str().contains("secret") => {
            Decision::Deny("it is about a secret".to_owned())
        }
        Subject::Call { .. } => Decision::Allow("it is not".to_owned()),
        _ => Decision::Ask(String::new()),
    };
    let host = started(host().policy(policy).server(entry("s", "steady")));
    assert!(host.call_tool("s__echo", json!({"text": "fine"})).is_ok());
    let error = host.call_tool("s__echo", json!({"text": "a secret"})).expect_err("denied");
    assert_eq!(error.to_string(), "denied: tool echo of server s: it is about a secret");
}

#[test]
fn answers_of_many_threads_are_each_its_own() {
    let (tell, told) = bounded(64);
    let user = User::who(move |question| {
        let arguments = question.arguments.as_ref().expect("a call").as_str().to_owned();
        let answer = if arguments.contains("yes") { Answer::Once } else { Answer::No };
        tell.send(arguments).expect("room");
        answer
    });
    let host = started(host().consent(user).server(entry("s", "steady")));
    std::thread::scope(|scope| {
        for i in 0..8 {
            let handle = host.handle();
            scope.spawn(move || {
                let word = if i % 2 == 0 { "yes" } else { "no" };
                let result = handle.call_tool("s__echo", json!({"text": format!("{word}-{i}")}));
                match result {
                    Ok(result) => assert_eq!(result.text_content(), format!("yes-{i}")),
                    Err(error) => assert!(matches!(error, Error::Denied(_)) && word == "no", "{error}"),
                }
            });
        }
    });
    assert_eq!(told.len(), 8);
}
