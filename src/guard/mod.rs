//! For server authors: what must not be reached through arguments.
