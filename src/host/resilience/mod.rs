//! Retry, restart and the circuit breaker.
//!
//! | | |
//! |---|---|
//! | [`resilient_tool_call`] | one call of a tool, with all of it but the breaker |
//! | [`Resilient`] | a [`Caller`](crate::client::Caller) whose calls get through if they can |
//! | [`Retry`] | how often something is tried, and the pauses in between |
//! | [`RestartPolicy`], [`Restart`], [`RestartEvent`] | when a server is started again, and what is told of it |
//! | [`Breaker`], [`BreakerOptions`] | leaving a server alone that fails again and again |
//!
//! **Invariants:** no call is carried out twice unless its method, its tool or its caller says that this does no harm; one time
//! runs over all that is done for a call; no lock is held while a server is waited for.

mod attempts;
mod breaker;
mod policy;
mod resilient;
mod restart;
mod retry;
pub(crate) mod route;
mod standing;

pub(crate) use attempts::{Attempts, Times, check_cancelled};
pub use breaker::{Breaker, BreakerOptions, BreakerState, Permit, Tripped};
pub use policy::{Restart, RestartEvent, RestartPolicy};
pub use resilient::{Resilient, ResilientBuilder, resilient_tool_call};
pub(crate) use restart::Restarter;
pub use retry::{Pauses, Retry};
pub(crate) use standing::{Standing, honest};
