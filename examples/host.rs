//! A host for the terminal: starts the servers of a configuration file, lists their tools, and calls what is typed, asking first.
//!
//! ```text
//! $ cargo run --example host --features host -- ~/.config/my-agent/mcp.json
//! Start server notes: notes_server
//! ...
//! [o]nce, for this [s]ession, [a]lways, [N]o? s
//! notes: ready
//! notes__create_note: Create a text note with a given title and content. Use this ...
//! > notes__search_notes {"query": "plan"}
//! ```
//!
//! Without a file it starts the notes server, which is in it. What is granted for always is kept beside the file, as `grants.json`, and
//! everything that is done is written to `audit.jsonl`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks with its user")]

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;
use tinymcp::CancelToken;
use tinymcp::host::audit::AuditLog;
use tinymcp::host::config::{Config, Resolver, ServerEntry};
use tinymcp::host::consent::{Answer, Consent, Grants, Question, Rules};
use tinymcp::host::{Host, HostBuilder, ServerState};

#[path = "notes_server.rs"]
mod notes_server;

/// Asks on the terminal, one question at a time.
struct Terminal(Mutex<()>);

impl Consent for Terminal {
    fn ask(&self, question: &Question, cancel: &CancelToken) -> Answer {
        let _turn = self.0.lock();
        if cancel.is_cancelled() {
            return Answer::No;
        }
        eprintln!("\n{question}\n[o]nce, for this [s]ession, [a]lways, [N]o?");
        let mut line = String::new();
        match std::io::stdin().read_line(&mut line).map(|_| line.trim()) {
            Ok("o") => Answer::Once,
            Ok("s") => Answer::Session,
            Ok("a") => Answer::Always,
            _ => Answer::No,
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    tinymcp::logging::init();
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("serve") {
        return notes_server::main();
    }
    let host = match argument.map(PathBuf::from) {
        Some(file) => configured(&file)?,
        None => of_itself()?,
    };
    for (server, state) in host.wait_ready(Duration::from_secs(60)) {
        eprintln!("{server}: {state}");
    }
    for tool in host.tools().definitions() {
        let text = tool.description.unwrap_or_default().replace('\n', " ");
        println!("{}: {}", tool.name, text.chars().take(60).collect::<String>());
    }
    converse(&host)?;
    for (server, report) in host.close() {
        match report {
            Ok(report) => eprintln!("{server}: {report}"),
            Err(error) => eprintln!("{server}: {error}"),
        }
    }
    Ok(())
}

/// The servers of a file. Trust is the user's to give, by answering.
fn configured(file: &std::path::Path) -> Result<Host, Box<dyn Error>> {
    let config = Config::read(file)?;
    for problem in &config.rejected {
        eprintln!("{problem}");
    }
    let builder = Host::builder()
        .resolver(Resolver::of(&config).workspace(std::env::current_dir()?))
        .config(&config)
        .consent(Terminal(Mutex::new(())))
        .grants(&Grants::open(file.with_file_name("grants.json"))?)
        .audit(&AuditLog::open(file.with_file_name("audit.jsonl"))?);
    Ok(with_http(builder).start()?)
}

/// Addresses need the feature that reaches them; without it an entry with a `url` says so.
fn with_http(builder: HostBuilder) -> HostBuilder {
    #[cfg(feature = "http-client")]
    let builder = builder.http();
    builder
}

/// The notes server of this program, with its notes in a temporary folder.
fn of_itself() -> Result<Host, Box<dyn Error>> {
    let notes = std::env::temp_dir().join(format!("tinymcp-host-{}", std::process::id()));
    std::fs::create_dir_all(&notes)?;
    let program = std::env::current_exe()?;
    let entry = ServerEntry::command("notes", program.to_string_lossy(), ["serve"])
        .with_env("NOTES_DIR", notes.to_string_lossy());
    let host = Host::builder().policy(Rules::new().allow("notes", "*")).server(entry).start()?;
    host.wait_ready(Duration::from_secs(30));
    if host.state("notes") == Some(ServerState::Ready) {
        let note = serde_json::json!({"title": "Welcome", "content": "Type a tool and its arguments."});
        println!("{}", host.call_tool("notes__create_note", note)?.text_content());
    }
    Ok(host)
}

/// Reads `tool {arguments}` line by line until the end of the input.
fn converse(host: &Host) -> Result<(), Box<dyn Error>> {
    loop {
        print!("> ");
        std::io::stdout().flush()?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            println!();
            return Ok(());
        }
        let (tool, arguments) = line.trim().split_once(' ').unwrap_or((line.trim(), "{}"));
        if tool.is_empty() {
            continue;
        }
        match serde_json::from_str::<Value>(arguments) {
            Err(error) => println!("the arguments are no JSON: {error}"),
            Ok(arguments) => match host.call_tool(tool, arguments) {
                Ok(result) => println!("{}", result.text_content()),
                Err(error) => println!("{error}"),
            },
        }
    }
}
