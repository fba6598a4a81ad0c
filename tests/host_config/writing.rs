//! Writing a file back: what has changed, and nothing else.

use tinymcp::host::config::{Config, ConfigErrorKind, Input, Reach, ServerEntry};

use crate::Folder;

/// The text after `change`, which reads as what was wanted.
fn changed(text: &str, change: impl FnOnce(&mut Config)) -> String {
    let mut config = Config::parse(text, "mcp.json").unwrap_or_else(|e| panic!("{e}"));
    change(&mut config);
    let text = config.to_text().unwrap_or_else(|e| panic!("{e}"));
    let again = Config::parse(&text, "mcp.json").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let sorted = |config: &Config| {
        let mut servers: Vec<_> = config
            .servers
            .iter()
            .map(|entry| (entry.name.clone(), entry.reach.clone(), entry.disabled))
            .collect();
        servers.sort_by(|one, other| one.0.cmp(&other.0));
        servers
    };
    assert!(sorted(&again) == sorted(&config) && again.inputs == config.inputs, "{text}");
    text
}

fn command(entry: &mut ServerEntry) -> &mut tinymcp::host::config::CommandEntry {
    match &mut entry.reach {
        Reach::Command(command) => command,
        _ => panic!("is started"),
    }
}

const HOSTS: &str = r#"{
    "zoom": 1.10, "id": 123456789012345678901234567890,
    "mcpServers": {
        "a": { "timeout": 1e3, "command": "a", "args": [ "x" ], "env": {"B": "\u0063"} },
        "b": {"url": "https://b.example"}
    },
    "last": {"deep": [{"x": 0.10}]}
}
"#;

#[test]
fn only_what_has_changed_is_written() {
    assert_eq!(changed(HOSTS, |_| {}), HOSTS);
    let text = changed(HOSTS, |config| command(&mut config.servers[0]).args.push("y".into()));
    assert_eq!(text, HOSTS.replace(r#"[ "x" ]"#, r#"["x", "y"]"#));
    let text = changed(HOSTS, |config| config.servers[1].disabled = true);
    let want = "\"b\": {\"url\": \"https://b.example\",\n            \"disabled\": true\n        }\n    },";
    assert_eq!(text, HOSTS.replace("\"b\": {\"url\": \"https://b.example\"}\n    },", want));
    let text = changed(HOSTS, |config| drop(config.servers.remove(1)));
    assert_eq!(text, HOSTS.replace(",\n        \"b\": {\"url\": \"https://b.example\"}", ""));
    let text = changed(HOSTS, |config| drop(config.servers.remove(0)));
    let first = HOSTS.lines().nth(3).expect("a line");
    assert_eq!(text, HOSTS.replace(&format!("{first}\n"), ""));
    let text = changed(HOSTS, |config| config.servers[0].extra.insert("timeout", &5));
    assert_eq!(text, HOSTS.replace("1e3", "5"));
    let text = changed(HOSTS, |config| drop(config.servers[0].extra.remove("timeout")));
    assert_eq!(text, HOSTS.replace(" \"timeout\": 1e3,", ""));
}

#[test]
fn servers_are_added_as_the_file_has_them() {
    let new = || ServerEntry::command("new", "n", ["x", "y"]).with_env("A", "1").with_disabled(true);
    let text = changed(HOSTS, |config| config.servers.push(new()));
    let want = r#"        "b": {"url": "https://b.example"},
        "new": {
            "command": "n",
            "args": ["x", "y"],
            "env": {
                "A": "1"
            },
            "disabled": true
        }
    },"#;
    assert_eq!(text, HOSTS.replace("        \"b\": {\"url\": \"https://b.example\"}\n    },", want));
    for (text, wanted) in [
        ("{}", vec!["\"mcpServers\""]),
        ("{ \"servers\": {} }", vec!["\"type\": \"stdio\"", "\"type\": \"http\""]),
        (r#"{"context_servers": {}}"#, vec!["\"enabled\": false"]),
        (
            r#"{"mcp": {"x": {"type": "local", "command": ["x"]}}}"#,
            vec!["[\"n\", \"x\", \"y\"]", "\"environment\"", "\"type\": \"remote\"", "\"enabled\": false"],
        ),
        (
            r#"{"mcp": {"x": {"type": "stdio", "command": "x"}}}"#,
            vec!["\"command\": \"n\"", "\"type\": \"http\""],
        ),
        (r#"{"x": {"command": "x"}}"#, vec!["\"command\": \"n\""]),
        (r#"{"mcpServers": null}"#, vec!["\"mcpServers\": {\n"]),
    ] {
        let text = changed(text, |config| {
            config.servers.push(new());
            let mut url = ServerEntry::url("url", "https://u.example").with_header("X", "${X}");
            if text.contains("\"mcp\"") {
                url = url.with_transport(if text.contains("local") { "remote" } else { "http" });
            } else if text.contains("servers\"") {
                url = url.with_transport("http");
            }
            config.servers.push(url);
        });
        for part in wanted {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}

#[test]
fn the_spelling_of_an_entry_stays() {
    for (text, part) in [
        (
            r#"{"mcpServers": {"a": {"serverUrl": "https://a.example"}}}"#,
            r#""serverUrl": "https://z.example""#,
        ),
        (r#"{"mcpServers": {"a": {"httpUrl": "https://a.example"}}}"#, r#""httpUrl": "https://z.example""#),
        (
            r#"{"mcpServers": {"a": {"serverUrl": "https://a.example", "url": "https://a.example"}}}"#,
            r#""url": "https://z.example""#,
        ),
    ] {
        let text = changed(text, |config| {
            let Reach::Url(url) = &mut config.servers[0].reach else { panic!("at an address") };
            url.url = "https://z.example".into();
        });
        assert!(text.contains(part) && !text.contains("a.example"), "{text}");
    }
    let two = r#"{"mcpServers": {"a": {"command": "a", "disabled": true, "enabled": false}}}"#;
    let text = changed(two, |config| config.servers[0].disabled = false);
    assert_eq!(text, two.replace("true", "FALSE").replace("false", "true").replace("FALSE", "false"));
    let line = r#"{"mcp": {"a": {"type": "local", "command": ["a", "b"], "enabled": true}}}"#;
    let text = changed(line, |config| {
        command(&mut config.servers[0]).args[0] = "c".into();
        config.servers[0].disabled = true;
    });
    assert_eq!(text, line.replace("\"b\"", "\"c\"").replace("true", "false"));
    let older = r#"{"context_servers": {"a": {"command": {"path": "a", "more": 1.50, "args": []}}}}"#;
    let text = changed(older, |config| command(&mut config.servers[0]).command = "z".into());
    assert!(text.contains("\"path\": \"z\"") && text.contains("\"more\": 1.50"), "{text}");
    // From a program to an address.
    let text =
        changed(HOSTS, |config| config.servers[0].reach = ServerEntry::url("a", "https://z.example").reach);
    assert!(text.contains("https://z.example") && text.contains("\"timeout\": 1e3"), "{text}");
}

#[cfg(feature = "jsonc")]
#[test]
fn comments_stay_where_they_are() {
    let text = r#"// Servers of the team.
{
  "servers": {
    // the first
    "a": { "command": "a" /* inside */ }, // behind the first
    // the second
    "b": {
      "command": "b", // its program
      "args": ["x"],
    },
    // the last
    "c": { "command": "c" }, // behind the last
    // at the end
  },
}
"#;
    assert_eq!(changed(text, |_| {}), text);
    let one = changed(text, |config| drop(config.servers.remove(0)));
    let lines: Vec<_> = text.lines().collect();
    let without = |gone: &[usize]| {
        let kept =
            lines.iter().enumerate().filter(|(i, _)| !gone.contains(i)).map(|(_, line)| format!("{line}\n"));
        kept.collect::<String>()
    };
    assert_eq!(one, without(&[3, 4]));
    assert_eq!(changed(text, |config| drop(config.servers.remove(1))), without(&[5, 6, 7, 8, 9]));
    assert_eq!(changed(text, |config| drop(config.servers.remove(2))), without(&[10, 11]));
    assert_eq!(changed(text, |config| config.servers.clear()), without(&[3, 4, 5, 6, 7, 8, 9, 10, 11]));
    let added = changed(text, |config| config.servers.push(ServerEntry::command("d", "d", [""; 0])));
    let new =
        "    // at the end\n    \"d\": {\n      \"type\": \"stdio\",\n      \"command\": \"d\"\n    }\n";
    assert_eq!(added, text.replace("    // at the end\n", new));
    let edited = changed(text, |config| command(&mut config.servers[1]).args.clear());
    assert_eq!(edited, text.replace("[\"x\"]", "[]"));
    for text in [
        "{\"mcpServers\": {\"a\": {\"command\": \"a\"}, /* of\nb */ \"b\": {\"command\": \"b\"} /* end\n */ } }",
        "{\"mcpServers\": {\"a\": {\"command\": \"a\",},\"b\":{\"command\":\"b\",},},}",
        "{\"mcpServers\": { // x\n\"a\": {\"command\": \"a\"} // y\n,\"b\":{\"command\":\"b\"}}}",
    ] {
        for which in 0..2 {
            changed(text, |config| drop(config.servers.remove(which)));
            let both = changed(text, |config| {
                config.servers[which] = ServerEntry::command("n", "n", ["x"]);
            });
            assert_eq!(both.matches("/*").count(), both.matches("*/").count(), "{both}");
        }
        changed(text, |config| config.servers = vec![ServerEntry::command("n", "n", ["x"])]);
    }
}

#[test]
fn every_way_to_change_two_of_four_reads_back() {
    let text = r#"{"mcpServers":{"a":{"command":"a"},"b\"\\":{"command":"b"},"c":{"command":"c"},"d":{"command":"d"}}}"#;
    for mask in 0..64_u32 {
        let text = changed(text, |config| {
            let mut i = 0;
            config.servers.retain(|_| {
                i += 1;
                mask & (1 << (i - 1)) == 0
            });
            for name in ["e", "f"].iter().take((mask >> 4) as usize) {
                config.servers.push(ServerEntry::command(*name, "x", [""; 0]));
            }
        });
        assert!(text.ends_with("}}"), "{text}");
    }
}

#[test]
fn broken_servers_stay_unless_they_are_replaced() {
    let text = r#"{"mcpServers": {"a": {"command": 5, "x": 1.0}, "b": {"command": "b"}, "c": {}, "c": {}}}"#;
    let after = changed(text, |config| drop(config.servers.remove(0)));
    assert!(after.contains(r#""a": {"command": 5, "x": 1.0}"#) && !after.contains("\"b\""), "{after}");
    let after = changed(text, |config| {
        config.servers.push(ServerEntry::command("a", "good", [""; 0]));
        config.servers.push(ServerEntry::command("c", "good", [""; 0]));
    });
    assert!(!after.contains('5') && after.matches("\"c\"").count() == 1, "{after}");
}

#[test]
fn inputs_are_written_when_they_change() {
    let text = r#"{"servers": {}, "inputs": [{"id": "a", "type": "promptString", "x": 1.0}]}"#;
    let after =
        changed(text, |config| config.inputs.push(Input::pick("b", "Which?", ["x", "y"]).with_default("y")));
    assert!(after.contains("\"x\": 1.0") && after.contains(r#""options": ["x", "y"]"#), "{after}");
    let text = r#"{"servers": {}, "inputs": [{"id": "a", "x": 1.0, "type": "pickString", "options": [{"value": "v", "y": 2.0}]}, 5]}"#;
    let after = changed(text, |config| config.inputs[0].description = Some("Which?".into()));
    for part in ["\"x\": 1.0", "\"y\": 2.0", "5]", "Which?"] {
        assert!(after.contains(part), "{part} is not in {after}");
    }
    let after = changed(r#"{"servers": {}}"#, |config| config.inputs.push(Input::password("b", "Which?")));
    assert!(after.contains("\"password\": true"), "{after}");
}

#[test]
fn what_cannot_be_said_is_not_written() {
    let mut config = Config::new();
    config.servers = vec![ServerEntry::command("a", "a", [""; 0]), ServerEntry::command("a", "b", [""; 0])];
    assert_eq!(config.to_text().expect_err("twice").kind(), ConfigErrorKind::Duplicate);
    config.servers.pop();
    config.servers[0].extra.insert("url", "https://a.example");
    assert!(config.to_text().is_err());
    config.servers[0] = ServerEntry::command("a", "", [""; 0]);
    assert!(config.to_text().is_err());
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = Folder::new();
    let path = folder.file("mcp.json", HOSTS);
    let mut config = Config::read(&path).expect("JSON");
    config.servers.pop();
    config.write(&path).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(Config::read(&path).expect("JSON").servers, config.servers);
    config.servers.clear();
    config.write(&path).expect("it is as this one wrote it");
    assert_eq!(folder.names(), ["mcp.json"]);

    // Another program writes in the meantime.
    std::fs::write(&path, HOSTS).expect("written");
    config.servers.push(ServerEntry::command("a", "a", [""; 0]));
    let error = config.write(&path).expect_err("changed");
    assert_eq!(error.kind(), ConfigErrorKind::Changed);
    assert_eq!(std::fs::read_to_string(&path).expect("text"), HOSTS);
    // To another place there is nothing to lose but what the caller names.
    config.write(folder.0.join("other.json")).expect("written");
    assert_eq!(config.source(), Some(folder.0.join("other.json").as_path()));
    let error = config.write(folder.0.join("none/mcp.json")).expect_err("no folder");
    assert_eq!(error.kind(), ConfigErrorKind::Unwritable);
    assert_eq!(config.write(&folder.0).expect_err("a folder").kind(), ConfigErrorKind::Unwritable);
    assert_eq!(folder.names(), ["mcp.json", "other.json"]);
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    let folder = Folder::new();
    let path = folder.file("mcp.json", HOSTS);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("set");
    let link = folder.0.join("link.json");
    symlink("mcp.json", &link).expect("a link");
    let mut config = Config::read(&link).expect("JSON");
    config.servers.pop();
    config.write(&link).expect("written");
    assert!(std::fs::symlink_metadata(&link).expect("there").is_symlink());
    assert_eq!(mode(&path), 0o640);
    assert_eq!(Config::read(&path).expect("JSON").servers.len(), 1);

    let new = folder.0.join("new.json");
    config.write(&new).expect("written");
    assert_eq!(mode(&new), 0o600);
    let dangling = folder.0.join("dangling.json");
    symlink("later.json", &dangling).expect("a link");
    config.write(&dangling).expect("written");
    assert!(folder.names().contains(&"later.json".into()));
}
