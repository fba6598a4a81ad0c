//! What Legacy servers ask a client by requests, and the URLs that their calls require.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, bounded, unbounded};
use serde_json::{Value, json};
use tinymcp::client::{CallOptions, ClientBuilder};
use tinymcp::jsonrpc::Request;
use tinymcp::protocol::{CallToolResult, CreateMessageResult, ElicitResult, Root};
use tinymcp::testing::ScriptedPeer;
use tinymcp::{CancelToken, Client, Error, ErrorObject, Message, ProtocolVersion, RequestId};

/// Long enough for a loaded machine.
const LONG: Duration = Duration::from_secs(30);

/// A client and a scripted server that have shaken hands; and what the client said it can do.
fn greeted_in(version: &ProtocolVersion, builder: ClientBuilder) -> (Client, ScriptedPeer, Value) {
    let builder = builder.versions([version.clone()]);
    let (client, mut peer) = ScriptedPeer::for_client(builder).expect("a client");
    let handle = client.handle();
    let settling = thread::spawn(move || handle.initialize().map(drop));
    let hello = peer.expect_request("initialize");
    let info = json!({"name": "scripted", "version": "0"});
    let answer = json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info});
    peer.respond(&hello.id, answer);
    peer.expect_notification("notifications/initialized");
    settling.join().expect("no panic").expect("settled");
    let params = hello.params.expect("params").to_value();
    (client, peer, params["capabilities"].clone())
}

fn greeted(builder: ClientBuilder) -> (Client, ScriptedPeer) {
    let (client, peer, _) = greeted_in(&ProtocolVersion::V2025_11_25, builder);
    (client, peer)
}

type Called = JoinHandle<Result<CallToolResult, Error>>;

fn call(client: &Client, options: CallOptions) -> Called {
    let handle = client.handle();
    thread::spawn(move || handle.call_tool_with("t", (), &options))
}

fn finish(peer: &mut ScriptedPeer, call: Called) {
    let request = peer.expect_request("tools/call");
    peer.respond(&request.id, json!({"content": []}));
    call.join().expect("no panic").expect("a result");
}

fn form() -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    json!({"message": "Who?", "requestedSchema": schema})
}

/// The next call. The one before may have been given up before its answer was read.
fn next_call(peer: &mut ScriptedPeer) -> Request {
    loop {
        match peer.expect() {
            Message::Request(request) => return request,
            Message::Notification(notice) => assert_eq!(notice.method, "notifications/cancelled"),
            other => panic!("no question was open: {other:?}"),
        }
    }
}

#[test]
fn capabilities_are_declared_in_the_words_of_each_revision() {
    let builder = Client::builder()
        .on_elicit(|_| Ok(ElicitResult::cancel()))
        .on_elicit_url(|_| Ok(ElicitResult::cancel()))
        .on_sample(|_| Err(ErrorObject::new(-1, "no")))
        .sampling_with_tools()
        .on_roots(|_| Ok(Vec::new()));
    let oldest = json!({"sampling": {}, "roots": {"listChanged": true}});
    let mut with_forms = oldest.clone();
    with_forms["elicitation"] = json!({});
    let mut all = oldest.clone();
    all["elicitation"] = json!({"form": {}, "url": {}});
    all["sampling"] = json!({"tools": {}});
    for (version, expected) in [
        (ProtocolVersion::V2024_11_05, &oldest),
        (ProtocolVersion::V2025_03_26, &oldest),
        (ProtocolVersion::V2025_06_18, &with_forms),
        (ProtocolVersion::V2025_11_25, &all),
    ] {
        let (_client, mut peer, declared) = greeted_in(&version, builder.clone());
        assert_eq!(&declared, expected, "{version}");
        // What a revision does not have is not answered in it.
        peer.request(1, "elicitation/create", form());
        if version < ProtocolVersion::V2025_06_18 {
            assert_eq!(peer.expect_error(RequestId::from(1)).code, -32601);
        } else {
            assert_eq!(peer.expect_result(1).to_value(), json!({"action": "cancel"}));
        }
    }
}

#[test]
fn what_cannot_be_answered_is_an_error_that_says_why() {
    let able = || {
        Client::builder()
            .on_elicit(|_| panic!("the panic of a test"))
            .on_sample(|_| Err(ErrorObject::new(-1, "User rejected sampling request")))
            .on_roots(|_| Ok(vec![Root::new("https://example.com")]))
    };
    let sample = json!({"messages": [], "maxTokens": 5});
    let with_tools = json!({"messages": [], "maxTokens": 5, "tools": []});
    let result =
        json!([{"type": "tool_result", "toolUseId": "1", "content": []}, {"type": "text", "text": "and"}]);
    let mixed = json!({"messages": [{"role": "user", "content": result}], "maxTokens": 5});
    let url = json!({"mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "1"});
    let voice = json!({"mode": "voice", "message": "m"});
    let (_client, mut peer) = greeted(able());
    let (_other, mut bare) = greeted(Client::builder());
    for (method, params, code, problem) in [
        ("elicitation/create", form(), -32603, "panicked"),
        ("elicitation/create", json!({"message": "m"}), -32602, "params.requestedSchema: missing"),
        ("elicitation/create", url, -32602, "elicitation by a URL"),
        ("elicitation/create", voice, -32602, "another mode"),
        ("sampling/createMessage", sample, -1, "rejected"),
        ("sampling/createMessage", json!({}), -32602, "params.messages: missing"),
        ("sampling/createMessage", with_tools, -32602, "sampling with tools"),
        ("sampling/createMessage", mixed, -32602, "messages[0]: tool results are mixed with other content"),
        ("roots/list", json!({}), -32603, "https://example.com does not begin with file://"),
        ("vision/look", json!({}), -32601, "vision/look"),
    ] {
        peer.request("q", method, params.clone());
        let error = peer.expect_error(RequestId::from("q"));
        assert_eq!(error.code, code, "{method} {params}: {error}");
        assert!(error.message.contains(problem), "{error}");
        bare.request("q", method, params);
        assert_eq!(bare.expect_error(RequestId::from("q")).code, -32601, "{method}");
    }
    bare.request(1, "ping", json!({}));
    bare.expect_result(1);
}

#[test]
fn questions_are_answered_while_the_caller_waits_and_handlers_may_call() {
    let builder = Client::builder().on_sample(|request| {
        assert_eq!(request.server().expect("known").info.as_ref().expect("named").name, "scripted");
        assert!(request.call().is_none() && request.deadline().is_none());
        let nested =
            request.client().call_tool("nested", ()).map_err(|e| ErrorObject::new(-1, e.to_string()))?;
        Ok(CreateMessageResult::text("m", nested.text_content()))
    });
    let (client, mut peer) = greeted(builder);
    let open = call(&client, CallOptions::default());
    let outer = peer.expect_request("tools/call");
    peer.request("s", "sampling/createMessage", json!({"messages": [], "maxTokens": 5}));
    let nested = peer.expect_request("tools/call");
    peer.respond(&nested.id, json!({"content": [{"type": "text", "text": "inner"}]}));
    let answer = peer.expect_result("s").to_value();
    assert_eq!(answer["content"]["text"], "inner");
    peer.respond(&outer.id, json!({"content": []}));
    open.join().expect("no panic").expect("a result");
}

#[test]
fn a_hundred_questions_at_once_are_all_answered() {
    let builder = Client::builder().on_elicit(|form| {
        let mut content = form.defaults();
        content.insert("name", form.key());
        Ok(ElicitResult::accept(content))
    });
    let (client, mut peer) = greeted(builder);
    for id in 0..100 {
        peer.request(id, "elicitation/create", form());
    }
    let mut answered = [false; 100];
    for _ in 0..100 {
        let tinymcp::Message::Response(response) = peer.expect() else { panic!("no answer") };
        let Some(RequestId::Number(id)) = response.id else { panic!("no id") };
        let answer = response.result.expect("a result").to_value();
        assert_eq!(answer["content"]["name"], id.to_string());
        assert!(!std::mem::replace(&mut answered[usize::try_from(id).expect("an index")], true));
    }
    drop(client);
    peer.expect_end();
}

/// A handler that says that it runs, and then waits for its token or a word.
fn waiting(release: Receiver<()>) -> (ClientBuilder, Receiver<CancelToken>) {
    let (entered_tx, entered) = unbounded();
    let builder = Client::builder().on_elicit(move |form| {
        entered_tx.send(form.cancel_token().clone()).expect("the test waits");
        let start = Instant::now();
        while !form.cancel_token().wait_timeout(Duration::from_millis(1)) {
            if release.try_recv().is_ok() || start.elapsed() > LONG {
                break;
            }
        }
        Ok(ElicitResult::cancel())
    });
    (builder, entered)
}

#[test]
fn a_question_that_is_withdrawn_is_not_answered() {
    let (release_tx, release) = bounded(1);
    let (builder, entered) = waiting(release);
    let (client, mut peer) = greeted(builder);
    peer.request("q", "elicitation/create", form());
    let token = entered.recv_timeout(LONG).expect("asked");
    peer.notify("notifications/cancelled", json!({"requestId": "q", "reason": "never mind"}));
    assert!(token.wait_timeout(LONG));
    assert_eq!(token.reason(), Some("never mind"));
    // The next one is, also under the same id.
    peer.request("q", "elicitation/create", form());
    entered.recv_timeout(LONG).expect("asked");
    release_tx.send(()).expect("it waits");
    assert_eq!(peer.expect_result("q").to_value(), json!({"action": "cancel"}));
    drop(client);
    peer.expect_end();
}

#[test]
fn the_users_time_does_not_count_and_the_total_does() {
    let builder = Client::builder().on_elicit(|form| {
        assert!(!form.cancel_token().wait_timeout(Duration::from_millis(2_200)));
        Ok(ElicitResult::decline())
    });
    let (client, mut peer) = greeted(builder);
    let times = |total: u64| {
        let total = Duration::from_millis(total);
        CallOptions::default().with_timeout(Duration::from_millis(1_500)).with_total(total)
    };
    let open = call(&client, times(30_000));
    let request = peer.expect_request("tools/call");
    peer.request("q", "elicitation/create", form());
    peer.expect_result("q");
    peer.respond(&request.id, json!({"content": []}));
    open.join().expect("no panic").expect("a result");

    let start = Instant::now();
    let open = call(&client, times(300));
    peer.expect_request("tools/call");
    peer.request("q", "elicitation/create", form());
    assert!(open.join().expect("no panic").expect_err("too late").is_timeout());
    assert!(start.elapsed() < Duration::from_millis(2_200), "{:?}", start.elapsed());
}

#[test]
fn reading_and_closing_do_not_wait_for_a_handler() {
    let (_release_tx, release) = bounded(1);
    let (builder, entered) = waiting(release);
    let (client, mut peer) = greeted(builder);
    // More than there are threads.
    for id in 0..20 {
        peer.request(id, "elicitation/create", form());
    }
    let token = entered.recv_timeout(LONG).expect("asked");
    peer.request("p", "ping", json!({}));
    peer.expect_result("p");
    let report = client.close().expect("closed");
    assert!(token.is_cancelled());
    assert_eq!(report.handlers_detached, 0, "{report}");
}

#[test]
fn a_server_is_told_that_the_roots_changed() {
    let (client, mut peer) = greeted(Client::builder().roots([Root::new("file:///a")]));
    let roots = |peer: &mut ScriptedPeer, expected: &[&str]| {
        peer.request("r", "roots/list", json!({}));
        let told = peer.expect_result("r").to_value();
        let told: Vec<_> = told["roots"].as_array().expect("roots").iter().map(|root| &root["uri"]).collect();
        assert_eq!(told, expected);
    };
    roots(&mut peer, &["file:///a"]);
    client.set_roots([Root::new("file:///b"), Root::new("file:///c")]).expect("set");
    peer.expect_notification("notifications/roots/list_changed");
    roots(&mut peer, &["file:///b", "file:///c"]);
    let error = client.set_roots([Root::new("https://example.com")]).expect_err("no file");
    assert!(matches!(error, Error::InvalidUse(_)), "{error}");
    roots(&mut peer, &["file:///b", "file:///c"]);
    client.roots_changed().expect("told");
    peer.expect_notification("notifications/roots/list_changed");

    let builder = Client::builder().roots([Root::new("file:///a")]);
    let (early, _peer) = ScriptedPeer::for_client(builder.clone()).expect("a client");
    early.set_roots([]).expect("nobody is told");
    let error = ScriptedPeer::for_client(builder.roots([Root::new("/a")])).expect_err("no file");
    assert!(matches!(error, Error::InvalidUse(_)), "{error}");
    let (bare, _peer) = greeted(Client::builder());
    assert!(matches!(bare.set_roots([]), Err(Error::InvalidUse(_))));
    assert!(matches!(bare.roots_changed(), Err(Error::InvalidUse(_))));
}

/// A client that accepts every URL, what it was asked for, and what it was told is done.
fn visitor() -> (ClientBuilder, Receiver<String>, Receiver<String>) {
    let (asked_tx, asked) = unbounded();
    let (done_tx, done) = unbounded();
    let builder = Client::builder()
        .on_elicit_url(move |url| {
            asked_tx.send(url.key().to_owned()).expect("the test listens");
            Ok(if url.url.ends_with("no") { ElicitResult::decline() } else { ElicitResult::accept_url() })
        })
        .on_elicitation_complete(move |id| done_tx.send(id.to_owned()).expect("the test listens"));
    (builder, asked, done)
}

fn complete(peer: &mut ScriptedPeer, id: &str) {
    peer.notify("notifications/elicitation/complete", json!({"elicitationId": id}));
}

#[test]
fn the_end_of_a_url_is_told_once_and_only_if_it_was_asked_for() {
    let (builder, _asked, done) = visitor();
    let (client, mut peer) = greeted(builder);
    let url = json!({"mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "7"});
    complete(&mut peer, "7");
    peer.request(1, "elicitation/create", url);
    assert_eq!(peer.expect_result(1).to_value(), json!({"action": "accept"}));
    for id in ["5", "7", "7"] {
        complete(&mut peer, id);
    }
    peer.notify("notifications/elicitation/complete", json!({"elicitationId": 7}));
    peer.request(2, "ping", json!({}));
    peer.expect_result(2);
    assert_eq!(done.recv_timeout(LONG).expect("told"), "7");
    drop(client);
    assert!(done.recv_timeout(LONG).is_err(), "told again");
}

/// Answers a call with the error that wants these URLs visited.
fn require(peer: &mut ScriptedPeer, ids: &[&str]) -> Request {
    let request = peer.expect_request("tools/call");
    let one = |id: &&str| json!({"mode": "url", "message": "m", "url": format!("https://a.example/{id}"), "elicitationId": id});
    let data = json!({"elicitations": ids.iter().map(one).collect::<Vec<_>>()});
    peer.respond_error(&request.id, ErrorObject::new(-32042, "visit").with_data(data));
    request
}

#[test]
fn a_call_that_requires_urls_is_made_again_after_they_were_visited() {
    let (builder, asked, _done) = visitor();
    let (client, mut peer) = greeted(builder);
    let open = call(&client, CallOptions::default());
    let first = require(&mut peer, &["1", "2", "1"]);
    // At once; then another one is wanted; then one that the server has not noticed yet.
    let second = require(&mut peer, &["2", "3"]);
    assert_ne!(first.id, second.id);
    require(&mut peer, &["3", "2"]);
    complete(&mut peer, "2");
    complete(&mut peer, "3");
    finish(&mut peer, open);
    assert_eq!(asked.try_iter().collect::<Vec<_>>(), ["1", "2", "3"]);

    // The notice may come before anybody waits for it.
    let open = call(&client, CallOptions::default());
    let request = peer.expect_request("tools/call");
    let data = json!({"elicitations": [{"mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "9"}]});
    peer.respond_error(&request.id, ErrorObject::new(-32042, "visit").with_data(data));
    let request = peer.expect_request("tools/call");
    complete(&mut peer, "9");
    let data = json!({"elicitations": [{"mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "9"}]});
    peer.respond_error(&request.id, ErrorObject::new(-32042, "visit").with_data(data));
    finish(&mut peer, open);
}

#[test]
fn the_error_that_requires_urls_stays_if_they_cannot_be_visited() {
    let stays = |open: Called| {
        let error = open.join().expect("no panic").expect_err("an error");
        assert_eq!(error.peer_error().map(|error| error.code), Some(-32042), "{error}");
    };
    let (builder, asked, _done) = visitor();
    let (client, mut peer) = greeted(builder.clone().max_input_rounds(3));
    // The user declines; the second is not asked for then.
    let open = call(&client, CallOptions::default());
    require(&mut peer, &["no", "1"]);
    stays(open);
    assert_eq!(asked.try_iter().collect::<Vec<_>>(), ["no"]);
    // A server that never has enough.
    let open = call(&client, CallOptions::default());
    for id in ["1", "2", "3", "4"] {
        require(&mut peer, &[id]);
    }
    stays(open);
    assert_eq!(asked.try_iter().count(), 3);
    // No notice comes in the time there is for an answer.
    let open = call(&client, CallOptions::default().with_timeout(Duration::from_millis(300)));
    require(&mut peer, &["5"]);
    require(&mut peer, &["5"]);
    stays(open);
    // The caller does not want it any more.
    let token = CancelToken::new();
    let open = call(&client, CallOptions::default().with_cancel(&token));
    require(&mut peer, &["6"]);
    require(&mut peer, &["6"]);
    token.cancel("enough");
    assert!(matches!(open.join().expect("no panic"), Err(Error::Cancelled(_))));
    // Nothing that could be shown.
    for data in [json!({}), json!({"elicitations": []}), json!(5)] {
        let open = call(&client, CallOptions::default());
        let request = next_call(&mut peer);
        peer.respond_error(&request.id, ErrorObject::new(-32042, "visit").with_data(data));
        stays(open);
    }
    // Nobody who could be asked.
    let (client, mut peer) = greeted(Client::builder());
    let open = call(&client, CallOptions::default());
    require(&mut peer, &["1"]);
    stays(open);
    // The server ends while its notice is waited for.
    let (client, mut peer) = greeted(builder);
    let open = call(&client, CallOptions::default());
    require(&mut peer, &["8"]);
    require(&mut peer, &["8"]);
    drop(peer);
    stays(open);
}

#[test]
fn one_object_may_answer_and_closures_come_first() {
    use tinymcp::client::{Asked, ClientHandler};
    use tinymcp::context::Ability;
    use tinymcp::protocol::{ElicitFormParams, ListRootsParams};

    struct Own(Arc<AtomicU32>);
    impl ClientHandler for Own {
        fn can(&self, ability: Ability) -> bool {
            matches!(ability, Ability::Form | Ability::Roots | Ability::SamplingTools | Ability::Sampling)
        }
        fn elicit(&self, _: &Asked<ElicitFormParams>) -> Result<ElicitResult, ErrorObject> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(ElicitResult::decline())
        }
        fn roots(&self, _: &Asked<ListRootsParams>) -> Result<Vec<Root>, ErrorObject> {
            Ok(vec![Root::new("file:///own")])
        }
    }
    let count = Arc::new(AtomicU32::new(0));
    let builder = Client::builder().handler(Own(Arc::clone(&count))).roots([Root::new("file:///closure")]);
    let (_client, mut peer, declared) = greeted_in(&ProtocolVersion::V2025_11_25, builder);
    assert_eq!(
        declared,
        json!({"elicitation": {"form": {}}, "roots": {"listChanged": true}, "sampling": {"tools": {}}})
    );
    peer.request(1, "elicitation/create", form());
    assert_eq!(peer.expect_result(1).to_value(), json!({"action": "decline"}));
    peer.request(2, "roots/list", json!({}));
    assert_eq!(peer.expect_result(2).to_value(), json!({"roots": [{"uri": "file:///closure"}]}));
    // It said that it can, and has no method for it.
    peer.request(3, "sampling/createMessage", json!({"messages": [], "maxTokens": 5}));
    assert_eq!(peer.expect_error(RequestId::from(3)).code, -32603);
    assert_eq!(count.load(Ordering::SeqCst), 1);
}
