//! [`Head`]: what a request says before its body.

use std::net::SocketAddr;

/// What a request says before its body.
#[derive(Clone)]
pub struct Head {
    pub(super) method: String,
    /// As it stands in the request: a path, and perhaps a query.
    pub(super) target: String,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) peer: SocketAddr,
}

impl Head {
    /// `GET`, `POST` or another.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The path, as it was written.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// What follows the `?`.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }

    /// The value of a header, whose name is compared without case; the first if there are several.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).next()
    }

    /// All values of a header.
    pub fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        let name = name.to_ascii_lowercase();
        self.headers.iter().filter(move |(n, _)| *n == name).map(|(_, value)| value.as_str())
    }

    /// Every header, in their order; the names in lower case.
    pub fn all_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Who sent it: the address of the connection, which may be a proxy's.
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }
}

impl std::fmt::Debug for Head {
    /// Without the headers' values: there are secrets among them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} from {}", self.method, self.path(), self.peer)
    }
}
