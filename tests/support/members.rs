//! Environments whose servers are children: this program started again, as `examples/env_server`.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use serde_json::json;
use tinymcp::trajectory::{Action, Environment, Recorder, Sampler, Sink};
use tinymcp::transport::ChildProcess;
use tinymcp::{Client, Result};

#[path = "../../examples/env_server.rs"]
mod env_server;

/// Tells a child that it is one, and of which member.
const MEMBER: &str = "TINYMCP_ENV_MEMBER";

/// To be called by a test named `child`: serves, if this is one.
pub(crate) fn child() {
    if std::env::var_os(MEMBER).is_some() {
        env_server::main().expect("served");
    }
}

/// The environment of a member, with a child of its own, whose episodes have no end; recorded, if there is a sink.
pub(crate) fn environment(member: usize, sink: Option<&Sink>) -> Result<Environment> {
    let exe = std::env::current_exe().expect("the test binary");
    let args = ["--exact", "child", "--quiet", "--nocapture", "--test-threads=1"];
    let server = ChildProcess::new(exe).args(args).env(MEMBER, member.to_string());
    let caller = Client::builder().open(server)?.into_caller();
    let environment = Environment::new(caller.clone()).end(|_, _| false);
    Ok(match sink {
        Some(sink) => environment.record(&Recorder::new(caller, sink)),
        None => environment,
    })
}

/// A line that only this member writes in this step, or a look at what there is.
pub(crate) fn action(sampler: &mut Sampler, member: usize, step: usize) -> Action {
    let random = sampler.random();
    match random.below(4) {
        0 => Action::new("read_file", json!({"path": "numbers.txt"})),
        1 => Action::new("run_tests", ()),
        _ => Action::new(
            "replace_line",
            json!({"line": 1 + random.below(3), "text": format!("{member} {step}")}),
        ),
    }
    .expect("an action")
}

/// What a member has seen so far, in one number.
pub(crate) fn mixed_in(seen: u64, text: &str, reward: f64) -> u64 {
    text.bytes()
        .fold(seen ^ reward.to_bits(), |seen, byte| (seen ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The process of each member's child, by its number.
#[cfg(target_os = "linux")]
pub(crate) fn processes() -> std::collections::BTreeMap<usize, String> {
    let ids = super::support::alone::children().into_iter().filter_map(|stat| {
        let id = stat.split_whitespace().next()?.to_owned();
        let variables = std::fs::read(format!("/proc/{id}/environ")).ok()?;
        let mut variables =
            variables.split(|byte| *byte == 0).filter_map(|one| std::str::from_utf8(one).ok());
        let member = variables.find_map(|one| one.strip_prefix(MEMBER)?.strip_prefix('='))?;
        Some((member.parse().ok()?, id))
    });
    ids.collect()
}
