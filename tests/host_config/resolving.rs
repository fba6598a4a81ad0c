//! What entries name, and what becomes of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use tinymcp::host::config::{
    Config, ConfigErrorKind, Input, LaunchReach, Resolver, Secret, SecretError, SecretSource, ServerEntry,
};

use crate::{Folder, entry, resolver, started};

fn arg(resolver: &Resolver, text: &str) -> Result<String, String> {
    let entry = ServerEntry::command("s", "program", [text]);
    match resolver.resolve(&entry) {
        Ok(launch) => Ok(started(&launch).args.remove(0)),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn values_are_replaced_once() {
    let known =
        [("A", "one"), ("EMPTY", ""), ("NESTED", "${A} ${env:A} $A"), ("DOLLAR", "$"), ("BRACED", "{A}")];
    let resolver = resolver(&known).workspace("/srv/project");
    let separator = std::path::MAIN_SEPARATOR;
    let cases = [
        ("${A}", "one"),
        ("${env:A}", "one"),
        ("<${A}-${env:A}>", "<one-one>"),
        ("${A:-two}", "one"),
        ("${B:-two}", "two"),
        ("${env:B:-two three}", "two three"),
        ("${B:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-two}", "two"),
        ("${B:-${A}}", "one"),
        ("${B:-${C:-deep}}!", "deep!"),
        (r#"${B:-{"a": {}}}"#, r#"{"a": {}}"#),
        // What a variable holds is never looked at again, whatever stands beside it.
        ("${NESTED}", "${A} ${env:A} $A"),
        ("${DOLLAR}{A}", "${A}"),
        ("$${BRACED}", "${A}"),
        ("${DOLLAR}${BRACED}", "${A}"),
        // What is no form stays.
        ("$A $ $$ ${} ${A", "$A $ $$ ${} ${A"),
        ("${config:x} ${command:y} ${1} ${a-b}", "${config:x} ${command:y} ${1} ${a-b}"),
        ("${workspaceFolder}/x", "/srv/project/x"),
        ("${workspaceFolderBasename}", "project"),
        ("${userHome}", "/home/ann"),
        ("~/x", "~/x"),
    ];
    for (text, want) in cases {
        assert_eq!(arg(&resolver, text).as_deref(), Ok(want), "{text}");
    }
    assert_eq!(arg(&resolver, "${/}${pathSeparator}"), Ok(format!("{separator}{separator}")));
}

#[test]
fn what_has_no_value_is_an_error_that_names_it() {
    let text = r#"{
  "mcpServers": {
    "a": {
      "url": "https://a.example",
      "headers": {
        "X-One": "1",
        "Authorization": "Bearer ${env:TOKEN}"
      }
    },
    "b": {"command": "b", "args": ["x", "${B_ARG}"]},
    "c": {"command": "c", "env": {"DIR": "${workspaceFolder}"}},
    "d": {"command": "d", "env": {"KEY": "${input:key}"}},
    "e": {"command": "e", "env": {"KEY": "${secret:key}"}},
    "f": {"command": "${F:-${G}}"}
  }
}"#;
    let config = Config::parse(text, "mcp.json").expect("JSON");
    let want = [
        (
            "mcp.json:7:26: server \"a\": headers.Authorization: TOKEN: not set, and it has no default",
            "TOKEN",
        ),
        ("mcp.json:10:41: server \"b\": args[1]: B_ARG: not set, and it has no default", "B_ARG"),
        ("mcp.json:11:42: server \"c\": env.DIR: workspaceFolder: no workspace is open", "workspaceFolder"),
        (
            "mcp.json:12:42: server \"d\": env.KEY: input:key: nobody answers, and no such input is declared",
            "input:key",
        ),
        ("mcp.json:13:42: server \"e\": env.KEY: secret:key: no source has it", "secret:key"),
        ("mcp.json:14:22: server \"f\": command: G: not set, and it has no default", "G"),
    ];
    for (entry, (text, variable)) in config.servers.iter().zip(want) {
        let error = resolver(&[]).resolve(entry).expect_err(text);
        assert_eq!(error.to_string(), text);
        assert_eq!((error.kind(), error.variable()), (ConfigErrorKind::Unset, Some(variable)));
        assert_eq!(error.server(), Some(entry.name.as_str()));
    }
    let error = resolver(&[]).resolve(&ServerEntry::command("own", "${X}", [""; 0])).expect_err("not set");
    assert_eq!(error.to_string(), "server \"own\": command: X: not set, and it has no default");
}

#[test]
fn the_environment_is_asked_last() {
    // Cargo sets it for tests.
    let name = "CARGO_PKG_NAME";
    let text = format!("${{{name}}}");
    assert_eq!(arg(&Resolver::new(), &text).as_deref(), Ok("tinymcp"));
    assert_eq!(
        arg(&Resolver::new().secrets(crate::variables(&[(name, "mine")])), &text).as_deref(),
        Ok("mine")
    );
    assert_eq!(
        arg(&Resolver::new().secrets(crate::variables(&[("OTHER", "x")])), &text).as_deref(),
        Ok("tinymcp")
    );
    assert!(arg(&Resolver::new().no_environment(), &text).is_err());
}

#[test]
fn folders_are_where_people_expect_them() {
    let resolve = |resolver: &Resolver, json: &str| {
        let text = format!(r#"{{"mcpServers": {{"s": {json}}}}}"#);
        let config = Config::parse(&text, "/etc/host/mcp.json").expect("JSON");
        let launch = resolver.resolve(&config.servers[0]).unwrap_or_else(|e| panic!("{e}"));
        let started = started(&launch);
        (started.program, started.cwd)
    };
    let (plain, open) = (resolver(&[("DIR", "/d")]), resolver(&[("DIR", "/d")]).workspace("/srv/project"));
    let path = |path: &str| Some(PathBuf::from(path));
    for (json, want, want_open) in [
        (r#"{"command": "npx"}"#, ("npx", None), ("npx", path("/srv/project"))),
        (
            r#"{"command": "npx", "cwd": "sub"}"#,
            ("npx", path("/etc/host/sub")),
            ("npx", path("/srv/project/sub")),
        ),
        (
            r#"{"command": "npx", "cwd": "./sub"}"#,
            ("npx", path("/etc/host/sub")),
            ("npx", path("/srv/project/sub")),
        ),
        (r#"{"command": "npx", "cwd": "~"}"#, ("npx", path("/home/ann")), ("npx", path("/home/ann"))),
        (r#"{"command": "npx", "cwd": "${DIR}/e"}"#, ("npx", path("/d/e")), ("npx", path("/d/e"))),
        (r#"{"command": "~/bin/s"}"#, ("/home/ann/bin/s", None), ("/home/ann/bin/s", path("/srv/project"))),
        (r#"{"command": "./s"}"#, ("/etc/host/s", None), ("/srv/project/s", path("/srv/project"))),
        (r#"{"command": "./s", "cwd": "/opt"}"#, ("/opt/s", path("/opt")), ("/opt/s", path("/opt"))),
        (
            r#"{"command": "~ann/s", "cwd": "/opt"}"#,
            ("/opt/~ann/s", path("/opt")),
            ("/opt/~ann/s", path("/opt")),
        ),
    ] {
        assert_eq!(resolve(&plain, json), (want.0.to_owned(), want.1), "{json}");
        assert_eq!(resolve(&open, json), (want_open.0.to_owned(), want_open.1), "{json}");
    }
}

#[test]
fn files_of_variables_come_before_env() {
    let folder = Folder::new();
    folder.file("a.env", "# of the server\nexport A=1\nB='${A}'\nC=\"3\"\nGONE=4\n");
    let text =
        r#"{"mcpServers": {"s": {"command": "s", "envFile": "a.env", "env": {"C": "${X}", "GONE": null}}}}"#;
    let path = folder.file("mcp.json", text);
    let config = Config::read(&path).expect("JSON");
    let launch = resolver(&[("X", "x")]).resolve(&config.servers[0]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(started(&launch).env, crate::variables(&[("A", "1"), ("B", "${A}"), ("C", "x")]));
    let LaunchReach::Command { env_removed, .. } = &launch.reach else { panic!("is started") };
    assert!(env_removed.contains("GONE"));

    // Below the workspace, if there is one.
    let error = resolver(&[("X", "x")]).workspace(folder.0.join("other")).resolve(&config.servers[0]);
    let error = error.expect_err("no such file");
    assert_eq!((error.kind(), error.field()), (ConfigErrorKind::Missing, Some("envFile")));
    assert!(error.to_string().contains("other/a.env") || cfg!(windows), "{error}");

    folder.file("a.env", "A=1\nsecret-in-a-line");
    let error = resolver(&[("X", "x")]).resolve(&config.servers[0]).expect_err("no variable");
    assert!(error.to_string().ends_with("a.env: line 2: expected NAME=VALUE"), "{error}");
    folder.file("a.env", &"A=1\n".repeat(300_000));
    let error = resolver(&[("X", "x")]).resolve(&config.servers[0]).expect_err("too large");
    assert_eq!(error.kind(), ConfigErrorKind::TooLarge);
}

/// Counts how often it is asked, and waits until all are there.
struct Asked {
    count: Arc<AtomicUsize>,
    answer: Result<Option<Secret>, SecretError>,
}

impl SecretSource for Asked {
    fn input(&self, input: &Input) -> Result<Option<Secret>, SecretError> {
        assert_eq!(input.description.as_deref(), Some("Which key?"));
        self.count.fetch_add(1, Ordering::SeqCst);
        thread::yield_now();
        self.answer.clone()
    }
}

#[test]
fn an_input_is_asked_for_once() {
    let count = Arc::new(AtomicUsize::new(0));
    let source = Asked { count: count.clone(), answer: Ok(Some("the key".into())) };
    let resolver = resolver(&[]).input(Input::password("key", "Which key?")).secrets(source);
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                assert_eq!(arg(&resolver, "${input:key}/${input:key}").as_deref(), Ok("the key/the key"));
            });
        }
    });
    assert_eq!(count.load(Ordering::SeqCst), 1);
    resolver.forget("key");
    assert!(arg(&resolver, "${input:key}").is_ok());
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[test]
fn an_input_that_nobody_answers() {
    let count = Arc::new(AtomicUsize::new(0));
    let with = |answer, input: Input| {
        let source = Asked { count: count.clone(), answer };
        arg(&resolver(&[]).input(input).secrets(source), "${input:key}")
    };
    let input = || Input::text("key", "Which key?");
    assert_eq!(with(Ok(None), input().with_default("usual")).as_deref(), Ok("usual"));
    let unanswered = "server \"s\": args[0]: input:key: nobody answers, and it has no default";
    assert_eq!(with(Ok(None), input()), Err(unanswered.into()));
    let declined = "server \"s\": args[0]: input:key: the user declined";
    assert_eq!(
        with(Err(SecretError::new("the user declined")), input().with_default("usual")),
        Err(declined.into())
    );
    let pick = || Input::pick("key", "Which key?", ["one", "two"]);
    assert_eq!(with(Ok(Some("two".into())), pick()).as_deref(), Ok("two"));
    let none = "server \"s\": args[0]: input:key: the answer is none of the options";
    assert_eq!(with(Ok(Some("three".into())), pick()), Err(none.into()));
}

/// Resolves, in the middle of an answer, what needs that answer.
struct Circle(std::sync::OnceLock<std::sync::Weak<Resolver>>);

impl SecretSource for Circle {
    fn input(&self, _: &Input) -> Result<Option<Secret>, SecretError> {
        let resolver = self.0.get().and_then(std::sync::Weak::upgrade).expect("set below");
        arg(&resolver, "${input:key}").map(|text| Some(text.into())).map_err(SecretError::new)
    }
}

#[test]
fn an_answer_that_needs_itself_is_an_error() {
    let circle = Arc::new(Circle(std::sync::OnceLock::new()));
    let resolver = Arc::new(resolver(&[]).secrets(circle.clone()));
    circle.0.set(Arc::downgrade(&resolver)).expect("once");
    let error = arg(&resolver, "${input:key}").expect_err("a circle");
    assert!(error.contains("input:key is needed to answer itself"), "{error}");
}

#[test]
fn what_leaves_is_named_field_by_field() {
    let entry = entry(
        r#"{"url": "https://a.example/${TENANT:-${env:TEAM}}", "headers": {
            "Authorization": "Bearer ${env:TOKEN}", "X-Key": "${input:key}", "X-Other": "${secret:other}", "X-Plain": "1"}}"#,
    )
    .expect("whole");
    let taken: Vec<_> = entry.takes().iter().map(ToString::to_string).collect();
    assert_eq!(
        taken,
        [
            "headers.Authorization takes TOKEN",
            "headers.X-Key takes the answer to key",
            "headers.X-Other takes the secret other",
            "url takes TEAM",
            "url takes TENANT",
        ]
    );
    let names: Vec<_> = entry.takes_from_environment().into_iter().collect();
    assert_eq!(names, ["TEAM", "TENANT", "TOKEN", "input:key", "secret:other"]);
}

#[test]
fn equal_entries_are_canonically_equal_and_changes_show() {
    let canonical = |json: &str| entry(json).expect(json).canonical();
    let one = r#"{"command": "a", "args": ["b"], "env": {"X": "${X}", "PATH": "/a", "KEY": "k"}}"#;
    let same = r#"{"env": {"KEY": "k", "PATH": "/a", "X": "${X}"}, "args": ["b"], "timeout": 5, "command": "\u0061"}"#;
    assert_eq!(canonical(one), canonical(same));
    let digest = "sha256:8254c329a92850f6d539dd376f4816ee2764517da5e0235514af433164480d7a";
    assert_eq!(
        canonical(one),
        format!(
            r#"{{"args":["b"],"command":"a","env":{{"KEY":"{digest}","PATH":"/a","X":"${{X}}"}},"file":"mcp.json"}}"#
        )
    );
    for other in [
        r#"{"command": "a2", "args": ["b"], "env": {"X": "${X}", "PATH": "/a", "KEY": "k"}}"#,
        r#"{"command": "a", "args": ["b "], "env": {"X": "${X}", "PATH": "/a", "KEY": "k"}}"#,
        r#"{"command": "a", "args": ["b"], "env": {"X": "${Y}", "PATH": "/a", "KEY": "k"}}"#,
        r#"{"command": "a", "args": ["b"], "env": {"X": "${X}", "PATH": "/b", "KEY": "k"}}"#,
        r#"{"command": "a", "args": ["b"], "env": {"X": "${X}", "PATH": "/a", "KEY": "l"}}"#,
        r#"{"command": "a", "args": ["b"], "env": {"X": "${X}", "PATH": "/a", "KEY": "k"}, "cwd": "/"}"#,
        r#"{"command": "a", "args": ["b"], "env": {"X": "${X}", "PATH": "/a", "KEY": "k"}, "envFile": "x"}"#,
    ] {
        assert_ne!(canonical(one), canonical(other), "{other}");
    }
    // The same words beside another file, or in another workspace, may run something else.
    let there = Config::parse(r#"{"mcpServers": {"s": {"command": "./a"}}}"#, "/a/mcp.json").expect("JSON");
    let elsewhere =
        Config::parse(r#"{"mcpServers": {"s": {"command": "./a"}}}"#, "/b/mcp.json").expect("JSON");
    assert_ne!(there.servers[0].canonical(), elsewhere.servers[0].canonical());
    let at = |folder: &str| resolver(&[]).workspace(Path::new(folder)).canonical(&there.servers[0]);
    assert_ne!(at("/x"), at("/y"));
}
