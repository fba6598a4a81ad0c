//! One host of servers that others wrote, from a configuration file as desktop hosts have it: over stdio and over HTTP.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::json;
use tinymcp::client::{Address, CallOptions, Caller};
use tinymcp::host::audit::{AuditLog, Ended, Kind};
use tinymcp::host::config::{Config, Resolver};
use tinymcp::host::consent::Rules;
use tinymcp::host::filter::PROVENANCE;
use tinymcp::host::{Host, ServerState};
use tinymcp::protocol::Content;

use crate::Case;
use crate::peers::{MARK, Peers, client, script};

pub(crate) const CASES: &[Case] = &[("one host, servers of four kinds", one_host)];

fn one_host(peers: &Peers) {
    let root = peers.home().join("files");
    fs::create_dir(&root).expect("made");
    fs::write(root.join("hello.txt"), "hello from a file").expect("written");
    let program = || peers.npm("mcp-server-everything");
    let everything = peers.serve_at_port(peers.node(), [program(), "streamableHttp".into()], "/mcp");
    let env = json!({"HOME": peers.home(), MARK: "${env:TINYMCP_MANY}"});
    let text = |path: std::ffi::OsString| path.into_string().expect("a plain path");
    let file = peers.home().join("mcp.json");
    let servers = json!({
        "everything": {"command": peers.node(), "args": [text(program()), "stdio"], "env": env},
        "files": {"command": peers.node(), "args": [text(peers.npm("mcp-server-filesystem")), root], "env": env},
        "notes": {"command": peers.python_v1(), "args": [script("notes_v1.py")], "env": env},
        "remote": {"type": "http", "url": format!("{}${{SUFFIX:-}}", everything.url())},
        "off": {"command": "no-such-program", "disabled": true},
    });
    fs::write(&file, json!({"mcpServers": servers}).to_string()).expect("written");
    let audit = peers.home().join("audit.jsonl");
    let log = AuditLog::open(&audit).expect("opens");
    let variables = BTreeMap::from([("TINYMCP_MANY".to_owned(), peers.mark.clone())]);
    let host = Host::builder()
        .config(&Config::read(&file).expect("read"))
        .resolver(Resolver::new().secrets(variables))
        .policy(Rules::new().allow_start("*").allow("*", "*"))
        .audit(&log)
        .client(|_, _| client())
        .http()
        .start()
        .expect("starts");
    for (server, state) in host.wait_ready(Duration::from_secs(60)) {
        let wanted = if &*server == "off" { ServerState::Disabled } else { ServerState::Ready };
        assert_eq!(state, wanted, "{server}");
    }
    let call = |tool: &str, arguments: serde_json::Value| {
        let result = host.call_tool(tool, arguments).unwrap_or_else(|e| panic!("{tool}: {e}"));
        assert!(!result.is_error(), "{tool}: {}", result.text_content());
        result
    };
    assert!(call("everything__echo", json!({"message": "one"})).text_content().contains("one"));
    assert!(call("remote__echo", json!({"message": "two"})).text_content().contains("two"));
    let path = root.join("hello.txt");
    assert!(
        call("files__read_text_file", json!({"path": path})).text_content().contains("hello from a file")
    );
    call("notes__create_note", json!({"title": "plan", "content": "Write it down."}));
    let found = call("notes__search_notes", json!({"query": "write"}));
    assert!(found.text_content().contains("plan"));
    // Each block says where it is from.
    let Content::Text(block) = &found.content[0] else { panic!("a text") };
    assert!(block.meta.as_ref().is_some_and(|meta| meta.json(PROVENANCE).is_some()));
    // By the addresses that the servers gave them.
    let resources = host.list_resources(&CallOptions::default()).expect("listed");
    let on = |server: &str| resources.items.iter().find(|placed| placed.server.as_deref() == Some(server));
    for server in ["everything", "remote"] {
        let uri = &on(server).expect("it has resources").item.uri;
        let read = host.read_resource(Address::of(server, uri), &CallOptions::default()).expect("read");
        assert!(!read.contents.is_empty(), "{uri}");
    }
    let prompts = host.list_prompts(&CallOptions::default()).expect("listed");
    assert!(prompts.items.iter().any(|placed| placed.server.as_deref() == Some("remote")));
    assert!(host.tools().names().iter().all(|name| name.len() <= 64 && name.contains("__")));
    for (server, report) in host.close() {
        report.unwrap_or_else(|e| panic!("{server}: {e}"));
    }
    let accounts = AuditLog::read(&audit).expect("opens").explain().map(|account| account.expect("read"));
    let calls: Vec<_> = accounts.filter(|account| account.kind() == Some(Kind::Call)).collect();
    assert!(calls.len() == 5 && calls.iter().all(|account| account.ended() == Ended::Ok), "{calls:?}");
    everything.end();
}
