//! The smallest server over HTTP: one tool that echoes its argument. What speed and memory are measured on.
//!
//! ```text
//! cargo run --release --features http-server --example echo_http -- 127.0.0.1:8000
//! ```

use tinymcp::{Server, ToolRegistry, tool};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let echo = tool! {
        /// Echo a message
        fn echo(message: String) -> String { message }
    };
    Server::builder("echo", "1.0.0").tools(ToolRegistry::new().with(echo)?).build()?.serve_http(address)?;
    Ok(())
}
