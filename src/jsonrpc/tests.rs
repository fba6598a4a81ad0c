use super::*;

#[test]
fn messages_are_told_by_their_members() {
    let cases = [
        (r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, "request 1"),
        (r#"{"jsonrpc":"2.0","id":"1","method":"a","params":{}}"#, "request \"1\""),
        (r#"{"id":1.0,"method":"a","jsonrpc":"2.0"}"#, "request 1"),
        (r#"{"jsonrpc":"2.0","method":"a","params":null}"#, "notification"),
        (r#"{"jsonrpc":"\u0032.0","id":1,"method":"\u0061"}"#, "request 1"),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, "result"),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#, "error"),
        (r#"{"jsonrpc":"2.0","error":{}}"#, "error"),
        ("not json", "-32700"),
        ("{\"jsonrpc\":\"2.0\"", "-32700"),
        ("[1,", "-32700"),
        ("\u{feff}{}", "-32700"),
        ("[]", "-32600"),
        ("5", "-32600"),
        ("\"x\"", "-32600"),
        ("null", "-32600"),
        ("{}", "-32600"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#, "-32600 to 1"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "-32600"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, "-32600"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#, "-32600"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"a"}"#, "-32600"),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "-32600 to 1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":5}"#, "-32600 to 1"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "-32600 to 1"),
        (r#"{"jsonrpc":"2.0","result":{}}"#, "-32600"),
    ];
    for (frame, want) in cases {
        let got = match Incoming::decode(frame.as_bytes()) {
            Ok(Incoming::Request { id, .. }) => format!("request {id}"),
            Ok(Incoming::Notification { .. }) => "notification".into(),
            Ok(Incoming::Response { result: Ok(_), .. }) => "result".into(),
            Ok(Incoming::Response { result: Err(_), .. }) => "error".into(),
            Err(BadFrame { id: None, error, .. }) => error.code.to_string(),
            Err(BadFrame { id: Some(id), error, .. }) => format!("{} to {id}", error.code),
        };
        assert_eq!(got, want, "{frame}");
    }
}

#[test]
fn messages_survive_a_round_trip() {
    for text in [
        r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"n":18446744073709551616}}"#,
        r#"{"jsonrpc":"2.0","method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":-1,"result":{"x":1e400}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":[1]}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#,
    ] {
        let message = Message::decode(text.as_bytes()).expect(text);
        assert_eq!(String::from_utf8(message.encode()).expect("utf-8"), text);
    }
}

#[test]
fn frames_that_are_not_utf_8_are_parse_errors() {
    let error = Message::decode(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").expect_err("not UTF-8");
    assert_eq!(error.code, ErrorCode::PARSE_ERROR);
}
