//! What several test binaries share.

#[cfg(target_os = "linux")]
pub(crate) mod alone;
pub(crate) mod changing;
#[cfg(feature = "host")]
pub(crate) mod hosts;
pub(crate) mod odd;
pub(crate) mod peers;
pub(crate) mod served;
#[cfg(feature = "host")]
pub(crate) mod wayward;
