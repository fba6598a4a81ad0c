//! Log messages of handlers to their clients, by hand and through the logger of the program. There is one of that for the
//! whole process, so this is a test binary of its own.

#[path = "support/dialog.rs"]
mod dialog;

use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use dialog::{Came, Dialog};
use log::{LevelFilter, Log, Metadata, Record};
use serde_json::{Value, json};
use tinymcp::logging::{Bridge, LoggerTaken};
use tinymcp::protocol::LogLevel;
use tinymcp::transport::{Direction, Tap};
use tinymcp::{
    CancelToken, Context, FnPrompt, PromptRegistry, ProtocolVersion, Server, ToolError, ToolRegistry, prompt,
    tool,
};

/// What the logger under the bridge got, apart from what the crate itself says.
static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Ear;

impl Log for Ear {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if !record.target().starts_with("tinymcp") {
            heard().push(format!("{} {}: {}", record.level(), record.target(), record.args()));
        }
    }

    fn flush(&self) {}
}

fn heard() -> MutexGuard<'static, Vec<String>> {
    HEARD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bridged() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| Bridge::wrap(Box::new(Ear), LevelFilter::Warn).install().expect("the first logger"));
}

fn tools() -> ToolRegistry {
    let tools = ToolRegistry::new();
    let add = |tool: tinymcp::FnTool| tools.register(tool).expect("registers");
    add(tool! { fn every_level(cx: &Context) -> &'static str {
        for level in LogLevel::ALL {
            cx.log(level, "levels", json!({"level": level.as_str()}));
        }
        "done"
    } });
    add(tool! { fn short(cx: &Context) -> &'static str {
        cx.debug("d");
        cx.info(format!("i{}", 1));
        cx.notice(json!([1, null]));
        cx.warning("w");
        cx.error("e");
        "done"
    } });
    add(tool! { fn say(cx: &Context, text: String) -> bool {
        cx.log(LogLevel::Error, None, text.as_str());
        cx.wants_log(LogLevel::Error)
    } });
    add(tool! { fn long(cx: &Context) -> &'static str {
        cx.error("ä".repeat(100_000));
        cx.error(json!(vec!["x"; 100_000]));
        "done"
    } });
    add(tool! { fn late(cx: &Context) -> &'static str {
        let cx = cx.clone();
        // Also with the answer on its way, and after it.
        std::thread::spawn(move || (0..1000).for_each(|n| cx.error(n.to_string())));
        "done"
    } });
    // Through the logger of the program.
    add(tool! { fn records(cx: &Context) -> &'static str {
        log::error!(target: "part", "lost {}", 1);
        log::warn!("careful");
        log::info!("going on");
        log::debug!(target: "part", "details");
        log::trace!("too much");
        log::error!(target: "tinymcp::server", "as if the crate said it");
        let theirs = cx.clone();
        std::thread::spawn(|| log::error!("a thread of nobody")).join().expect("no panic");
        let helper = std::thread::spawn(move || {
            let guard = theirs.enter();
            log::error!("a thread of the handler");
            drop(guard);
            log::error!("a thread of nobody any more");
        });
        helper.join().expect("no panic");
        // A tool that is run inside another works for nobody else.
        let inner = tool! { fn inner() -> () { log::error!("inside") } };
        tinymcp::Tool::execute(&inner, tinymcp::Arguments::empty(), &Context::detached()).expect("a result");
        if true { "done" } else { unreachable!() }
    } });
    add(tool! { fn boom() -> String { panic!("on purpose") } });
    tools
}

fn builder() -> tinymcp::server::ServerBuilder {
    Server::builder("logger", "1").tools(tools()).prompts(prompts())
}

fn prompts() -> PromptRegistry {
    let logs = FnPrompt::complete(
        prompt! { fn logs(x: Option<String>) -> Result<String, ToolError> {
            log::warn!(target: "prompt", "filled in");
            Ok(x.unwrap_or_default())
        } },
        "x",
        |_: &str, _: &_, _: &Context| {
            log::warn!(target: "prompt", "completed");
            vec!["x"]
        },
    );
    PromptRegistry::new().with(logs).expect("registers")
}

fn logging() -> Server {
    builder().logging().build().expect("a server")
}

/// Calls a tool; a Modern request asks for messages from `level` on, a Legacy connection gets what it has set.
fn call(dialog: &mut Dialog, tool: &str, level: Option<&str>) -> Came {
    let mut params = json!({"name": tool, "arguments": {"text": "said"}});
    if let (true, Some(level)) = (dialog.version.is_modern(), level) {
        params["_meta"] = json!({"io.modelcontextprotocol/logLevel": level});
    }
    dialog.ask("tools/call", params)
}

fn set_level(dialog: &mut Dialog, level: &str) {
    if dialog.version.is_legacy() {
        assert_eq!(dialog.ask("logging/setLevel", json!({"level": level})).result(), json!({}));
    }
}

fn said(came: &Came) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let params = came.before.iter().map(|frame| {
        assert_eq!(frame["method"], "notifications/message", "{frame}");
        &frame["params"]
    });
    params.map(|p| format!("{} {}: {}", text(&p["level"]), text(&p["logger"]), text(&p["data"]))).collect()
}

#[test]
fn a_client_gets_the_levels_it_asked_for_before_the_answer() {
    for mut dialog in Dialog::all(&logging()) {
        let version = dialog.version.clone();
        assert_eq!(dialog.capabilities["logging"], json!({}), "{version}");
        // Without a wish: nothing from a Modern server, and what is not a detail from a Legacy one.
        let came = call(&mut dialog, "every_level", None);
        assert_eq!(came.before.len(), if version.is_modern() { 0 } else { 7 }, "{version}");
        for (at, level) in LogLevel::ALL.iter().enumerate() {
            set_level(&mut dialog, level.as_str());
            let came = call(&mut dialog, "every_level", Some(level.as_str()));
            let expected =
                LogLevel::ALL[at..].iter().map(|level| format!("{level} levels: {{\"level\":\"{level}\"}}"));
            assert_eq!(said(&came), expected.collect::<Vec<_>>(), "{version}");
        }
        set_level(&mut dialog, "debug");
        let came = call(&mut dialog, "short", Some("debug"));
        let lines =
            ["debug null: d", "info null: i1", "notice null: [1,null]", "warning null: w", "error null: e"];
        assert_eq!(said(&came), lines, "{version}");
        assert!(came.before.iter().all(|frame| frame["params"].get("logger").is_none()));
    }
}

#[test]
fn a_level_is_one_of_eight() {
    for mut dialog in Dialog::all(&logging()) {
        for level in [json!("loud"), json!("INFO"), json!(7), json!("")] {
            let (method, params) = if dialog.version.is_modern() {
                let meta = json!({"io.modelcontextprotocol/logLevel": level});
                ("tools/call", json!({"name": "short", "_meta": meta}))
            } else {
                ("logging/setLevel", json!({"level": level}))
            };
            let (code, message) = dialog.ask(method, params).error();
            assert_eq!(code, -32602, "{message}");
            assert!(message.to_lowercase().contains("level: expected a"), "{message}");
        }
        if dialog.version.is_modern() {
            let params = json!({"level": "info"});
            assert_eq!(dialog.ask("logging/setLevel", params).error().0, -32601);
            // Asked for by one request, and not by the next.
            assert_eq!(call(&mut dialog, "say", Some("error")).before.len(), 1);
            assert_eq!(call(&mut dialog, "say", None).before.len(), 0);
        }
    }
}

#[test]
fn a_server_without_logging_sends_nothing() {
    bridged();
    let server = builder().build().expect("a server");
    for mut dialog in Dialog::all(&server) {
        assert!(dialog.capabilities.get("logging").is_none());
        if dialog.version.is_legacy() {
            assert_eq!(dialog.ask("logging/setLevel", json!({"level": "debug"})).error().0, -32601);
        }
        for tool in ["say", "records"] {
            let came = call(&mut dialog, tool, Some("debug"));
            assert_eq!(said(&came), [""; 0], "{tool}");
        }
        let came = call(&mut dialog, "say", Some("debug"));
        assert_eq!(came.result()["content"][0]["text"], "false");
    }
}

#[test]
fn the_level_belongs_to_the_connection() {
    let server = logging();
    let legacy = ProtocolVersion::V2025_11_25;
    let (mut one, mut other) = (Dialog::open(&server, &legacy), Dialog::open(&server, &legacy));
    set_level(&mut one, "emergency");
    assert_eq!(call(&mut one, "say", None).before.len(), 0);
    assert_eq!(call(&mut other, "say", None).before.len(), 1);
}

#[test]
fn data_is_bounded() {
    for mut dialog in Dialog::all(&logging()) {
        let came = call(&mut dialog, "long", Some("debug"));
        assert_eq!(came.before.len(), 2);
        for frame in &came.before {
            let data = frame["params"]["data"].as_str().expect("a text");
            let bytes = frame["params"]["data"].to_string().len();
            assert!((65_000..=65_536).contains(&bytes), "{bytes} bytes");
            assert!(data.ends_with(" bytes in all]"), "{data}");
        }
        assert!(
            came.before[1]["params"]["data"].as_str().is_some_and(|text| text.starts_with(r#"["x","x""#))
        );
    }
}

#[test]
fn nothing_comes_after_the_answer() {
    for mut dialog in Dialog::all(&logging()) {
        for _ in 0..20 {
            call(&mut dialog, "late", Some("debug")).result();
        }
        // Whatever were late would come before this.
        dialog.send("tools/call", json!({"name": "say", "arguments": {"text": "last"}}));
        let came = dialog.answer("tools/call");
        let expected: &[&str] = if dialog.version.is_modern() { &[] } else { &["error null: last"] };
        assert_eq!(said(&came), expected, "{}", dialog.version);
    }
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let flooded = CancelToken::new();
        let done = flooded.clone();
        let flood = tool! { fn flood(cx: &Context) -> &'static str {
            let text = "x".repeat(10_000);
            (0..1000).for_each(|_| cx.error(text.as_str()));
            done.cancel("done");
            "done"
        } };
        let tools = ToolRegistry::new().with(flood).expect("registers");
        let server = Server::builder("flood", "1").tools(tools).logging().max_unsent_bytes(1_000_000);
        let mut dialog = Dialog::open(&server.build().expect("a server"), &version);
        let meta = json!({"io.modelcontextprotocol/logLevel": "error"});
        dialog.send("tools/call", json!({"name": "flood", "_meta": meta}));
        // Nothing is read before the handler has said everything.
        assert!(flooded.wait_timeout(std::time::Duration::from_secs(30)), "the handler is held up");
        let came = dialog.answer("tools/call");
        // The wire holds 256 frames, and the server 100 more.
        assert!((1..500).contains(&came.before.len()), "{} messages", came.before.len());
        assert_eq!(came.result()["content"][0]["text"], "done");
    }
}

#[test]
fn what_belongs_to_no_request_goes_to_clients_with_a_handshake() {
    let (server, silent) = (logging(), builder().build().expect("a server"));
    for version in ProtocolVersion::ALL {
        let mut careful = Dialog::open(&server, &version);
        let mut dialog = Dialog::open(&server, &version);
        let mut unheard = Dialog::open(&silent, &version);
        set_level(&mut careful, "error");
        // The answer comes after what the client said before.
        for dialog in [&mut careful, &mut dialog, &mut unheard] {
            call(dialog, "every_level", None);
        }
        for handle in [server.handle(), silent.handle()] {
            handle.log(LogLevel::Warning, "disk", "nearly full");
            handle.log(LogLevel::Debug, None, json!({"free": 7}));
            handle.log(LogLevel::Error, None, "full");
        }
        let expected: &[&str] = &["warning disk: nearly full", "error null: full"];
        let expected = if version.is_modern() { &[] } else { expected };
        // They are written before the answer to what is asked after them.
        let after = |dialog: &mut Dialog| said(&call(dialog, "boom", None));
        assert_eq!(after(&mut dialog), expected, "{version}");
        assert_eq!(after(&mut careful), expected[expected.len().min(1)..], "{version}");
        assert_eq!(after(&mut unheard), [""; 0], "{version}");
    }
}

const RECORDS: [&str; 6] = [
    "error part: lost 1",
    "warning server_logging: careful",
    "info server_logging: going on",
    "debug part: details",
    "error server_logging: a thread of the handler",
    "error server_logging: inside",
];

#[test]
fn records_of_a_handler_go_to_its_client_and_to_nobody_else() {
    bridged();
    let server = logging();
    for version in ProtocolVersion::ALL {
        let mut idle = Dialog::open(&server, &version);
        set_level(&mut idle, "debug");
        let mut dialog = Dialog::open(&server, &version);
        set_level(&mut dialog, "debug");
        assert_eq!(said(&call(&mut dialog, "records", Some("debug"))), RECORDS, "{version}");
        set_level(&mut dialog, "warning");
        let came = call(&mut dialog, "records", Some("warning"));
        assert_eq!(said(&came), [RECORDS[0], RECORDS[1], RECORDS[4], RECORDS[5]], "{version}");
        log::error!("outside of any handler");
        // A panic ends the working for a call, too.
        call(&mut dialog, "boom", Some("debug")).result();
        for (method, mut params, line) in [
            ("prompts/get", json!({"name": "logs"}), "warning prompt: filled in"),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "logs"}, "argument": {"name": "x", "value": ""}}),
                "warning prompt: completed",
            ),
        ] {
            if version.is_modern() {
                params["_meta"] = json!({"io.modelcontextprotocol/logLevel": "warning"});
            }
            assert_eq!(said(&dialog.ask(method, params)), [line], "{version}");
        }
        // Everything above was on the way before this.
        assert_eq!(said(&call(&mut idle, "boom", None)), [""; 0], "{version}");
    }
    let heard = heard();
    for line in
        ["ERROR part: lost 1", "WARN server_logging: careful", "ERROR server_logging: a thread of nobody"]
    {
        assert!(heard.iter().any(|heard| heard == line), "{line} is not in {heard:?}");
    }
    assert!(!heard.iter().any(|line| line.starts_with("INFO") || line.starts_with("DEBUG")), "{heard:?}");
}

/// Logs each frame, which would have no end if that were a record of the handler.
struct Chatty;

impl Tap for Chatty {
    fn frame(&self, direction: Direction, frame: &[u8]) {
        log::error!(target: "chatty", "{direction:?} {} bytes", frame.len());
    }
}

#[test]
fn sending_may_log() {
    bridged();
    let server = builder().logging().tap(Chatty).build().expect("a server");
    for mut dialog in Dialog::all(&server) {
        let came = call(&mut dialog, "say", Some("debug"));
        let lines = said(&came);
        assert!(lines.contains(&"error null: said".to_owned()), "{lines:?}");
        assert!(lines.len() < 10, "{lines:?}");
    }
}

#[test]
fn a_program_has_one_logger() {
    bridged();
    let taken: Result<(), LoggerTaken> = Bridge::wrap(Box::new(Ear), LevelFilter::Warn).install();
    let problem = taken.expect_err("a second logger").to_string();
    assert!(problem.contains("a program has only one") && problem.contains("wrap"), "{problem}");
    assert_eq!(tinymcp::logging::init_bridged(), Err(LoggerTaken));
    tinymcp::logging::init(); // says nothing and changes nothing
}
