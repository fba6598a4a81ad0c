//! Configuration entries made of what a registry says: the commands, what is asked for, and what is refused.

use serde_json::{Value, json};
use tinymcp::host::config::{Input, InputKind, LaunchReach, Reach, Resolver, ServerEntry};
use tinymcp::http::registry::{Listing, Setup, SetupError, SetupErrorKind, SetupOptions};
use tinymcp::json::{FromJson, Json};

fn listing(server: &Value) -> Listing {
    let mut server = server.clone();
    server["name"] = json!("io.github.ann/weather");
    server["version"] = json!("9.9.9");
    let text = json!({"server": server}).to_string();
    Listing::from_json(Json::parse(&text).expect("JSON").as_raw()).expect("a server")
}

fn package(members: Value) -> Listing {
    let mut package = json!({"registryType": "npm", "identifier": "pkg", "version": "1.2.3", "transport": {"type": "stdio"}});
    let members = members.as_object().expect("members").clone();
    package.as_object_mut().expect("an object").extend(members);
    let listing = listing(&json!({"packages": [package]}));
    assert!(listing.unread.is_empty(), "{:?}", listing.unread);
    listing
}

fn remote(members: Value) -> Listing {
    let mut remote = json!({"type": "streamable-http", "url": "https://mcp.example.com/mcp"});
    let members = members.as_object().expect("members").clone();
    remote.as_object_mut().expect("an object").extend(members);
    let listing = listing(&json!({"remotes": [remote]}));
    assert!(listing.unread.is_empty(), "{:?}", listing.unread);
    listing
}

#[track_caller]
fn setup(listing: &Listing) -> Setup {
    listing.setup(&SetupOptions::new()).expect("an entry")
}

fn line(entry: &ServerEntry) -> String {
    let Reach::Command(command) = &entry.reach else { panic!("a command") };
    [std::slice::from_ref(&command.command), &command.args].concat().join(" ")
}

fn env<'a>(entry: &'a ServerEntry, name: &str) -> Option<&'a str> {
    let Reach::Command(command) = &entry.reach else { panic!("a command") };
    command.env.get(name).map(String::as_str)
}

fn refused(listing: &Listing) -> SetupError {
    listing.setup(&SetupOptions::new()).expect_err("refused")
}

fn ids(inputs: &[Input]) -> Vec<&str> {
    inputs.iter().map(|input| input.id.as_str()).collect()
}

#[test]
fn each_kind_of_package_has_its_command_with_the_version_pinned() {
    let hex = "0123456789abcdef".repeat(4);
    let digest = format!("ghcr.io/a/b@sha256:{hex}");
    for (members, want) in [
        (json!({}), "npx -y pkg@1.2.3"),
        (json!({"identifier": "@a-b/c.d_e", "version": "1.2.3-rc.1+x"}), "npx -y @a-b/c.d_e@1.2.3-rc.1+x"),
        (json!({"registryBaseUrl": "https://registry.npmjs.org/"}), "npx -y pkg@1.2.3"),
        (
            json!({"registryBaseUrl": "https://npm.example.com/x"}),
            "npx -y --registry=https://npm.example.com/x pkg@1.2.3",
        ),
        (json!({"runtimeHint": "bunx"}), "bunx pkg@1.2.3"),
        (json!({"registryType": "pypi", "identifier": "my-pkg", "version": "1.0"}), "uvx my-pkg@1.0"),
        (json!({"registryType": "pypi", "version": "1.0", "runtimeHint": "uv"}), "uv tool run pkg@1.0"),
        (
            json!({"registryType": "pypi", "version": "1!2.0.post1", "runtimeHint": "pipx"}),
            "pipx run pkg==1!2.0.post1",
        ),
        (
            json!({"registryType": "oci", "identifier": "docker.io/a/b:1.0", "version": null}),
            "docker run -i --rm docker.io/a/b:1.0",
        ),
        (
            json!({"registryType": "oci", "identifier": "a/b", "version": "1.0", "runtimeHint": "podman"}),
            "podman run -i --rm a/b:1.0",
        ),
        (
            json!({"registryType": "oci", "identifier": "a/b", "registryBaseUrl": "https://docker.io"}),
            "docker run -i --rm a/b:1.2.3",
        ),
        (
            json!({"registryType": "oci", "identifier": "a/b", "registryBaseUrl": "https://ghcr.io"}),
            "docker run -i --rm ghcr.io/a/b:1.2.3",
        ),
        (
            json!({"registryType": "oci", "identifier": "localhost:5000/b"}),
            "docker run -i --rm localhost:5000/b:1.2.3",
        ),
        (json!({"registryType": "oci", "identifier": digest}), &format!("docker run -i --rm {digest}")),
        (json!({"registryType": "nuget", "identifier": "A.B"}), "dnx A.B@1.2.3 --yes"),
        (json!({"registryType": "nuget", "runtimeHint": "dotnet"}), "dotnet tool exec pkg@1.2.3 --yes"),
        (
            json!({"registryType": "nuget", "packageArguments": [{"type": "positional", "value": "mcp"}, {"type": "positional", "value": "start"}]}),
            "dnx pkg@1.2.3 --yes -- mcp start",
        ),
    ] {
        let setup = setup(&package(members));
        assert_eq!(line(&setup.entry), want);
        assert_eq!(setup.entry.name, "weather");
        assert!(setup.inputs.is_empty() && setup.entry.takes().is_empty());
    }
}

#[test]
fn what_cannot_be_run_or_pinned_says_why() {
    use SetupErrorKind::{CannotRun, Malformed, NotPinned};
    for (members, kind, said) in [
        (
            json!({"registryType": "mcpb", "identifier": "https://x.example/a.mcpb", "fileSha256": "ab12"}),
            CannotRun,
            "ab12",
        ),
        (json!({"registryType": "cargo"}), CannotRun, "cargo install pkg"),
        (json!({"registryType": "brew\u{1b}"}), CannotRun, "brew\\u{1b}"),
        (json!({"runtimeHint": "sh"}), CannotRun, "how sh starts packages of npm"),
        (json!({"registryType": "oci", "runtimeHint": "npx"}), CannotRun, "npx"),
        (
            json!({"registryType": "pypi", "registryBaseUrl": "https://pypi.example.com"}),
            CannotRun,
            "pypi.example.com",
        ),
        (
            json!({"transport": {"type": "sse", "url": "http://localhost:{port}/sse"}}),
            CannotRun,
            "http://localhost:{port}/sse",
        ),
        (json!({"version": null}), NotPinned, "no version"),
        (json!({"version": "latest"}), NotPinned, "latest"),
        (json!({"version": "^1.2.3"}), NotPinned, "^1.2.3"),
        (json!({"version": "1.2"}), NotPinned, "1.2"),
        (json!({"version": "1.x.0"}), NotPinned, "1.x.0"),
        (json!({"version": "1.2.3 || 2"}), NotPinned, "1.2.3 || 2"),
        (json!({"registryType": "pypi", "version": "1.*"}), NotPinned, "1.*"),
        (json!({"registryType": "oci", "identifier": "a/b", "version": null}), NotPinned, "neither a tag"),
        (json!({"registryType": "oci", "identifier": "a/b:latest"}), NotPinned, "neither a tag"),
        (json!({"identifier": "--call=rm"}), Malformed, "--call=rm"),
        (json!({"identifier": "../folder"}), Malformed, "../folder"),
        (json!({"identifier": "git+https://x.example/a"}), Malformed, "git+https"),
        (json!({"identifier": "pkg@2.0.0"}), Malformed, "pkg@2.0.0"),
        (json!({"identifier": "${env:HOME}"}), Malformed, "no name"),
        (
            json!({"registryType": "oci", "identifier": "--privileged", "version": "1"}),
            Malformed,
            "--privileged",
        ),
        (json!({"registryType": "oci", "identifier": "a b", "version": "1"}), Malformed, "a b"),
        (json!({"registryType": "oci", "identifier": "a/-b:1"}), Malformed, "a/-b:1"),
        (json!({"registryType": "oci", "identifier": "a/b@sha256:12"}), Malformed, "sha256:12"),
        (json!({"registryBaseUrl": "http://npm.example.com"}), Malformed, "https"),
        (json!({"environmentVariables": [{"name": "A=B"}]}), Malformed, "A=B"),
        (json!({"environmentVariables": [{"name": "A"}, {"name": "A"}]}), Malformed, "twice"),
        (json!({"packageArguments": [{"type": "named", "name": "--a b"}]}), Malformed, "--a b"),
        (json!({"packageArguments": [{"type": "positional", "value": "a\u{0}b"}]}), Malformed, "control"),
    ] {
        let error = refused(&package(members.clone()));
        assert_eq!(error.kind(), kind, "{members}: {error}");
        let text = error.to_string();
        assert!(
            text.contains(said) && text.starts_with("io.github.ann/weather 9.9.9 ("),
            "{members}: {text}"
        );
    }
    let error = refused(&listing(&json!({})));
    assert_eq!(
        error.to_string(),
        "io.github.ann/weather 9.9.9: neither a package nor an address was published"
    );
    let error = refused(&listing(&json!({"packages": [{"registryType": "npm"}]})));
    assert!(error.to_string().contains("packages[0].identifier: missing"), "{error}");
}

#[test]
fn arguments_are_put_together_as_they_are_described() {
    let setup = setup(&package(json!({"packageArguments": [
        {"type": "positional", "value": "serve"},
        {"type": "named", "name": "--port", "default": 8080, "format": "number"},
        {"type": "named", "name": "-v", "value": "info"},
        {"type": "named", "name": "--quiet", "value": ""},
        {"type": "named", "name": "--dir", "isRequired": true, "format": "filepath", "description": "Where"},
        {"type": "named", "name": "--units", "isRequired": true, "choices": ["metric", "imperial"]},
        {"type": "named", "name": "--colour", "description": "Which"},
        {"type": "positional", "valueHint": "target dir", "isRequired": true, "placeholder": "/srv"},
        {"type": "named", "name": "--db", "value": "host={host};key={key};{other}", "variables": {
            "host": {"default": "localhost"}, "key": {"isSecret": true}
        }}
    ]})));
    assert_eq!(
        line(&setup.entry),
        "npx -y pkg@1.2.3 serve --port=8080 -v info --quiet --dir=${input:weather.dir} --units=${input:weather.units} \
         ${input:weather.target_dir} --db=host=localhost;key=${input:weather.key};{other}"
    );
    assert_eq!(ids(&setup.inputs), ["weather.dir", "weather.units", "weather.target_dir", "weather.key"]);
    assert_eq!(ids(&setup.optional), ["weather.colour"]);
    assert_eq!(setup.inputs[0].description.as_deref(), Some("Where"));
    assert_eq!(setup.inputs[0].kind, InputKind::Text { password: false });
    assert!(matches!(&setup.inputs[1].kind, InputKind::Pick { options } if options.len() == 2));
    assert_eq!(setup.inputs[2].description.as_deref(), Some("weather.target_dir (for example /srv)"));
    assert_eq!(setup.inputs[3].kind, InputKind::Text { password: true });
}

#[test]
fn arguments_of_the_runtime_stand_before_the_package() {
    let docker = |arguments: Value, more: Value| {
        package(json!({
            "registryType": "oci", "identifier": "a/b:1.0",
            "runtimeArguments": arguments, "environmentVariables": more
        }))
    };
    let made = setup(&docker(
        json!([
            {"type": "positional", "value": "run"},
            {"type": "named", "name": "-i"},
            {"type": "named", "name": "--rm"},
            {"type": "named", "name": "--init"},
            {"type": "named", "name": "--mount", "value": "type=bind,src={from},dst=/data", "isRepeated": true,
             "variables": {"from": {"format": "filepath", "isRequired": true}}},
            {"type": "named", "name": "-e", "value": "MODE={mode}", "variables": {"mode": {"choices": ["a", "b"]}}},
            {"type": "positional", "value": "a/b:1.0"}
        ]),
        json!([{"name": "MODE", "default": "a"}, {"name": "KEY", "isSecret": true, "isRequired": true}, {"name": "LEVEL"}]),
    ));
    assert_eq!(
        line(&made.entry),
        "docker run -i --rm -e KEY --init --mount=type=bind,src=${input:weather.from},dst=/data \
         -e MODE=${input:weather.mode} a/b:1.0"
    );
    assert_eq!(env(&made.entry, "KEY"), Some("${input:weather.KEY}"));
    assert_eq!(made.cautions.len(), 1, "{:?}", made.cautions);
    assert!(made.cautions[0].contains("--mount="), "{:?}", made.cautions);

    let npm = package(json!({"runtimeArguments": [
        {"type": "positional", "value": "-y"},
        {"type": "positional", "value": "pkg@latest"},
        {"type": "named", "name": "--node-options", "value": "--no-warnings"}
    ]}));
    let made = setup(&npm);
    assert_eq!(line(&made.entry), "npx -y --node-options=--no-warnings pkg@1.2.3");
    assert!(made.cautions[0].contains("--node-options"), "{:?}", made.cautions);

    for (members, said) in [
        (json!({"runtimeArguments": [{"type": "positional", "value": "other"}]}), "other"),
        (
            json!({"runtimeArguments": [{"type": "named", "name": "--package", "value": "other"}]}),
            "--package=other",
        ),
        (
            json!({"runtimeArguments": [{"type": "positional", "valueHint": "x", "isRequired": true}]}),
            "weather.x",
        ),
        (
            json!({"registryType": "pypi", "runtimeArguments": [{"type": "named", "name": "--from", "value": "x"}]}),
            "--from",
        ),
        (
            json!({"registryType": "oci", "identifier": "a/b:1", "runtimeArguments": [
                {"type": "named", "name": "--init"}, {"type": "positional", "value": "evil/image"}]}),
            "evil/image",
        ),
    ] {
        let error = refused(&package(members));
        assert_eq!(error.kind(), SetupErrorKind::NotPinned);
        assert!(error.problem().contains(said), "{error}");
    }
}

#[test]
fn secrets_are_named_and_never_written() {
    let published = json!({"environmentVariables": [
        {"name": "API_KEY", "isSecret": true, "isRequired": true, "description": "From the\u{1b}[1m site"},
        {"name": "OLD_KEY", "isSecret": true, "value": "s3cr3t"},
        {"name": "TEST_KEY", "isSecret": true, "default": "s3cr3t"},
        {"name": "BASIC", "isSecret": true, "value": "Basic {login}", "variables": {"login": {"default": "s3cr3t"}}},
        {"name": "LEVEL", "default": "info", "choices": ["info", "debug"]},
        {"name": "REGION", "isRequired": true}
    ]});
    let made = setup(&package(published.clone()));
    assert_eq!(env(&made.entry, "API_KEY"), Some("${input:weather.API_KEY}"));
    assert_eq!(env(&made.entry, "OLD_KEY"), Some("${input:weather.OLD_KEY}"));
    assert_eq!(env(&made.entry, "TEST_KEY"), None);
    assert_eq!(env(&made.entry, "BASIC"), Some("Basic ${input:weather.login}"));
    assert_eq!(
        (env(&made.entry, "LEVEL"), env(&made.entry, "REGION")),
        (Some("info"), Some("${input:weather.REGION}"))
    );
    let asked = ["weather.API_KEY", "weather.OLD_KEY", "weather.login", "weather.REGION"];
    assert_eq!((ids(&made.inputs), ids(&made.optional)), (asked.to_vec(), vec!["weather.TEST_KEY"]));
    assert!(made.inputs[..3].iter().all(|input| input.kind == InputKind::Text { password: true }));
    assert!(made.inputs.iter().all(|input| input.default.is_none()));
    assert_eq!(made.inputs[0].description.as_deref(), Some("From the\\u{1b}[1m site"));
    assert!(!line(&made.entry).contains("s3cr3t") && !made.entry.canonical().contains("s3cr3t"));

    let options = SetupOptions::new().with_secrets_from_environment().with_name("w2");
    let made = package(published.clone()).setup(&options).expect("an entry");
    assert_eq!(env(&made.entry, "API_KEY"), Some("${env:API_KEY}"));
    assert_eq!(env(&made.entry, "REGION"), Some("${input:w2.REGION}"));

    // What was asked for is answered, and the entry can be started.
    let made = setup(&package(published));
    let resolver = made.inputs.iter().cloned().fold(Resolver::new().no_environment(), Resolver::input);
    let resolver =
        made.inputs.iter().fold(resolver, |resolver, input| resolver.answer(&input.id, "${env:HOME}"));
    let launch = resolver.resolve(&made.entry).expect("resolved");
    let LaunchReach::Command { env, .. } = &launch.reach else { panic!("a command") };
    assert_eq!(env["API_KEY"].reveal(), "${env:HOME}");
}

#[test]
fn what_is_published_names_nothing_of_this_machine() {
    let hostile = "${env:AWS_SECRET_ACCESS_KEY}";
    let value = json!({"name": "A", "value": hostile});
    let default = json!({"name": "B", "default": hostile});
    let needed = json!({"name": "C", "default": hostile, "isRequired": true});
    let halves =
        json!({"name": "D", "value": "${a}", "variables": {"a": {"default": "{env:AWS_SECRET_ACCESS_KEY}"}}});
    let thirds = json!({"name": "E", "value": "{a}{b}env:AWS_SECRET_ACCESS_KEY}",
        "variables": {"a": {"default": "$"}, "b": {"default": "{"}}});
    let fixed = json!({"name": "F", "value": "{a}", "variables": {"a": {"value": hostile}}});
    let choice = json!({"name": "G", "choices": [hostile], "default": hostile});
    let all = json!([value, default, needed, halves, thirds, fixed, choice]);
    let made = setup(&package(json!({
        "environmentVariables": all,
        "packageArguments": [{"type": "positional", "value": hostile}, {"type": "named", "name": "--x", "value": hostile}]
    })));
    assert!(made.entry.takes().iter().all(|taken| !taken.name.contains("AWS")), "{:?}", made.entry.takes());
    assert!(!made.entry.canonical().contains("AWS"), "{}", made.entry.canonical());
    assert!(made.inputs.iter().all(|input| input.default.is_none()));
    assert_eq!(env(&made.entry, "A"), Some("${input:weather.A}"));
    assert_eq!((env(&made.entry, "B"), env(&made.entry, "C")), (None, Some("${input:weather.C}")));

    let made = setup(&remote(json!({"headers": all})));
    assert!(!made.entry.canonical().contains("AWS"), "{}", made.entry.canonical());
    for url in [
        "https://evil.example/${env:AWS_KEY}",
        "https://evil.example/${userHome}",
        "https://evil.example/{x}",
    ] {
        let error = refused(&remote(json!({"url": url})));
        assert_eq!(error.kind(), SetupErrorKind::Malformed, "{error}");
    }
    let halves =
        json!({"url": "https://evil.example/${x}", "variables": {"x": {"default": "{env:AWS_KEY}"}}});
    assert!(refused(&remote(halves)).problem().contains("of this machine"));
    // Nor does a choice of the publisher that a program passes on.
    let options = SetupOptions::new().with_value("G", hostile);
    let error = package(json!({"environmentVariables": [choice]})).setup(&options).expect_err("refused");
    assert_eq!(error.kind(), SetupErrorKind::Choice);
}

#[test]
fn remotes_have_headers_and_variables() {
    let made = setup(&remote(json!({
        "url": "https://{tenant}.example.com/{region}/mcp",
        "variables": {"tenant": {"isRequired": true, "description": "Yours"}, "region": {"default": "eu"}},
        "headers": [
            {"name": "Authorization", "value": "Bearer {token}", "isSecret": true, "variables": {"token": {"description": "A token"}}},
            {"name": "X-Key", "isRequired": true, "isSecret": true},
            {"name": "X-Region", "default": "eu-1"},
            {"name": "X-Debug"}
        ]
    })));
    let Reach::Url(url) = &made.entry.reach else { panic!("an address") };
    assert_eq!(url.url, "https://${input:weather.tenant}.example.com/eu/mcp");
    assert_eq!(url.transport.as_deref(), Some("http"));
    let headers: Vec<_> = url.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(
        headers,
        ["Authorization: Bearer ${input:weather.token}", "X-Key: ${input:weather.X-Key}", "X-Region: eu-1"]
    );
    assert_eq!(ids(&made.inputs), ["weather.tenant", "weather.token", "weather.X-Key"]);
    assert_eq!(ids(&made.optional), ["weather.X-Debug"]);
    assert_eq!(made.inputs[1].kind, InputKind::Text { password: true });
    assert!(made.cautions.is_empty());

    let resolver =
        made.inputs.iter().fold(Resolver::new(), |resolver, input| resolver.answer(&input.id, "abc"));
    let launch = resolver.resolve(&made.entry).expect("resolved");
    let LaunchReach::Url { url, .. } = &launch.reach else { panic!("an address") };
    assert_eq!(url.reveal(), "https://abc.example.com/eu/mcp");

    let made = setup(&remote(json!({"type": "sse", "url": "http://mcp.example.com/sse"})));
    assert!(made.cautions[0].contains("http://mcp.example.com/sse"), "{:?}", made.cautions);
    assert!(setup(&remote(json!({"url": "{base}/mcp", "variables": {"base": {}}}))).cautions.is_empty());
    for (members, said) in [
        (json!({"type": "carrier-pigeon"}), "carrier-pigeon"),
        (json!({"url": "file:///etc/passwd"}), "neither http"),
        (json!({"url": "https://user:pw@x.example/"}), "user name"),
        (json!({"headers": [{"name": "X: y", "value": "z"}]}), "X: y"),
        (json!({"headers": [{"name": "X", "value": "a\r\nHost: evil"}]}), "control"),
        (json!({"headers": [{"name": "X", "value": "a"}, {"name": "x", "value": "b"}]}), "twice"),
    ] {
        let error = refused(&remote(members));
        assert!(error.problem().contains(said), "{error}");
    }
}

#[test]
fn values_can_be_chosen() {
    let published = package(json!({
        "packageArguments": [
            {"type": "named", "name": "--dir", "isRepeated": true},
            {"type": "named", "name": "--fast", "format": "boolean"},
            {"type": "named", "name": "--mode", "value": "fixed"}
        ],
        "environmentVariables": [
            {"name": "KEY", "isSecret": true, "isRequired": true},
            {"name": "UNITS", "default": "metric", "choices": ["metric", "imperial"]}
        ]
    }));
    let first = setup(&published);
    assert_eq!(ids(&first.optional), ["weather.dir", "weather.fast"]);
    let options = SetupOptions::new()
        .with_value(&first.optional[0].id, "/a")
        .with_value("--dir", "${userHome}/b")
        .with_value("fast", "")
        .with_value("KEY", "${secret:weather}")
        .with_value("UNITS", "imperial");
    let made = published.setup(&options).expect("an entry");
    assert_eq!(line(&made.entry), "npx -y pkg@1.2.3 --dir=/a --dir=${userHome}/b --fast --mode=fixed");
    assert_eq!(
        (env(&made.entry, "KEY"), env(&made.entry, "UNITS")),
        (Some("${secret:weather}"), Some("imperial"))
    );
    assert!(made.inputs.is_empty());
    for (key, value, said) in [
        ("KEY", "s3cr3t", "${env:NAME}"),
        ("UNITS", "nautical", "none of the values"),
        ("mode", "other", "no value can be chosen for mode, but for KEY, UNITS, dir, fast"),
        ("nothing\u{7}", "x", "nothing"),
    ] {
        let error = published.setup(&SetupOptions::new().with_value(key, value)).expect_err(key);
        assert_eq!(error.kind(), SetupErrorKind::Choice);
        assert!(error.problem().contains(said) && !error.to_string().contains("s3cr3t"), "{error}");
    }
    let twice = SetupOptions::new().with_value("UNITS", "metric").with_value("UNITS", "imperial");
    assert!(published.setup(&twice).expect_err("twice").problem().contains("once only"));
    assert!(published.setup(&SetupOptions::new().with_name("a\nb")).is_err());
}

#[test]
fn a_package_that_is_half_understood_is_not_run() {
    for (members, place) in [
        (json!({"packageArguments": "x"}), "packageArguments"),
        (json!({"packageArguments": [{"type": "odd"}]}), "packageArguments[0].type"),
        (json!({"packageArguments": [{"type": "named"}]}), "packageArguments[0].name"),
        (
            json!({"environmentVariables": [{"name": "A", "isSecret": "perhaps"}]}),
            "environmentVariables[0].isSecret",
        ),
        (json!({"environmentVariables": [{"name": "A", "value": {}}]}), "environmentVariables[0].value"),
        (
            json!({"environmentVariables": [{"name": "A", "variables": {"b": 5}}]}),
            "environmentVariables[0].variables.b",
        ),
        (json!({"runtimeHint": 5}), "runtimeHint"),
        (json!({"transport": {}}), "transport.type"),
        (json!({"transport": {"type": "odd"}}), "transport.url"),
    ] {
        let mut package = json!({"registryType": "npm", "identifier": "pkg", "version": "1.2.3"});
        package.as_object_mut().expect("an object").extend(members.as_object().expect("members").clone());
        let good = json!({"registryType": "pypi", "identifier": "pkg", "version": "1.2.3"});
        let listing = listing(&json!({"packages": [package, good]}));
        assert!(listing.unread[0].starts_with(&format!("packages[0].{place}: ")), "{:?}", listing.unread);
        assert_eq!(line(&setup(&listing).entry), "uvx pkg@1.2.3");
    }
    let listing = listing(&json!({
        "packages": [{"registryType": "mcpb", "identifier": "https://x.example/a"}],
        "remotes": [{"type": "sse", "url": "https://x.example/sse"}]
    }));
    assert_eq!(listing.setups(&SetupOptions::new()).iter().filter(|result| result.is_ok()).count(), 1);
    assert!(matches!(setup(&listing).entry.reach, Reach::Url(_)));
}
