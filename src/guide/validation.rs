//! Validation: whether arguments and results fit their schemas.
//!
//! A tool has a JSON Schema of its arguments, and may have one of its results. How much of it is compared depends on where the schema comes
//! from, and on the feature `validation`.
//!
//! | | by default | with the feature `validation` |
//! |---|---|---|
//! | a tool made by [`tool!`](macro@crate::tool) | its arguments are read by their types | the same; structured results are compared as well |
//! | a schema given at run time, [`FnTool::new`](crate::FnTool::new) | types, required and unknown members, `enum`, `const`, `items` | all of it |
//! | [`output_schema`](crate::FnTool::output_schema) | not compared | structured results are compared with it, by the server and the client |
//! | a form that a client answers | kinds, bounds and choices of its fields, by both sides | all of its schema |
//! | a remote tool in a local registry | its arguments are not compared before they are sent | they are, if its schema can be used |
//! | a client's calls | their arguments are not compared | results are compared with the output schemas it has listed |
//!
//! ```
//! use serde_json::json;
//! use tinymcp::{Context, FnTool, Server, ToolError, ToolRegistry, testing};
//!
//! let schema = json!({
//!     "$schema": "https://json-schema.org/draft/2020-12/schema",
//!     "type": "object",
//!     "properties": {"count": {"type": "integer", "minimum": 1}, "colour": {"enum": ["red", "blue"]}},
//!     "required": ["count"],
//! });
//! let paint = FnTool::new("paint", "", schema, |_, _: &Context| Ok::<_, ToolError>("painted"));
//! let client = testing::pair(&Server::builder("s", "1").tools(ToolRegistry::new().with(paint)?).build()?)?;
//!
//! let failed = client.call_tool("paint", json!({"colour": "green"}))?;
//! assert!(failed.is_error() && failed.text_content().contains("count: missing"), "{}", failed.text_content());
//! let zero = client.call_tool("paint", json!({"count": 0}))?;
//! assert_eq!(zero.is_error(), cfg!(feature = "validation")); // `minimum` takes the feature
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Bad arguments are a failed result in every revision, so that the model reads what was wrong and tries again.
//!
//! # JSON Schema 2020-12
//!
//! It is the dialect that the protocol means, and the one of all schemas this crate writes. `json::Validator` (feature `validation`)
//! compares with all of it, and with 2019-09 and drafts 7, 6 and 4 if a schema names them:
//!
//! ```
//! # #[cfg(feature = "validation")] {
//! use tinymcp::json::{Json, Validator};
//!
//! let schema = Json::parse(
//!     r##"{"$defs": {"id": {"type": "string", "pattern": "^[a-z]+$"}},
//!          "type": "array", "prefixItems": [{"$ref": "#/$defs/id"}], "items": false}"##,
//! )?;
//! let validator = Validator::compile(&schema)?;
//! assert!(validator.check(Json::parse(r#"["abc"]"#)?.as_raw()).is_ok());
//! assert!(validator.check(Json::parse(r#"["abc", 1]"#)?.as_raw()).is_err());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rules
//!
//! - A schema that cannot be used is refused when its tool is registered: its author hears of it, not its callers.
//! - Nothing is ever fetched: a `$ref` must stay inside the schema.
//! - The work of one comparison is [bounded](crate::guide::limits), whatever the schema and the value.
//! - Only alternatives at each level of a deep value can be too many to compare, or to tell what is wrong. That work is ended by
//!   unwinding, which a program built with `panic = "abort"` does not survive.
//! - A client that trusts its servers saves the comparison by `ClientBuilder::trust_results`.
//! - The feature adds 52 crates and 4.6 MB.
