//! Calls that fail by themselves while the connection goes on: what the caller is told, and what is sent again.

#[path = "support/failing.rs"]
mod failing;

use std::time::{Duration, Instant};

use failing::{Asked, Far, Road, during, modern, problem, said, settled_on};
use serde_json::{Value, json};
use tinymcp::client::{CallOptions, ClientBuilder};
use tinymcp::protocol::ElicitResult;
use tinymcp::transport::FailureKind::{NotSent, OutcomeUnknown, Refused, SessionEnded};
use tinymcp::transport::{FailureKind, RequestFailure, WireLog};
use tinymcp::{Arguments, CancelToken, Client, ClientHandle, Context, Error, ProtocolVersion, Tool};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_06_18;

fn once() -> ClientBuilder {
    Client::builder().max_resends(0)
}

fn call(client: &ClientHandle) -> tinymcp::Result<()> {
    client.call_tool("send", json!({"to": "Ada"})).map(drop)
}

fn read(client: &ClientHandle) -> tinymcp::Result<()> {
    client.read_resource("a:b").map(drop)
}

fn list(client: &ClientHandle) -> tinymcp::Result<()> {
    client.list_tools().map(drop)
}

fn by_hand(client: &ClientHandle) -> tinymcp::Result<()> {
    client.request("x/y", &[], &CallOptions::default()).map(drop)
}

type Act = fn(&ClientHandle) -> tinymcp::Result<()>;

fn kind(error: &Error) -> &'static str {
    match error {
        Error::OutcomeUnknown(_) => "OutcomeUnknown",
        Error::Unreachable(_) => "Unreachable",
        Error::Rejected { .. } => "Rejected",
        Error::SessionEnded(_) => "SessionEnded",
        Error::Peer(_) => "Peer",
        _ => "other",
    }
}

/// The connection is as good as before.
#[track_caller]
fn goes_on(client: &Client, far: &Far) {
    let result =
        during(|| client.call_tool("echo", ()), || far.answer(&far.expect("tools/call"), said("here")));
    assert_eq!(result.expect("answered").text_content(), "here");
    far.expect_nothing();
}

#[test]
fn each_failure_is_an_error_of_its_own_and_the_connection_goes_on() {
    for version in [MODERN, LEGACY] {
        // That the peer does not know a session is of no use where another cannot be made.
        let (client, far, _) = settled_on(once().tap(WireLog::default()), version, Road::unique);
        for (act, method, failure, want, is_retryable, is_closed) in [
            (call as Act, "tools/call", NotSent, "Unreachable", true, false),
            (call, "tools/call", OutcomeUnknown, "OutcomeUnknown", false, false),
            (call, "tools/call", Refused, "Rejected", false, false),
            (call, "tools/call", SessionEnded, "SessionEnded", false, true),
            (by_hand, "x/y", OutcomeUnknown, "OutcomeUnknown", false, false),
            (read, "resources/read", NotSent, "Unreachable", true, false),
            (read, "resources/read", OutcomeUnknown, "Unreachable", true, false),
            (read, "resources/read", Refused, "Rejected", false, false),
            (list, "tools/list", OutcomeUnknown, "Unreachable", true, false),
        ] {
            let error = during(|| act(&client), || far.fail(&far.expect(method), failure));
            let error = error.expect_err("it failed");
            let text = error.to_string();
            assert_eq!(kind(&error), want, "{text}");
            assert!(text.contains(method) && text.contains(problem(failure)), "{text}");
            assert!(text.contains("https://far.example/mcp"), "{text}");
            assert_eq!((error.is_retryable(), error.is_closed()), (is_retryable, is_closed), "{text}");
            assert!(!error.failure().expect("known").is_closed, "{text}");
            goes_on(&client, &far);
        }
        client.close().expect("closes");
    }
}

#[test]
fn a_status_tells_what_to_do_about_a_refusal() {
    let (client, far) = modern(Client::builder());
    for (status, is_retryable) in [(401, false), (403, false), (404, false), (429, true), (503, true)] {
        let error = during(|| call(&client), || far.refuse(&far.expect("tools/call"), status));
        let error = error.expect_err("refused");
        assert!(matches!(error, Error::Rejected { status: Some(s), .. } if s == status), "{error}");
        assert_eq!(error.is_retryable(), is_retryable, "{error}");
        far.expect_nothing();
    }
}

#[test]
fn failures_of_nobody_are_passed_over() {
    let (client, far) = modern(Client::builder());
    let answered = during(
        || client.call_tool("echo", ()),
        || {
            let asked = far.expect("tools/call");
            far.fail(&Asked { id: asked.id + 1000, params: Value::Null }, OutcomeUnknown);
            far.answer(&asked, said("first"));
            far.fail(&asked, OutcomeUnknown);
        },
    );
    assert_eq!(answered.expect("answered").text_content(), "first");
    goes_on(&client, &far);
    // An id comes as a string from some.
    let error = during(
        || call(&client),
        || {
            let id = far.expect("tools/call").id.to_string();
            far.fail_as(RequestFailure::new(id.as_str(), Refused, "no"));
        },
    );
    assert_eq!(kind(&error.expect_err("refused")), "Rejected");
}

/// Fails the request of `method` that `act` makes each time it comes; how often that was, and the outcome.
#[track_caller]
fn fail_each(
    client: &Client,
    far: &Far,
    act: impl FnOnce(&ClientHandle) -> tinymcp::Result<()> + Send,
    method: &str,
    failure: FailureKind,
    times: usize,
) -> Error {
    let error = during(
        || act(client),
        || {
            let (mut ids, mut sent) = (Vec::new(), Vec::new());
            for _ in 0..times {
                let asked = far.expect(method);
                far.fail(&asked, failure);
                ids.push(asked.id);
                sent.push(asked.params);
            }
            assert!(ids.windows(2).all(|ids| ids[0] < ids[1]), "{ids:?}");
            assert!(sent.windows(2).all(|sent| sent[0] == sent[1]), "{sent:?}");
        },
    );
    far.expect_nothing();
    error.expect_err("it failed")
}

/// Lists tools of these names and annotations.
#[track_caller]
fn list_as(client: &Client, far: &Far, tools: &[(&str, Value)]) -> Vec<tinymcp::RemoteTool> {
    let tool = |(name, hints): &(&str, Value)| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": hints});
    let tools: Vec<_> = tools.iter().map(tool).collect();
    let listed = during(
        || client.discover_tools(),
        || far.answer(&far.expect("tools/list"), json!({"tools": tools, "resultType": "complete"})),
    );
    listed.expect("listed")
}

#[test]
fn what_does_no_harm_is_sent_again_and_nothing_else() {
    for version in [MODERN, LEGACY] {
        let (client, far, _) = settled_on(Client::builder().max_resends(1), version, |road| road);
        let execute = |tool: &tinymcp::RemoteTool| {
            tool.execute(Arguments::empty(), &Context::detached()).expect_err("it failed").to_string()
        };
        for (act, method, failure, times, want) in [
            (call as Act, "tools/call", NotSent, 2, "Unreachable"),
            (call, "tools/call", OutcomeUnknown, 1, "OutcomeUnknown"),
            (call, "tools/call", Refused, 1, "Rejected"),
            (by_hand, "x/y", NotSent, 2, "Unreachable"),
            (by_hand, "x/y", OutcomeUnknown, 1, "OutcomeUnknown"),
            (read, "resources/read", OutcomeUnknown, 2, "Unreachable"),
            (read, "resources/read", Refused, 1, "Rejected"),
            (list, "tools/list", OutcomeUnknown, 2, "Unreachable"),
        ] {
            let error = fail_each(&client, &far, act, method, failure, times);
            assert_eq!(kind(&error), want, "{method} {failure:?}");
        }
        // What the server said of its tools when they were listed last counts, by whatever door they are called.
        let hints = [
            (json!({"readOnlyHint": true}), 2),
            (json!({"idempotentHint": true, "readOnlyHint": false}), 2),
            (json!({"destructiveHint": false, "openWorldHint": false}), 1),
            (json!({}), 1),
        ];
        for (hints, times) in hints {
            let remote = list_as(&client, &far, &[("other", json!({})), ("send", hints.clone())]);
            let error = fail_each(&client, &far, call, "tools/call", OutcomeUnknown, times);
            assert_eq!(kind(&error) == "OutcomeUnknown", times == 1, "{hints}: {error}");
            let start = |client: &ClientHandle| {
                client.start_call("send", (), &CallOptions::default())?.wait().map(drop)
            };
            fail_each(&client, &far, start, "tools/call", OutcomeUnknown, times);
            let once =
                |client: &ClientHandle| client.call_tool_once("send", (), &CallOptions::default()).map(drop);
            fail_each(&client, &far, once, "tools/call", OutcomeUnknown, times);
            // A tool at hand knows it by itself.
            list_as(&client, &far, &[]);
            fail_each(&client, &far, call, "tools/call", OutcomeUnknown, 1);
            let text = during(
                || execute(&remote[1]),
                || (0..times).for_each(|_| far.fail(&far.expect("tools/call"), OutcomeUnknown)),
            );
            assert!(text.contains("HTTP 502"), "{text}");
            far.expect_nothing();
        }
    }
}

#[test]
fn a_further_try_may_succeed_and_their_number_can_be_set() {
    for tries in [0_u32, 1, 3] {
        let (client, far) = modern(Client::builder().max_resends(tries));
        let result = during(
            || client.call_tool("send", json!({"to": "Ada"})),
            || {
                for _ in 0..tries {
                    far.fail(&far.expect("tools/call"), NotSent);
                }
                far.answer(&far.expect("tools/call"), said("sent"));
            },
        );
        assert_eq!(result.expect("answered").text_content(), "sent");
        let error = fail_each(&client, &far, call, "tools/call", NotSent, tries as usize + 1);
        assert_eq!(kind(&error), "Unreachable");
    }
}

#[test]
fn rounds_of_a_call_are_sent_again_by_the_same_rules() {
    let builder = || Client::builder().on_elicit(|_| Ok(ElicitResult::decline()));
    let ask = json!({
        "resultType": "input_required", "requestState": "sealed",
        "inputRequests": {"sure": {"method": "elicitation/create", "params": {
            "mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}
        }}}
    });
    for (failure, is_harmless, times) in
        [(NotSent, false, 2), (OutcomeUnknown, false, 1), (OutcomeUnknown, true, 2)]
    {
        let (client, far) = modern(builder());
        list_as(&client, &far, &[("send", json!({"idempotentHint": is_harmless}))]);
        let result = during(
            || client.call_tool("send", json!({"to": "Ada"})),
            || {
                far.answer(&far.expect("tools/call"), ask.clone());
                let second = far.expect("tools/call");
                assert_eq!(second.params["requestState"], "sealed");
                assert_eq!(second.params["inputResponses"]["sure"]["action"], "decline");
                far.fail(&second, failure);
                if times == 2 {
                    let again = far.expect("tools/call");
                    assert!(again.id > second.id);
                    assert_eq!(again.params, second.params);
                    far.answer(&again, said("not sent"));
                }
            },
        );
        match result {
            Ok(result) => assert_eq!((times, result.text_content().as_str()), (2, "not sent")),
            Err(error) => assert_eq!((times, kind(&error)), (1, "OutcomeUnknown")),
        }
        far.expect_nothing();
    }
}

#[test]
fn the_time_and_the_caller_of_a_call_end_its_tries() {
    // The pauses grow, until there is no time for one.
    for options in [
        CallOptions::default().with_timeout(Duration::from_millis(400)),
        CallOptions::default().with_timeout(None).with_total(Duration::from_millis(400)),
    ] {
        let (client, far) = modern(Client::builder().max_resends(1000));
        let (done, mut tries) = (CancelToken::new(), 0);
        let error = during(
            || {
                let result = client.call_tool_with("send", (), &options);
                done.cancel("done");
                result
            },
            || {
                while !done.is_cancelled() {
                    if let Some(asked) = far.next_within(Duration::from_millis(10)) {
                        far.fail(&asked, NotSent);
                        tries += 1;
                    }
                }
            },
        );
        let error = error.expect_err("it failed");
        assert!(matches!(error, Error::Unreachable(_) | Error::Timeout(_)), "{error}");
        assert!((1..=5).contains(&tries), "{tries}");
    }
    let (client, far) = modern(Client::builder().max_resends(1000));
    let token = CancelToken::new();
    let options = CallOptions::default().with_cancel(&token);
    let error = during(
        || client.call_tool_with("send", (), &options),
        || {
            far.fail(&far.expect("tools/call"), NotSent);
            token.cancel("enough");
        },
    );
    assert!(matches!(error, Err(Error::Cancelled(reason)) if reason == "enough"));
    // Neither are there tries after the client has been closed.
    let (client, far) = modern(Client::builder().max_resends(1000));
    let handle = client.handle();
    let error = during(
        || call(&handle),
        || {
            far.fail(&far.expect("tools/call"), NotSent);
            client.close().expect("closes");
        },
    );
    assert!(error.expect_err("closed").is_closed());
}

#[test]
fn a_timeout_covers_all_tries_of_a_request() {
    let (client, far) = modern(Client::builder().max_resends(1));
    let options = CallOptions::default().with_timeout(Duration::from_millis(700));
    let start = Instant::now();
    let error = during(
        || client.call_tool_with("send", (), &options),
        || {
            let first = far.expect("tools/call");
            // As long as it takes until this comes back.
            let _ = CancelToken::new().wait_timeout(Duration::from_millis(400));
            far.fail(&first, NotSent);
            far.expect("tools/call");
            far.expect("notifications/cancelled");
        },
    );
    let Err(Error::Timeout(failure)) = error else { panic!("{error:?}") };
    // Counted from the first one, which was sent 450 ms before the second or earlier.
    assert!(start.elapsed() - failure.after < Duration::from_millis(400), "{:?}", failure.after);
}

#[test]
fn headers_that_were_wrong_are_made_anew_from_the_tools_once() {
    let (client, far) = modern(Client::builder());
    let mismatch = |far: &Far| far.error(&far.expect("tools/call"), -32020, Value::Null);
    let tools = json!({"tools": [], "resultType": "complete", "ttlMs": 600_000});
    // Kept for later, which is no reason not to ask.
    during(|| client.list_tools(), || far.answer(&far.expect("tools/list"), tools.clone())).expect("listed");
    let result = during(
        || client.call_tool("send", json!({"to": "Ada"})),
        || {
            mismatch(&far);
            far.answer(&far.expect("tools/list"), tools.clone());
            far.answer(&far.expect("tools/call"), said("sent"));
        },
    );
    assert_eq!(result.expect("answered").text_content(), "sent");
    let error = during(
        || call(&client),
        || {
            mismatch(&far);
            far.answer(&far.expect("tools/list"), tools.clone());
            mismatch(&far);
        },
    );
    assert!(matches!(error, Err(Error::Peer(error)) if error.code == -32020));
    // Without a list there is nothing new.
    let error = during(
        || call(&client),
        || {
            mismatch(&far);
            far.error(&far.expect("tools/list"), -32603, Value::Null);
        },
    );
    assert!(matches!(error, Err(Error::Peer(error)) if error.code == -32020));
    // Of other methods it is the peer's error, and in the Legacy era of all of them.
    let error = during(|| by_hand(&client), || far.error(&far.expect("x/y"), -32020, Value::Null));
    assert_eq!(kind(&error.expect_err("refused")), "Peer");
    far.expect_nothing();
    let (client, far, _) = settled_on(Client::builder(), LEGACY, |road| road);
    let error = during(|| call(&client), || mismatch(&far));
    assert_eq!(kind(&error.expect_err("refused")), "Peer");
    far.expect_nothing();
}

#[test]
fn tools_that_the_connection_refuses_are_in_no_listing() {
    let tool = |name: &str, property: &str| json!({"name": name, "inputSchema": {"type": "object", "properties": {property: {"type": "string"}}}});
    let tools = json!({"tools": [tool("good", "a"), tool("bad", "odd"), tool("fine", "b")], "resultType": "complete"});
    for (refuses, want) in [(true, vec!["good", "fine"]), (false, vec!["good", "bad", "fine"])] {
        let (client, far, _) =
            settled_on(Client::builder(), MODERN, |road| if refuses { road.refusing("odd") } else { road });
        let listing = || far.answer(&far.expect("tools/list"), tools.clone());
        let list = during(|| client.list_tools(), listing).expect("listed");
        assert_eq!(list.items.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), want);
        assert_eq!(list.rejected.len(), usize::from(refuses));
        for rejected in &list.rejected {
            assert_eq!(
                (rejected.name.as_deref(), rejected.problem.as_str()),
                (Some("bad"), "odd is no good")
            );
        }
        let found = during(|| client.discover_tools(), listing).expect("listed");
        assert_eq!(found.iter().map(Tool::name).collect::<Vec<_>>(), want);
        let page = during(|| client.tool_pages(&CallOptions::default()).next(), listing);
        let page = page.expect("one").expect("listed");
        assert_eq!(page.items.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), want);
    }
}
