//! [`Fetcher`]: whole pages by GET, with the settings of a transport.

use std::io::Read;
use std::time::{Duration, Instant};

use ureq::http::header::ACCEPT;
use ureq::http::{HeaderMap, HeaderValue, Method, Uri};
use ureq::{Agent, SendBody};

use super::HttpTransport;
use super::settings::{OutgoingRequest, Settings};
use super::wire::{Call, Head, MAX_REDIRECTS, shown, told, told_io};
use crate::url::Url;

/// Reads pages of one origin. Its clones share connections.
#[derive(Clone)]
pub(in crate::http) struct Fetcher {
    settings: Settings,
    agent: Agent,
}

/// A page that came whole.
pub(in crate::http) struct Fetched {
    pub(in crate::http) status: u16,
    /// The status, and how the body begins: for people.
    pub(in crate::http) told: String,
    pub(in crate::http) body: Vec<u8>,
}

/// Why there is no page; the texts name no address.
#[derive(Debug)]
pub(in crate::http) enum Unfetched {
    /// Nothing can be sent there, or nobody answers.
    Unreachable(String),
    /// What answers is not to be followed, or cannot be read.
    Refused(String),
    /// The page has more bytes than are read.
    TooLarge,
}

impl Fetcher {
    /// # Errors
    /// When the environment names a proxy that cannot be used.
    pub(in crate::http) fn new(transport: HttpTransport) -> Result<Self, String> {
        let settings = transport.settings;
        let agent = settings.agent_config()?.new_agent();
        Ok(Self { settings, agent })
    }

    /// The address of the transport.
    pub(in crate::http) fn url(&self) -> &Url {
        &self.settings.url
    }

    /// What messages call the origin.
    pub(in crate::http) fn name(&self) -> String {
        self.settings.name().to_string()
    }

    /// Reads the page at `url`, at most `limit` bytes of it, all of it within `time`. Redirects are followed within the origin.
    pub(in crate::http) fn get(&self, url: &Url, limit: usize, time: Duration) -> Result<Fetched, Unfetched> {
        let (mut url, start) = (url.clone(), Instant::now());
        for _ in 0..=MAX_REDIRECTS {
            let uri: Uri =
                url.whole().parse().map_err(|_| Unfetched::Refused("no address of HTTP".into()))?;
            let shown_as = OutgoingRequest { http_method: "GET", method: None, name: None };
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
            self.settings.add_headers(&mut headers, &shown_as).map_err(Unfetched::Unreachable)?;
            let call = Call {
                verb: Method::GET,
                url: &url,
                headers: HeaderMap::new(),
                body: None,
                shown: shown_as,
                read_timeout: None,
                timeout: Some(time.saturating_sub(start.elapsed())),
            };
            let response = call.run(&self.agent, &uri, &headers, SendBody::none());
            let (head, body) = response.map_err(|e| Unfetched::Unreachable(told(&e)))?.into_parts();
            let head = Head { status: head.status, headers: head.headers };
            let next =
                head.redirect(&url, &call.verb).map_err(|trouble| Unfetched::Refused(trouble.problem))?;
            if let Some(next) = next {
                url = next;
                continue;
            }
            if let Some(encoding) = head.encoding() {
                let encoding = shown(encoding.as_bytes());
                return Err(Unfetched::Refused(format!(
                    "a body encoded as {encoding}, which was not asked for"
                )));
            }
            let mut bytes = Vec::new();
            let mut reader = body.into_reader().take(limit as u64 + 1);
            reader.read_to_end(&mut bytes).map_err(|e| Unfetched::Unreachable(told_io(&e)))?;
            if bytes.len() > limit {
                return Err(Unfetched::TooLarge);
            }
            let told = head.told_with(&bytes);
            return Ok(Fetched { status: head.status.as_u16(), told, body: bytes });
        }
        Err(Unfetched::Refused(format!("more than {MAX_REDIRECTS} redirects")))
    }
}
