//! The host: many servers, one registry, under the user's control.
//!
//! An agent rarely has one server. A [`Host`](crate::host::Host), with the feature `host`, starts many, keeps one
//! [`ToolRegistry`](crate::ToolRegistry) of all their tools, decides with the user what may be done, writes down what was, and goes on when
//! one of them fails.
//!
//! ```no_run
//! # #[cfg(feature = "host")] {
//! use std::time::Duration;
//! use tinymcp::host::config::{Config, ServerEntry};
//! use tinymcp::host::consent::Rules;
//! use tinymcp::host::Host;
//!
//! let host = Host::builder()
//!     .config(&Config::read(".mcp.json").map_err(|e| tinymcp::Error::InvalidUse(e.to_string()))?)
//!     .server(ServerEntry::command("notes", "python3", ["notes_server.py"]))
//!     .policy(Rules::new().trust("notes").deny("*", "delete_*"))
//!     .start()?;
//! host.wait_first(Duration::from_secs(10));
//! for tool in host.tools().definitions() {
//!     println!("{}: {}", tool.name, tool.description.unwrap_or_default());
//! }
//! let found = host.call_tool("notes__search_notes", serde_json::json!({"query": "plan"}))?;
//! println!("{}", found.text_content());
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! # Starting
//!
//! [`start`](crate::host::HostBuilder::start) returns at once. Servers start side by side,
//! [eight](crate::host::HostBuilder::max_starting) at a time, and each has [30 s](crate::host::HostBuilder::start_time) to settle the
//! protocol and list its tools. The host can be used as soon as the first is ready; one that fails says why, in its
//! [state](crate::host::HostHandle::servers), and hides no other. [`watch`](crate::host::HostHandle::watch) is an iterator of
//! everything that happens.
//!
//! At run time servers are [added](crate::host::HostHandle::add), [removed](crate::host::HostHandle::remove) and
//! [restarted](crate::host::HostHandle::restart). A server that is another one, or of another version, after a restart is reported, and so are
//! tools that are described in another way than before. Whoever removes a server, or closes the host, returns when its process is gone, also
//! if it was just being started; until then its name is not free.
//!
//! A server that says that its tools have changed is listed again, one that says so all the time at growing distances. If the list cannot be
//! had, the last one stays, and an event tells why.
//!
//! # Names
//!
//! A tool is called `server__tool`, whatever other servers have, so that none can take the place of another's: letters, digits, `_` and `-`,
//! at most 64 of them, as models' interfaces want it. Other characters become `_`; a longer name is cut and ends in a number made of the
//! whole. Names depend on the two names alone, and never change while the host runs. If two come to the same, the second is not offered, and
//! an event names both.
//!
//! Resources and prompts keep the addresses that their servers gave them, and are found by the server's name and that:
//!
//! ```no_run
//! # #[cfg(feature = "host")] {
//! use tinymcp::client::{Address, CallOptions, Caller};
//!
//! # fn plan(host: &tinymcp::host::Host) -> tinymcp::Result<String> {
//! let read = host.read_resource(Address::of("notes", "notes://plan"), &CallOptions::default())?;
//! # Ok(read.text_content()) }
//! # }
//! ```
//!
//! # Who may do what
//!
//! Nothing is called that the [policy](super::consent) does not allow: by a rule, by what a trusted server says of its tool, or by asking the
//! user. Without anybody to ask, what would be asked is denied, with an error that says so. Servers of a configuration file are started once
//! the user has agreed to what they run. What servers ask, sampling and elicitation, passes the same gate.
//!
//! What is asked about is what is called: if a tool is described in another way by the time there is an answer, or after its server was
//! started again, the user is asked once more, and after three times the call is denied.
//!
//! What comes back is made harmless before a model sees it, and everything is written down: see [audit](super::audit). Servers that are
//! started can be [contained](super::containment).
//!
//! # When servers fail
//!
//! A server that ends is started again by the next call, or at once, as [`restart`](crate::host::HostBuilder::restart) says. A call that did
//! not get through is made again where that does no harm; one that may have been carried out is
//! [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown), never made twice in silence.
//!
//! What a server was given by the configuration, a variable, an answer of the user, a secret, is hidden where the server repeats it: in errors,
//! in events, in the end of its stderr that comes with them.
//!
//! # One of many callers
//!
//! A host is a [`Caller`](crate::client::Caller), as a client is, and a pool. What is written for one works with any:
//! [function calling](super::functions), recorders, environments.
