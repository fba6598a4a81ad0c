//! Byte channels that carry frames: child processes, this process's stdin and stdout, sockets, memory.
//!
//! A [`Transport`] is opened into a [`Connection`]: one half that reads frames, one that writes them, and a
//! [`Link`] that knows the other end and can end it. One frame is one line.
//!
//! **Invariant:** knows nothing of what is inside a frame.

mod child;
mod environment;
mod framing;
mod memory;
mod spawn;
mod stderr;
mod stdio;
mod stream;
mod tap;

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

pub use child::{ChildProcess, Stderr};
pub use environment::Environment;
pub use framing::{DEFAULT_MAX_FRAME_BYTES, LineReader};
pub use memory::{MemoryTransport, memory_pair};
pub use spawn::{CommandLine, Spawn};
pub use stdio::{Stdio, child_command};
pub use stream::Stream;
#[cfg(feature = "http-server")]
pub(crate) use tap::show;
pub(crate) use tap::tapped;
pub use tap::{Direction, Tap, WireLog};

use serde_json::value::RawValue;

use crate::jsonrpc::RequestId;

/// A way to reach a peer, not yet opened.
pub trait Transport: Send + 'static {
    /// Opens the connection: starts the process, takes the handles.
    ///
    /// # Errors
    /// What the operating system says, with the command or address in the text.
    fn open(self: Box<Self>, options: &OpenOptions) -> io::Result<Connection>;

    /// A copy that leads to the same kind of peer, to be opened after this one's has ended: for a server that dies of the
    /// first question, and for [`reconnect`](crate::ClientHandle::reconnect). `None` where that makes no sense.
    fn again(&self) -> Option<Box<dyn Transport>> {
        None
    }
}

impl Transport for Box<dyn Transport> {
    fn open(self: Box<Self>, options: &OpenOptions) -> io::Result<Connection> {
        (*self).open(options)
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        (**self).again()
    }
}

/// What whoever opens a transport asks of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The longest frame that is read, in bytes. A longer one is skipped and reported.
    pub max_frame_bytes: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { max_frame_bytes: DEFAULT_MAX_FRAME_BYTES }
    }
}

/// An open connection.
#[non_exhaustive]
pub struct Connection {
    /// The half that reads. Used by one thread at a time.
    pub reader: Box<dyn FrameRead>,
    /// The half that writes. Used by one thread at a time; dropping it tells the peer that nothing more comes.
    pub writer: Box<dyn FrameWrite>,
    /// The other end.
    pub link: Box<dyn Link>,
}

impl Connection {
    /// Joins two halves and a link.
    pub fn new(
        reader: impl FrameRead + 'static,
        writer: impl FrameWrite + 'static,
        link: impl Link + 'static,
    ) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer), link: Box::new(link) }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection to {}", self.link.name())
    }
}

/// What reading brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Received {
    /// A frame.
    Frame,
    /// A frame longer than this limit, in bytes. It was skipped; some bytes of its head may be in the buffer.
    TooLong(usize),
    /// A request of ours has failed by itself: [`FrameRead::take_failure`] tells. The connection goes on.
    Failed,
    /// The peer sends nothing more.
    End,
}

/// A request that will have no answer, on a transport that carries each request by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestFailure {
    /// Which request.
    pub id: RequestId,
    /// What is known of what became of it.
    pub kind: FailureKind,
    /// The status it was answered with, where the transport has such: 401 over HTTP.
    pub status: Option<u16>,
    /// What happened: lower case, no full stop.
    pub problem: String,
}

impl RequestFailure {
    /// A failure of the request `id`.
    pub fn new(id: impl Into<RequestId>, kind: FailureKind, problem: impl Into<String>) -> Self {
        Self { id: id.into(), kind, status: None, problem: problem.into() }
    }

    /// Says with which status it was answered.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }
}

/// What is known of what became of a request that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// It never reached the peer.
    NotSent,
    /// The peer refused it before it began.
    Refused,
    /// The peer refused it before it began, as it does not know the session (any more). A client opens the transport
    /// [again](Transport::again) then, and makes the request there.
    SessionEnded,
    /// It was sent, and nothing says whether it was carried out.
    OutcomeUnknown,
}

/// The reading half.
pub trait FrameRead: Send {
    /// Waits for a frame and puts it into `frame`, which is cleared first: one line, without its end and with no line
    /// break in it.
    ///
    /// # Errors
    /// When the channel broke; nothing more is read then.
    fn read_frame(&mut self, frame: &mut Vec<u8>) -> io::Result<Received>;

    /// What [`Received::Failed`] is about.
    fn take_failure(&mut self) -> Option<RequestFailure> {
        None
    }

    /// Whether the next frame is here already, so that reading it will not wait.
    fn has_frame(&self) -> bool {
        false
    }

    /// Whether the last frame ended with the input and not as frames do, so that it may be half of one.
    fn is_cut(&self) -> bool {
        false
    }
}

/// The writing half.
pub trait FrameWrite: Send {
    /// Writes `frames`, whole frames with their line ends, however long that takes.
    ///
    /// # Errors
    /// When the channel broke.
    fn write_frames(&mut self, frames: &[u8]) -> io::Result<()>;

    /// Writes as much of `frames` as goes without waiting and says how much; `None` if this channel cannot tell.
    ///
    /// # Errors
    /// When the channel broke.
    fn write_some(&mut self, frames: &[u8]) -> io::Result<Option<usize>> {
        let _ = frames;
        Ok(None)
    }
}

/// The other end of a connection.
pub trait Link: Send + Sync {
    /// A command line or an address, for messages.
    fn name(&self) -> &str;

    /// How the peer's process ended, if it is one and has.
    fn exit_status(&self) -> Option<ExitStatus> {
        None
    }

    /// Whether the peer is a process and is known to have ended. Must not wait.
    fn has_ended(&self) -> bool {
        false
    }

    /// Why a tool whose arguments have this schema cannot be called over this connection, if so. It is not offered then.
    ///
    /// spec: 2026-07-28 basic/transports/streamable-http#schema-extension (where arguments are mirrored into headers)
    fn refuses_tool(&self, input_schema: &RawValue) -> Option<String> {
        let _ = input_schema;
        None
    }

    /// The last of what the peer wrote to stderr. Called after the connection ended it waits a moment for
    /// the rest.
    fn stderr_tail(&self) -> String {
        String::new()
    }

    /// Makes a blocked read return, where that is possible.
    fn interrupt(&self) {}

    /// Ends the peer, after the writing half was dropped: in order, and in bounded time.
    fn close(&self, patience: &Patience) -> Ending {
        let _ = patience;
        self.interrupt();
        Ending::default()
    }
}

/// How long closing waits at each step.
///
/// spec: 2026-07-28 basic/transports/stdio#shutdown
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Patience {
    /// For unsent frames to be written, before the end of input is signalled. Default: 1 s.
    pub flush: Duration,
    /// For the server to exit by itself after the end of its input. Default: 2 s.
    pub exit: Duration,
    /// For it to exit after SIGTERM; then comes SIGKILL. Default: 2 s.
    pub term: Duration,
    /// For our own threads to finish after that. Default: 500 ms.
    pub threads: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            flush: Duration::from_secs(1),
            exit: Duration::from_secs(2),
            term: Duration::from_secs(2),
            threads: Duration::from_millis(500),
        }
    }
}

impl Patience {
    /// Sets how long unsent frames may take.
    #[must_use]
    pub fn with_flush(mut self, time: Duration) -> Self {
        self.flush = time;
        self
    }

    /// Sets how long the server may take to exit by itself.
    #[must_use]
    pub fn with_exit(mut self, time: Duration) -> Self {
        self.exit = time;
        self
    }

    /// Sets how long the server may take to exit after SIGTERM.
    #[must_use]
    pub fn with_term(mut self, time: Duration) -> Self {
        self.term = time;
        self
    }

    /// Sets how long our own threads may take to end.
    #[must_use]
    pub fn with_threads(mut self, time: Duration) -> Self {
        self.threads = time;
        self
    }
}

/// What it took to end a peer. Displays as the step and the status: `exited at end of input (exit status: 0)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending {
    /// The last step that was needed.
    pub step: EndStep,
    /// How the process ended, if it is one.
    pub status: Option<ExitStatus>,
    /// Processes that the server had started outlived it and were signalled.
    pub orphans_signalled: bool,
}

/// The steps of ending a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EndStep {
    /// There was no process to end.
    #[default]
    None,
    /// It had ended before.
    AlreadyEnded,
    /// It exited when its input ended.
    EndOfInput,
    /// It needed SIGTERM.
    Term,
    /// It needed SIGKILL.
    Kill,
    /// It could not be ended; the operating system has it.
    Stuck,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        if let Some(status) = self.status {
            write!(f, " ({status})")?;
        }
        f.write_str(if self.orphans_signalled { ", processes it left behind were signalled" } else { "" })
    }
}

impl fmt::Display for EndStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "closed",
            Self::AlreadyEnded => "had ended before",
            Self::EndOfInput => "exited at end of input",
            Self::Term => "exited at SIGTERM",
            Self::Kill => "killed",
            Self::Stuck => "could not be ended",
        })
    }
}
