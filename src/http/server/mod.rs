//! The server's side.

mod wire;
