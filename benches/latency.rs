//! Latency and throughput beside the physical floor.
fn main() {}
