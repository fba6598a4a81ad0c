//! Where the peers are, how they are started, and what is asked of every connection at its end.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tinymcp::client::{ClientBuilder, Timeouts};
use tinymcp::http::HttpTransport;
use tinymcp::transport::{ChildProcess, Direction, EndStep, Patience, Stderr, Tap};
use tinymcp::{Client, ProtocolVersion};

use crate::passed::{Manners, check};
use crate::serving::Serving;

/// Every process of a case has it in its environment, so that none can be left behind unseen.
pub(crate) const MARK: &str = "TINYMCP_INTEROP_CASE";

pub(crate) const LEGACY: [ProtocolVersion; 4] = [
    ProtocolVersion::V2024_11_05,
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
];

pub(crate) const ANY: [ProtocolVersion; 5] = ProtocolVersion::ALL;

/// How client and server reach each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Way {
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE.
    Sse,
}

/// A client that waits long for programs on a busy machine. All of these answer the probe, and end by themselves.
pub(crate) fn client() -> ClientBuilder {
    let timeouts = Timeouts::default().with_call(Duration::from_secs(30)).with_probe(Duration::from_secs(30));
    Client::builder().timeouts(timeouts).patience(Patience::default().with_exit(Duration::from_secs(20)))
}

pub(crate) struct Peers {
    dir: PathBuf,
    pub(crate) mark: String,
    home: TempDir,
}

impl Peers {
    pub(crate) fn new(dir: PathBuf, case: &str) -> Self {
        let mark = format!("{}/{case}", std::process::id());
        let home = TempDir::new(&dir);
        Self { dir, mark, home }
    }

    /// The home directory of all processes of this case.
    pub(crate) fn home(&self) -> &Path {
        &self.home.0
    }

    pub(crate) fn python_v1(&self) -> PathBuf {
        self.installed("v1/bin/python")
    }

    pub(crate) fn python_v2(&self) -> PathBuf {
        self.installed("v2/bin/python")
    }

    pub(crate) fn node(&self) -> PathBuf {
        self.installed("node_modules/.bin/node")
    }

    pub(crate) fn rmcp(&self) -> PathBuf {
        self.installed("bin/rmcp_peer")
    }

    /// The program of an npm package, for [`node`](Self::node).
    pub(crate) fn npm(&self, program: &str) -> OsString {
        self.installed(&format!("node_modules/.bin/{program}")).into()
    }

    /// A script that finds its packages in `node_modules`, and other scripts, as it stands below the same directory.
    pub(crate) fn module(&self, name: &str) -> OsString {
        for entry in std::fs::read_dir(script("")).expect("our directory").flatten() {
            if entry.path().extension().is_some_and(|kind| kind == "mjs") {
                std::fs::copy(entry.path(), self.home().join(entry.file_name())).expect("a copy");
            }
        }
        self.home().join(name).into()
    }

    fn installed(&self, name: &str) -> PathBuf {
        let path = self.dir.join(name);
        assert!(path.exists(), "{} is not installed: run .ci/peers", path.display());
        path
    }

    /// Our client on a server that it starts, or that is started for it.
    pub(crate) fn open(
        &self,
        way: Way,
        versions: &[ProtocolVersion],
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Used {
        self.open_as(client(), way, versions, program, args)
    }

    /// The same for a client with handlers and callbacks.
    pub(crate) fn open_as(
        &self,
        client: ClientBuilder,
        way: Way,
        versions: &[ProtocolVersion],
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Used {
        let program: OsString = program.into();
        let args = args.into_iter().map(Into::into).collect::<Vec<OsString>>();
        // As all our scripts take it.
        let word = match way {
            Way::Stdio => return self.open_child(client, versions, program, args),
            Way::Http => "http",
            Way::Sse => "sse",
        };
        let serving = self.serve(program, args.into_iter().chain([word.into()]));
        self.open_url(client, way, versions, serving)
    }

    /// Our client on a server that runs.
    pub(crate) fn open_url(
        &self,
        client: ClientBuilder,
        way: Way,
        versions: &[ProtocolVersion],
        serving: Serving,
    ) -> Used {
        let used = self.open_at(client, way, versions, &serving);
        Used { serving: Some(serving), ..used }
    }

    /// One of several clients of the same server.
    pub(crate) fn open_at(
        &self,
        client: ClientBuilder,
        way: Way,
        versions: &[ProtocolVersion],
        serving: &Serving,
    ) -> Used {
        let wire = Wire::default();
        let transport = HttpTransport::new(&serving.url()).expect("a URL");
        let client = self.set_up(client, versions, &wire).open(transport).expect("a client");
        Used { client, wire, stderr: Lines::default(), mark: self.mark.clone(), way, serving: None }
    }

    /// Our client on the everything server.
    pub(crate) fn everything(&self, client: ClientBuilder, way: Way) -> Used {
        let program = self.npm("mcp-server-everything");
        let (word, path) = match way {
            Way::Stdio => return self.open_as(client, way, &ANY, self.node(), [program, "stdio".into()]),
            Way::Http => ("streamableHttp", "/mcp"),
            Way::Sse => ("sse", "/sse"),
        };
        let serving = self.serve_at_port(self.node(), [program, word.into()], path);
        self.open_url(client, way, &ANY, serving)
    }

    fn set_up(&self, client: ClientBuilder, versions: &[ProtocolVersion], wire: &Wire) -> ClientBuilder {
        client.versions(versions.iter().cloned()).tap(wire.clone())
    }

    fn open_child(
        &self,
        client: ClientBuilder,
        versions: &[ProtocolVersion],
        program: OsString,
        args: Vec<OsString>,
    ) -> Used {
        let wire = Wire::default();
        let stderr = Lines::default();
        let lines = stderr.clone();
        let server = ChildProcess::new(program)
            .args(args)
            .env("HOME", self.home())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env(MARK, &self.mark)
            .stderr(Stderr::lines(move |line| locked(&lines.0).push(line.to_owned())));
        let client = self.set_up(client, versions, &wire).open(server).expect("the server starts");
        Used { client, wire, stderr, mark: self.mark.clone(), way: Way::Stdio, serving: None }
    }

    /// Runs a foreign client to its end and gives its output. What it or our server says on stderr is a failure.
    pub(crate) fn run(
        &self,
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Ran {
        let mut command = Command::new(program.into());
        command
            .args(args.into_iter().map(Into::into))
            .env("HOME", self.home())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env(MARK, &self.mark)
            .stdin(Stdio::null());
        let output = command.output().expect("the client starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let left = self.left_behind(Duration::from_secs(5));
        assert_eq!(left, Vec::<String>::new(), "left behind");
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Ran { code: output.status.code(), stdout, stderr }
    }

    /// `NAME=VALUE` for a client that passes on no environment of its own.
    pub(crate) fn mark(&self) -> String {
        format!("{MARK}={}", self.mark)
    }

    fn left_behind(&self, patience: Duration) -> Vec<String> {
        left_behind(&self.mark, patience)
    }
}

pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The one JSON value that the client printed, after it and our server ended well and quietly.
    pub(crate) fn json(&self) -> Value {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout))
    }
}

/// A script of this directory.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop").join(name)
}

/// An example program of this crate, built beside this test.
pub(crate) fn example(name: &str) -> PathBuf {
    let me = std::env::current_exe().expect("a path");
    let path = me.ancestors().nth(2).expect("target/PROFILE/deps/interop").join("examples").join(name);
    assert!(path.exists(), "{} is not built: run cargo build --examples", path.display());
    path
}

/// Our client, connected, and everything that is seen of the connection.
pub(crate) struct Used {
    pub(crate) client: Client,
    wire: Wire,
    stderr: Lines,
    mark: String,
    way: Way,
    pub(crate) serving: Option<Serving>,
}

impl Used {
    /// Closes and checks what must be true of any connection.
    pub(crate) fn close(self) {
        self.close_as(EndStep::EndOfInput, Manners::All);
    }

    /// The same for a server that needs more than the end of its input.
    pub(crate) fn close_by(self, step: EndStep) {
        self.close_as(step, Manners::All);
    }

    /// The same for a client whose stream was broken off.
    pub(crate) fn close_after_break(self) {
        self.close_as(EndStep::None, Manners::ComesBack);
    }

    fn close_as(self, step: EndStep, manners: Manners) {
        let version = self.client.initialize().expect("settled").version.clone();
        assert_eq!(self.client.noise(), 0, "lines on the server's stdout that are no messages");
        let report = self.client.close().expect("the server ends");
        // Over HTTP there is nobody to end.
        let step = if self.way == Way::Stdio { step } else { EndStep::None };
        assert_eq!(report.ending.step, step, "{report:?}");
        assert!(report.flushed && !report.ending.orphans_signalled && !report.reader_detached, "{report:?}");
        assert_eq!(report.handlers_detached, 0, "{report:?}");
        assert_eq!(left_behind(&self.mark, Duration::ZERO), Vec::<String>::new(), "left behind");
        self.wire.check(&version);
        let mut stderr = std::mem::take(&mut *locked(&self.stderr.0));
        if let Some(serving) = self.serving {
            let (passed, said) = serving.end();
            check(&passed, self.way, &version, manners);
            stderr.extend(said.lines().map(str::to_owned));
        }
        if let Some(first) = stderr.first() {
            println!("interop:     its stderr: {} lines, first: {first}", stderr.len());
        }
    }

    /// How many requests of this method were sent.
    pub(crate) fn sent(&self, method: &str) -> usize {
        self.wire.requests().iter().filter(|request| request["method"] == method).count()
    }
}

/// Every frame, as it passed.
#[derive(Clone, Default)]
struct Wire(Arc<Mutex<Vec<(Direction, String)>>>);

impl Tap for Wire {
    fn frame(&self, direction: Direction, frame: &[u8]) {
        locked(&self.0).push((direction, String::from_utf8_lossy(frame).into_owned()));
    }
}

impl Wire {
    fn messages(&self, wanted: Direction) -> Vec<Value> {
        let frames = locked(&self.0);
        let wanted = frames.iter().filter(|(direction, _)| *direction == wanted);
        wanted.map(|(_, text)| serde_json::from_str(text).expect("JSON")).collect()
    }

    fn requests(&self) -> Vec<Value> {
        let sent = self.messages(Direction::Sent);
        sent.into_iter().filter(|message| message.get("id").is_some()).collect()
    }

    /// Every request was answered at most once, and what we sent is what the revision allows.
    fn check(&self, version: &ProtocolVersion) {
        const VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
        let received = self.messages(Direction::Received);
        for request in self.requests() {
            let Some(method) = request["method"].as_str() else {
                assert!(!version.is_modern(), "a response on a Modern connection: {request}");
                continue;
            };
            let is_answer =
                |message: &&Value| message.get("method").is_none() && message["id"] == request["id"];
            let answers = received.iter().filter(is_answer).count();
            assert!(answers <= 1, "{answers} answers to {request}");
            let stamped = request.pointer(VERSION).and_then(Value::as_str);
            if version.is_modern() {
                assert_eq!(stamped, Some(version.as_str()), "{request}");
            } else {
                assert_eq!(stamped.is_some(), method == "server/discover", "{request}");
            }
        }
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command lines of running processes whose environment has the mark, after `patience` at most.
pub(crate) fn left_behind(mark: &str, patience: Duration) -> Vec<String> {
    let entry = format!("{MARK}={mark}");
    let start = Instant::now();
    loop {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let marked = processes.filter(|process| {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            environment.split(|b| *b == 0).any(|variable| variable == entry.as_bytes())
        });
        let left: Vec<String> = marked
            .map(|process| std::fs::read(process.path().join("cmdline")).unwrap_or_default())
            .map(|command| String::from_utf8_lossy(&command).replace('\0', " "))
            .collect();
        if left.is_empty() || start.elapsed() >= patience {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A directory that goes when this does.
struct TempDir(PathBuf);

impl TempDir {
    fn new(above: &Path) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = above.join("tmp").join(name);
        std::fs::create_dir_all(&path).expect("the peers' directory is writable");
        Self(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
