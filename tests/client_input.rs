//! How a client answers what servers ask: one set of handlers for every revision, and the rounds of Modern calls.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::client::{CallOptions, ClientBuilder, Outcome, Timeouts};
use tinymcp::context::{Ability, Question};
use tinymcp::json::Object;
use tinymcp::jsonrpc::Request;
use tinymcp::protocol::{
    CallToolResult, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ElicitUrlParams,
    PrimitiveSchema, RequestedSchema, Root, SamplingContent, ToolUseContent,
};
use tinymcp::testing::{ScriptedPeer, pair_with};
use tinymcp::{
    CancelToken, Client, Context, Error, ErrorObject, FnTool, ProtocolVersion, Server, ToolError,
    ToolRegistry,
};

/// Answers everything.
fn able() -> ClientBuilder {
    Client::builder()
        .on_elicit(|form| {
            let mut content = form.defaults();
            content.insert("name", "Ada");
            Ok(ElicitResult::accept(content))
        })
        .on_elicit_url(|url| {
            assert_eq!(url.host(), "example.com");
            Ok(ElicitResult::accept_url())
        })
        .on_sample(|request| {
            let tool = request.tools.as_ref().map(|tools| tools[0].name.clone());
            Ok(match tool {
                Some(tool) => {
                    let used = ToolUseContent::new("1", tool, Object::new());
                    let blocks: Vec<SamplingContent> = vec!["I look".into(), used.into()];
                    CreateMessageResult::new("m", blocks)
                }
                None => CreateMessageResult::text("m", format!("{} messages", request.messages.len())),
            })
        })
        .sampling_with_tools()
        .roots([Root::new("file:///work")])
}

fn form() -> ElicitParams {
    let fields = RequestedSchema::new()
        .required("name", PrimitiveSchema::text())
        .optional("sure", PrimitiveSchema::boolean().with_default(true));
    ElicitParams::form("Who?", fields)
}

fn add(
    tools: &ToolRegistry,
    name: &str,
    run: impl Fn(&Context) -> Result<String, ToolError> + Send + Sync + 'static,
) {
    tools
        .register(FnTool::new(name, "", json!({"type": "object"}), move |_, cx: &Context| run(cx)))
        .expect("registered");
}

/// Tools that ask, one for each thing that can be asked and some for more.
fn server() -> Server {
    let tools = ToolRegistry::new();
    add(&tools, "form", |cx| {
        let answer: Value = cx.elicit("who", form())?.content_as()?.unwrap_or_default();
        Ok(answer.to_string())
    });
    add(&tools, "url", |cx| {
        let answer = cx.elicit("go", ElicitParams::url("Log in", "https://example.com/login"))?;
        Ok(answer.action.to_string())
    });
    add(&tools, "sample", |cx| {
        Ok(cx.sample("said", CreateMessageParams::new(10).with_user("Hi").with_user("there"))?.text_content())
    });
    add(&tools, "sample with tools", |cx| {
        let tool = tinymcp::protocol::ToolDefinition::new("look", json!({"type": "object"}));
        let answer =
            cx.sample("said", CreateMessageParams::new(10).with_user("Hi").with_tools([tool].to_vec()))?;
        Ok(format!("{} blocks", answer.content.len()))
    });
    add(&tools, "roots", |cx| Ok(cx.roots()?[0].uri.clone()));
    add(&tools, "all", |cx| {
        let first = cx.roots()?;
        let ask = CreateMessageParams::new(10).with_user("Hi");
        let (said, roots) = cx.ask((Question::sample("said", ask), Question::roots("again")))?;
        Ok(format!("{} {} {}", first.len(), said.text_content(), roots.len()))
    });
    add(&tools, "what", |cx| {
        let all = [
            Ability::Form,
            Ability::Url,
            Ability::Sampling,
            Ability::SamplingTools,
            Ability::SamplingContext,
            Ability::Roots,
        ];
        let mine: Vec<_> = all.into_iter().filter(|ability| cx.supports(*ability)).collect();
        Ok(format!("{mine:?}"))
    });
    let visited = AtomicBool::new(false);
    add(&tools, "login", move |_| {
        if visited.swap(!visited.load(Ordering::SeqCst), Ordering::SeqCst) {
            return Ok("logged in".to_owned());
        }
        let login = ElicitUrlParams::new("Log in", "https://example.com/login").with_elicitation_id("7");
        Err(ToolError::url_elicitation_required(vec![login]))
    });
    Server::builder("asks", "1").tools(tools).build().expect("a server")
}

#[test]
fn one_set_of_handlers_answers_servers_of_every_revision() {
    use ProtocolVersion as V;
    // A tool, the first revision in which a server can ask for that, and what comes of it.
    let table = [
        ("form", V::V2025_06_18, r#"{"name":"Ada","sure":true}"#),
        ("url", V::V2025_11_25, "accept"),
        ("login", V::V2025_11_25, "logged in"),
        ("sample", V::V2024_11_05, "2 messages"),
        ("sample with tools", V::V2025_11_25, "2 blocks"),
        ("roots", V::V2024_11_05, "file:///work"),
        ("all", V::V2024_11_05, "1 1 messages 1"),
    ];
    for version in &V::ALL {
        let client = pair_with(able().versions([version.clone()]), &server()).expect("a pair");
        for (tool, since, expected) in &table {
            let result = client.call_tool(tool, ());
            if version >= since {
                assert_eq!(result.expect(tool).text_content(), *expected, "{tool} in {version}");
            } else {
                let text = result.expect(tool).text_content();
                assert!(text.starts_with("the client does not support"), "{tool} in {version}: {text}");
            }
        }
    }
}

#[test]
fn what_is_declared_is_what_has_a_handler() {
    let accept = || Client::builder().on_elicit(|_| Ok(ElicitResult::cancel()));
    let sample = || Client::builder().on_sample(|_| Err(ErrorObject::new(-1, "no")));
    for (builder, expected) in [
        (Client::builder(), "[]"),
        (Client::builder().sampling_with_tools().sampling_with_context(), "[]"),
        (accept(), "[Form]"),
        (Client::builder().on_elicit_url(|_| Ok(ElicitResult::cancel())), "[Url]"),
        (accept().on_elicit_url(|_| Ok(ElicitResult::cancel())), "[Form, Url]"),
        (sample(), "[Sampling]"),
        (
            sample().sampling_with_tools().sampling_with_context(),
            "[Sampling, SamplingTools, SamplingContext]",
        ),
        (Client::builder().roots([]), "[Roots]"),
        (Client::builder().on_roots(|_| Ok(Vec::new())), "[Roots]"),
        (able(), "[Form, Url, Sampling, SamplingTools, Roots]"),
    ] {
        for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
            let client = pair_with(builder.clone().versions([version]), &server()).expect("a pair");
            assert_eq!(client.call_tool("what", ()).expect("a result").text_content(), expected);
        }
    }
}

type Called = JoinHandle<Result<CallToolResult, Error>>;

/// A client, a scripted Modern server, and a call that was made and has arrived there.
fn called(builder: ClientBuilder, options: CallOptions) -> (Client, ScriptedPeer, Called, Request) {
    let (client, mut peer) = ScriptedPeer::for_client(builder).expect("a client");
    let handle = client.handle();
    let call = thread::spawn(move || handle.call_tool_with("t", json!({"n": 1}), &options));
    let probe = peer.expect_request("server/discover");
    peer.respond(&probe.id, json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0,
        "cacheScope": "private",
    }));
    let request = peer.expect_request("tools/call");
    (client, peer, call, request)
}

fn params(request: &Request) -> Value {
    request.params.as_ref().expect("params").to_value()
}

/// Answers `request` with questions, or a state, and gives back the next round.
fn ask(peer: &mut ScriptedPeer, request: &Request, questions: Value, state: Option<&str>) -> Request {
    ask_last(peer, request, questions, state);
    let next = peer.expect_request("tools/call");
    assert_ne!(next.id, request.id);
    let [mut before, mut after] = [request, &next].map(params);
    for of_the_round in ["inputResponses", "requestState", "_meta"] {
        before.as_object_mut().expect("an object").remove(of_the_round);
        after.as_object_mut().expect("an object").remove(of_the_round);
    }
    assert_eq!(before, after);
    next
}

fn ask_last(peer: &mut ScriptedPeer, request: &Request, questions: Value, state: Option<&str>) {
    let mut result = json!({"resultType": "input_required"});
    if !questions.is_null() {
        result["inputRequests"] = questions;
    }
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    peer.respond(&request.id, result);
}

fn finish(peer: &mut ScriptedPeer, request: &Request, call: Called) -> String {
    // Without a `resultType`, which means that it is complete.
    peer.respond(&request.id, json!({"content": [{"type": "text", "text": "done"}]}));
    call.join().expect("no panic").expect("a result").text_content()
}

fn fails(call: Called) -> Error {
    call.join().expect("no panic").expect_err("an error")
}

fn question() -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    json!({"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": schema}})
}

#[test]
fn a_round_returns_the_state_as_it_came_and_the_answers_under_their_keys() {
    let (_client, mut peer, call, first) = called(able(), CallOptions::default());
    assert_eq!(
        (&params(&first)["inputResponses"], &params(&first)["requestState"]),
        (&Value::Null, &Value::Null)
    );
    // Nothing is known of the keys but that they come back.
    let state = "a \"b\" \\ \u{0} \u{1F600} \n{}";
    let asked = json!({"z": question(), "": {"method": "roots/list"}, "a.b#2": question()});
    let second = ask(&mut peer, &first, asked, Some(state));
    let ada = json!({"action": "accept", "content": {"name": "Ada"}});
    let roots = json!({"roots": [{"uri": "file:///work"}]});
    assert_eq!(params(&second)["inputResponses"], json!({"z": ada, "": roots, "a.b#2": ada}));
    assert_eq!(params(&second)["requestState"], json!(state));
    // No state, no questions: neither is kept from the round before.
    let third = ask(&mut peer, &second, json!({"q": question()}), None);
    assert_eq!(params(&third)["inputResponses"], json!({"q": ada}));
    assert!(params(&third).get("requestState").is_none());
    let fourth = ask(&mut peer, &third, Value::Null, Some(""));
    assert!(params(&fourth).get("inputResponses").is_none());
    assert_eq!(params(&fourth)["requestState"], "");
    assert_eq!(finish(&mut peer, &fourth, call), "done");
}

#[test]
fn a_server_that_asks_for_ever_is_told_so_after_some_rounds() {
    for (builder, rounds) in [(able(), 10), (able().max_input_rounds(2), 2), (able().max_input_rounds(0), 0)]
    {
        for asked in [json!({"q": question()}), Value::Null] {
            let (_client, mut peer, call, mut request) = called(builder.clone(), CallOptions::default());
            for _ in 0..rounds {
                request = ask(&mut peer, &request, asked.clone(), Some("s"));
            }
            ask_last(&mut peer, &request, asked, Some("s"));
            let error = fails(call);
            assert!(matches!(error, Error::Protocol(_)), "{error}");
            assert!(
                error.to_string().contains(&format!("tools/call t asks again after {rounds} rounds")),
                "{error}"
            );
        }
    }
}

#[test]
fn nobody_is_asked_if_one_question_has_nobody_to_answer_it() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let form = Client::builder().on_elicit(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(ElicitResult::cancel())
    });
    let url = json!({"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://a.example"}});
    let voice = json!({"method": "elicitation/create", "params": {"mode": "voice", "message": "m"}});
    let sample = json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}});
    for (builder, odd, what) in [
        (form.clone(), json!({"method": "roots/list"}), "unknown method: roots/list"),
        (form.clone(), sample.clone(), "unknown method: sampling/createMessage"),
        (form.clone(), json!({"method": "vision/look", "params": {}}), "unknown method: vision/look"),
        (form.clone(), url, "does not support elicitation by a URL"),
        (form.clone(), voice, "does not support elicitation of another mode"),
        (Client::builder(), question(), "unknown method: elicitation/create"),
    ] {
        let (_client, mut peer, call, request) = called(builder, CallOptions::default());
        ask_last(&mut peer, &request, json!({"first": question(), "odd": odd}), None);
        let error = fails(call);
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn what_is_no_question_is_a_violation() {
    for (result, problem) in [
        (json!({"resultType": "input_required"}), "nothing is asked"),
        (json!({"resultType": "input_required", "inputRequests": {}}), "nothing is asked"),
        (json!({"resultType": "input_required", "inputRequests": []}), "inputRequests: expected an object"),
        (json!({"resultType": "input_required", "requestState": 5}), "requestState: expected a string"),
        (
            json!({"resultType": "input_required", "inputRequests": {"q": {"method": "elicitation/create"}}}),
            "inputRequests.q.params: missing",
        ),
    ] {
        let (_client, mut peer, call, request) = called(able(), CallOptions::default());
        peer.respond(&request.id, result);
        let error = fails(call);
        assert!(matches!(error, Error::Protocol(_)) && error.to_string().contains(problem), "{error}");
    }
    let (_client, mut peer, call, request) = called(able(), CallOptions::default());
    peer.respond(&request.id, json!({"resultType": "later"}));
    assert!(matches!(fails(call), Error::Unsupported(_)));
}

#[test]
fn a_call_ends_with_what_its_handler_could_not_do() {
    let panics = Client::builder().on_elicit(|_| panic!("the panic of a test"));
    let refuses =
        Client::builder().on_elicit(|form| Err(ErrorObject::new(-1, format!("not {}", form.key()))));
    let mistaken = Client::builder().on_elicit(|_| {
        let mut content = Object::new();
        content.insert("name", &5);
        Ok(ElicitResult::accept(content))
    });
    let empty = Client::builder().on_elicit(|_| Ok(ElicitResult::accept_url()));
    for (builder, code, problem) in [
        (panics, -32603, "the handler of elicitation/create panicked"),
        (refuses, -1, "not q"),
        (mistaken, -32603, "name: expected a string, found 5"),
        (empty, -32603, "name: missing"),
    ] {
        let (_client, mut peer, call, request) = called(builder, CallOptions::default());
        ask_last(&mut peer, &request, json!({"q": question()}), None);
        let error = fails(call);
        let Error::NotAnswered { key, error } = &error else { panic!("{error}") };
        assert_eq!((key.as_str(), error.code), ("q", code));
        assert!(error.message.contains(problem), "{error}");
    }
}

#[test]
fn only_plain_web_addresses_are_shown() {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&shown);
    let builder = Client::builder().on_elicit_url(move |url| {
        note.lock().expect("no panic").push((url.host(), url.has_punycode()));
        Ok(ElicitResult::accept_url())
    });
    let asked = |url: &str| json!({"q": {"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": url}}});
    for url in ["javascript:alert(1)", "file:///etc/passwd", "https://a.example@b.example/"] {
        let (_client, mut peer, call, request) = called(builder.clone(), CallOptions::default());
        ask_last(&mut peer, &request, asked(url), None);
        let error = fails(call);
        assert!(matches!(&error, Error::NotAnswered { error, .. } if error.code == -32602), "{error}");
    }
    let (_client, mut peer, call, mut request) = called(builder, CallOptions::default());
    for url in ["https://Mcp.Example:8443/x", "http://xn--e1awd7f.example"] {
        request = ask(&mut peer, &request, asked(url), None);
        assert_eq!(params(&request)["inputResponses"], json!({"q": {"action": "accept"}}));
    }
    finish(&mut peer, &request, call);
    let shown = shown.lock().expect("no panic").clone();
    assert_eq!(shown, [("mcp.example".to_owned(), false), ("xn--e1awd7f.example".to_owned(), true)]);
}

#[test]
fn the_users_time_does_not_count_and_the_total_does() {
    let slow = |time: u64| {
        Client::builder().on_elicit(move |form| {
            assert!(!form.cancel_token().wait_timeout(Duration::from_millis(time)));
            assert!(form.deadline().is_some());
            Ok(ElicitResult::decline())
        })
    };
    let times = |call: u64, total: u64| {
        let [call, total] = [call, total].map(Duration::from_millis);
        CallOptions::default().with_timeout(call).with_total(total)
    };
    let (_client, mut peer, call, request) = called(slow(2_000), times(1_500, 30_000));
    let next = ask(&mut peer, &request, json!({"q": question()}), None);
    assert_eq!(finish(&mut peer, &next, call), "done");

    let (_client, mut peer, call, request) = called(slow(300), times(30_000, 200));
    ask_last(&mut peer, &request, json!({"q": question()}), None);
    let error = fails(call);
    assert!(error.is_timeout(), "{error}");
}

#[test]
fn a_call_can_be_given_up_inside_a_handler_and_between_rounds() {
    let (entered_tx, entered) = crossbeam_channel::bounded(1);
    let waits = Client::builder().on_elicit(move |form| {
        entered_tx.send(()).expect("the test waits");
        assert!(form.cancel_token().wait_timeout(Duration::from_secs(20)));
        Err(ErrorObject::new(-1, "given up"))
    });
    let token = CancelToken::new();
    let options = CallOptions::default().with_cancel(&token);
    let (client, mut peer, call, request) = called(waits, options.clone());
    ask_last(&mut peer, &request, json!({"q": question()}), None);
    entered.recv_timeout(Duration::from_secs(20)).expect("asked");
    token.cancel("enough");
    let error = fails(call);
    assert!(matches!(&error, Error::Cancelled(reason) if reason == "enough"), "{error}");
    drop(client);
    peer.expect_end(); // nothing was open, so nothing was cancelled

    // An answer that comes too late is not sent.
    let token = CancelToken::new();
    let own = token.clone();
    let gives_up = Client::builder().on_elicit(move |_| {
        own.cancel("enough");
        Ok(ElicitResult::decline())
    });
    let options = CallOptions::default().with_cancel(&token);
    let (client, mut peer, call, request) = called(gives_up, options);
    ask_last(&mut peer, &request, json!({"q": question(), "r": question()}), None);
    assert!(matches!(fails(call), Error::Cancelled(_)));
    drop(client);
    peer.expect_end();
}

#[test]
fn progress_is_reported_in_each_round() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let options = CallOptions::default()
        .with_progress(move |progress| note.lock().expect("no panic").push(progress.progress));
    let (_client, mut peer, call, first) = called(able(), options);
    let report = |peer: &mut ScriptedPeer, request: &Request, progress: f64| {
        let token = &params(request)["_meta"]["progressToken"];
        assert_eq!(token, &json!(request.id));
        peer.notify("notifications/progress", json!({"progressToken": token, "progress": progress}));
    };
    report(&mut peer, &first, 5.0);
    let second = ask(&mut peer, &first, json!({"q": question()}), None);
    report(&mut peer, &second, 1.0);
    finish(&mut peer, &second, call);
    assert_eq!(*seen.lock().expect("no panic"), [5.0, 1.0]);
}

#[test]
fn a_handler_may_call_and_each_call_has_its_own_rounds() {
    let inner = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&inner);
    let builder = Client::builder().on_elicit(move |form| {
        let call = form.call().expect("known").clone();
        assert_eq!((call.method.as_str(), form.key()), ("tools/call", "who"));
        assert_eq!(form.server().expect("known").info.as_ref().expect("named").name, "asks");
        if count.fetch_add(1, Ordering::SeqCst) < 3 {
            let again =
                form.client().call_tool("form", ()).map_err(|e| ErrorObject::new(-1, e.to_string()))?;
            assert_eq!(again.text_content(), r#"{"name":"Ada"}"#);
        }
        let mut content = Object::new();
        content.insert("name", "Ada");
        Ok(ElicitResult::accept(content))
    });
    let client = pair_with(builder.versions([ProtocolVersion::V2026_07_28]), &server()).expect("a pair");
    assert_eq!(client.call_tool("form", ()).expect("a result").text_content(), r#"{"name":"Ada"}"#);
    assert_eq!(inner.load(Ordering::SeqCst), 4);
}

#[test]
fn calls_side_by_side_do_not_mix() {
    let client = pair_with(able().versions([ProtocolVersion::V2026_07_28]), &server()).expect("a pair");
    let open: Vec<_> = (0..20)
        .map(|n| {
            let tool = if n % 2 == 0 { "form" } else { "all" };
            client.start_call(tool, (), &CallOptions::default()).expect("sent")
        })
        .collect();
    for (n, call) in open.into_iter().enumerate() {
        let expected = if n % 2 == 0 { r#"{"name":"Ada","sure":true}"# } else { "1 1 messages 1" };
        assert_eq!(call.wait().expect("a result").text_content(), expected);
    }
}

#[test]
fn a_caller_may_answer_by_itself() {
    let client = pair_with(able().versions([ProtocolVersion::V2026_07_28]), &server()).expect("a pair");
    let once = |options: &CallOptions| client.call_tool_once("form", (), options).expect("an outcome");
    let Outcome::InputRequired(asked) = once(&CallOptions::default()) else { panic!("asks nothing") };
    assert_eq!(asked.input_requests.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["who"]);
    let mut answers = Object::new();
    answers.insert("who", &json!({"action": "accept", "content": {"name": "Bob"}}));
    let options = CallOptions::default().with_input(answers, asked.request_state);
    assert!(!format!("{options:?}").contains("Bob"));
    let Outcome::Complete(result) = once(&options) else { panic!("asks again") };
    assert_eq!(result.text_content(), r#"{"name":"Bob"}"#);

    // What is asked after that goes to the handlers, if the caller does not ask for rounds.
    let Outcome::InputRequired(asked) = once(&CallOptions::default()) else { panic!("asks nothing") };
    let options = CallOptions::default().with_input(Object::new(), asked.request_state);
    let result = client.call_tool_with("form", (), &options).expect("a result");
    assert_eq!(result.text_content(), r#"{"name":"Ada","sure":true}"#);

    let legacy = pair_with(able().versions([ProtocolVersion::V2025_11_25]), &server()).expect("a pair");
    let outcome = legacy.call_tool_once("form", (), &CallOptions::default()).expect("an outcome");
    assert!(matches!(outcome, Outcome::Complete(_)));
    assert!(matches!(legacy.call_tool_once("form", (), &options), Err(Error::Unsupported(_))));
}

#[test]
fn a_client_that_was_not_asked_answers_nothing_to_a_modern_server() {
    let timeouts = Timeouts::default().with_call(Duration::from_secs(20));
    let (client, mut peer, call, request) = called(able().timeouts(timeouts), CallOptions::default());
    // A Modern server must not: there is no answer, and no handler runs.
    peer.request(1, "elicitation/create", json!({"message": "m", "requestedSchema": {"type": "object"}}));
    peer.request(2, "roots/list", json!({}));
    finish(&mut peer, &request, call);
    drop(client);
    peer.expect_end();
}
