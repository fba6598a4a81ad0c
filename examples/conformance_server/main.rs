//! A server with everything that the official conformance suite looks for, under the names it looks for: one of each thing that
//! a server can have, in words of no meaning. `everything_server.rs` shows the same to people.
//!
//! ```text
//! $ cargo run --features http-server --example conformance_server -- 127.0.0.1:8001
//! http://127.0.0.1:8001/mcp
//! ```
//!
//! With port 0 the operating system chooses one. The line is written when clients can connect. `.ci/conformance` runs the suite.

#![allow(clippy::print_stdout, reason = "it serves over HTTP: its stdout is not the protocol")]

mod asking;
mod jobs;
mod reading;
mod tools;

use std::error::Error;
use std::time::Duration;

use tinymcp::http::{HttpServer, SealedStates};
use tinymcp::server::TaskOptions;
use tinymcp::{Server, ToolRegistry};

fn main() -> Result<(), Box<dyn Error>> {
    tinymcp::logging::init();
    let address =
        std::env::args().nth(1).ok_or("usage: conformance_server ADDRESS, such as 127.0.0.1:8001")?;
    let http = HttpServer::builder(&server()?).bind(address)?;
    println!("{}", http.url());
    http.serve()?;
    Ok(())
}

fn server() -> Result<Server, Box<dyn Error>> {
    let tools = ToolRegistry::new();
    for tool in tools::plain().into_iter().chain(asking::tools()).chain(jobs::tools()) {
        tools.register(tool)?;
    }
    let server = Server::builder("conformance-server", "1.0.0")
        .instructions("A server to try clients with. Nothing it does has an effect.")
        .tools(tools)
        .resources(reading::resources()?)
        .prompts(reading::prompts()?)
        .completions()
        .logging()
        .tasks(TaskOptions::default().with_poll_interval(Duration::from_millis(200)))
        // The state of a call that waits for an answer travels with its client, so that any process could go on with it.
        .state_store(SealedStates::new()?)
        .build()?;
    // They change what is served, and so need what is served.
    for tool in tools::changing(&server)? {
        server.tools().register(tool)?;
    }
    Ok(server)
}
