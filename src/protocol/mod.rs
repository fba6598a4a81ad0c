//! The wire types of every revision, a file a feature.
//!
//! One type serves all revisions: it is the newest form, and the `era` room takes out what an older
//! revision lacks.
//!
//! **Invariant:** no I/O and no policy.
