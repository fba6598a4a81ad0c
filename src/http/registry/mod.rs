//! Registries of servers: what others have published, and how it is configured.
//!
//! ```text
//!  ServerRegistry ──▶ Page { servers, broken } ──▶ Listing { packages, remotes } ──▶ Setup { entry, inputs }
//! ```
//!
//! [`ServerRegistry`] asks the official registry, or any that has the same API; [`Listing::setup`] makes a
//! [`ServerEntry`](crate::host::config::ServerEntry) of what it says. The [guide](crate::guide::registry) shows both.
//!
//! **Invariants:** what a registry says is untrusted: one server that cannot be read hides no other; nothing is started here; what is
//! published names no variable, input or secret of this machine, only what this module makes of it does; no secret's value is in an entry.

mod ask;
mod command;
mod detail;
mod error;
mod fill;
mod page;
mod query;
mod setup;

pub use ask::{Pages, ServerRegistry};
pub use detail::{Argument, Field, NamedField, Package, PackageTransport, Remote, RemoteKind};
pub use error::{RegistryError, SetupError, SetupErrorKind};
pub use page::{Broken, Listing, Page, Status};
pub use query::Query;
pub use setup::{Setup, SetupOptions};
