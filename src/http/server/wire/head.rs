//! [`Head`]: what a request says before its body.

use std::net::SocketAddr;

/// What a request says before its body: for a [guard](crate::http::HttpServerBuilder::guard).
///
/// ```
/// use tinymcp::context::Principal;
/// use tinymcp::http::{Denied, Head};
///
/// /// Lets in who comes through a proxy on this machine, which says who it is.
/// fn guard(request: &Head) -> Result<Principal, Denied> {
///     match request.header("x-client-name") {
///         Some(name) if request.peer().ip().is_loopback() => Ok(Principal::new(name)),
///         _ => Err(Denied::unauthorized("come by the proxy")),
///     }
/// }
/// # let _ = guard;
/// ```
#[derive(Clone)]
pub struct Head {
    /// The head as it came, except that the names of headers are in lower case. What follows says where in it things are:
    /// two pieces of memory for a head, however many headers it has.
    pub(super) text: Box<str>,
    pub(super) method: Span,
    /// A path, and perhaps a query.
    pub(super) target: Span,
    /// Names and values.
    pub(super) headers: Box<[(Span, Span)]>,
    pub(super) peer: SocketAddr,
}

/// A piece of a head's text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Head {
    fn at(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// `GET`, `POST` or another.
    #[must_use]
    pub fn method(&self) -> &str {
        self.at(self.method)
    }

    /// The path, as it was written.
    #[must_use]
    pub fn path(&self) -> &str {
        self.at(self.target).split('?').next().unwrap_or_default()
    }

    /// What follows the `?`.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.at(self.target).split_once('?').map(|(_, query)| query)
    }

    /// The value of a header, whose name is compared without case; the first if there are several.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).next()
    }

    /// All values of a header.
    pub fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        self.all_headers().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Every header, in their order; the names in lower case.
    pub fn all_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (self.at(*name), self.at(*value)))
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
        write!(f, "{} {} from {}", self.method(), self.path(), self.peer)
    }
}
