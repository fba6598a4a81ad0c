//! One replica: this program again, as a server.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tinymcp::http::{HttpServer, SealedStates};
use tinymcp::protocol::{ElicitParams, RequestedSchema, ToolAnnotations};
use tinymcp::{Context, Server, ToolError, ToolRegistry, tool};

/// The first argument of a replica.
pub(crate) const SERVE: &str = "serve-replica";

/// What replicas have done, one line each, in a file that all of them append to.
pub(crate) struct Work(PathBuf);

impl Work {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let path = std::env::temp_dir().join(format!("tinymcp-scale-out-{}-{number}", std::process::id()));
        File::create(&path).expect("a file");
        Self(path)
    }

    fn lines(&self) -> Vec<String> {
        BufReader::new(File::open(&self.0).expect("the file"))
            .lines()
            .map(|line| line.expect("text"))
            .collect()
    }

    /// Waits until so much has been done.
    pub(crate) fn wait_for(&self, lines: usize) {
        let start = Instant::now();
        while self.lines().len() < lines {
            assert!(start.elapsed() < crate::LIMIT, "only {} of {lines} calls ran", self.lines().len());
            std::thread::sleep(Duration::from_millis(5)); // between looks at a file
        }
    }

    pub(crate) fn wait_for_more(&self, lines: usize) {
        self.wait_for(self.lines().len() + lines);
    }

    /// How often each charge ran.
    pub(crate) fn charged(&self) -> HashMap<usize, usize> {
        let mut runs = HashMap::new();
        for line in self.lines() {
            if let Some(call) = line.strip_prefix("charge ") {
                *runs.entry(call.parse().expect("a number")).or_insert(0) += 1;
            }
        }
        runs
    }

    pub(crate) fn deployed_by(&self, id: u32) -> usize {
        self.lines().iter().filter(|line| **line == format!("deployed {id}")).count()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// A running replica.
pub(crate) struct Replica {
    child: Child,
    pub(crate) address: String,
}

impl Replica {
    pub(crate) fn start(work: &Work) -> Self {
        Self::at("127.0.0.1:0", &work.0)
    }

    fn at(address: &str, work: &Path) -> Self {
        let program = std::env::current_exe().expect("this program");
        let child = Command::new(program).arg(SERVE).arg(address).arg(work).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("a replica");
        // It says where it listens when it does.
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("the replica speaks");
        Self { child, address: line.trim().to_owned() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// In the middle of whatever it does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("reaped");
    }

    pub(crate) fn start_again(&mut self, work: &Work) {
        *self = Self::at(&self.address.clone(), &work.0);
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves until it is killed.
pub(crate) fn serve(args: &[String]) {
    let [address, work] = args else { panic!("expected an address and a file") };
    let work = PathBuf::from(work);
    let id = std::process::id();
    let note = move |line: &str| {
        // One write, appended: lines of several replicas do not mix.
        let mut file = OpenOptions::new().append(true).open(&work).expect("the file");
        file.write_all(format!("{line}\n").as_bytes()).expect("written");
    };
    let (charged, looked_up, deployed) = (note.clone(), note.clone(), note);
    let charge = tool! {
        /// Charge a customer, once
        fn charge(call: u64, cx: &Context) -> Result<String, ToolError> {
            charged(&format!("charge {call}"));
            takes_a_while(cx)?;
            Ok("charged".to_owned())
        }
    };
    let lookup = tool! {
        /// Look a customer up
        fn lookup(call: u64, cx: &Context) -> Result<String, ToolError> {
            looked_up(&format!("lookup {call}"));
            takes_a_while(cx)?;
            Ok("found".to_owned())
        }
    };
    let lookup = lookup.annotations(ToolAnnotations::default().with_read_only(true));
    let deploy = tool! {
        /// Deploy, if the user agrees twice
        fn deploy(environment: String, cx: &Context) -> Result<String, ToolError> {
            let first = cx.step("first", || Ok::<_, ToolError>(id.to_string()))?;
            cx.elicit("sure", ElicitParams::form(format!("Deploy to {environment}?"), RequestedSchema::default()))?;
            let second = cx.step("second", || Ok::<_, ToolError>(id.to_string()))?;
            cx.elicit("really", ElicitParams::form("Really?", RequestedSchema::default()))?;
            deployed(&format!("deployed {id}"));
            Ok(format!("{first} {second} {id}"))
        }
    };
    let who = tool! {
        /// Which replica this is
        fn who() -> String { id.to_string() }
    };
    let tools = ToolRegistry::new();
    for tool in [charge, lookup, deploy, who] {
        tools.register(tool).expect("a new name");
    }
    // In earnest it comes from where secrets are kept.
    let key = [7; 32];
    let server = Server::builder("replica", "1")
        .tools(tools)
        .state_store(SealedStates::with_key(&key).expect("long enough"))
        .build()
        .expect("a server");
    let http = HttpServer::builder(&server).session_prefix_from("x-session-prefix").bind(address.as_str());
    let http = http.expect("an address");
    println!("{}", http.address());
    http.serve().expect("served");
}

fn takes_a_while(cx: &Context) -> Result<(), ToolError> {
    match cx.cancel_token().wait_timeout(Duration::from_millis(3)) {
        true => Err(ToolError::new("given up")),
        false => Ok(()),
    }
}
