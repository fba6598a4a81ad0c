//! What the headers must say: the same as the body.
//!
//! spec: 2026-07-28 basic/transports/streamable-http#request-metadata

use serde_json::{Value, json};

use crate::eras::{call, modern};
use crate::hosted;
use crate::http::{Conn, Request};
use crate::puppet::STOCK;

/// HTTP 400 with `HeaderMismatch`, and the id of the request.
#[track_caller]
fn refused(conn: &mut Conn, request: &Request) {
    let response = conn.ask(request);
    assert_eq!(response.error(), (400, -32020), "{:?}: {response}", request.headers);
    assert_eq!(response.json()["id"], request.json()["id"], "{response}");
}

#[track_caller]
fn served(conn: &mut Conn, request: &Request) -> Value {
    let response = conn.ask(request);
    assert_eq!(response.status, 200, "{:?}: {response}", request.headers);
    response.result()
}

fn echo() -> Request {
    call(7, "echo", json!({"message": "hi"}))
}

#[test]
fn required_headers_are_there_once_and_say_what_the_body_says() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    for name in ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"] {
        let right = echo().headers.iter().find(|(known, _)| known == name).expect("there").1.clone();
        // Names are compared without case, and white space around values is none of them.
        for spelled in [name.to_owned(), name.to_lowercase(), name.to_uppercase()] {
            for value in [right.clone(), format!("  {right}"), format!("\t{right} \t ")] {
                served(&mut conn, &echo().without(name).with(&spelled, &value));
            }
        }
        refused(&mut conn, &echo().without(name));
        refused(&mut conn, &echo().set(name, ""));
        // Several are one too many, whether they agree or not.
        for second in [right.as_str(), "other"] {
            refused(&mut conn, &echo().with(name, second));
            refused(&mut conn, &echo().without(name).with(name, second).with(&name.to_lowercase(), &right));
        }
        refused(&mut conn, &echo().set(name, &format!("{right}, {right}")));
        refused(&mut conn, &echo().set(name, &format!("\"{right}\"")));
        refused(&mut conn, &echo().set(name, &format!("{right}x")));
    }
    // Values are compared with case.
    for (name, value) in [("Mcp-Method", "Tools/Call"), ("Mcp-Name", "Echo"), ("Mcp-Method", "tools/list")] {
        refused(&mut conn, &echo().set(name, value));
    }
    // Another version that is served is none that the body names.
    for version in ["2025-11-25", "2026-07-29", "latest"] {
        refused(&mut conn, &echo().set("MCP-Protocol-Version", version));
    }
}

#[test]
fn requests_are_named_by_what_they_are_about() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    for (method, params) in [
        ("tools/call", json!({"name": "echo", "arguments": {"message": "m"}})),
        ("prompts/get", json!({"name": "brew", "arguments": {"tea": "green"}})),
        ("resources/read", json!({"uri": STOCK})),
    ] {
        let request = modern(1, method, params);
        served(&mut conn, &request);
        refused(&mut conn, &request.clone().without("Mcp-Name"));
        refused(&mut conn, &request.clone().set("Mcp-Name", "another"));
    }
    // Others have no name, and one more header is nobody's trouble.
    for method in ["tools/list", "server/discover", "resources/list"] {
        served(&mut conn, &modern(1, method, json!({})));
        served(&mut conn, &modern(1, method, json!({})).with("Mcp-Name", "whatever").with("X-Other", "1"));
        refused(&mut conn, &modern(1, method, json!({})).without("Mcp-Method"));
    }
    // A call of a tool that does not exist is judged by its headers all the same.
    refused(&mut conn, &call(1, "nothing", json!({})).set("Mcp-Name", "echo"));
}

#[test]
fn names_come_in_base64_where_a_header_cannot_carry_them() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    let encoded = |base64: &str| echo().set("Mcp-Name", &format!("=?base64?{base64}?="));
    served(&mut conn, &encoded("ZWNobw=="));
    for wrong in [
        "ZWNobw=",       // its padding is not whole
        "ZWNobw",        // there is none
        "ZWNobw===",     // there is too much
        "ZWNo bw==",     // white space
        "ZWNobw==\u{9}", // a tab
        "ZWN*bw==",      // not of the alphabet
        "RUNITw==",      // "ECHO"
        "",              // nothing
        "/w==",          // not UTF-8
        "ZWNobx==",      // bits after the end
    ] {
        refused(&mut conn, &encoded(wrong));
    }
    for literal in ["=?BASE64?ZWNobw==?=", "=?base64?ZWNobw==", "ZWNobw==", "=?utf-8?B?ZWNobw==?="] {
        refused(&mut conn, &echo().set("Mcp-Name", literal));
    }
    // Whatever it stands for, it must be what the body says.
    let tea = call(1, "\u{8336}", json!({})).set("Mcp-Name", "=?base64?6Iy2?=");
    let response = conn.ask(&tea);
    assert_eq!(response.json()["error"]["code"], -32602, "an unknown tool, rightly named: {response}");
    // Only names are encoded: of methods and versions it is a wrong value.
    refused(&mut conn, &echo().set("Mcp-Method", "=?base64?dG9vbHMvY2FsbA==?="));
    refused(&mut conn, &echo().set("MCP-Protocol-Version", "=?base64?MjAyNi0wNy0yOA==?="));
}

#[test]
fn bytes_that_no_header_may_have_are_refused() {
    let (hosted, _puppet) = hosted();
    for bad in [&b"\xe8\x8c\xb6"[..], b"echo\x7f", b"\x01echo", b"ec\0ho", b"\xff", b"echo\xc3"] {
        for name in ["Mcp-Name", "Mcp-Method", "MCP-Protocol-Version", "Mcp-Param-Region"] {
            let (tool, arguments) = match name {
                "Mcp-Param-Region" => ("mirrored", json!({"region": "r"})),
                _ => ("echo", json!({"message": "m"})),
            };
            let request = call(7, tool, arguments).without(name);
            let mut bytes = request.head();
            bytes.truncate(bytes.len() - 2);
            bytes.extend([name.as_bytes(), b": ", bad, b"\r\n\r\n"].concat());
            bytes.extend(&request.body);
            let mut conn = hosted.connect();
            conn.send_bytes(&bytes);
            // Some are no header at all, and the request no request.
            assert_eq!(conn.response().status, 400, "{name}: {bad:?}");
        }
    }
    hosted.ask(&echo()).result();
}

fn mirrored(arguments: Value, headers: &[(&str, &str)]) -> Request {
    let request = call(9, "mirrored", arguments);
    headers.iter().fold(request, |request, (name, value)| request.with(&format!("Mcp-Param-{name}"), value))
}

#[test]
fn mirrored_arguments_are_compared_with_their_headers() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    let large = 9_007_199_254_740_991_i64;
    for (arguments, headers) in [
        (json!({}), &[][..]),
        (json!({"query": "q"}), &[]),
        (json!({"region": null, "count": null, "dry": null}), &[]),
        (json!({"place": {}}), &[]),
        (json!({"place": {"zone": null}}), &[]),
        (json!({"region": "us-west1"}), &[("Region", "us-west1")]),
        (json!({"region": "us-west1"}), &[("REGION", "us-west1")]),
        (json!({"region": "us-west1"}), &[("region", "  us-west1\t")]),
        (json!({"region": ""}), &[("Region", "")]),
        (json!({"region": "us west"}), &[("Region", "us west")]),
        (json!({"region": "Hello, \u{4e16}\u{754c}"}), &[("Region", "=?base64?SGVsbG8sIOS4lueVjA==?=")]),
        (json!({"region": " padded "}), &[("Region", "=?base64?IHBhZGRlZCA=?=")]),
        (json!({"region": "line1\nline2"}), &[("Region", "=?base64?bGluZTEKbGluZTI=?=")]),
        (json!({"region": "=?base64?literal?="}), &[("Region", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=")]),
        // Base64 is allowed where it is not needed.
        (json!({"region": "us-west1"}), &[("Region", "=?base64?dXMtd2VzdDE=?=")]),
        (json!({"count": 42}), &[("Count", "42")]),
        (json!({"count": 42}), &[("Count", "42.0")]),
        (json!({"count": -7}), &[("Count", "-7")]),
        (json!({"count": 0}), &[("Count", "0")]),
        (json!({"count": large}), &[("Count", "9007199254740991")]),
        (json!({"count": 42}), &[("Count", "=?base64?NDI=?=")]),
        (json!({"dry": true}), &[("Dry-Run", "true")]),
        (json!({"dry": false}), &[("Dry-Run", "false")]),
        (json!({"place": {"zone": "b"}}), &[("Zone", "b")]),
        (
            json!({"region": "r", "count": 1, "dry": true, "place": {"zone": "z"}}),
            &[("Zone", "z"), ("Dry-Run", "true"), ("Count", "1"), ("Region", "r")],
        ),
        // What no argument is known for is for others to read.
        (json!({"query": "q"}), &[("Query", "something"), ("Unknown", "\u{7e}")]),
        (json!({}), &[("Other", "=?base64?!?=")]),
    ] {
        served(&mut conn, &mirrored(arguments, headers));
    }
    // Numbers of the body are compared as numbers as well.
    let float = mirrored(json!({"count": 0}), &[("Count", "42")]);
    let body = String::from_utf8(float.body.clone()).expect("UTF-8");
    served(&mut conn, &float.clone().with_body(body.replace("\"count\":0", "\"count\":42.0")));
    // Tools without such arguments have none.
    served(&mut conn, &echo().with("Mcp-Param-Message", "something else"));
}

#[test]
fn mirrored_arguments_that_differ_are_refused() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    for (arguments, headers) in [
        // In the body alone, and in the headers alone.
        (json!({"region": "r"}), &[][..]),
        (json!({"region": ""}), &[]),
        (json!({"count": 0}), &[]),
        (json!({"dry": false}), &[]),
        (json!({"place": {"zone": "z"}}), &[]),
        (json!({"region": "r", "count": 1}), &[("Region", "r")]),
        (json!({}), &[("Region", "r")]),
        (json!({"region": null}), &[("Region", "null")]),
        (json!({"place": {}}), &[("Zone", "z")]),
        (json!({"zone": "z"}), &[("Zone", "z")]),
        // Other values.
        (json!({"region": "r"}), &[("Region", "s")]),
        (json!({"region": "r"}), &[("Region", "R")]),
        (json!({"region": "42"}), &[("Region", "42.0")]),
        (json!({"count": 42}), &[("Count", "43")]),
        (json!({"count": 42}), &[("Count", "42.5")]),
        (json!({"count": 42}), &[("Count", "0x2a")]),
        (json!({"count": 42}), &[("Count", "")]),
        (json!({"dry": true}), &[("Dry-Run", "True")]),
        (json!({"dry": true}), &[("Dry-Run", "1")]),
        (json!({"dry": true}), &[("Dry-Run", "false")]),
        (json!({"place": {"zone": "z"}}), &[("Zone", "y")]),
        // Encoded wrongly, or something else.
        (json!({"region": "us-west1"}), &[("Region", "=?base64?dXMtd2VzdDE?=")]),
        (json!({"region": "us-west1"}), &[("Region", "=?base64?dXMtd2Vz*DE=?=")]),
        (json!({"region": "us-west1"}), &[("Region", "=?base64?dXMtd2VzdDI=?=")]),
        (json!({"region": "us-west1"}), &[("Region", "=?BASE64?dXMtd2VzdDE=?=")]),
        (json!({"region": "=?base64?literal?="}), &[("Region", "=?base64?literal?=")]),
        // Twice, whichever of them somebody in between has read.
        (json!({"region": "r"}), &[("Region", "r"), ("Region", "s")]),
        (json!({"region": "r"}), &[("Region", "s"), ("region", "r")]),
        (json!({"region": "r"}), &[("Region", "r"), ("Region", "r")]),
    ] {
        refused(&mut conn, &mirrored(arguments, headers));
    }
    // A larger integer is one that other readers have wrong.
    refused(
        &mut conn,
        &mirrored(json!({"count": 9_007_199_254_740_992_i64}), &[("Count", "9007199254740992")]),
    );
}

#[test]
fn the_headers_of_a_tool_follow_its_schema() {
    let (hosted, _puppet) = hosted();
    let mut conn = hosted.connect();
    let named = |header: &str| {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": header}}});
        tinymcp::FnTool::new("late", "", schema, |_, _: &tinymcp::Context| "late")
    };
    let ask = |header: &str| call(1, "late", json!({"a": "v"})).with(&format!("Mcp-Param-{header}"), "v");
    hosted.server.tools().register(named("One")).expect("free");
    served(&mut conn, &ask("One"));
    refused(&mut conn, &ask("Two"));
    hosted.server.tools().replace(named("Two")).expect("valid");
    served(&mut conn, &ask("Two"));
    refused(&mut conn, &ask("One"));
    hosted.server.tools().remove("late");
    let gone = conn.ask(&ask("One"));
    assert_eq!(gone.json()["error"]["code"], -32602, "{gone}");
}
