//! [`Connector`]: how a host reaches servers at addresses. The host itself knows child processes alone.

use std::collections::BTreeMap;
use std::fmt;

use super::config::{Secret, UrlTransport};
use crate::error::{Error, Result};
use crate::transport::Transport;

/// A server at an address, with everything in its entry replaced: it holds secrets.
#[non_exhaustive]
pub struct Remote<'a> {
    /// What the user calls the server.
    pub server: &'a str,
    /// The address as it is written, before anything in it was replaced: what may be shown.
    pub written: &'a str,
    /// `http` or `https`, as a rule.
    pub url: &'a Secret,
    /// Headers of every request.
    pub headers: &'a BTreeMap<String, Secret>,
    /// What is spoken there, as far as the entry says.
    pub transport: UrlTransport,
}

impl fmt::Debug for Remote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("server", &self.server)
            .field("url", &self.written)
            .finish_non_exhaustive()
    }
}

/// Makes transports of addresses. With the feature `http-client`, `tinymcp::http::HttpConnector` is one, and the default.
pub trait Connector: Send + Sync {
    /// A transport to `remote`, not yet opened.
    ///
    /// # Errors
    /// When the address cannot be used. The text must not show what is secret in it.
    fn transport(&self, remote: &Remote<'_>) -> Result<Box<dyn Transport>>;
}

/// The one without the feature.
#[derive(Debug)]
pub(super) struct NoConnector;

impl Connector for NoConnector {
    fn transport(&self, remote: &Remote<'_>) -> Result<Box<dyn Transport>> {
        let server = remote.server;
        Err(Error::Unsupported(format!(
            "server {server} has a url: that needs the feature http-client of tinymcp and its HttpConnector, or a connector of the program's own"
        )))
    }
}
