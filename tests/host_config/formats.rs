//! The files that other hosts write, in the shapes they document.

use std::path::PathBuf;

#[cfg(not(feature = "jsonc"))]
use tinymcp::host::config::ConfigErrorKind;
use tinymcp::host::config::{Config, LaunchReach, Reach, UrlTransport};
#[cfg(feature = "jsonc")]
use tinymcp::host::config::{InputKind, PickOption, Resolver};

use crate::{entry, resolver, started};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/host_config/files").join(name)
}

/// Each server in a word or two: name, how it is reached, whether it is off.
fn outline(config: &Config) -> Vec<String> {
    let servers = config.servers.iter().map(|entry| {
        let off = if entry.disabled { " off" } else { "" };
        match &entry.reach {
            Reach::Command(command) => {
                let env: Vec<_> = command.env.keys().map(String::as_str).collect();
                format!(
                    "{}: {} {} [{}]{off}",
                    entry.name,
                    command.command,
                    command.args.join(" "),
                    env.join(",")
                )
            }
            Reach::Url(url) => {
                let headers: Vec<_> = url.headers.keys().map(String::as_str).collect();
                let kind = url.transport.as_deref().unwrap_or("-");
                format!("{}: {kind} {} [{}]{off}", entry.name, url.url, headers.join(","))
            }
            _ => unreachable!("no other kinds"),
        }
    });
    servers.collect()
}

#[test]
fn the_files_of_other_hosts_are_read() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "claude_desktop_config.json",
            "mcpServers",
            &[
                "files: npx -y @example/files-server /home/ann/Documents []",
                "weather: /opt/weather/bin/python -m weather [WEATHER_KEY]",
            ],
        ),
        (
            "claude_code.mcp.json",
            "mcpServers",
            &[
                "issues: http ${TRACKER_URL:-https://tracker.example.com}/mcp [Authorization]",
                "events: sse https://events.example.com/sse []",
                "database: ${DB_TOOLS}/server --config config.json [DB_URL]",
            ],
        ),
        ("vscode_settings.json", "mcp.servers", &["time: python -m time_server []"]),
        (
            "cursor_mcp.json",
            "mcpServers",
            &[
                "notes: node ${workspaceFolder}${pathSeparator}server.js ${userHome}/notes [NOTES_KEY]",
                "design: - https://design.example.com/mcp [Authorization]",
            ],
        ),
        (
            "windsurf_mcp_config.json",
            "mcpServers",
            &["search: - https://search.example.com/mcp [API-Key]", "git: uvx git-server [] off"],
        ),
        (
            "cline_mcp_settings.json",
            "mcpServers",
            &[
                "local: node /srv/server.js [API_KEY]",
                "remote: streamableHttp https://remote.example.com/mcp [Authorization] off",
            ],
        ),
        (
            "gemini_settings.json",
            "mcpServers",
            &[
                "python: python -m tools --port 8080 [DATABASE,KEY]",
                "stream: http https://stream.example.com/mcp [X-Team]",
                "events: - https://events.example.com/sse []",
            ],
        ),
        (
            "opencode.jsonc",
            "mcp",
            &[
                "everything: npx -y everything [LEVEL]",
                "remote: remote https://remote.example.com/mcp [Authorization] off",
            ],
        ),
        (
            "copilot_mcp-config.json",
            "mcpServers",
            &["memory: npx memory []", "cloud: sse https://cloud.example.com/sse []"],
        ),
        ("amp_settings.json", "amp.mcpServers", &["linear: npx remote https://linear.example.com/sse []"]),
        ("warp.json", "", &["files: npx files []", "cloud: - https://cloud.example.com/mcp []"]),
    ];
    for (name, section, want) in cases {
        let config = Config::read(file(name)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(config.rejected, [], "{name}");
        assert_eq!(config.section(), Some(*section), "{name}");
        assert_eq!(outline(&config), *want, "{name}");
        assert_eq!(config.to_text().expect(name), std::fs::read_to_string(file(name)).expect(name));
    }
}

#[test]
fn a_file_is_remembered_by_its_whole_path() {
    let name = "tests/host_config/files/warp.json";
    let config = Config::read(name).expect("below the folder that tests are run in");
    assert_eq!(config.servers[0].source, Some(file("warp.json")));
    assert_eq!(config.source(), Some(file("warp.json").as_path()));
    let error = Config::read("tests/host_config/files/none.json").expect_err("missing");
    assert_eq!(error.to_string(), "tests/host_config/files/none.json: there is no such file");
}

#[test]
fn unknown_members_are_kept_with_their_numbers() {
    let config = Config::read(file("cline_mcp_settings.json")).expect("a file");
    let local = config.server("local").expect("there");
    let names: Vec<_> = local.extra.iter().map(|(name, json)| format!("{name}={json}")).collect();
    assert_eq!(names, [r#"alwaysAllow=["read_file"]"#, "autoApprove=[]", "timeout=60"]);
}

#[cfg(feature = "jsonc")]
#[test]
fn files_with_comments_are_read() {
    let config = Config::read(file("vscode_mcp.json")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(config.rejected, []);
    assert_eq!(
        outline(&config),
        [
            "playwright: npx -y @example/browser --out=${workspaceFolder}${/}shots [RETRIES]",
            "forge: http https://${input:region}.forge.example.com/mcp/ [X-Token]",
        ]
    );
    let Reach::Command(command) = &config.servers[0].reach else { panic!("is started") };
    assert_eq!(command.env["RETRIES"], "3");
    assert!(command.env_removed.contains("DEBUG"));
    assert_eq!(command.env_file.as_deref(), Some("${workspaceFolder}/.env"));
    let kinds: Vec<_> = config.inputs.iter().map(|input| (input.id.as_str(), input.kind.clone())).collect();
    let options = vec![PickOption::new("eu"), PickOption::new("us").with_label("United States")];
    assert_eq!(
        kinds,
        [
            ("forge-token", InputKind::Text { password: true }),
            ("region", InputKind::Pick { options }),
            ("branch", InputKind::Other("command".into())),
        ]
    );
    assert_eq!(config.inputs[2].extra.get::<String>("command").as_deref(), Some("git.currentBranch"));

    let launch =
        Resolver::of(&config).answer("forge-token", "t").resolve(&config.servers[1]).expect("answered");
    let LaunchReach::Url { url, headers, .. } = &launch.reach else { panic!("at an address") };
    assert_eq!(url.reveal(), "https://eu.forge.example.com/mcp/");
    assert_eq!(headers["X-Token"].reveal(), "t");

    let config = Config::read(file("zed_settings.json")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        outline(&config),
        [
            "docs: docs-server --stdio []",
            "older: older-server -v [LEVEL]",
            "remote: - https://context.example.com/mcp [X-Context]",
            "off: off-server  [] off",
        ]
    );
    assert_eq!(config.rejected.len(), 1);
    assert_eq!(config.rejected[0].server(), Some("from-extension"));
    assert_eq!(config.rejected[0].problem(), "has neither command nor url");
}

#[cfg(not(feature = "jsonc"))]
#[test]
fn files_with_comments_say_which_feature_reads_them() {
    for (text, line) in [
        ("// first\n{}", 1),
        ("{\n  /* inside */\n}", 2),
        ("{\"mcpServers\": {\n\"a\": {\"command\": \"/*\"},\n}}", 2),
        ("{\"a\": [\"//\", 1, ]}", 1),
    ] {
        let error = Config::parse(text, "mcp.json").expect_err(text);
        assert_eq!((error.kind(), error.line()), (ConfigErrorKind::NeedsJsonc, Some(line)), "{text}");
        assert!(error.to_string().contains("the feature `jsonc`"), "{error}");
    }
    assert_eq!(Config::read(file("vscode_mcp.json")).expect_err("comments").line(), Some(2));
    assert_eq!(Config::parse("{,}", "a").expect_err("no JSON").kind(), ConfigErrorKind::Syntax);
}

#[test]
fn what_is_said_in_several_ways_is_one_thing() {
    // How the older hosts' files say what they speak.
    for (word, want) in [
        ("http", UrlTransport::Http),
        ("streamable-http", UrlTransport::Http),
        ("streamableHttp", UrlTransport::Http),
        ("streamable_http", UrlTransport::Http),
        ("sse", UrlTransport::Sse),
        ("remote", UrlTransport::Any),
    ] {
        let entry = entry(&format!(r#"{{"type": "{word}", "url": "https://a.example"}}"#)).expect(word);
        let launch = resolver(&[]).resolve(&entry).expect(word);
        let LaunchReach::Url { transport, .. } = launch.reach else { panic!("at an address") };
        assert_eq!(transport, want, "{word}");
    }
    let cases = [
        (r#"{"command": "a", "enabled": false}"#, true),
        (r#"{"command": "a", "isActive": false}"#, true),
        (r#"{"command": "a", "disabled": null}"#, false),
        (r#"{"command": "a", "enabled": true}"#, false),
        (r#"{"command": "a", "disabled": false, "enabled": false}"#, true),
    ];
    for (json, disabled) in cases {
        assert_eq!(entry(json).expect(json).disabled, disabled, "{json}");
    }
    let both =
        entry(r#"{"type": "http", "command": "a", "url": "https://a.example"}"#).expect("the type decides");
    assert!(matches!(both.reach, Reach::Url(_)));
    assert_eq!(both.extra.get::<String>("command").as_deref(), Some("a"));
    let same = entry(r#"{"url": "https://a.example", "serverUrl": "https://a.example"}"#);
    assert!(same.is_ok(), "two hosts read this file");
}

#[test]
fn a_file_without_servers_is_one_of_none() {
    for text in ["{}", r#"{"mcpServers": {}}"#, r#"{"mcpServers": null}"#, r#"{"theme": {"name": "dark"}}"#] {
        let config = Config::parse(text, "a").expect(text);
        assert!(config.servers.is_empty() && config.rejected.is_empty(), "{text}");
    }
    // An object with a command in the settings of some program is no server.
    let settings = r#"{"terminal": {"command": "bash"}, "theme": "dark"}"#;
    assert_eq!(Config::parse(settings, "a").expect("settings").section(), None);
    let settings = r#"{"mcp": {"enabled": true}}"#;
    assert_eq!(Config::parse(settings, "a").expect("settings").section(), None);
    // As editors on Windows write it.
    let text = "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"b\"}}}\r\n";
    assert_eq!(Config::parse(text, "a").expect("a mark is no JSON").servers.len(), 1);
}

#[test]
fn a_broken_server_hides_no_other() {
    let text = r#"{"mcpServers": {
        "a": {"command": "a"},
        "b": 5,
        "c": {"command": "c", "args": "x"},
        "d": {"command": "d", "command": "e"},
        "e": {"command": "e"},
        "f": {"command": "f"},
        "e": {"command": "g"}
    }, "inputs": [{"id": "x"}, {"type": "promptString"}, {"id": "x"}]}"#;
    let config = Config::parse(text, "dir/mcp.json").expect("the rest is whole");
    let names: Vec<_> = config.servers.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["a", "f"]);
    let errors: Vec<_> = config.rejected.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "dir/mcp.json:3:14: server \"b\": expected an object, found a number",
            "dir/mcp.json:4:39: server \"c\": args: expected a list, found a string",
            "dir/mcp.json:5:42: server \"d\": command: given twice, both in line 5",
            "dir/mcp.json:8:14: server \"e\": given twice, in lines 6 and 8",
            "dir/mcp.json:9:32: inputs[1].id: missing",
            "dir/mcp.json:9:58: inputs[2].id: given twice, both in line 9",
        ]
    );
    let launch = resolver(&[]).resolve(&config.servers[1]).expect("nothing to replace");
    assert_eq!(started(&launch).program, "f");
}

#[test]
fn a_broken_file_is_one_error() {
    let cases = [
        ("", "a:1:1: the file is empty: expected a JSON object"),
        ("[]", "a:1:1: expected an object, found a list"),
        (
            "{\"mcpServers\": {\n  \"a\": {\"command\": \"b\" \"c\"}}}",
            "a:2:24: not JSON: expected `,` or `}`",
        ),
        (r#"{"mcpServers": []}"#, "a:1:16: mcpServers: expected an object, found a list"),
        (r#"{"mcpServers": {}, "mcpServers": {}}"#, "a:1:34: mcpServers: given twice, both in line 1"),
        (r#"{"mcpServers": {}} x"#, "a:1:20: not JSON: trailing characters"),
        ("{'mcpServers': {}}", "a:1:2: not JSON: key must be a string"),
    ];
    for (text, want) in cases {
        let error = Config::parse(text, "a").expect_err(text);
        assert_eq!(error.to_string().replace("a: the file is", "a:1:1: the file is"), want);
        assert_eq!(error.file(), Some("a"));
    }
}
