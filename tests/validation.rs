//! The whole of JSON Schema, and the bounds around it (feature `validation`).

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tinymcp::json::{Json, SchemaError, Validator};

/// Far more than anything here takes in a debug build on a busy machine, far less than what it would take unbounded.
const SOON: Duration = Duration::from_secs(20);

fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    Validator::compile(&Json::from(schema))
}

/// What is wrong with the value that `text` spells.
fn problems(schema: &Value, text: &str) -> Vec<String> {
    let validator = compile(schema).unwrap_or_else(|e| panic!("{schema:.200}: {e}"));
    let value = Json::parse(text).expect("JSON");
    validator.check(value.as_raw()).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// What is wrong with `value`, found out in a bounded time.
fn soon(schema: &Value, value: &Value) -> Vec<String> {
    let start = Instant::now();
    let problems = problems(schema, &value.to_string());
    assert!(start.elapsed() < SOON, "{:?} for {schema:.200}", start.elapsed());
    problems
}

fn refused(schema: &Value) -> String {
    let start = Instant::now();
    let error = compile(schema).expect_err("no usable schema").to_string();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    error
}

/// `inner` in `count` layers.
fn nested(count: usize, layer: impl Fn(Value) -> Value, inner: Value) -> Value {
    (0..count).fold(inner, |value, _| layer(value))
}

/// `count` definitions, each made of a reference to the next; the last one is `end`.
fn chain(count: usize, end: Value, link: impl Fn(Value) -> Value) -> Value {
    let mut definitions = Map::new();
    for at in 0..count {
        definitions.insert(format!("d{at}"), link(json!({"$ref": format!("#/$defs/d{}", at + 1)})));
    }
    definitions.insert(format!("d{count}"), end);
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";

#[test]
fn problems_are_told_in_the_words_of_this_crate() {
    for (schema, value, want) in [
        (json!({"type": "string"}), "5", "expected a string, found 5"),
        (json!({"type": ["integer", "null"]}), "\"x\"", "expected an integer or null, found \"x\""),
        (json!({"items": {"type": "string"}}), "[\"a\", 5]", "[1]: expected a string, found 5"),
        (
            json!({"properties": {"0": {"items": {"type": "array"}}}}),
            r#"{"0": [1]}"#,
            "0[0]: expected a list, found 1",
        ),
        (json!({"required": ["a"]}), "{}", "a: missing"),
        (json!({"properties": {"o": {"required": ["a"]}}}), r#"{"o": {}}"#, "o.a: missing"),
        (json!({"dependentRequired": {"a": ["b"]}}), r#"{"a": 1}"#, "b: missing"),
        (json!({"properties": {}, "additionalProperties": false}), r#"{"a": 1}"#, "a: unknown member"),
        (json!({"additionalProperties": false}), r#"{"a": 1}"#, "a: unknown member"),
        (
            json!({"properties": {"a": {}}, "unevaluatedProperties": false}),
            r#"{"b": 1}"#,
            "b: unknown member",
        ),
        (json!({"enum": ["a", 1]}), "\"b\"", "expected one of \"a\", 1, found \"b\""),
        (json!({"const": {"a": 1}}), "2", "expected {\"a\":1}, found 2"),
        (json!({"minimum": 1}), "0", "expected at least 1, found 0"),
        (json!({"maximum": 1.5}), "2", "expected at most 1.5, found 2"),
        (json!({"exclusiveMinimum": 1}), "1", "expected more than 1, found 1"),
        (json!({"exclusiveMaximum": 1}), "1", "expected less than 1, found 1"),
        (json!({"multipleOf": 5}), "7", "expected a multiple of 5, found 7"),
        (json!({"minLength": 2}), "\"ü\"", "expected at least 2 characters, found \"ü\""),
        (json!({"maxLength": 1}), "\"ab\"", "expected at most 1 character, found \"ab\""),
        (json!({"minItems": 1}), "[]", "expected at least 1 item, found []"),
        (json!({"maxItems": 1}), "[1,2]", "expected at most 1 item, found [1,2]"),
        (json!({"minProperties": 1}), "{}", "expected at least 1 member, found {}"),
        (json!({"maxProperties": 0}), r#"{"a":1}"#, "expected at most 0 members, found {\"a\":1}"),
        (json!({"uniqueItems": true}), "[1, 1.0]", "expected no item twice, found [1,1.0]"),
        (
            json!({"contains": {"type": "null"}}),
            "[1]",
            "expected an item of the kind that `contains` asks for, found [1]",
        ),
        (json!({"prefixItems": [{}], "items": false}), "[1,2]", "[1]: nothing is allowed here"),
        (
            json!({"prefixItems": [{}], "unevaluatedItems": false}),
            "[1,2]",
            "expected no further items, found [1,2]",
        ),
        (json!({"pattern": "^a+$"}), "\"b\"", "expected text like ^a+$, found \"b\""),
        (
            json!({"not": {"type": "string"}}),
            "\"b\"",
            "expected what does not fit {\"type\":\"string\"}, found \"b\"",
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            r#"{"ab": 1}"#,
            "a member's name: expected at most 1 character, found \"ab\"",
        ),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "5", "expected a string or null, found 5"),
        (
            json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            "{}",
            "fits none of 2 alternatives (a: missing | b: missing)",
        ),
        (
            json!({"oneOf": [{"type": "number"}, {"minimum": 1}]}),
            "2",
            "expected what fits one of the alternatives only, found 2",
        ),
        (
            json!({"items": {"anyOf": [{"properties": {"a": {"type": "null"}}, "required": ["b"]}, {"type": "integer"}]}}),
            r#"[{"a": 1}]"#,
            "[0]: fits none of 2 alternatives (b: missing | expected an integer, found {\"a\":1})",
        ),
        (json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}), r#"{"a": 1}"#, "b: missing"),
        (
            json!({"properties": {"o": {"additionalProperties": false}}}),
            r#"{"o": {"a": 1}}"#,
            "o.a: unknown member",
        ),
        (json!({"properties": {"a": false}}), r#"{"a": 1}"#, "a: nothing is allowed here"),
        (json!(false), "1", "nothing is allowed here"),
    ] {
        assert_eq!(problems(&schema, value), [want], "{schema}");
    }
    let long = problems(&json!({"type": "string"}), &json!(vec!["a long text"; 100_000]).to_string());
    assert_eq!(long, [r#"expected a string, found ["a long text","a long text","a long tex…"#]);
}

#[test]
fn all_problems_are_told_but_no_more_than_twenty() {
    let schema = json!({"properties": {"a": {"type": "string"}, "b": {"minimum": 1}}, "required": ["c"]});
    assert_eq!(
        problems(&schema, r#"{"a": 1, "b": 0}"#),
        ["c: missing", "a: expected a string, found 1", "b: expected at least 1, found 0"]
    );
    assert_eq!(problems(&json!({"items": {"type": "string"}}), &json!(vec![1; 1000]).to_string()).len(), 20);
    let names: Map<_, _> = (0..1000).map(|at| (format!("n{at}"), json!(1))).collect();
    assert_eq!(
        problems(&json!({"properties": {}, "additionalProperties": false}), &json!(names).to_string()).len(),
        20
    );
    // The same twice is told once.
    assert_eq!(problems(&json!({"allOf": [{"type": "string"}, {"type": "string"}]}), "1").len(), 1);
}

#[test]
fn the_dialect_is_the_one_that_is_named() {
    // spec: 2026-07-28 basic/index#schema-dialect
    let tuple = json!({"items": [{"type": "string"}], "additionalItems": false});
    assert!(refused(&tuple).starts_with("items: expected"), "{}", refused(&tuple));
    for dialect in [
        DRAFT_7,
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-04/schema",
        "http://json-schema.org/draft-07/schema",
    ] {
        let mut tuple = tuple.clone();
        tuple["$schema"] = dialect.into();
        assert_eq!(problems(&tuple, "[1]"), ["[0]: expected a string, found 1"], "{dialect}");
        assert_eq!(problems(&tuple, "[\"a\", 1]"), ["expected at most 1 item, found [\"a\",1]"], "{dialect}");
    }
    let modern = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [{"type": "string"}]});
    assert_eq!(problems(&modern, "[1]"), ["[0]: expected a string, found 1"]);
    // In draft 7 what stands beside a reference does not count.
    let beside = json!({"$schema": DRAFT_7, "properties": {"a": {"$ref": "#/definitions/n", "type": "string"}},
        "definitions": {"n": {"type": "integer"}}});
    assert_eq!(problems(&beside, r#"{"a": 1}"#), [""; 0]);
    assert_eq!(problems(&beside, r#"{"a": "x"}"#), ["a: expected an integer, found \"x\""]);

    for unknown in ["https://example.com/mine", "http://json-schema.org/draft-03/schema#", ""] {
        let error = compile(&json!({"$schema": unknown})).expect_err("unknown");
        assert_eq!(error, SchemaError::UnsupportedDialect(unknown.to_owned()));
        assert_eq!(error.to_string(), format!("unsupported dialect: {unknown}"));
        let inside = json!({"$defs": {"a": {"$id": "urn:a", "$schema": unknown}}});
        assert_eq!(compile(&inside).expect_err("unknown"), error);
    }
    let named_like_it = json!({"properties": {"$schema": {"type": "string"}, "default": {"type": "string"}},
        "default": {"$schema": "mine"}});
    assert_eq!(
        problems(&named_like_it, r#"{"$schema": "mine", "default": 1}"#),
        ["default: expected a string, found 1"]
    );
}

#[test]
fn references_stay_inside_the_schema() {
    let person = json!({"type": "object", "properties": {"name": {"type": "string"}, "friends": {"items": {"$ref": "#"}}}});
    assert_eq!(
        problems(&person, r#"{"name": "a", "friends": [{"friends": [{"name": 1}]}]}"#),
        ["friends[0].friends[0].name: expected a string, found 1"]
    );
    for schema in [
        json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}),
        json!({"$ref": "#n", "$defs": {"x": {"$anchor": "n", "type": "integer"}}}),
        json!({"$ref": "other", "$id": "https://example.com/root", "$defs": {"x": {"$id": "other", "type": "integer"}}}),
        json!({"$dynamicRef": "#n", "$defs": {"x": {"$dynamicAnchor": "n", "type": "integer"}}}),
        json!({"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "integer"}}}),
    ] {
        assert_eq!(problems(&schema, "\"x\""), ["expected an integer, found \"x\""], "{schema}");
    }
    // Nothing but itself, or round in a circle: any value.
    assert_eq!(problems(&json!({"$ref": "#"}), "1"), [""; 0]);
    assert_eq!(problems(&chain(3, json!({"$ref": "#/$defs/d0"}), |link| link), "1"), [""; 0]);
    for (reference, problem) in [
        ("#/$defs/none", "$ref: pointer '/$defs/none' does not exist"),
        ("#none", "$ref: anchor 'none' does not exist"),
    ] {
        assert_eq!(refused(&json!({"$ref": reference})), problem);
    }
}

#[test]
fn nothing_is_ever_fetched() {
    // spec: 2026-07-28 basic/index#ref-resolution (MUST NOT dereference what resolves to a network URI)
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("non-blocking");
    let here = format!("http://{}/schema.json", listener.local_addr().expect("an address"));
    let place = format!("http://{}/", listener.local_addr().expect("an address"));
    for schema in [
        json!({"$ref": here}),
        json!({"$ref": format!("{here}#/$defs/x")}),
        json!({"$id": place, "$ref": "schema.json"}),
        json!({"$defs": {"unused": {"$ref": here}}}),
        json!({"properties": {"a": {"anyOf": [{"type": "null"}, {"$ref": here}]}}}),
        json!({"$dynamicRef": here}),
        json!({"$schema": DRAFT_7, "items": {"$ref": here}}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$ref": here}),
    ] {
        let error = compile(&schema).expect_err("a reference out of the schema");
        assert!(
            matches!(&error, SchemaError::OutsideReference(uri) if uri.starts_with(&here)),
            "{schema}: {error}"
        );
        assert_eq!(error.to_string(), format!("$ref leads out of the schema: {here}"), "{schema}");
    }
    let dialect = compile(&json!({"$schema": here})).expect_err("a dialect from elsewhere");
    assert_eq!(dialect, SchemaError::UnsupportedDialect(here.clone()));
    assert_eq!(
        refused(&json!({"$ref": "file:///etc/hostname"})),
        "$ref leads out of the schema: file:///etc/hostname"
    );
    assert_eq!(refused(&json!({"$ref": "other.json"})), "$ref leads out of the schema: other.json");
    // A value that looks like a reference is none.
    assert_eq!(problems(&json!({"const": {"$ref": here}}), &json!({"$ref": here}).to_string()), [""; 0]);
    assert!(
        listener.accept().is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock),
        "somebody has connected"
    );
}

#[test]
fn numbers_count_as_they_are_written() {
    let integer = json!({"type": "integer"});
    let big = format!("1{}", "0".repeat(30));
    for text in ["18446744073709551615", "-9223372036854775808", &big, "30.0", "3e1", "1e400", "-1e400"] {
        assert_eq!(problems(&integer, text), [""; 0], "{text}");
        assert_eq!(
            problems(&json!({"items": integer, "uniqueItems": true}), &format!("[{text}]")),
            [""; 0],
            "{text}"
        );
    }
    assert_eq!(problems(&integer, "1.5"), ["expected an integer, found 1.5"]);
    let below = json!({"exclusiveMaximum": u64::MAX});
    assert_eq!(problems(&below, "18446744073709551614"), [""; 0]);
    assert_eq!(problems(&below, "18446744073709551615").len(), 1);
    assert_eq!(problems(&json!({"const": 9_007_199_254_740_993_i64}), "9007199254740992").len(), 1);
    assert_eq!(problems(&json!({"uniqueItems": true}), "[9007199254740992,9007199254740993]"), [""; 0]);
}

#[test]
fn annotations_are_not_compared() {
    for keyword in [
        ("format", "email"),
        ("format", "date-time"),
        ("format", "unknown"),
        ("contentEncoding", "base64"),
        ("contentMediaType", "application/json"),
    ] {
        for dialect in [DRAFT_7, "https://json-schema.org/draft/2020-12/schema"] {
            let mut schema = json!({"$schema": dialect, "type": "string"});
            schema[keyword.0] = keyword.1.into();
            assert_eq!(problems(&schema, "\"no such thing!\""), [""; 0], "{schema}");
        }
    }
}

#[test]
fn what_is_no_schema_is_refused_with_its_place() {
    for (schema, want) in [
        (json!({"properties": {"a": {"type": "thing"}}}), "properties.a.type: "),
        (json!({"required": "a"}), "required: expected a list, found \"a\""),
        (json!({"minimum": "1"}), "minimum: expected a number, found \"1\""),
        (json!({"properties": {"a": 5}}), "properties.a: expected"),
        (json!(5), "expected an object, found 5"),
        (json!(null), "expected an object, found null"),
    ] {
        let error = refused(&schema);
        assert!(error.starts_with(want), "{schema}: {error}");
    }
}

#[test]
fn patterns_take_linear_time() {
    let many = format!("{}!", "a".repeat(200_000));
    assert_eq!(soon(&json!({"pattern": "^(a+)+$"}), &json!(many)).len(), 1);
    assert_eq!(soon(&json!({"pattern": "^(a|a)*$"}), &json!(many)).len(), 1);
    for pattern in ["^(?=a)b", "(a)\\1", "(?<!a)b", "(", "((a{100}){100}){100}"] {
        for schema in [
            json!({"pattern": pattern}),
            json!({"patternProperties": {pattern: {}}}),
            json!({"$schema": DRAFT_7, "pattern": pattern}),
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "patternProperties": {pattern: {}}}),
        ] {
            assert!(
                refused(&schema).contains("without look-around and back-references"),
                "{}",
                refused(&schema)
            );
        }
    }
    // Of ECMA 262, not of Rust.
    assert_eq!(problems(&json!({"pattern": "^\\d$"}), "\"٣\"").len(), 1);
    assert_eq!(problems(&json!({"pattern": "^[\\p{L} ]{1,256}$"}), "\"Zoë\""), [""; 0]);
}

#[test]
fn schemas_are_bounded() {
    let long = json!({"description": "x".repeat(1024 * 1024)});
    assert_eq!(refused(&long), "the schema exceeds 1048576 bytes");
    assert_eq!(
        refused(&nested(130, |inner| json!({"not": inner}), json!({}))),
        "nested more than 128 levels deep"
    );
    assert!(compile(&nested(60, |inner| json!({"items": {"items": inner}}), json!({}))).is_ok());
    let patterns: Map<_, _> = (0..201).map(|at| (format!("^{at}"), json!({}))).collect();
    assert_eq!(refused(&json!({"patternProperties": patterns})), "the schema has more than 200 patterns");
    // The place does not matter.
    let hidden = json!({"properties": {"default": {"patternProperties": patterns}}});
    assert_eq!(refused(&hidden), "the schema has more than 200 patterns");
    assert_eq!(refused(&chain(1001, json!({}), |link| link)), "the schema has more than 1000 references");
    let parts: Map<_, _> = (0..5000).map(|at| (format!("p{at}"), json!({"type": "string"}))).collect();
    let memory = "the schema takes more than 33554432 bytes when it is compiled";
    assert_eq!(refused(&json!({"properties": {"a".repeat(500_000): {"properties": parts}}})), memory);
    assert_eq!(
        refused(&nested(100, |inner| json!({"not": inner}), json!({"enum": vec!["a"; 100_000]}))),
        memory
    );
    assert!(compile(&json!({"properties": parts})).is_ok());
    // References inside deep parts inside references are compiled in one go.
    let deep = chain(20, json!({}), |link| nested(110, |inner| json!({"items": inner}), link));
    assert_eq!(soon(&deep, &json!([1])), [""; 0]);
}

#[test]
fn alternatives_in_alternatives_come_to_an_end() {
    let modern = "https://json-schema.org/draft/2020-12/schema";
    for (keyword, dialect, end) in [
        ("allOf", modern, json!({"type": "string"})),
        ("allOf", DRAFT_7, json!({})),
        ("anyOf", modern, json!(false)),
        ("oneOf", modern, json!({"type": "string"})),
        ("oneOf", modern, json!({"title": "x"})),
        // Nothing in these looks at the value.
        ("oneOf", DRAFT_7, json!(true)),
        ("oneOf", DRAFT_7, json!({})),
    ] {
        // Forty times two.
        let mut schema = chain(40, end, |link| json!({keyword: [link, link]}));
        schema["$schema"] = dialect.into();
        let want = "comparing it takes more than 1000048 steps or 1048576 bytes of stack";
        assert_eq!(soon(&schema, &json!("x")), [want], "{schema}");
    }
    // Where it is known early that nothing fits, the reason is told.
    let strings = chain(40, json!({"type": "string"}), |link| json!({"allOf": [link, link]}));
    assert_eq!(soon(&strings, &json!(1)), ["expected a string, found 1"]);
}

#[test]
fn a_deep_value_of_a_recursive_schema_comes_to_an_end() {
    let part = |name: &str| json!({"type": "object", "properties": {"c": {"$ref": "#"}}, "required": [name]});
    let tree = json!({"anyOf": [part("x"), part("y")]});
    let deep = |count, inner| nested(count, |inner| json!({"c": inner, "y": 1}), inner);
    assert_eq!(soon(&tree, &deep(120, json!({"y": 1}))), [""; 0]);
    // Why it does not fit cannot be told: every level has two reasons.
    let vague = ["does not fit the schema, in too many ways to tell which"];
    assert_eq!(soon(&tree, &deep(120, json!({}))), vague);
    assert_eq!(soon(&tree, &deep(20, json!({}))), vague);
    assert_eq!(
        soon(&tree, &deep(1, json!({}))),
        [
            "fits none of 2 alternatives (x: missing | c: fits none of 2 alternatives (x: missing | y: missing))"
        ]
    );
    let text = deep(130, json!({})).to_string();
    assert_eq!(problems(&tree, &text), ["nested more than 128 levels deep"]);

    // Hundreds of references at each level are more than a stack holds.
    for link in [|link| link, |link| json!({"allOf": [link]}), |link| json!({"anyOf": [link]})] {
        for dialect in [DRAFT_7, "https://json-schema.org/draft/2020-12/schema"] {
            let mut far = chain(900, json!({"properties": {"c": {"$ref": "#"}}}), link);
            far["$schema"] = dialect.into();
            let problems = soon(&far, &deep(120, json!({})));
            assert!(problems[0].ends_with("or 1048576 bytes of stack"), "{problems:?}");
        }
    }
}

#[test]
fn wide_values_take_linear_time() {
    let numbers = |count: u64| (0..count).map(|n| json!(u64::MAX - n)).collect::<Vec<_>>();
    let objects = (0..50_000).map(|n| json!({"a": n})).collect::<Vec<_>>();
    let names: Map<_, _> = (0..20_000).map(|n| (format!("n{n}"), json!(1))).collect();
    let unique = json!({"uniqueItems": true});
    assert_eq!(soon(&unique, &json!(numbers(100_000))), [""; 0]);
    assert_eq!(soon(&unique, &json!(objects)), [""; 0]);
    assert_eq!(
        soon(&unique, &json!([objects, objects])),
        ["expected no item twice, found [[{\"a\":0},{\"a\":1},{\"a\":2},{\"a\":3},{\"a\":4…"]
    );
    assert_eq!(soon(&json!({"items": {"type": "string"}}), &json!(numbers(100_000))).len(), 1);
    assert_eq!(soon(&json!({"items": {"type": "integer"}}), &json!(numbers(100_000))), [""; 0]);
    let unevaluated = json!({"contains": {"type": "string"}, "unevaluatedItems": false});
    assert_eq!(soon(&unevaluated, &json!(numbers(50_000))).len(), 1);
    for schema in [
        json!({"properties": {"a": {}}, "additionalProperties": false}),
        json!({"properties": {"a": {}}, "unevaluatedProperties": false}),
        json!({"propertyNames": {"pattern": "^(a+)+$"}}),
        json!({"additionalProperties": {"type": "string"}}),
    ] {
        let problems = soon(&schema, &json!(names));
        assert!((1..=20).contains(&problems.len()), "{schema}: {problems:?}");
    }
}

#[test]
fn one_validator_serves_many_threads() {
    let validator = compile(&json!({"$defs": {"s": {"type": "string"}}, "items": {"$ref": "#/$defs/s"}}))
        .expect("a schema");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    assert!(validator.check(Json::parse("[\"a\"]").expect("JSON").as_raw()).is_ok());
                    assert!(validator.check(Json::parse("[1]").expect("JSON").as_raw()).is_err());
                }
            });
        }
    });
}
