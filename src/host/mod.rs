//! The host: many servers, one registry, under the user's control.
//!
//! ```text
//!  Config ──▶ consent to start ──▶ Sandbox ──▶ Member (a server and its client) ──▶ ToolRegistry
//!
//!  call ──▶ Policy, Consent ──▶ audit: intent ──▶ retry, breaker ──▶ Member ──▶ audit: outcome ──▶ ResultFilter ──▶ result
//! ```
//!
//! **Invariants:** nothing is started, called or answered that the policy has not allowed; a server that fails hides no other; no
//! lock is held while a server, the user or a disk is waited for.

pub mod audit;
pub mod config;
pub mod consent;
pub mod containment;
pub mod filter;
pub mod pool;
pub mod resilience;

mod events;
mod names;

pub use events::{HostEvent, HostEvents, ServerState};
pub use names::tool_name;
