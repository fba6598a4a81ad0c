//! What the validator found, in the words of this crate: `tags[1]: expected a string, found 5`.

use std::io;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::PROBLEMS;
use crate::json::JsonError;
use crate::json::shortened as short;

/// So many alternatives are told about when none fits.
const ALTERNATIVES: usize = 5;

/// And of the alternatives inside them, and so on. Longer sentences nobody understands.
const DEPTH: usize = 2;

/// The characters of a member's name that are repeated.
const NAME: usize = 100;

/// The characters of a list of words, or of what another part said, that are repeated.
const LONG: usize = 200;

/// Adds what `error` says of a part of `root`, unless it was said already.
pub(super) fn add(problems: &mut Vec<JsonError>, error: &ValidationError<'_>, root: &Value) {
    for problem in describe(error, root, 0, DEPTH) {
        if problems.len() < PROBLEMS && !problems.contains(&problem) {
            problems.push(problem);
        }
    }
}

/// `error` and where it is, seen from `from` levels below the root; one for each member if several are unknown.
fn describe(error: &ValidationError<'_>, root: &Value, from: usize, depth: usize) -> Vec<JsonError> {
    let (way, value) = way(error, root);
    let here = match error.kind() {
        Kind::Required { property } => {
            vec![JsonError::new("missing").inside(&short(property.as_str().unwrap_or_default(), NAME))]
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unknown(unexpected.iter())
        }
        // Where no member is declared, the crate gives the place of the object.
        Kind::FalseSchema if error.schema_path().as_str().ends_with("Properties") => {
            unknown(value.and_then(Value::as_object).iter().flat_map(|object| object.keys()))
        }
        Kind::FalseSchema => vec![JsonError::new("nothing is allowed here")],
        _ => vec![JsonError::new(sentence(error, root, depth))],
    };
    let placed = |problem| {
        way.iter().skip(from).rev().fold(problem, |problem: JsonError, (name, index)| match index {
            Some(index) => problem.at(*index),
            None => problem.inside(&short(name, NAME)),
        })
    };
    here.into_iter().map(placed).collect()
}

fn unknown<'a>(names: impl Iterator<Item = &'a String>) -> Vec<JsonError> {
    names.take(PROBLEMS).map(|name| JsonError::new("unknown member").inside(&short(name, NAME))).collect()
}

/// The way from the root to what `error` is about, and what stands there. The crate tells members from items by their
/// names, which `"0"` is too; the value knows.
fn way<'a>(
    error: &ValidationError<'_>,
    root: &'a Value,
) -> (Vec<(String, Option<usize>)>, Option<&'a Value>) {
    let mut at = Some(root);
    let mut way = Vec::new();
    for segment in error.instance_path() {
        let segment = segment.to_string();
        let index = at.and_then(Value::as_array).and_then(|_| segment.parse().ok());
        at = match index {
            Some(index) => at.and_then(|list| list.get::<usize>(index)),
            None => at.and_then(|object| object.get(&segment)),
        };
        way.push((segment, index));
    }
    (way, at)
}

fn sentence(error: &ValidationError<'_>, root: &Value, depth: usize) -> String {
    let found = found(error.instance());
    let expected = |what: &str| format!("expected {what}, found {found}");
    match error.kind() {
        Kind::Type { kind } => expected(&types(kind).join(" or ")),
        Kind::Enum { options } => match options.as_array() {
            Some(words) => expected(&format!("one of {}", short(&listed(words), LONG))),
            None => expected(&short(&options.to_string(), LONG)),
        },
        Kind::Constant { expected_value } => expected(&short(&expected_value.to_string(), LONG)),
        Kind::Minimum { limit } => expected(&format!("at least {limit}")),
        Kind::Maximum { limit } => expected(&format!("at most {limit}")),
        Kind::ExclusiveMinimum { limit } => expected(&format!("more than {limit}")),
        Kind::ExclusiveMaximum { limit } => expected(&format!("less than {limit}")),
        Kind::MultipleOf { multiple_of } => expected(&format!("a multiple of {multiple_of}")),
        Kind::MinLength { limit } => expected(&format!("at least {}", counted(*limit, "character"))),
        Kind::MaxLength { limit } => expected(&format!("at most {}", counted(*limit, "character"))),
        Kind::MinItems { limit } => expected(&format!("at least {}", counted(*limit, "item"))),
        Kind::MaxItems { limit } => expected(&format!("at most {}", counted(*limit, "item"))),
        Kind::AdditionalItems { limit } => expected(&format!("at most {}", counted(*limit as u64, "item"))),
        Kind::MinProperties { limit } => expected(&format!("at least {}", counted(*limit, "member"))),
        Kind::MaxProperties { limit } => expected(&format!("at most {}", counted(*limit, "member"))),
        Kind::UniqueItems => expected("no item twice"),
        Kind::Contains => expected("an item of the kind that `contains` asks for"),
        Kind::UnevaluatedItems { .. } => expected("no further items"),
        Kind::Pattern { pattern } => expected(&format!("text like {}", short(pattern, LONG))),
        Kind::Format { format } if format == "regex" => {
            expected("a pattern of bounded size without look-around and back-references")
        }
        Kind::Format { format } => expected(&format!("text of format {format}")),
        Kind::Not { schema } => expected(&format!("what does not fit {}", short(&schema.to_string(), LONG))),
        Kind::PropertyNames { error } => format!("a member's name: {}", sentence(error, root, depth)),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => none_fits(error, context, root, depth),
        Kind::OneOfMultipleValid { .. } => expected("what fits one of the alternatives only"),
        // Whatever the validator learns beyond that: it may quote the whole value.
        _ => short(&error.to_string(), LONG),
    }
}

/// Why none of the alternatives fits: their types if that is all, else the first problem of each.
fn none_fits(
    error: &ValidationError<'_>,
    alternatives: &[Vec<ValidationError<'static>>],
    root: &Value,
    depth: usize,
) -> String {
    // Their problems are seen from here.
    let from = error.instance_path().into_iter().count();
    let kinds = alternatives.iter().map(|errors| match errors.as_slice() {
        [error] if error.instance_path().into_iter().count() == from => match error.kind() {
            Kind::Type { kind } => Some(types(kind)),
            _ => None,
        },
        _ => None,
    });
    if let Some(kinds) = kinds.collect::<Option<Vec<_>>>().filter(|kinds| !kinds.is_empty()) {
        return format!("expected {}, found {}", kinds.concat().join(" or "), found(error.instance()));
    }
    let Some(depth) = depth.checked_sub(1) else {
        return format!("fits none of {} alternatives", alternatives.len());
    };
    let first = |errors: &Vec<ValidationError<'static>>| {
        describe(errors.first()?, root, from, depth).into_iter().next()
    };
    let told: Vec<_> = alternatives
        .iter()
        .filter_map(first)
        .take(ALTERNATIVES)
        .map(|problem| short(&problem.to_string(), LONG))
        .collect();
    format!("fits none of {} alternatives ({})", alternatives.len(), told.join(" | "))
}

/// With their articles.
fn types(kind: &TypeKind) -> Vec<&'static str> {
    let described = |kind: JsonType| match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "a list",
        JsonType::Object => "an object",
    };
    match kind {
        TypeKind::Single(kind) => vec![described(*kind)],
        TypeKind::Multiple(kinds) => {
            let mut kinds: Vec<_> = kinds.iter().map(described).collect();
            kinds.sort_by_key(|kind| *kind == "null"); // last, as people say it
            kinds
        }
    }
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The words in a row; only as many as are shown.
fn listed(words: &[Value]) -> String {
    let words: Vec<_> = words.iter().take(LONG / 2).map(ToString::to_string).collect();
    words.join(", ")
}

/// The beginning of a value's text. The rest is not even written: it may be megabytes.
fn found(value: &Value) -> String {
    struct Beginning(Vec<u8>);
    impl io::Write for Beginning {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.len() > LONG {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0.extend_from_slice(&bytes[..bytes.len().min(LONG)]);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut text = Beginning(Vec::new());
    // It ends with an error when there is enough.
    let _ = serde_json::to_writer(&mut text, value);
    short(&String::from_utf8_lossy(&text.0), 40)
}
