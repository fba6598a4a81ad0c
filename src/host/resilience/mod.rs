//! Retry, restart and the circuit breaker.
