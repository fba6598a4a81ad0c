use super::*;

fn raw(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn annotations(schema: &str) -> Result<Vec<(String, String)>, String> {
    let found = of_schema(raw(schema).as_raw())?;
    Ok(found.into_iter().map(|found| (found.header, found.path.join("/"))).collect())
}

#[test]
fn annotations_are_found_where_properties_alone_lead() {
    let schema = r#"{"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "where": {"type": "object", "properties": {
            "zone": {"type": "integer", "x-mcp-header": "Zone"},
            "properties": {"type": "object", "properties": {"dry": {"type": ["boolean", "null"], "x-mcp-header": "dry-run"}}}
        }},
        "x-mcp-header": {"type": "string"},
        "body": {"type": "string", "default": {"x-mcp-header": ""}, "examples": [{"x-mcp-header": 5}]},
        "any": true
    }}"#;
    let want = [
        ("Mcp-Param-Region", "region"),
        ("Mcp-Param-Zone", "where/zone"),
        ("Mcp-Param-dry-run", "where/properties/dry"),
    ];
    assert_eq!(annotations(schema), Ok(want.map(|(name, path)| (name.into(), path.into())).into()));
    let keys = of_schema(raw(schema).as_raw()).expect("valid");
    assert_eq!(
        keys.iter().map(|found| &found.key).collect::<Vec<_>>(),
        ["mcp-param-region", "mcp-param-zone", "mcp-param-dry-run"]
    );
    for none in ["{}", "true", "5", r#"{"type": "object"}"#, r#"{"const": {"x-mcp-header": 1}}"#] {
        assert_eq!(annotations(none), Ok(vec![]), "{none}");
    }
    // Every character of a token, and a keyword that an escape hides.
    let token = r#"{"properties": {"a": {"type": "string", "x\u002dmcp-header": "!#$%&'*+-.^_`|~09azAZ"}}}"#;
    assert_eq!(annotations(token).map(|found| found.len()), Ok(1));
}

#[test]
fn a_bad_annotation_is_refused_with_its_place() {
    let on = "allowed only on string, integer and boolean, and the type is";
    for (property, problem) in [
        (r#""type": "string", "x-mcp-header": """#, "the name of a header must not be empty"),
        (
            r#""type": "string", "x-mcp-header": "My Region""#,
            r#""My Region" is not a name that a header can have"#,
        ),
        (
            r#""type": "string", "x-mcp-header": "Region:1""#,
            r#""Region:1" is not a name that a header can have"#,
        ),
        (r#""type": "string", "x-mcp-header": "Région""#, r#""Région" is not a name that a header can have"#),
        (r#""type": "string", "x-mcp-header": "a\tb""#, r#""a\tb" is not a name that a header can have"#),
        (r#""type": "string", "x-mcp-header": "a\r\nb""#, r#""a\r\nb" is not a name that a header can have"#),
        (r#""type": "string", "x-mcp-header": 5"#, "expected a string, found 5"),
        (r#""type": "string", "x-mcp-header": null"#, "expected a string, found null"),
        (r#""type": "string", "$ref": "a", "x-mcp-header": "A""#, "not allowed beside $ref"),
        (r#""type": "object", "x-mcp-header": "A""#, &format!(r#"{on} "object""#)),
        (r#""type": "array", "x-mcp-header": "A""#, &format!(r#"{on} "array""#)),
        (r#""type": ["string", "string"], "x-mcp-header": "A""#, &format!(r#"{on} ["string", "string"]"#)),
        (r#""type": ["null"], "x-mcp-header": "A""#, &format!(r#"{on} ["null"]"#)),
        (r#""type": "null", "x-mcp-header": "A""#, &format!(r#"{on} "null""#)),
        (r#""type": "number", "x-mcp-header": "A""#, &format!(r#"{on} "number""#)),
        (r#""type": ["string", "integer"], "x-mcp-header": "A""#, &format!(r#"{on} ["string", "integer"]"#)),
        (r#""enum": ["a"], "x-mcp-header": "A""#, &format!("{on} missing")),
    ] {
        let schema = format!(r#"{{"properties": {{"a": {{{property}}}}}}}"#);
        assert_eq!(annotations(&schema), Err(format!("properties.a.x-mcp-header: {problem}")), "{schema}");
    }
    for (first, second) in [("Region", "Region"), ("MyField", "myfield")] {
        let schema = format!(
            r#"{{"properties": {{"a": {{"type": "string", "x-mcp-header": "{first}"}},
                "b": {{"properties": {{"c": {{"type": "string", "x-mcp-header": "{second}"}}}}}}}}}}"#
        );
        let problem = format!("Mcp-Param-{second} is the header of another property too");
        assert_eq!(annotations(&schema), Err(format!("properties.b.properties.c.x-mcp-header: {problem}")));
    }
}

#[test]
fn an_annotation_elsewhere_is_refused_with_its_place() {
    let annotated = r#"{"type": "string", "x-mcp-header": "A"}"#;
    let inside = format!(r#"{{"properties": {{"a": {annotated}}}}}"#);
    for (schema, place) in [
        (annotated.to_owned(), ""),
        (format!(r#"{{"items": {annotated}}}"#), "items."),
        (format!(r#"{{"items": [true, {annotated}]}}"#), "items[1]."),
        (format!(r#"{{"prefixItems": [{annotated}]}}"#), "prefixItems[0]."),
        (format!(r#"{{"contains": {annotated}}}"#), "contains."),
        (format!(r#"{{"anyOf": [{{}}, {inside}]}}"#), "anyOf[1].properties.a."),
        (format!(r#"{{"oneOf": [{inside}]}}"#), "oneOf[0].properties.a."),
        (format!(r#"{{"allOf": [{inside}]}}"#), "allOf[0].properties.a."),
        (format!(r#"{{"not": {inside}}}"#), "not.properties.a."),
        (format!(r#"{{"if": {inside}}}"#), "if.properties.a."),
        (format!(r#"{{"then": {inside}}}"#), "then.properties.a."),
        (format!(r#"{{"else": {inside}}}"#), "else.properties.a."),
        (format!(r#"{{"$defs": {{"d": {inside}}}}}"#), "$defs.d.properties.a."),
        (format!(r#"{{"definitions": {{"d": {annotated}}}}}"#), "definitions.d."),
        (format!(r#"{{"patternProperties": {{"^a": {annotated}}}}}"#), "patternProperties.^a."),
        (format!(r#"{{"dependentSchemas": {{"a": {inside}}}}}"#), "dependentSchemas.a.properties.a."),
        (format!(r#"{{"dependencies": {{"a": ["b"], "c": {inside}}}}}"#), "dependencies.c.properties.a."),
        (format!(r#"{{"additionalProperties": {annotated}}}"#), "additionalProperties."),
        (format!(r#"{{"propertyNames": {annotated}}}"#), "propertyNames."),
        (format!(r#"{{"x-other": {{"y": [[{annotated}]]}}}}"#), "x-other.y[0][0]."),
        (format!(r#"{{"properties": {{"l": {{"items": {inside}}}}}}}"#), "properties.l.items.properties.a."),
        (format!(r#"{{"properties": [{annotated}]}}"#), "properties[0]."),
    ] {
        let problem = "allowed only on properties that are reached by `properties` alone";
        assert_eq!(annotations(&schema), Err(format!("{place}x-mcp-header: {problem}")), "{schema}");
    }
    let deep = format!("{}{annotated}{}", r#"{"items": "#.repeat(5000), "}".repeat(5000));
    assert!(annotations(&deep).is_err_and(|e| e.ends_with("nested too deeply")));
}

fn tool() -> Vec<Mirrored> {
    let schema = raw(r#"{"properties": {
        "text": {"type": "string", "x-mcp-header": "Text"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "in": {"properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}}
    }}"#);
    of_schema(schema.as_raw()).expect("valid")
}

fn sent(arguments: &str) -> Vec<(String, String)> {
    header_values(&tool(), Some(raw(arguments).as_raw()))
}

fn checked(arguments: &str, headers: &[(&str, &str)]) -> Result<(), String> {
    let header = |name: &str| Ok(headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value));
    check(&tool(), Some(raw(arguments).as_raw()), header)
}

#[test]
fn a_client_sends_what_a_server_accepts() {
    for (arguments, want) in [
        ("{}", &[][..]),
        ("null", &[]),
        (r#"{"other": 1}"#, &[]),
        (r#"{"text": null, "count": null, "in": {"zone": null}}"#, &[]),
        (r#"{"in": null}"#, &[]),
        (r#"{"text": "us-west1"}"#, &[("Mcp-Param-Text", "us-west1")]),
        (r#"{"text": ""}"#, &[("Mcp-Param-Text", "")]),
        (r#"{"text": "a\nb"}"#, &[("Mcp-Param-Text", "=?base64?YQpi?=")]),
        (r#"{"text": "\u00e9"}"#, &[("Mcp-Param-Text", "=?base64?w6k=?=")]),
        (r#"{"text": "=?base64?x?="}"#, &[("Mcp-Param-Text", "=?base64?PT9iYXNlNjQ/eD89?=")]),
        (r#"{"text": "a", "text": "b"}"#, &[("Mcp-Param-Text", "b")]),
        (r#"{"count": 42}"#, &[("Mcp-Param-Count", "42")]),
        (r#"{"count": -7}"#, &[("Mcp-Param-Count", "-7")]),
        (r#"{"count": 42.0}"#, &[("Mcp-Param-Count", "42")]),
        (r#"{"count": 4.2e1}"#, &[("Mcp-Param-Count", "42")]),
        (r#"{"count": 9007199254740991}"#, &[("Mcp-Param-Count", "9007199254740991")]),
        (r#"{"count": -9007199254740991}"#, &[("Mcp-Param-Count", "-9007199254740991")]),
        (r#"{"dry": false, "text": "x"}"#, &[("Mcp-Param-Text", "x"), ("Mcp-Param-Dry", "false")]),
        (r#"{"in": {"zone": "z"}}"#, &[("Mcp-Param-Zone", "z")]),
        // Of another type than the schema's, which the tool is to say.
        (r#"{"count": "42"}"#, &[("Mcp-Param-Count", "42")]),
        (r#"{"count": 1.5}"#, &[("Mcp-Param-Count", "1.5")]),
        (r#"{"text": 5}"#, &[("Mcp-Param-Text", "5")]),
        (r#"{"text": true}"#, &[("Mcp-Param-Text", "true")]),
        // Objects that came as text, which tools read as well.
        (r#""{\"text\": \"x\"}""#, &[("Mcp-Param-Text", "x")]),
        (r#"{"in": "{\"zone\": \"z\"}"}"#, &[("Mcp-Param-Zone", "z")]),
        (r#"{"in": "{"}"#, &[]),
    ] {
        let headers = sent(arguments);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(headers, want, "{arguments}");
        let lower: Vec<_> = headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), *value)).collect();
        let lower: Vec<_> = lower.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!(checked(arguments, &lower), Ok(()), "{arguments}");
    }
    assert_eq!(header_values(&tool(), None), []);
    assert_eq!(check(&tool(), None, |_| Ok(None)), Ok(()));
}

#[test]
fn a_header_that_cannot_be_told_is_a_problem() {
    let arguments = raw(r#"{"text": "a"}"#);
    let several = check(&tool(), Some(arguments.as_raw()), |name| Err(format!("several {name}")));
    assert_eq!(several, Err("several mcp-param-text".to_owned()));
}

#[test]
fn a_server_compares_numbers_as_numbers_and_the_rest_exactly() {
    for (arguments, header, value) in [
        (r#"{"count": 42}"#, "mcp-param-count", "42.0"),
        (r#"{"count": 42.0}"#, "mcp-param-count", "42"),
        (r#"{"count": 42}"#, "mcp-param-count", "4.2e1"),
        (r#"{"count": 0}"#, "mcp-param-count", "-0"),
        (r#"{"count": 42}"#, "mcp-param-count", "=?base64?NDI=?="),
        (r#"{"text": "Hello"}"#, "mcp-param-text", "=?base64?SGVsbG8=?="),
        (r#"{"text": "SGVsbG8="}"#, "mcp-param-text", "SGVsbG8="),
        (r#"{"text": "=?base64?SGVsbG8="}"#, "mcp-param-text", "=?base64?SGVsbG8="),
        (r#"{"dry": true}"#, "mcp-param-dry", "true"),
    ] {
        assert_eq!(checked(arguments, &[(header, value)]), Ok(()), "{arguments} and {value}");
    }
}

#[test]
fn a_server_refuses_headers_that_say_something_else() {
    let long = "x".repeat(200);
    let [long_body, long_header] = [format!(r#"{{"text": "{long}"}}"#), format!("{long}y")];
    let cut = format!(
        "Mcp-Param-Text header value \"{0}…\" does not match body value \"{1}…",
        "x".repeat(100),
        "x".repeat(99)
    );
    for (arguments, header, value, problem) in [
        (
            r#"{"text": "a"}"#,
            "mcp-param-text",
            Some("b"),
            r#"Mcp-Param-Text header value "b" does not match body value "a""#,
        ),
        (
            r#"{"text": "a"}"#,
            "mcp-param-text",
            Some("A"),
            r#"Mcp-Param-Text header value "A" does not match body value "a""#,
        ),
        (
            r#"{"text": "42"}"#,
            "mcp-param-text",
            Some("42.0"),
            r#"Mcp-Param-Text header value "42.0" does not match body value "42""#,
        ),
        (
            r#"{"count": 42}"#,
            "mcp-param-count",
            Some("43"),
            r#"Mcp-Param-Count header value "43" does not match body value 42"#,
        ),
        (
            r#"{"count": 42}"#,
            "mcp-param-count",
            Some("\"42\""),
            r#"Mcp-Param-Count header value "\"42\"" does not match body value 42"#,
        ),
        (
            r#"{"count": 42}"#,
            "mcp-param-count",
            Some("042"),
            r#"Mcp-Param-Count header value "042" does not match body value 42"#,
        ),
        (
            r#"{"count": 42}"#,
            "mcp-param-count",
            Some("+42"),
            r#"Mcp-Param-Count header value "+42" does not match body value 42"#,
        ),
        (
            r#"{"count": 42}"#,
            "mcp-param-count",
            Some(""),
            r#"Mcp-Param-Count header value "" does not match body value 42"#,
        ),
        (
            r#"{"dry": true}"#,
            "mcp-param-dry",
            Some("True"),
            r#"Mcp-Param-Dry header value "True" does not match body value true"#,
        ),
        (
            r#"{"count": -170141183460469231731687303715884105728}"#,
            "mcp-param-count",
            Some("0"),
            "Mcp-Param-Count body value -170141183460469231731687303715884105728 is not between -9007199254740991 and 9007199254740991",
        ),
        (
            r#"{"count": 9007199254740992}"#,
            "mcp-param-count",
            Some("9007199254740992"),
            "Mcp-Param-Count body value 9007199254740992 is not between -9007199254740991 and 9007199254740991",
        ),
        (
            r#"{"text": "a"}"#,
            "mcp-param-text",
            None,
            r#"Mcp-Param-Text header is missing, but arguments.text is "a""#,
        ),
        (
            r#"{"text": ""}"#,
            "mcp-param-text",
            None,
            r#"Mcp-Param-Text header is missing, but arguments.text is """#,
        ),
        (
            r#"{"text": {"a": 1}}"#,
            "mcp-param-text",
            None,
            r#"Mcp-Param-Text header is missing, but arguments.text is {"a": 1}"#,
        ),
        (
            r#"{"text": {"a": 1}}"#,
            "mcp-param-text",
            Some("{\"a\": 1}"),
            r#"Mcp-Param-Text header value "{\"a\": 1}" does not match body value {"a": 1}"#,
        ),
        (
            r#"{"in": "{\"zone\": \"z\"}"}"#,
            "mcp-param-zone",
            None,
            r#"Mcp-Param-Zone header is missing, but arguments.in.zone is "z""#,
        ),
        (
            r#""{\"text\": \"x\"}""#,
            "mcp-param-text",
            None,
            r#"Mcp-Param-Text header is missing, but arguments.text is "x""#,
        ),
        (
            "{}",
            "mcp-param-zone",
            Some("z"),
            r#"Mcp-Param-Zone header value "z" has no body value at arguments.in.zone"#,
        ),
        (
            r#"{"text": null}"#,
            "mcp-param-text",
            Some("null"),
            r#"Mcp-Param-Text header value "null" has no body value at arguments.text"#,
        ),
        (
            "[]",
            "mcp-param-text",
            Some(""),
            r#"Mcp-Param-Text header value "" has no body value at arguments.text"#,
        ),
        (
            r#"{"text": "Hello"}"#,
            "mcp-param-text",
            Some("=?base64?SGVsbG8?="),
            r#"Mcp-Param-Text header value "=?base64?SGVsbG8?=": what is between =?base64? and ?= is not Base64 with its padding"#,
        ),
        (
            r#"{"text": "a"}"#,
            "mcp-param-text",
            Some("a\u{1}"),
            r#"Mcp-Param-Text header value "a\u{1}": byte 0x01 is not allowed in a header"#,
        ),
        (&long_body, "mcp-param-text", Some(&long_header), &cut),
    ] {
        let headers: Vec<_> = value.map(|value| (header, value)).into_iter().collect();
        assert_eq!(checked(arguments, &headers), Err(problem.to_owned()), "{arguments}");
    }
}
