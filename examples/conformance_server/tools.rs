//! Tools that do not ask: every kind of content, errors, log messages, progress, schemas and changes.

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use serde_json::json;
use tinymcp::protocol::{Content, ResourceContents, TextResourceContents};
use tinymcp::{Context, FnPrompt, FnTool, Server, ToolError, prompt, tool};

/// A red dot.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";
/// A millisecond of silence.
const WAV: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

pub(crate) fn plain() -> Vec<FnTool> {
    let mut tools = contents();
    tools.extend(behaviours());
    tools.extend([schema_2020_12(), custom_header()]);
    tools
}

fn contents() -> Vec<FnTool> {
    let about = tool! {
        /// Say what this server is for
        fn about() -> &'static str { "one of each thing that a server can have" }
    };
    let text = tool! {
        /// Return a text
        fn test_simple_text() -> &'static str { "This is a simple text response for testing." }
    };
    let image = tool! {
        /// Return an image
        fn test_image_content() -> Content { Content::image(PNG, "image/png") }
    };
    let audio = tool! {
        /// Return a sound
        fn test_audio_content() -> Content { Content::audio(WAV, "audio/wav") }
    };
    let embedded = tool! {
        /// Return the contents of a resource
        fn test_embedded_resource() -> Content {
            let text = "This is an embedded resource content.";
            Content::resource(TextResourceContents::new("test://embedded-resource", text).with_mime_type("text/plain"))
        }
    };
    let mixed = tool! {
        /// Return a text, an image and the contents of a resource
        fn test_multiple_content_types() -> Vec<Content> {
            let data = json!({"test": "data", "value": 123}).to_string();
            let data = TextResourceContents::new("test://mixed-content-resource", data);
            vec![
                Content::text("Multiple content types test:"),
                Content::image(PNG, "image/png"),
                Content::resource(ResourceContents::from(data.with_mime_type("application/json"))),
            ]
        }
    };
    [about, text, image, audio, embedded, mixed].map(FnTool::read_only).into()
}

fn behaviours() -> Vec<FnTool> {
    let fails = tool! {
        /// Fail
        fn test_error_handling() -> Result<String, ToolError> {
            Err(ToolError::new("This tool intentionally returns an error for testing"))
        }
    };
    let logs = tool! {
        /// Log a few messages while it works
        fn test_tool_with_logging(cx: &Context) -> Result<&'static str, ToolError> {
            for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                cx.info(message);
                pause(cx)?;
            }
            Ok("Tool with logging executed successfully")
        }
    };
    let logs_once = tool! {
        /// Log a message
        fn test_logging_tool(cx: &Context) -> &'static str {
            cx.info("called");
            "logged for whoever wants to know"
        }
    };
    let reports = tool! {
        /// Say how far it is
        fn test_tool_with_progress(cx: &Context) -> Result<&'static str, ToolError> {
            for done in [0.0, 50.0, 100.0] {
                cx.progress(done, 100.0, "working");
                pause(cx)?;
            }
            Ok("Tool with progress executed successfully")
        }
    };
    let reconnects = tool! {
        /// Have the client come back for the result
        fn test_reconnection(cx: &Context) -> Result<&'static str, ToolError> {
            cx.send_away(Duration::from_millis(100));
            pause(cx)?;
            Ok("Reconnection test completed successfully")
        }
    };
    vec![fails, logs, logs_once, reports, reconnects]
}

/// What a tool does that takes its time and whose caller may give up.
fn pause(cx: &Context) -> Result<(), ToolError> {
    if cx.cancel_token().wait_timeout(Duration::from_millis(50)) {
        Err(ToolError::new("given up"))
    } else {
        Ok(())
    }
}

/// A schema of one's own passes to clients as it is.
fn schema_2020_12() -> FnTool {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    });
    FnTool::new(
        "json_schema_2020_12_tool",
        "Tool with JSON Schema 2020-12 features",
        schema,
        |arguments, _: &Context| arguments.as_str().to_owned(),
    )
}

/// Over HTTP, `value` also stands in the header `Mcp-Param-Value`, for whatever is between client and server.
fn custom_header() -> FnTool {
    let schema = json!({
        "type": "object",
        "properties": {
            "value": {"type": "string", "description": "Goes into a header as well", "x-mcp-header": "Value"},
        },
        "required": ["value"],
    });
    FnTool::new("test_custom_header", "Return what it was given", schema, |arguments, _: &Context| {
        arguments.to_value()["value"].as_str().unwrap_or_default().to_owned()
    })
}

/// Tools that change what is served, of which clients are told.
pub(crate) fn changing(server: &Server) -> Result<[FnTool; 2], Box<dyn Error>> {
    let tools = server.tools().clone();
    let prompts = server.prompts().cloned().ok_or("the server has no prompts")?;
    tools.register(changed_tool(0))?;
    prompts.register(changed_prompt(0))?;
    let [tool_changes, prompt_changes] = [AtomicU32::new(0), AtomicU32::new(0)];
    let change_tool = tool! {
        /// Change the description of test_changing_tool
        fn test_trigger_tool_change() -> Result<&'static str, ToolError> {
            tools.replace(changed_tool(tool_changes.fetch_add(1, SeqCst) + 1))?;
            Ok("the list of tools has changed")
        }
    };
    let change_prompt = tool! {
        /// Change the description of test_changing_prompt
        fn test_trigger_prompt_change() -> Result<&'static str, ToolError> {
            prompts.replace(changed_prompt(prompt_changes.fetch_add(1, SeqCst) + 1))?;
            Ok("the list of prompts has changed")
        }
    };
    Ok([change_tool, change_prompt])
}

fn changed_tool(times: u32) -> FnTool {
    let description = format!("A tool that was changed {times} times");
    FnTool::new("test_changing_tool", description, json!({"type": "object"}), move |_, _: &Context| times)
}

fn changed_prompt(times: u32) -> FnPrompt {
    prompt! {
        /// A prompt that may change
        fn test_changing_prompt() -> String { format!("This prompt was changed {times} times.") }
    }
}
