//! Does what a scenario of the official conformance suite asks of a client. The suite starts it once for each.
//!
//! ```text
//! $ MCP_CONFORMANCE_SCENARIO=tools_call conformance_client http://localhost:4711/mcp
//! add_numbers: The sum of 5 and 3 is 8
//! ```
//!
//! `MCP_CONFORMANCE_SCENARIO` names the scenario, and `MCP_CONFORMANCE_CONTEXT` is what some of them give with it. It finds out
//! by itself which revision the server speaks. `.ci/conformance` runs the suite.

#![allow(clippy::print_stdout, reason = "it is a client: its stdout is not the protocol")]

use std::env;
use std::error::Error;

use serde_json::{Value, json};
use tinymcp::client::{CallOptions, Outcome};
use tinymcp::json::Object;
use tinymcp::protocol::{CreateMessageResult, ElicitResult, Root, ToolDefinition};
use tinymcp::{Client, ClientHandle};

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

fn main() -> Result {
    tinymcp::logging::init();
    let url = env::args().nth(1).ok_or("usage: conformance_client URL")?;
    let scenario =
        env::var("MCP_CONFORMANCE_SCENARIO").map_err(|e| format!("MCP_CONFORMANCE_SCENARIO: {e}"))?;
    let run = match &*scenario {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => list,
        "tools_call" => add,
        "elicitation-sep1034-client-defaults" | "sse-retry" | "http-invalid-tool-headers" => call_each,
        "sep-2322-client-request-state" => answer_between,
        "http-standard-headers" => use_everything,
        "http-custom-headers" => make_calls_of_context,
        "json-schema-2020-12-preservation" => echo_schema,
        _ => return Err(format!("there is nothing here for scenario {scenario}").into()),
    };
    // Agrees to everything, in place of a person and of a model.
    let client = Client::builder()
        .name("conformance-client", "1.0.0")
        .on_elicit(|form| Ok(ElicitResult::accept(form.defaults())))
        .on_sample(|_| Ok(CreateMessageResult::text("no-model", "Yes.")))
        .roots([Root::new("file:///tmp").with_name("tmp")])
        .connect_http(&url)?;
    run(&client)?;
    client.close()?;
    Ok(())
}

fn list(client: &ClientHandle) -> Result {
    for tool in client.list_tools()? {
        println!("{}", tool.name);
    }
    Ok(())
}

fn add(client: &ClientHandle) -> Result {
    list(client)?;
    call(client, "add_numbers", json!({"a": 5, "b": 3}))
}

/// Calls every tool that there is, with something for each argument.
fn call_each(client: &ClientHandle) -> Result {
    for tool in client.list_tools()? {
        call(client, &tool.name, anything(&tool))?;
    }
    Ok(())
}

/// Arguments for `tool`, all of them text.
fn anything(tool: &ToolDefinition) -> Value {
    let schema = tool.input_schema.to_value();
    let names = schema["properties"].as_object().into_iter().flat_map(|properties| properties.keys());
    names.map(|name| (name.clone(), json!("anything"))).collect::<serde_json::Map<_, _>>().into()
}

/// Answers questions: once by the handler, and once by hand, with another call in between.
fn answer_between(client: &ClientHandle) -> Result {
    list(client)?;
    call(client, "test_mrtr_echo_state", json!({}))?;
    let options = CallOptions::default();
    let Outcome::InputRequired(asked) = client.call_tool_once("test_mrtr_no_state", json!({}), &options)?
    else {
        return Err("test_mrtr_no_state asked nothing".into());
    };
    call(client, "test_mrtr_unrelated", json!({}))?;
    let mut answers = Object::new();
    for (key, _) in asked.input_requests.iter() {
        answers.insert(key, &ElicitResult::accept(Object::new()));
    }
    let options = options.with_input(answers, asked.request_state);
    let Outcome::Complete(result) = client.call_tool_once("test_mrtr_no_state", json!({}), &options)? else {
        return Err("test_mrtr_no_state asked again".into());
    };
    println!("test_mrtr_no_state: {}", result.text_content());
    call(client, "test_mrtr_no_result_type", json!({}))
}

fn use_everything(client: &ClientHandle) -> Result {
    call_each(client)?;
    for resource in client.list_resources()? {
        println!("{}: {} parts", resource.uri, client.read_resource(&resource.uri)?.contents.len());
    }
    for prompt in client.list_prompts()? {
        println!("{}: {} messages", prompt.name, client.get_prompt(&prompt.name, ())?.messages.len());
    }
    Ok(())
}

/// The context has a list of calls.
fn make_calls_of_context(client: &ClientHandle) -> Result {
    list(client)?;
    let context = env::var("MCP_CONFORMANCE_CONTEXT").map_err(|e| format!("MCP_CONFORMANCE_CONTEXT: {e}"))?;
    let context: Value = serde_json::from_str(&context)?;
    for wanted in context["toolCalls"].as_array().ok_or("the context has no toolCalls")? {
        let name = wanted["name"].as_str().ok_or("a call without a name")?;
        call(client, name, wanted["arguments"].clone())?;
    }
    Ok(())
}

/// Gives the schema of one tool to another, as it came.
fn echo_schema(client: &ClientHandle) -> Result {
    let tools = client.list_tools()?;
    let rich = tools.items.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
    let rich = rich.ok_or("there is no json_schema_2020_12_tool")?;
    let mut arguments = Object::new();
    arguments.insert("schema", &rich.input_schema);
    call(client, "json_schema_echo", arguments)
}

/// Calls a tool, which must not fail.
fn call(client: &ClientHandle, tool: &str, arguments: impl serde::Serialize) -> Result {
    let result = client.call_tool(tool, arguments)?;
    println!("{tool}: {}", result.text_content());
    if result.is_error() { Err(format!("{tool} has failed").into()) } else { Ok(()) }
}
