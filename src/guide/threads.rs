//! Threads: which there are, who owns them, how many, and when they end.
//!
//! There is no runtime and no global thread; every thread belongs to a connection, or to a server. The thread that makes a call
//! waits for it, and progress callbacks run on it. So a program that needs several answers at once either calls from several
//! threads, which share a [`ClientHandle`](crate::ClientHandle), or starts calls and waits for them later:
//!
//! ```
//! use serde_json::json;
//! use tinymcp::client::CallOptions;
//! use tinymcp::{Server, ToolRegistry, testing, tool};
//!
//! let tools = ToolRegistry::new().with(tool! { fn square(n: u64) -> u64 { n * n } })?;
//! let client = testing::pair(&Server::builder("numbers", "1").tools(tools).build()?)?;
//!
//! // Ten calls, one thread.
//! let open: Vec<_> = (0..10)
//!     .map(|n| client.start_call("square", json!({"n": n}), &CallOptions::default()))
//!     .collect::<Result<_, _>>()?;
//! let squares: Vec<_> =
//!     open.into_iter().map(|call| Ok(call.wait()?.text_content())).collect::<tinymcp::Result<_>>()?;
//! assert_eq!(squares.join(" "), "0 1 4 9 16 25 36 49 64 81");
//!
//! // Two threads, one connection.
//! let handle = client.handle();
//! let other = std::thread::spawn(move || handle.call_tool("square", json!({"n": 11})));
//! assert_eq!(client.call_tool("square", json!({"n": 12}))?.text_content(), "144");
//! assert_eq!(other.join().expect("no panic")?.text_content(), "121");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Whose code runs where
//!
//! | code | thread |
//! |---|---|
//! | a tool, a prompt, a resource, a completer | a worker of the connection, several at the same time; a short tool perhaps the reader, see below |
//! | a progress callback of a call | the thread that waits for the call |
//! | a client's handlers for what a Modern server asks | the thread that waits for the call, one after another |
//! | a client's handlers for what a Legacy server asks | a worker of the client, up to 16 at a time |
//! | callbacks for notifications | one thread of the client or of the server, in order |
//!
//! A callback may use the client or server it belongs to. No lock of this crate is held while it runs.
//!
//! # The threads
//!
//! | name | owner | how many | what it does | end |
//! |---|---|---|---|---|
//! | `mcp-reader` | every connection | 1 | reads; on a server it also answers what needs nobody's code, and, while traffic is dense, runs tools known to take less than 20 µs | with the input; one that is stuck in a read is left to itself and reported |
//! | `mcp-standby` | a server's connection | 0 or 1 | takes over reading when a call that the reader runs turns out long, after 0.5 to 1 ms | with the connection |
//! | `mcp-worker` | every connection | on demand, up to 64 on a server and 16 on a client | runs tools and prompts, and what reads or lists resources; on a client, handlers for what a Legacy server asks | after 10 s without work; at the close, when its handler returns; one that does not is left to itself and reported |
//! | `mcp-writer` | every connection | 0 or 1, from the first frame that cannot be written at once | writes what nobody else may wait for | with the connection |
//! | `mcp-stderr` | a client's child process | 1, if stderr is captured | reads the child's stderr | with the pipe; never waited for |
//! | `mcp-lines` | a client's child process | 1, if there is a callback for lines of stderr | runs the callback, in order | after the last line; never waited for |
//! | `mcp-changes` | a server | 0 or 1, from the first change that somebody wants to hear of | tells the clients of all its connections what has changed, 10 ms after the first of a burst of changes; a client that does not read is tried again after 100 ms and delays no other | after 10 s without work, or with the last connection that listens |
//! | `mcp-heard` | a server | 0 or 1, from the first notification of a client that has a callback | runs the callbacks, in order | with the server, after what waits then |
//! | `mcp-notices` | a client | 0 or 1, from the first notification that has a callback | runs the callbacks, in order | with the client, after what waits then |
//! | `mcp-listen` | a client | 0 or 1, while there is something of it to do | subscribes to resources of Legacy servers, opens broken-off streams of changes again, looks at the clock for them | when nothing of that is left; with the client; never waited for |
//! | `mcp-task` | a server with tasks | on demand, up to 64 | runs the tools of calls that became tasks | after 10 s without work; at the server's end its tasks are cancelled and get the grace; one that runs on is left to itself and reported |
//! | `mcp-http` | a server over HTTP | one that holds it together, one that waits and one that stands by; one for each request that is served, up to 64; one more for each handler that waits for its client | waits for news of any connection, reads the request and serves it | after 10 s without work; at the server's end, when its handler returns; one that does not is left to itself and reported |
//! | `mcp-sessions` | a server over HTTP | 0 or 1, from the first client with a session | ends sessions that nobody uses | with the last session, or the server |
//! | `mcp-relay` | a relay | 1 for each server behind it | reads what the server says, and hands it on | with the server's output |
//! | `mcp-relay-end` | a relay | 1 for each server that is ending | ends it | when it has ended, or has resisted; waited for at the relay's end, up to 10 s |
//! | `mcp-http` | a client's connection over HTTP | on demand, up to 64 | sends a call and reads its answer | after 10 s without work; at the close; one that looks up a name or connects then is left to itself and reported |
//! | `mcp-http-note` | a client's connection over HTTP | on demand, up to 8 | sends notifications, and answers to a Legacy server | likewise |
//! | `mcp-http-stream` | a client's connection over HTTP | one for each open subscription, and one for a Legacy session | reads a stream that stays open, and opens it again | likewise |
//! | `mcp-host` | a host (feature `host`) | 1 | sees servers end | with the host |
//! | `mcp-host-start` | a host | 1 for each server that starts for the first time | waits for its turn and for consent, and starts it | when it is ready, refused or given up |
//! | `mcp-host-end` | a host | 1 for each server, when the host is closed | ends it | when it has ended |
//! | `mcp-host-events` | [`Events`](crate::client::Events) of a host | 1 for each server that is listened to | hands changes on | with the events, or the server |
//! | `mcp-restart` | a [`Resilient`](crate::host::resilience::Resilient) caller, or a server of a host | 0 or 1, while the server is started again, or the protocol settled | pauses, ends the old process, starts another, and runs [`on_event`](crate::host::resilience::RestartPolicy::on_event) | when that is over; never waited for |
//! | `mcp-watch` | the same, with [`Restart::Eagerly`](crate::host::resilience::Restart::Eagerly) | 1 | sees the server end, and has it started again | with the caller or the client, or when the server is left alone |
//! | `mcp-pool` | a [`Pool`](crate::host::pool::Pool) (feature `host`) | 1 | sees members end, pings them, has them started again | with the pool; never waited for |
//! | `mcp-pool-start` | a pool | 1 for each member that starts | runs the pool's factory, and settles the protocol; or starts the server again | when the member is up, or is not; never waited for |
//! | `mcp-pool-close` | a pool | 1 for each member, at the pool's end | closes its connection | when it is closed, which is waited for |
//! | `mcp-consent` | a host | on demand, up to 16 | asks the user | with the answer; one that does not come is not waited for |
//! | `mcp-spawn` | a [`Spawner`](crate::host::containment::Spawner) of a host (feature `host`) | 1 | starts servers, one after another, and stays, as Linux ends a contained server with the thread that started it | with the last holder of the spawner, of which each server that it started is one; never waited for |
//! | `mcp-schema` | whoever compiles a schema (feature `validation`) | 1 | compiles it, on a stack that is large enough | when it is done, which is waited for |
//! | `mcp-resolve` | a [`UrlPolicy`](crate::guard::UrlPolicy) (feature `guard`) | 1 for each name that is looked up, up to 16 | asks the system's resolver, which cannot be interrupted | with the answer; one that is late is left to itself, and counted until then |
//! | `mcp-capture` | a run of a [`Program`](crate::guard::Program) (feature `guard`) | 2 | reads what the program writes | with the pipe; waited for 1 s after the program's end |
//! | `mcp-consent` | a host (feature `host`) | on demand, up to 8: twice as many as [questions are shown](crate::host::consent::AskLimits::with_shown) at a time | asks the user, by the program's [`Consent`](crate::host::consent::Consent) | after 10 s without work; one that does not come back is left to itself, and counted |
//! | `mcp-audit` | an audit log with [`Fsync::Every`](crate::host::audit::Fsync::Every) (feature `host`) | 1 | brings lines to the disk, so long after the first of them was written | with the log, after its last lines; a disk that takes longer than 2 s for them is left to itself and reported |
//!
//! They are named, so that `top -H` and debuggers show who works. [`Server::start`](crate::Server::start) blocks the thread that calls it. A server with many connections calls
//! [`Server::serve`](crate::Server::serve) on a thread for each; one over [HTTP](crate::guide::http#threads-and-memory) has threads for what it serves, however many
//! clients there are.
