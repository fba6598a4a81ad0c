//! Serves over HTTP what another server serves over stdio. Nothing is changed on the way.
//!
//! ```text
//! cargo run --features http-server --example bridge_to_http -- 127.0.0.1:8000 -- SERVER [ARG...]
//! ```
//!
//! Each Legacy client gets a process of its own, Modern clients share one. Whoever can connect can use the server: listen on a
//! loopback address, or set a guard.

#![allow(clippy::print_stdout, reason = "where it serves is the program's output")]

use tinymcp::http::HttpServer;
use tinymcp::transport::{ChildProcess, Stderr};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tinymcp::logging::init();
    let mut args = std::env::args().skip(1);
    let (address, dashes) = (args.next(), args.next());
    let (Some(address), Some("--"), Some(program)) = (address, dashes.as_deref(), args.next()) else {
        return Err("usage: bridge_to_http ADDRESS -- SERVER [ARG...]".into());
    };
    // What the servers write to stderr goes where ours does. They get few of our environment variables: `.env(name, value)` adds one.
    let server = ChildProcess::new(program).args(args).stderr(Stderr::Inherit);
    let http = HttpServer::relay(move || server.clone()).bind(address)?;
    println!("{}", http.url());
    http.serve()?; // until it is killed: the servers see the end of their input then
    Ok(())
}
