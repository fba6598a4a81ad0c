//! Operating servers: behind a proxy, as several replicas, with TLS, and for how many clients.
//!
//! A server over [HTTP](crate::guide::http) needs nothing around it on a machine of its own. For others to reach it, put a proxy in front: it
//! speaks TLS and HTTP/2, keeps certificates, balances, and limits who comes how often. This page says what the proxy must know, with nginx as
//! the example. The two configurations at its end are those that the tests run.
//!
//! # Behind a proxy
//!
//! | what | nginx | why |
//! |---|---|---|
//! | events pass at once | nothing: the server says `X-Accel-Buffering: no` with each stream. Elsewhere: no buffering, and no compression of `text/event-stream` | progress and questions would arrive with the answer |
//! | a silent upstream is left alone | `proxy_read_timeout 1h` | a call that answers as a whole says **nothing** until then, and nginx gives up after 60 s: the client gets a 504, and a Modern handler is cancelled. Open streams carry a comment every [15 s](crate::http::HttpServerBuilder::keep_alive), so they need less |
//! | no request is given to a second server | `proxy_next_upstream error timeout`, and never `non_idempotent` | a call could be carried out twice. So nginx passes on only what no server has got |
//! | connections to the server are kept | `proxy_http_version 1.1`, an empty `Connection`, `keepalive` | otherwise each request makes one |
//! | and given up before the server does so | `keepalive_timeout 50s` in the `upstream`, or a longer [`idle_time`](crate::http::HttpServerBuilder::idle_time) (60 s) | a request that meets a connection just closed is a 502, of which nobody knows whether it was carried out |
//! | the server hears the name that clients use | `proxy_set_header Host $host`, and [`allow_host`](crate::http::HttpServerBuilder::allow_host) | a server on a loopback address [refuses other names](crate::guide::http#hosts-and-origins) |
//! | bodies fit | `client_max_body_size 16m` | nginx takes 1 MiB, the server [16 MiB](crate::server::ServerBuilder::max_frame_bytes) |
//! | a client that leaves is noticed | nothing: not `proxy_ignore_client_abort` | for a Modern call it is the cancellation |
//!
//! Bind the server to a loopback address, or to one that only the proxy reaches: whoever goes around the proxy goes around everything it checks.
//! [`Head::peer`](crate::http::Head::peer) is the proxy then. A guard that wants the client's address reads a header that the proxy sets in every request,
//! in place of whatever came in.
//!
//! A proxy may route by `Mcp-Method`, `Mcp-Name` and [arguments in headers](crate::guide::http#arguments-in-headers), which the server
//! compares with the body. It must not add or change them.
//!
//! # Several replicas
//!
//! | | Modern | Legacy |
//! |---|---|---|
//! | which replica serves a request | any: round robin | the one that has the session |
//! | what they share | the key that [seals the state of calls](crate::guide::http#calls-that-ask), and clocks that agree to a second | nothing |
//! | what the proxy does | nothing more | chooses by the beginning of the session's id, which it has given itself: [`session_prefix_from`](crate::http::HttpServerBuilder::session_prefix_from) |
//! | a replica ends | calls that it was serving are lost to their callers; the next one goes elsewhere | its sessions are gone with it, and clients make new ones |
//! | notices of changes | come from the replica that has the stream | likewise |
//! | [tasks](crate::guide::tasks) | are in the memory of one replica: others do not know them | are in their session's |
//!
//! Both configurations [below](#nginx-for-2026-07-28) seal states with a shared key. The second serves both eras: a Modern request names no session, and goes to
//! any replica.
//!
//! So with replicas: tell every one of them of a change, for example by a queue that they all read, and offer tasks only where clients stay at one
//! replica. Replicas that share a key must serve the same tools: a handler may begin in one and go on in another.
//!
//! Clients of 2024-11-05 name their session in the address (`/messages?sessionId=…`) and not in a header: choose by that, or have one replica for
//! them, or [none](crate::http::HttpServerBuilder::sse_paths).
//!
//! **Restarting** one replica after the other loses nothing that was not being served: let a process have its
//! [grace](crate::guide::http#stopping) when it is told to stop, and start the next one when it answers. What clients see then is
//! [told there](crate::guide::http_client#connections-that-break).
//!
//! # TLS
//!
//! The proxy ends it. For certificates of clients (mutual TLS) it checks them and hands on who it was, and a guard reads that:
//!
//! ```nginx
//! ssl_client_certificate /etc/nginx/clients.pem;
//! ssl_verify_client on;
//! proxy_set_header X-Client-Name $ssl_client_s_dn; # in every request: what a client sends under this name is replaced
//! ```
//!
//! ```no_run
//! # #[cfg(feature = "http-server")] {
//! use tinymcp::Server;
//! use tinymcp::context::Principal;
//! use tinymcp::http::{Denied, HttpServer};
//!
//! let server = Server::builder("notes", "1.0.0").build()?;
//! HttpServer::builder(&server)
//!     .allow_host("mcp.example.com")
//!     .guard(|request| match request.header("x-client-name") {
//!         Some(name) => Ok(Principal::new(name)),
//!         None => Err(Denied::unauthorized("this server is reached by its proxy alone")),
//!     })
//!     .bind("127.0.0.1:8001")?
//!     .serve()?;
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! # Numbers of the operating system
//!
//! Each connection is an open file. Linux gives a process 1,024 of them unless it is told otherwise, and a server takes up to
//! [16,384 connections](crate::http::HttpServerBuilder::max_connections): raise the limit (`ulimit -n`, `LimitNOFILE=` of systemd) above that, or lower
//! `max_connections`. When there are no more, further connections wait in the kernel, with a warning in the log.
//!
//! # The log
//!
//! Nothing is written until the program has a [logger](crate::guide::logging#the-logs-of-this-crate). Warnings are for whoever runs the server, such as
//! the one above, or requests left unfinished at the end; refused requests are debug lines. Who asked for what is for the proxy's log, or for a
//! [`Tap`](crate::server::ServerBuilder::tap), which sees every message. Headers are in no log.
//!
//! # nginx, for 2026-07-28
//!
//! ```nginx
#![doc = include_str!("../../tests/scale_out/modern.conf")]
//! ```
//!
//! # nginx, for sessions as well
//!
//! ```nginx
#![doc = include_str!("../../tests/scale_out/legacy.conf")]
//! ```
