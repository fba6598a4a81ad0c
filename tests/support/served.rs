//! A well-behaved server with tools that behave badly.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tinymcp::transport::child_command;
use tinymcp::{CancelToken, Context, ErrorObject, ProtocolVersion, Server, ToolError, ToolRegistry, tool};

/// How often the token of a `wait` call fired.
static CANCELLED: AtomicU32 = AtomicU32::new(0);
static RUNS: AtomicU32 = AtomicU32::new(0);
static SHARED: Mutex<u32> = Mutex::new(0);

pub(crate) fn tools() -> ToolRegistry {
    let tools = ToolRegistry::new();
    let add = |tool: tinymcp::FnTool| tools.register(tool).expect("registers");
    add(tool! { fn echo(message: String) -> String { message } });
    add(tool! {
        /// Waits until it is cancelled
        fn wait(cx: &Context, ms: u64 = 60_000) -> String {
            cx.progress(1.0, None, "begun");
            if cx.cancel_token().wait_timeout(Duration::from_millis(ms)) {
                CANCELLED.fetch_add(1, Ordering::SeqCst);
                return cx.cancel_token().reason().unwrap_or("no reason").to_owned();
            }
            "waited".to_owned()
        }
    });
    let gate = CancelToken::new();
    let waits = gate.clone();
    add(tool! { fn gate() -> &'static str {
        if waits.wait_timeout(Duration::from_secs(60)) { "opened" } else { "forgotten" }
    } });
    add(tool! { fn open_gate() -> &'static str {
        gate.cancel("opened");
        "done"
    } });
    // Does not look at its token.
    add(tool! { fn stubborn(ms: u64) -> String {
        let _ = CancelToken::new().wait_timeout(Duration::from_millis(ms));
        "slept".to_owned()
    } });
    // Quick as a rule, so that it is run by the thread that reads.
    add(tool! { fn mood(ms: u64) -> &'static str {
        if ms > 0 {
            let _ = CancelToken::new().wait_timeout(Duration::from_millis(ms));
        }
        "fine"
    } });
    add(tool! { fn cancelled() -> u32 { CANCELLED.load(Ordering::SeqCst) } });
    add(tool! { fn runs() -> u32 { RUNS.load(Ordering::SeqCst) } });
    add(tool! { fn run() -> u32 { RUNS.fetch_add(1, Ordering::SeqCst) + 1 } });
    add(tool! { fn run_slowly() -> u32 {
        let _ = CancelToken::new().wait_timeout(Duration::from_millis(50));
        RUNS.fetch_add(1, Ordering::SeqCst) + 1
    } });
    add(tool! { fn big(bytes: usize) -> String { "z".repeat(bytes) } });
    add(tool! { fn boom(text: String) -> String { panic!("{text}") } });
    // Poisons its own lock; the next call enters it all the same.
    add(tool! { fn poison() -> String {
        let mut guard = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *guard += 1;
        panic!("while holding a lock, time {guard}")
    } });
    add(tool! { fn odd_panic() -> String { std::panic::panic_any(7_u8) } });
    add(tool! { fn refuse() -> Result<String, ToolError> {
        Err(ToolError::protocol(ErrorObject::new(-32050, "not today")))
    } });
    add(tool! { fn fail() -> Result<String, ToolError> { Err(std::io::Error::other("disk full"))? } });
    add(tool! { fn progress(cx: &Context, n: u32) -> String {
        (1..=n).for_each(|i| cx.progress(f64::from(i), f64::from(n), "step"));
        let late = cx.clone();
        // Whatever is reported after the answer must not reach the wire.
        std::thread::spawn(move || {
            for i in 0..1000 {
                late.progress(f64::from(n + 1 + i), None, "late");
            }
        });
        "done".to_owned()
    } });
    add(tool! { fn cat() -> Result<String, ToolError> {
        let status = child_command("cat").status()?;
        Ok(status.to_string())
    } });
    add(tool! { fn shout() -> Result<String, ToolError> {
        Ok(child_command("sh").args(["-c", "echo not a message"]).status()?.to_string())
    } });
    add(tool! { fn capture() -> Result<String, ToolError> {
        let output = child_command("sh").args(["-c", "echo captured"]).stdout(Stdio::piped()).output()?;
        Ok(String::from_utf8(output.stdout)?)
    } });
    add(tool! { fn descriptors() -> Result<String, ToolError> { Ok(inherited_descriptors()?) } });
    // CPU time of this process in clock ticks, all threads.
    add(tool! { fn cpu() -> Result<u64, ToolError> {
        let stat = std::fs::read_to_string("/proc/self/stat")?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
    } });
    add(tool! { fn peak_kib() -> Result<u64, ToolError> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
        Ok(line.split_whitespace().nth(1).unwrap_or_default().parse()?)
    } });
    let registry = tools.clone();
    add(tool! { fn grow(name: String) -> Result<usize, ToolError> {
        registry.register(tinymcp::FnTool::new(name, "", serde_json::json!({"type": "object"}), |_, _| "new"))?;
        Ok(registry.len())
    } });
    tools
}

/// How many descriptors an ordinary command finds open.
pub(crate) fn inherited_descriptors() -> std::io::Result<String> {
    let output = Command::new("sh").args(["-c", "ls /proc/self/fd | wc -l"]).stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// `options` is a list such as `threads=2,grace=300`.
pub(crate) fn server(options: &str) -> Server {
    let mut builder = Server::builder("served", "1").tools(tools());
    for option in options.split(',').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').expect("name=value");
        let number = || value.parse::<usize>().expect("a number");
        builder = match name {
            "threads" => builder.max_threads(number()),
            "grace" => builder.grace(Duration::from_millis(number() as u64)),
            "frame" => builder.max_frame_bytes(number()),
            "open" => builder.max_open_requests(number()),
            "unsent" => builder.max_unsent_bytes(number()),
            "page" => builder.page_size(number()),
            "strict" => builder.refuse_unoffered_lists(),
            "versions" => builder.versions(value.split('+').map(ProtocolVersion::from)),
            "hook" => builder.on_end(|| tell("the hook ran")),
            "stop" | "exit" => builder,
            _ => panic!("no option {name}"),
        };
    }
    builder.build().expect("a server")
}

fn tell(what: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "{what}").expect("stderr");
}

pub(crate) fn serve(options: &str) -> ! {
    // Its tools panic on purpose, many times.
    std::panic::set_hook(Box::new(|_| {}));
    let server = server(options);
    let handle = server.handle();
    server
        .tools()
        .register(tool! { fn stop() -> String { handle.stop(); "stopping".to_owned() } })
        .expect("registers");
    let start = Instant::now();
    let report = server.start().expect("serves");
    if options.contains("exit=report") {
        tell(&format!("{report:?} after {:?}", start.elapsed()));
    }
    std::process::exit(0)
}
