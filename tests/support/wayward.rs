//! A server that goes astray as its role says, in a process of its own: raw lines, without the library, so that it can do anything.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs::OpenOptions;
use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tinymcp::host::config::ServerEntry;

use super::peers;

/// An entry for a server that goes astray as `role` says: words joined by commas, see [`Role`].
pub(crate) fn wayward(name: &str, role: &str) -> ServerEntry {
    let (program, args, (variable, value)) = peers::started_as(&format!("wayward:{role}"));
    ServerEntry::command(name, program, args).with_env(variable, value)
}

/// What it does. Words without a value are on or off.
#[derive(Default)]
struct Role {
    /// `pids=FILE`: its id goes there at each start.
    pids: Option<String>,
    /// `listed=FILE`: a line goes there for each page of tools it is asked for.
    listed: Option<String>,
    /// `starts_after=MS`: so long it does nothing.
    starts_after: u64,
    /// `mute`: never answers `initialize`.
    is_mute: bool,
    /// `ends_in_start`: ends when it is asked to begin.
    ends_in_start: bool,
    /// `refuses=TEXT`: answers `initialize` with this error.
    refuses: Option<String>,
    /// `endless=N`: from the N-th listing on (counted from 0) its pages never end.
    endless: Option<usize>,
    /// `list_fails=N`, `list_hangs=N`: what becomes of the N-th listing and all after it.
    list_fails: Option<usize>,
    list_hangs: Option<usize>,
    /// `list_after=MS`: so long a listing takes.
    list_after: u64,
    /// `twins=N`: so many tools of one name.
    twins: usize,
    /// `nameless=N`: so many tools that are none.
    nameless: usize,
    /// `many=N`: so many tools more.
    many: usize,
    /// `turns`: each listing describes `turncoat` in another way, `turns=FILE` in as many words as that has lines.
    turns: Option<String>,
    /// `floods`: says all the time that its tools have changed.
    floods: bool,
    /// `dies_on=N`: ends at every N-th call it gets, after having carried it out.
    dies_on: usize,
    /// `starts=FILE`: is another version at each start.
    starts: Option<String>,
    /// `says=VARIABLE`: tells on stderr what is in it, and repeats it in an error; with `tail`, only its last word.
    says: Option<String>,
    says_tail: bool,
    /// `stays`: ignores the end of its input.
    stays: bool,
    /// `starts_once`: only its first process begins; counts by `starts`.
    starts_once: bool,
    /// `deaf=FILE`: answers nothing as long as there is this file, and it names this process or none.
    deaf: Option<String>,
    /// `breaks=N`: lists nothing from the N-th process on; counts by `starts`.
    breaks: Option<usize>,
}

impl Role {
    fn of(role: &str) -> Self {
        let mut this = Self::default();
        for word in role.split(',').filter(|word| !word.is_empty()) {
            let (word, value) = word.split_once('=').unwrap_or((word, ""));
            let number = || value.parse::<usize>().expect("a number");
            let text = || Some(value.to_owned());
            match word {
                "pids" => this.pids = text(),
                "listed" => this.listed = text(),
                "starts_after" => this.starts_after = number() as u64,
                "mute" => this.is_mute = true,
                "ends_in_start" => this.ends_in_start = true,
                "refuses" => this.refuses = text(),
                "endless" => this.endless = Some(number()),
                "list_fails" => this.list_fails = Some(number()),
                "list_hangs" => this.list_hangs = Some(number()),
                "list_after" => this.list_after = number() as u64,
                "twins" => this.twins = number(),
                "nameless" => this.nameless = number(),
                "many" => this.many = number(),
                "turns" => this.turns = text(),
                "floods" => this.floods = true,
                "dies_on" => this.dies_on = number(),
                "starts" => this.starts = text(),
                "says" => this.says = text(),
                "tail" => this.says_tail = true,
                "stays" => this.stays = true,
                "starts_once" => this.starts_once = true,
                "deaf" => this.deaf = text(),
                "breaks" => this.breaks = Some(number()),
                _ => panic!("no word {word}"),
            }
        }
        this
    }
}

impl Role {
    fn told(&self, variable: &str) -> String {
        let value = std::env::var(variable).unwrap_or_default();
        match value.rsplit_once(' ').filter(|_| self.says_tail) {
            Some((_, tail)) => tail.to_owned(),
            None => value,
        }
    }

    fn is_deaf(&self) -> bool {
        let named = self.deaf.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        named.is_some_and(|named| named.is_empty() || named == std::process::id().to_string())
    }
}

struct Server {
    role: Role,
    version: usize,
    listings: AtomicUsize,
    calls: AtomicUsize,
}

/// Plays `role`.
pub(crate) fn serve(role: &str) {
    let role = Role::of(role);
    if let Some(pids) = &role.pids {
        append(pids, &std::process::id().to_string());
    }
    let version = role.starts.as_ref().map_or(1, |file| {
        append(file, "start");
        lines(file)
    });
    if role.starts_once && version > 1 {
        exit(4);
    }
    std::thread::sleep(Duration::from_millis(role.starts_after));
    if let Some(variable) = &role.says {
        let line = format!("my token is {}\n", role.told(variable));
        std::io::stderr().write_all(line.as_bytes()).expect("written");
    }
    let server: &'static Server = Box::leak(Box::new(Server {
        role,
        version,
        listings: AtomicUsize::new(0),
        calls: AtomicUsize::new(0),
    }));
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if server.role.is_mute || server.role.is_deaf() {
            continue;
        }
        if message.get("id").is_some() && message.get("method").is_some() {
            let answers = move || {
                if let Some(answer) = server.answer(&message) {
                    say(&answer);
                }
            };
            match server.is_slow(&line) {
                true => drop(std::thread::spawn(answers)),
                false => answers(),
            }
        }
    }
    if server.role.stays {
        loop {
            std::thread::park();
        }
    }
    exit(0);
}

impl Server {
    fn is_slow(&self, line: &str) -> bool {
        line.contains("tools/call") || line.contains("tools/list")
    }

    fn answer(&self, message: &Value) -> Option<Value> {
        let id = &message["id"];
        let outcome = match message["method"].as_str().unwrap_or_default() {
            "initialize" => self.begin(),
            "ping" => Ok(json!({})),
            "tools/list" => self.list(&message["params"])?,
            "tools/call" => self.call(&message["params"]),
            other => Err((-32601, format!("no method {other}"))),
        };
        Some(match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        })
    }

    fn begin(&self) -> Result<Value, (i64, String)> {
        let role = &self.role;
        if role.ends_in_start {
            exit(5);
        }
        if let Some(text) = &role.refuses {
            let text = if text == "huge" { "a".repeat(2 << 20) } else { text.clone() };
            return Err((-32000, text));
        }
        if let Some(variable) = &role.says {
            return Err((-32000, format!("bad token {}", role.told(variable))));
        }
        if role.floods {
            std::thread::spawn(|| {
                loop {
                    say(&changed());
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        }
        Ok(json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "wayward", "version": self.version.to_string()},
        }))
    }

    /// `None` if it never answers.
    fn list(&self, params: &Value) -> Option<Result<Value, (i64, String)>> {
        let role = &self.role;
        if let Some(file) = &role.listed {
            append(file, "listed");
        }
        let page = params["cursor"].as_str().and_then(|cursor| cursor.parse::<u64>().ok());
        let listing = match page {
            Some(_) => self.listings.load(Ordering::SeqCst) - 1,
            None => self.listings.fetch_add(1, Ordering::SeqCst),
        };
        std::thread::sleep(Duration::from_millis(role.list_after));
        let is_from = |first: Option<usize>| first.is_some_and(|first| listing >= first);
        if is_from(role.list_hangs) {
            return None;
        }
        if is_from(role.list_fails) || role.breaks.is_some_and(|first| self.version >= first) {
            return Some(Err((-32603, "the list is lost".to_owned())));
        }
        let mut tools = self.tools(listing);
        if is_from(role.endless) {
            let next = page.unwrap_or_default() + 1;
            tools.truncate(1);
            tools[0]["name"] = json!(format!("page{next}"));
            return Some(Ok(json!({"tools": tools, "nextCursor": next.to_string()})));
        }
        Some(Ok(json!({"tools": tools})))
    }

    fn tools(&self, listing: usize) -> Vec<Value> {
        let role = &self.role;
        let tool = |name: &str, description: &str, hints: Value| json!({"name": name, "description": description, "inputSchema": {"type": "object"}, "annotations": hints});
        let mut tools = vec![
            tool("pid", "", json!({"readOnlyHint": true})),
            tool("mark", "", json!({})),
            tool("mark_again", "", json!({"idempotentHint": true})),
            tool("notify", "", json!({})),
        ];
        match role.turns.as_deref() {
            Some("") => tools.push(tool("turncoat", &format!("in the {listing}. way"), json!({}))),
            Some(file) => tools.push(tool("turncoat", &format!("in the {}. way", lines(file)), json!({}))),
            None => {}
        }
        tools.extend((0..role.twins).map(|_| tool("twin", "", json!({}))));
        tools.extend((0..role.nameless).map(|i| json!({"name": format!("nameless{i}")})));
        tools.extend((0..role.many).map(|i| tool(&format!("tool{i}"), &format!("{listing}"), json!({}))));
        tools
    }

    fn call(&self, params: &Value) -> Result<Value, (i64, String)> {
        let count = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let arguments = &params["arguments"];
        if let (Some(file), Some(line)) = (arguments["file"].as_str(), arguments["line"].as_str()) {
            append(file, line);
        }
        if self.role.dies_on > 0 && count % self.role.dies_on == 0 {
            exit(6);
        }
        std::thread::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or_default()));
        let text = match params["name"].as_str().unwrap_or_default() {
            "pid" => std::process::id().to_string(),
            "notify" => {
                say(&changed());
                "told".to_owned()
            }
            name => format!("{name} done"),
        };
        Ok(json!({"content": [{"type": "text", "text": text}]}))
    }
}

fn changed() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
}

fn say(message: &Value) {
    let line = format!("{message}\n");
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).is_err() {
        exit(0);
    }
}

fn append(file: &str, line: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(file).expect("opens");
    file.write_all(format!("{line}\n").as_bytes()).expect("written");
}

fn lines(file: impl AsRef<Path>) -> usize {
    let mut text = String::new();
    if let Ok(mut file) = std::fs::File::open(file) {
        file.read_to_string(&mut text).expect("text");
    }
    text.lines().count()
}
