//! No secret is shown, wherever it comes from and whatever goes wrong.

use std::fmt::Debug;

use tinymcp::host::config::{Config, Input, Resolver, Secret, ServerEntry};

use crate::{Folder, resolver};

/// In every text that may be shown: this is in none of them.
const MARK: &str = "sEcReT";

fn looked_through(seen: &mut Vec<String>, shown: &dyn Debug) {
    seen.push(format!("{shown:?}"));
    seen.push(format!("{shown:#?}"));
}

#[test]
fn no_secret_is_in_anything_that_is_shown() {
    let folder = Folder::new();
    let env_file = folder.file("a.env", &format!("KEY={MARK}1"));
    let env_file = env_file.to_str().expect("text");
    let known =
        [("TOKEN", format!("{MARK}2")), ("BROKEN", format!("{MARK}\n3")), ("NUL", format!("{MARK}\0"))];
    let known: Vec<_> = known.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let resolver = resolver(&known)
        .answer("key", format!("{MARK}4"))
        .input(Input::password("other", "Which?").with_default(format!("{MARK}5")))
        .input(Input::pick("pick", "Which?", ["a"]).with_default(format!("{MARK}6")));
    let mut seen = Vec::new();
    looked_through(&mut seen, &resolver);

    let text = format!(
        r#"{{"mcpServers": {{
            "a": {{"command": "a", "args": ["--key={MARK}", "${{TOKEN}}"], "env": {{"A": "{MARK}", "B": "${{TOKEN}}"}}, "envFile": {env_file:?}}},
            "b": {{"url": "https://u:{MARK}@a.example/{MARK}?k={MARK}#{MARK}", "headers": {{"X": "{MARK}", "Y": "${{TOKEN}}"}}}},
            "c": {{"command": "${{TOKEN}}", "cwd": "${{TOKEN}}", "args": ["${{input:key}}", "${{input:other}}"]}},
            "d": {{"url": "https://${{TOKEN}}.example/", "headers": {{"X": "${{BROKEN}}"}}}},
            "e": {{"command": "e", "args": ["${{NUL}}"]}},
            "f": {{"command": "f", "args": ["${{input:pick}}"]}},
            "g": {{"url": "${{TOKEN}}"}},
            "h": {{"command": "${{X:-{MARK}}}", "args": ["${{env:}}{MARK}"]}},
            "i": {{"command": "i", "args": ["{MARK}", 5]}},
            "j": {{"command": "j", "args": "{MARK}"}},
            "k": {{"command": "k", "env": {{"A": ["{MARK}"]}}}},
            "l": {{"command": "l", "env": {{"A": "{MARK}", "A": "{MARK}"}}}},
            "m": {{"url": "{MARK}"}},
            "n": {{"url": "https://a.example", "headers": {{"X": "{MARK}\n"}}}},
            "o": {{"url": "https://a.example", "headers": "{MARK}"}},
            "p": {{"type": "{MARK}", "command": "p"}},
            "q": {{"disabled": "{MARK}", "command": "q"}},
            "r": "{MARK}",
            "s": {{"command": "s", "auth": {{"CLIENT_SECRET": "{MARK}"}}}},
            "t": {{"url": "https://a.example", "serverUrl": "https://{MARK}.example"}},
            "u": {{"command": "u", "env": {{"A": "{MARK}\u0000"}}, "envFile": ""}},
            "w": {{"command": "w", "env": {{"KEY={MARK}": "", "KEY2={MARK}": 1}}}},
            "x": {{"command": "x", "env": {{"KEY={MARK}": []}}}},
            "y": {{"url": "https://a.example", "headers": {{"Authorization: {MARK}": ""}}}},
            "z": {{"url": "https://a.example", "headers": {{"X {MARK}": "", "X {MARK}": ""}}}},
            "v": {{"url": "https://${{X:-{MARK}}}.example/"}}
        }},
        "inputs": [{{"id": "a", "default": "{MARK}"}}, "{MARK}", {{"id": "b", "type": "pickString", "options": "{MARK}"}}],
        "other": "{MARK}"}}"#
    );
    let config = Config::parse(&text, "mcp.json").expect("JSON");
    assert!(config.servers.len() >= 9 && config.rejected.len() >= 13, "{config:#?}");
    looked_through(&mut seen, &config);
    for error in &config.rejected {
        seen.push(error.to_string());
        seen.push(tinymcp::Error::from(error.clone()).to_string());
    }
    let (mut resolved, mut failed) = (0, 0);
    for entry in &config.servers {
        looked_through(&mut seen, entry);
        looked_through(&mut seen, &entry.takes());
        match resolver.resolve(entry) {
            Ok(launch) => {
                looked_through(&mut seen, &launch);
                resolved += 1;
            }
            Err(error) => {
                looked_through(&mut seen, &error);
                seen.push(error.to_string());
                failed += 1;
            }
        }
    }
    assert!(resolved >= 3 && failed >= 5, "{resolved} resolved, {failed} failed");
    let secret = Secret::from(MARK);
    seen.push(format!(
        "{secret} {secret:?} {:?} {:?}",
        Some(&secret),
        Resolver::new().answer("a", secret.clone())
    ));

    // Broken files, and files that cannot be written.
    let whole = format!(
        r#"{{"mcpServers": {{"a": {{"command": "{MARK}", "env": {{"A": "{MARK}"}}}}}}, "x": {MARK}}}"#
    );
    for end in 0..whole.len() {
        if let Err(error) = Config::parse(&whole[..end], "mcp.json") {
            seen.push(format!("{error} {error:?}"));
        }
    }
    folder.file("b.env", &format!("A=1\n{MARK}\n"));
    let path = folder.0.join("b.env");
    let entry = ServerEntry::command("w", "w", [""; 0]).with_env_file(path.to_str().expect("text"));
    seen.push(resolver.resolve(&entry).expect_err("no variable").to_string());
    let mut config = Config::new();
    config.servers = vec![ServerEntry::url("x", MARK), ServerEntry::url("x", MARK)];
    seen.push(config.to_text().expect_err("no address").to_string());

    assert!(seen.len() > 100);
    for text in seen {
        assert!(!text.contains(MARK), "{text}");
    }
}

#[test]
fn what_is_kept_of_consent_has_no_secret_of_env_and_headers() {
    let entries = [
        ServerEntry::command("a", "a", ["x"])
            .with_env("KEY", MARK)
            .with_env("OTHER", format!("${{X:-{MARK}}}")),
        ServerEntry::url("b", "https://a.example").with_header("Authorization", format!("Bearer {MARK}")),
    ];
    for entry in entries {
        assert!(!entry.canonical().contains(MARK), "{}", entry.canonical());
    }
}

#[test]
fn names_are_shown_without_what_terminals_obey() {
    let text = "{\"mcpServers\": {\"a\\u001b[31m\\u202eb\\n\": {\"command\": 5}}}";
    let config = Config::parse(text, "dir\u{1b}/mcp.json").expect("JSON");
    let error = config.rejected[0].to_string();
    assert!(error.contains("server \"a\\u{1b}[31m\\u{202e}b\\n\": command"), "{error}");
    assert!(!error.contains(|c: char| c.is_control() || c == '\u{202e}'), "{error}");
}
