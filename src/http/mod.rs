//! Streamable HTTP, for servers and clients, in both eras; and the HTTP+SSE of 2024-11-05.
//!
//! The same [`Server`](crate::Server) and [`Client`](crate::Client) as over stdio: what is here carries their messages. The guide
//! has pages for [serving](crate::guide::http), [reaching servers](crate::guide::http_client) and [operating](crate::guide::operating).
//!
//! | | feature | what it is |
//! |---|---|---|
//! | [`HttpServer`], [`HttpServerBuilder`] | `http-server` | a server behind a listening socket; for short [`Server::serve_http`](crate::Server::serve_http) |
//! | [`Head`], [`Denied`] | `http-server` | what a guard looks at, and how it says no |
//! | [`SealedStates`] | `http-server` | what a call learned travels with its client |
//! | [`EventStore`], [`MemoryEvents`] | `http-server` | what was sent, for Legacy clients whose connection broke |
//! | [`HttpTransport`], [`OutgoingRequest`] | `http-client` | reaches a server; for short [`Client::connect_http`](crate::Client::connect_http) |
//!
//! `http` is both; `tls` adds `https` to the client.
//!
//! **Invariant:** nothing else in the crate depends on this room.

#[cfg(feature = "http-client")]
mod client;
mod headers;
mod mirrored;
#[cfg(feature = "http-server")]
mod server;
mod value;

#[cfg(all(feature = "http-client", feature = "host"))]
pub use client::HttpConnector;
#[cfg(feature = "http-client")]
pub use client::{HttpTransport, OutgoingRequest};
#[cfg(feature = "http-server")]
pub use server::{
    Denied, EventError, EventStore, Head, HttpServer, HttpServerBuilder, MemoryEvents, Replay, SealedStates,
    StreamKey,
};
