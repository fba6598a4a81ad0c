//! Tools: what a model can call.
//!
//! | | |
//! |---|---|
//! | [`tool!`](macro@crate::tool), [`data!`](crate::data) | write a tool as a function, its types as structs and enums |
//! | [`FnTool`] | the tool that `tool!` makes, or one whose schema comes at run time |
//! | [`Tool`] | what local and remote tools have in common |
//! | [`ToolRegistry`] | many tools, found by name |
//! | [`Arguments`], [`ToolOutput`], [`ToolError`] | what goes in, what comes out, what goes wrong |
//! | [`Schema`], [`Parameter`] | Rust types as the JSON Schema that clients accept |
//!
//! **Invariant:** knows no connection and no revision of the protocol; results are lowered for older
//! revisions elsewhere.

use std::sync::Arc;

use crate::context::Context;
use crate::json::Json;
use crate::protocol::{CallToolResult, ToolDefinition};

mod arguments;
pub(crate) mod call;
mod check;
#[cfg(feature = "validation")]
mod checked;
mod data;
mod error;
mod function;
mod lint;
mod macros;
pub(crate) mod output;
pub(crate) mod registry;
pub(crate) mod schema;
mod task_mode;
#[cfg(feature = "schemars")]
mod typed;

pub use crate::registry::{ChangeListener, RegistryError};
pub use arguments::Arguments;
#[cfg(feature = "validation")]
pub use checked::Validation;
#[cfg(feature = "validation")]
pub(crate) use checked::check_result;
pub use error::ToolError;
pub use function::FnTool;
pub use output::{Structured, ToolOutput};
pub use registry::ToolRegistry;
pub use schema::{Parameter, Schema, SchemaScope};
pub use task_mode::TaskMode;
#[cfg(feature = "schemars")]
pub use typed::Typed;

pub(crate) use registry::caught;
pub(crate) use schema::{ObjectSchema, doc_text};

/// Something a model can call: a local function, or a tool of a remote server.
///
/// Usually made by [`tool!`](macro@crate::tool). By hand:
///
/// ```
/// use tinymcp::json::Json;
/// use tinymcp::protocol::CallToolResult;
/// use tinymcp::tool::{Arguments, Schema, Tool, ToolError};
/// use tinymcp::{Context, ToolRegistry};
///
/// struct Clock {
///     parameters: Json,
/// }
///
/// impl Tool for Clock {
///     fn name(&self) -> &str { "clock" }
///     fn description(&self) -> &str { "Tells the time" }
///     fn parameters(&self) -> &Json { &self.parameters }
///     fn execute(&self, _: Arguments<'_>, _: &Context) -> Result<CallToolResult, ToolError> {
///         Ok(CallToolResult::text("noon"))
///     }
/// }
///
/// let tools = ToolRegistry::new();
/// tools.register(Clock { parameters: Schema::of("object").to_json() })?;
/// let result = tools.execute("clock", Arguments::empty(), &Context::detached())?;
/// assert_eq!(result.text_content(), "noon");
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
pub trait Tool: Send + Sync {
    /// Its name for programs.
    fn name(&self) -> &str;

    /// What it does, for the model.
    fn description(&self) -> &str;

    /// The JSON Schema of its arguments, an object.
    fn parameters(&self) -> &Json;

    /// Does the work.
    ///
    /// # Errors
    /// When it cannot; see [`ToolError`] for who gets to see which error.
    fn execute(&self, arguments: Arguments<'_>, cx: &Context) -> Result<CallToolResult, ToolError>;

    /// How it is described to clients.
    fn definition(&self) -> ToolDefinition {
        let mut definition = ToolDefinition::new(self.name(), self.parameters().clone());
        definition.description = Some(self.description().to_owned()).filter(|text| !text.is_empty());
        definition.execution = self.task_mode().execution();
        definition
    }

    /// Whether a call of it becomes a task, on a server that has [tasks](crate::server::ServerBuilder::tasks). What it is run as
    /// makes no difference to how it is written.
    fn task_mode(&self) -> TaskMode {
        TaskMode::Never
    }

    /// What a registry compares with its schemas (feature `validation`): by default its arguments, before
    /// [`execute`](Self::execute), and the structured content of its results, after it. Schemas that cannot be used are refused
    /// when it is registered.
    #[cfg(feature = "validation")]
    fn validation(&self) -> Validation {
        Validation::default()
    }
}

macro_rules! pointers {
    ($($pointer:ident)*) => {$(
        impl<T: Tool + ?Sized> Tool for $pointer<T> {
            fn name(&self) -> &str {
                (**self).name()
            }
            fn description(&self) -> &str {
                (**self).description()
            }
            fn parameters(&self) -> &Json {
                (**self).parameters()
            }
            fn execute(&self, arguments: Arguments<'_>, cx: &Context) -> Result<CallToolResult, ToolError> {
                (**self).execute(arguments, cx)
            }
            fn definition(&self) -> ToolDefinition {
                (**self).definition()
            }
            fn task_mode(&self) -> TaskMode {
                (**self).task_mode()
            }
            #[cfg(feature = "validation")]
            fn validation(&self) -> Validation {
                (**self).validation()
            }
        }
    )*};
}
pointers!(Arc Box);
