//! [`UrlError`]: why a URL is not to be fetched.

use std::io;
use std::net::IpAddr;

/// Why a URL was refused, or its host not found.
///
/// The text names the URL without its query and the kind of address, but not the address that a name has: that is for the program
/// alone, by [`address`](Self::address). With `?` it becomes a [`ToolError`](crate::ToolError).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// It is no address that can be used.
    #[error("bad URL: {0}")]
    Bad(String),
    /// The policy refuses it.
    #[error("{url}: {problem}")]
    #[non_exhaustive]
    Refused {
        /// Without its query.
        url: String,
        /// What is refused.
        problem: String,
        /// The address on account of which it is.
        address: Option<IpAddr>,
    },
    /// Its host has no address, or nobody could say in time. It may work later.
    #[error("{url}: {problem}")]
    #[non_exhaustive]
    NotFound {
        /// Without its query.
        url: String,
        /// What went wrong.
        problem: String,
        /// What the resolver said.
        source: Option<io::Error>,
    },
}

impl UrlError {
    /// The address on account of which the URL is refused; for logs of the program.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Refused { address, .. } => *address,
            _ => None,
        }
    }
}
