//! Starting servers and ending them: child processes, stdio, sockets, memory.
//!
//! # A server that a client starts
//!
//! The usual way. The server talks on its stdin and stdout:
//!
//! ```no_run
//! use tinymcp::Server;
//!
//! fn main() -> tinymcp::Result<()> {
//!     tinymcp::logging::init(); // to stderr
//!     Server::builder("notes", "1.0.0").build()?.start()?; // until stdin ends
//!     Ok(())
//! }
//! ```
//!
//! and the client starts it:
//!
//! ```no_run
//! use tinymcp::Client;
//! use tinymcp::transport::{ChildProcess, Stderr};
//!
//! let server = ChildProcess::new("target/debug/notes")
//!     .env("NOTES_DIR", "/srv/notes")
//!     .stderr(Stderr::lines(|line| eprintln!("notes: {line}")));
//! let client = Client::builder().open(server)?;
//! println!("{}", client.close()?); // how it ended
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! # Over a socket, or anything else
//!
//! A [`Stream`](crate::transport::Stream) is a TCP or Unix socket, or any `Read` and `Write`. A server serves each connection on a thread:
//!
//! ```
//! use std::net::{TcpListener, TcpStream};
//! use tinymcp::transport::Stream;
//! use tinymcp::{Client, Server, ToolRegistry, tool};
//!
//! let tools = ToolRegistry::new().with(tool! { fn echo(text: String) -> String { text } })?;
//! let server = Server::builder("echo", "1.0.0").tools(tools).build()?;
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! let serving = std::thread::spawn(move || {
//!     let (socket, _) = listener.accept().expect("a client");
//!     server.serve(Stream::tcp(socket).expect("a socket")).expect("served")
//! });
//!
//! let client = Client::builder().open(Stream::tcp(TcpStream::connect(address)?)?)?;
//! assert_eq!(client.call_tool("echo", serde_json::json!({"text": "hi"}))?.text_content(), "hi");
//! client.close()?;
//! serving.join().expect("no panic");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For other machines, many clients, or a browser's page, [serve over HTTP](crate::guide::http). For WebSocket and the like there is no agreed
//! way to carry the protocol; a `Stream` over what both sides have will do.
//!
//! Nobody is asked who they are: a server on a socket that others can reach must see to that before it serves. Inside one process
//! [`memory_pair`](crate::transport::memory_pair) does; a transport of your own implements [`Transport`](crate::transport::Transport).
//!
//! # The environment of a child
//!
//! A child process gets a few harmless variables and **no others**
//! ([`Environment::Base`](crate::transport::Environment::Base)): pass keys one by one by
//! [`ChildProcess::env`](crate::transport::ChildProcess::env), or everything by
//! [`Environment::All`](crate::transport::Environment::All). Its stderr is captured, and the end of it is part of every error
//! about its death; [`Stderr::Inherit`](crate::transport::Stderr::Inherit) shows it as it comes. On Unix it leads a process group
//! of its own, so that closing also ends what it started, and a terminal's Ctrl-C does not reach it. What it can read and reach beyond that is
//! for [containment](crate::guide::containment).
//!
//! # The end
//!
//! A client's [`close`](crate::Client::close), or its drop, ends the server: end of input, then SIGTERM, then SIGKILL to the whole process group, each
//! after a [while](crate::transport::Patience). A server that sees the end of its input finishes what it has accepted, for up to 5 s
//! ([`grace`](crate::server::ServerBuilder::grace)), and returns from [`start`](crate::Server::start). [`ServerHandle::stop`](crate::ServerHandle::stop)
//! ends it from inside, and [`on_end`](crate::server::ServerBuilder::on_end) runs whatever the way.
//!
//! # Starting again
//!
//! **A server that died stays dead** until [`reconnect`](crate::ClientHandle::reconnect) starts it once more, which also replaces
//! one that lives: the old process ends first, by the steps and times of closing, and every handle goes on with the new one.
//! Nothing is sent again by itself: whether a call that was open has done its work is for its caller to find out. Threads that ask
//! at once share one start; calls that are made meanwhile wait for it, until their cancel token fires.
