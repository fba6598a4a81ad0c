//! Feature `validation`: what a registry puts around a tool, to compare its calls and results with its schemas.
//!
//! The schemas are compiled once, when the tool is registered. Arguments are compared after they were mended where models
//! are sloppy, by the small [`Check`], and the tool gets them mended.

use std::sync::Arc;

use super::call::bad_arguments;
use super::check::Check;
use super::{Arguments, RegistryError, TaskMode, Tool, ToolError};
use crate::context::Context;
use crate::json::{Json, JsonError, SchemaError, Validator};
use crate::protocol::{CallToolResult, ToolDefinition};

/// What a [`ToolRegistry`](super::ToolRegistry) compares with a tool's schemas (feature `validation`); see
/// [`Tool::validation`]. By default, everything.
///
/// ```
/// use tinymcp::tool::Validation;
///
/// // For a tool that reads its arguments as strictly as its schema asks, and whose schemas come from others.
/// let validation = Validation::default().without_arguments().of_others();
/// # let _ = validation;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validation {
    pub(super) arguments: bool,
    pub(super) results: bool,
    is_of_others: bool,
}

impl Default for Validation {
    fn default() -> Self {
        Self { arguments: true, results: true, is_of_others: false }
    }
}

impl Validation {
    /// Leaves the arguments to the tool.
    #[must_use]
    pub const fn without_arguments(mut self) -> Self {
        self.arguments = false;
        self
    }

    /// Does not compare structured results with the output schema.
    #[must_use]
    pub const fn without_results(mut self) -> Self {
        self.results = false;
        self
    }

    /// The schemas are not this program's: one that cannot be used is reported in the log and not compared with, where it would
    /// otherwise be refused.
    #[must_use]
    pub const fn of_others(mut self) -> Self {
        self.is_of_others = true;
        self
    }
}

/// A tool and what is compared.
struct Checked<T> {
    tool: T,
    arguments: Option<(Check, Validator)>,
    results: Option<Validator>,
}

/// `tool` as a registry keeps it.
pub(super) fn checked(tool: impl Tool + 'static) -> Result<Arc<dyn Tool>, RegistryError> {
    let validation = tool.validation();
    let arguments = match validation.arguments {
        true => compile(&tool, validation, "", tool.parameters())?,
        false => None,
    };
    let results = match tool.definition().output_schema.filter(|_| validation.results) {
        Some(schema) => compile(&tool, validation, "outputSchema: ", &schema)?,
        None => None,
    };
    if arguments.is_none() && results.is_none() {
        return Ok(Arc::new(tool));
    }
    let arguments = arguments.map(|validator| (Check::compile(tool.parameters().as_raw()), validator));
    Ok(Arc::new(Checked { tool, arguments, results }))
}

fn compile(
    tool: &impl Tool,
    validation: Validation,
    which: &str,
    schema: &Json,
) -> Result<Option<Validator>, RegistryError> {
    match Validator::compile(schema) {
        Ok(validator) => Ok(Some(validator)),
        Err(problem) if validation.is_of_others => {
            log::warn!("tool {}: a schema is not compared with: {which}{problem}", tool.name());
            Ok(None)
        }
        Err(problem) => Err(invalid(tool.name(), which, &problem)),
    }
}

fn invalid(tool: &str, which: &str, problem: &SchemaError) -> RegistryError {
    RegistryError::InvalidSchema { tool: tool.to_owned(), problem: format!("{which}{problem}") }
}

impl<T: Tool> Tool for Checked<T> {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn description(&self) -> &str {
        self.tool.description()
    }

    fn parameters(&self) -> &Json {
        self.tool.parameters()
    }

    fn execute(&self, arguments: Arguments<'_>, cx: &Context) -> Result<CallToolResult, ToolError> {
        let mut arguments = arguments;
        if let Some((check, validator)) = &self.arguments {
            // spec: 2026-07-28 server/tools#security-considerations (servers MUST validate all tool inputs)
            arguments = check.mend(arguments);
            validator
                .check(arguments.as_raw())
                .map_err(|problems| bad_arguments(&problems).of_tool(self.tool.name()))?;
        }
        let result = self.tool.execute(arguments, cx)?;
        if let Some(validator) = &self.results {
            // spec: 2026-07-28 server/tools#output-schema (servers MUST provide results that conform). The call has done its
            // work, and the model should hear that it came to nothing: a failed result, not an error of the protocol.
            check_result(validator, &result).map_err(|problems| {
                let name = self.tool.name();
                log::error!("tool {name} broke its own output schema: {problems}");
                ToolError::new(format_args!("the result of tool {name} breaks its output schema: {problems}"))
            })?;
        }
        Ok(result)
    }

    fn definition(&self) -> ToolDefinition {
        self.tool.definition()
    }

    fn task_mode(&self) -> TaskMode {
        self.tool.task_mode()
    }

    /// In another registry nothing is compared a second time.
    fn validation(&self) -> Validation {
        self.tool.validation().without_arguments().without_results()
    }
}

/// Compares the structured content of a successful, complete result with the output schema; an error lists all problems.
pub(crate) fn check_result(validator: &Validator, result: &CallToolResult) -> Result<(), String> {
    let is_complete = result.result_type.as_ref().is_none_or(|kind| kind.as_str() == "complete");
    if result.is_error() || !is_complete {
        return Ok(());
    }
    let checked = match &result.structured_content {
        Some(content) => validator.check(content.as_raw()),
        None => Err(vec![JsonError::new("missing").inside("structuredContent")]),
    };
    checked.map_err(|problems| {
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        problems.join("; ")
    })
}

/// Whether `schema`, which was generated from types, asks for more than reading the types does: keywords that a parameter
/// type of the program's own has added.
pub(super) fn asks_for_more(schema: &Json) -> bool {
    fn look(schema: &serde_json::Value) -> bool {
        let Some(members) = schema.as_object() else { return !schema.is_boolean() };
        members.iter().any(|(name, value)| match name.as_str() {
            "type" | "required" | "enum" | "description" | "title" | "default" | "$ref" => false,
            "minimum" => *value != 0,
            "properties" | "$defs" => value.as_object().is_none_or(|parts| parts.values().any(look)),
            "anyOf" => value.as_array().is_none_or(|parts| parts.iter().any(look)),
            "items" | "additionalProperties" => look(value),
            _ => true,
        })
    }
    look(&schema.to_value())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::tool::{Parameter, Schema};

    #[test]
    fn schemas_of_types_ask_for_no_more_than_the_types() {
        fn asks<T: Parameter>() -> bool {
            asks_for_more(&Schema::root::<T>().to_json())
        }
        assert!(!asks::<u8>() && !asks::<Vec<Option<f64>>>() && !asks::<BTreeMap<String, Json>>());
        assert!(!asks::<std::path::PathBuf>() && !asks::<i128>() && !asks::<bool>());
        for more in [
            r#"{"type":"number","minimum":1}"#,
            r#"{"type":"array","items":{"type":"string","pattern":"a"}}"#,
            r#"{"anyOf":[{"type":"string"},{"maximum":1}]}"#,
            r#"{"properties":{"a":{"additionalProperties":{"format":"uuid"}}}}"#,
            r#"{"$defs":{"a":{"const":1}}}"#,
        ] {
            assert!(asks_for_more(&Json::parse(more).expect("JSON")), "{more}");
        }
    }
}
