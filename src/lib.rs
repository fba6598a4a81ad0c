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

pub mod transport;

mod era;

mod peer;

mod context;

pub mod tool;

pub mod server;

pub mod client;

pub mod testing;

pub use client::{Client, ClientHandle, RemoteTool};
pub use context::Context;
pub use error::{Error, Failure, Phase, Result};
pub use jsonrpc::{ErrorCode, ErrorObject, Message, RequestId};
pub use method::Method;
pub use peer::CloseReport;
pub use protocol::version::ProtocolVersion;
pub use server::{Server, ServerHandle};
pub use sync::CancelToken;
pub use tool::{Arguments, FnTool, Tool, ToolError, ToolRegistry};

/// What the macros expand to. Not part of the public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::tool::call::{
        IntoDefault, Param, Signature, VariantsSchema, outline, plain_name, read_field, read_object,
        read_tag, read_word, word_schema, write_field,
    };
    pub use crate::tool::output::structured;
    pub use crate::tool::schema::ObjectSchema;
    pub use serde;
    pub use serde_json::value::RawValue;
}
