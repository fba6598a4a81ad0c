//! A recorded session, served again; and a trajectory, run once more (feature `trajectory`).
//!
//! [`Replay`](crate::trajectory::Replay) answers as was recorded, without any of the servers: for tests that need no network, for looking
//! into what an agent did, and for training against answers that never change.
//!
//! ```
//! # #[cfg(feature = "trajectory")] {
//! use std::sync::Arc;
//! use serde_json::json;
//! use tinymcp::client::{CallOptions, Caller};
//! use tinymcp::trajectory::{Recorder, Replay, RerunOptions, Sink, Trajectories, rerun};
//! use tinymcp::{Arguments, Server, ToolRegistry, testing, tool};
//!
//! # let tools = ToolRegistry::new().with(tool! { fn add(a: i64, b: i64) -> i64 { a + b } })?;
//! # let client = testing::pair(&Server::builder("calculator", "1.0.0").tools(tools).build()?)?;
//! # let sink = Sink::memory();
//! // A session is recorded: `client` is any caller, `sink` as a rule a file.
//! let episode = Recorder::new(Arc::new(client.handle()), &sink).begin("add up");
//! let options = CallOptions::default();
//! episode.list_tools(&options)?;
//! episode.call("add", Arguments::from_text(r#"{"a": 1, "b": 2}"#).map_err(|e| e.to_string())?, &options)?;
//! episode.end();
//! let recorded = Trajectories::new(&sink.contents()[..]).next().expect("one")?;
//!
//! // A server with the recorded answers: here for a client in the same process, by `start` for one over stdio.
//! let replay = Replay::of(&recorded);
//! let replayed = testing::pair(&replay.server()?)?;
//! assert_eq!(replayed.call_tool("add", json!({"b": 2, "a": 1}))?.text_content(), "3");
//! assert!(replayed.call_tool("add", json!({"a": 1, "b": 1})).is_err()); // nobody asked this then
//! assert!(replay.finish().is_err()); // so the session did not go as it was recorded
//!
//! // The same requests, made of the live server: is everything as it was?
//! let report = rerun(&recorded, &client.handle(), &RerunOptions::new().ignore("/**/took_ms"));
//! assert!(report.is_equal(), "{report}");
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What matches
//!
//! A request gets an answer to the same request: the same method, the same tool, resource or prompt, and the same arguments as JSON
//! values. The order of members does not count, nor does `_meta`. Numbers are compared by their text: `1` and `1.0` are two numbers, as a server
//! may take them for two. What a [`Redaction`](crate::trajectory::Redaction) took out of the recording has to be taken out of what comes,
//! by [`with_redaction`](crate::trajectory::Replay::with_redaction) with the same one.
//!
//! | [`ReplayOrder`](crate::trajectory::ReplayOrder) | |
//! |---|---|
//! | `Strict`, the default | each answer once, in the order in which the requests began; those that overlapped may come in any order |
//! | `EachOnce` | each answer once, in any order; equal requests get theirs in the order of the recording |
//! | `Lookup` | the same, but the last answer to a request is given for ever after |
//!
//! Everything else is a miss: an error of code -32010 ([`REPLAY_MISS`](crate::trajectory::REPLAY_MISS)) that names what came, what was
//! expected, and the nearest request that was recorded with the places where it differs. Nothing is made up.
//! [`finish`](crate::trajectory::Replay::finish) tells whether everything came, and nothing else.
//!
//! # Running it again
//!
//! [`rerun`](crate::trajectory::rerun()) makes the requests of a trajectory of live servers, in order, and compares what comes. **The tools do
//! their work once more**; [`only`](crate::trajectory::RerunOptions::only) chooses those that may. What changes from run to run is left out
//! by its place in the result ([`ignore`](crate::trajectory::RerunOptions::ignore)) or by a function
//! ([`ignore_if`](crate::trajectory::RerunOptions::ignore_if)). What was denied is not made again, nor what lost a secret to a redaction,
//! unless [`fill_in`](crate::trajectory::RerunOptions::fill_in) puts it back. The report's text tells each difference in a line.
