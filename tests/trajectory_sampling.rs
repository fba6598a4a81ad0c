//! Arguments that are made up are valid, by a validator that knows nothing of how they were made.

use serde_json::{Value, json};
use tinymcp::json::{Json, Validator};
use tinymcp::trajectory::{CannotSample, Sampler};

fn made(schema: &Value, seed: u64) -> Result<Value, CannotSample> {
    Sampler::new(seed).arguments(&Json::from(schema.clone())).map(|json| json.to_value())
}

#[test]
fn what_is_made_is_valid() {
    let schemas = [
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
        json!({"type": "object", "properties": {
            "word": {"type": "string"}, "short": {"type": "string", "maxLength": 2}, "long": {"type": "string", "minLength": 40},
            "exact": {"type": "string", "minLength": 5, "maxLength": 5}, "none": {"type": "string", "maxLength": 0},
        }, "required": ["word", "short", "long", "exact", "none"]}),
        json!({"type": "object", "properties": {
            "any": {"type": "integer"}, "low": {"type": "integer", "minimum": 1_000_000}, "high": {"type": "integer", "maximum": -5},
            "open": {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}, "step": {"type": "integer", "multipleOf": 7},
            "between": {"type": "integer", "minimum": 1.5, "maximum": 2.5}, "large": {"type": "integer", "minimum": 9_007_199_254_740_993_u64},
        }, "required": ["any", "low", "high", "open", "step", "between", "large"]}),
        json!({"type": "object", "properties": {
            "any": {"type": "number"}, "unit": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "tiny": {"type": "number", "minimum": 0.001, "maximum": 0.002}, "one": {"type": "number", "minimum": 3, "maximum": 3},
        }, "required": ["any", "unit", "tiny", "one"]}),
        json!({"type": "object", "properties": {
            "some": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3},
            "set": {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": true, "minItems": 3},
            "free": {"type": "array"},
        }, "required": ["some", "set", "free"]}),
        json!({"type": "object", "properties": {
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "or": {"type": ["string", "null"]},
            "constant": {"const": {"a": [1]}}, "flag": {"type": "boolean"}, "nothing": {"type": "null"}, "whatever": true,
        }, "required": ["either", "or", "constant", "flag", "nothing", "whatever"]}),
        json!({"type": "object", "properties": {
            "date": {"type": "string", "format": "date"}, "time": {"type": "string", "format": "date-time"},
            "mail": {"type": "string", "format": "email"}, "id": {"type": "string", "format": "uuid"},
            "uri": {"type": "string", "format": "uri"}, "address": {"type": "string", "format": "ipv6"},
        }, "required": ["date", "time", "mail", "id", "uri", "address"]}),
        json!({"type": "object", "required": ["unnamed"], "additionalProperties": {"type": "integer"}, "minProperties": 3}),
        json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {
            "value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        }, "required": ["value"]}}}),
    ];
    for schema in &schemas {
        let validator = Validator::compile(&Json::from(schema.clone())).expect("a schema");
        for seed in 0..200 {
            let arguments = made(schema, seed).unwrap_or_else(|e| panic!("{schema}: {e}"));
            assert!(arguments.is_object());
            let checked = validator.check(Json::from(arguments.clone()).as_raw());
            assert!(checked.is_ok(), "{schema}\n{arguments}\n{checked:?}");
        }
        assert_eq!(made(schema, 7), made(schema, 7));
    }
}

#[test]
fn what_cannot_be_made_is_named() {
    for (schema, wanted) in [
        (json!({"properties": {"a": {"type": "string", "pattern": "^x"}}}), "pattern at properties.a"),
        (json!({"allOf": [{}]}), "allOf"),
        (json!({"properties": {"a": {"oneOf": [{}]}}, "if": {}}), "oneOf at properties.a"),
        (
            json!({"properties": {"a": {"type": "string", "format": "color"}}}),
            "format \"color\" at properties.a",
        ),
        (json!({"properties": {"a": {"$ref": "#/$defs/x"}}}), "$ref \"#/$defs/x\" at properties.a"),
        (json!({"properties": {"a": false}}), "the schema false at properties.a"),
        (
            json!({"properties": {"a": {"type": "integer", "minimum": 2, "maximum": 1}}, "required": ["a"]}),
            "a: no whole number",
        ),
        (json!({"$ref": "#"}), "circle"),
        (
            json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}}}),
            "64 levels",
        ),
    ] {
        let error = made(&schema, 1).expect_err("it cannot be made").to_string();
        assert!(error.contains(wanted), "{schema}: {error}");
    }
}
