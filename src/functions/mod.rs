//! Function calling: tools in the formats of language models' interfaces, both ways.
//!
//! ```text
//!  ToolRegistry ──▶ Functions ──▶ `tools` of a request ──▶ model ──▶ its message ──▶ calls ──▶ registry or caller ──▶ messages
//! ```
//!
//! **Invariants:** every call of a model has exactly one answer, whatever is wrong with it; a name that a format does not take is mapped by
//! a table, and back; values stay the text they are, so that numbers are exact.

mod answer;
mod calls;
mod dispatch;
mod names;

use std::collections::BTreeMap;
use std::fmt;

pub use calls::FunctionCall;
#[cfg(feature = "host")]
pub(crate) use names::fitted;

use crate::context::Context;
use crate::json::{Json, JsonError, Members, Object};
use crate::protocol::ToolDefinition;
use crate::tool::{Arguments, FnTool, ToolError, ToolOutput, ToolRegistry};

/// The interface of a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Chat Completions of OpenAI, and of everybody who speaks it: `{"type": "function", "function": {"name", "description", "parameters"}}`;
    /// calls are `tool_calls` of a message, whose arguments are a JSON *string*; answers are messages of the role `tool`.
    OpenAi,
    /// The Responses of OpenAI: the same flat; calls are items `function_call`, answers items `function_call_output`.
    OpenAiResponses,
    /// The Messages of Anthropic: `{"name", "description", "input_schema"}`; calls are blocks `tool_use`, whose input is an object; answers
    /// are blocks `tool_result` of one message of the user.
    Anthropic,
}

/// Tools as a language model sees them, and the way back to them.
///
/// It is made of what there is when it is made: make another when tools change.
///
/// ```
/// use tinymcp::functions::{Format, Functions};
/// use tinymcp::json::Json;
/// use tinymcp::{Context, ToolRegistry, tool};
///
/// let tools = ToolRegistry::new().with(tool! {
///     /// Add two numbers
///     fn add(a: i64, b: i64) -> i64 { a + b }
/// })?;
/// let functions = Functions::of(&tools, Format::OpenAi);
/// assert_eq!(functions.tools().to_value()[0]["function"]["name"], "add");
///
/// // What the model says, from `choices[0].message` of its answer:
/// let message = Json::parse(
///     r#"{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1, \"b\": 2}"}}]}"#,
/// )?;
/// let answers = functions.dispatch(&message, &tools, &Context::detached())?;
/// assert_eq!(answers[0].as_str(), r#"{"content":"3","role":"tool","tool_call_id":"c1"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Functions {
    format: Format,
    definitions: Vec<Json>,
    /// The tool of each function. Bound: the tools it was made of.
    names: BTreeMap<String, String>,
}

impl Functions {
    /// The tools of `registry` in `format`.
    #[must_use]
    pub fn of(registry: &ToolRegistry, format: Format) -> Self {
        Self::of_definitions(&registry.definitions(), format)
    }

    /// These tools in `format`: those that a [`Caller`](crate::client::Caller) lists, for example.
    ///
    /// Schemas pass as they are. A name of other characters than letters, digits, `_` and `-`, or longer than 64, is changed: the same one
    /// always in the same way, and those that would be equal get a number.
    #[must_use]
    pub fn of_definitions(tools: &[ToolDefinition], format: Format) -> Self {
        let mut functions =
            Self { format, definitions: Vec::with_capacity(tools.len()), names: BTreeMap::new() };
        let names = names::all(tools.iter().map(|tool| tool.name.as_str()));
        for (tool, name) in tools.iter().zip(names) {
            functions.definitions.push(described(format, &name, tool));
            functions.names.insert(name, tool.name.clone());
        }
        functions
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// What a request to the model has as `tools`: a JSON array.
    #[must_use]
    pub fn tools(&self) -> Json {
        array(&self.definitions)
    }

    /// The tool that is meant by the name of a function.
    #[must_use]
    pub fn tool(&self, function: &str) -> Option<&str> {
        self.names.get(function).map(String::as_str)
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Functions")
            .field("format", &self.format)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

fn described(format: Format, name: &str, tool: &ToolDefinition) -> Json {
    let mut function = Object::new();
    if format == Format::OpenAiResponses {
        function.insert("type", "function");
    }
    function.insert("name", name);
    if let Some(description) = &tool.description {
        function.insert("description", description);
    }
    let schema = if format == Format::Anthropic { "input_schema" } else { "parameters" };
    function.insert(schema, &tool.input_schema);
    if format == Format::OpenAi {
        let mut outer = Object::new();
        outer.insert("type", "function");
        outer.insert("function", &Json::from(function));
        return outer.into();
    }
    function.into()
}

fn array(items: &[Json]) -> Json {
    let items: Vec<&str> = items.iter().map(Json::as_str).collect();
    // Each of them is JSON, so that the whole is.
    Json::parse(&format!("[{}]", items.join(","))).unwrap_or_else(|_| Json::null())
}

/// Makes tools of functions that a program has already, so that it can serve them: `definitions` is its `tools` array in any of the
/// formats, and `run` is called with the name of the function and the arguments.
///
/// ```
/// use tinymcp::functions::import;
/// use tinymcp::json::Json;
/// use tinymcp::{Server, ToolError, ToolRegistry};
///
/// let definitions = Json::parse(
///     r#"[{"type": "function", "function": {"name": "greet", "description": "Greet", "parameters": {"type": "object"}}}]"#,
/// )?;
/// let tools = ToolRegistry::new();
/// for tool in import(&definitions, |name, _arguments| Ok::<_, ToolError>(format!("{name} was called")))? {
///     tools.register(tool)?;
/// }
/// let server = Server::builder("greeter", "1.0.0").tools(tools).build()?;
/// # drop(server);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When it is no array of functions: which one, and what is wrong with it.
pub fn import<R: ToolOutput + 'static>(
    definitions: &Json,
    run: impl Fn(&str, Arguments<'_>) -> Result<R, ToolError> + Clone + Send + Sync + 'static,
) -> Result<Vec<FnTool>, JsonError>
where
    Result<R, ToolError>: ToolOutput,
{
    let all: Vec<Json> =
        definitions.to().map_err(|_| JsonError::expected("an array", definitions.as_raw()))?;
    let one = |(index, json): (usize, &Json)| {
        let read = || {
            let mut outer = Members::of(json.as_raw())?;
            let mut function = match outer.take("function") {
                Some(inner) => Members::of(inner).map_err(|e| e.inside("function"))?,
                None => outer,
            };
            let name: String = function.required("name")?;
            let description = function.lenient::<String>("description").unwrap_or_default();
            let schema = function.take("parameters").or_else(|| function.take("input_schema"));
            let schema = schema.and_then(|schema| Json::parse(schema.get()).ok());
            let schema = schema.unwrap_or_else(|| Json::from(r#"{"type":"object"}"#.to_owned()));
            Ok((name, description, schema))
        };
        let (name, description, schema) = read().map_err(|e: JsonError| e.at(index))?;
        let (run, called) = (run.clone(), name.clone());
        Ok(FnTool::new(name, description, schema, move |arguments: Arguments<'_>, _: &Context| {
            run(&called, arguments)
        }))
    };
    all.iter().enumerate().map(one).collect()
}
