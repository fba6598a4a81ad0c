//! Caching: not asking again for what cannot have changed.
//!
//! Since 2026-07-28 a server says how long a list or a resource may be used again, and a client keeps it that long. On the server that is
//! one line; on the client it happens by itself.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//! use std::time::Duration;
//! use tinymcp::client::CallOptions;
//! use tinymcp::protocol::{CacheScope, Resource};
//! use tinymcp::{FnResource, ResourceRegistry, Server, testing};
//!
//! let reads = Arc::new(AtomicUsize::new(0));
//! let counted = reads.clone();
//! let weather = FnResource::new(Resource::new("weather://today", "weather"), move |_cx| {
//!     counted.fetch_add(1, SeqCst);
//!     "sunny"
//! })
//! .cache(Duration::from_secs(600), CacheScope::Public);
//! let server = Server::builder("weather", "1.0.0")
//!     .resources(ResourceRegistry::new().with(weather)?)
//!     .cache(Duration::from_secs(60), CacheScope::Public) // the lists
//!     .build()?;
//! let client = testing::pair(&server)?;
//!
//! client.read_resource("weather://today")?;
//! client.read_resource("weather://today")?;
//! assert_eq!(reads.load(SeqCst), 1);
//! client.read_resource_with("weather://today", &CallOptions::default().with_fresh())?; // really ask
//! assert_eq!(reads.load(SeqCst), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rules
//!
//! - Kept are pages of lists, resources that were read, and what the server says of itself; never the result of a tool or a prompt.
//! - Nothing is kept for which the server gives no time. A server of this crate gives none by default.
//! - What a server says has [changed](crate::guide::changes) is forgotten at once.
//! - What the server asked the user for before it answered is not kept.
//! - The cache belongs to one connection and one client. [`CacheScope`](crate::protocol::CacheScope) is for caches in between: `Private`, the
//!   default, must not be given to anybody else. It is for programs that know the protocol: over HTTP everything is a `POST`, which proxies keep nothing of.
//! - At most 256 results and 16 MiB are kept. [`no_cache`](crate::client::ClientBuilder::no_cache) keeps none.
