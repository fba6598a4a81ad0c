//! Several connections to the same server.
