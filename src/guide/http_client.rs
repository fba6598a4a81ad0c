//! Reaching servers over HTTP: headers and tokens, proxies, TLS, times, and connections that break.
//!
//! With the feature `http-client` a [`Client`](crate::Client) takes a URL in place of a command. Everything else is as with any server:
//!
//! ```no_run
//! # #[cfg(feature = "http-client")] {
//! use tinymcp::Client;
//!
//! let client = Client::connect_http("http://localhost:8000/mcp")?;
//! println!("{}", client.call_tool("echo", serde_json::json!({"text": "hi"}))?.text_content());
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! [`HttpTransport`] has what can be set:
//!
//! ```no_run
//! # #[cfg(feature = "http-client")] {
//! use std::time::Duration;
//! use tinymcp::Client;
//! use tinymcp::http::HttpTransport;
//!
//! let transport = HttpTransport::new("http://tools.internal:8000/mcp")?
//!     .header("X-Team", "blue")?
//!     .connect_timeout(Duration::from_secs(3))
//!     .max_calls(16);
//! let client = Client::builder().name("my-agent", "1.2.0").open(transport)?;
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! Nothing is sent when a client is opened. That a server is not there is the error of the first call, or of
//! [`initialize`](crate::ClientHandle::initialize).
//!
//! # Which era
//!
//! The client asks `server/discover` and takes what comes of it:
//!
//! | the server | then |
//! |---|---|
//! | answers, or names the revisions it has | they speak a revision of both |
//! | says anything else, with whatever status, or nothing for [5 s](crate::client::Timeouts::probe) | the handshake: `initialize` |
//! | refuses `initialize` with 400, 404 or 405 | HTTP+SSE of 2024-11-05, if a `GET` at the same address opens such a stream |
//! | is not there, has no time (429, 503) or wants credentials (401, 403) | the error |
//!
//! That is one request more for older servers, once for each client. Who knows its server saves it:
//! `Client::builder().versions([ProtocolVersion::V2025_11_25])`.
//!
//! # Headers and tokens
//!
//! [`header`](crate::http::HttpTransport::header) is for what stays, [`headers_with`](crate::http::HttpTransport::headers_with) for what
//! changes. Its callback is asked before each request of HTTP, on the thread that sends it, and is told what the request is for. It may
//! take its time, for example to fetch a new token; its error is that request's, and nothing is sent.
//!
//! ```no_run
//! # #[cfg(feature = "http-client")] {
//! use std::sync::Mutex;
//! use std::time::{Duration, Instant};
//! use tinymcp::Client;
//! use tinymcp::http::HttpTransport;
//!
//! let kept = Mutex::new(None::<(String, Instant)>);
//! let transport = HttpTransport::new("http://tools.internal:8000/mcp")?.headers_with(move |_request| {
//!     let mut kept = kept.lock().map_err(|e| e.to_string())?;
//!     let is_fresh = |(_, since): &(String, Instant)| since.elapsed() < Duration::from_secs(3000);
//!     if !kept.as_ref().is_some_and(is_fresh) {
//!         *kept = Some((new_token()?, Instant::now()));
//!     }
//!     let token = kept.as_ref().map_or("", |(token, _)| token);
//!     Ok(vec![("Authorization".to_owned(), format!("Bearer {token}"))])
//! });
//! let client = Client::builder().open(transport)?;
//! # fn new_token() -> Result<String, String> { Ok("t".into()) }
//! # let _ = client;
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! A server that wants other credentials is [`Error::Rejected`](crate::Error::Rejected) with status 401 or 403; one that says so in the words of
//! the protocol, as a guard of this crate does, is an error of the handshake ([`Error::Refused`](crate::Error::Refused)) or of the call
//! ([`Error::Peer`](crate::Error::Peer)). Values of headers are in no message, no log and no `Debug`. There is no OAuth yet: where a token comes from is the program's business.
//!
//! # Proxies, TLS, redirects
//!
//! - **Proxies** are those that `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY` name, except for what `NO_PROXY` excepts;
//!   [`proxy`](crate::http::HttpTransport::proxy) names one, or none. They are asked to connect through (`CONNECT`). This machine
//!   is never reached through one.
//! - **TLS** needs the feature `tls`, which brings rustls: certificates are checked by the roots that Mozilla trusts, or by
//!   [those you give](crate::http::HttpTransport::root_certificates). Without the feature a URL of `https` is an error that says so. There are no client certificates: a
//!   local proxy can present one.
//! - **Redirects** are followed up to five times within the origin (scheme, host and port), with method and body. One to another origin is an
//!   error: headers with credentials would go there.
//! - **Compression** is not asked for, as it holds events back, and **HTTP/2** is not spoken.
//!
//! # Times
//!
//! | time | default | set by |
//! |---|---|---|
//! | looking the host up, and then connecting | 10 s each | [`connect_timeout`](crate::http::HttpTransport::connect_timeout) |
//! | a call, from the moment it is made, all of this and every try included | 60 s | [`Timeouts`](crate::client::Timeouts), [`CallOptions`](crate::client::CallOptions) |
//! | a stream that stays open and brings nothing, not even a comment | 5 min | [`read_timeout`](crate::http::HttpTransport::read_timeout) |
//!
//! **Cancelling** a call, or its timeout, closes the connection of a Modern call, which is the cancellation; a Legacy server is told by
//! a notification. Either way the caller goes on at once.
//!
//! # Connections that break
//!
//! Each request is carried by itself: one may fail while others go on, and the client as a whole is never broken. What happened says
//! what may be done:
//!
//! | what happened | so the request |
//! |---|---|
//! | nobody listens, the host is unknown, the server took none or only a part of it | was not sent |
//! | it was sent, and then the connection broke, or the stream ended too early, or what came is no answer; a status of 500 or more | **may have been carried out** |
//! | a status from 300 to 499, or 503 with a `Retry-After` | was refused |
//! | an error in the words of the protocol, whatever the status | was answered |
//! | 404 in a session (Legacy) | was not begun: the server has forgotten the session |
//!
//! What was not begun is sent again. What may have been carried out is sent again only if that does no harm: listing, reading, filling in
//! prompts, completing, looking at tasks, and tools whose server says of them that they are `readOnlyHint` or `idempotentHint`. **Any other call is
//! never sent again by itself**: it is [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown), and its caller decides. [Errors](crate::guide::errors#calls-that-fail-by-themselves)
//! has the whole table. The rounds of a call that asks are such calls, too.
//!
//! The stream of a Legacy call that broke off is not sent again but continued, after the last event that has an id, as the
//! [server](crate::guide::http#streams-that-broke-off) keeps what it sent.
//!
//! So a server can be restarted while its clients stay. Here a session is forgotten with the server that had it, and the client makes
//! another one without a word:
//!
//! ```
//! # #[cfg(feature = "http")] {
//! use std::net::SocketAddr;
//! use tinymcp::http::HttpServer;
//! use tinymcp::{Client, ProtocolVersion, Server, ToolRegistry, tool};
//!
//! /// Where it serves, and what stops it.
//! fn start(address: SocketAddr) -> Result<(SocketAddr, impl FnOnce()), Box<dyn std::error::Error>> {
//!     let tools = ToolRegistry::new().with(tool! { fn ready() -> &'static str { "yes" } })?;
//!     let server = Server::builder("s", "1.0.0").tools(tools).build()?;
//!     let http = HttpServer::builder(&server).bind(address)?;
//!     let (address, handle) = (http.address(), server.handle());
//!     let serving = std::thread::spawn(move || http.serve());
//!     let stop = move || {
//!         handle.stop();
//!         serving.join().expect("no panic").expect("served");
//!     };
//!     Ok((address, stop))
//! }
//!
//! let (address, stop) = start(([127, 0, 0, 1], 0).into())?;
//! let legacy = Client::builder().versions([ProtocolVersion::V2025_11_25]);
//! let client = legacy.connect_http(&format!("http://{address}/mcp"))?;
//! assert_eq!(client.call_tool("ready", ())?.text_content(), "yes");
//!
//! stop();
//! let (_, stop) = start(address)?;
//! assert_eq!(client.call_tool("ready", ())?.text_content(), "yes");
//! stop();
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a new session is told again by itself: the log level, the subscriptions to resources, and everything that a stream of
//! [changes](crate::guide::changes) asked for. What belonged to the old session, such as its tasks, is gone.
//!
//! # Streams
//!
//! A Modern client opens a stream for each [`listen`](crate::ClientHandle::listen), and for its callbacks one more. A Legacy one opens the stream of its session
//! after the handshake; a server that has none answers 405 and is not asked again. Those that break off are opened again: a stream of changes for as long as
//! anybody listens, that of a session and that of a Legacy call [five times](crate::http::HttpTransport::stream_tries) in a row without success. What a Legacy server sent meanwhile
//! is asked for by the id of the last event.
//!
//! # Threads
//!
//! Each call that is under way has a thread that sends it and reads its answer, up to [64](crate::http::HttpTransport::max_calls); further calls wait. A stream that stays open
//! has one as well. [All of them](crate::guide::threads#the-threads) end after 10 s without work, and with the client. Connections are kept for the next request,
//! eight at most and for 30 s.
//!
//! # The end
//!
//! [`close`](crate::Client::close) ends what is open, and tells a Legacy server by `DELETE` that the session is over.
//! [`reconnect`](crate::ClientHandle::reconnect) begins anew, with another session.
//!
//! [`HttpTransport`]: crate::http::HttpTransport
