//! What passes between clients and servers, recorded as it passes, and judged by the official schemas in builds that have a
//! validator (feature `validation`).

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::Value;
use tinymcp::ProtocolVersion;
use tinymcp::transport::{Direction, Tap};

#[cfg(feature = "validation")]
#[path = "schema.rs"]
mod schema;

const LONG: Duration = Duration::from_secs(30);

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum To {
    Server,
    Client,
}

/// All messages of all connections of a test.
#[derive(Clone, Default)]
pub(crate) struct Wire(Arc<(Mutex<Vec<Message>>, Condvar)>);

#[derive(Clone, Debug)]
pub(crate) struct Message {
    connection: usize,
    to: To,
    pub(crate) json: Value,
}

/// One connection, seen from its client.
pub(crate) struct Line(Wire, usize);

impl Wire {
    pub(crate) fn line(&self) -> Line {
        static LAST: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        Line(self.clone(), LAST.fetch_add(1, std::sync::atomic::Ordering::SeqCst))
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        self.0.0.lock().expect("no panic").clone()
    }

    /// How much has passed by now.
    pub(crate) fn mark(&self) -> usize {
        self.0.0.lock().expect("no panic").len()
    }

    /// Waits until `method` has gone `to` its side after `mark`.
    #[track_caller]
    pub(crate) fn expect(&self, mark: usize, method: &str, to: To) {
        let came =
            |all: &mut Vec<Message>| all[mark..].iter().any(|m| m.methods().contains(&(to, method.into())));
        let all = self.0.0.lock().expect("no panic");
        let waited = self.0.1.wait_timeout_while(all, LONG, |all| !came(all)).expect("no panic");
        assert!(!waited.1.timed_out(), "no {method} to {to:?}");
    }

    /// The methods of all messages, and of the questions in answers that ask for input.
    pub(crate) fn methods(&self) -> BTreeSet<(To, String)> {
        self.messages().iter().flat_map(Message::methods).collect()
    }

    /// What is wrong with what we said, by the schema of `version`.
    #[cfg(feature = "validation")]
    pub(crate) fn problems(&self, version: &ProtocolVersion) -> Vec<String> {
        use std::collections::HashMap;
        let (mut asked, mut problems) = (HashMap::new(), Vec::new());
        for message in self.messages() {
            let Message { connection, to, json } = &message;
            let (method, id) = (json["method"].as_str(), json.get("id").map(Value::to_string));
            let mut answered: Option<String> = None;
            match (method, id) {
                (Some(method), Some(id)) => drop(asked.insert((*connection, *to, id), method.to_owned())),
                (None, Some(id)) => {
                    let asker = if *to == To::Client { To::Server } else { To::Client };
                    answered = asked.remove(&(*connection, asker, id));
                }
                _ => {}
            }
            let way = match to {
                To::Server => tinymcp::method::Direction::ToServer,
                To::Client => tinymcp::method::Direction::ToClient,
            };
            let problem = schema::frame_problems(version, way, json, answered.as_deref());
            problems.extend(problem.err().map(|problem| format!("to {to:?}: {problem}\nin {json}")));
        }
        problems
    }

    #[cfg(not(feature = "validation"))]
    pub(crate) fn problems(&self, _version: &ProtocolVersion) -> Vec<String> {
        Vec::new()
    }
}

impl Message {
    fn methods(&self) -> Vec<(To, String)> {
        let questions = self.json["result"]["inputRequests"].as_object();
        let questions = questions.into_iter().flat_map(|questions| questions.values());
        let all = std::iter::once(&self.json).chain(questions);
        all.filter_map(|message| Some((self.to, message["method"].as_str()?.to_owned()))).collect()
    }
}

impl Line {
    pub(crate) fn passed(&self, to: To, json: Value) {
        self.0.0.0.lock().expect("no panic").push(Message { connection: self.1, to, json });
        self.0.0.1.notify_all();
    }
}

impl Tap for Line {
    fn frame(&self, direction: Direction, frame: &[u8]) {
        let to = if direction == Direction::Sent { To::Server } else { To::Client };
        // A test binary that plays a server begins with words of the test harness.
        if let Ok(json) = serde_json::from_slice(frame) {
            self.passed(to, json);
        }
    }
}
