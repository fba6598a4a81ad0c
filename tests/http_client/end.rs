//! The end of a connection: what is told, and that nothing is left.

use serde_json::json;

use crate::http::ScriptedHttp;
use crate::line::Line;

#[test]
fn a_session_is_ended_on_the_server() {
    let server = ScriptedHttp::start();
    let mut line = Line::to(&server);
    line.greet(&server);
    line.ask(1, "tools/call", json!({"name": "hangs"}));
    let hangs = server.expect("tools/call");
    let closing = std::thread::spawn(move || line.close());
    let delete = server.expect_verb("DELETE");
    assert_eq!(delete.header("mcp-session-id"), Some("s-1"));
    delete.reply("204 No Content", &[], "");
    hangs.expect_closed();
    closing.join().expect("closed");
}
