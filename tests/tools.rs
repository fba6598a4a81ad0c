//! Tools through the public doors: what `tool!` and `data!` make, what a registry does with it.
//!
//! No serde in scope here: the macros bring their own.

#[path = "support/judge.rs"]
mod judge;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tinymcp::json::{FromJson, Json};
use tinymcp::protocol::{CallToolResult, Content, ToolAnnotations};
use tinymcp::tool::{Parameter, RegistryError, Schema, Structured, ToolOutput};
use tinymcp::{Arguments, Context, ErrorObject, FnTool, Tool, ToolError, ToolRegistry, data, tool};

fn call(tool: &impl Tool, arguments: &str) -> Result<CallToolResult, String> {
    let arguments = Arguments::from_text(arguments).map_err(|e| e.to_string())?;
    tool.execute(arguments, &Context::detached()).map_err(|e| e.to_string())
}

/// The text of the result, or of the failure.
fn text(tool: &impl Tool, arguments: &str) -> String {
    match call(tool, arguments) {
        Ok(result) => result.text_content(),
        Err(problem) => problem,
    }
}

/// What clients are known to refuse; the schemas generated here must have none of it.
fn lint(schema: &serde_json::Value, place: &str, is_root: bool, problems: &mut Vec<String>) {
    let serde_json::Value::Object(map) = schema else {
        problems.push(format!("{place}: not an object"));
        return;
    };
    if is_root && map.get("type") != Some(&"object".into()) {
        problems.push(format!("{place}: root is no object"));
    }
    if !map.contains_key("type") && !map.contains_key("$ref") {
        problems.push(format!("{place}: no type"));
    }
    if map.get("type") == Some(&"array".into()) && !map.contains_key("items") {
        problems.push(format!("{place}: no items"));
    }
    for keyword in ["oneOf", "allOf", "format", "const", "$schema", "definitions"] {
        if map.contains_key(keyword) {
            problems.push(format!("{place}: {keyword}"));
        }
    }
    if is_root && (map.contains_key("anyOf") || map.contains_key("$ref") || !map.contains_key("properties")) {
        problems.push(format!("{place}: composed or without properties"));
    }
    for keyword in ["properties", "$defs"] {
        for (name, schema) in map.get(keyword).and_then(|v| v.as_object()).into_iter().flatten() {
            lint(schema, &format!("{place}.{name}"), false, problems);
        }
    }
    if let Some(items) = map.get("items").filter(|items| **items != serde_json::json!({})) {
        lint(items, &format!("{place}[]"), false, problems);
    }
    if let Some(additional) = map.get("additionalProperties").filter(|schema| !schema.is_boolean()) {
        lint(additional, &format!("{place}.*"), false, problems);
    }
    for schema in map.get("anyOf").and_then(|v| v.as_array()).into_iter().flatten() {
        lint(schema, &format!("{place}|"), false, problems);
    }
}

#[track_caller]
fn assert_client_proof(tool: &impl Tool) {
    let mut problems = Vec::new();
    lint(&tool.parameters().to_value(), tool.name(), true, &mut problems);
    assert_eq!(problems, Vec::<String>::new(), "{}", tool.parameters());
    assert!(judge::is_schema(&tool.parameters().to_value()), "{}", tool.parameters());
}

data! {
    /// How urgent it is
    #[derive(Debug, Clone, Copy, PartialEq, Default)]
    enum Priority {
        #[default]
        Low as "low",
        /// Wakes somebody up
        High as "high",
        Someday,
    }

    #[derive(Debug, Clone, PartialEq)]
    struct Filter {
        /// Which ones
        name: String,
        limit as "maxItems": u64 = 10,
        r#type: Option<Priority>,
    }

    /// A node
    #[derive(Debug, Clone, PartialEq)]
    pub struct Node {
        pub(crate) name: String,
        children: Vec<Node> = vec![],
        twin: Option<Box<Node>>,
    }

    #[derive(Debug, Clone, PartialEq)]
    enum Shape {
        /// No extent
        Point,
        Circle as "circle" { /** Radius in metres */ radius: f64 },
        Text { text: String, size: u8 = 12 },
    }

    #[derive(Debug, Clone, PartialEq)]
    struct Nothing {}
}

fn everything() -> FnTool {
    tool! {
        /// Takes one of each
        fn everything(
            cx: &Context,
            text: String,
            flag: bool,
            small: u8,
            big: i64,
            real: f64,
            list: Vec<Filter>,
            map: BTreeMap<String, u32>,
            path: std::path::PathBuf,
            any: Json,
            value: Option<serde_json::Value>,
            /// How urgent
            priority: Priority = Priority::High,
            filter: Option<Filter>,
            shape: Option<Shape>,
            node: Option<Node>,
            nothing: Option<Nothing>,
            language: String = "en",
            /// Renamed
            other as "otherName": Option<Option<u8>>,
            r#type: Option<String>,
        ) -> Result<String, ToolError> {
            assert!(!cx.cancel_token().is_cancelled());
            let flags = (flag, nothing, filter.is_some());
            Ok(format!(
                "{text} {small} {big} {real} {} {} {} {any} {value:?} {priority:?} {shape:?} {node:?} {language} {other:?} {type:?} {flags:?}",
                list.len(), map.len(), path.display(),
                type = r#type,
            ))
        }
    }
}

#[test]
fn generated_schemas_are_client_proof() {
    assert_client_proof(&everything());
    assert_client_proof(&tool! { fn nothing() {} });
    assert_client_proof(&tool! { fn context(cx: &Context) { let _ = cx; } });
    let node = tool! { fn node(a: Node, b: Vec<Node>) { let _ = (a, b); } };
    assert_client_proof(&node);
    let text = node.parameters().as_str();
    assert_eq!(text.matches("$defs\":{").count(), 1, "{text}");
    assert_eq!(text.matches("\"$ref\":\"#/$defs/Node\"").count(), 4, "{text}");
    // The description of a priority: the parameter's, then the type's, then those of its words.
    let schema = everything().parameters().to_value();
    assert_eq!(
        schema["properties"]["priority"],
        serde_json::json!({
            "type": "string", "enum": ["low", "high", "Someday"], "default": "high",
            "description": "How urgent\nHow urgent it is\n- high: Wakes somebody up"
        })
    );
    assert_eq!(schema["properties"]["filter"]["required"], serde_json::json!(["name"]));
    assert_eq!(schema["properties"]["otherName"]["description"], "Renamed");
    assert!(schema["properties"].get("cx").is_none());
    assert_eq!(
        schema["required"],
        serde_json::json!(["text", "flag", "small", "big", "real", "list", "map", "path", "any"])
    );
}

#[test]
fn every_parameter_type_is_read_with_leniency() {
    let tool = everything();
    let result = text(
        &tool,
        r#"{"text":"t","flag":"true","small":"3","big":30.0,"real":"1.5","list":"[{\"name\":\"f\"}]","map":{"k":"1"},
            "path":"/tmp","any":10000000000000000000000000,"value":null,"filter":"{\"name\":\"x\"}","shape":{"type":"Text","text":"s"},
            "node":{"name":"n","children":null},"nothing":{},"language":null,"otherName":5,"type":"y","unknown":1}"#,
    );
    assert_eq!(
        result,
        "t 3 30 1.5 1 1 /tmp 10000000000000000000000000 None High Some(Text { text: \"s\", size: 12 }) \
         Some(Node { name: \"n\", children: [], twin: None }) en Some(Some(5)) Some(\"y\") (true, Some(Nothing), true)"
    );
}

#[test]
fn bad_arguments_are_told_all_at_once_and_where() {
    let tool = tool! {
        fn create_note(title: String, filters: Option<Vec<Filter>>, copies: u32 = 1) { let _ = (title, filters, copies); }
    };
    for (arguments, want) in [
        (r#"{"title":"a","copies":"many"}"#, r#"copies: expected an integer, found "many""#),
        (
            r#"{"title":5,"filters":[{"name":"a"},{}]}"#,
            "title: expected a string, found 5; filters[1].name: missing",
        ),
        (r#"{"title":null}"#, "title: expected a string, found null"),
        (r#"{"title":"a","copies":-1}"#, "copies: -1 is not between 0 and 4294967295"),
        (
            r#"{"title":"a","filters":[{"name":"a","type":"low!"}]}"#,
            r#"filters[0].type: expected one of low, high, Someday, found "low!""#,
        ),
    ] {
        assert_eq!(
            text(&tool, arguments),
            format!("bad arguments for tool create_note: {want}"),
            "{arguments}"
        );
    }
    assert_eq!(text(&tool, "5"), "bad arguments: expected an object, found 5");
    assert_eq!(text(&tool, r#""{\"title\":\"a\"}""#), "");
    assert_eq!(text(&tool, r#"" {\"title\":\"a\"} ""#), "");
    assert_eq!(text(&tool, r#""title""#), r#"bad arguments: expected an object, found "title""#);
}

#[test]
fn unknown_arguments_are_ignored_or_refused() {
    let tool = tool! { fn f(a: Option<u8>) -> String { format!("{a:?}") } };
    assert_eq!(text(&tool, r#"{"a":1,"b":2}"#), "Some(1)");
    let strict = tool.deny_unknown_arguments().named("g");
    assert_eq!(text(&strict, r#"{"a":1,"b":2}"#), "bad arguments for tool g: b: unknown argument");
    assert_eq!(
        strict.parameters().as_str(),
        r#"{"type":"object","properties":{"a":{"type":"integer","minimum":0}},"additionalProperties":false}"#
    );
    assert_client_proof(&strict);

    let schema = Json::parse(r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#).unwrap();
    let strict = FnTool::new("h", "", schema, |_, _| ()).deny_unknown_arguments();
    assert_eq!(text(&strict, r#"{"b":2}"#), "bad arguments for tool h: b: unknown argument");
}

#[test]
fn data_survives_a_round_trip() {
    fn round<T: Parameter + PartialEq + std::fmt::Debug>(value: &T, text: &str) {
        let json = Json::new(value).unwrap();
        assert_eq!(json.as_str(), text);
        assert_eq!(&T::from_json(json.as_raw()).unwrap(), value);
        let schema = Schema::root::<T>().to_json().to_value();
        assert!(judge::is_valid(&schema, &json.to_value()), "{schema} {json}");
    }
    round(&Priority::Low, r#""low""#);
    round(&Shape::Point, r#"{"type":"Point"}"#);
    round(&Shape::Circle { radius: 1.5 }, r#"{"type":"circle","radius":1.5}"#);
    round(&Filter { name: "a".into(), limit: 3, r#type: None }, r#"{"name":"a","maxItems":3}"#);
    round(&Nothing {}, "{}");
    let leaf = Node { name: "leaf".into(), children: vec![], twin: None };
    let root = Node { name: "root".into(), children: vec![leaf.clone()], twin: Some(Box::new(leaf)) };
    round(
        &root,
        r#"{"name":"root","children":[{"name":"leaf","children":[]}],"twin":{"name":"leaf","children":[]}}"#,
    );
    let error = Shape::from_json(Json::parse(r#"{"type":"square"}"#).unwrap().as_raw()).unwrap_err();
    assert_eq!(error.to_string(), r#"type: expected one of Point, circle, Text, found "square""#);
    // Through serde, also from a tree.
    let filter: Filter = serde_json::from_value(serde_json::json!({"name": "x", "maxItems": "4"})).unwrap();
    assert_eq!(filter.limit, 4);
}

#[test]
fn structured_results_match_their_schema() {
    fn check<R: ToolOutput>(output: R) -> CallToolResult {
        let schema = R::output_schema().expect("a schema").to_value();
        let result = output.into_result().expect("a result");
        let content = result.structured_content.clone().expect("structured");
        assert!(judge::is_valid(&schema, &content.to_value()), "{schema} {content}");
        assert_eq!(result.text_content(), content.as_str());
        result
    }
    check(Filter { name: "a".into(), limit: 1, r#type: Some(Priority::High) });
    check(Shape::Circle { radius: 2.0 });
    check(vec![Nothing {}]);
    check(BTreeMap::from([("k".to_owned(), 1u8)]));
    check(Node {
        name: "n".into(),
        children: vec![Node { name: "c".into(), children: vec![], twin: None }],
        twin: None,
    });
    let output =
        tool! { fn f() -> Result<Shape, std::num::ParseIntError> { "x".parse::<u8>()?; Ok(Shape::Point) } };
    let schema = output.definition().output_schema.expect("a schema").to_value();
    assert_eq!((&schema["type"], schema.get("anyOf")), (&"object".into(), None));
    assert_eq!(text(&output, "{}"), "invalid digit found in string");

    assert_eq!(Structured(BTreeMap::from([(1, 2)])).into_result().unwrap().text_content(), r#"{"1":2}"#);
    assert_eq!(().into_result().unwrap().content, vec![]);
    assert_eq!(Priority::High.into_result().unwrap().text_content(), "high");
    assert_eq!(vec![Content::text("a"), Content::text("b")].into_result().unwrap().text_content(), "a\nb");
}

#[test]
fn failures_are_results_unless_they_are_of_the_protocol() {
    let tool = tool! {
        fn fail(how: String) -> Result<(), ToolError> {
            match how.as_str() {
                "protocol" => Err(ToolError::protocol(ErrorObject::new(-32000, "no").with_data(Json::from("why")))),
                "content" => Err(ToolError::result(CallToolResult::new(vec![Content::text("log"), Content::text("end")]))),
                "arguments" => Err(ToolError::bad_arguments("how: too bad")),
                _ => Err(std::io::Error::other("disk"))?,
            }
        }
    };
    let outcome = |how: &str| {
        let arguments = Arguments::new(&BTreeMap::from([("how", how)])).unwrap();
        tool.execute(arguments, &Context::detached()).unwrap_err().into_result()
    };
    assert_eq!(outcome("protocol").unwrap_err().data, Some(Json::from("why")));
    for (how, want) in [
        ("content", "log\nend"),
        ("arguments", "bad arguments for tool fail: how: too bad"),
        ("other", "disk"),
    ] {
        let result = outcome(how).unwrap();
        assert!(result.is_error());
        assert_eq!(result.text_content(), want);
    }
}

#[test]
fn bodies_capture_and_return_early() {
    let total = Arc::new(AtomicUsize::new(0));
    let sum = total.clone();
    let limit = 10;
    let tool = tool! {
        fn add as "add-up"(n: usize = limit) -> usize {
            if n > limit { return 0; }
            sum.fetch_add(n, Ordering::Relaxed) + n
        }
    };
    assert_eq!((text(&tool, "{}").as_str(), text(&tool, r#"{"n":11}"#).as_str()), ("10", "0"));
    assert_eq!((tool.name(), total.load(Ordering::Relaxed)), ("add-up", 10));
}

#[test]
fn definitions_carry_everything() {
    let tool = tool! {
        /// First line
        ///
        ///   indented
        fn f() -> Filter { Filter { name: String::new(), limit: 0, r#type: None } }
    };
    let definition =
        tool.title("F").read_only().destructive(false).idempotent().open_world(false).definition();
    assert_eq!(definition.description.as_deref(), Some("First line\n\n  indented"));
    assert_eq!(definition.title.as_deref(), Some("F"));
    let hints = ToolAnnotations::default()
        .with_read_only(true)
        .with_destructive(false)
        .with_idempotent(true)
        .with_open_world(false);
    assert_eq!(definition.annotations, Some(hints));
    assert!(definition.output_schema.is_some());
}

fn named(name: &str) -> FnTool {
    tool! { fn f() -> &'static str { "old" } }.named(name)
}

#[test]
fn registries_refuse_bad_tools_by_name() {
    let tools = ToolRegistry::new().with(named("a")).unwrap();
    assert_eq!(tools.register(named("a")).unwrap_err().to_string(), "duplicate tool: a");
    assert!(matches!(tools.register(named("")), Err(RegistryError::InvalidName { .. })));
    assert_eq!(
        tools.register(named(&"x".repeat(129))).unwrap_err().to_string(),
        format!("invalid tool name {:?}: 129 characters, at most 128 are allowed", "x".repeat(128))
    );
    assert!(tools.register(named("a\nb")).is_err());
    tools.register(named("odd but allowed ✓")).unwrap();
    let schema = |text| FnTool::new("s", "d", Json::parse(text).unwrap(), |_, _| ());
    assert_eq!(
        tools.register(schema(r#"{"oneOf":[{"type":"object"}]}"#)).unwrap_err().to_string(),
        "invalid schema of tool s: type: missing, expected \"object\""
    );
    // With a warning only: a schema by hand passes as it is.
    let by_hand = r#"{"type": "object", "anyOf": [{}], "properties": {"x": true}}"#;
    tools.register(schema(by_hand)).unwrap();
    assert_eq!(tools.get("s").unwrap().parameters().as_str(), by_hand);
}

#[test]
fn pages_are_stable_while_tools_come_and_go() {
    let tools = ToolRegistry::new();
    for name in ["d", "b", "a", "c", "e"] {
        tools.register(named(name)).unwrap();
    }
    let names =
        |page: &[tinymcp::protocol::ToolDefinition]| page.iter().map(|d| d.name.clone()).collect::<String>();
    let (first, cursor) = tools.page(None, 2).unwrap();
    assert_eq!(names(&first), "ab");
    tools.remove("b").unwrap();
    tools.register(named("aa")).unwrap();
    let (second, cursor) = tools.page(cursor.as_deref(), 2).unwrap();
    assert_eq!(names(&second), "cd");
    let (third, cursor) = tools.page(cursor.as_deref(), 2).unwrap();
    assert_eq!((names(&third).as_str(), cursor), ("e", None));
    for garbage in ["", "after-", "after-6", "after-+6", "after-zz", "after-ff", "6e", "after-é"] {
        assert!(matches!(tools.page(Some(garbage), 2), Err(RegistryError::InvalidCursor(_))), "{garbage}");
    }
    assert_eq!(tools.names(), ["a", "aa", "c", "d", "e"]);
    assert_eq!(tools.definitions().len(), 5);
    assert_eq!(tools.page(None, 0).unwrap().0.len(), 1);
}

#[test]
fn listeners_hear_of_changes_and_may_use_the_registry() {
    let tools = ToolRegistry::new();
    let heard = Arc::new(AtomicUsize::new(0));
    let (handle, count) = (tools.clone(), heard.clone());
    let listener = tools.on_change(move || {
        count.fetch_add(handle.len() + 10, Ordering::Relaxed);
    });
    tools.register(named("a")).unwrap();
    assert!(tools.register(named("a")).is_err());
    let old = tools.replace(tool! { fn a() -> &'static str { "new" } }).unwrap().unwrap();
    assert_eq!(old.execute(Arguments::empty(), &Context::detached()).unwrap().text_content(), "old");
    assert!(tools.remove("b").is_none());
    tools.remove("a").unwrap();
    assert_eq!((heard.load(Ordering::Relaxed), tools.generation()), (32, 3));
    drop(listener);
    tools.register(named("a")).unwrap();
    assert_eq!((heard.load(Ordering::Relaxed), tools.generation()), (32, 4));
}

#[test]
fn a_panic_is_one_failed_call() {
    let tools = ToolRegistry::new();
    tools.register(tool! { fn boom() -> String { panic!("secret {}", 1) } }).unwrap();
    tools.register(named("good")).unwrap();
    let run = |name: &str| tools.execute(name, Arguments::empty(), &Context::detached());
    for _ in 0..50 {
        let result = run("boom").unwrap();
        assert_eq!((result.is_error(), result.text_content().as_str()), (true, "tool `boom` panicked"));
    }
    assert_eq!(run("good").unwrap().text_content(), "old");
    assert_eq!(run("none").unwrap_err().code, -32602);
}

#[test]
fn big_integers_pass_unchanged() {
    let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let by_schema =
        FnTool::new("echo", "", schema, |arguments: Arguments<'_>, _: &Context| arguments.to_json());
    let declared = tool! { fn echo(n: Json) -> Json { n } };
    for n in [
        "9007199254740993",
        "18446744073709551615",
        "-9223372036854775808",
        "1000000000000000000000000000000",
    ] {
        let arguments = format!(r#"{{"n":{n}}}"#);
        assert_eq!(text(&by_schema, &arguments), arguments);
        assert_eq!(text(&declared, &arguments), n);
    }
}

#[test]
fn trait_objects_are_tools_too() {
    let tools = ToolRegistry::new();
    let shared: Arc<dyn Tool> = Arc::new(named("shared"));
    tools.register(shared.clone()).unwrap();
    let boxed: Box<dyn Tool> = Box::new(named("boxed").title("Boxed"));
    tools.register(boxed).unwrap();
    assert_eq!(tools.definitions()[0].title.as_deref(), Some("Boxed"));
    assert_eq!(text(&shared, "{}"), "old");
}

/// The macros must not depend on what a module has in scope.
mod shadowed {
    #![allow(dead_code, non_camel_case_types)]
    struct Result;
    struct Option;
    struct Some;
    struct None;
    struct Ok;
    struct Err;
    mod serde {}
    mod serde_json {}
    mod core {}
    mod std {}

    tinymcp::data! {
        #[derive(Default)]
        pub(super) struct Point { x: i32 = 1, y: i32 }
        enum Word { A, B }
        enum Either { Left { a: u8 }, Right }
    }

    pub(super) fn tool() -> tinymcp::FnTool {
        tinymcp::tool! {
            fn f(p: Point, word: Word = Word::A, either: ::core::option::Option<Either>, cx: &tinymcp::Context) -> i32 {
                let _ = (word, either, cx);
                p.x + p.y
            }
        }
    }
}

#[test]
fn macros_expand_whatever_is_in_scope() {
    assert_eq!(text(&shadowed::tool(), r#"{"p": {"y": 2}}"#), "3");
}

#[test]
fn nesting_without_end_is_refused_before_the_stack_ends() {
    let nested = |member: &str| {
        let open = format!("{{\"name\":\"n\",\"{member}\":");
        format!("{}null{}", open.repeat(5000), "}".repeat(5000))
    };
    let node = tool! { fn node(a: Node) { let _ = a; } };
    let refused = text(&node, &format!("{{\"a\":{}}}", nested("twin")));
    assert!(refused.ends_with("twin: nested more than 128 levels deep"), "{:.80}", refused);

    let schema = format!(r#"{{"type":"object","items":{}}}"#, nested("items"));
    let schema = Json::parse(&schema).expect("JSON");
    let deep = FnTool::new("deep", "A tool of somebody else", schema, |_, _| ());
    let registered = ToolRegistry::new().register(deep);
    if cfg!(feature = "validation") {
        let error = registered.expect_err("it cannot be compared with").to_string();
        assert_eq!(error, "invalid schema of tool deep: nested more than 128 levels deep");
    } else {
        registered.expect("it is only odd");
    }
}
