//! Finding servers.
