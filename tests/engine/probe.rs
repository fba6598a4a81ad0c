//! How a client settles the protocol: every answer a server may give, and what the client does next.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::client::Timeouts;
use tinymcp::testing::ScriptedPeer;
use tinymcp::{Client, Error, ErrorObject, Message, ProtocolVersion};

use super::{LONG, answer_handshake, discovered};

/// What a server does when it is asked.
#[derive(Clone, Debug)]
enum Answer {
    Result(Value),
    Error(i64, Value),
    Raw(&'static str),
    Silence,
    Close,
}

/// What the client does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// It is settled, on a Modern revision.
    Modern,
    /// It asks again with this revision.
    Discover(&'static str),
    /// It tries the handshake, asking for this revision.
    Initialize(&'static str),
    /// It gives up with `Unsupported`, `Peer`, `Closed`, `Timeout` or `Protocol`.
    Fails(&'static str),
}

fn kind(error: &Error) -> &'static str {
    match error {
        Error::Peer(_) | Error::Refused { .. } => "Peer",
        Error::Unsupported(_) => "Unsupported",
        Error::Closed(_) => "Closed",
        Error::Timeout(_) => "Timeout",
        Error::Protocol(_) => "Protocol",
        _ => "other",
    }
}

fn give(server: &mut ScriptedPeer, id: &tinymcp::RequestId, answer: &Answer) {
    match answer {
        Answer::Result(result) => server.respond(id, result.clone()),
        Answer::Error(code, data) => {
            let error = ErrorObject::new(*code, "no");
            server.respond_error(id, if data.is_null() { error } else { error.with_data(data.clone()) });
        }
        Answer::Raw(line) => server.send_raw(line),
        Answer::Silence => {}
        Answer::Close => server.close(),
    }
}

/// A client that offers `versions` asks, the server gives `answers` one after the other, and then: what?
fn ask(versions: &[ProtocolVersion], answers: &[Answer]) -> Next {
    let waits = answers.iter().any(|answer| matches!(answer, Answer::Silence | Answer::Raw(_)));
    let time = if waits { Duration::from_millis(30) } else { LONG };
    let timeouts = Timeouts::default().with_probe(time).with_connect(LONG);
    let builder = Client::builder().versions(versions.iter().cloned()).timeouts(timeouts);
    let (client, server) = ScriptedPeer::for_client(builder).expect("a client");
    let mut server = server.with_deadline(LONG);
    let settling = thread::spawn(move || match client.initialize() {
        Ok(identity) => Ok(identity.version.clone()),
        Err(error) => Err(kind(&error)),
    });
    for answer in answers {
        let probe = server.expect_request("server/discover");
        give(&mut server, &probe.id, answer);
    }
    // The client goes on, or is done and closes.
    let next = match serde_json::from_str::<Value>(&server_next(&mut server)) {
        Ok(frame) if frame["method"] == "server/discover" => {
            let version = &frame["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
            Some(Next::Discover(known(version)))
        }
        Ok(frame) if frame["method"] == "initialize" => {
            Some(Next::Initialize(known(&frame["params"]["protocolVersion"])))
        }
        Ok(frame) => panic!("unexpected: {frame}"),
        Err(_) => None,
    };
    server.close();
    match (next, settling.join().expect("no panic")) {
        (Some(next), _) => next,
        (None, Ok(version)) => {
            assert!(version.is_modern(), "{version}");
            Next::Modern
        }
        (None, Err(kind)) => Next::Fails(kind),
    }
}

/// The next frame, or nothing at the end.
fn server_next(server: &mut ScriptedPeer) -> String {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.expect_frame())).unwrap_or_default()
}

fn known(version: &Value) -> &'static str {
    let all = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
    all.into_iter().find(|known| *version == *known).unwrap_or("another")
}

#[test]
fn every_answer_to_the_probe_leads_somewhere() {
    use Answer::{Close, Error, Raw, Result, Silence};
    use Next::{Discover, Fails, Initialize, Modern};
    let all = ProtocolVersion::ALL.to_vec();
    let modern = vec![ProtocolVersion::V2026_07_28];
    let some = vec![ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_03_26, ProtocolVersion::V2026_07_28];
    let supported = |versions: Value| json!({"supported": versions, "requested": "2026-07-28"});
    let bare = json!({"supportedVersions": ["2026-07-28"]});
    let partial = json!({"supportedVersions": ["2026-07-28"], "resultType": "part"});
    let newest = || Initialize("2025-11-25");
    for (offered, answers, want) in [
        // What a Modern server says.
        (&all, vec![Result(discovered(&["2026-07-28"]))], Modern),
        (&all, vec![Result(discovered(&["2099-01-01", "2026-07-28", "2025-11-25"]))], Modern),
        (&modern, vec![Result(discovered(&["2026-07-28"]))], Modern),
        (&all, vec![Result(bare)], Modern),
        (&all, vec![Result(partial)], newest()),
        // It speaks, and nothing Modern in common.
        (&all, vec![Result(discovered(&["2025-06-18"]))], newest()),
        (&some, vec![Result(discovered(&["2025-03-26"]))], Initialize("2025-03-26")),
        (&some, vec![Result(discovered(&["2025-06-18"]))], Fails("Unsupported")),
        (&all, vec![Result(discovered(&["2099-01-01"]))], Fails("Unsupported")),
        (&all, vec![Result(discovered(&[]))], Fails("Unsupported")),
        (&modern, vec![Result(discovered(&["2025-11-25"]))], Fails("Unsupported")),
        // It names other revisions.
        (&all, vec![Error(-32022, supported(json!(["2026-07-28"])))], Discover("2026-07-28")),
        (
            &all,
            vec![Error(-32022, supported(json!(["2026-07-28"]))), Result(discovered(&["2026-07-28"]))],
            Modern,
        ),
        (
            &all,
            vec![Error(-32022, supported(json!(["2026-07-28"]))), Error(-32603, Value::Null)],
            Fails("Peer"),
        ),
        (&all, vec![Error(-32022, supported(json!(["2025-11-25", "2099-01-01"])))], newest()),
        (&all, vec![Error(-32022, supported(json!(["2099-01-01"])))], Fails("Unsupported")),
        (&all, vec![Error(-32022, supported(json!("2025-11-25")))], newest()),
        (&all, vec![Error(-32022, Value::Null)], newest()),
        (&modern, vec![Error(-32022, supported(json!(["2025-11-25"])))], Fails("Unsupported")),
        // It does not know the method, in any words.
        (&all, vec![Error(-32601, Value::Null)], newest()),
        (&all, vec![Error(-32602, json!({"x": 1}))], newest()),
        (&all, vec![Error(-32600, Value::Null)], newest()),
        (&all, vec![Error(-32603, Value::Null)], newest()),
        (&all, vec![Error(-32700, Value::Null)], newest()),
        (&all, vec![Error(-32000, json!("not initialized"))], newest()),
        (&all, vec![Error(0, Value::Null)], newest()),
        (&some, vec![Error(-32601, Value::Null)], Initialize("2025-03-26")),
        (&modern, vec![Error(-32601, Value::Null)], Fails("Unsupported")),
        // Its answer is none.
        (&all, vec![Result(json!({}))], newest()),
        (&all, vec![Result(json!({"supportedVersions": 5}))], newest()),
        (&all, vec![Result(json!(null))], newest()),
        (&all, vec![Result(json!([]))], newest()),
        (&modern, vec![Result(json!({}))], Fails("Unsupported")),
        (&all, vec![Raw(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}}"#)], newest()),
        (&all, vec![Raw("Unknown command")], newest()),
        (&all, vec![Silence], newest()),
        (&modern, vec![Silence], Fails("Unsupported")),
        (&all, vec![Close], Fails("Closed")),
        (&modern, vec![Close], Fails("Closed")),
        // Nobody asks what cannot be used.
        (&vec![ProtocolVersion::V2025_06_18], vec![], Initialize("2025-06-18")),
    ] {
        assert_eq!(ask(offered, &answers), want, "{offered:?} {answers:?}");
    }
}

#[test]
fn every_answer_to_the_handshake_leads_somewhere() {
    use Answer::{Close, Error, Result, Silence};
    let result = |version: Value| json!({"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}});
    for (answer, want) in [
        (Result(result(json!("2025-11-25"))), Ok("2025-11-25")),
        (Result(result(json!("2024-11-05"))), Ok("2024-11-05")),
        (Result(result(json!("2026-07-28"))), Err("Unsupported")),
        (Result(result(json!("1999-01-01"))), Err("Unsupported")),
        (Result(result(json!(5))), Err("Protocol")),
        (Result(json!({})), Err("Protocol")),
        (
            Result(
                json!({"protocolVersion": "2025-11-25", "capabilities": 5, "serverInfo": {"name": "s", "version": "1"}}),
            ),
            Ok("2025-11-25"),
        ),
        (Error(-32603, Value::Null), Err("Peer")),
        (Silence, Err("Timeout")),
        (Close, Err("Closed")),
    ] {
        let time = if matches!(answer, Silence) { Duration::from_millis(40) } else { LONG };
        let timeouts = Timeouts::default().with_connect(time);
        let legacy = ProtocolVersion::ALL.into_iter().filter(ProtocolVersion::is_legacy);
        let builder = Client::builder().versions(legacy).timeouts(timeouts);
        let (client, mut server) = ScriptedPeer::for_client(builder).expect("a client");
        let settling = thread::spawn(move || match client.initialize() {
            Ok(identity) => Ok(identity.version.to_string()),
            Err(error) => Err(kind(&error)),
        });
        let request = server.expect_request("initialize");
        give(&mut server, &request.id, &answer);
        if want.is_ok() {
            server.expect_notification("notifications/initialized");
        }
        let got = settling.join().expect("no panic");
        assert_eq!(got.as_deref().map_err(|kind| *kind), want, "{answer:?}");
        // Above all no cancellation of the handshake.
        server.expect_end();
    }
}

#[test]
fn a_probe_that_is_answered_late_changes_nothing() {
    let timeouts = Timeouts::default().with_probe(Duration::from_millis(20));
    let (client, mut server) =
        ScriptedPeer::for_client(Client::builder().timeouts(timeouts)).expect("a client");
    thread::scope(|scope| {
        let settling = scope.spawn(|| client.initialize().map(|identity| identity.version.clone()));
        let probe = server.expect_request("server/discover");
        // Only after the client went on is the probe answered, and then the handshake.
        let request = server.expect_request("initialize");
        server.respond(&probe.id, discovered(&["2026-07-28"]));
        server.respond(
            &request.id,
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}),
        );
        server.expect_notification("notifications/initialized");
        assert_eq!(settling.join().expect("no panic").expect("settled"), ProtocolVersion::V2025_06_18);
    });
}

#[test]
fn a_server_that_answers_the_probe_late_and_holds_to_it_is_asked_again() {
    let timeouts = Timeouts::default().with_probe(Duration::from_millis(20));
    for does_answer in [true, false] {
        let builder = Client::builder().timeouts(timeouts);
        let (client, mut server) = ScriptedPeer::for_client(builder).expect("a client");
        thread::scope(|scope| {
            let settling = scope.spawn(|| match client.initialize() {
                Ok(identity) => Ok(identity.version.clone()),
                Err(error) => Err(error.peer_error().map(|error| error.message.clone())),
            });
            let late = server.expect_request("server/discover");
            let request = server.expect_request("initialize");
            server.respond(&late.id, discovered(&["2026-07-28"]));
            server.respond_error(&request.id, ErrorObject::new(-32022, "this connection is Modern"));
            let again = server.expect_request("server/discover");
            match does_answer {
                true => server.respond(&again.id, discovered(&["2026-07-28"])),
                false => server.respond_error(&again.id, ErrorObject::new(-32601, "no such method")),
            }
            let want = Err(Some("this connection is Modern".to_owned()));
            let want = if does_answer { Ok(ProtocolVersion::V2026_07_28) } else { want };
            assert_eq!(settling.join().expect("no panic"), want);
        });
    }
}

#[test]
fn the_protocol_is_settled_once_and_by_the_first_use() {
    let (client, mut server) = ScriptedPeer::for_client(Client::builder()).expect("a client");
    thread::scope(|scope| {
        let uses: Vec<_> = (0..4).map(|_| scope.spawn(|| client.call_tool("a", ()).map(drop))).collect();
        answer_handshake(&mut server, "2025-11-25", true);
        for _ in 0..4 {
            let call = server.expect_request("tools/call");
            server.respond(&call.id, json!({"content": []}));
        }
        uses.into_iter().for_each(|used| used.join().expect("no panic").expect("answered"));
    });
    // A server may ping before the handshake is over.
    let legacy = Client::builder().versions([ProtocolVersion::V2025_11_25]);
    let (client, mut server) = ScriptedPeer::for_client(legacy).expect("a client");
    server.send(&Message::request(1, "ping", None));
    server.expect_result(1);
    drop(client);
}
