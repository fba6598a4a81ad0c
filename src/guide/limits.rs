//! Limits: how much of everything there may be, what happens beyond it, and where to change it.
//!
//! Nothing grows without a bound. What is full is an error at once, never a silent wait, except where the table says so. The
//! values are defaults; a row without a name in the third column is fixed. What only [HTTP](crate::guide::http) needs has tables of its own
//! at the end.
//!
//! # Sizes and numbers
//!
//! | what | default | set by | beyond it |
//! |---|---|---|---|
//! | a frame that is read | 16 MiB | `max_frame_bytes` of either builder | skipped; a server answers -32700, a client's call fails |
//! | open requests of a connection, server | 1,024 | [`max_open_requests`](crate::server::ServerBuilder::max_open_requests) | error -32603, "server busy" |
//! | threads that run tools, server | 64 a connection, or over HTTP in all | [`max_threads`](crate::server::ServerBuilder::max_threads) | calls wait for a thread, up to the open requests; one that waits for its client for 250 ms makes room for another |
//! | open calls, client | 4,096 | [`max_open_calls`](crate::client::ClientBuilder::max_open_calls) | [`Error::Busy`](crate::Error::Busy) |
//! | questions to a client that are open, server | 4,096 | | the handler gets [`AskError::Failed`](crate::context::AskError) |
//! | requests of the server that are open, client | 1,024 | | error -32603, "server busy" |
//! | threads that answer them, client | 16 a connection | | requests wait for a thread, up to the open ones; a handler that waits for the server for 250 ms makes room for another |
//! | rounds in which a call asks for input, client | 10 | [`max_input_rounds`](crate::client::ClientBuilder::max_input_rounds) | [`Error::Protocol`](crate::Error::Protocol); for URLs that a call requires, the server's error |
//! | tries of a request beyond the first that did not get through, client | 2 | [`max_resends`](crate::client::ClientBuilder::max_resends) | the error |
//! | tools that a client remembers as harmless to repeat | 1,024 | | calls of others are not repeated if their outcome is unknown |
//! | URLs a user was sent to, until the server says they are done with, client | 256 | | the oldest is forgotten |
//! | bytes for a peer that does not read, server | 16 MiB | [`max_unsent_bytes`](crate::server::ServerBuilder::max_unsent_bytes) | answers wait, and reading stops; progress is dropped |
//! | bytes for a peer that does not read, client | 64 MiB | [`max_unsent_bytes`](crate::client::ClientBuilder::max_unsent_bytes) | [`Error::Busy`](crate::Error::Busy) |
//! | frames in each direction of a memory pair | 256 | | writing waits |
//! | progress reports that wait for one caller | 64 | | dropped, with a debug line |
//! | notifications that wait for callbacks | 256 | | dropped, with a warning; changes are never lost |
//! | streams of changes that are open, client | 64 | | [`Error::Busy`](crate::Error::Busy) |
//! | resources that one of them names | 10,000 | | [`Error::InvalidUse`](crate::Error::InvalidUse) |
//! | changes that wait for a taker or a callback | each of what was asked for, once | | what changes again before is one change |
//! | tries to open a stream again that the server broke off or refused, in a row | 5 | | it ends with the last error; callbacks wait for a reconnect, with a warning |
//! | tries to open a stream again that did not get through | no limit | | the pauses grow, see below |
//! | items on a page of a list, server | 250 | [`page_size`](crate::server::ServerBuilder::page_size) | a further page |
//! | pages and items of a whole list, client | 1,000 and 100,000 | | [`Error::Protocol`](crate::Error::Protocol) |
//! | pages of an iterator of pages, client | 100,000 | | [`Error::Protocol`](crate::Error::Protocol) |
//! | results that a client keeps to use again | 256, and 16 MiB; none over 1 MiB | [`no_cache`](crate::client::ClientBuilder::no_cache) | the oldest is forgotten; a larger one is not kept |
//! | a trace context, each part of it | 8 KiB | | [`Error::InvalidUse`](crate::Error::InvalidUse) |
//! | the name of a tool or prompt | 128 characters | | refused when it is registered |
//! | the address of a resource | 8 KiB | | refused when it is registered; error -32602 when it is asked for |
//! | notifications that wait for callbacks, server | 256 | | dropped, with a warning; "the root folders changed" is never lost |
//! | open `subscriptions/listen` of a connection, server | 64 | | error -32603, "server busy" |
//! | resources and tasks watched for a connection, over all its subscriptions, server | 1,024 | | error -32603, "server busy" |
//! | the URI of a resource that is watched, server | 8 KiB | | error -32602 |
//! | elicitations by URL that a server remembers for a connection | 1,024 | | of the oldest it cannot say that they are complete |
//! | states of calls that wait for input, server | 1,024, and 16 MiB; none over 1 MiB | [`state_store`](crate::server::ServerBuilder::state_store) | the oldest is forgotten; a larger one fails its call |
//! | tasks of a server, those that have ended included | 1,024 | [`TaskOptions::with_max_tasks`](crate::server::TaskOptions::with_max_tasks) | the oldest that have ended make room, else error -32603 |
//! | tasks that run at once | 64 | [`TaskOptions::with_max_running`](crate::server::TaskOptions::with_max_running) | further ones wait |
//! | the result of a task | 16 MiB | [`TaskOptions::with_max_result_bytes`](crate::server::TaskOptions::with_max_result_bytes) | the task fails with -32603 |
//! | results of all tasks, and arguments of those that wait | 256 MiB | [`TaskOptions::with_max_bytes`](crate::server::TaskOptions::with_max_bytes) | as for too many tasks |
//! | stderr of a child, kept for errors | the last 16 KiB | [`Stderr`](crate::transport::Stderr) | the older part is forgotten |
//! | a line of stderr given to a callback | 16 KiB | | comes in pieces |
//! | lines of stderr that wait for a callback | 1,024 | | dropped, with a warning |
//! | a configuration file, or a file of variables that it names, host | 1 MiB | [`read_limited`](crate::host::config::Config::read_limited), [`max_file_bytes`](crate::host::config::Resolver::max_file_bytes) | an error |
//! | all values of one server, when its variables are replaced, host | 4 MiB | | an error |
//! | defaults of variables, and braces in them, nested in each other, host | 16 | | an error |
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
//! | a URL over HTTP (features `http-client`, `guard`) | 32 KiB | | refused |
//! | a path that is guarded (feature `guard`) | 4,095 bytes | | [`RootErrorKind::BadPath`](crate::guard::RootErrorKind) |
//! | a guarded file that is read or written as a whole | 8 MiB | [`Root::max_file_bytes`](crate::guard::Root::max_file_bytes) | [`RootErrorKind::TooLarge`](crate::guard::RootErrorKind) |
//! | entries of a guarded folder that are listed, and how deep | 10,000 and 64 folders | [`Root::max_entries`](crate::guard::Root::max_entries) | [`RootErrorKind::TooMany`](crate::guard::RootErrorKind); what lies deeper is named as not read |
//! | redirects that are checked after each other | 5 | [`UrlPolicy::max_redirects`](crate::guard::UrlPolicy::max_redirects) | [`UrlError::Refused`](crate::guard::UrlError) |
//! | addresses of a host that are handed on | 16 | | the first ones; all are checked |
//! | look-ups of names for a policy at once | 16 | | [`UrlError::NotFound`](crate::guard::UrlError) |
//! | arguments of a guarded program | 1,000 and 100 KiB | | [`CommandError::Argument`](crate::guard::CommandError) |
//! | what a guarded program writes, to stdout and to stderr each | 1 MiB | [`Program::max_output_bytes`](crate::guard::Program::max_output_bytes) | it is ended; [`CommandError::TooMuch`](crate::guard::CommandError) |
//! | tools of a server whose results a client compares | 1,024 | | those of others are not compared, with a warning |
//! | processes and threads of a container | 512 | [`Container::processes`](crate::host::containment::Container::processes) | the runtime refuses to start more |
//!
//! # Times
//!
//! | time | default | set by |
//! |---|---|---|
//! | settling the protocol, all of it | 30 s | [`Timeouts::with_connect`](crate::client::Timeouts::with_connect) |
//! | the answer to `server/discover` | 5 s | [`Timeouts::with_probe`](crate::client::Timeouts::with_probe) |
//! | a call, from the moment it is made, writing included | 60 s | [`Timeouts::with_call`](crate::client::Timeouts::with_call), or for one call [`CallOptions`](crate::client::CallOptions) |
//! | a call whose timeout starts anew with progress, in all | 1 h | [`Timeouts::with_call_total`](crate::client::Timeouts::with_call_total) |
//! | the answer to a question of a server, from a person for example | 600 s | [`input_time`](crate::server::ServerBuilder::input_time) |
//! | telling a log level to a server that was started again | 5 s | |
//! | before a stream of changes that broke off is opened again | 1 s; a random part less | [`Timeouts::with_reopen`](crate::client::Timeouts::with_reopen) |
//! | the same before further tries, which doubles | 30 s at most | |
//! | before a request that did not get through is sent again, which doubles | 100 ms; a random part less | |
//! | calls in a session that ended, to hear of that before they are cut off | 1 s | |
//! | a task, from its beginning, after which it is cancelled and forgotten | 1 h | [`TaskOptions::with_ttl`](crate::server::TaskOptions::with_ttl) |
//! | the same at most, where a client may choose | 24 h | [`TaskOptions::with_max_ttl`](crate::server::TaskOptions::with_max_ttl) |
//! | the same at least | 1 s | |
//! | between two looks at a task, as a server suggests | 1 s | [`TaskOptions::with_poll_interval`](crate::server::TaskOptions::with_poll_interval) |
//! | between two looks at a task, as a client accepts: at least, and at most | 50 ms; 60 s | |
//! | closing: frames are written; the server exits by itself; it exits after SIGTERM; own threads end | 1 s; 2 s; 2 s; 500 ms | [`Patience`](crate::transport::Patience) |
//! | starting a process by a `Spawner`, with those before it | 30 s | |
//! | trying whether a sandbox works, each tool of it | 10 s | |
//! | removing a container, once its client has ended | 10 s | |
//! | a server's accepted requests, after the end of its input | 5 s | [`grace`](crate::server::ServerBuilder::grace) |
//! | looking up the name in a URL that is checked | 5 s | [`UrlPolicy::resolve_time`](crate::guard::UrlPolicy::resolve_time) |
//! | a guarded program; before it is killed after being asked to end; until that is given up; for its last output | 30 s; 500 ms; 2 s; 1 s | the first by [`Program::time_limit`](crate::guard::Program::time_limit) |
//!
//! A timeout is set for the whole client, or for one call:
//!
//! ```
//! use std::time::Duration;
//! use tinymcp::client::{CallOptions, Timeouts};
//! use tinymcp::{Client, Server};
//!
//! let timeouts = Timeouts::default().with_call(Duration::from_secs(20));
//! let client = Client::builder().timeouts(timeouts).max_open_calls(64);
//! let patient = CallOptions::default().with_timeout(Duration::from_secs(300)).with_total(None);
//! let server = Server::builder("s", "1").max_threads(8).page_size(50).max_frame_bytes(1024 * 1024);
//! # let _ = (client, patient, server);
//! ```
//!
//! # Over HTTP, a server
//!
//! | what | default | set by | beyond it |
//! |---|---|---|---|
//! | open connections | 16,384 | [`max_connections`](crate::http::HttpServerBuilder::max_connections) | 503 |
//! | connections beyond them that are told so | 64 | | closed without a word |
//! | connections that wait to be accepted | 4,096, or as many as the operating system allows | | their clients try again after a second |
//! | requests that are served, of all clients | 64 | [`max_threads`](crate::server::ServerBuilder::max_threads) | further ones wait; a handler that waits for its client makes room for another |
//! | requests that wait for that | 1,024 | [`max_open_requests`](crate::server::ServerBuilder::max_open_requests) | 503 |
//! | open requests of a Legacy session | 1,024 | [`max_open_requests`](crate::server::ServerBuilder::max_open_requests) | error -32603, "server busy" |
//! | the head of a request | 16 KiB and 100 headers | | 431 |
//! | its body | 16 MiB | [`max_frame_bytes`](crate::server::ServerBuilder::max_frame_bytes) | 413 |
//! | heads and bodies that are being received, of all clients | 64 MiB | | 503 |
//! | the first line of a chunk; all trailers | 256 and 8 KiB | | 400 |
//! | empty lines before a request | 8 | | 400 |
//! | bytes that wait on a stream for a client that does not read | 64 KiB | [`max_unsent_bytes`](crate::http::HttpServerBuilder::max_unsent_bytes) | progress, log messages and notices are dropped; an answer always has room |
//! | bytes of answers that wait for clients that do not read, in all | 64 MiB; a single one may have more | | the connection that would add to them is closed |
//! | answers that wait so in HTTP+SSE | 16 MiB | [`max_unsent_bytes`](crate::server::ServerBuilder::max_unsent_bytes) | the session ends |
//! | what a client sends after the last answer of its connection | 16 MiB | | cut off |
//! | Legacy clients that have a session | 1,000 | [`max_sessions`](crate::http::HttpServerBuilder::max_sessions) | the one that is idle for longest makes room; 503 if all are in use |
//! | messages of a session that wait for its stream | 64 | | the oldest is forgotten |
//! | how the id of a session may begin | 64 characters | [`session_prefix_from`](crate::http::HttpServerBuilder::session_prefix_from) | an id without that |
//! | open `subscriptions/listen` of all Modern clients | as many as connections | [`max_connections`](crate::http::HttpServerBuilder::max_connections) | 503 |
//! | resources and tasks watched for all Modern clients | 100,000 | | error -32603, "server busy" |
//! | servers of a relay, beside that of Modern clients | 32 | [`max_sessions`](crate::http::HttpServerBuilder::max_sessions) | the one that is idle for longest makes room; 503 if all are in use |
//! | a state that its client carries | 64 KiB | [`state_store`](crate::server::ServerBuilder::state_store) | the call fails |
//! | events kept of a stream, for a Legacy client that comes back | 256, and 1 MiB unless a single one has more | [`events`](crate::http::HttpServerBuilder::events) | the oldest is forgotten |
//! | streams with such events, of a session | 16 | | the oldest is forgotten, first of those that have ended |
//! | such events of a server | 64 MiB | | the oldest is forgotten |
//!
//! | time | default | set by |
//! |---|---|---|
//! | the head of a request, from its first byte; the body | 10 s; 60 s | [`head_time`](crate::http::HttpServerBuilder::head_time), [`body_time`](crate::http::HttpServerBuilder::body_time) |
//! | a connection waits for a request | 60 s | [`idle_time`](crate::http::HttpServerBuilder::idle_time) |
//! | a client takes some more of an answer | 30 s | [`write_time`](crate::http::HttpServerBuilder::write_time) |
//! | a stream is silent before it carries a comment | 15 s | [`keep_alive`](crate::http::HttpServerBuilder::keep_alive) |
//! | a session without an open request or stream | 30 min | [`session_idle`](crate::http::HttpServerBuilder::session_idle) |
//! | an event of a stream is kept, for a client that comes back | 300 s | |
//! | before a Legacy client comes back, as a server suggests | 1 s | [`Context::send_away`](crate::Context::send_away) |
//! | before more connections are accepted, when the operating system has no room | 100 ms | |
//! | a client closes its connection, after the last answer | 1 s | |
//! | a server of a relay makes room for another | 10 s | |
//! | before a server of a relay that answered nothing is started again, which doubles | 100 ms; 10 s at most | |
//! | the output of a server of a relay, after its end | 250 ms | |
//! | open calls of a relay, at its end | 5 s | |
//! | at the end, after the grace: answers are taken; threads end | 1 s; 250 ms | |
//!
//! # Over HTTP, a client
//!
//! | what | default | set by | beyond it |
//! |---|---|---|---|
//! | calls under way | 64 | [`max_calls`](crate::http::HttpTransport::max_calls) | further ones wait for a thread |
//! | messages that wait to be sent | 4,096 | | a call fails; a notification is dropped, with a warning |
//! | notifications and responses under way | 8 | | further ones wait |
//! | streams open | 66 | | a further subscription fails |
//! | frames that wait for the client's reader | 64 | | the streams they come from wait |
//! | connections that wait for the next request | 8 | | the oldest is closed |
//! | streams that stay open after their answer | 8 | | the oldest is closed |
//! | tools whose mirrored arguments it knows | 10,000 | | the next list starts anew; without them a server refuses the call |
//! | what is read of an answer that nobody wants | 64 KiB | | its connection is closed |
//! | the id of an event that is sent back | 4 KiB | | ignored: the stream cannot be continued after that event |
//! | redirects of one request | 5 | | the call fails |
//! | tries to open a stream again that bring nothing, in a row | 5 | [`stream_tries`](crate::http::HttpTransport::stream_tries) | the call fails; what a Legacy server says by itself is not heard, with a warning |
//! | an answer of a registry of servers | 8 MiB | [`max_answer_bytes`](crate::http::registry::ServerRegistry::max_answer_bytes) | an error |
//! | pages of a registry's list; servers that a search finds, before its last page | 10,000; 1,000 | | the rest is not read |
//! | a server's name in a registry; its version; a text for people, in characters | 200; 255; 2,000 | | not read; not read; cut |
//!
//! | time | default | set by |
//! |---|---|---|
//! | looking up a host, and then connecting to it | 10 s | [`connect_timeout`](crate::http::HttpTransport::connect_timeout) |
//! | a stream that brings nothing, not even a comment | 300 s | [`read_timeout`](crate::http::HttpTransport::read_timeout) |
//! | before a stream is opened again, if the server does not say | 1 s | |
//! | the same after tries that brought nothing, which doubles; and at least | 30 s at most; 100 ms | |
//! | a server accepts a notification or a response | 10 s | |
//! | a session's stream opens, before what comes after the handshake is sent all the same | 500 ms | |
//! | the first event of a server that may speak HTTP+SSE | 5 s | |
//! | a stream stays open after its answer, while others come | 500 ms | |
//! | a connection that nobody uses, unless the server says less | 30 s | |
//! | an answer of a registry of servers, all of it | 30 s | [`answer_time`](crate::http::registry::ServerRegistry::answer_time) |
//!
//! # Recordings
//!
//! Of the feature `trajectory`, see [its page](super::trajectories).
//!
//! | what | default | set by | beyond it |
//! |---|---|---|---|
//! | trajectories that are open in one sink | 1,024 | [`Sink::with_max_open`](crate::trajectory::Sink::with_max_open) | not recorded, with a warning; their calls go through |
//! | what a sink in memory holds | 64 MiB | | lost, and counted |
//! | lists of tools known to be in the file, writing and reading | 1,024 | | the oldest is written again when it comes again |
//! | trajectories that are put together at a time, reading | 4,096 | [`Trajectories::max_open`](crate::trajectory::Trajectories::max_open) | the one that was silent for longest counts as over |
//! | events of one of them, reading | 1,000,000 | [`Trajectories::max_events`](crate::trajectory::Trajectories::max_events) | passed over, and counted |
//! | a line of a recording that is read | 256 MiB | | passed over, and counted |
//! | tools with figures of their own | 1,000 | | counted together |
//! | a page that shows a recording | 20,000,000 bytes | [`Report::with_max_bytes`](crate::trajectory::Report::with_max_bytes), less only | counted, and said on the page |
//! | a value on such a page, as HTML | 4 KiB | [`Report::with_value_bytes`](crate::trajectory::Report::with_value_bytes) | its beginning, its length, and where its record is |
//!
//! # Environments
//!
//! Of the feature `trajectory`, see [its page](super::environments).
//!
//! | what | default | set by | beyond it |
//! |---|---|---|---|
//! | steps of an episode, and its time | no limit | [`max_steps`](crate::trajectory::Environment::max_steps), [`max_time`](crate::trajectory::Environment::max_time) | the episode is truncated |
//! | a step; each request of a reset | as long as its caller waits | [`step_time`](crate::trajectory::Environment::step_time); [`reset_time`](crate::trajectory::Environment::reset_time) | the episode is truncated; the reset fails |
//! | orders of a member of many that are under way | 1 | | [`Error::InvalidUse`](crate::Error::InvalidUse) |
//! | items of a list, and members of an object, that a schema asks for, made up | 1,000 | | [`CannotSample`](crate::trajectory::CannotSample) |
//! | a text that is made up, in characters | 100,000 | | the same |
//! | values of arguments that are made up, and characters of their texts | 50,000 and 1,000,000 | | the same |
//! | levels of arguments that are made up; of those, with what a schema does not ask for | 64; 6 | | the same; it is left out |
//!
//! # A host
//!
//! | what | default | set by | beyond it |
//! |---|---|---|---|
//! | servers of a host | 1,000 | | [`Error::Busy`](crate::Error::Busy) |
//! | tries of a call, host | 3 | [`Retry::with_tries`](crate::host::resilience::Retry::with_tries) | the last error |
//! | restarts of a server in a row | 5 | [`RestartPolicy::with_limit`](crate::host::resilience::RestartPolicy::with_limit) | it is left alone for a while |
//! | failures in a row that open a circuit | 5 | [`BreakerOptions::with_failures`](crate::host::resilience::BreakerOptions::with_failures) | nothing is sent: [`Error::Unreachable`](crate::Error::Unreachable) |
//! | the last calls of which a breaker takes the share of failures, at most | 64 | [`BreakerOptions::with_rate`](crate::host::resilience::BreakerOptions::with_rate) | taken as so many |
//! | members of a pool; at most | 4; 256 | [`PoolBuilder::size`](crate::host::pool::PoolBuilder::size) | [`Error::InvalidUse`](crate::Error::InvalidUse), or [`Error::Busy`](crate::Error::Busy) when one is added |
//! | pings in a row that a member of a pool may leave unanswered | 2 | | it is started again, once it has no open calls |
//! | conversations of a pool by their key; a key | 10,000; 1 KiB | | the one that nobody holds and that was used least recently is forgotten, else [`Error::Busy`](crate::Error::Busy); [`Error::InvalidUse`](crate::Error::InvalidUse) |
//! | those who listen to changes by a pool | 64 | | [`Error::Busy`](crate::Error::Busy) |
//! | servers that start side by side | 8 | [`max_starting`](crate::host::HostBuilder::max_starting) | further ones wait |
//! | tools of one server in a host | 10,000 | | further ones are not offered, and an event tells of it |
//! | the name of a tool in a host, in characters | 64 | | cut, and ends in a number |
//! | refused tools of a listing that an event names | 32 | | how many more there are |
//! | refused tools of which it is known that they were told | 10,000 | | they are told again |
//! | questions about one call whose tool changes meanwhile | 3 | | [`Error::Denied`](crate::Error::Denied) |
//! | a text that a server of a host wrote, in errors and events | 32 KiB | | cut |
//! | events of a host that wait for who watches; their texts | 1,024; 4 MiB | | the oldest are lost, and [`HostEvent::Missed`](crate::host::HostEvent::Missed) tells how many |
//! | those who listen to changes by a host; changes that wait for one of them | 64; 64 | | [`Error::Busy`](crate::Error::Busy); the rest waits as marks |
//! | servers that are asked for a list side by side | 16 | | further ones are asked after them |
//!
//! | time | default | set by |
//! |---|---|---|
//! | before a call is tried again, which doubles; at most | 1 s; 30 s | [`Retry::with_base`](crate::host::resilience::Retry::with_base), [`with_cap`](crate::host::resilience::Retry::with_cap) |
//! | listing the tools before the first of such calls, if nobody has | 10 s | |
//! | before the second restart in a row, which doubles; at most | 1 s; 30 s | [`RestartPolicy::with_pauses`](crate::host::resilience::RestartPolicy::with_pauses) |
//! | a server stays, so that the next restart is the first again; one that did not stay is left alone | 10 s; 300 s | [`with_stable_after`](crate::host::resilience::RestartPolicy::with_stable_after), [`with_rest`](crate::host::resilience::RestartPolicy::with_rest) |
//! | a circuit is open, which doubles; at most | 10 s; 300 s | [`BreakerOptions`](crate::host::resilience::BreakerOptions) |
//! | between two pings of the members of a pool; for the answer | 30 s; 5 s | [`PoolBuilder::health_checks`](crate::host::pool::PoolBuilder::health_checks) |
//! | before a member of a pool that does not stay is started again, which doubles; at most; it has stayed | 1 s; 30 s; 10 s | [`PoolBuilder::pauses`](crate::host::pool::PoolBuilder::pauses) |
//! | a conversation of a pool that nobody holds, without a call | 30 min | |
//! | all members of a pool tell of the same change | 250 ms | |
//! | a server of a host starts: the protocol is settled, its tools are listed | 30 s | [`start_time`](crate::host::HostBuilder::start_time) |
//! | before the tools of a server are listed again that change all the time, which doubles; at most | 100 ms; 10 s | |
//! | who ends a server waits for those who just start it | 5 s | |
//! | who closes a pool, or takes a member out, waits for those who just start it | 5 s | |
//!
//! # A host: its audit log and its result filter
//!
//! | what | default | set by | beyond it |
//! |---|---|---|---|
//! | arguments, and a result, in an audit log | 4 KiB | [`max_value_bytes`](crate::host::audit::AuditLogBuilder::max_value_bytes) | how it begins, and how long it is |
//! | any other text in an audit log | 4 KiB | | the same |
//! | an audit file | no limit | [`rotate`](crate::host::audit::AuditLogBuilder::rotate) | a new one is begun, and the oldest is removed |
//! | secrets that are hidden by their value | 1,024 | | [`Error::Busy`](crate::Error::Busy) |
//! | a line of an audit log that is read | 16 MiB | | damaged |
//! | intents that wait for their outcomes, where a log is explained | 100,000 | | the oldest reads as unknown |
//! | a text of a result, and a string of a structured one | 256 KiB | [`Caps`](crate::host::filter::Caps) | cut, and it says so |
//! | all texts of a result | 1 MiB | likewise | further ones are left out, but for small ones; a text says so |
//! | a structured result | 1 MiB | likewise | left out; a text says so |
//! | a picture, a sound or a file in a result, as base64 | 8 MiB | likewise | left out; a text says so |
//! | blocks of a result, parts of a resource, messages of a prompt | 256 | likewise | left out; a text says so |
//! | a name, a title or an address | 1 KiB | likewise | cut, and it says so |
//! | a description, and a string of a schema | 16 KiB | likewise | cut, and it says so |
//! | a schema | 256 KiB | likewise | the tool is refused |
//! | `_meta`, and unknown members, each | 64 KiB | likewise | left out |
//!
//! | time | default | set by |
//! |---|---|---|
//! | the last lines of an audit log reach the disk | 2 s | |
//! | it is seen that an audit file was moved or removed | 1 s | |
//! | an audit file is let go by a log that was dropped | 250 ms | |
//!
//! # A host: asking the user
//!
//! | what | default | set by | beyond it |
//! |---|---|---|---|
//! | questions to the user about one server that are open | 8 | [`AskLimits::with_waiting`](crate::host::consent::AskLimits::with_waiting) | denied without asking, and told |
//! | the same that are shown within a minute | 30 | [`AskLimits::with_per_minute`](crate::host::consent::AskLimits::with_per_minute) | denied without asking, and told |
//! | questions to the user that are shown at a time, each about another server | 4 | [`AskLimits::with_shown`](crate::host::consent::AskLimits::with_shown) | further ones wait |
//! | servers of which it is known when they were asked about | 4,096 | | those without an open question are forgotten |
//! | a text of a question, and what has changed, on a terminal | 4,000 and 16,000 characters | `{:#}` shows the whole | the beginning, and how long it is |
//! | cells of the table by which two definitions are compared | 4,000,000 | | all the old lines are shown, and all the new |
//! | what is granted for the session, and for always; refused for the session | 10,000 each | | it is asked about each time; the oldest refusal is forgotten |
//! | the definition of a tool that is agreed to for more than once | 256 KiB | | it is asked about each time |
//! | a file of grants | 64 MiB | | an error; what does not fit is granted for the session |
//! | what was taken back while its file could not be written | 1,000 | | everything is taken back |
//!
//! | time | default | set by |
//! |---|---|---|
//! | the user answers a question; before, that waits to be shown | 300 s for each | [`AskLimits::with_time`](crate::host::consent::AskLimits::with_time) |
//! | a change of a file of grants waits for that of another process | 5 s | |
