//! [`CheckedUrl`]: a URL and the addresses that it may be fetched from.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::sync::Deadline;
use crate::url::Url;

/// A URL that a [`UrlPolicy`](super::UrlPolicy) allows, with the addresses to connect to.
///
/// Connect to [`addresses`](Self::addresses) and to nothing else: a second look-up of the [`host`](Self::host) may give other ones. The
/// name is still needed for the header `Host` and, in TLS, for the certificate.
#[derive(Clone)]
pub struct CheckedUrl {
    pub(super) url: Url,
    /// Never empty.
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) redirects: u32,
}

impl CheckedUrl {
    /// The whole URL, without a fragment.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.whole()
    }

    /// Whether it is `https`.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.url.is_secure()
    }

    /// The host in lower case; an IPv6 address without its brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host().trim_start_matches('[').trim_end_matches(']')
    }

    /// The port, 80 or 443 if none is given.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.url.port()
    }

    /// What belongs into the header `Host`.
    #[must_use]
    pub fn authority(&self) -> String {
        self.url.origin().split_once("://").map(|(_, authority)| authority.to_owned()).unwrap_or_default()
    }

    /// What belongs into the first line of a request: path and query.
    #[must_use]
    pub fn path_and_query(&self) -> String {
        self.url.path_and_query()
    }

    /// Where to connect to, in this order. There is at least one.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// How many redirects led here.
    #[must_use]
    pub fn redirects(&self) -> u32 {
        self.redirects
    }

    /// Whether scheme, host and port are the same: otherwise a redirect takes no credentials along.
    #[must_use]
    pub fn is_same_origin(&self, other: &Self) -> bool {
        self.url.is_of_origin(&other.url)
    }

    /// Connects to one of the addresses, trying one after another, within `time` in all.
    ///
    /// # Errors
    /// The error of the last one.
    pub fn connect(&self, time: Duration) -> io::Result<TcpStream> {
        let deadline = Deadline::after(Some(time));
        let mut last = None;
        for (tried, address) in self.addresses.iter().enumerate() {
            // What is left, in equal shares.
            let others = u32::try_from(self.addresses.len() - tried).unwrap_or(u32::MAX);
            let share = deadline.remaining().unwrap_or(time) / others;
            if share.is_zero() {
                break;
            }
            match TcpStream::connect_timeout(address, share) {
                Ok(stream) => return Ok(stream),
                Err(e) => last = Some(e),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::TimedOut.into()))
    }
}

/// Without the query, which may hold a secret.
impl fmt::Display for CheckedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

impl fmt::Debug for CheckedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedUrl")
            .field("url", &self.url)
            .field("addresses", &self.addresses)
            .field("redirects", &self.redirects)
            .finish()
    }
}
