//! Recording what an agent does, and reading it again (feature `trajectory`).
//!
//! A [`Recorder`](crate::trajectory::Recorder) is a [`Caller`](crate::client::Caller) before another one, so that any program that
//! is written for callers can be recorded without a change:
//!
//! ```
//! # #[cfg(feature = "trajectory")] {
//! use std::sync::Arc;
//! use tinymcp::client::{CallOptions, Caller};
//! use tinymcp::trajectory::{Recorder, Redaction, Selection, Sink, Statistics, Trajectories};
//! use tinymcp::{Arguments, Server, ToolRegistry, testing, tool};
//!
//! # let tools = ToolRegistry::new().with(tool! { fn add(a: i64, b: i64) -> i64 { a + b } })?;
//! # let client = testing::pair(&Server::builder("calculator", "1.0.0").tools(tools).build()?)?;
//! # let path = std::env::temp_dir().join(format!("tinymcp-guide-{}.jsonl", std::process::id()));
//! // `client` is any caller: a client, a pool, a host. `path` is a file, which may be there already.
//! let sink = Sink::open(&path)?;
//! let recorder = Recorder::new(Arc::new(client.handle()), &sink)
//!     .with_redaction(Redaction::new().keys(["password", "api_key"]));
//!
//! let episode = recorder.begin("What is 1 + 2?"); // a caller, and one of any number that are open
//! episode.list_tools(&CallOptions::default())?;
//! episode.next_turn("The user wants a sum.");
//! let arguments = Arguments::from_text(r#"{"a": 1, "b": 2}"#).map_err(|e| e.to_string())?;
//! let sum = episode.call("add", arguments, &CallOptions::default())?;
//! episode.set_answer(sum.text_content());
//! episode.set_success(true);
//! episode.set_reward(1.0);
//! episode.end();
//!
//! let mut figures = Statistics::new();
//! for trajectory in Trajectories::open(&path)?.select(Selection::new().success(true).tool("add")) {
//!     figures.add(&trajectory?);
//! }
//! assert_eq!((figures.trajectories(), figures.calls(), figures.success_rate()), (1, 1, Some(1.0)));
//! # std::fs::remove_file(path)?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it costs, and what it never does
//!
//! - Recording never fails, changes or delays a request for another reason than its own work: about 4 us for a call of 300 bytes. On
//!   two cores such a call takes 7 to 10 us longer, as other threads fall asleep meanwhile: a caller that is as busy between its calls
//!   and records nothing takes 6 to 9 (`cargo bench --bench recording` prints each). Its event is put together outside of any lock and
//!   written by one system call, on the thread that made the call, before the result is returned.
//! - What cannot be written is lost, counted by [`Sink::lost`](crate::trajectory::Sink::lost), and reported in the log: once when it
//!   begins and once when it goes on. [`Sink::problem`](crate::trajectory::Sink::problem) says why, and the end of a trajectory has
//!   how many of its events are lost. A disk that is full when a file is opened is a problem of that kind, and no error.
//! - Whoever ends the program at any moment loses no event that was complete. Without
//!   [`with_sync`](crate::trajectory::Sink::with_sync) a power failure may cost the last seconds.
//! - Nothing grows with what is recorded.
//!
//! A recording holds what passed, secrets included; its file is readable for its owner alone. What a
//! [`Redaction`](crate::trajectory::Redaction) takes out is taken out of the copy. It sees what passed: `arguments`, `result`,
//! `error`, `params`, `answer`, `observation`, `info`, `items`, `rejected`, `uri`, `task`, `text`, `reasoning`, `metadata` and
//! `decision` of events, the `server` of questions, and the `tools` of definitions.
//!
//! [Limits](super::limits#recordings) has how much of everything there may be.
//!
//! # Looking at it
//!
//! [`report`](crate::trajectory::report()) makes one HTML page of a recording: the calls of each server over time, the reward of each
//! episode, figures per tool, and every trajectory with its events, whose arguments and results unfold. It is a file of its own that
//! opens from the disk, needs no network, and has no script but its own search:
//!
//! ```text
//! cargo run --example report --features trajectory -- episodes.jsonl page.html
//! ```
//!
//! - What was recorded is not trusted. All of it is text on the page, characters that would not be seen or that turn the direction of
//!   text are shown by their numbers, and the page's policy lets it load nothing and run nothing else.
//! - A large value is shown by its beginning, with its length and the byte of the recording at which its record begins:
//!   `tail -c +OFFSET episodes.jsonl | head -n 1`, with the offset plus one, is that record.
//! - The page has at most 20 MB, however long the recording. Values become shorter as it fills, then events are left out; the page
//!   says how many, and so does the [`ReportSummary`](crate::trajectory::ReportSummary). The figures are always of everything.
//! - What [`Redaction`](crate::trajectory::Redaction) did not take out is on it, for whoever gets the page.
//!
//! # Who asks, who decides
//!
//! Which server a call went to, in which revision, and what a policy decided about it is noted on the way, in the
//! [`CallNotes`](crate::client::CallNotes) of its options; a caller of your own can do that, too. Questions of servers are recorded
//! by an [`InputLog`](crate::trajectory::InputLog) before the handler that answers them. Changes are recorded that the program listens to,
//! and those that [`with_notices`](crate::trajectory::Recorder::with_notices) asks for. The frames themselves, both ways and to the
//! byte, are what a [`WireRecorder`](crate::trajectory::WireRecorder) writes.
//!
//! # The format
//!
//! JSON lines in UTF-8. The first is a header, which may occur again where files were put one behind the other:
//!
//! ```json
//! {"format":"tinymcp-trajectory","version":1,"creator":"tinymcp 0.1.0","created_us":1785196800000000}
//! ```
//!
//! Every other line is an event, told by its member `event`. All but `definitions` belong to a trajectory:
//!
//! | member | |
//! |---|---|
//! | `event` | its kind |
//! | `trajectory` | the id of its trajectory |
//! | `seq` | its place there: 0 is the beginning. Events of one trajectory that overlap may stand in the file in another order. A number that is missing is an event that was lost |
//! | `turn` | the turn of the agent; 0 before the first |
//! | `time_us` | when it began by the wall clock, in microseconds since 1970 |
//! | `at_ns` | when it began by a clock that is never set, in nanoseconds since the trajectory began |
//!
//! | kind | members beside those; with `?` they may be absent |
//! |---|---|
//! | `begin` | `task`; `definitions?`: the key of the tools that were offered before; `metadata?` |
//! | `turn` | `reasoning?`, `text?`: what the model thought, and said beside its calls |
//! | `message` | `role` (`system`, `user`, `assistant`), `text` |
//! | `call` | `server?`, `revision?`, `tool`, `arguments`, `result?` (the whole `CallToolResult`), `is_error`, `error?`, `duration_ns`, `decision?` |
//! | `list` | `server?`, `revision?`, `what` (`tools`, `resources`, `prompts`), `definitions?` (the key), `items?` (each `server?` and `item`), `rejected?` (each `name?` and `problem`), `error?`, `duration_ns`, `decision?` |
//! | `read` | `server?`, `revision?`, `uri`, `result?`, `error?`, `duration_ns`, `decision?` |
//! | `prompt` | `server?`, `revision?`, `name`, `arguments`, `result?`, `error?`, `duration_ns`, `decision?` |
//! | `notice` | `server?`, `change` (`tools_changed`, `prompts_changed`, `resources_changed`, `resource_updated`, `interrupted`), `uri?` |
//! | `input` | `server?` (a command line or an address), `key`, `method`, `params?`, `answer?`, `error?`, `of_method?` and `of_name?` (the call), `duration_ns` |
//! | `reset` | `seed?`, `calls?` (the places of the calls that reset, which are not the agent's), `observation?`, `error?`, `duration_ns` |
//! | `step` | `step`, `call?` (the place of its call), `tool`, `arguments?`, `observation?`, `reward?`, `terminated`, `truncated`, `info?`, `error?`, `duration_ns` |
//! | `reward` | `value`, `source?` |
//! | `done` | `terminated`, `truncated`, `steps`, `total_reward?` |
//! | `end` | `reason?` (`ended`, `dropped`), `answer?`, `success?`, `reward?`, `metadata?`, `calls`, `lost` |
//! | `definitions` | `key`, `tools`: a list of tools as it was offered, once for each content, before what refers to it |
//!
//! `error` has `kind` (see [`ErrorKind`](crate::trajectory::ErrorKind)), `message`, `code?` and `data?`; `decision` has `allowed` and
//! `reason?`. What holds protocol (`arguments`, `result`, `params`, …) is its JSON text: numbers of any size, base64 and members of
//! later revisions are as they came, though the members of a result may be in another order.
//!
//! A reader keeps kinds and members that it does not know. It passes over a last line that is torn, and any other that is no event,
//! and refuses a `version` beyond its own.
//!
//! For [training examples](super::training) there is a page of its own.
