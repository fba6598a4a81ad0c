//! An agent that uses tools without knowing where they run: `word_count` is a function of this program, the others
//! belong to the notes server, which is a child process. A fixed plan stands in for the model.
//!
//! ```text
//! $ cargo run --example agent
//! tools: create_note, search_notes, word_count
//! 1. word_count {"text":"milk, bread and tea"}
//!    4
//! 2. create_note {"title":"Shopping list"}
//!    failed: bad arguments for tool create_note: content: missing
//!    again with {"content":"milk, bread and tea","title":"Shopping list"}
//!    Note saved to /tmp/tinymcp-agent-4711/Shopping list.md
//! 3. search_notes {"query":"BREAD"}
//!    - **Shopping list**: ...Shopping list milk, bread and tea...
//! ```

#![allow(clippy::print_stdout, reason = "it is a client: its stdout is not the protocol")]

use std::error::Error;
use std::path::Path;

use serde_json::{Value, json};
use tinymcp::protocol::CallToolResult;
use tinymcp::transport::ChildProcess;
use tinymcp::{Arguments, Client, Context, ErrorObject, ToolRegistry, tool};

#[path = "notes_server.rs"]
mod notes_server;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return notes_server::main();
    }
    let notes = std::env::temp_dir().join(format!("tinymcp-agent-{}", std::process::id()));
    std::fs::create_dir(&notes)?;
    let outcome = with_tools(&notes);
    std::fs::remove_dir_all(&notes)?;
    outcome
}

/// Gathers local and remote tools in one registry.
fn with_tools(notes: &Path) -> Result<(), Box<dyn Error>> {
    let server = ChildProcess::new(std::env::current_exe()?).arg("serve").env("NOTES_DIR", notes);
    let client = Client::builder().open(server)?;
    let tools = ToolRegistry::new().with(tool! {
        /// Count the words of a text
        fn word_count(text: String) -> usize { text.split_whitespace().count() }
    })?;
    for tool in client.discover_tools()? {
        tools.register(tool)?;
    }
    run(&tools)?;
    client.close()?;
    Ok(())
}

/// The agent: all it knows is the registry.
fn run(tools: &ToolRegistry) -> Result<(), Box<dyn Error>> {
    println!("tools: {}", tools.names().join(", "));
    let knowledge = json!({"content": "milk, bread and tea"});
    let plan = [
        ("word_count", json!({"text": "milk, bread and tea"})),
        ("create_note", json!({"title": "Shopping list"})), // forgets the content
        ("search_notes", json!({"query": "BREAD"})),
    ];
    for (step, (name, mut arguments)) in plan.into_iter().enumerate() {
        println!("{}. {name} {arguments}", step + 1);
        let mut result = call(tools, name, &arguments)?;
        if result.is_error() {
            println!("   failed: {}", result.text_content());
            correct(&mut arguments, &result.text_content(), &knowledge);
            println!("   again with {arguments}");
            result = call(tools, name, &arguments)?;
        }
        println!("   {}", result.text_content());
    }
    Ok(())
}

/// A tool that failed is a result as well, wherever it ran. What is left as an error no model can mend.
fn call(tools: &ToolRegistry, name: &str, arguments: &Value) -> Result<CallToolResult, ErrorObject> {
    match Arguments::new(arguments) {
        Ok(arguments) => tools.execute(name, arguments, &Context::detached()),
        Err(error) => error.into_result(),
    }
}

/// Adds every argument that `problem` calls missing, as a model would that reads it.
fn correct(arguments: &mut Value, problem: &str, knowledge: &Value) {
    for part in problem.split([' ', ';']).filter_map(|word| word.strip_suffix(':')) {
        if problem.contains(&format!("{part}: missing")) {
            arguments[part] = knowledge[part].clone();
        }
    }
}
