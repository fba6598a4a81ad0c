//! The thread toolkit: cancelling, deadlines, the pool, callbacks' thread, the reading role.
//!
//! **Invariant:** knows no JSON and no message; every lock here is held for a few instructions, never
//! while code of somebody else runs.

mod baton;
mod callbacks;
mod cancel;
mod deadline;
#[cfg(all(test, shuttle))]
mod model;
mod pool;
mod primitive;

pub(crate) use baton::{Baton, Lent, Tick};
pub(crate) use callbacks::{CallbackQueue, QUEUE, caught};
pub use cancel::CancelToken;
pub(crate) use deadline::Deadline;
pub(crate) use pool::{Refused, ThreadPool};
pub(crate) use primitive::{Mutex, lock};
