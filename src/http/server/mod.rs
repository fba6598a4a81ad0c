//! The server's side.

mod sealed;
mod wire;

pub use sealed::SealedStates;
