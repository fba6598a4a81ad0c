//! Starts the notes server as a child process and uses it: this program is the client and, with the argument
//! `serve`, the server too. Its notes are in a temporary folder, which is removed at the end.
//!
//! ```text
//! $ cargo run --example quickstart
//! Connected to notes-server 1.0.0 by revision 2026-07-28
//! Available tools:
//!   - create_note: Create a text note with a given title and content. Use this ...
//!   - search_notes: Search notes by keyword. Searches both titles and content. R...
//!
//! Tool result: Note saved to /tmp/tinymcp-quickstart-4711/MCP Architecture Notes.md
//! Search result: - **MCP Architecture Notes**: ...MCP Architecture Notes MCP uses JSON-RPC 2.0 over stdio or HTTP+SSE....
//!
//! Resources by template: notes://{title}
//! Resource notes://MCP%20Architecture%20Notes: MCP uses JSON-RPC 2.0 over stdio or HTTP+SSE.
//!
//! Closed: exited at end of input (exit status: 0)
//! ```

#![allow(clippy::print_stdout, reason = "it is a client: its stdout is not the protocol")]

use std::error::Error;
use std::path::Path;

use serde_json::json;
use tinymcp::transport::ChildProcess;
use tinymcp::{Client, Tool};

#[path = "notes_server.rs"]
mod notes_server;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return notes_server::main();
    }
    let notes = std::env::temp_dir().join(format!("tinymcp-quickstart-{}", std::process::id()));
    std::fs::create_dir(&notes)?;
    let outcome = use_server(&notes);
    std::fs::remove_dir_all(&notes)?;
    outcome
}

fn use_server(notes: &Path) -> Result<(), Box<dyn Error>> {
    let server = ChildProcess::new(std::env::current_exe()?).arg("serve").env("NOTES_DIR", notes);
    let client = Client::builder().open(server)?;

    // Phase 1: agree on a revision of the protocol.
    let identity = client.initialize()?;
    if let Some(info) = &identity.info {
        println!("Connected to {} {} by revision {}", info.name, info.version, identity.version);
    }

    // Phase 2: discover the tools.
    println!("Available tools:");
    for tool in client.discover_tools()? {
        let line = tool.description().replace('\n', " ");
        println!("  - {}: {}...", tool.name(), line.chars().take(60).collect::<String>());
    }

    // Phase 3: call them.
    let result = client.call_tool(
        "create_note",
        json!({
            "title": "MCP Architecture Notes",
            "content": "MCP uses JSON-RPC 2.0 over stdio or HTTP+SSE.",
            "tags": ["mcp", "architecture"],
        }),
    )?;
    println!("\nTool result: {}", result.text_content());
    let result = client.call_tool("search_notes", json!({"query": "json-rpc"}))?;
    println!("Search result: {}", result.text_content());

    // Phase 4: what it has besides tools, as far as it declares it.
    if identity.capabilities.resources.is_some() {
        for template in client.list_resource_templates()? {
            println!("\nResources by template: {}", template.uri_template);
        }
        for resource in client.list_resources()? {
            let text = client.read_resource(&resource.uri)?.text_content();
            println!("Resource {}: {}", resource.uri, text.lines().last().unwrap_or_default());
        }
    }
    if identity.capabilities.prompts.is_some() {
        for prompt in client.list_prompts()? {
            println!("Prompt: {}", prompt.display_name());
        }
    }

    // Phase 5: end the server; dropping the client would do so, too, but report nothing.
    println!("\nClosed: {}", client.close()?);
    Ok(())
}
