//! A page of a recording.
