//! The smallest server: one tool that echoes its argument. What size and speed are measured on.
//!
//! ```text
//! cargo run --release --example echo_server
//! ```

use tinymcp::{Server, ToolRegistry, tool};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let echo = tool! {
        /// Echo a message
        fn echo(message: String) -> String { message }
    };
    Server::builder("echo", "1.0.0").tools(ToolRegistry::new().with(echo)?).build()?.start()?;
    Ok(())
}
