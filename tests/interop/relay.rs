//! What stands between a client and a server of HTTP, and notes which requests pass and how they are answered.

use std::fmt;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::peers::locked;

/// A request, and the status of its answer if there was one.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    pub(crate) verb: String,
    pub(crate) path: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) status: Option<u16>,
}

impl Passed {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or_else(|| "unanswered".to_owned(), |status| status.to_string());
        write!(f, "{} {} {status}", self.verb, self.path)?;
        let telling =
            self.headers.iter().filter(|(name, _)| name.starts_with("mcp-") || name.starts_with("last-"));
        telling.into_iter().try_for_each(|(name, value)| write!(f, " {name}: {value}"))
    }
}

/// One connection: both sockets, and all that came over each.
struct Through {
    sockets: [TcpStream; 2],
    bytes: [Mutex<Vec<u8>>; 2],
}

/// Passes on whatever comes, byte for byte, until it is dropped.
pub(crate) struct Relay {
    address: SocketAddr,
    connections: Arc<Mutex<Vec<Arc<Through>>>>,
    is_over: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Relay {
    pub(crate) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (connections, is_over) =
            (Arc::<Mutex<Vec<Arc<Through>>>>::default(), Arc::<AtomicBool>::default());
        let (kept, over) = (Arc::clone(&connections), Arc::clone(&is_over));
        let accepting = std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(server) = TcpStream::connect(server) else { continue };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let through = Arc::new(Through { sockets: [client, server], bytes: Default::default() });
                locked(&kept).push(Arc::clone(&through));
                for from in [0, 1] {
                    let through = Arc::clone(&through);
                    // Ends with either socket.
                    std::thread::spawn(move || through.pump(from));
                }
            }
        });
        Self { address, connections, is_over, accepting: Some(accepting) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What passed, by connection.
    pub(crate) fn passed(&self) -> Vec<Passed> {
        locked(&self.connections).iter().flat_map(|through| through.passed()).collect()
    }

    /// Breaks off the connections on which such a request is being answered; how many.
    pub(crate) fn cut(&self, is_meant: fn(&Passed) -> bool) -> usize {
        cut(&self.connections, is_meant)
    }

    /// The same as soon as there is one.
    pub(crate) fn cut_soon(&self, is_meant: fn(&Passed) -> bool) {
        let (connections, is_over) = (Arc::clone(&self.connections), Arc::clone(&self.is_over));
        std::thread::spawn(move || {
            while !is_over.load(Ordering::SeqCst) && cut(&connections, is_meant) == 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
    }
}

fn cut(connections: &Mutex<Vec<Arc<Through>>>, is_meant: fn(&Passed) -> bool) -> usize {
    let connections = locked(connections);
    let is_meant = |through: &&Arc<Through>| {
        through.passed().last().is_some_and(|last| last.status.is_some() && is_meant(last))
    };
    connections.iter().filter(is_meant).map(|through| through.cut()).count()
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes it up.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        locked(&self.connections).iter().for_each(|through| through.cut());
    }
}

impl Through {
    fn pump(&self, from: usize) {
        let [mut source, mut sink] = [&self.sockets[from], &self.sockets[1 - from]];
        let mut buffer = [0; 64 * 1024];
        loop {
            match source.read(&mut buffer) {
                Ok(0) => break drop(sink.shutdown(Shutdown::Write)),
                Ok(count) => {
                    locked(&self.bytes[from]).extend_from_slice(&buffer[..count]);
                    if sink.write_all(&buffer[..count]).is_err() {
                        break self.cut();
                    }
                }
                Err(_) => break self.cut(),
            }
        }
    }

    fn cut(&self) {
        for socket in &self.sockets {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// A head is found by its first line: no JSON has a bare line end in it, and so no body has such a line.
    fn passed(&self) -> Vec<Passed> {
        let sent = String::from_utf8_lossy(&locked(&self.bytes[0])).into_owned();
        let answered = String::from_utf8_lossy(&locked(&self.bytes[1])).into_owned();
        let statuses = answered.match_indices("HTTP/1.1 ").filter_map(|(at, start)| {
            let line = answered[at + start.len()..].split_once("\r\n")?.0;
            line.split(' ').next()?.parse::<u16>().ok().filter(|status| *status >= 200)
        });
        let mut statuses = statuses.fuse();
        let heads = sent.match_indices(" HTTP/1.1\r\n").filter_map(|(at, end)| {
            let (before, path) = sent[..at].rsplit_once(' ')?;
            let verb = before.rsplit(|c: char| !c.is_ascii_uppercase()).next()?.to_owned();
            let (head, rest) = sent[at + end.len()..].split_once("\r\n\r\n")?;
            let header = |line: &str| {
                let (name, value) = line.split_once(':')?;
                Some((name.to_ascii_lowercase(), value.trim().to_owned()))
            };
            let headers = head.lines().filter_map(header).collect();
            // Those of all clients are of one line. The next head begins right behind it.
            let body = rest.lines().next().unwrap_or_default().to_owned();
            Some(Passed { verb, path: path.to_owned(), headers, body, status: statuses.next() })
        });
        heads.collect()
    }
}
