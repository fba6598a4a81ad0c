//! A server that does what it should not: what the host makes of it, and that it tells.

#![cfg(target_os = "linux")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use support::hosts::{entry, folder, lines};
use support::peers::{self, LONG, brief};
use tinymcp::client::{Asked, ClientHandler};
use tinymcp::context::Ability;
use tinymcp::host::consent::{Answer, Consent, Question, Rules};
use tinymcp::host::{Host, HostBuilder, HostEvent, HostEvents};
use tinymcp::protocol::{CreateMessageParams, CreateMessageResult};
use tinymcp::{CancelToken, Error, ErrorObject};

#[test]
fn child() {
    peers::child();
}

/// A user who answers always the same, and keeps what was asked.
#[derive(Clone)]
struct User(Answer, Arc<Mutex<Vec<String>>>);

impl User {
    fn who_says(answer: Answer) -> Self {
        Self(answer, Arc::default())
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.1.lock().expect("no panic"))
    }
}

impl Consent for User {
    fn ask(&self, question: &Question, _: &CancelToken) -> Answer {
        self.1.lock().expect("no panic").push(question.to_string());
        self.0
    }
}

/// Answers every request for sampling.
struct Model;

impl ClientHandler for Model {
    fn can(&self, ability: Ability) -> bool {
        ability == Ability::Sampling
    }

    fn sample(&self, _: &Asked<CreateMessageParams>) -> Result<CreateMessageResult, ErrorObject> {
        Ok(CreateMessageResult::text("m", "here they are"))
    }
}

fn with(rules: Rules) -> HostBuilder {
    Host::builder()
        .policy(rules)
        .client(|_, builder| builder.patience(brief()))
        .server(entry("bad", "malicious"))
        .server(entry("good", "steady"))
}

fn started(builder: HostBuilder) -> (Host, HostEvents) {
    let host = builder.start().expect("starts");
    host.wait_ready(LONG);
    let events = host.watch();
    (host, events)
}

/// The good server is there as ever.
fn good_goes_on(host: &Host) {
    let result = host.call_tool("good__echo", json!({"text": "good"})).expect("answers");
    assert_eq!(result.text_content(), "good");
}

fn until(events: &HostEvents, is_it: impl Fn(&HostEvent) -> bool) -> HostEvent {
    loop {
        let event = events.next_timeout(LONG).expect("it is told");
        if is_it(&event) {
            return event;
        }
    }
}

#[test]
fn a_claim_to_read_only_is_a_claim() {
    let marks = folder("claim").join("marks");
    let user = User::who_says(Answer::No);
    let (host, _) = started(with(Rules::new().allow("good", "*")).consent(user.clone()));
    let error = host.call_tool("bad__look", json!({"file": marks})).expect_err("the user said no");
    assert!(matches!(error, Error::Denied(_)), "{error}");
    let [question] = &user.asked()[..] else { panic!("one question") };
    assert!(
        question.contains("bad") && question.contains("look") && question.contains("only reads"),
        "{question}"
    );
    assert_eq!(lines(&marks), [""; 0]);
    good_goes_on(&host);
}

#[test]
fn a_tool_that_turns_after_consent_is_asked_about_again() {
    let marks = folder("turn").join("marks");
    let user = User::who_says(Answer::Session);
    let (host, events) = started(with(Rules::new().allow("bad", "turn")).consent(user.clone()));
    for _ in 0..2 {
        host.call_tool("bad__look", json!({"file": marks})).expect("allowed");
    }
    assert_eq!(user.asked().len(), 1);
    host.call_tool("bad__turn", ()).expect("allowed");
    let changed =
        |event: &HostEvent| matches!(event, HostEvent::Tools { changed, .. } if changed == &["bad__look"]);
    until(&events, changed);
    host.call_tool("bad__look", json!({"file": marks})).expect("allowed");
    let [question] = &user.asked()[..] else { panic!("one more question") };
    assert!(question.contains("send it to me"), "{question}");
    assert!(
        question.lines().any(|line| line.starts_with('-'))
            && question.lines().any(|line| line.starts_with('+'))
    );
    good_goes_on(&host);
}

#[test]
fn a_thousand_questions_do_not_bury_the_user() {
    let user = User::who_says(Answer::Once);
    let rules = Rules::new().allow("*", "*");
    let (host, events) = started(with(rules).consent(user.clone()).handler(Model));
    let answered = host.call_tool("bad__ask", json!({"times": 1_000})).expect("answers").text_content();
    let (answered, asked): (usize, _) = (answered.parse().expect("a number"), user.asked().len());
    // Each answer takes two: whether the model may be asked, and whether the server may have what it said.
    assert!((1..=60).contains(&asked) && answered * 2 <= asked, "{answered} answers, {asked} questions");
    until(&events, |event| matches!(event, HostEvent::Trouble { server, .. } if &**server == "bad"));
    good_goes_on(&host);
}

#[test]
fn a_frame_above_the_limit_is_that_calls_error() {
    let (host, _) = started(with(Rules::new().allow("*", "*")));
    let begun = Instant::now();
    let error = host.call_tool("bad__huge", json!({"bytes": 100 << 20})).expect_err("too long");
    assert!(error.to_string().contains("16777216") || error.to_string().contains("16 MiB"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    good_goes_on(&host);
    assert!(host.call_tool("bad__shout", json!({"text": "still here"})).is_ok());
}

#[test]
fn foreign_ids_and_floods_of_notices_disturb_nobody() {
    let (host, events) = started(with(Rules::new().allow("*", "*")));
    for tool in ["bad__foreign", "bad__flood"] {
        host.call_tool(tool, json!({"count": 10_000})).expect("answers");
        good_goes_on(&host);
    }
    host.call_tool("bad__shout", json!({"text": "still here"})).expect("answers");
    until(&events, |event| event.to_string().contains("answers to nothing"));
    // Ten thousand notices are a few listings, and no event, as nothing has changed.
    assert!(!std::iter::from_fn(|| events.try_next()).any(|event| matches!(event, HostEvent::Tools { .. })));
}

#[test]
fn control_characters_are_made_visible() {
    let (host, _) = started(with(Rules::new().allow("*", "*")));
    let text = "fine\u{1b}[2J\u{202e}txt.exe\u{200b}";
    let result = host.call_tool("bad__shout", json!({"text": text})).expect("answers").text_content();
    assert!(result.starts_with("fine") && result.contains("txt.exe"), "{result:?}");
    assert!(!result.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{result:?}");
}
