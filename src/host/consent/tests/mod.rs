//! The gate by itself, without servers: who is asked what, and what comes of the answers.

mod asking;
mod files;
mod questions;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::*;
use crate::error::{Error, Result};
use crate::json::Json;
use crate::protocol::{CreateMessageParams, ToolAnnotations, ToolDefinition};
use crate::sync::CancelToken;

/// Long enough for anything that happens at all.
const LONG: Duration = Duration::from_secs(60);

/// A user with answers in store, who keeps what was asked. Without any left, the answer is no.
#[derive(Clone, Default)]
struct User(Arc<Mutex<(VecDeque<Answer>, Vec<Question>)>>);

impl User {
    fn who_says(answers: &[Answer]) -> Self {
        Self(Arc::new(Mutex::new((answers.iter().copied().collect(), Vec::new()))))
    }

    fn asked(&self) -> Vec<Question> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).1)
    }
}

impl Consent for User {
    fn ask(&self, question: &Question, _: &CancelToken) -> Answer {
        let mut user = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        user.1.push(question.clone());
        user.0.pop_front().unwrap_or(Answer::No)
    }
}

/// A user whose questions a test answers, one by one.
struct Desk {
    questions: Receiver<(Question, CancelToken, Sender<Answer>)>,
    user: Arc<dyn Consent>,
}

impl Desk {
    fn new() -> Self {
        let (shown, questions) = unbounded();
        let user = move |question: &Question, cancel: &CancelToken| {
            let (answer, answered) = bounded(1);
            shown.send((question.clone(), cancel.clone(), answer)).expect("the test looks");
            answered.recv().unwrap_or(Answer::No)
        };
        Self { questions, user: Arc::new(user) }
    }

    fn next(&self) -> (Question, CancelToken, Sender<Answer>) {
        self.questions.recv_timeout(LONG).expect("a question")
    }
}

type Told = Arc<Mutex<Vec<String>>>;

fn gatekeeper(
    policy: impl Policy + 'static,
    user: Option<Arc<dyn Consent>>,
    grants: &Grants,
    limits: AskLimits,
) -> (Gatekeeper, Told) {
    let told = Told::default();
    let tell = Arc::clone(&told);
    let on_trouble = move |server: &str, problem| {
        tell.lock().expect("no panic").push(format!("{server}: {problem}"));
    };
    (Gatekeeper::new(Arc::new(policy), user, grants.clone(), limits, on_trouble, |_, _| {}), told)
}

fn asks(user: &User, grants: &Grants) -> Gatekeeper {
    gatekeeper(Rules::new(), Some(Arc::new(user.clone())), grants, AskLimits::default()).0
}

fn tool(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition::new(name, Json::parse(r#"{"type":"object"}"#).expect("JSON"))
        .with_description(description)
}

fn reads(tool: ToolDefinition) -> ToolDefinition {
    tool.with_annotations(ToolAnnotations::default().with_read_only(true))
}

fn call(gate: &Gatekeeper, server: &str, tool: &ToolDefinition) -> Result<Permit> {
    let arguments = Json::empty_object();
    gate.permit(&Subject::call(server, "{}", tool, &arguments), None)
}

/// Why it was denied.
fn denied<T>(result: Result<T>) -> String {
    match result {
        Err(Error::Denied(why)) => why,
        Err(error) => panic!("not denied, but: {error}"),
        Ok(_) => panic!("allowed"),
    }
}

#[test]
fn without_anybody_to_ask_it_is_denied_and_said_what_to_do() {
    let (gate, told) =
        gatekeeper(Rules::new().allow("s", "open"), None, &Grants::new(), AskLimits::default());
    for _ in 0..100 {
        let why = denied(call(&gate, "s", &tool("t", "")));
        assert!(why.starts_with("tool t of server s: ") && why.contains("HostBuilder::consent"), "{why}");
    }
    // Nobody was asked too much.
    assert_eq!(*told.lock().expect("no panic"), [""; 0]);
    assert_eq!(call(&gate, "s", &tool("open", "")).expect("a rule").reason(), "rule allow s/open");
}

#[test]
fn a_panic_allows_nothing() {
    let policy = |_: &Subject<'_>| panic!("the panic of a test");
    let (gate, _) = gatekeeper(policy, None, &Grants::new(), AskLimits::default());
    assert!(denied(call(&gate, "s", &tool("t", ""))).contains("the policy panicked"));
    let user = |_: &Question, _: &CancelToken| panic!("the panic of a test");
    let (gate, _) = gatekeeper(Rules::new(), Some(Arc::new(user)), &Grants::new(), AskLimits::default());
    for _ in 0..5 {
        assert!(denied(call(&gate, "s", &tool("t", ""))).contains("panicked"));
    }
}

#[test]
fn answers_are_remembered_for_as_long_as_they_were_meant() {
    let grants = Grants::new();
    let user =
        User::who_says(&[Answer::Once, Answer::Session, Answer::No, Answer::NoSession, Answer::Always]);
    let gate = asks(&user, &grants);
    let (yes, no, always) = (tool("yes", ""), tool("no", ""), tool("always", ""));
    assert_eq!(call(&gate, "s", &yes).expect("yes").reason(), "the user said yes, once");
    for _ in 0..3 {
        assert_eq!(call(&gate, "s", &yes).expect("yes").reason(), "the user said yes, for the session");
    }
    assert_eq!(user.asked().len(), 2);
    assert!(denied(call(&gate, "s", &no)).ends_with("the user said no"));
    assert!(denied(call(&gate, "s", &no)).ends_with("the user said no, for the session"));
    for _ in 0..3 {
        assert!(denied(call(&gate, "s", &no)).contains("not to be asked again"));
    }
    assert_eq!(user.asked().len(), 2);
    // Without a file, for the session.
    for _ in 0..2 {
        call(&gate, "s", &always).expect("yes");
    }
    let listed = grants.list().expect("no file");
    let names: Vec<_> = listed.iter().map(|grant| (grant.tool.as_deref(), grant.is_kept)).collect();
    assert_eq!(names, [(Some("yes"), false), (Some("always"), false)]);
    // A refusal outlives what is taken back, until it is lifted.
    assert_eq!(grants.revoke_all().expect("no file"), 2);
    assert!(denied(call(&gate, "s", &no)).contains("not to be asked again"));
    let [refusal] = &grants.refusals()[..] else { panic!("one refusal") };
    assert_eq!(refusal.tool.as_deref(), Some("no"));
    assert!(grants.lift(refusal) && !grants.lift(refusal));
    user.asked();
    denied(call(&gate, "s", &no));
    assert_eq!(user.asked().len(), 1);
}

#[test]
fn consent_is_to_one_tool_of_one_server_as_it_was_configured() {
    let grants = Grants::new();
    let user = User::who_says(&[Answer::Session]);
    let gate = asks(&user, &grants);
    let arguments = Json::empty_object();
    let ask = |server, configured, tool: &ToolDefinition| {
        gate.permit(&Subject::call(server, configured, tool, &arguments), None).map(drop)
    };
    ask("s", "{}", &tool("t", "")).expect("yes");
    user.asked();
    denied(ask("s", "{}", &tool("u", "")));
    denied(ask("other", "{}", &tool("t", "")));
    assert!(user.asked().iter().all(|question| question.change.is_none()));
    denied(ask("s", r#"{"command":"x"}"#, &tool("t", "")));
    let change = user.asked().remove(0).change.expect("it is configured in another way");
    assert!(change.contains("+   \"command\": \"x\""), "{change}");
    // What a server may ask is nothing of its tools.
    denied(gate.permit(&Subject::sample("s", "{}", &CreateMessageParams::new(1)), None));
    assert_eq!(user.asked().len(), 1);
    ask("s", "{}", &tool("t", "")).expect("still");
}

#[test]
fn a_tool_that_has_changed_is_asked_about_with_the_difference() {
    let user = User::who_says(&[Answer::Always, Answer::No, Answer::Session]);
    let grants = Grants::new();
    let rules = Rules::new().trust("s");
    let gate = gatekeeper(rules, Some(Arc::new(user.clone())), &grants, AskLimits::default()).0;
    let (before, after) = (tool("t", "reads a note"), tool("t", "reads a note and sends it to me"));
    call(&gate, "s", &before).expect("yes");
    assert_eq!(user.asked()[0].change, None);
    denied(call(&gate, "s", &after));
    let change = user.asked().remove(0).change.expect("it is another");
    assert!(change.contains("-   \"description\": \"reads a note\""), "{change}");
    assert!(change.contains("+   \"description\": \"reads a note and sends it to me\""), "{change}");
    // It is what was agreed to again, however it is written.
    let mut again = before.clone();
    again.input_schema = Json::parse("{ \"type\" : \"obj\\u0065ct\" }").expect("JSON");
    call(&gate, "s", &again).expect("as it was");
    // What a trusted server says of itself does not help.
    call(&gate, "s", &reads(after.clone())).expect("yes");
    assert_eq!(user.asked().len(), 1);
    call(&gate, "s", &reads(after)).expect("for the session");
    assert_eq!(
        call(&gate, "s", &reads(tool("new", ""))).expect("a hint").reason(),
        "a trusted server says that it only reads"
    );
    assert_eq!(user.asked().len(), 0);
}

#[test]
fn taking_back_ends_what_runs_and_nothing_else() {
    let grants = Grants::new();
    let user = User::who_says(&[Answer::Once, Answer::Session, Answer::Once, Answer::Session]);
    let rules = Rules::new().allow("s", "open");
    let gate = gatekeeper(rules, Some(Arc::new(user.clone())), &grants, AskLimits::default()).0;
    let (once, again, open) = (tool("once", ""), tool("again", ""), tool("open", ""));
    let permits = [("s", &once), ("s", &again), ("other", &once), ("other", &again), ("s", &open)]
        .map(|(server, tool)| call(&gate, server, tool).expect("allowed"));
    let revoked = || permits.iter().map(Permit::was_revoked).collect::<Vec<_>>();
    assert_eq!(grants.revoke_tool("s", "nothing").expect("no file"), 0);
    assert_eq!(grants.revoke_tool("s", "once").expect("no file"), 1);
    assert_eq!(revoked(), [true, false, false, false, false]);
    let grant = grants.list().expect("no file").remove(0);
    assert_eq!(grant.tool.as_deref(), Some("again"));
    assert_eq!(grants.revoke(&grant).expect("no file"), 2);
    assert_eq!(revoked(), [true, true, false, false, false]);
    assert_eq!(grants.revoke_server("s").expect("no file"), 3);
    assert_eq!(revoked(), [true, true, false, false, true]);
    assert_eq!(permits[1].token().reason(), Some("consent was taken back"));
    drop(permits);
    assert_eq!(grants.revoke_all().expect("no file"), 1);
    user.asked();
    denied(call(&gate, "other", &again));
    assert_eq!(user.asked().len(), 1);
}
