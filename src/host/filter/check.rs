//! [`ResultCheck`]: a program's own look at what a server sends.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::source::Source;
use crate::error::{Error, Result};
use crate::protocol::{
    CallToolResult, Content, CreateMessageParams, GetPromptResult, Prompt, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, SamplingContent, ToolDefinition,
};

/// What a check looks at, and may change.
#[derive(Debug)]
#[non_exhaustive]
pub enum Found<'a> {
    /// The result of a tool.
    Call(&'a mut CallToolResult),
    /// What is in a resource.
    Read(&'a mut ReadResourceResult),
    /// The messages of a prompt.
    Prompt(&'a mut GetPromptResult),
    /// What a server asks the language model.
    Sample(&'a mut CreateMessageParams),
    /// A tool as its server describes it.
    Tool(&'a mut ToolDefinition),
    /// A resource as its server describes it.
    Resource(&'a mut Resource),
    /// A kind of resource as its server describes it.
    Template(&'a mut ResourceTemplate),
    /// A prompt as its server describes it.
    PromptDefinition(&'a mut Prompt),
}

impl Found<'_> {
    /// Visits the texts that a model or a person reads: of blocks, messages, descriptions and titles. Not what is JSON: structured
    /// results and schemas.
    pub fn each_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        let mut all = |texts: [&mut Option<String>; 2]| texts.into_iter().flatten().for_each(&mut *visit);
        match self {
            Self::Tool(it) => all([&mut it.title, &mut it.description]),
            Self::Resource(it) => all([&mut it.title, &mut it.description]),
            Self::Template(it) => all([&mut it.title, &mut it.description]),
            Self::PromptDefinition(it) => {
                all([&mut it.title, &mut it.description]);
                for argument in it.arguments.iter_mut().flatten() {
                    all([&mut argument.title, &mut argument.description]);
                }
            }
            Self::Call(result) => result.content.iter_mut().for_each(|block| block_texts(block, visit)),
            Self::Read(result) => result.contents.iter_mut().for_each(|part| contents_texts(part, visit)),
            Self::Prompt(result) => {
                result.description.iter_mut().for_each(&mut *visit);
                result.messages.iter_mut().for_each(|message| block_texts(&mut message.content, visit));
            }
            Self::Sample(params) => {
                params.system_prompt.iter_mut().for_each(&mut *visit);
                for block in params.messages.iter_mut().flat_map(|message| &mut message.content) {
                    match block {
                        SamplingContent::Text(block) => visit(&mut block.text),
                        SamplingContent::ToolResult(result) => {
                            result.content.iter_mut().for_each(|block| block_texts(block, visit));
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

fn block_texts(block: &mut Content, visit: &mut dyn FnMut(&mut String)) {
    match block {
        Content::Text(block) => visit(&mut block.text),
        Content::ResourceLink(link) => {
            [&mut link.title, &mut link.description].into_iter().flatten().for_each(visit);
        }
        Content::Resource(block) => contents_texts(&mut block.resource, visit),
        _ => {}
    }
}

fn contents_texts(contents: &mut ResourceContents, visit: &mut dyn FnMut(&mut String)) {
    if let ResourceContents::Text(contents) = contents {
        visit(&mut contents.text);
    }
}

/// Looks at what a server sends, after it was cut and made visible, and before anybody else sees it. It may change it, add to
/// its `_meta`, or refuse it. Functions are checks, see [`ResultFilter::check`](super::ResultFilter::check).
pub trait ResultCheck: Send + Sync {
    /// Looks at what was found. One that panics refuses.
    ///
    /// # Errors
    /// With why it is refused, for the user and the model.
    fn check(&self, source: &Source<'_>, found: &mut Found<'_>) -> Result<(), String>;
}

impl<F: Fn(&Source<'_>, &mut Found<'_>) -> Result<(), String> + Send + Sync> ResultCheck for F {
    fn check(&self, source: &Source<'_>, found: &mut Found<'_>) -> Result<(), String> {
        self(source, found)
    }
}

/// Runs a check on `found`, which is named `what` in errors.
pub(super) fn run(check: &dyn ResultCheck, source: &Source<'_>, found: &mut Found<'_>) -> Result<()> {
    let (what, done) = match found {
        Found::Call(_) => ("the result of", " (the call was made)"),
        Found::Read(_) => ("what was read from", ""),
        Found::Prompt(_) => ("the messages of", ""),
        Found::Sample(_) => ("what is asked by", ""),
        _ => ("the description of", ""),
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| check.check(source, found)));
    let reason = match outcome {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(reason)) => reason,
        Err(_) => "the program's check panicked".to_owned(),
    };
    Err(Error::Denied(format!("{what} {} was refused{done}: {reason}", source.named())))
}
