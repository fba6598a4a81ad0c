//! Arguments made up for a schema: what a random policy plays.
//!
//! **Invariants:** what is made is valid by the keywords of [`SUPPORTED`]; a schema that says more is an error that names what, and
//! never a guess; the same seed and schema give the same arguments; whatever the schema, it takes little time and memory.

mod format;
mod height;
mod maker;
mod number;
mod rng;
mod schema;
mod shape;

use std::fmt;

pub use rng::Random;

use self::maker::Maker;
use self::schema::Schemas;
use crate::json::Json;

/// The keywords of JSON Schema that arguments are made by. Those that only describe, such as `title`, are passed over; any other is
/// an error.
///
/// Some stand alone, or it is an error as well: `$ref` beside none of the others, `anyOf`, `enum` and `const` beside `type` only
/// (`enum` and `const` also beside each other). The formats of numbers, such as `uint32`, are limits where `type` has no `string`.
pub const SUPPORTED: [&str; 26] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "format",
    "anyOf",
    "$ref",
    "$defs",
    "definitions",
    "default",
    "examples",
    "nullable",
];

/// Why no arguments can be made for a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CannotSample {
    /// What is in the way, each with its place in the schema.
    pub problems: Vec<String>,
}

impl fmt::Display for CannotSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no arguments can be made: {}", self.problems.join("; "))
    }
}

impl std::error::Error for CannotSample {}

/// Makes up arguments that a schema allows.
///
/// ```
/// use serde_json::json;
/// use tinymcp::trajectory::Sampler;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {
///         "path": {"enum": ["a.txt", "b.txt"]},
///         "line": {"type": "integer", "minimum": 1, "maximum": 9},
///     },
///     "required": ["path", "line"],
/// });
/// let mut sampler = Sampler::new(42);
/// let arguments = sampler.arguments(&schema.into())?.to_value();
/// assert!(["a.txt", "b.txt"].contains(&arguments["path"].as_str().unwrap()));
/// assert!((1..=9).contains(&arguments["line"].as_i64().unwrap()));
/// # Ok::<(), tinymcp::trajectory::CannotSample>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sampler {
    random: Random,
}

impl Sampler {
    /// The sampler of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed) }
    }

    /// Its generator, for choices beside arguments.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// An object that `schema` allows, by the keywords of [`SUPPORTED`].
    ///
    /// # Errors
    /// When the schema has other keywords, or allows nothing that could be found.
    pub fn arguments(&mut self, schema: &Json) -> Result<Json, CannotSample> {
        let root = schema.to_value();
        let schemas = Schemas::of(&root);
        let problems = schemas.problems();
        if !problems.is_empty() {
            return Err(CannotSample { problems });
        }
        let made = Maker::new(&schemas, &mut self.random).arguments();
        made.map(Json::from).map_err(|problem| CannotSample { problems: vec![problem.to_string()] })
    }
}
