//! What several test binaries share.

pub(crate) mod odd;
pub(crate) mod peers;
pub(crate) mod served;
