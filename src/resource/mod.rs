//! Resources: what a model or its user can read.
//!
//! | | |
//! |---|---|
//! | [`FnResource`] | one resource: a fixed text, fixed bytes, or a function |
//! | [`FnTemplate`] | a kind of resource, such as `notes://{title}`: a function of the variables |
//! | [`ResourceRegistry`] | many of both, found by address |
//! | [`ResourceOutput`] | what such a function may return |
//! | [`NotFound`] | how it says that there is no such resource |
//!
//! ```
//! use tinymcp::protocol::{Resource, ResourceTemplate};
//! use tinymcp::resource::NotFound;
//! use tinymcp::{Context, FnResource, FnTemplate, ResourceRegistry, Server};
//!
//! let config = Resource::new("config://app", "config").with_mime_type("application/json");
//! let capital = ResourceTemplate::new("capitals://{country}", "capital").with_mime_type("text/plain");
//! let resources = ResourceRegistry::new()
//!     .with(FnResource::text(config, r#"{"debug": true}"#))?
//!     .with_template(FnTemplate::new(capital, |variables, _| match variables.get("country") {
//!         Some("France") => Ok("Paris"),
//!         other => Err(NotFound::new(format_args!("no such country: {}", other.unwrap_or_default()))),
//!     }))?;
//! let read = resources.read("capitals://France", &Context::detached())?;
//! assert_eq!(read.contents[0].mime_type(), Some("text/plain"));
//!
//! let server = Server::builder("atlas", "1.0.0").resources(resources).build()?;
//! assert_eq!(server.resources().expect("they were given").uris(), ["config://app"]);
//! # Ok::<(), tinymcp::ToolError>(())
//! ```
//!
//! **Invariant:** knows no connection and no revision of the protocol.

mod function;
mod output;
mod registry;

pub use crate::registry::{ChangeListener, RegistryError};
pub use function::{FnResource, FnTemplate};
pub use output::{NotFound, ResourceOutput};
pub use registry::ResourceRegistry;
