//! The result filter: what a malicious server sends is made visible, cut and marked; what is clean stays as it came.

#![allow(clippy::print_stdout, reason = "figures are shown on demand")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use tinymcp::Error;
use tinymcp::host::filter::{
    Caps, Found, PROVENANCE, Part, Provenance, ResultCheck, ResultFilter, Source, visible,
};
use tinymcp::json::{FromJson, Json, Object};
use tinymcp::protocol::{
    CallToolResult, Content, CreateMessageParams, GetPromptResult, Prompt, ReadResourceResult, Resource,
    ResourceTemplate, SamplingMessage, ToolDefinition,
};

const EVIL: &str = "x\u{1b}[2J\u{202e}\u{2066}\u{200b}\u{e0041}\u{9b}\ry";

fn tool() -> Source<'static> {
    Source::tool("notes", "create_note")
}

fn parsed<T: FromJson>(value: &Value) -> T {
    T::from_json(Json::from(value).as_raw()).unwrap_or_else(|e| panic!("{e}: {value}"))
}

fn written<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("JSON")
}

/// No string of `value` has anything that is not seen.
fn assert_visible(value: &Value) {
    match value {
        Value::String(text) => assert_eq!(visible(text), *text),
        Value::Array(items) => items.iter().for_each(assert_visible),
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            assert_eq!(visible(name), *name);
            assert_visible(value);
        }),
        _ => {}
    }
}

/// Without our notes.
fn unmarked(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::Object(members) => {
                if let Some(Value::Object(meta)) = members.get_mut("_meta") {
                    meta.remove(PROVENANCE);
                    if meta.is_empty() {
                        members.remove("_meta");
                    }
                }
                members.values_mut().for_each(strip);
            }
            _ => {}
        }
    }
    strip(&mut value);
    value
}

fn every_kind(text: &str) -> Value {
    let meta = json!({"theirs": text, PROVENANCE: {"server": "trusted"}, "io.github.tinymcp/other": 1});
    let hints = json!({"audience": ["user", text], "lastModified": text, "later": text});
    json!({
        "content": [
            {"type": "text", "text": text, "annotations": hints, "_meta": meta, "later": text},
            {"type": "image", "data": "AAAA", "mimeType": text, "_meta": meta},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav", "later": {"deep": [text]}},
            {"type": "resource_link", "uri": format!("a:{text}"), "name": text, "title": text, "description": text,
             "mimeType": text, "icons": [{"src": text, "sizes": [text]}]},
            {"type": "resource", "resource": {"uri": text, "text": text, "mimeType": text, "_meta": meta}, "_meta": meta},
            {"type": "resource", "resource": {"uri": "a:b", "blob": text}},
            {"type": "video", "url": text, "deep": {text: [text]}, "_meta": meta},
            {"type": "text", "text": 5, "_meta": "no object"},
        ],
        "structuredContent": {"items": [{"name": text, text: 1}]},
        "_meta": meta,
        "later": text,
    })
}

#[test]
fn every_kind_of_block_is_made_visible_and_marked() {
    let filter = ResultFilter::new();
    let result: CallToolResult = parsed(&every_kind(EVIL));
    let result = filter.apply_call(&tool(), result).expect("passes");
    let value = written(&result);
    assert_visible(&value);
    assert!(
        !value.to_string().contains("trusted") && !value.to_string().contains("tinymcp/other"),
        "{value}"
    );
    let blocks = value["content"].as_array().expect("blocks");
    assert_eq!(blocks.len(), 8);
    for (n, block) in blocks.iter().enumerate() {
        let note = &block["_meta"][PROVENANCE];
        assert_eq!((&note["server"], &note["tool"]), (&json!("notes"), &json!("create_note")), "block {n}");
        assert_eq!(note["controls"] == true, n != 7, "block {n}: {note}");
    }
    assert_eq!(value["_meta"][PROVENANCE]["controls"], true);
    assert!(blocks[0]["_meta"]["theirs"].as_str().expect("kept").contains("\\u{1b}[2J"));
    // Once more changes nothing but the notes, which say that nothing had to be done.
    let again = filter.apply_call(&tool(), result).expect("passes");
    assert_eq!(unmarked(written(&again)), unmarked(value));
}

#[test]
fn what_is_clean_stays_as_it_came() {
    let filter = ResultFilter::new();
    for text in ["plain", "two\nlines\tand 👩\u{200d}🚀 – naïve", "\\u{202e} as text"] {
        let sent = every_kind(text);
        let result = filter.apply_call(&tool(), parsed(&sent)).expect("passes");
        let mut want = unmarked(sent);
        for meta in [
            "/content/0/_meta",
            "/content/1/_meta",
            "/content/4/_meta",
            "/content/4/resource/_meta",
            "/content/6/_meta",
            "/_meta",
        ] {
            want.pointer_mut(meta)
                .expect("meta")
                .as_object_mut()
                .expect("an object")
                .remove("io.github.tinymcp/other");
        }
        want["content"][7].as_object_mut().expect("a block").remove("_meta");
        let got = unmarked(written(&result));
        if text.contains('\n') {
            // Names are one line.
            assert_eq!(got["content"][0]["text"], text);
            assert_eq!(got["structuredContent"], want["structuredContent"]);
        } else {
            assert_eq!(got, want);
        }
    }
    // The text itself is not even copied.
    let text = "x".repeat(1000);
    let place = text.as_ptr();
    let result = filter.apply_call(&tool(), CallToolResult::text(text)).expect("passes");
    assert_eq!(result.content[0].as_text().expect("text").as_ptr(), place);
}

#[test]
fn numbers_keep_their_text() {
    let exact =
        r#"{"id":9007199254740993,"big":1000000000000000000000000000000,"f":1.10,"e":1e400,"t":"a\u202eb"}"#;
    let result = CallToolResult::text("").with_structured_content(Json::parse(exact).expect("JSON"));
    let result = ResultFilter::new().apply_call(&tool(), result).expect("passes");
    let text = result.structured_content.expect("there").as_str().to_owned();
    assert_eq!(text, exact.replace(r"\u202e", r"\\u{202e}"));
}

#[test]
fn what_is_large_is_cut_and_says_so() {
    let caps = Caps::default()
        .with_text_bytes(1000)
        .with_result_bytes(3000)
        .with_blob_bytes(100)
        .with_structured_bytes(200)
        .with_blocks(6)
        .with_extra_bytes(500);
    let filter = ResultFilter::new().with_caps(caps);
    let apply = |result: CallToolResult| {
        let once = filter.apply_call(&tool(), result).expect("passes");
        let twice = filter.apply_call(&tool(), once.clone()).expect("passes");
        assert_eq!(unmarked(written(&once)), unmarked(written(&twice)), "not the same once more");
        once
    };
    let note = |block: &Content| {
        let value = written(block);
        Provenance::of(&parsed::<Object>(&value["_meta"])).expect("a note")
    };
    // In whole characters, wherever the cut falls.
    for length in 0..8 {
        let long = format!("{}{}", "x".repeat(length), "é👩\u{200d}🚀\u{202e}".repeat(500));
        let bytes = long.len();
        let result = apply(CallToolResult::text(long));
        let text = result.text_content();
        assert!(text.len() <= 1000 && text.len() > 900, "{}", text.len());
        assert!(
            text.ends_with(&format!("\n[cut here: there are {bytes} bytes, and at most 1000 are passed on]")),
            "{text}"
        );
        assert!(note(&result.content[0]).cut && note(&result.content[0]).controls);
    }
    let exact = apply(CallToolResult::text("é".repeat(500)));
    assert_eq!(exact.text_content(), "é".repeat(500));
    assert!(!note(&exact.content[0]).cut);
    // All texts together, and small ones after that.
    let result = apply(CallToolResult::new(vec!["x".repeat(5000).into(); 5]));
    let sizes: Vec<_> = result.content.iter().filter_map(Content::as_text).map(str::len).collect();
    assert_eq!(&sizes[..3], [1000, 1000, 1000]);
    assert_eq!(result.content.len(), 4);
    assert_eq!(result.content[3].as_text(), Some("[2 of 5 blocks left out: that is more than is passed on]"));
    assert!(note(&result.content[3]).added && !note(&result.content[2]).added);
    // Too many.
    let result = apply(CallToolResult::new((0..100).map(|n| n.to_string().into()).collect()));
    let texts: Vec<_> = result.content.iter().filter_map(Content::as_text).collect();
    assert_eq!(
        texts,
        ["0", "1", "2", "3", "4", "[95 of 100 blocks left out: that is more than is passed on]"]
    );
    // Blobs, structured results, unknown blocks, metadata.
    let big = "A".repeat(5000);
    let result = apply(parsed(&json!({
        "content": [
            {"type": "image", "data": big, "mimeType": "image/png"},
            {"type": "audio", "data": big, "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "a:b", "blob": big, "mimeType": "a/b"}},
            {"type": "video", "url": big},
        ],
        "structuredContent": {"a": big},
        "_meta": {"a": big},
    })));
    let texts: Vec<_> = result.content.iter().filter_map(Content::as_text).collect();
    assert_eq!(
        texts,
        [
            "[picture image/png left out: 5000 bytes of base64, and at most 100 are passed on]",
            "[sound audio/wav left out: 5000 bytes of base64, and at most 100 are passed on]",
            "[file a/b left out: 5000 bytes of base64, and at most 100 are passed on]",
            "[block left out: 5016 bytes, and at most 1000 are passed on]",
            "[structured result left out: 5008 bytes, and at most 200 are passed on]",
        ]
    );
    assert!(result.structured_content.is_none());
    let meta = result.meta.expect("a note");
    assert!(meta.len() == 1 && Provenance::of(&meta).expect("a note").cut);
}

#[test]
fn resources_and_prompts_are_filtered_alike() {
    let filter = ResultFilter::new().with_caps(Caps::default().with_blob_bytes(10).with_blocks(3));
    let source = Source::resource("files", "file:///a\u{202e}");
    let result = parsed::<ReadResourceResult>(&json!({
        "contents": [
            {"uri": "file:///a", "text": EVIL, "mimeType": EVIL, "_meta": {PROVENANCE: "forged"}},
            {"uri": "file:///b", "blob": "A".repeat(50)},
            {"uri": "file:///c", "blob": "AAAA"},
            {"uri": "file:///d", "text": "d"},
        ],
        "ttlMs": 5,
    }));
    let value = written(&filter.apply_read(&source, result).expect("passes"));
    assert_visible(&value);
    let parts = value["contents"].as_array().expect("parts");
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[1]["text"], "[file  left out: 50 bytes of base64, and at most 10 are passed on]");
    assert_eq!(parts[1]["uri"], "file:///b");
    assert_eq!(parts[2]["text"], "[2 of 4 parts left out: that is more than is passed on]");
    for part in parts {
        let note = &part["_meta"][PROVENANCE];
        assert_eq!((&note["server"], &note["uri"]), (&json!("files"), &json!("file:///a\\u{202e}")));
    }
    assert_eq!(value["ttlMs"], 5);

    let result = parsed::<GetPromptResult>(&json!({
        "description": EVIL,
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "0"}},
            {"role": "user", "content": {"type": "text", "text": "1"}},
            {"role": EVIL, "content": {"type": "text", "text": EVIL}, "later": EVIL},
            {"role": "assistant", "content": {"type": "resource", "resource": {"uri": "a:b", "text": EVIL}}},
        ],
    }));
    let value = written(&filter.apply_prompt(&Source::prompt("files", "p"), result).expect("passes"));
    assert_visible(&value);
    let messages = value["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[0]["content"]["text"], "[2 of 4 messages left out: that is more than is passed on]");
    assert_eq!(messages[2]["content"]["_meta"][PROVENANCE]["prompt"], "p");

    let ask = CreateMessageParams::new(100)
        .with_system_prompt(EVIL)
        .with_message(SamplingMessage::user(EVIL))
        .with_tools(vec![ToolDefinition::new(EVIL, json!({"type": "object"}))]);
    assert_visible(&written(&filter.apply_sample("files", ask).expect("passes")));
    let many = (0..5).fold(CreateMessageParams::new(100), |ask, _| ask.with_user("x"));
    let error = filter.apply_sample("files", many).expect_err("too many");
    assert_eq!(error.to_string(), "denied: server files was refused: it asks with more than 3 blocks");
    assert_eq!(filter.apply_text("say \u{1b}[1m".into()), "say \\u{1b}[1m");
}

#[test]
fn definitions_are_filtered_with_all_their_schemas_say() {
    let filter = ResultFilter::new();
    let schema = json!({
        "type": "object",
        "description": EVIL,
        "properties": {"a": {"type": "string", "title": EVIL, "enum": [EVIL]}, EVIL: {"description": EVIL}},
    });
    let tool = parsed::<ToolDefinition>(&json!({
        "name": EVIL, "title": EVIL, "description": format!("{EVIL}\nmore"), "inputSchema": schema, "outputSchema": schema,
        "annotations": {"title": EVIL, "readOnlyHint": true}, "icons": [{"src": EVIL}], "later": EVIL,
        "_meta": {PROVENANCE: {"server": "trusted"}},
    }));
    let filtered = filter.apply_definition("notes", tool).expect("passes");
    let value = written(&filtered);
    assert_visible(&value);
    assert!(value["description"].as_str().expect("text").ends_with("\nmore"));
    assert_eq!(value["annotations"]["readOnlyHint"], true);
    assert_eq!(value["_meta"][PROVENANCE]["server"], "notes");
    assert!(!filtered.name.contains('\r') && filtered.name.contains("\\u{d}"));

    let long = json!({"type": "object", "description": "x".repeat(100_000)});
    let tool = ToolDefinition::new("t", long).with_description("y".repeat(100_000));
    let tool = filter.apply_definition("notes", tool).expect("passes");
    assert_eq!(tool.description.expect("text").len(), 16 * 1024);
    assert!(tool.input_schema.as_str().contains("cut here: there are 100000 bytes"));
    let huge = json!({"type": "object", "enum": vec!["x".repeat(1000); 300]});
    let error = filter.apply_definition("notes", ToolDefinition::new("t", huge)).expect_err("too large");
    assert!(
        matches!(&error, Error::Denied(text) if text.starts_with("tool t of server notes was refused: its schema has 30")),
        "{error}"
    );

    let resource =
        parsed::<Resource>(&json!({"uri": "a:b", "name": EVIL, "description": EVIL, "mimeType": EVIL}));
    assert_visible(&written(&filter.apply_resource("s", resource).expect("passes")));
    let template = parsed::<ResourceTemplate>(&json!({"uriTemplate": "a:{b}", "name": EVIL, "title": EVIL}));
    let template = filter.apply_template("s", template).expect("passes");
    assert_visible(&written(&template));
    assert_eq!(template.uri_template, "a:{b}");
    let prompt = json!({"name": EVIL, "arguments": [{"name": EVIL, "description": EVIL, "later": EVIL}]});
    assert_visible(&written(
        &filter.apply_prompt_definition("s", parsed::<Prompt>(&prompt)).expect("passes"),
    ));
}

#[test]
fn checks_change_annotate_and_refuse() {
    struct Seen(Arc<Mutex<Vec<String>>>);
    impl ResultCheck for Seen {
        fn check(&self, source: &Source<'_>, found: &mut Found<'_>) -> Result<(), String> {
            let mut seen = self.0.lock().expect("lock");
            found.each_text(&mut |text| seen.push(text.clone()));
            drop(seen);
            match source.part {
                Part::Tool("bad") => Err("it is bad".into()),
                Part::Tool("panics") => panic!("on purpose"),
                _ => Ok(()),
            }
        }
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let filter = ResultFilter::new().with_check(Seen(Arc::clone(&seen))).check(|_source, found| {
        found.each_text(&mut |text| *text = text.replace("secret", "[hidden]"));
        if let Found::Call(result) = found {
            result.meta.get_or_insert_default().insert("com.example/score", &0.5);
        }
        Ok(())
    });
    let result = filter.apply_call(&tool(), CallToolResult::text("a secret \u{202e}")).expect("passes");
    assert_eq!(result.text_content(), "a [hidden] \\u{202e}");
    let meta = result.meta.expect("notes");
    assert_eq!(meta.get::<f64>("com.example/score"), Some(0.5));
    assert!(Provenance::of(&meta).is_some());
    // The first check has seen what is visible, and not what the second made of it.
    assert_eq!(seen.lock().expect("lock").as_slice(), ["a secret \\u{202e}"]);
    for (name, reason) in [("bad", "it is bad"), ("panics", "the program's check panicked")] {
        let error =
            filter.apply_call(&Source::tool("notes", name), CallToolResult::text("x")).expect_err("refused");
        let want = format!(
            "denied: the result of tool {name} of server notes was refused (the call was made): {reason}"
        );
        assert_eq!(error.to_string(), want);
    }
    let error = filter.apply_definition("notes", ToolDefinition::new("bad", json!({}))).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "denied: the description of tool bad of server notes was refused: it is bad"
    );
}

#[test]
fn filtering_is_cheap() {
    let filter = ResultFilter::new();
    let result = CallToolResult::structured(&json!({"path": "notes/plan.md", "words": 120})).expect("JSON");
    let begun = Instant::now();
    for _ in 0..5000 {
        std::hint::black_box(filter.apply_call(&tool(), result.clone()).expect("passes"));
    }
    let each = begun.elapsed() / 5000;
    println!("a small result: {each:?}");
    assert!(each < Duration::from_micros(500), "{each:?}");
    // Hostile ones cost what they weigh.
    let begun = Instant::now();
    for text in [EVIL.repeat(1_000_000), "\u{200d}".repeat(5_000_000), "é".repeat(8_000_000)] {
        let result = CallToolResult::structured(&json!({"a": text})).expect("JSON");
        assert!(filter.apply_call(&tool(), result).is_ok());
    }
    let many = json!({"content": vec![json!({"type": "text", "text": "\u{202e}"}); 200_000]});
    assert_eq!(filter.apply_call(&tool(), parsed(&many)).expect("passes").content.len(), 256);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
