//! Serves over stdio what another server serves over HTTP, for clients that can only start programs. Nothing is changed on the way.
//!
//! ```text
//! cargo run --features http-client --example bridge_to_stdio -- http://127.0.0.1:8000/mcp
//! ```
//!
//! With the feature `tls` the address may begin with `https`. Credentials are headers: see `HttpTransport::header`.

use std::collections::HashSet;
use std::error::Error;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tinymcp::http::HttpTransport;
use tinymcp::transport::{
    Connection, DEFAULT_MAX_FRAME_BYTES, FrameRead, FrameWrite, LineReader, OpenOptions, Patience, Received,
    Transport,
};
use tinymcp::{ErrorObject, Message, RequestId};

/// How long requests may take that are open when the input ends.
const GRACE: Duration = Duration::from_secs(30);

fn main() -> Result<(), Box<dyn Error>> {
    tinymcp::logging::init();
    let url = std::env::args().nth(1).ok_or("usage: bridge_to_stdio URL")?;
    let transport = Box::new(HttpTransport::new(&url)?);
    let Connection { mut reader, mut writer, link, .. } = transport.open(&OpenOptions::default())?;
    let open = Arc::new(Open::default());
    let answered = Arc::clone(&open);
    std::thread::spawn(move || {
        let copied = copy_to_client(&mut *reader, &answered);
        // Without it there is nothing to do. The other direction may stay in a read of stdin for ever.
        if !answered.is_closing.load(Ordering::SeqCst) {
            log::error!("the connection to the server has ended: {copied:?}");
            std::process::exit(1);
        }
    });
    copy_to_server(&mut *writer, &open)?;
    open.wait_for(None);
    open.is_closing.store(true, Ordering::SeqCst);
    link.close(&Patience::default()); // and the session with it, if there is one
    Ok(())
}

/// Until the input ends.
fn copy_to_server(server: &mut dyn FrameWrite, open: &Open) -> io::Result<()> {
    let mut client = LineReader::new(io::stdin(), DEFAULT_MAX_FRAME_BYTES);
    let mut frame = Vec::new();
    loop {
        match client.read_frame(&mut frame)? {
            Received::End => return Ok(()),
            Received::Frame if frame.iter().all(u8::is_ascii_whitespace) => continue,
            _ => {} // the head of a line that is too long is no message
        }
        let mut handshake = None;
        match Message::decode(&frame) {
            Ok(Message::Request(request)) => {
                handshake = (request.method == "initialize").then(|| request.id.clone());
                open.add(request.id);
            }
            Ok(Message::Notification(note)) if note.method == "notifications/cancelled" => {
                let params = note.params.map(|params| params.to_value()).unwrap_or_default();
                if let Ok(id) = serde_json::from_value(params["requestId"].clone()) {
                    open.remove(&id); // it has no answer
                }
            }
            Ok(_) => {}
            Err(error) => {
                tell(&Message::response(None, Err(error)).encode())?;
                continue;
            }
        }
        frame.push(b'\n');
        server.write_frames(&frame)?;
        // What follows belongs to the session that it begins.
        handshake.iter().for_each(|id| open.wait_for(Some(id)));
    }
}

/// Until the connection ends.
fn copy_to_client(server: &mut dyn FrameRead, open: &Open) -> Result<(), Box<dyn Error>> {
    let mut frame = Vec::new();
    loop {
        let answered = match server.read_frame(&mut frame)? {
            Received::End => return Ok(()),
            // On HTTP a request can fail by itself. On stdio it has an answer.
            Received::Failed => {
                server.take_failure().map(|failure| fail(failure.id, &failure.problem, &mut frame))
            }
            Received::TooLong(limit) => {
                open.find(&frame).map(|id| fail(id, &format!("the answer exceeds {limit} bytes"), &mut frame))
            }
            _ => match Message::decode(&frame) {
                Ok(Message::Response(response)) => response.id,
                _ => None,
            },
        };
        tell(&frame)?;
        answered.iter().for_each(|id| open.remove(id)); // last: the program may end with it
    }
}

/// Puts an error in the place of what was read.
fn fail(id: RequestId, problem: &str, frame: &mut Vec<u8>) -> RequestId {
    *frame = Message::response(id.clone(), Err(ErrorObject::internal(problem))).encode();
    id
}

fn tell(frame: &[u8]) -> io::Result<()> {
    let mut client = io::stdout().lock();
    client.write_all(&[frame, b"\n"].concat())?;
    client.flush()
}

/// The client's requests that have no answer yet.
#[derive(Default)]
struct Open {
    ids: Mutex<HashSet<RequestId>>,
    answered: Condvar,
    is_closing: AtomicBool,
}

impl Open {
    fn add(&self, id: RequestId) {
        self.ids.lock().expect("no panic").insert(id);
    }

    fn remove(&self, id: &RequestId) {
        self.ids.lock().expect("no panic").remove(id);
        self.answered.notify_all();
    }

    /// Which one is named in the beginning of an answer.
    fn find(&self, head: &[u8]) -> Option<RequestId> {
        let head = String::from_utf8_lossy(head);
        let ids = self.ids.lock().expect("no panic");
        ids.iter().find(|id| head.contains(&format!("\"id\":{id},"))).cloned()
    }

    /// Waits for the answer to this one, or else to all, but not for too long.
    fn wait_for(&self, only: Option<&RequestId>) {
        let is_open = |ids: &mut HashSet<_>| only.map_or(!ids.is_empty(), |id| ids.contains(id));
        drop(self.answered.wait_timeout_while(self.ids.lock().expect("no panic"), GRACE, is_open));
    }
}
