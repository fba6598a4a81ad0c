//! Latency and throughput of calls.

fn main() {}
