//! [`FnTool`]: a tool made of a closure.

use std::fmt;

use super::call::{Call, bad_arguments};
use super::check::Check;
#[cfg(feature = "validation")]
use super::checked::{Validation, asks_for_more};
use super::{Arguments, TaskMode, Tool, ToolError, ToolOutput};
use crate::context::Context;
use crate::json::{Json, Members};
use crate::protocol::{CallToolResult, Icon, ToolAnnotations, ToolDefinition};

type Outcome = Result<CallToolResult, ToolError>;

/// A tool made of a closure: by [`tool!`](macro@crate::tool) if its parameters are known when it is written, by
/// [`FnTool::new`] if they come at run time.
///
/// ```
/// use tinymcp::{Arguments, Context, Tool};
///
/// let read_file = tinymcp::tool! {
///     /// Read a file
///     fn read_file(path: String) -> String { format!("contents of {path}") }
/// }
/// .title("Read a file")
/// .read_only();
///
/// let result = read_file.execute(Arguments::from_text(r#"{"path": "a.txt"}"#)?, &Context::detached())?;
/// assert_eq!(result.text_content(), "contents of a.txt");
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
pub struct FnTool {
    definition: ToolDefinition,
    task_mode: TaskMode,
    run: Box<dyn Run>,
}

/// The closure and how its arguments are judged. A trait and not an enum, so that a program without run-time tools does
/// not contain the check of their arguments.
trait Run: Send + Sync {
    fn run(&self, arguments: Arguments<'_>, cx: &Context) -> Outcome;

    /// Unknown arguments are errors from now on, as `schema` says.
    fn deny_unknown(&mut self, schema: &Json);

    /// Whether the arguments are read by types, which asks for all that a schema made of them does.
    #[cfg(feature = "validation")]
    fn reads_types(&self) -> bool;
}

/// The closure reads its arguments itself.
struct Declared<F> {
    run: F,
    is_strict: bool,
}

/// The arguments are compared with the schema before.
struct Checked<F> {
    run: F,
    check: Check,
}

impl<R, F> Run for Declared<F>
where
    R: ToolOutput,
    F: for<'a> Fn(&mut Call<'a>) -> Result<R, ToolError> + Send + Sync,
{
    fn run(&self, arguments: Arguments<'_>, cx: &Context) -> Outcome {
        let mut call = Call::new(&arguments, cx, self.is_strict)?;
        (self.run)(&mut call)?.into_result()
    }

    fn deny_unknown(&mut self, _schema: &Json) {
        self.is_strict = true;
    }

    #[cfg(feature = "validation")]
    fn reads_types(&self) -> bool {
        true
    }
}

impl<R, F> Run for Checked<F>
where
    R: ToolOutput,
    F: Fn(Arguments<'_>, &Context) -> R + Send + Sync,
{
    fn run(&self, arguments: Arguments<'_>, cx: &Context) -> Outcome {
        let arguments = self.check.apply(arguments).map_err(|problems| bad_arguments(&problems))?;
        (self.run)(arguments, cx).into_result()
    }

    fn deny_unknown(&mut self, schema: &Json) {
        self.check = Check::compile(schema.as_raw());
    }

    #[cfg(feature = "validation")]
    fn reads_types(&self) -> bool {
        false
    }
}

impl FnTool {
    /// A tool whose schema is known only at run time, from a file for example. The schema passes to clients as it is;
    /// registration refuses it if it is not the schema of an object.
    ///
    /// Calls are compared with it as far as types, required and unknown members, `enum` and `items` go,
    /// after leniency: `null` for a member that is not required is left out, and a string becomes the number,
    /// boolean, list or object that the schema asks for. Arguments that need no such help arrive with
    /// their exact text. With the feature `validation` a registry compares them with the whole schema.
    ///
    /// ```
    /// use serde_json::json;
    /// use tinymcp::{Arguments, Context, FnTool, Tool};
    ///
    /// let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    /// let echo = FnTool::new("echo", "Returns its arguments", schema, |arguments, _cx| arguments.as_str().to_owned());
    ///
    /// let call = |text| echo.execute(Arguments::from_text(text)?, &Context::detached());
    /// assert_eq!(call(r#"{"n": "30"}"#)?.text_content(), r#"{"n":30}"#);
    /// assert_eq!(call("{}").unwrap_err().to_string(), "bad arguments for tool echo: n: missing");
    /// # Ok::<(), tinymcp::ToolError>(())
    /// ```
    pub fn new<R: ToolOutput>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: impl Into<Json>,
        run: impl Fn(Arguments<'_>, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let schema = schema.into();
        let check = Check::compile(schema.as_raw());
        Self::of::<R>(name.into(), description.into(), schema, Box::new(Checked { run, check }))
    }

    pub(crate) fn declared<R: ToolOutput>(
        name: &str,
        description: String,
        schema: Json,
        run: impl for<'a> Fn(&mut Call<'a>) -> Result<R, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self::of::<R>(name.to_owned(), description, schema, Box::new(Declared { run, is_strict: false }))
    }

    fn of<R: ToolOutput>(name: String, description: String, schema: Json, run: Box<dyn Run>) -> Self {
        let mut definition = ToolDefinition::new(name, schema);
        definition.description = Some(description).filter(|text| !text.is_empty());
        definition.output_schema = R::output_schema();
        Self { definition, task_mode: TaskMode::Never, run }
    }

    /// Gives it another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.definition.name = name.into();
        self
    }

    /// Sets the name that people see.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// Declares that it changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.hint(|hints| hints.read_only_hint = Some(true))
    }

    /// Declares whether it may destroy something, which clients assume of a tool that is not read-only.
    #[must_use]
    pub fn destructive(self, destructive: bool) -> Self {
        self.hint(|hints| hints.destructive_hint = Some(destructive))
    }

    /// Declares that calling it again with the same arguments changes nothing more. A client may then
    /// repeat a call whose answer was lost.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.hint(|hints| hints.idempotent_hint = Some(true))
    }

    /// Declares whether it deals with the world outside, which clients assume.
    #[must_use]
    pub fn open_world(self, open_world: bool) -> Self {
        self.hint(|hints| hints.open_world_hint = Some(open_world))
    }

    /// Says whether calls of it become tasks. Default: never.
    #[must_use]
    pub fn task_mode(mut self, mode: TaskMode) -> Self {
        self.task_mode = mode;
        self.definition.execution = mode.execution();
        self
    }

    /// Replaces all hints.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.definition.annotations = Some(annotations);
        self
    }

    /// Adds an icon.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.get_or_insert_default().push(icon);
        self
    }

    /// Sets the schema of its structured results, which otherwise follows from the type it returns.
    #[must_use]
    pub fn output_schema(mut self, schema: impl Into<Json>) -> Self {
        self.definition.output_schema = Some(schema.into());
        self
    }

    /// Refuses calls with arguments that it does not know, and says so in its schema. Otherwise they
    /// are ignored with a debug line in the log: models invent some now and then.
    #[must_use]
    pub fn deny_unknown_arguments(mut self) -> Self {
        let schema = with_member(&self.definition.input_schema, "additionalProperties", "false");
        self.run.deny_unknown(&schema);
        self.definition.input_schema = schema;
        self
    }

    fn hint(mut self, set: impl FnOnce(&mut ToolAnnotations)) -> Self {
        set(self.definition.annotations.get_or_insert_default());
        self
    }
}

/// `object` with the member `name` set to `value`, everything else unchanged; what is no object stays as it is.
fn with_member(object: &Json, name: &str, value: &str) -> Json {
    let Ok(members) = Members::of(object.as_raw()) else {
        return object.clone();
    };
    let mut text = String::from("{");
    for (key, raw) in members.iter().filter(|(key, _)| *key != name) {
        text += &format!("{}:{},", Json::from(key), raw.get());
    }
    text += &format!("{}:{value}}}", Json::from(name));
    Json::parse(&text).unwrap_or_else(|_| object.clone())
}

impl Tool for FnTool {
    fn name(&self) -> &str {
        &self.definition.name
    }

    fn description(&self) -> &str {
        self.definition.description.as_deref().unwrap_or_default()
    }

    fn parameters(&self) -> &Json {
        &self.definition.input_schema
    }

    fn execute(&self, arguments: Arguments<'_>, cx: &Context) -> Outcome {
        self.run.run(arguments, cx).map_err(|e| e.of_tool(&self.definition.name))
    }

    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn task_mode(&self) -> TaskMode {
        self.task_mode
    }

    #[cfg(feature = "validation")]
    fn validation(&self) -> Validation {
        match self.run.reads_types() && !asks_for_more(&self.definition.input_schema) {
            true => Validation::default().without_arguments(),
            false => Validation::default(),
        }
    }
}

impl fmt::Debug for FnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool").field("definition", &self.definition).finish_non_exhaustive()
    }
}
