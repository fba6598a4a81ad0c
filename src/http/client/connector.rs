//! [`HttpConnector`]: how a host reaches servers over HTTP.

use super::HttpTransport;
use crate::error::{Error, Result};
use crate::host::{Connector, HostBuilder, Remote};
use crate::transport::Transport;

/// Reaches the servers of a host over Streamable HTTP, or the older HTTP+SSE.
///
/// Errors and logs call a server as it is written in the configuration, before anything is replaced: its address may hold a key.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct HttpConnector;

impl Connector for HttpConnector {
    fn transport(&self, remote: &Remote<'_>) -> Result<Box<dyn Transport>> {
        // What is wrong with an address may show a part of it.
        let transport = HttpTransport::new(remote.url.reveal()).map_err(|error| match error {
            Error::Unsupported(_) => {
                Error::Unsupported(format!("{}: https needs the feature tls of tinymcp", remote.written))
            }
            _ => Error::InvalidUse(format!(
                "{}: no address of HTTP once everything is replaced",
                remote.written
            )),
        })?;
        let mut transport = transport.shown_as(remote.written);
        for (name, value) in remote.headers {
            transport = transport.header(name, value.reveal())?;
        }
        Ok(Box::new(transport))
    }
}

impl HostBuilder {
    /// Reaches servers with a `url` over HTTP, by the [`HttpConnector`].
    ///
    /// ```no_run
    /// use tinymcp::host::config::ServerEntry;
    /// use tinymcp::host::Host;
    ///
    /// let remote = ServerEntry::url("search", "https://search.example/mcp");
    /// let host = Host::builder().http().server(remote.with_header("Authorization", "Bearer ${env:SEARCH_TOKEN}")).start()?;
    /// # let _ = host;
    /// # Ok::<(), tinymcp::Error>(())
    /// ```
    #[must_use]
    pub fn http(self) -> Self {
        self.connector(HttpConnector)
    }
}
