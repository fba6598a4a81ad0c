//! Guide: eras, threads, limits, errors, and what authors of tools should know.
//!
//! # Eras and revisions
//!
//! | revision | era | a connection begins with | who speaks it here |
//! |---|---|---|---|
//! | 2024-11-05 | Legacy | `initialize` | client and server |
//! | 2025-03-26 | Legacy | `initialize`; batches are accepted in this revision alone | client and server |
//! | 2025-06-18 | Legacy | `initialize` | client and server |
//! | 2025-11-25 | Legacy | `initialize` | client and server |
//! | 2026-07-28 | Modern | nothing: every request carries its `_meta` | client and server |
//!
//! A server decides the era of each request by the request alone, so one connection may mix them; a handler is written
//! once. Results are lowered to what the caller's revision knows: where it lacks audio, resource links or
//! structured results, they become text. An `initialize` that asks for 2026-07-28, or for a revision nobody knows, is
//! answered with the newest Legacy revision offered.
//!
//! What has changed is told to both by the same calls ([`Server::resource_updated`](crate::Server::resource_updated) and its
//! like; registries say so by themselves): to a connection with a handshake every change of a list and those of the resources
//! it subscribed to, to a `subscriptions/listen` what its filter names. A burst of changes is few notices, and the last
//! change is always told.
//!
//! A client asks `server/discover` first and takes everything but a Modern answer, silence included, as a sign of an older
//! server, which it then greets with `initialize`; a server that dies of the question is started again. A client that
//! knows its server saves the question: `Client::builder().versions([ProtocolVersion::V2025_11_25])`.
//!
//! # What servers ask
//!
//! A server may need something of its client before it can go on: the user's answer to a form or visit to a URL, a word of the
//! language model, the root folders. A Legacy server sends a request and waits; a Modern one ends the call with questions, and the
//! client makes it again with the answers. Both sides are written once: a tool asks by
//! [`Context::elicit`](crate::Context::elicit) and its like, a client answers by
//! [`on_elicit`](crate::client::ClientBuilder::on_elicit) and its like, or by a [`ClientHandler`](crate::client::ClientHandler).
//! What has a handler is declared, and nothing else is asked.
//!
//! | | Legacy | Modern |
//! |---|---|---|
//! | the handler runs on | a thread of the client's pool, several at once | the thread that waits for the call, one after another |
//! | its cancel token fires when | the server withdraws the question | the call is given up |
//! | the user's time | counts for the total of open calls, not for their timeout; the server has its own patience | counts for the call's total, not for its timeout |
//! | a handler's error goes to | the server | the caller |
//!
//! # Threads
//!
//! There is no runtime and no global thread; every thread belongs to a connection, or to a server. The thread that makes a call waits for
//! it, and progress callbacks run on it.
//!
//! | name | owner | how many | what it does | end |
//! |---|---|---|---|---|
//! | `mcp-reader` | every connection | 1 | reads; on a server it also answers what needs nobody's code, and, while traffic is dense, runs tools known to take less than 20 µs | with the input; one that is stuck in a read is left to itself and reported |
//! | `mcp-standby` | a server's connection | 0 or 1 | takes over reading when a call that the reader runs turns out long, after 0.5 to 1 ms | with the connection |
//! | `mcp-worker` | every connection | on demand, up to 64 on a server and 16 on a client | runs tools and prompts, and what reads or lists resources; on a client, handlers for what a Legacy server asks | after 10 s without work; at the close, when its handler returns; one that does not is left to itself and reported |
//! | `mcp-writer` | every connection | 0 or 1, from the first frame that cannot be written at once | writes what nobody else may wait for | with the connection |
//! | `mcp-stderr` | a client's child process | 1, if stderr is captured | reads the child's stderr | with the pipe; never waited for |
//! | `mcp-lines` | a client's child process | 1, if there is a callback for lines of stderr | runs the callback, in order | after the last line; never waited for |
//! | `mcp-listen` | a client | 0 or 1, while there is something of it to do | subscribes to resources of Legacy servers, opens broken-off streams of changes again, looks at the clock for them | when nothing of that is left; with the client; never waited for |
//! | `mcp-changes` | a server | 0 or 1, from the first change that somebody wants to hear of | tells the clients of all its connections what has changed, 10 ms after the first of a burst of changes; a client that does not read is tried again after 100 ms and delays no other | after 10 s without work, or with the last connection that listens |
//! | `mcp-heard` | a server | 0 or 1, from the first notification of a client that has a callback | runs the callbacks, in order | with the server, after the callback that runs then |
//! | `mcp-notices` | a client | 0 or 1, from the first notification that has a callback | runs the callbacks, in order | with the connection, after the callback that runs then |
//! | `mcp-schema` | whoever compiles a schema (feature `validation`) | 1 | compiles it, on a stack that is large enough | when it is done, which is waited for |
//!
//! [`Server::start`](crate::Server::start) blocks the thread that calls it. A server with many connections calls
//! [`Server::serve`](crate::Server::serve) on a thread for each.
//!
//! # Limits
//!
//! Nothing grows without a bound. What is full is an error at once, never a silent wait, except where the table says so.
//!
//! | what | default | set by | beyond it |
//! |---|---|---|---|
//! | a frame that is read | 16 MiB | `max_frame_bytes` of either builder | skipped; a server answers -32700, a client's call fails |
//! | open requests of a connection, server | 1,024 | [`max_open_requests`](crate::server::ServerBuilder::max_open_requests) | error -32603, "server busy" |
//! | threads that run tools, server | 64 a connection | [`max_threads`](crate::server::ServerBuilder::max_threads) | calls wait for a thread, up to the open requests; one that waits for its client for 250 ms makes room for another |
//! | open calls, client | 4,096 | [`max_open_calls`](crate::client::ClientBuilder::max_open_calls) | [`Error::Busy`](crate::Error::Busy) |
//! | questions to a client that are open, server | 4,096 | | the handler gets [`AskError::Failed`](crate::context::AskError) |
//! | requests of the server that are open, client | 1,024 | | error -32603, "server busy" |
//! | threads that answer them, client | 16 a connection | | requests wait for a thread, up to the open ones; a handler that waits for the server for 250 ms makes room for another |
//! | rounds in which a call asks for input, client | 10 | [`max_input_rounds`](crate::client::ClientBuilder::max_input_rounds) | [`Error::Protocol`](crate::Error::Protocol); for URLs that a call requires, the server's error |
//! | URLs a user was sent to, until the server says they are done with, client | 256 | | the oldest is forgotten |
//! | bytes for a peer that does not read, server | 16 MiB | [`max_unsent_bytes`](crate::server::ServerBuilder::max_unsent_bytes) | answers wait, and reading stops; progress is dropped |
//! | bytes for a peer that does not read, client | 64 MiB | [`max_unsent_bytes`](crate::client::ClientBuilder::max_unsent_bytes) | [`Error::Busy`](crate::Error::Busy) |
//! | frames in each direction of a memory pair | 256 | | writing waits |
//! | progress reports that wait for one caller | 64 | | dropped, with a debug line |
//! | notifications that wait for callbacks | 256 | | dropped, with a warning; changes are never lost |
//! | streams of changes that are open, client | 64 | | [`Error::Busy`](crate::Error::Busy) |
//! | resources that one of them names | 10,000 | | [`Error::InvalidUse`](crate::Error::InvalidUse) |
//! | changes that wait for a taker or a callback | each of what was asked for, once | | what changes again before is one change |
//! | tries to open a stream again that broke off, in a row | 5 | | it ends with the last error; callbacks wait for a reconnect, with a warning |
//! | items on a page of a list, server | 250 | [`page_size`](crate::server::ServerBuilder::page_size) | a further page |
//! | pages and items of a whole list, client | 1,000 and 100,000 | | [`Error::Protocol`](crate::Error::Protocol) |
//! | pages of an iterator of pages, client | 100,000 | | [`Error::Protocol`](crate::Error::Protocol) |
//! | results that a client keeps to use again | 256, and 16 MiB; none over 1 MiB | [`no_cache`](crate::client::ClientBuilder::no_cache) | the oldest is forgotten; a larger one is not kept |
//! | a trace context, each part of it | 8 KiB | | [`Error::InvalidUse`](crate::Error::InvalidUse) |
//! | the name of a tool or prompt | 128 characters | | refused when it is registered |
//! | the address of a resource | 8 KiB | | refused when it is registered; error -32602 when it is asked for |
//! | notifications that wait for callbacks, server | 256 | | dropped, with a warning; "the root folders changed" is never lost |
//! | open `subscriptions/listen` of a connection, server | 64 | | error -32603, "server busy" |
//! | resources watched for a connection, over all its subscriptions, server | 1,024 | | error -32603, "server busy" |
//! | the URI of a resource that is watched, server | 8 KiB | | error -32602 |
//! | elicitations by URL that a server remembers for a connection | 1,024 | | of the oldest it cannot say that they are complete |
//! | stderr of a child, kept for errors | the last 16 KiB | [`Stderr`](crate::transport::Stderr) | the older part is forgotten |
//! | a line of stderr given to a callback | 16 KiB | | comes in pieces |
//! | lines of stderr that wait for a callback | 1,024 | | dropped, with a warning |
//! | proposals in one completion | 100 | | cut off; the answer says that there are more |
//! | the data of a log message, as JSON text | 64 KiB | | cut off, with a note; it becomes a text |
//! | messages of a batch | 4,096 | | error -32600 for all of it |
//! | a URI template, and a URI to be matched with one | 8 KiB and 64 variables | | an error; no match |
//! | arguments of a recursive type, nested in each other | 128 levels | | bad arguments |
//! | the text of a schema (feature `validation`) | 1 MiB | | the schema is refused |
//! | different patterns, and references, of a schema | 200 and 1,000 | | the schema is refused |
//! | a compiled pattern of a schema | 1 MiB | | the schema is refused |
//! | what a compiled schema notes for its messages | 32 MiB | | the schema is refused |
//! | looks at a value that is compared with a schema | 1,000,000 and 16 a byte | | it does not fit |
//! | the stack that comparing takes | 1 MiB | | it does not fit |
//! | problems of one value that are told | 20 | | the first ones |
//! | tools of a server whose results a client compares | 1,024 | | those of others are not compared, with a warning |
//!
//! | time | default | set by |
//! |---|---|---|
//! | settling the protocol, all of it | 30 s | [`Timeouts::with_connect`](crate::client::Timeouts::with_connect) |
//! | the answer to `server/discover` | 5 s | [`Timeouts::with_probe`](crate::client::Timeouts::with_probe) |
//! | a call, from the moment it is made, writing included | 60 s | [`Timeouts::with_call`](crate::client::Timeouts::with_call), or for one call [`CallOptions`](crate::client::CallOptions) |
//! | a call whose timeout starts anew with progress, in all | 1 h | [`Timeouts::with_call_total`](crate::client::Timeouts::with_call_total) |
//! | before a stream of changes that broke off is opened again | 1 s; a random part less | [`Timeouts::with_reopen`](crate::client::Timeouts::with_reopen) |
//! | the same before further tries, which doubles | 30 s at most | |
//! | telling a log level to a server that was started again | 5 s | |
//! | closing: frames are written; the server exits by itself; it exits after SIGTERM; own threads end | 1 s; 2 s; 2 s; 500 ms | [`Patience`](crate::transport::Patience) |
//! | a server's accepted requests, after the end of its input | 5 s | [`grace`](crate::server::ServerBuilder::grace) |
//!
//! # Errors: who gets to see what
//!
//! | what happened | the caller gets | a model sees it |
//! |---|---|---|
//! | a tool returned an error, or panicked | a result with [`is_error`](crate::protocol::CallToolResult::is_error) | yes |
//! | bad arguments | the same; the text names every field and what was expected | yes, and can correct itself |
//! | a result that breaks its tool's output schema, noticed by the server (feature `validation`) | the same; an error in the server's log | yes |
//! | the same, noticed by the client | [`Error::Protocol`](crate::Error::Protocol) | as the host decides |
//! | no such tool | [`Error::Peer`](crate::Error::Peer), code -32602 | as the host decides |
//! | no such resource | the same, code -32002 in the Legacy era; the address is in the error's data; [`is_resource_not_found`](crate::Error::is_resource_not_found) knows both | as the host decides |
//! | a resource's function returned an error, or panicked | [`Error::Peer`](crate::Error::Peer), code -32603 | as the host decides |
//! | a tool returned [`ToolError::protocol`](crate::ToolError::protocol) | [`Error::Peer`](crate::Error::Peer) with its code and data | as the host decides |
//! | the server asked for what this client cannot do | [`Error::Unsupported`](crate::Error::Unsupported); nobody was asked | as the host decides |
//! | a handler for what the server asked failed, or its answer was not valid | [`Error::NotAnswered`](crate::Error::NotAnswered); a Legacy server gets the error, and says itself what comes of it | as the host decides |
//! | bad arguments for a prompt, or no such prompt | [`Error::Peer`](crate::Error::Peer), code -32602; the text names every argument | no: users choose prompts |
//! | a prompt or a completer returned an error, or panicked | [`Error::Peer`](crate::Error::Peer), code -32603 | no |
//! | no answer in time | [`Error::Timeout`](crate::Error::Timeout); the server is told to stop | as the host decides |
//! | [`reconnect`](crate::ClientHandle::reconnect) during a call | as when the server ends | as the host decides |
//! | the server ended during a call | [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown), or [`Error::Closed`](crate::Error::Closed) if repeating the request is harmless; with exit status and the end of stderr | as the host decides |
//!
//! A panic in a tool, in a handler of a client, in a callback for notifications or lines of stderr, or in a cleanup hook is caught; its text goes to
//! the log alone (and to stderr, where Rust's panic hook writes it). One in a progress callback unwinds through the call that
//! waits. One in a [`Tap`](crate::transport::Tap) is caught and costs it that frame. A program built with `panic = "abort"` cannot catch anything: a panic in one tool
//! ends the server and every call with it. For small binaries use `opt-level = "s"` and LTO, and keep unwinding.
//!
//! # Writing tools
//!
//! **stdout is the protocol.** What a tool prints there by `println!` stands between the messages: this crate's client skips
//! such lines and counts them, others end the connection. Log by the `log` crate, see [`logging`](crate::logging);
//! `eprintln!` and `dbg!` are safe as well, as they write to stderr.
//!
//! **stdin is the protocol, too.** A process that a tool starts inherits both, would eat the client's next requests, and write
//! between the answers. Start processes by [`child_command`](crate::transport::child_command), which takes both away.
//!
//! **Tools run at the same time**, on several threads; shared state needs a lock of its own. A tool may block as long as
//! it likes: others go on, and so does `ping`. Long work should look at
//! [`Context::is_cancelled`](crate::Context::is_cancelled), and wait on [`CancelToken::wait_timeout`](crate::CancelToken::wait_timeout)
//! instead of sleeping; nobody can stop a thread from outside.
//!
//! **Arguments are read leniently**, because models are: a number or a boolean may come as a string (`"30"`), an integer as
//! `30.0`, a list or an object as the text of one, all arguments together as a string, and `null` stands for an absent
//! optional one. What changes the meaning stays an error: `1.5` or `"many"` for an integer, a number out of range, a number
//! for a string.
//!
//! **Unknown arguments are ignored** with a debug line, as models invent some now and then.
//! [`deny_unknown_arguments`](crate::FnTool::deny_unknown_arguments) makes them an error and tells clients so in the schema.
//!
//! **Schemas are checked in part** by default: a tool that `tool!` makes reads its arguments by their types; of a schema given at
//! run time types, required and unknown members, `enum`, `const` and `items` count. With the feature `validation` a registry
//! compares arguments and structured results with all of it, and clients compare results with the output schemas
//! they know; see `json::Validator` for dialects and limits. The tool's author hears of a schema that cannot
//! be used when the tool is registered. Only alternatives at each level of a deep value can be too many to compare, or to tell
//! what is wrong: that work is ended by unwinding, which a program built with `panic = "abort"` does not survive.
//!
//! **Large integers**: JSON passes through this crate as text, so 64-bit integers arrive exactly in `u64` and `i64`, and larger
//! ones in [`Json`](crate::json::Json). JavaScript hosts read every number as a double and round beyond 2^53: return 64-bit
//! ids as strings, and declare the parameters that take them back as `String`.
//!
//! **Log messages** are for the client's user: [`Context::log`](crate::Context::log) and its short forms send them, and a
//! [`Bridge`](crate::logging::Bridge) sends what a handler logs by the `log` crate. The server is built with
//! [`logging`](crate::server::ServerBuilder::logging), or nothing is sent. A Legacy client gets what is at least as severe as
//! it has set for its connection by `logging/setLevel`, and before that what is at least `info`: the specification
//! leaves that to the server. A Modern one gets what its request asks for, and nothing otherwise. Messages are dropped
//! rather than waited with, and end with the answer. What belongs to no request goes to Legacy clients alone, by
//! [`ServerHandle::log`](crate::ServerHandle::log). Messages must not hold secrets.
//!
//! # Starting servers
//!
//! A child process gets a few harmless variables and **no others**
//! ([`Environment::Base`](crate::transport::Environment::Base)): pass keys one by one by
//! [`ChildProcess::env`](crate::transport::ChildProcess::env), or everything by
//! [`Environment::All`](crate::transport::Environment::All). Its stderr is captured, and the end of it is part of every error
//! about its death; [`Stderr::Inherit`](crate::transport::Stderr::Inherit) shows it as it comes. On Unix it leads a process group
//! of its own, so that closing also ends what it started, and a terminal's Ctrl-C does not reach it.
//!
//! **A server that died stays dead** until [`reconnect`](crate::ClientHandle::reconnect) starts it once more, which also replaces
//! one that lives: the old process ends first, by the steps and times of closing, and every handle goes on with the new one.
//! Nothing is sent again by itself: whether a call that was open has done its work is for its caller to find out. Threads that ask
//! at once share one start; calls that are made meanwhile wait for it, until their cancel token fires.
//!
//! # Hearing of changes
//!
//! [`ClientHandle::listen`](crate::ClientHandle::listen) gives an iterator of changes, and the builder takes callbacks such as
//! [`on_tools_changed`](crate::client::ClientBuilder::on_tools_changed); both work alike with servers of either era. Changes are
//! kept as marks, not in a queue: what changes ten times before it is looked at is one change, and the last change is never lost.
//! Several streams get what each asked for; in what order different things are told is not promised.
//!
//! A stream outlives its connection. [`Change::Interrupted`](crate::client::Change::Interrupted) says that changes may be missed;
//! when the server is heard again, after a try of the client itself or a [`reconnect`](crate::ClientHandle::reconnect), everything
//! that was asked for counts as changed, once. It ends when the server ends it, when it is closed, or with the client.
//!
//! # Platforms
//!
//! Tested on Linux alone. On macOS the same code runs, untested. On Windows there are no process groups and no SIGTERM, so that
//! a server which does not exit by itself is ended by force, and what it started is left running; that code has never run.
