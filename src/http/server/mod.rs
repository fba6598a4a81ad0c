//! The server's side.

mod events;
mod origin;
mod sealed;
mod sse;
mod wire;

pub use events::{EventError, EventStore, MemoryEvents, Replay, StreamKey};
pub use sealed::SealedStates;
