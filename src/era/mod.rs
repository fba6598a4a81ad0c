//! Which era is this request of, and what must a message look like for its revision? Pure functions.
//!
//! Both eras can share a connection, so the question is asked of each request ([`resolve()`]) and never of the
//! connection. What differs by revision is decided here and in the method table, and nowhere else.
//!
//! **Invariant:** no I/O, no state, no threads.

mod lower;
mod lower_input;
mod negotiate;
mod resolve;
mod stamp;

pub(crate) use lower::{Lower, lowered, read_call_result};
pub(crate) use lower_input::inexpressible;
pub(crate) use negotiate::{Offered, choose, negotiate};
pub(crate) use resolve::{KeptMeta, RequestMeta, no_handshake, resolve, unsupported_version};
pub(crate) use stamp::{RequestStamp, Stamp};

#[cfg(all(test, feature = "validation"))]
#[path = "../../tests/support/schema.rs"]
pub(crate) mod schema;
#[cfg(all(test, feature = "validation"))]
mod tests;
