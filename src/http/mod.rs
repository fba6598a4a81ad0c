//! Streamable HTTP, for servers and clients, in both eras; and the HTTP+SSE of 2024-11-05.
//!
//! The same [`Server`](crate::Server) and [`Client`](crate::Client) as over stdio: what is here carries their messages.
//! `server` needs the feature `http-server`, `client` the feature `http-client`; `http` is both.
//!
//! **Invariant:** nothing else in the crate depends on this room.

#[cfg(feature = "http-client")]
mod client;
mod headers;
mod mirrored;
#[cfg(feature = "http-server")]
mod server;
mod value;

#[cfg(feature = "http-client")]
pub use client::{HttpTransport, OutgoingRequest};
#[cfg(feature = "http-server")]
pub use server::{
    Denied, EventError, EventStore, Head, HttpServer, HttpServerBuilder, MemoryEvents, Replay, SealedStates,
    StreamKey,
};
