//! Which addresses a URL may lead to, and which it does.
//!
//! **Invariant:** a name is looked up once; what was checked is what is connected to.

mod checked;
mod error;
mod network;
mod policy;
mod resolve;
mod special;

pub use self::checked::CheckedUrl;
pub use self::error::UrlError;
pub use self::network::Network;
pub use self::policy::UrlPolicy;
pub use self::resolve::Resolve;
pub use self::special::special_use;
