//! The tables of the guide say what the code says.

#[path = "support/host_audit_limits.rs"]
mod host_audit_limits;
#[path = "support/host_limits.rs"]
mod host_limits;
#[path = "support/http_limits.rs"]
mod http_limits;
#[path = "support/trajectory_limits.rs"]
mod trajectory_limits;

use std::fs;
use std::path::{Path, PathBuf};

/// A row of a table, the file that decides, and what stands there before each figure of the row's second column.
const ROWS: &[(&str, &str, &[&str])] = &[
    ("a frame that is read", "transport/framing.rs", &["DEFAULT_MAX_FRAME_BYTES: usize = "]),
    ("open requests of a connection, server", "server/builder.rs", &["in_flight: "]),
    ("threads that run tools, server", "server/builder.rs", &["threads: "]),
    ("open calls, client", "client/builder/mod.rs", &["pending: "]),
    ("questions to a client that are open, server", "server/builder.rs", &["pending: "]),
    ("requests of the server that are open, client", "client/builder/mod.rs", &["in_flight: "]),
    ("threads that answer them, client", "client/builder/mod.rs", &["threads: "]),
    ("rounds in which a call asks for input, client", "client/builder/mod.rs", &["max_input_rounds: "]),
    (
        "tries of a request beyond the first that did not get through, client",
        "client/builder/mod.rs",
        &["max_resends: "],
    ),
    ("tools that a client remembers as harmless to repeat", "client/resend.rs", &["MAX_TOOLS: usize = "]),
    (
        "URLs a user was sent to, until the server says they are done with, client",
        "client/urls.rs",
        &["REMEMBERED: usize = "],
    ),
    ("bytes for a peer that does not read, server", "server/builder.rs", &["unsent_bytes: "]),
    ("bytes for a peer that does not read, client", "client/builder/mod.rs", &["unsent_bytes: "]),
    ("frames in each direction of a memory pair", "transport/memory.rs", &["FRAMES: usize = "]),
    ("progress reports that wait for one caller", "peer/pending.rs", &["PROGRESS: usize = "]),
    ("notifications that wait for callbacks", "sync/callbacks.rs", &["QUEUE: usize = "]),
    ("streams of changes that are open, client", "client/changes/mod.rs", &["MAX_OPEN: usize = "]),
    ("resources that one of them names", "client/changes/mod.rs", &["MAX_URIS: usize = "]),
    ("changes that wait for a taker or a callback", "client/changes/marks.rs", &[]),
    (
        "tries to open a stream again that the server broke off or refused, in a row",
        "client/changes/subs.rs",
        &["TRIES: u32 = "],
    ),
    ("tries to open a stream again that did not get through", "client/changes/subs.rs", &[]),
    ("items on a page of a list, server", "server/builder.rs", &["page_size: "]),
    ("notifications that wait for callbacks, server", "sync/callbacks.rs", &["QUEUE: usize = "]),
    (
        "pages and items of a whole list, client",
        "client/lists.rs",
        &["MAX_PAGES: usize = ", "MAX_ITEMS: usize = "],
    ),
    ("pages of an iterator of pages, client", "client/lists.rs", &["MAX_ITERATED: usize = "]),
    (
        "results that a client keeps to use again",
        "client/cache.rs",
        &["ENTRIES: usize = ", "ALL_BYTES: usize = ", "ENTRY_BYTES: usize = "],
    ),
    ("a trace context, each part of it", "client/trace.rs", &["MAX_BYTES: usize = "]),
    ("the name of a tool or prompt", "registry.rs", &["MAX_NAME_CHARS: usize = "]),
    ("the address of a resource", "protocol/uri_template/mod.rs", &["MAX_BYTES: usize = "]),
    (
        "open `subscriptions/listen` of a connection, server",
        "server/changes/marks.rs",
        &["OF_A_CLIENT: Most = Most { listens: "],
    ),
    (
        "resources and tasks watched for a connection, over all its subscriptions, server",
        "server/changes/marks.rs",
        &["subjects: "],
    ),
    (
        "the URI of a resource that is watched, server",
        "protocol/uri_template/mod.rs",
        &["MAX_BYTES: usize = "],
    ),
    (
        "elicitations by URL that a server remembers for a connection",
        "context/mod.rs",
        &["MAX_ASKED_URLS: usize = "],
    ),
    (
        "states of calls that wait for input, server",
        "context/state.rs",
        &["MAX_STATES: usize = ", "MAX_BYTES: usize = ", "MAX_STATE_BYTES: usize = "],
    ),
    ("tasks of a server, those that have ended included", "server/tasks/options.rs", &["max_tasks: "]),
    ("tasks that run at once", "server/tasks/options.rs", &["max_running: "]),
    ("the result of a task", "server/tasks/options.rs", &["max_result_bytes: "]),
    ("results of all tasks, and arguments of those that wait", "server/tasks/options.rs", &["max_bytes: "]),
    ("stderr of a child, kept for errors", "transport/stderr.rs", &["TAIL_BYTES: usize = "]),
    ("a line of stderr given to a callback", "transport/stderr.rs", &["LINE_BYTES: usize = "]),
    ("lines of stderr that wait for a callback", "transport/stderr.rs", &["QUEUE: usize = "]),
    (
        "a configuration file, or a file of variables that it names, host",
        "host/config/file.rs",
        &["MAX_BYTES: usize = "],
    ),
    (
        "all values of one server, when its variables are replaced, host",
        "host/config/resolve.rs",
        &["MAX_VALUE_BYTES: usize = "],
    ),
    (
        "defaults of variables, and braces in them, nested in each other, host",
        "host/config/template.rs",
        &["MAX_DEPTH: usize = "],
    ),
    ("proposals in one completion", "protocol/completion.rs", &["MAX_VALUES: usize = "]),
    ("the data of a log message, as JSON text", "context/logging.rs", &["MAX_DATA_BYTES: usize = "]),
    ("messages of a batch", "peer/batch.rs", &["MAX_MESSAGES: usize = "]),
    (
        "a URI template, and a URI to be matched with one",
        "protocol/uri_template/mod.rs",
        &["MAX_BYTES: usize = ", "MAX_VARIABLES: usize = "],
    ),
    ("arguments of a recursive type, nested in each other", "json/read.rs", &["MAX_DEPTH: usize = "]),
    (
        "the text of a schema (feature `validation`)",
        "json/validation/mod.rs",
        &["MAX_SCHEMA_BYTES: usize = "],
    ),
    (
        "different patterns, and references, of a schema",
        "json/validation/schema.rs",
        &["MAX_PATTERNS: usize = ", "MAX_REFERENCES: usize = "],
    ),
    ("a compiled pattern of a schema", "json/validation/mod.rs", &["PATTERN_BYTES: usize = "]),
    (
        "what a compiled schema notes for its messages",
        "json/validation/schema.rs",
        &["MAX_NOTES_BYTES: usize = "],
    ),
    (
        "looks at a value that is compared with a schema",
        "json/validation/mod.rs",
        &["STEPS: u64 = ", "STEPS_A_BYTE: u64 = "],
    ),
    ("the stack that comparing takes", "json/validation/counted.rs", &["STACK_BYTES: usize = "]),
    ("problems of one value that are told", "json/validation/mod.rs", &["PROBLEMS: usize = "]),
    ("a URL over HTTP (features `http-client`, `guard`)", "url.rs", &["MAX_BYTES: usize = "]),
    ("a path that is guarded (feature `guard`)", "guard/path.rs", &["MAX_PATH_BYTES: usize = "]),
    ("a guarded file that is read or written as a whole", "guard/root/mod.rs", &["MAX_FILE_BYTES: u64 = "]),
    (
        "entries of a guarded folder that are listed, and how deep",
        "guard/root/mod.rs",
        &["MAX_ENTRIES: usize = ", "MAX_DEPTH: usize = "],
    ),
    ("redirects that are checked after each other", "guard/net/policy.rs", &["MAX_REDIRECTS: u32 = "]),
    ("addresses of a host that are handed on", "guard/net/policy.rs", &["MAX_ADDRESSES: usize = "]),
    ("look-ups of names for a policy at once", "guard/net/resolve.rs", &["MAX_LOOKUPS: usize = "]),
    (
        "arguments of a guarded program",
        "guard/command/mod.rs",
        &["MAX_ARGS: usize = ", "MAX_ARG_BYTES: usize = "],
    ),
    (
        "what a guarded program writes, to stdout and to stderr each",
        "guard/command/mod.rs",
        &["MAX_OUTPUT_BYTES: usize = "],
    ),
    ("tools of a server whose results a client compares", "client/results.rs", &["MAX_SCHEMAS: usize = "]),
    (
        "starting a process by a `Spawner`, with those before it",
        "host/containment/spawner.rs",
        &["TURN: Duration = "],
    ),
    (
        "trying whether a sandbox works, each tool of it",
        "host/containment/entrance.rs",
        &["TRY: Duration = "],
    ),
    (
        "removing a container, once its client has ended",
        "host/containment/container.rs",
        &["REMOVAL: Duration = "],
    ),
    ("processes and threads of a container", "host/containment/container.rs", &["processes: "]),
    ("settling the protocol, all of it", "client/builder/limits.rs", &["connect: Some("]),
    ("the answer to `server/discover`", "client/builder/limits.rs", &["probe: "]),
    ("a call, from the moment it is made, writing included", "client/builder/limits.rs", &["call: Some("]),
    (
        "a call whose timeout starts anew with progress, in all",
        "client/builder/limits.rs",
        &["call_total: Some("],
    ),
    ("before a stream of changes that broke off is opened again", "client/builder/limits.rs", &["reopen: "]),
    ("the same before further tries, which doubles", "client/backoff.rs", &["MAX_PAUSE: Duration = "]),
    (
        "the answer to a question of a server, from a person for example",
        "server/builder.rs",
        &["input_time: "],
    ),
    (
        "telling a log level to a server that was started again",
        "client/log_level.rs",
        &["RETOLD: Duration = "],
    ),
    (
        "closing: frames are written; the server exits by itself; it exits after SIGTERM; own threads end",
        "transport/mod.rs",
        &["flush: ", "exit: ", "term: ", "threads: "],
    ),
    ("a server's accepted requests, after the end of its input", "server/builder.rs", &["grace: "]),
    (
        "before a request that did not get through is sent again, which doubles",
        "client/resend.rs",
        &["PAUSE: Duration = "],
    ),
    (
        "calls in a session that ended, to hear of that before they are cut off",
        "client/session.rs",
        &["LAST_ANSWERS: Duration = "],
    ),
    (
        "a task, from its beginning, after which it is cancelled and forgotten",
        "server/tasks/options.rs",
        &["DEFAULT_TTL: Duration = "],
    ),
    ("the same at most, where a client may choose", "server/tasks/options.rs", &["MAX_TTL: Duration = "]),
    ("the same at least", "server/tasks/options.rs", &["MIN_TTL: Duration = "]),
    (
        "between two looks at a task, as a server suggests",
        "server/tasks/options.rs",
        &["POLL_INTERVAL: Duration = "],
    ),
    (
        "between two looks at a task, as a client accepts: at least, and at most",
        "client/tasks.rs",
        &["MIN_INTERVAL: Duration = ", "MAX_INTERVAL: Duration = "],
    ),
    ("looking up the name in a URL that is checked", "guard/net/policy.rs", &["RESOLVE_TIME: Duration = "]),
    (
        "a guarded program; before it is killed after being asked to end; until that is given up; for its last output",
        "guard/command/mod.rs",
        &["TIME: Duration = ", "TERM_TIME: Duration = ", "KILL_TIME: Duration = ", "LAST_BYTES: Duration = "],
    ),
];

/// The rows of all tables.
fn rows() -> impl Iterator<Item = &'static (&'static str, &'static str, &'static [&'static str])> {
    ROWS.iter()
        .chain(http_limits::SERVER)
        .chain(http_limits::CLIENT)
        .chain(host_audit_limits::ROWS)
        .chain(host_limits::ROWS)
        .chain(trajectory_limits::ROWS)
}

fn source(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The rows of the tables: what, and how much.
fn documented() -> Vec<(String, String)> {
    let tables = source("guide/limits.rs");
    let rows = tables.lines().filter_map(|line| line.strip_prefix("//! | "));
    let rows = rows.filter_map(|row| {
        let mut cells = row.split(" | ").map(str::to_owned);
        Some((cells.next()?, cells.next()?))
    });
    rows.filter(|(what, _)| what != "what" && what != "time").collect()
}

/// The figures in a text for people: `1,000 and 16 KiB` are 1000 and 16384; times are milliseconds.
fn figures(text: &str) -> Vec<u64> {
    let words: Vec<_> = text.split([' ', ';']).filter(|word| !word.is_empty()).collect();
    let unit = |word: Option<&&str>| match word.copied() {
        Some("KiB") => 1024,
        Some("MiB") => 1024 * 1024,
        Some("s") => 1000,
        Some("min") => 60_000,
        Some("h") => 3_600_000,
        _ => 1,
    };
    let figure = |(at, word): (usize, &&str)| {
        Some(word.replace(',', "").parse::<u64>().ok()? * unit(words.get(at + 1)))
    };
    words.iter().enumerate().filter_map(figure).collect()
}

/// The value that stands after the one `before` in code: a product, or a `Duration` in milliseconds.
fn value(code: &str, before: &str) -> Option<u64> {
    let mut values = code.match_indices(before).filter_map(|(at, _)| {
        let preceding = code[..at].chars().next_back();
        if preceding.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let rest = &code[at + before.len()..];
        let (unit, rest) = match rest.strip_prefix("Duration::from_") {
            Some(rest) if rest.starts_with("secs(") => (1000, &rest[5..]),
            Some(rest) if rest.starts_with("millis(") => (1, &rest[7..]),
            Some(_) => return None,
            None => (1, rest),
        };
        let end = rest.find([',', ';', ')', ' ', '\n']).filter(|end| !rest[*end..].starts_with(" *"));
        let end = end.or_else(|| rest.find([',', ';', ')', '\n']))?;
        let factors = rest[..end].split(" * ").map(|factor| factor.replace('_', "").parse::<u64>().ok());
        Some(factors.product::<Option<u64>>()? * unit)
    });
    values.next()
}

#[test]
fn the_guide_gives_the_limits_that_the_code_has() {
    let documented = documented();
    for (what, file, places) in rows() {
        let row = documented.iter().find(|(row, _)| row == what);
        let (_, text) = row.unwrap_or_else(|| panic!("the guide has no row \"{what}\""));
        let code = source(file);
        let values: Vec<_> = places
            .iter()
            .map(|place| value(&code, place).unwrap_or_else(|| panic!("{file} has no value after {place}")))
            .collect();
        assert_eq!(figures(text), values, "{what}: the guide says {text}");
    }
    for (row, _) in &documented {
        assert!(rows().any(|(what, ..)| what == row), "nobody compares \"{row}\" with the code");
    }
}

/// Everything in `src/http` that looks like a limit is in a table, or is named as none.
#[test]
fn no_limit_of_http_is_left_out() {
    let src = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![src.join("http")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
                seen += constants_are_known(path.strip_prefix(&src).expect("in src"));
            }
        }
    }
    assert!(seen > 50, "only {seen} constants were found");
    for (file, names) in http_limits::NO_LIMITS {
        let code = source(file);
        for name in *names {
            assert!(code.contains(&format!("const {name}: ")), "{file} has no {name} any more");
        }
    }
}

/// How many constants `file` has that are numbers or times.
fn constants_are_known(file: &Path) -> usize {
    let file = file.to_str().expect("text").replace('\\', "/");
    let code = source(&file);
    let constants = code.lines().filter_map(|line| {
        let line = line.trim_start_matches("pub(super) ").strip_prefix("const ")?;
        let (name, kind) = line.split_once(": ")?;
        let is_number = ["usize", "u32", "u64", "Duration"].iter().any(|number| kind.starts_with(number));
        is_number.then_some(name)
    });
    let is_no_limit = |name: &str| {
        http_limits::NO_LIMITS.iter().any(|(other, names)| *other == file && names.contains(&name))
    };
    let is_in_a_row = |name: &str| {
        rows().any(|(_, other, places)| *other == file && places.iter().any(|place| place.starts_with(name)))
    };
    constants
        .inspect(|name| assert!(is_no_limit(name) || is_in_a_row(name), "{file}: {name} is in no table"))
        .count()
}

#[test]
fn the_guide_names_every_thread() {
    let guide = source("guide/threads.rs");
    for file in [
        "peer/mod.rs",
        "server/changes/mod.rs",
        "server/heard.rs",
        "server/tasks/mod.rs",
        "peer/reader.rs",
        "peer/outbox.rs",
        "client/notices.rs",
        "client/changes/hub.rs",
        "transport/stderr.rs",
        "http/client/line.rs",
        "http/server/mod.rs",
        "http/server/sessions.rs",
        "http/server/wire/crew.rs",
        "http/server/relay/upstream.rs",
        "json/validation/mod.rs",
        "guard/net/resolve.rs",
        "guard/command/capture.rs",
        "host/audit/syncer.rs",
        "host/containment/spawner.rs",
        "host/supervisor.rs",
        "host/inner.rs",
        "host/subscriptions.rs",
        "host/consent/asking.rs",
        "host/resilience/restart.rs",
        "host/pool/health.rs",
        "host/pool/start.rs",
        "host/pool/close.rs",
    ] {
        let code = source(file);
        let names: Vec<_> = code.split('"').filter(|text| text.starts_with("mcp-")).collect();
        assert!(!names.is_empty(), "{file} starts no thread");
        for name in names {
            assert!(guide.contains(&format!("| `{name}` |")), "the guide has no thread {name}");
        }
    }
}

#[test]
fn figures_are_read_as_people_write_them() {
    assert_eq!(figures("the last 16 KiB"), [16384]);
    assert_eq!(figures("30 min"), [1_800_000]);
    assert_eq!(figures("1 s; 2 s; 2 s; 500 ms"), [1000, 2000, 2000, 500]);
    assert_eq!(figures("1,000 and 100,000"), [1000, 100_000]);
    assert_eq!(value("const A_B: usize = 1;\nconst B: usize = 64 * 1_024;", "B: usize = "), Some(65536));
    assert_eq!(value("call: Some(Duration::from_secs(60)),", "call: Some("), Some(60_000));
    assert_eq!(value("idle: Duration::from_secs(30 * 60),", "idle: "), Some(1_800_000));
    assert_eq!(value("x > 128 {", "x > "), Some(128));
}
