//! Servers of HTTP that a case starts: ours and other people's.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::peers::{MARK, Peers, left_behind};
use crate::relay::{Passed, Relay};

/// No server takes nearly as long to begin.
const SOON: Duration = Duration::from_secs(30);

/// A running server, with a relay before it. It ends when this is dropped, whatever becomes of the case.
pub(crate) struct Serving {
    relay: Arc<Relay>,
    path: String,
    child: Child,
    mark: String,
    output: Option<JoinHandle<String>>,
}

impl Peers {
    /// Starts a server that says where it is, `http://ADDRESS/PATH`, in the first line of its output.
    pub(crate) fn serve(
        &self,
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Serving {
        let mut command = Command::new(program.into());
        command.args(args.into_iter().map(Into::into)).stdout(Stdio::piped());
        let (mut child, mark, output) = self.started(command);
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("text");
        let place = line.trim().strip_prefix("http://").and_then(|place| place.split_once('/'));
        let Some((address, path)) = place else {
            let _ = (child.kill(), child.wait());
            panic!("the server said {line:?}, and on stderr: {}", output.join().unwrap_or_default());
        };
        let relay = Arc::new(Relay::to(address.parse().expect("an address")));
        Serving { relay, path: format!("/{path}"), child, mark, output: Some(output) }
    }

    /// Starts a server that listens where `PORT` says. Somebody may be quicker to take a port that was free: then another is tried.
    pub(crate) fn serve_at_port(
        &self,
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
        path: &str,
    ) -> Serving {
        let (program, args) = (program.into(), args.into_iter().map(Into::into).collect::<Vec<OsString>>());
        for _ in 0..5 {
            let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
            let address = free.expect("a free port");
            let mut command = Command::new(&program);
            command.args(&args).env("PORT", address.port().to_string()).stdout(Stdio::null());
            let (mut child, mark, output) = self.started(command);
            if listens(&mut child, address) {
                let (relay, path) = (Arc::new(Relay::to(address)), path.to_owned());
                return Serving { relay, path, child, mark, output: Some(output) };
            }
            println!("interop:     the server did not start: {}", output.join().unwrap_or_default());
        }
        panic!("the server does not start");
    }

    fn started(&self, mut command: Command) -> (Child, String, JoinHandle<String>) {
        // Not that of the case: what runs a client looks whether that is gone.
        let mark = format!("{}, server", self.mark);
        command.env("HOME", self.home()).env("PYTHONDONTWRITEBYTECODE", "1").env(MARK, &mark);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let mut stderr = child.stderr.take().expect("piped");
        // Ends with the server.
        let output = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        (child, mark, output)
    }
}

/// Whether `child`, and not somebody else, listens there before long.
fn listens(child: &mut Child, address: SocketAddr) -> bool {
    let end = Instant::now() + SOON;
    while child.try_wait().expect("ours").is_none() {
        if TcpStream::connect(address).is_ok() {
            return child.try_wait().expect("ours").is_none();
        }
        assert!(Instant::now() < end, "the server does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

impl Serving {
    pub(crate) fn url(&self) -> String {
        self.at(&self.path)
    }

    /// Of another path of the same server.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.relay.address())
    }

    pub(crate) fn relay(&self) -> &Arc<Relay> {
        &self.relay
    }

    /// Ends it: what passed, and what it said on stderr.
    pub(crate) fn end(mut self) -> (Vec<Passed>, String) {
        let passed = self.relay.passed();
        assert!(self.child.try_wait().expect("ours").is_none(), "the server has ended by itself");
        let said = self.kill();
        assert_eq!(left_behind(&self.mark, Duration::from_secs(5)), Vec::<String>::new(), "left behind");
        (passed, said)
    }

    fn kill(&mut self) -> String {
        let _ = (self.child.kill(), self.child.wait());
        self.output.take().map(|output| output.join().unwrap_or_default()).unwrap_or_default()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.kill();
    }
}
