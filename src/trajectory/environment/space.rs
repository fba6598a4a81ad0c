//! [`ActionSpace`]: what can be done now.

use std::sync::Arc;

use super::step::Action;
use crate::protocol::ToolDefinition;
use crate::trajectory::sampling::{CannotSample, Sampler};

/// The tools that can be called: the union over all servers, without those that reset.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ActionSpace {
    /// Each with the schema of its arguments, in the order of their names.
    pub actions: Arc<[ToolDefinition]>,
    /// Counts the changes: another number is another space.
    pub generation: u64,
}

impl ActionSpace {
    /// The tool of this name.
    #[must_use]
    pub fn get(&self, tool: &str) -> Option<&ToolDefinition> {
        self.actions.iter().find(|action| action.name == tool)
    }

    /// Any action, with arguments that its schema allows. Tools whose schemas say more than a [`Sampler`] understands are passed
    /// over.
    ///
    /// # Errors
    /// When no tool is left; what was in the way.
    pub fn sample(&self, sampler: &mut Sampler) -> Result<Action, CannotSample> {
        let mut left: Vec<&ToolDefinition> = self.actions.iter().collect();
        let mut problems = Vec::new();
        while !left.is_empty() {
            let at = sampler.random().below(left.len() as u64);
            let tool = left.swap_remove(usize::try_from(at).unwrap_or_default());
            match sampler.arguments(&tool.input_schema) {
                Ok(arguments) => return Ok(Action { tool: tool.name.clone(), arguments, turn: None }),
                Err(error) => {
                    problems.extend(
                        error.problems.into_iter().map(|problem| format!("{}: {problem}", tool.name)),
                    );
                }
            }
        }
        if problems.is_empty() {
            problems.push("there are no tools".to_owned());
        }
        Err(CannotSample { problems })
    }
}
