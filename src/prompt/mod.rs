//! Prompts: messages that users choose to begin a conversation with, filled in with arguments.
//!
//! | | |
//! |---|---|
//! | [`prompt!`](crate::prompt!) | write a prompt as a function |
//! | [`FnPrompt`] | the prompt that `prompt!` makes, or one whose arguments are known only at run time |
//! | [`PromptRegistry`] | many prompts, found by name |
//! | [`PromptArguments`], [`PromptOutput`] | what goes in, what comes out |
//!
//! Arguments are texts, typed in by people. One that is missing, unknown or wrong is an error of the request, and not, as with
//! a tool, something for a model to read: no model has seen anything yet.
//!
//! **Invariant:** knows no connection and no revision of the protocol; results are lowered for older revisions elsewhere.

mod arguments;
mod function;
mod macros;
mod output;
mod registry;

pub use arguments::PromptArguments;
pub use function::FnPrompt;
pub use output::PromptOutput;
pub use registry::PromptRegistry;
