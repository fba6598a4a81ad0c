//! The audit log: what was done on behalf of the user.
