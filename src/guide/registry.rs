//! Finding servers: what others have published in a registry, and how it becomes a configuration entry.
//!
//! With the features `http-client` and `host`, [`ServerRegistry`] asks the official registry of MCP servers (which needs `tls`), or any
//! other that has its API:
//!
//! ```no_run
//! # #[cfg(all(feature = "host", feature = "http-client"))] {
//! use tinymcp::http::registry::{Query, ServerRegistry};
//!
//! let registry = ServerRegistry::official()?;
//! let found = registry.search("weather")?; // the latest version of each
//! for server in &found.servers {
//!     println!("{} {}: {}", server.name, server.version, server.description.as_deref().unwrap_or("-"));
//! }
//! for broken in &found.broken {
//!     eprintln!("cannot be read: {}", broken.problem);
//! }
//!
//! // Page by page, all versions, what has changed since:
//! for page in registry.pages(Query::new().with_updated_since("2026-01-01T00:00:00Z").with_limit(100)) {
//!     println!("{} more", page?.servers.len());
//! }
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! [`server`] is the latest version of one, [`server_version`] a certain one, [`versions`] all of them. Questions are requests of HTTP that
//! may take [30 s](crate::http::registry::ServerRegistry::answer_time) each; redirects are followed within the origin. Nothing is kept: a
//! program that shows the list often keeps it itself. A registry of one's own may want a token: [`over`] takes a transport with headers.
//!
//! # From a listing to an entry
//!
//! A listing has packages, which are started on this machine, and remotes, which run already. [`setup`] takes the first that can be used,
//! packages before remotes; [`setups`] shows all of them, for the user to choose.
//!
//! ```
//! # #[cfg(all(feature = "host", feature = "http-client"))] {
//! use tinymcp::host::config::{Config, Resolver};
//! use tinymcp::http::registry::{Listing, SetupOptions};
//! use tinymcp::json::{FromJson, Json};
//!
//! # let answer = Json::parse(r#"{"server": {"name": "io.github.ann/weather", "version": "1.4.0", "packages": [{
//! #     "registryType": "npm", "identifier": "@ann/weather", "version": "1.4.0", "transport": {"type": "stdio"},
//! #     "packageArguments": [{"type": "named", "name": "--units", "default": "metric"}],
//! #     "environmentVariables": [{"name": "API_KEY", "isRequired": true, "isSecret": true}, {"name": "PROXY"}]
//! # }]}}"#)?;
//! let listing = Listing::from_json(answer.as_raw())?; // or registry.server("io.github.ann/weather")?
//! let setup = listing.setup(&SetupOptions::new())?;
//! assert_eq!(
//!     setup.entry.canonical(),
//!     r#"{"args":["-y","@ann/weather@1.4.0","--units=metric"],"command":"npx","env":{"API_KEY":"${input:weather.API_KEY}"}}"#
//! );
//! assert_eq!(setup.inputs[0].id, "weather.API_KEY"); // what the user must give
//! assert_eq!(setup.optional[0].id, "weather.PROXY"); // what the user can give
//!
//! // With other values than the published ones; a secret is only named.
//! let options = SetupOptions::new().with_value("units", "imperial").with_value("API_KEY", "${env:WEATHER_KEY}");
//! let setup = listing.setup(&options)?;
//!
//! // Into the user's file, or straight to a host.
//! let mut config = Config::new();
//! config.inputs.extend(setup.inputs);
//! config.servers.push(setup.entry);
//! let resolver = Resolver::of(&config);
//! # let _ = resolver;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | what is published | what the entry has |
//! |---|---|
//! | a package of `npm`, `pypi`, `nuget`, or an image (`oci`) | `npx`, `uvx`, `dnx`, `docker run`, or what is [hinted at](crate::http::registry::Listing::setup_package), with the version pinned |
//! | a bundle (`mcpb`), a crate, a package that listens at an address | an error that says what is to be done by hand |
//! | a fixed value, a default | that text |
//! | a value that is required, or a part of a text | `${input:server.NAME}`, and an [`Input`] |
//! | a secret | the same, as a password; [`with_secrets_from_environment`] makes `${env:NAME}` of it |
//! | a value that nobody needs | nothing; it is among the [optional](crate::http::registry::Setup::optional) ones |
//! | `--flag` and its value | `--flag=value`; a short flag and its value are two arguments |
//! | a flag without a value, such as `--rm` | nothing, unless it is known to have none, or its value is empty |
//!
//! # Whom to trust
//!
//! A registry checks who owns a name. It does not check what a server does: starting one gives its publisher all that the user may do.
//!
//! - An entry is only text. Whoever starts it asks the user first, as for [every configuration](crate::guide::consent); show the
//!   [cautions](crate::http::registry::Setup::cautions) too: a deprecated server, a container that is opened, arguments for what starts it.
//! - No published text takes anything of this machine: one with `${` in it is never put in, and the user is asked for that value.
//!   Inputs carry the entry's name, so that two servers that want an `API_KEY` do not get the same.
//! - Names and versions are checked before they are arguments: no flag, folder or range is taken for a package. What the package itself
//!   loads is not pinned. A digest of an image is; other digests are not compared, which is a caution.
//! - A deleted server is an error, unless it is [asked for](crate::http::registry::SetupOptions::with_deleted).
//! - Something that cannot be read hides nothing else: a server is then in [`broken`](crate::http::registry::Page::broken), a package in
//!   [`unread`](crate::http::registry::Listing::unread). Texts for people have control characters written out.
//!
//! [`Input`]: crate::host::config::Input
//! [`ServerRegistry`]: crate::http::registry::ServerRegistry
//! [`over`]: crate::http::registry::ServerRegistry::over
//! [`server`]: crate::http::registry::ServerRegistry::server
//! [`server_version`]: crate::http::registry::ServerRegistry::server_version
//! [`setup`]: crate::http::registry::Listing::setup
//! [`setups`]: crate::http::registry::Listing::setups
//! [`versions`]: crate::http::registry::ServerRegistry::versions
//! [`with_secrets_from_environment`]: crate::http::registry::SetupOptions::with_secrets_from_environment
