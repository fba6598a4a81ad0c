//! [`Settings`]: what is known before a connection is opened, and the headers that come from there.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::config::Config;
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

use super::proxy::{self, ProxyChoice};
use crate::http::headers;
use crate::url::Url;

/// What a callback for headers is told of a request that is about to be sent.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OutgoingRequest<'a> {
    /// `POST`, `GET` or `DELETE`.
    pub http_method: &'a str,
    /// The method of the message, if one is sent that has a method.
    pub method: Option<&'a str>,
    /// What it is about: the name of a tool or prompt, the address of a resource, the id of a task.
    pub name: Option<&'a str>,
}

pub(super) type HeaderCallback =
    dyn Fn(&OutgoingRequest<'_>) -> Result<Vec<(String, String)>, String> + Send + Sync;

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) url: Url,
    /// What errors and logs say in place of the address.
    pub(super) shown: Option<Arc<str>>,
    pub(super) headers: HeaderMap,
    pub(super) callback: Option<Arc<HeaderCallback>>,
    pub(super) proxy: ProxyChoice,
    pub(super) connect_timeout: Duration,
    pub(super) read_timeout: Option<Duration>,
    /// So many calls are under way at a time, each on a thread.
    pub(super) max_calls: usize,
    /// So many tries in a row to open a stream again that bring nothing are enough.
    pub(super) stream_tries: u32,
    #[cfg(feature = "tls")]
    pub(super) roots: Option<ureq::tls::RootCerts>,
}

impl Settings {
    /// What errors and logs call the server.
    pub(super) fn name(&self) -> &dyn fmt::Display {
        match &self.shown {
            Some(shown) => shown,
            None => &self.url,
        }
    }
}

/// What the transport itself sets, or what belongs to the connection.
const RESERVED: &[&str] = &[
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    headers::PROTOCOL_VERSION,
    headers::METHOD,
    headers::NAME,
    headers::SESSION_ID,
    headers::LAST_EVENT_ID,
];

/// # Errors
/// When a header cannot be sent so; the text does not hold its value.
pub(super) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let wrong = |problem: &str| Err(format!("header {name:?}: {problem}"));
    let Ok(parsed) = HeaderName::from_bytes(name.as_bytes()) else {
        return wrong("not a name of a header");
    };
    if RESERVED.contains(&parsed.as_str()) || parsed.as_str().starts_with(headers::PARAM_PREFIX) {
        return wrong("the transport sets it itself");
    }
    match HeaderValue::from_str(value) {
        Ok(mut value) => {
            value.set_sensitive(true);
            Ok((parsed, value))
        }
        Err(_) => wrong("its value has characters that no header carries"),
    }
}

impl Settings {
    /// The user's headers for a request, into `headers`.
    ///
    /// # Errors
    /// When the callback fails, panics, or gives what cannot be sent.
    pub(super) fn add_headers(
        &self,
        headers: &mut HeaderMap,
        request: &OutgoingRequest<'_>,
    ) -> Result<(), String> {
        headers.extend(self.headers.clone());
        let Some(callback) = &self.callback else { return Ok(()) };
        let called = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| callback(request)));
        let given = called.map_err(|_| "the callback for headers panicked".to_owned())??;
        for (name, value) in given {
            let (name, value) = header(&name, &value)?;
            headers.insert(name, value);
        }
        Ok(())
    }

    /// # Errors
    /// When the environment names a proxy that cannot be used.
    pub(super) fn agent_config(&self) -> Result<Config, String> {
        let proxy = proxy::of(&self.proxy, &self.url, &|name| std::env::var(name).ok())?;
        // A name is looked up on a thread of its own if there is a time for it, which an address does not need.
        let resolve = Some(self.connect_timeout).filter(|_| proxy.is_some() || !self.url.is_numeric());
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Followed by hand: only within the origin, and with the body.
            .max_redirects(0)
            .proxy(proxy)
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(self.connect_timeout))
            .timeout_resolve(resolve)
            .max_idle_connections(1)
            .max_idle_connections_per_host(1)
            .max_idle_age(Duration::from_secs(60))
            .input_buffer_size(16 * 1024)
            .output_buffer_size(16 * 1024);
        #[cfg(feature = "tls")]
        let config = match &self.roots {
            Some(roots) => {
                config.tls_config(ureq::tls::TlsConfig::builder().root_certs(roots.clone()).build())
            }
            None => config,
        };
        Ok(config.build())
    }
}
