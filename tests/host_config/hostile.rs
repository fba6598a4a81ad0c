//! Files that somebody made to do harm.

use std::time::{Duration, Instant};

use tinymcp::host::config::{Config, ConfigErrorKind, Resolver, ServerEntry};

use crate::{Folder, entry, resolver};

#[test]
fn what_no_server_can_be_started_with_is_refused() {
    let at = "mcp.json:1:";
    for (json, want) in [
        (r#"{"command": ""}"#, "command: names no program"),
        (r#"{"command": " \t"}"#, "command: names no program"),
        (r#"{"command": []}"#, "command: names no program"),
        (r#"{"command": "a\u0000b"}"#, "command: has a NUL character, which no program can be given"),
        (
            r#"{"command": "a", "args": ["b", "\u0000"]}"#,
            "args[1]: has a NUL character, which no program can be given",
        ),
        (r#"{"command": "a", "args": ["b", 8080]}"#, "args[1]: expected a string, found a number"),
        (r#"{"command": "a", "args": {"0": "b"}}"#, "args: expected a list, found an object"),
        (
            r#"{"command": "a", "env": {"A=B": "c"}}"#,
            "env.A…: the name of a variable cannot have `=` or NUL in it",
        ),
        (
            r#"{"command": "a", "env": {"A\u0000": null}}"#,
            "env.A…: the name of a variable cannot have `=` or NUL in it",
        ),
        (r#"{"command": "a", "env": {"": "c"}}"#, "env: the name of a variable is empty"),
        (
            r#"{"command": "a", "env": {"A": "\u0000"}}"#,
            "env.A: has a NUL character, which no program can be given",
        ),
        (r#"{"command": "a", "env": {"A": true}}"#, "env.A: expected a string, found a boolean"),
        (r#"{"command": "a", "env": {"A": {}}}"#, "env.A: expected a string, found an object"),
        (r#"{"command": "a", "env": ["A=B"]}"#, "env: expected an object, found a list"),
        (r#"{"command": "a", "env": {"A": "1", "A": "2"}}"#, "env.A: given twice, both in line 1"),
        (r#"{"command": "a", "cwd": ""}"#, "cwd: is empty"),
        (r#"{"command": "a", "cwd": 1}"#, "cwd: expected a string, found a number"),
        (
            r#"{"command": "a", "envFile": "\u0000"}"#,
            "envFile: has a NUL character, which no program can be given",
        ),
        (r#"{"command": "a", "disabled": "no"}"#, "disabled: expected a boolean, found a string"),
        (r#"{"command": "a", "type": 1}"#, "type: expected a string, found a number"),
        (r#"{"url": ""}"#, "url: expected an address that begins with http:// or https://"),
        (r#"{"url": "file:///etc/passwd"}"#, "url: expected an address that begins with http:// or https://"),
        (r#"{"url": "https://"}"#, "url: names no host"),
        (r#"{"url": "https:///x"}"#, "url: names no host"),
        (r#"{"url": "https://a.example/\r\nX: y"}"#, "url: has white space or a control character in it"),
        (r#"{"url": "https://a.example", "headers": {"A B": "c"}}"#, "headers.A…: not the name of a header"),
        (r#"{"url": "https://a.example", "headers": {"": "c"}}"#, "headers.: not the name of a header"),
        (
            r#"{"url": "https://a.example", "headers": {"A": "b\r\nC: d"}}"#,
            "headers.A: has a line break or a control character in it",
        ),
        (
            r#"{"url": "https://a.example", "headers": {"a": "b", "A": "c"}}"#,
            "headers.a: given twice: a header's name means the same in small letters and capitals",
        ),
        (
            r#"{"url": "https://a.example", "headers": {"A": 5}}"#,
            "headers.A: expected a string, found a number",
        ),
        (
            r#"{"command": "a", "url": "https://a.example"}"#,
            "both command and url are given, and no type says which counts",
        ),
        (r#"{"type": "http", "command": "a"}"#, "url: missing: the type is that of a server at an address"),
        (
            r#"{"type": "stdio", "url": "https://a"}"#,
            "command: missing: the type is that of a server that is started",
        ),
        (
            r#"{"url": "https://a", "httpUrl": "https://b"}"#,
            "httpUrl: another address than url: which one counts?",
        ),
        (r"{}", "has neither command nor url"),
        ("null", "expected an object, found null"),
        ("[]", "expected an object, found a list"),
    ] {
        let error = entry(json).expect_err(json);
        assert!(error.starts_with(at), "{error}");
        assert!(error.ends_with(&format!(" server \"s\": {want}")), "{json}: {error}");
    }
    let config = Config::parse(r#"{"mcpServers": {"": {"command": "a"}}}"#, "a").expect("JSON");
    assert_eq!(config.rejected[0].problem(), "the server's name is empty");
}

#[test]
fn values_are_looked_at_again_when_they_are_known() {
    let known = [("NUL", "a\0"), ("BREAK", "a\r\nX: y"), ("EMPTY", ""), ("SCHEME", "javascript:x")];
    let resolver = resolver(&known);
    for (json, want) in [
        (r#"{"command": "${EMPTY}"}"#, "command: names no program"),
        (r#"{"command": "${NUL}"}"#, "command: has a NUL character, which no program can be given"),
        (
            r#"{"command": "a", "args": ["${NUL}"]}"#,
            "args[0]: has a NUL character, which no program can be given",
        ),
        (
            r#"{"command": "a", "env": {"A": "${NUL}"}}"#,
            "env.A: has a NUL character, which no program can be given",
        ),
        (r#"{"command": "a", "cwd": "${EMPTY}"}"#, "cwd: is empty"),
        (r#"{"url": "${SCHEME}"}"#, "url: expected an address that begins with http:// or https://"),
        (r#"{"url": "https://a${BREAK}"}"#, "url: has white space or a control character in it"),
        (
            r#"{"url": "https://a", "headers": {"A": "${BREAK}"}}"#,
            "headers.A: has a line break or a control character in it",
        ),
        (r#"{"url": "https://a", "type": "ws"}"#, "type: WebSocket is not spoken here: http or sse is"),
    ] {
        let error = resolver.resolve(&entry(json).expect(json)).expect_err(json).to_string();
        assert!(error.ends_with(&format!(" server \"s\": {want}")), "{json}: {error}");
    }
    // What a program made itself is looked at as well.
    let own = ServerEntry::command("own", "a\0", [""; 0]);
    assert!(Resolver::new().resolve(&own).is_err());
    assert!(Resolver::new().resolve(&ServerEntry::command("own", "a", ["b"]).with_env("A=B", "c")).is_err());
}

#[test]
fn large_and_deep_files_take_little() {
    let begun = Instant::now();
    let max = Config::MAX_BYTES;
    let error = Config::parse(&" ".repeat(max + 1), "a").expect_err("too large");
    assert_eq!(
        (error.kind(), error.to_string()),
        (ConfigErrorKind::TooLarge, format!("a: the text exceeds {max} bytes"))
    );

    let deep = |what: &str, end: &str| format!("{}{}", what.repeat(100_000), end.repeat(100_000));
    let texts = [
        deep("[", "]"),
        deep("{\"a\":", "}"),
        format!(r#"{{"mcpServers": {{"s": {{"command": "a", "x": {}}}}}}}"#, deep("[", "]")),
        format!(r#"{{"mcpServers": {}}}"#, deep("{\"a\":", "}")),
        format!(r#"{{"mcpServers": {{"s": {{"command": "a", "args": {}}}}}}}"#, deep("[", "]")),
        "[".repeat(max),
        "{\"".repeat(max / 2),
        format!("{{\"mcpServers\": {{{}}}}}", vec!["\"s\":{}"; 140_000].join(",")),
        format!(
            "{{\"mcpServers\": {{{}}}}}",
            (0..60_000).map(|n| format!("\"s{n}\":[]")).collect::<Vec<_>>().join(",")
        ),
        format!(
            r#"{{"mcpServers": {{"s": {{"command": "a", "args": [{}]}}}}}}"#,
            vec!["\"\""; 300_000].join(",")
        ),
        format!("{{}}{}", "/*".repeat(max / 2 - 8)),
        format!("{{}}{}", "/**/".repeat(max / 4 - 8)),
    ];
    for text in texts {
        if let Ok(config) = Config::parse(&text, "a") {
            assert_eq!(config.to_text().expect("as it was"), text);
        }
    }

    let resolver = resolver(&[("BIG", &"x".repeat(100_000))]);
    let arg = |text: String| resolver.resolve(&ServerEntry::command("s", "s", [text])).map(drop);
    let error = arg("${BIG}".repeat(100)).expect_err("too large");
    assert_eq!(error.problem(), "the values of a server exceed 4194304 bytes");
    assert!(arg("${A:-".repeat(200_000)).is_err());
    assert!(arg("${".repeat(500_000)).is_ok());
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn what_is_no_file_is_not_read() {
    let folder = Folder::new();
    let error = Config::read(folder.0.join("none.json")).expect_err("missing");
    assert!(error.is_missing() && error.to_string().ends_with("none.json: there is no such file"), "{error}");
    let error = Config::read(&folder.0).expect_err("a folder");
    assert_eq!(error.kind(), ConfigErrorKind::Unreadable);
    #[cfg(unix)]
    {
        // Neither has an end.
        let error = Config::read("/dev/zero").expect_err("a device");
        assert_eq!(error.kind(), ConfigErrorKind::Unreadable);
        let status =
            std::process::Command::new("mkfifo").arg(folder.0.join("pipe")).status().expect("mkfifo");
        assert!(status.success());
        let error = Config::read(folder.0.join("pipe")).expect_err("nobody writes it");
        assert_eq!(error.kind(), ConfigErrorKind::Unreadable);
    }
    let path = folder.file("large.json", &format!("{{}}{}", " ".repeat(100)));
    assert_eq!(Config::read_limited(&path, 101).expect_err("too large").kind(), ConfigErrorKind::TooLarge);
    assert!(Config::read_limited(&path, 102).is_ok());
    std::fs::write(&path, b"{\"a\": \"\xff\"}").expect("written");
    assert_eq!(Config::read(&path).expect_err("no text").problem(), "the file is not UTF-8");
}
