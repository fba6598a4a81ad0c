//! The Model Context Protocol for synchronous Rust.

// So that the crate's macros name it the same way inside and outside.
extern crate self as tinymcp;

mod sys;

mod sync;

pub mod json;

pub mod jsonrpc;

pub mod protocol;

pub mod method;

mod error;

#[allow(dead_code, unused_imports, reason = "the engine that uses it comes next")]
mod era;

mod context;

pub use context::Context;
pub use error::{Error, Failure, Phase, Result};
pub use jsonrpc::{ErrorCode, ErrorObject, Message, RequestId};
pub use sync::CancelToken;
