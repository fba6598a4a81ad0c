//! The rooms of the crate: a module uses those before it and never those after it. Also what else can be seen by reading
//! the sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each may use those before it.
const ROOMS: [&str; 27] = [
    "sys",
    "sync",
    "registry",
    "url",
    "json",
    "jsonrpc",
    "protocol",
    "method",
    "error",
    "transport",
    "era",
    "peer",
    "context",
    "tool",
    "completion",
    "prompt",
    "resource",
    "server",
    "client",
    "functions",
    "host",
    "guard",
    "trajectory",
    "http",
    "testing",
    "logging",
    "guide",
];

/// A file longer than this is two ideas.
const MAX_LINES: usize = 500;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("text");
            found.push((path, text));
        }
    }
}

fn all(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for folder in folders {
        sources(&root().join(folder), &mut found);
    }
    assert!(!found.is_empty());
    found
}

/// What stands after `crate::` or enough `super::`s in a line of `file`, whose module is `depth` below the crate.
fn roots(code: &str, depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        // `$crate::` names what a user of the macro names; `mycrate::` is somebody else.
        if !before.is_some_and(|c| c == '$' || c == '_' || c.is_alphanumeric()) {
            found.extend(heads(&code[at + "crate::".len()..]));
        }
    }
    let up = "super::".repeat(depth);
    let statement = code.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
    if let Some(rest) = statement.strip_prefix("use ").and_then(|path| path.strip_prefix(&up)) {
        found.extend(heads(rest));
    }
    found
}

/// `a` of `a::b`; `a` and `c` of `{a::b, c}`.
fn heads(path: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = path.strip_prefix('{') else { return vec![word(path)] };
    let mut depth = 0;
    let mut items = vec![String::new()];
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        items.last_mut().expect("one").push(c);
    }
    items.iter().map(|item| word(item.trim())).filter(|item| !item.is_empty()).collect()
}

/// The code without its comments, one statement of `use` in one line.
fn statements(text: &str) -> String {
    let code: Vec<_> = text.lines().map(|line| line.find("//").map_or(line, |at| &line[..at])).collect();
    let mut joined = String::new();
    let mut in_use = false;
    for line in code {
        in_use |= line.trim_start().starts_with("use ") || line.trim_start().starts_with("pub use ");
        in_use |= line.trim_start().starts_with("pub(crate) use ");
        joined += line.trim_end();
        in_use &= !line.contains(';');
        joined.push(if in_use { ' ' } else { '\n' });
    }
    joined
}

/// The names that the crate's root exports, and the rooms they come from.
fn exports() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join("src/lib.rs")).expect("text");
    let code = statements(&text);
    let mut exports = BTreeMap::new();
    for line in code.lines().filter_map(|line| line.strip_prefix("pub use ")) {
        let (room, names) = line.split_once("::").expect("a path");
        for name in heads(names.rsplit("::").next().unwrap_or(names)).into_iter().chain(heads(names)) {
            exports.insert(name, room.to_owned());
        }
    }
    // Macros live at the root whoever defines them.
    exports.extend(
        [("tool", "tool"), ("data", "tool"), ("prompt", "prompt")]
            .map(|(name, room)| (name.to_owned(), room.to_owned())),
    );
    exports
}

/// Who uses whom: file, its room, the room it uses.
fn uses() -> Vec<(String, String, String)> {
    let exports = exports();
    let src = root().join("src");
    let mut uses = Vec::new();
    for (path, text) in all(&["src"]) {
        let file = path.strip_prefix(&src).expect("inside").to_owned();
        let mut module: Vec<_> =
            file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
        module.retain(|part| part != "mod");
        if module == ["lib"] {
            continue;
        }
        for line in statements(&text).lines() {
            for used in roots(line, module.len()) {
                let room = if ROOMS.contains(&used.as_str()) { Some(&used) } else { exports.get(&used) };
                let room = room.unwrap_or_else(|| panic!("{}: what is crate::{used}?", file.display()));
                uses.push((file.display().to_string(), module[0].clone(), room.clone()));
            }
        }
    }
    uses
}

#[test]
fn rooms_use_those_before_them() {
    let place = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut wrong = Vec::new();
    for (file, room, used) in uses() {
        let here = place(&room).unwrap_or_else(|| panic!("{file} is in no room of the plan"));
        if place(&used) > Some(here) {
            wrong.push(format!("{file} uses {used}"));
        }
    }
    assert!(wrong.is_empty(), "a room uses a later one:\n{}", wrong.join("\n"));
}

#[test]
fn the_reading_of_paths_finds_what_is_there() {
    assert_eq!(roots("use crate::{json::{Json, Members}, peer};", 1), ["json", "peer"]);
    assert_eq!(roots("let x = crate::sync::lock(&crate::RequestId::from(1));", 2), ["sync", "RequestId"]);
    assert_eq!(roots("use super::super::client::Client;", 2), ["client"]);
    assert_eq!(roots("pub(crate) use super::client::Client;", 1), ["client"]);
    assert_eq!(roots("use super::client::Client; $crate::x; other_crate::y", 2), [""; 0]);
    let uses = uses();
    let has = |room: &str, used: &str| uses.iter().any(|(_, here, there)| here == room && there == used);
    assert!(
        has("server", "peer") && has("client", "era") && has("tool", "context") && has("testing", "client")
    );
    assert!(uses.len() > 150, "only {} uses were found", uses.len());
}

#[test]
fn files_are_one_idea_each() {
    let long: Vec<_> = all(&["src"])
        .into_iter()
        .map(|(path, text)| (text.lines().count(), path))
        .filter(|(lines, _)| *lines > MAX_LINES)
        .collect();
    assert!(long.is_empty(), "longer than {MAX_LINES} lines: {long:#?}");
}

#[test]
fn nothing_is_left_for_later() {
    // Put together here, so that this file does not find itself.
    let words = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("#[ig", "nore"),
        concat!("dbg", "!("),
    ];
    for (path, text) in all(&["src", "tests", "examples", "benches"]) {
        for word in words {
            assert!(!text.contains(word), "{} contains {word}", path.display());
        }
    }
}
