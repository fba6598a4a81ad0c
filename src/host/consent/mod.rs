//! Consent: who may start, call and ask what.
