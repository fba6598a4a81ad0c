//! [`Validator`]: a value against the whole of a JSON Schema (feature `validation`).
//!
//! The judgement is that of the `jsonschema` crate; its types stay inside. This module puts bounds around it, because
//! schemas and values come from strangers: the size of a schema, its patterns, the work of one check, the problems
//! told. It resolves no reference that leaves the schema.
//!
//! **Invariant:** a check takes time and memory in proportion to the value and a fixed budget, whatever the schema.

mod counted;
mod problem;
mod schema;

use std::borrow::Cow;
use std::fmt;
use std::thread::{self, ScopedJoinHandle};

use jsonschema::PatternOptions;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;
use serde_json::value::RawValue;

use super::read::MAX_DEPTH;
use super::{Json, JsonError, repair_surrogates};
use counted::{Counted, CountedJson, STACK_BYTES, within};

/// The longest text of a schema.
const MAX_SCHEMA_BYTES: usize = 1024 * 1024;

/// How large a compiled pattern may be. Names in any script of up to 256 characters take a fraction of this.
const PATTERN_BYTES: usize = 1024 * 1024;

/// The stack of the thread that compiles. Only what is used of it takes memory; a debug build needs 4 MiB at most.
const STACK_TO_COMPILE: usize = 32 * 1024 * 1024;

/// So many problems of one value are told.
const PROBLEMS: usize = 20;

/// What one check may cost, whatever the value: looks at its parts, at some 10 ns each.
const STEPS: u64 = 1_000_000;

/// And so many more for each byte of the value. Going through a list of digits once takes two.
const STEPS_A_BYTE: u64 = 16;

/// The same for telling what is wrong, where each problem costs as much memory as 250 looks: of a list of a million wrong
/// items only the first is told, which takes no memory.
const STEPS_A_BYTE_TO_TELL: u64 = 4;

/// A JSON Schema that values can be compared with (feature `validation`).
///
/// - **Dialects**: 2020-12, which is also meant if there is no `$schema`, 2019-09, and drafts 7, 6 and 4.
/// - **References**: only those that stay inside the schema (`#/$defs/x`, `$anchor`, an `$id` in it) and those to the
///   dialects' own schemas. Nothing is ever fetched.
/// - **`format`**, `contentEncoding` and `contentMediaType` are annotations: they are not compared.
/// - **Patterns** are matched in linear time; look-around and back-references are therefore errors of the schema.
/// - **Numbers**: integers are exact up to 64 bits; larger ones, and others, are compared as 64-bit floating point.
///
/// Compiling takes some time, a check little: keep the validator. It can be shared by threads.
///
/// ```
/// use tinymcp::json::{Json, Validator};
///
/// let schema = Json::parse(
///     r#"{"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}, "required": ["id"]}"#,
/// )?;
/// let validator = Validator::compile(&schema)?;
/// validator.check(Json::parse(r#"{"id": 1, "tags": ["a"]}"#)?.as_raw()).expect("it fits");
///
/// let problems = validator.check(Json::parse(r#"{"tags": ["a", 5]}"#)?.as_raw()).unwrap_err();
/// let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
/// assert_eq!(problems, ["id: missing", "tags[1]: expected a string, found 5"]);
///
/// let elsewhere = Json::parse(r#"{"$ref": "https://example.com/schema.json"}"#)?;
/// assert_eq!(
///     Validator::compile(&elsewhere).unwrap_err().to_string(),
///     "$ref leads out of the schema: https://example.com/schema.json",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Validator {
    compiled: jsonschema::Validator<CountedJson>,
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Its `$schema` names a dialect that is not known here.
    // spec: 2026-07-28 basic/index#implementation-requirements (an error that says that the dialect is not supported)
    #[error("unsupported dialect: {0}")]
    UnsupportedDialect(String),

    /// It refers to something outside of it, which is never fetched.
    // spec: 2026-07-28 basic/index#ref-resolution (MUST NOT be dereferenced; SHOULD be rejected)
    #[error("$ref leads out of the schema: {0}")]
    OutsideReference(String),

    /// It is larger, deeper or more entangled than is accepted.
    // spec: 2026-07-28 basic/index#composition-keyword-resource-use
    #[error("{0}")]
    TooLarge(String),

    /// It is no schema of its dialect.
    #[error("{0}")]
    Invalid(JsonError),
}

impl Validator {
    /// Reads a schema.
    ///
    /// # Errors
    /// When it is longer than 1 MiB, nested deeper than 128 levels, not a schema of its dialect, of a dialect that is not
    /// known, refers to something outside of it, or has a pattern that cannot be matched in linear time.
    pub fn compile(schema: &Json) -> Result<Self, SchemaError> {
        if schema.as_str().len() > MAX_SCHEMA_BYTES {
            return Err(SchemaError::TooLarge(format!("the schema exceeds {MAX_SCHEMA_BYTES} bytes")));
        }
        let mut tree = tree(schema.as_str()).map_err(|e| SchemaError::TooLarge(e.to_string()))?;
        if !tree.is_object() && !tree.is_boolean() {
            return Err(SchemaError::Invalid(JsonError::expected("an object", schema.as_raw())));
        }
        schema::prepare(&mut tree)?;
        // Compiling goes down a reference inside a part inside a reference: deeper than the stack of some threads. A schema
        // nobody thought of must cost its tool, not the process.
        let compiled = thread::scope(|scope| {
            let work = thread::Builder::new().name("mcp-schema".to_owned()).stack_size(STACK_TO_COMPILE);
            // Ends with the compiling, which is waited for.
            work.spawn_scoped(scope, || build(&tree)).map(ScopedJoinHandle::join)
        });
        match compiled {
            Ok(Ok(built)) => built.map(|compiled| Self { compiled }),
            Ok(Err(_)) => Err(SchemaError::Invalid(JsonError::new("the schema cannot be compiled"))),
            Err(e) => Err(SchemaError::TooLarge(format!("no thread to compile the schema: {e}"))),
        }
    }

    /// Compares `value` with the schema.
    ///
    /// # Errors
    /// What is wrong with it, at most 20 problems, each with its place. Also when it is nested deeper than 128 levels, or
    /// when finding out takes more than a million steps and 16 a byte: schemas can be written whose alternatives take
    /// for ever to try.
    pub fn check(&self, value: &RawValue) -> Result<(), Vec<JsonError>> {
        let text = value.get();
        let tree = tree(text).map_err(|e| vec![e])?;
        let root = Counted(&tree);
        let steps = STEPS + STEPS_A_BYTE * text.len() as u64;
        match within(steps, || self.compiled.is_valid(root)) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(_) => {
                return Err(vec![JsonError::new(format!(
                    "comparing it takes more than {steps} steps or {STACK_BYTES} bytes of stack"
                ))]);
            }
        }
        // Whether it fits is found out faster than why it does not: that asks every alternative, at every level anew.
        let all = within(STEPS + STEPS_A_BYTE_TO_TELL * text.len() as u64, || {
            let mut problems = Vec::new();
            for error in self.compiled.iter_errors(root) {
                if problems.len() == PROBLEMS {
                    break;
                }
                problem::add(&mut problems, &error, &tree);
            }
            problems
        });
        let first = || {
            within(steps, || {
                let mut problems = Vec::new();
                if let Err(error) = self.compiled.validate(root) {
                    problem::add(&mut problems, &error, &tree);
                }
                problems
            })
        };
        Err(match all.or_else(|_| first()) {
            Ok(problems) if !problems.is_empty() => problems,
            _ => vec![JsonError::new("does not fit the schema, in too many ways to tell which")],
        })
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator").finish_non_exhaustive()
    }
}

fn build(schema: &Value) -> Result<jsonschema::Validator<CountedJson>, SchemaError> {
    let options = jsonschema::options_for::<CountedJson>()
        .offline()
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES))
        .should_validate_formats(false)
        .without_content_media_type_support("application/json")
        .without_content_encoding_support("base64")
        .without_content_encoding_support("base64url");
    options.build(schema).map_err(|error| refused(&error, schema))
}

/// What the crate says about a schema, in our words.
fn refused(error: &jsonschema::ValidationError<'_>, schema: &Value) -> SchemaError {
    if let ValidationErrorKind::Referencing(problem) = error.kind() {
        return match problem {
            jsonschema::ReferencingError::Unretrievable { uri, .. } => {
                SchemaError::OutsideReference(uri.clone())
            }
            jsonschema::ReferencingError::UnknownSpecification { specification } => {
                SchemaError::UnsupportedDialect(specification.clone())
            }
            other => {
                SchemaError::Invalid(JsonError::new(format!("$ref: {}", lower_case(&other.to_string()))))
            }
        };
    }
    let mut problems = Vec::new();
    problem::add(&mut problems, error, schema);
    SchemaError::Invalid(problems.pop().unwrap_or_else(|| JsonError::new("no schema")))
}

fn lower_case(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// The value that `text`, which is JSON, stands for. What no tree of serde_json can hold becomes what is nearest to it:
/// numbers beyond a double the largest one, halves of surrogate pairs U+FFFD.
fn tree(text: &str) -> Result<Value, JsonError> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let repaired = repair_surrogates(text).map_or(Cow::Borrowed(text), Cow::Owned);
    serde_json::from_str(&finite(&repaired)).map_err(|error| {
        let is_deep = error.to_string().starts_with("recursion limit");
        let deep = format!("nested more than {MAX_DEPTH} levels deep");
        JsonError::new(if is_deep { deep } else { format!("cannot be read: {error}") })
    })
}

/// `text` with numbers that are too large for a double replaced by the largest.
fn finite(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, token) = rest.split_at(at);
        out += before;
        let end = match token.strip_prefix('"') {
            Some(inside) => closing_quote(inside).map(|at| at + 2),
            None => token.find(|c: char| !matches!(c, '+' | '-' | '.' | 'e' | 'E') && !c.is_ascii_digit()),
        };
        let (token, after) = token.split_at(end.unwrap_or(token.len()));
        match token.parse::<f64>() {
            Ok(number) if number.is_infinite() => out += &format!("{:e}", f64::MAX.copysign(number)),
            _ => out += token,
        }
        rest = after;
    }
    out + rest
}

/// Where the string that began before `text` ends.
fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tree_cannot_hold_becomes_what_is_nearest() {
        for (text, want) in [
            (
                r#"{"1e999":"1e999 \"-1e999\\","n":[1e400,-1e400,5]}"#,
                r#"{"1e999":"1e999 \"-1e999\\","n":[1.7976931348623157e308,-1.7976931348623157e308,5]}"#,
            ),
            ("1e400", "1.7976931348623157e308"),
            (r#""\"""#, r#""\"""#),
            (r#"["\\",1e400]"#, r#"["\\",1.7976931348623157e308]"#),
        ] {
            assert_eq!(finite(text), want);
        }
        assert_eq!(tree(r#"["cut \ud83d", 1e400]"#), Ok(serde_json::json!(["cut \u{fffd}", f64::MAX])));
        let deep = format!("{}1e400{}", "[1e400,".repeat(200), "]".repeat(200));
        assert_eq!(tree(&deep).expect_err("deep").to_string(), "nested more than 128 levels deep");
    }
}
