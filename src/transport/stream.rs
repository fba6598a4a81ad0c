//! [`Stream`]: any pair of a reader and a writer, such as a socket.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

use super::{Connection, FrameWrite, LineReader, Link, OpenOptions, Transport};

/// Frames over any pair of [`Read`] and [`Write`].
///
/// ```no_run
/// use std::net::TcpStream;
/// use tinymcp::transport::Stream;
///
/// let socket = TcpStream::connect("127.0.0.1:9000")?;
/// let transport = Stream::tcp(socket)?;
/// # let _ = transport;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Stream {
    name: String,
    reader: Box<dyn Read + Send>,
    writer: Box<dyn Write + Send>,
    /// Ends a blocked read and tells the peer, where the channel can.
    interrupt: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Stream {
    /// Frames over `reader` and `writer`; `name` stands for the peer in messages. A read that is blocked when the
    /// connection is closed stays blocked: its thread is left to itself and reported.
    pub fn new(
        name: impl Into<String>,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Self {
        Self { name: name.into(), reader: Box::new(reader), writer: Box::new(writer), interrupt: None }
    }

    /// Calls `interrupt` to end a blocked read when the connection is closed.
    #[must_use]
    pub fn with_interrupt(mut self, interrupt: impl Fn() + Send + Sync + 'static) -> Self {
        self.interrupt = Some(Box::new(interrupt));
        self
    }

    /// Frames over a TCP connection, sent without delay.
    ///
    /// # Errors
    /// When the operating system cannot duplicate the handle.
    pub fn tcp(socket: TcpStream) -> io::Result<Self> {
        // A call is one small write that waits for its answer: gathering it with later ones only delays it.
        socket.set_nodelay(true)?;
        let name = socket.peer_addr().map_or_else(|_| "tcp".to_owned(), |address| address.to_string());
        let (reader, handle) = (socket.try_clone()?, socket.try_clone()?);
        Ok(Self::new(name, reader, socket).with_interrupt(move || {
            // It may be closed already.
            let _ = handle.shutdown(Shutdown::Both);
        }))
    }

    /// Frames over a Unix domain socket.
    ///
    /// # Errors
    /// When the operating system cannot duplicate the handle.
    #[cfg(unix)]
    pub fn unix(socket: std::os::unix::net::UnixStream) -> io::Result<Self> {
        let (reader, handle) = (socket.try_clone()?, socket.try_clone()?);
        Ok(Self::new("unix socket", reader, socket).with_interrupt(move || {
            let _ = handle.shutdown(Shutdown::Both);
        }))
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Transport for Stream {
    fn open(self: Box<Self>, options: &OpenOptions) -> io::Result<Connection> {
        let reader = LineReader::new(self.reader, options.max_frame_bytes);
        let link = StreamLink { name: self.name, interrupt: self.interrupt };
        Ok(Connection::new(reader, StreamWriter(self.writer), link))
    }
}

struct StreamWriter(Box<dyn Write + Send>);

impl FrameWrite for StreamWriter {
    fn write_frames(&mut self, frames: &[u8]) -> io::Result<()> {
        self.0.write_all(frames)?;
        self.0.flush()
    }
}

struct StreamLink {
    name: String,
    interrupt: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Link for StreamLink {
    fn name(&self) -> &str {
        &self.name
    }

    fn interrupt(&self) {
        if let Some(interrupt) = &self.interrupt {
            interrupt();
        }
    }
}
