//! Settling the protocol where each request is carried by itself, and sessions that a server no longer knows.

#[path = "support/failing.rs"]
mod failing;

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use failing::{Far, LONG, Road, during, next, problem, said, settled_on};
use serde_json::{Value, json};
use tinymcp::client::{CallOptions, Change, Filter};
use tinymcp::protocol::LogLevel;
use tinymcp::transport::FailureKind::{NotSent, OutcomeUnknown, Refused, SessionEnded};
use tinymcp::transport::{FailureKind, RequestFailure};
use tinymcp::{CancelToken, Client, ClientHandle, Error, ProtocolVersion};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

/// What the far end does about the probe.
#[derive(Clone, Copy, Debug)]
enum Probe {
    Fails(FailureKind),
    Refused(u16),
    Error(i64),
}

fn kind(error: &Error) -> String {
    match error {
        Error::Unreachable(_) => "Unreachable".to_owned(),
        Error::OutcomeUnknown(_) => "OutcomeUnknown".to_owned(),
        Error::Rejected { status, .. } => format!("Rejected {status:?}"),
        Error::Refused { error, .. } => format!("Refused {}", error.code),
        Error::Unsupported(_) => "Unsupported".to_owned(),
        other => format!("{other}"),
    }
}

fn give(far: &Far, probe: Probe) {
    let asked = far.expect("server/discover");
    match probe {
        Probe::Fails(kind) => far.fail(&asked, kind),
        Probe::Refused(status) => far.refuse(&asked, status),
        Probe::Error(code) => far.error(&asked, code, Value::Null),
    }
}

#[test]
fn a_probe_that_fails_leads_to_the_handshake_or_says_why_not() {
    use Probe::{Error, Fails, Refused as Status};
    for (probe, legacy_follows, modern_alone) in [
        // The server is not there, or lets nobody in, or has no time: the handshake would fare no better.
        (Fails(NotSent), Err("Unreachable"), "Unreachable"),
        (Status(401), Err("Rejected Some(401)"), "Rejected Some(401)"),
        (Status(403), Err("Rejected Some(403)"), "Rejected Some(403)"),
        (Status(429), Err("Rejected Some(429)"), "Rejected Some(429)"),
        (Status(503), Err("Rejected Some(503)"), "Rejected Some(503)"),
        // It does not know the method, in the words of HTTP.
        (Status(400), Ok(()), "Unsupported"),
        (Status(404), Ok(()), "Unsupported"),
        (Status(405), Ok(()), "Unsupported"),
        (Fails(Refused), Ok(()), "Unsupported"),
        (Fails(SessionEnded), Ok(()), "Unsupported"),
        // Nobody knows.
        (Fails(OutcomeUnknown), Ok(()), "OutcomeUnknown"),
        // It does, and is not content.
        (Error(-32020), Err("Refused -32020"), "Refused -32020"),
        (Error(-32021), Err("Refused -32021"), "Refused -32021"),
        (Error(-32601), Ok(()), "Unsupported"),
    ] {
        for versions in [vec![LEGACY, MODERN], vec![MODERN]] {
            let offers_legacy = versions.len() > 1;
            let (road, ends) = Road::new();
            let client = Client::builder().versions(versions).open(road).expect("opens");
            let far = next(&ends);
            let outcome = during(
                || client.initialize().map(|identity| identity.version.clone()),
                || {
                    give(&far, probe);
                    if offers_legacy && legacy_follows.is_ok() {
                        far.greet(&LEGACY);
                    }
                },
            );
            match (outcome, legacy_follows) {
                (Ok(version), Ok(())) => assert!(version == LEGACY && offers_legacy, "{probe:?}"),
                (Err(error), Err(want)) if offers_legacy => assert_eq!(kind(&error), want, "{probe:?}"),
                (Err(error), _) => assert_eq!(kind(&error), modern_alone, "{probe:?}"),
                (Ok(version), Err(_)) => panic!("{probe:?}: settled on {version}"),
            }
            far.expect_nothing();
        }
    }
}

#[test]
fn a_handshake_that_fails_can_be_tried_again() {
    for (failure, want) in
        [(NotSent, "Unreachable"), (OutcomeUnknown, "OutcomeUnknown"), (Refused, "Rejected None")]
    {
        let (road, ends) = Road::new();
        let client = Client::builder().versions([LEGACY]).open(road).expect("opens");
        let far = next(&ends);
        let error = during(|| client.initialize(), || far.fail(&far.expect("initialize"), failure));
        let error = error.expect_err("it failed");
        assert_eq!(kind(&error), want);
        assert!(
            error.to_string().contains("handshake") && error.to_string().contains(problem(failure)),
            "{error}"
        );
        assert!(!error.is_closed(), "{error}");
        during(|| client.initialize(), || far.greet(&LEGACY)).expect("settled");
    }
}

fn call(client: &ClientHandle) -> tinymcp::Result<String> {
    client.call_tool("send", json!({"to": "Ada"})).map(|result| result.text_content())
}

#[test]
fn a_call_whose_session_has_ended_is_made_in_another_once() {
    let (client, first, ends) = settled_on(Client::builder(), LEGACY, |road| road);
    // No tool is too delicate, as it did not begin; and it needs none of the tries of those that did.
    let act = |method: &'static str| match method {
        "tools/call" => call(&client),
        "tools/list" => client.list_tools().map(|_| String::new()),
        _ => client.ping().map(|()| String::new()),
    };
    let mut far = first;
    for method in ["tools/call", "tools/list", "ping", "tools/call"] {
        let done = during(
            || act(method),
            || {
                let ended = far.expect(method);
                far.fail(&ended, SessionEnded);
                far = next(&ends);
                far.greet(&LEGACY);
                let again = far.expect(method);
                assert_eq!(again.params, ended.params);
                far.answer(&again, json!({"content": [], "tools": []}));
            },
        );
        done.expect("answered");
    }
    // The second time is the caller's to see.
    let error = during(
        || call(&client),
        || {
            far.fail(&far.expect("tools/call"), SessionEnded);
            far = next(&ends);
            far.greet(&LEGACY);
            far.fail(&far.expect("tools/call"), SessionEnded);
        },
    );
    let error = error.expect_err("no session lasts");
    assert!(matches!(error, Error::SessionEnded(_)) && error.is_closed(), "{error}");
    // And the next call the first of another try.
    let done = during(
        || call(&client),
        || {
            far.fail(&far.expect("tools/call"), SessionEnded);
            far = next(&ends);
            far.greet(&LEGACY);
            far.answer(&far.expect("tools/call"), said("sent"));
        },
    );
    assert_eq!(done.expect("answered"), "sent");
    assert!(ends.try_recv().is_err());
}

#[test]
fn calls_whose_session_has_ended_share_the_next_one() {
    const CALLS: usize = 8;
    let (client, old, ends) = settled_on(Client::builder(), LEGACY, |road| road);
    let results = during(
        || {
            thread::scope(|scope| {
                let calling: Vec<_> = (0..CALLS).map(|_| scope.spawn(|| call(&client))).collect();
                calling.into_iter().map(|calling| calling.join().expect("no panic")).collect::<Vec<_>>()
            })
        },
        || {
            let asked: Vec<_> = (0..CALLS).map(|_| old.expect("tools/call")).collect();
            // One has heard it, and makes another session; the others hear the same meanwhile, one of them an answer.
            let (last, others) = asked.split_last().expect("some");
            others.iter().for_each(|asked| old.fail(asked, SessionEnded));
            old.answer(last, said("sent"));
            let far = next(&ends);
            far.greet(&LEGACY);
            for _ in others {
                far.answer(&far.expect("tools/call"), said("sent"));
            }
        },
    );
    for result in results {
        assert_eq!(result.expect("answered"), "sent");
    }
    assert!(ends.try_recv().is_err(), "more than one session was made");
}

#[test]
fn a_call_of_the_old_session_that_hears_nothing_is_cut_off() {
    let (client, old, ends) = settled_on(Client::builder(), LEGACY, |road| road);
    let open = client.start_call("slow", (), &CallOptions::default()).expect("sent");
    old.expect("tools/call");
    let done = during(
        || call(&client),
        || {
            old.fail(&old.expect("tools/call"), SessionEnded);
            let far = next(&ends);
            far.greet(&LEGACY);
            far.answer(&far.expect("tools/call"), said("sent"));
        },
    );
    assert_eq!(done.expect("answered"), "sent");
    let error = open.wait().expect_err("its session is gone");
    assert!(matches!(error, Error::OutcomeUnknown(_)) && error.is_closed(), "{error}");
}

#[test]
fn a_session_that_cannot_be_made_anew_is_an_error_and_may_be_later() {
    let (client, old, ends) = settled_on(Client::builder(), LEGACY, |road| road);
    let far = {
        let mut far = None;
        let error = during(
            || call(&client),
            || {
                old.fail(&old.expect("tools/call"), SessionEnded);
                let new = next(&ends);
                new.fail(&new.expect("initialize"), NotSent);
                far = Some(new);
            },
        );
        let error = error.expect_err("the server is gone");
        assert!(matches!(error, Error::Unreachable(_)), "{error}");
        far.expect("opened")
    };
    // It is back.
    let done = during(
        || call(&client),
        || {
            far.greet(&LEGACY);
            far.answer(&far.expect("tools/call"), said("sent"));
        },
    );
    assert_eq!(done.expect("answered"), "sent");
    // Whoever is cancelled meanwhile is, and the others are not.
    let token = CancelToken::new();
    let options = CallOptions::default().with_cancel(&token);
    let results = during(
        || {
            thread::scope(|scope| {
                let cancelled = scope.spawn(|| client.call_tool_with("send", (), &options).map(drop));
                let other = scope.spawn(|| call(&client));
                (cancelled.join().expect("no panic"), other.join().expect("no panic"))
            })
        },
        || {
            let asked = [far.expect("tools/call"), far.expect("tools/call")];
            let is_cancelled = |asked: &failing::Asked| asked.params["arguments"] == json!({});
            let (one, other) =
                if is_cancelled(&asked[0]) { (&asked[0], &asked[1]) } else { (&asked[1], &asked[0]) };
            far.fail(one, SessionEnded);
            // It waits a moment for the other; with that it goes on.
            far.fail(other, SessionEnded);
            let next_one = next(&ends);
            let greeting = next_one.expect("initialize");
            token.cancel("enough");
            // If it was the other's turn, this is the session; if not, the other makes another.
            let info = json!({"name": "far", "version": "1"});
            next_one.answer_if_heard(
                &greeting,
                json!({"protocolVersion": LEGACY, "capabilities": {}, "serverInfo": info}),
            );
            let last = loop {
                if let Ok(last) = ends.try_recv() {
                    last.greet(&LEGACY);
                    break last;
                }
                if next_one.next_within(Duration::from_millis(10)).is_some() {
                    break next_one; // it is initialized
                }
            };
            last.answer(&last.expect("tools/call"), said("sent"));
        },
    );
    assert!(matches!(results.0, Err(Error::Cancelled(_))), "{:?}", results.0);
    assert_eq!(results.1.expect("answered"), "sent");
}

#[test]
fn what_the_server_was_told_it_is_told_again_in_another_session() {
    let (tx, called) = channel();
    let builder = Client::builder().on_tools_changed(move |_| {
        let _ = tx.send(());
    });
    let (road, ends) = Road::new();
    let client = builder.versions([LEGACY]).open(road).expect("opens");
    let old = next(&ends);
    let capabilities = json!({"tools": {}, "resources": {"subscribe": true}, "logging": {}});
    let greet = |far: &Far| {
        let asked = far.expect("initialize");
        let info = json!({"name": "far", "version": "1"});
        far.answer(
            &asked,
            json!({"protocolVersion": LEGACY, "capabilities": capabilities, "serverInfo": info}),
        );
        far.expect("notifications/initialized");
    };
    during(|| client.initialize(), || greet(&old)).expect("settled");
    during(
        || client.set_log_level(LogLevel::Error),
        || old.answer(&old.expect("logging/setLevel"), json!({})),
    )
    .expect("told");
    let mut changes = during(
        || client.listen(Filter::new().resource("a:1")),
        || old.answer(&old.expect("resources/subscribe"), json!({})),
    )
    .expect("opens");
    let far = {
        let mut far = None;
        let done = during(
            || call(&client),
            || {
                old.fail(&old.expect("tools/call"), SessionEnded);
                let new = next(&ends);
                greet(&new);
                // In whatever order.
                let mut methods = Vec::new();
                for _ in 0..3 {
                    let (method, asked) = new.any();
                    new.answer(&asked, said("sent"));
                    methods.push(method);
                }
                methods.sort();
                assert_eq!(methods, ["logging/setLevel", "resources/subscribe", "tools/call"]);
                far = Some(new);
            },
        );
        assert_eq!(done.expect("answered"), "sent");
        far.expect("opened")
    };
    // What changed meanwhile, nobody knows.
    let told: Vec<_> =
        std::iter::from_fn(|| changes.next()).take_while(|c| *c == Change::Interrupted).collect();
    assert!(told.len() <= 1);
    assert_eq!(called.recv_timeout(LONG), Ok(()));
    far.notify("notifications/resources/updated", json!({"uri": "a:1"}));
    assert_eq!(changes.next(), Some(Change::ResourceUpdated("a:1".into())));
}

#[test]
fn a_subscription_whose_session_has_ended_is_made_in_another() {
    let (client, old, ends) = settled_on(Client::builder(), LEGACY, |road| road);
    let changes = during(
        || client.listen(Filter::new().resource("a:1").resource("a:2")),
        || {
            let asked = [old.expect("resources/subscribe"), old.expect("resources/subscribe")];
            old.answer(&asked[0], json!({}));
            old.fail(&asked[1], SessionEnded);
            let far = next(&ends);
            far.greet(&LEGACY);
            while let Some(asked) = far.next_within(Duration::from_millis(300)) {
                far.answer(&asked, json!({}));
            }
        },
    );
    let changes = changes.expect("opens");
    assert_eq!(changes.honoured(), Filter::new().resource("a:1").resource("a:2"));
}

#[test]
fn a_list_whose_session_has_ended_is_begun_again() {
    let (client, old, ends) = settled_on(Client::builder(), LEGACY, |road| road);
    let page = |name: &str, cursor: Value| json!({"tools": [{"name": name, "inputSchema": {"type": "object"}}], "nextCursor": cursor});
    let list = during(
        || client.list_tools(),
        || {
            old.answer(&old.expect("tools/list"), page("old", json!("1")));
            let second = old.expect("tools/list");
            assert_eq!(second.params["cursor"], "1");
            old.fail(&second, SessionEnded);
            let first = old.expect("tools/list");
            assert_eq!(first.params["cursor"], Value::Null, "of a session that does not know it");
            old.fail(&first, SessionEnded);
            let far = next(&ends);
            far.greet(&LEGACY);
            far.answer(&far.expect("tools/list"), page("new", json!("2")));
            let last = far.expect("tools/list");
            assert_eq!(last.params["cursor"], "2");
            far.answer(&last, json!({"tools": []}));
        },
    );
    let names: Vec<_> = list.expect("listed").into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["new"]);
}

#[test]
fn a_session_in_which_nothing_but_the_handshake_works_is_no_loop() {
    let (client, old, ends) = settled_on(Client::builder(), LEGACY, |road| road);
    let refuse_all = |far: &Far| {
        while let Some(asked) = far.next_within(Duration::from_millis(300)) {
            far.fail(&asked, SessionEnded);
        }
    };
    let error = during(
        || client.listen(Filter::new().resource("a:1").resource("a:2")),
        || {
            refuse_all(&old);
            let far = next(&ends);
            far.greet(&LEGACY);
            refuse_all(&far);
        },
    );
    assert!(matches!(error, Err(Error::SessionEnded(_))), "{error:?}");
    assert!(ends.try_recv().is_err(), "yet another session");
}

#[test]
fn a_call_that_was_not_sent_when_its_connection_was_replaced_is_sent_on_the_next() {
    let slot = Arc::new(Mutex::new(None::<ClientHandle>));
    let taken = Arc::clone(&slot);
    // Called when it is known on which connection to send.
    let builder = Client::builder().trace(move |method| {
        let client = (method == "tools/call").then(|| taken.lock().expect("not poisoned").take()).flatten();
        if let Some(client) = client {
            client.reconnect().expect("settled");
        }
        None
    });
    let (client, _old, ends) = settled_on(builder, LEGACY, |road| road);
    *slot.lock().expect("not poisoned") = Some(client.handle());
    let done = during(
        || call(&client),
        || {
            let far = next(&ends);
            far.greet(&LEGACY);
            far.answer(&far.expect("tools/call"), said("sent"));
        },
    );
    assert_eq!(done.expect("answered"), "sent");
}

#[test]
fn a_failure_says_its_status() {
    let failure = RequestFailure::new(7, Refused, "HTTP 401 Unauthorized").with_status(401);
    assert_eq!((failure.status, failure.kind), (Some(401), Refused));
    assert_eq!(RequestFailure::new("a", NotSent, "no").status, None);
}
