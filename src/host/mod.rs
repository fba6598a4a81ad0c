//! The host: many servers, one registry, under the user's control.
//!
//! ```text
//!  Config ──▶ consent to start ──▶ Sandbox ──▶ Member (a server and its client) ──▶ ToolRegistry
//!
//!  call ──▶ Policy, Consent ──▶ audit: intent ──▶ retry, breaker ──▶ Member ──▶ audit: outcome ──▶ ResultFilter ──▶ result
//! ```
//!
//! | | |
//! |---|---|
//! | [`Host`], [`HostHandle`], [`HostBuilder`] | many servers: started, used, added, removed, restarted, ended |
//! | [`HostEvents`], [`ServerState`] | what happens to them |
//! | [`config`] | configuration files, secrets |
//! | [`consent`] | policies, questions to the user, what was answered before |
//! | [`containment`] | sandboxes, limits, containers |
//! | [`audit`] | the log of everything that was done |
//! | [`filter`] | what servers send is made harmless |
//! | [`resilience`], [`pool`] | retry, restart, circuit breaker; several connections to one server |
//!
//! **Invariants:** nothing is started, called or answered that the policy has not allowed; a server that fails hides no other; no
//! lock is held while a server, the user or a disk is waited for.

mod asking;
pub mod audit;
mod builder;
mod caller;
mod catalogue;
pub mod config;
mod connector;
pub mod consent;
pub mod containment;
mod ending;
mod events;
pub mod filter;
mod gate;
mod handle;
mod inner;
mod launch;
mod listing;
mod member;
mod names;
pub mod pool;
pub mod resilience;
mod subscriptions;
mod supervisor;

pub use builder::HostBuilder;
pub use connector::{Connector, Remote};
pub use events::{HostEvent, HostEvents, ServerState};
pub use handle::{Host, HostHandle, HostReport};
pub use names::tool_name;
