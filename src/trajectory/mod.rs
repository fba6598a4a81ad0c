//! Record, replay, training examples, environments.
