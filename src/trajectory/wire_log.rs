//! [`WireRecorder`]: the frames of a connection, both ways, as they passed.

use std::fmt;
use std::io::Write as _;
use std::path::Path;
use std::time::{Instant, SystemTime};

use super::event::nanoseconds;
use super::format::microseconds;
use super::sink::Sink;
use crate::protocol::base64;
use crate::transport::{Direction, Tap};

/// Writes every frame of a connection to a file, with its direction and time: what was really said, where an
/// [`Event`](super::Event) is what it meant.
///
/// The file has JSON lines: a header `{"format":"tinymcp-wire","version":1,…}`, then for each frame
///
/// ```json
/// {"direction":"sent","time_us":1785196800000000,"at_ns":1200,"frame":"{\"jsonrpc\":\"2.0\",…}"}
/// ```
///
/// where `frame` is its text, to the byte, or `base64` is there in its place if it is not UTF-8. **Nothing is redacted**: tokens
/// and whatever else passes is in the file. It cannot be used for what a [`Sink`] of recordings is: each has its own file.
///
/// Frames are written by the thread that reads or writes them, which takes some microseconds a frame. As with a [`Sink`], what
/// cannot be written is counted and reported in the log, and nothing else.
///
/// ```
/// use tinymcp::trajectory::WireRecorder;
/// use tinymcp::{Client, Server, testing};
///
/// let path = std::env::temp_dir().join(format!("tinymcp-doc-wire-{}.jsonl", std::process::id()));
/// let wire = WireRecorder::open(&path)?;
/// let server = Server::builder("any", "1.0.0").build()?;
/// let client = testing::pair_with(Client::builder().tap(wire), &server)?;
/// client.initialize()?;
/// client.close()?;
/// let text = std::fs::read_to_string(&path)?;
/// assert!(text.lines().nth(1).is_some_and(|line| line.contains("server/discover")));
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct WireRecorder {
    sink: Sink,
    began: Instant,
}

impl WireRecorder {
    /// Begins the file at `path`, or goes on with it; a torn last line is cut off.
    ///
    /// # Errors
    /// When it cannot be opened, or is something else; it is left as it is.
    pub fn open(path: impl AsRef<Path>) -> std::io::Result<Self> {
        Ok(Self { sink: Sink::open_wire(path.as_ref())?, began: Instant::now() })
    }

    /// How many frames were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.sink.written()
    }

    /// How many frames could not be written.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.sink.lost()
    }
}

impl Tap for WireRecorder {
    fn frame(&self, direction: Direction, frame: &[u8]) {
        let way = if direction == Direction::Sent { "sent" } else { "received" };
        let (time_us, at_ns) = (microseconds(SystemTime::now()), nanoseconds(self.began.elapsed()));
        let mut line = Vec::with_capacity(frame.len() + frame.len() / 4 + 96);
        // A vector takes everything.
        let _ = write!(line, r#"{{"direction":"{way}","time_us":{time_us},"at_ns":{at_ns},"#);
        let written = match std::str::from_utf8(frame) {
            Ok(text) => {
                line.extend_from_slice(b"\"frame\":");
                serde_json::to_writer(&mut line, text)
            }
            Err(_) => {
                line.extend_from_slice(b"\"base64\":");
                serde_json::to_writer(&mut line, &base64::encode(frame))
            }
        };
        debug_assert!(written.is_ok(), "a string is JSON");
        line.extend_from_slice(b"}\n");
        // It has been counted and reported.
        let _ = self.sink.write(&line);
    }
}

impl fmt::Debug for WireRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WireRecorder").field(&self.sink).finish()
    }
}
