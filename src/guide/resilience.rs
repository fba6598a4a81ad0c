//! Failures, restarts, pools: calls that get through if they can, and never do their work twice in silence.
//!
//! Servers crash, networks break, and a call may have been carried out although its answer was lost. The usual loop around a call —
//! start the server anew on any error, wait twice as long as before, call again — creates two notes where one was asked for. Here each part
//! of that loop asks first what is known. The feature is `host`; a [`Host`](super::host) does all of it for each of its servers.
//!
//! # One call
//!
//! [`resilient_tool_call`](crate::host::resilience::resilient_tool_call) needs a client and nothing else: three tries, with pauses of a
//! second and of two, a random half of each left out.
//!
//! ```no_run
//! # #[cfg(feature = "host")] {
//! use std::time::Duration;
//! use serde_json::json;
//! use tinymcp::client::CallOptions;
//! use tinymcp::host::resilience::{Retry, resilient_tool_call};
//!
//! let client = tinymcp::Client::connect("python3", &["notes_server.py"])?;
//! let options = CallOptions::default().with_timeout(Duration::from_secs(30)); // for all of it
//! let found = resilient_tool_call(&client, "search_notes", json!({"query": "plan"}), &Retry::default(), &options)?;
//! println!("{}", found.text_content());
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! | what happened | the call is made again |
//! |---|---|
//! | nothing was sent: the server is dead, or cannot be started; too much is under way; HTTP 429 or 503 | yes; a dead server is started again first |
//! | it was sent, and no answer came: the server died, the connection broke, a try took too long | only if that does no harm, see below; else [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown), or [`Error::Timeout`](crate::Error::Timeout) for a time-out |
//! | the server has asked something first, or made a task of the call, and then that | likewise: the call has begun |
//! | the server answered: a result, also one that says that the tool failed, or an error | no |
//! | it was cancelled or denied, or is wrong in itself | no |
//!
//! It does no harm where the method can be repeated (listing, reading, prompts), where the tool's annotations say `readOnlyHint` or
//! `idempotentHint`, and where the program says so by [`with_repeatable`](crate::client::CallOptions::with_repeatable). What a tool says is
//! taken from a listing *before* the call; if there was none, the tools are listed first. A tool that lies about itself is a reason not to use its
//! server.
//!
//! One time runs over everything: tries, pauses, restarts. It is the call's [timeout](crate::client::CallOptions::with_timeout), or its
//! [total](crate::client::CallOptions::with_total) where progress starts the timeout anew. A pause that does not fit into it is not begun, and the
//! last error is told. Cancelling ends a pause at once.
//! [`with_try_time`](crate::host::resilience::Retry::with_try_time) limits a single try.
//!
//! # A caller for many calls
//!
//! [`Resilient`](crate::host::resilience::Resilient) is a [`Caller`](crate::client::Caller) that does this for every call. It also restarts the
//! server as a policy says, and leaves it alone when it fails again and again.
//!
//! ```no_run
//! # #[cfg(feature = "host")] {
//! use std::time::Duration;
//! use tinymcp::host::resilience::{Breaker, BreakerOptions, Resilient, Restart, RestartPolicy, Retry};
//!
//! let client = tinymcp::Client::connect("python3", &["notes_server.py"])?;
//! let restart = RestartPolicy::new(Restart::Eagerly).on_event(|event| eprintln!("notes: {event:?}"));
//! let breaker = Breaker::new(BreakerOptions::default().with_failures(3).with_cool_down(Duration::from_secs(5)));
//! let notes = Resilient::builder().retry(Retry::default().with_tries(5)).restart(restart).breaker(breaker).over(&client)?;
//! for tool in notes.discover_tools()? {
//!     println!("{}", tinymcp::Tool::name(&tool));
//! }
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! **Restarts.** [`Restart`](crate::host::resilience::Restart) says when: `Never`, `Lazily` (by the next call, the default) or `Eagerly` (at
//! once). There is one restart at a time, whoever asks; the old process is gone before the new one starts; then the protocol is settled, and
//! [subscriptions](super::changes) are opened again and tell that everything may have changed, so that lists are asked for anew. A server that does not stay for
//! ten seconds is started again after pauses that grow from one second to thirty, and after five restarts in a row it is left alone for five
//! minutes, or until [`restart`](crate::host::resilience::Resilient::restart) is called. Calls that wait for a restart do so within their own time;
//! the restart goes on without them.
//!
//! **The circuit breaker.** After five failures in a row ([or by their share](crate::host::resilience::BreakerOptions::with_rate)) nothing is
//! sent for ten seconds: calls are [`Error::Unreachable`](crate::Error::Unreachable) at once, which says when they are tried again. Then one call
//! tries it; if that fails, the time doubles, up to five minutes. What the server answers is no failure, whatever it says.
//! [`state`](crate::host::resilience::Breaker::state) tells how it is.
//!
//! # Pools
//!
//! A server that does one thing at a time is faster as several processes.
//! A [`Pool`](crate::host::pool::Pool) keeps several connections to the same server and is one [`Caller`](crate::client::Caller):
//!
//! ```
//! # #[cfg(feature = "host")] {
//! use std::time::Duration;
//! use tinymcp::client::{CallOptions, Caller};
//! use tinymcp::host::pool::{Pool, Start};
//! use tinymcp::{Arguments, Client, Server, ToolRegistry, tool, transport};
//!
//! let tools = ToolRegistry::new().with(tool! { fn square(n: u64) -> u64 { n * n } })?;
//! let server = Server::builder("numbers", "1").tools(tools).build()?;
//! let pool = Pool::builder().size(4).start(Start::Eagerly).open(move |_number| {
//!     // With a program this is `Client::connect("numbers-server", &[])`.
//!     let (near, far) = transport::memory_pair();
//!     let server = server.clone();
//!     std::thread::spawn(move || server.serve(far));
//!     Client::builder().open(near)
//! })?;
//! let three = Arguments::from_text(r#"{"n": 3}"#).expect("an object");
//! let nine = pool.call("square", three, &CallOptions::default())?;
//! assert_eq!(nine.text_content(), "9");
//! assert!(pool.close(Duration::from_secs(1)).is_drained());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A call goes to the member with the fewest open calls, or [round](crate::host::pool::Balance::RoundRobin). If a member dies, the rules of
//! above decide whether its calls go to another one: what may have been carried out does not. A dead member is started again; one that does not
//! answer a ping gets no calls while others do, and is started again if it stays silent and has no open calls. If none is left, a call waits for
//! the next one that had been up, within its time; if they cannot be started, it fails and says when that is tried again. Around a pool,
//! [`Resilient::over_caller`](crate::host::resilience::ResilientBuilder::over_caller) tries such calls again.
//!
//! At run time members are [added](crate::host::pool::PoolHandle::add) and [removed](crate::host::pool::PoolHandle::remove), and
//! [`members`](crate::host::pool::PoolHandle::members) tells how each is. [`close`](crate::host::pool::Pool::close) takes no more calls, lets the
//! open ones finish within a grace, and reports.
//!
//! ## Servers that remember
//!
//! | the server | use |
//! |---|---|
//! | Modern: keeps nothing between calls | the pool itself |
//! | Legacy, and keeps nothing either (most do not) | the pool itself |
//! | Legacy, and a connection is a session: an open page, a database transaction, a login | [`lease`](crate::host::pool::PoolHandle::lease) or [`sticky`](crate::host::pool::PoolHandle::sticky) |
//!
//! Over stdio each member is a process of its own, with whatever it keeps in memory. The pool cannot know whether a server remembers, and spreads
//! calls over all members unless it is told otherwise.
//!
//! - A **lease** is a connection for one conversation alone, on which nothing was done before: a Legacy one that was used is opened anew
//!   ([unless told otherwise](crate::host::pool::PoolBuilder::reuse_sessions)).
//! - A **key** keeps a conversation on one connection, which others may use as well: for servers that tell their users apart
//!   by themselves, or whose caches should be warm.
//!
//! Neither goes on elsewhere in silence: if the connection ends, a Legacy server has forgotten the conversation, and its calls are
//! [`Error::SessionEnded`](crate::Error::SessionEnded). The program begins another.
//!
//! ## Changes
//!
//! [`events`](crate::client::Caller::events) of a pool tells of the changes on all members. What several tell of within a quarter of a second is one
//! change. A member that is away for a while counts as changed when it is back.
//! [`Interrupted`](crate::client::Change::Interrupted) is told when none of them can be heard.
//!
//! Numbers and times are in the tables of [limits](super::limits#a-host), threads in those of [threads](super::threads#the-threads).
