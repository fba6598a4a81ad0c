//! Arguments that are made up are valid, by a validator that knows nothing of how they were made.

use serde_json::{Value, json};
use tinymcp::json::{Json, Validator};
use tinymcp::trajectory::{CannotSample, Random, SUPPORTED, Sampler};

/// The schema of an object with the one member `a`.
fn with(schema: Value) -> Value {
    json!({"type": "object", "properties": {"a": schema}, "required": ["a"]})
}

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
        is_made(schema);
    }
}

/// Whatever the seed, what is made is an object, and valid.
fn is_made(schema: &Value) {
    let validator = Validator::compile(&Json::from(schema.clone())).expect("a schema");
    for seed in 0..200 {
        let arguments = made(schema, seed).unwrap_or_else(|e| panic!("{schema}: {e}"));
        is_valid(&validator, schema, arguments);
    }
    assert_eq!(made(schema, 7), made(schema, 7));
}

fn is_valid(validator: &Validator, schema: &Value, arguments: Value) {
    assert!(arguments.is_object(), "{schema}\n{arguments}");
    let checked = validator.check(Json::from(arguments.clone()).as_raw());
    assert!(checked.is_ok(), "{schema}\n{arguments}\n{checked:?}");
}

#[test]
fn what_is_hard_to_make_is_valid() {
    for schema in [
        // Keywords without the type they speak of.
        json!({"minLength": 5}),
        json!({"maxLength": 1}),
        json!({"minimum": 5, "exclusiveMaximum": 5.5}),
        json!({"minItems": 2, "uniqueItems": true}),
        json!({"minProperties": 2}),
        json!({"required": ["x"]}),
        json!({"format": "date"}),
        // Values that are listed, of one type and another.
        json!({"type": "integer", "enum": ["a", 1.5, 2.0, null]}),
        json!({"type": ["number", "null"], "enum": ["a", 1.5, null]}),
        json!({"type": "string", "const": "b"}),
        json!({"const": 1, "enum": [2, 1.0]}),
        json!({"enum": [{"a": [1]}, {"a": 2}]}),
        // Numbers.
        json!({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}),
        json!({"type": "integer", "exclusiveMinimum": 2.5, "exclusiveMaximum": 3.5}),
        json!({"type": "integer", "minimum": -1e300, "maximum": 1e300}),
        json!({"type": "integer", "minimum": 18_446_744_073_709_551_610_u64}),
        json!({"type": "integer", "maximum": -9_223_372_036_854_775_800_i64}),
        json!({"type": "integer", "multipleOf": 0.5}),
        json!({"type": "integer", "multipleOf": 0.75, "minimum": 1}),
        json!({"type": "integer", "multipleOf": 1e9}),
        json!({"type": "integer", "format": "uint32", "minimum": 0}),
        json!({"type": "integer", "format": "int8", "minimum": 120}),
        json!({"type": ["integer", "null"], "format": "uint64"}),
        json!({"type": "number", "format": "double"}),
        json!({"type": "number", "multipleOf": 0.01}),
        json!({"type": "number", "multipleOf": 0.01, "minimum": 0.07, "exclusiveMaximum": 0.1}),
        json!({"type": "number", "multipleOf": 0.1, "exclusiveMinimum": 0.2, "maximum": 0.3}),
        json!({"type": "number", "multipleOf": 2.5, "maximum": -1}),
        json!({"type": "number", "multipleOf": 1e-4}),
        json!({"type": "number", "minimum": 9_007_199_254_740_993_u64}),
        json!({"type": "number", "exclusiveMaximum": -9_007_199_254_740_993_i64}),
        json!({"type": "number", "minimum": -1.7e308, "maximum": 1.7e308}),
        json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e-300}),
        // Texts.
        json!({"type": "string", "minLength": 2.0, "maxLength": 2.0}),
        json!({"type": "string", "minLength": 5_000}),
        json!({"type": "string", "format": "duration", "maxLength": 4}),
        // Lists.
        json!({"type": "array", "items": {"enum": [1, 1.0, 2, "1"]}, "uniqueItems": true, "minItems": 3}),
        json!({"type": "array", "items": {"type": "boolean"}, "uniqueItems": true, "minItems": 2}),
        json!({"type": "array", "items": true, "uniqueItems": true, "minItems": 20}),
        json!({"type": "array", "items": {"type": "integer", "minimum": 2, "maximum": 1}}),
        json!({"type": "array", "items": {"type": "integer"}, "maxItems": 0}),
        // Members that have a schema by their name, and those that have none.
        json!({"type": "object", "properties": {"member1": {"type": "integer"}}, "minProperties": 3}),
        json!({"type": "object", "properties": {"no": {"type": "integer", "minimum": 2, "maximum": 1}}, "minProperties": 2}),
        json!({"type": "object", "required": ["x", "member1"], "minProperties": 3, "additionalProperties": {"type": "null"}}),
        // Alternatives.
        json!({"type": "integer", "anyOf": [{"type": "string"}, {"minimum": 3}, {}]}),
        json!({"type": "integer", "anyOf": [{"type": "number", "minimum": 0.5}]}),
        json!({"anyOf": [{"anyOf": [{"type": "integer", "minimum": 2, "maximum": 1}, {"const": "x"}]}, {"$ref": "#/properties/a/anyOf/0"}]}),
        // Trees: any number of levels may follow, and it must come to an end.
        json!({"$ref": "#/properties/a/x-tree", "x-tree": {"type": "object", "properties": {
            "left": {"anyOf": [{"$ref": "#/properties/a/x-tree"}, {"type": "null"}]},
            "right": {"anyOf": [{"$ref": "#/properties/a/x-tree"}, {"type": "null"}]},
        }, "required": ["left", "right"]}}),
        json!({"type": ["array", "string"], "minItems": 2, "items": {"$ref": "#/properties/a"}}),
    ] {
        is_made(&with(schema));
    }
    for root in [
        json!({"anyOf": [{"type": "string"}, {"type": "object", "required": ["x"]}, {"type": ["null", "object"]}]}),
        json!({"type": ["object", "null"], "additionalProperties": false}),
        json!({"enum": [1, {"a": 2}]}),
        json!({"minProperties": 1}),
        json!(true),
    ] {
        is_made(&root);
    }
}

#[test]
fn texts_are_of_their_formats() {
    for format in [
        "date",
        "time",
        "date-time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "uuid",
        "regex",
        "json-pointer",
    ] {
        let schema = with(json!({"type": "string", "format": format}));
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).expect("a schema");
        assert!(!validator.is_valid(&json!({"a": "(\\ "})), "{format} is not looked at");
        for seed in 0..300 {
            let arguments = made(&schema, seed).expect("made");
            assert!(validator.is_valid(&arguments), "{format}: {arguments}");
        }
    }
}

#[test]
fn what_asks_for_too_much_comes_to_an_end() {
    let begun = std::time::Instant::now();
    let deep = |inner: Value| json!({"type": "array", "minItems": 1000, "items": inner});
    for (schema, wanted) in [
        (with(deep(deep(deep(json!({"type": "null"}))))), "too many values"),
        (with(deep(json!({"type": "string", "minLength": 100_000}))), "minLength"),
        (
            // Each level has the way that goes on twice, and none that ends.
            json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "required": ["a"], "properties": {
                "a": {"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}}}}}),
            "64 levels",
        ),
        (with(json!({"type": "object", "minProperties": 1_000_000_000})), "minProperties"),
        (with(json!({"type": "array", "minItems": 1_000_000_000})), "minItems"),
        (with(json!({"type": "string", "minLength": 1_000_000_000})), "minLength"),
    ] {
        let error = made(&schema, 1).expect_err("too much").to_string();
        assert!(error.contains(wanted), "{schema}: {error}");
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}

/// A schema of all kinds of keywords, most of them in place.
fn any_schema(random: &mut Random, depth: u32) -> Value {
    fn pick(random: &mut Random, of: &[Value]) -> Value {
        random.pick(of).cloned().expect("some")
    }
    let types = ["object", "array", "string", "number", "integer", "boolean", "null"].map(Value::from);
    let numbers = [
        json!(0),
        json!(1),
        json!(-3),
        json!(2.5),
        json!(0.1),
        json!(7),
        json!(1e20),
        json!(9_007_199_254_740_993_u64),
    ];
    let counts = [json!(0), json!(1), json!(2), json!(5)];
    let values = [json!(1), json!(1.0), json!("a"), json!(null), json!({"a": 1}), json!([1]), json!(true)];
    let names = ["a", "b", "member1"];
    let mut schema = serde_json::Map::new();
    let mut set = |name: &str, value: Value| drop(schema.insert(name.to_owned(), value));
    if depth > 0 && random.below(4) == 0 {
        let ways: Vec<_> = (0..=random.below(2)).map(|_| any_schema(random, depth - 1)).collect();
        set("anyOf", ways.into());
    } else {
        match random.below(8) {
            0 => set("enum", (0..=random.below(3)).map(|_| pick(random, &values)).collect()),
            1 => set("const", pick(random, &values)),
            2 => set("$ref", pick(random, &["#".into(), "#/properties/a".into(), "#/$defs/a".into()])),
            _ => {}
        }
        for keyword in SUPPORTED {
            if random.below(6) > 0 {
                continue;
            }
            match keyword {
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                    set(keyword, pick(random, &numbers))
                }
                "multipleOf" => set(keyword, pick(random, &[json!(2), json!(0.5), json!(0.1), json!(3)])),
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" => {
                    set(keyword, pick(random, &counts))
                }
                "uniqueItems" => set(keyword, random.flip().into()),
                "format" => set(keyword, pick(random, &["date".into(), "uuid".into(), "uint8".into()])),
                "required" => set(
                    keyword,
                    (0..random.below(3)).map(|_| pick(random, &names.map(Value::from))).collect(),
                ),
                "items" | "additionalProperties" if depth > 0 => set(keyword, any_schema(random, depth - 1)),
                "additionalProperties" => set(keyword, random.flip().into()),
                "properties" | "$defs" if depth > 0 => {
                    let members = names.map(|name| (name.to_owned(), any_schema(random, depth - 1)));
                    set(keyword, Value::Object(members.into_iter().collect()));
                }
                _ => {}
            }
        }
    }
    match random.below(5) {
        0 => {}
        1 => set("type", vec![pick(random, &types), pick(random, &types)].into()),
        _ => set("type", pick(random, &types)),
    }
    Value::Object(schema)
}

#[test]
fn of_any_schema_what_is_made_is_valid_or_a_keyword_is_named() {
    let mut random = Random::new(99);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..4_000 {
        let mut schema = any_schema(&mut random, 3);
        if random.below(3) > 0 {
            schema["type"] = "object".into();
        }
        let Ok(validator) = Validator::compile(&Json::from(schema.clone())) else { continue };
        for seed in 0..3 {
            match made(&schema, seed) {
                Ok(arguments) => {
                    good += 1;
                    is_valid(&validator, &schema, arguments);
                }
                Err(error) => {
                    bad += 1;
                    let text = error.to_string();
                    assert!(
                        SUPPORTED.iter().any(|keyword| text.contains(keyword)) || text.contains("64 levels"),
                        "{schema}: {text}"
                    );
                }
            }
        }
    }
    assert!(good > 2_000 && bad > 1_000, "{good} {bad}");
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
            "a: no whole number is within minimum, maximum",
        ),
        (json!({"$ref": "#"}), "circle"),
        // What is said where a reference leads counts, and so does what is said below another address.
        (
            json!({"properties": {"a": {"$ref": "#/x-a"}}, "x-a": {"pattern": "^x"}}),
            "pattern at properties.a.$ref",
        ),
        (json!({"$defs": {"a": {"$id": "urn:a"}}}), "$id at $defs.a"),
        (with(json!({"type": "string", "minLength": 3, "pattern": "^x"})), "pattern at properties.a"),
        (with(json!({"type": "array", "prefixItems": [{}]})), "prefixItems at properties.a"),
        (with(json!({"type": "file"})), "type \"file\" at properties.a"),
        (with(json!({"type": []})), "type [] at properties.a"),
        (with(json!({"type": "number", "minimum": 1, "exclusiveMinimum": true})), "exclusiveMinimum true"),
        (with(json!({"type": "integer", "multipleOf": 0})), "multipleOf 0"),
        (with(json!({"type": "number", "multipleOf": 1e-20})), "multipleOf 1e-20"),
        (with(json!({"type": "string", "minLength": "3"})), "minLength \"3\""),
        (with(json!({"type": "string", "format": "uint32"})), "format \"uint32\""),
        (
            with(json!({"type": "string", "format": "uuid", "maxLength": 5})),
            "format uuid beside minLength or maxLength",
        ),
        (with(json!({"type": "string", "minLength": 5, "maxLength": 4})), "minLength above maxLength"),
        (with(json!({"enum": [1], "minimum": 2})), "enum beside other keywords"),
        (with(json!({"const": "a", "format": "date"})), "const beside other keywords"),
        (with(json!({"type": "integer", "enum": ["a", 1.5]})), "enum"),
        (with(json!({"type": "integer", "const": "a"})), "const"),
        (with(json!({"enum": []})), "enum []"),
        (with(json!({"$ref": "#/$defs/x", "minimum": 3})), "$ref"),
        (with(json!({"anyOf": [{"type": "string"}], "required": ["b"]})), "anyOf beside other keywords"),
        (
            with(json!({"type": "integer", "anyOf": [{"type": "string"}]})),
            "type string, where only integer is allowed",
        ),
        (
            with(json!({"type": "array", "items": {"enum": [1, 1.0]}, "uniqueItems": true, "minItems": 2})),
            "too few different items",
        ),
        (json!({"required": ["b"], "additionalProperties": false}), "b: additionalProperties forbids it"),
        (json!({"minProperties": 1, "additionalProperties": false}), "additionalProperties forbids it"),
        (json!({"type": "string"}), "type string, where only object is allowed"),
        (json!({"enum": [1]}), "enum"),
        (
            json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}}}),
            "64 levels",
        ),
    ] {
        let error = made(&schema, 1).expect_err("it cannot be made").to_string();
        assert!(error.contains(wanted), "{schema}: {error}");
    }
}
