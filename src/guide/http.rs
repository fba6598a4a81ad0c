//! Serving over HTTP: many clients at once, of both eras, at one address.
//!
//! With the feature `http-server` a [`Server`](crate::Server) speaks Streamable HTTP. The server itself stays as it is:
//!
//! ```no_run
//! # #[cfg(feature = "http-server")] {
//! use tinymcp::{Server, ToolRegistry, tool};
//!
//! let tools = ToolRegistry::new().with(tool! { fn echo(text: String) -> String { text } })?;
//! let server = Server::builder("echo", "1.0.0").tools(tools).build()?;
//! server.serve_http("127.0.0.1:8000")?; // at http://127.0.0.1:8000/mcp, until it is stopped
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`HttpServer`] is the same with settings. It listens as soon as it is bound and knows its address, which is all that a test needs:
//!
//! ```
//! # #[cfg(feature = "http")] {
//! use serde_json::json;
//! use tinymcp::http::HttpServer;
//! use tinymcp::{Client, Server, ToolRegistry, tool};
//!
//! let tools = ToolRegistry::new().with(tool! { fn echo(text: String) -> String { text } })?;
//! let server = Server::builder("echo", "1.0.0").tools(tools).build()?;
//! let http = HttpServer::builder(&server).bind("127.0.0.1:0")?;
//! let url = http.url();
//! let serving = std::thread::spawn(move || http.serve());
//!
//! let client = Client::connect_http(&url)?;
//! assert_eq!(client.call_tool("echo", json!({"text": "hi"}))?.text_content(), "hi");
//!
//! server.handle().stop();
//! serving.join().expect("no panic")?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The client's side is [a page of its own](crate::guide::http_client), and so is what stands [before such a
//! server](crate::guide::operating): proxies, TLS, replicas.
//!
//! # One address, both eras
//!
//! Each request tells which era it is of, so clients of both use the same address at the same time:
//!
//! | request | for | answered by |
//! |---|---|---|
//! | `POST /mcp`, with 2026-07-28 in its `_meta` (Modern) | a call, a list, and so on | its answer |
//! | `POST /mcp` with `initialize` (Legacy, 2025-03-26 to 2025-11-25) | the handshake | its answer, and a session: the header `Mcp-Session-Id` |
//! | `POST /mcp` with that header | anything else of such a client | its answer; 202 for what has none |
//! | `GET /mcp` with that header | a stream for what belongs to no request | events, for as long as the client listens |
//! | `DELETE /mcp` with that header | the end of the session | 204 |
//! | `GET /sse` (HTTP+SSE, 2024-11-05) | a stream for everything | events, of which the first says where messages go |
//! | `POST /messages` | any message of such a client | 202; its answer is an event of the stream |
//!
//! An answer is one JSON object. If progress, a log message or a question precedes it, it is a stream of events (*server-sent events*), of
//! which it is the last. [`path`](crate::http::HttpServerBuilder::path) and [`sse_paths`](crate::http::HttpServerBuilder::sse_paths) move the addresses;
//! HTTP+SSE is served only by servers that offer [2024-11-05](crate::server::ServerBuilder::versions).
//!
//! | | Modern | Legacy | HTTP+SSE |
//! |---|---|---|---|
//! | what the server knows of a client between requests | nothing | its session | its session |
//! | a session ends | | with the client's `DELETE`; after 30 min without anything open; when there are 1,000 and another begins, the one that is idle for longest; with the server | with its stream |
//! | a client that closes the connection of a call | has cancelled it: the handler's [token](crate::Context::cancel_token) fires | has cancelled nothing, and may come back for the rest | has ended its session, with all that is open |
//! | notices of [changes](crate::guide::changes) | on the stream that answers `subscriptions/listen` | on the stream of the `GET`; the last 64 wait for it | on the stream |
//! | what a handler [asks](crate::guide::asking) | ends the call, which the client makes again | goes over the stream of the call | goes over the stream |
//!
//! # Streams that broke off
//!
//! A Legacy client that lost its stream asks for the rest of it, by the id of the last event it has seen. Until the first event of a
//! stream there is nothing to ask with: then the answer is lost, and the handler works on all the same. A [`MemoryEvents`] keeps what is
//! sent on such streams for five minutes, within [limits](crate::guide::limits);
//! [`events`](crate::http::HttpServerBuilder::events) takes an [`EventStore`] of your own,
//! [`without_events`](crate::http::HttpServerBuilder::without_events) keeps nothing. A long call need not hold a connection open:
//! [`Context::send_away`](crate::Context::send_away) has a client of 2025-11-25 come back later for the answer.
//!
//! Streams of 2026-07-28 cannot be continued, as that revision has nothing for it. What takes long is a [task](crate::guide::tasks) there.
//!
//! # Who may come in
//!
//! **Whoever can connect can call every tool**, unless a guard says otherwise. It sees the head of each request before the body is read,
//! and says who makes it:
//!
//! ```
//! # #[cfg(feature = "http")] {
//! use tinymcp::context::Principal;
//! use tinymcp::http::{Denied, HttpServer, HttpTransport};
//! use tinymcp::{Client, Context, Server, ToolRegistry, tool};
//!
//! let tools = ToolRegistry::new().with(tool! {
//!     fn whoami(cx: &Context) -> String { cx.principal().map_or("nobody", |who| who.id()).to_owned() }
//! })?;
//! let server = Server::builder("greeter", "1.0.0").tools(tools).build()?;
//! let http = HttpServer::builder(&server)
//!     .guard(|request| match request.header("authorization") {
//!         Some("Bearer opensesame") => Ok(Principal::new("alice").with("team", "blue")),
//!         Some(_) => Err(Denied::unauthorized("the token is unknown or too old")),
//!         None => Err(Denied::unauthorized("a token is needed")),
//!     })
//!     .bind("127.0.0.1:0")?;
//! let url = http.url();
//! std::thread::spawn(move || http.serve());
//!
//! let transport = HttpTransport::new(&url)?.header("Authorization", "Bearer opensesame")?;
//! let client = Client::builder().open(transport)?;
//! assert_eq!(client.call_tool("whoami", ())?.text_content(), "alice");
//! assert!(Client::connect_http(&url)?.call_tool("whoami", ()).is_err());
//! # server.handle().stop();
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - Handlers see a [`Principal`](crate::context::Principal) as [`Context::principal`](crate::Context::principal). Sessions, tasks and the
//!   state of calls belong to the principal with the same id: to anybody else they do not exist. Lists are the same for everybody, so what
//!   only some may do is refused by the handler.
//! - The guard is asked for every request, several at once. Look a token up in memory, by its hash, or verify its signature: to ask another
//!   server each time would take a thread for as long. If it panics, nobody is let in.
//! - [`Denied::unauthorized`](crate::http::Denied::unauthorized) is a 401 with a challenge,
//!   [`Denied::forbidden`](crate::http::Denied::forbidden) a 403.
//!
//! # Hosts and origins
//!
//! A web page can have its own name lead to an address of this machine, and then reach what listens there (DNS rebinding). So a request is
//! refused with 403, before its body is read, if the host it names or the page it comes from is not allowed:
//!
//! | the server listens on | hosts | pages |
//! |---|---|---|
//! | a loopback address | `localhost`, `127.0.0.1` and such, and those of [`allow_host`](crate::http::HttpServerBuilder::allow_host) | of such hosts, and those of [`allow_origin`](crate::http::HttpServerBuilder::allow_origin) |
//! | any other address | all; once one is allowed by name, as above | the same |
//!
//! In a container, where a server must listen on `0.0.0.0`, name the host: `.allow_host("tools.internal")`. Programs name no page, and are
//! not concerned. A proxy that hands on its own name in `Host` is refused like any other: let it
//! pass on what it got, or use [`allow_any_host`](crate::http::HttpServerBuilder::allow_any_host). Browsers ask a server of another
//! origin for permission first (CORS), which is not answered here: a proxy can do that.
//!
//! # Calls that ask
//!
//! What a Modern call [learned in earlier rounds](crate::guide::asking#what-may-run-twice) travels with its client, sealed: the server keeps
//! nothing between rounds, and a client can neither change the state nor use it for another call. That is [`SealedStates`] with a random key,
//! unless the server has a [`state_store`](crate::server::ServerBuilder::state_store) of its own. It hides nothing from the client, and
//! has 64 KiB at most.
//!
//! With a random key the rounds of a call end with the process. Give it a key, and any process with that key goes on:
//!
//! ```no_run
//! # #[cfg(feature = "http-server")] {
//! use tinymcp::Server;
//! use tinymcp::http::SealedStates;
//!
//! let key = std::fs::read("/run/secrets/mcp-state")?; // 32 random bytes or more, and no password
//! let server = Server::builder("shop", "1.0.0").state_store(SealedStates::with_key(&key)?).build()?;
//! server.serve_http("127.0.0.1:8000")?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **To change keys** without losing a call: first have every process accept the new one beside the old
//! (`with_key(&old)?.also_accept(&new)?`), then have them seal with the new one (`with_key(&new)?.also_accept(&old)?`), and drop the old one when
//! no call waits any more, after [`input_time`](crate::server::ServerBuilder::input_time): 10 min.
//!
//! **What may run twice:** a sealed state is not used up. A client that sends the same round twice has it carried out twice, and that
//! includes what a handler does after its last question. Where that does harm, make a key in a [`step`](crate::Context::step), which is the same in both
//! runs, and let whatever does the work refuse to do it again under the same key:
//!
//! ```
//! use tinymcp::protocol::{ElicitParams, RequestedSchema};
//! use tinymcp::{Context, ToolError};
//!
//! fn buy(cx: &Context) -> Result<String, ToolError> {
//!     let order = cx.step("order", || Ok::<_, ToolError>(new_order_number()))?;
//!     if !cx.elicit("pay", ElicitParams::form("Pay?", RequestedSchema::new()))?.is_accepted() {
//!         return Ok("not bought".into());
//!     }
//!     charge(order)?; // twice with the same number is once
//!     Ok(format!("order {order} is paid"))
//! }
//! # fn new_order_number() -> u64 { 1 }
//! # fn charge(_: u64) -> Result<(), ToolError> { Ok(()) }
//! # let _ = buy;
//! ```
//!
//! # Arguments in headers
//!
//! A Modern request says in headers what it is about (`Mcp-Method`, `Mcp-Name`), and an argument that a tool's schema marks with `x-mcp-header` travels
//! in a header as well, so that a proxy can choose by it without reading bodies. The server compares them all with the body and refuses
//! what differs, with -32020; a header is never taken for the argument itself.
//!
//! ```
//! use serde_json::json;
//! use tinymcp::{Context, FnTool};
//!
//! let schema = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
//! let query = FnTool::new("query", "Query the data of a region", schema, |_, _: &Context| {
//!     Ok::<_, tinymcp::ToolError>("12 rows") // a call for Berlin comes with `Mcp-Param-Region: Berlin`
//! });
//! # let _ = query;
//! ```
//!
//! # Limits
//!
//! Every size, number and time has a limit, in [one table](crate::guide::limits). Those worth a thought:
//! [`max_threads`](crate::server::ServerBuilder::max_threads) is how many requests are served at once, over **all** clients (64), and
//! [`max_open_requests`](crate::server::ServerBuilder::max_open_requests) how many more wait for that (1,024);
//! [`max_connections`](crate::http::HttpServerBuilder::max_connections), [`max_sessions`](crate::http::HttpServerBuilder::max_sessions) and
//! [`max_frame_bytes`](crate::server::ServerBuilder::max_frame_bytes), which is the largest body. What is beyond them is said by a status:
//!
//! | status | what is wrong |
//! |---|---|
//! | 400 | it cannot be read; its headers and its body differ (-32020); the revision is not served (-32022); there is no session |
//! | 401, 403 | the guard; 403 also the host or the page |
//! | 404 | a path that is not served; a session that has ended; for a Modern client, a method that is unknown (-32601) |
//! | 405, 406, 415, 417, 501, 505 | a kind of request that is not served here |
//! | 408 | head or body took too long |
//! | 413, 431 | body or head are too large |
//! | 500 | the guard panicked, or nobody answered: a bug |
//! | 503 | there is no room: for a connection, a session, or another request that waits |
//!
//! An error of the work itself comes with 200, as any answer does. So does every error in a Legacy session, as far as its request was
//! understood.
//!
//! # Threads and memory
//!
//! A request takes a thread while it is served, and its connection only memory otherwise: an open stream, or a connection that waits for its
//! next request, costs no thread. A handler that waits for its client's answer lends its place to another request. Nothing that one client does
//! or leaves undone holds up another.
//!
//! Measured on Linux with `examples/echo_http`: 10,000 open `subscriptions/listen` take 0.95 KiB each, 10,000 idle connections 0.35 KiB each, and the
//! server has 4 threads when all is quiet. What the operating system keeps for sockets comes on top; it also limits
//! [open files](crate::guide::operating#numbers-of-the-operating-system).
//!
//! # Stopping
//!
//! [`ServerHandle::stop`](crate::ServerHandle::stop), or the [token](crate::http::HttpServer::stop_token), from any thread, ends [`serve`](crate::http::HttpServer::serve) in good order: streams that
//! would never end are ended, so that clients know; then nothing more is accepted, and what is being served is finished, for up to
//! [`grace`](crate::server::ServerBuilder::grace) (5 s); then connections are closed and sessions forgotten. Rust's std knows nothing of signals: a process that gets SIGTERM ends at once, unless the
//! program has a handler that calls `stop`, for example one of the crate `signal-hook`.
//!
//! # Servers that speak over stdio
//!
//! A server of any kind that is started as a program can be served over HTTP as it is ([`HttpServer::relay`]); `examples/bridge_to_http` is
//! that as a program:
//!
//! ```no_run
//! # #[cfg(feature = "http-server")] {
//! use tinymcp::http::HttpServer;
//! use tinymcp::transport::ChildProcess;
//!
//! let http = HttpServer::relay(|| ChildProcess::new("python3").arg("server.py")).bind("127.0.0.1:8000")?;
//! http.serve()?;
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! Messages pass unchanged. Each Legacy client has a server of its own for as long as its session lasts, 32 at most; Modern clients
//! share one, which must not keep for one what no other may see. The other way round, a server over HTTP for clients that can only start
//! programs, is `examples/bridge_to_stdio`.
//!
//! # What is not here
//!
//! | | why | instead |
//! |---|---|---|
//! | TLS, mutual TLS | keys, renewal and ciphers are a proxy's trade, and one stands before most servers anyhow | [a proxy](crate::guide::operating#tls) |
//! | OAuth | not written yet | a guard that checks tokens which somebody else gives out |
//! | HTTP/2, HTTP/3 | a stream per call gains little by them, and they would be most of the code | a proxy speaks them with clients, and HTTP/1.1 with the server |
//! | compression | a compressor holds events back | a proxy, for answers that are no streams |
//! | WebSocket | the protocol has no binding for it, so no two programs would agree | [`Stream`](crate::transport::Stream) takes any stream of bytes that both sides have |
//! | a part of another HTTP server | they are asynchronous, or give each connection a thread | a proxy that routes by path |
//!
//! [`HttpServer`]: crate::http::HttpServer
//! [`HttpServer::relay`]: crate::http::HttpServer::relay
//! [`MemoryEvents`]: crate::http::MemoryEvents
//! [`EventStore`]: crate::http::EventStore
//! [`SealedStates`]: crate::http::SealedStates
