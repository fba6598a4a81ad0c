//! Placeholder until written.
#![cfg(target_os = "linux")]
