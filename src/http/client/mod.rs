//! The client's side: [`HttpTransport`], which carries each message of a connection as a request of HTTP.
//!
//! ```text
//!  writer ─▶ Outgoing ─▶ queue ─▶ exchange (a thread): POST ─▶ one answer, or a stream of events ─┐
//!                                 stream (a thread):   GET, listen ──────────────────────────────┼─▶ inbox ─▶ reader
//!                                                                                     failures ───┘
//! ```
//!
//! The engine behind it is the one of every transport: it writes frames and reads frames, and knows nothing of HTTP. What a
//! frame needs of HTTP is seen in the frame itself: a Modern request tells by its `_meta`; of a Legacy server the session and the
//! revision are noted as the answer to `initialize` passes, and the annotations of tools as lists of tools do.
//!
//! **Invariants:** writing never waits for the server; nothing is sent twice unless it is known that the server has none or half
//! of it; a request that fails is reported once, with what is known of its outcome; one that was given up is not reported; no
//! lock is held while something is sent, received or handed to the reader.

mod agents;
mod answer;
#[cfg(feature = "host")]
mod connector;
mod exchange;
mod learned;
mod line;
mod link;
mod old;
mod outgoing;
mod posting;
mod proxy;
mod settings;
mod sse;
mod stream;
mod wire;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "host")]
pub use self::connector::HttpConnector;
use self::learned::Learned;
use self::line::Line;
use self::link::{HttpLink, HttpReader, HttpWriter};
use self::proxy::ProxyChoice;
pub use self::settings::OutgoingRequest;
use self::settings::Settings;
use crate::client::{Client, ClientBuilder};
use crate::error::{Error, Result};
use crate::transport::{Connection, OpenOptions, Transport};
use crate::url::Url;

/// Reaches a server over Streamable HTTP, or over the HTTP+SSE of 2024-11-05 if it speaks only that.
///
/// Opening it sends nothing yet: that a server cannot be reached is the error of the first call.
///
/// ```no_run
/// use std::time::Duration;
/// use tinymcp::Client;
/// use tinymcp::http::HttpTransport;
///
/// let transport = HttpTransport::new("http://localhost:3000/mcp")?
///     .header("X-Team", "blue")?
///     .headers_with(|_request| {
///         let token = std::fs::read_to_string("token").map_err(|e| e.to_string())?;
///         Ok(vec![("Authorization".to_owned(), format!("Bearer {}", token.trim()))])
///     })
///     .connect_timeout(Duration::from_secs(3));
/// let client = Client::builder().open(transport)?;
/// # Ok::<(), tinymcp::Error>(())
/// ```
///
/// # Redirects, proxies, certificates
/// Redirects are followed up to five times within the origin (scheme, host and port) and keep method and body; one to another
/// origin is an error, as headers with credentials would go there. The proxy is the one that the environment names in `HTTPS_PROXY`
/// or `HTTP_PROXY`, else `ALL_PROXY` (also in lower case), with the exceptions of `NO_PROXY`: names, addresses, networks such as
/// `10.0.0.0/8`, or `*`. It is asked to connect through (`CONNECT`) for `http` as well. Hosts of this machine are never reached through
/// one. `https` needs the feature `tls`; certificates are checked by the roots that Mozilla trusts, or by your own.
#[derive(Clone)]
pub struct HttpTransport {
    settings: Settings,
    learned: Arc<Learned>,
}

impl HttpTransport {
    /// A server at `url`: `http` or `https`, without user name and fragment.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when it is no such address, [`Error::Unsupported`] for `https` without the feature `tls`.
    ///
    /// ```
    /// use tinymcp::http::HttpTransport;
    ///
    /// assert!(HttpTransport::new("http://localhost:3000/mcp").is_ok());
    /// let error = HttpTransport::new("http://me:secret@localhost/mcp").unwrap_err().to_string();
    /// assert_eq!(error, "invalid use: the address: it has a user name; credentials belong into a header");
    /// ```
    pub fn new(url: &str) -> Result<Self> {
        let url = Url::parse(url).map_err(|e| Error::InvalidUse(format!("the address: {e}")))?;
        if url.is_secure() && !cfg!(feature = "tls") {
            return Err(Error::Unsupported(format!("{url}: https needs the feature tls of tinymcp")));
        }
        let settings = Settings {
            url,
            shown: None,
            headers: ureq::http::HeaderMap::new(),
            callback: None,
            proxy: ProxyChoice::default(),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Some(Duration::from_secs(300)),
            max_calls: 64,
            stream_tries: 5,
            #[cfg(feature = "tls")]
            roots: None,
        };
        Ok(Self { settings, learned: Arc::default() })
    }

    /// What errors, logs and `Debug` call the server, in place of its address: for one whose address is a secret, or holds one.
    #[must_use]
    pub fn shown_as(mut self, name: impl Into<String>) -> Self {
        self.settings.shown = Some(Arc::from(name.into()));
        self
    }

    /// Sends this header with every request, in place of one of the same name. Its value is in no message and no `Debug`.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when it is no header, or one that the transport sets itself, such as `Accept`.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self> {
        let (name, value) = settings::header(name, value).map_err(Error::InvalidUse)?;
        self.settings.headers.insert(name, value);
        Ok(self)
    }

    /// Asks `callback` for headers before each request of HTTP, for what changes: tokens, signatures. They replace those of
    /// [`header`](Self::header).
    ///
    /// It runs on the thread that sends, so that several requests may ask at the same time, and for as long as it likes: only its
    /// request waits. Its error, or a panic, is that request's failure, and nothing is sent.
    ///
    /// ```
    /// use tinymcp::http::HttpTransport;
    ///
    /// let transport = HttpTransport::new("http://localhost:8000/mcp")?.headers_with(|request| {
    ///     let what = format!("{} {}", request.method.unwrap_or(request.http_method), request.name.unwrap_or("-"));
    ///     Ok(vec![("X-What".to_owned(), what)]) // `tools/call create_note`
    /// });
    /// # let _ = transport;
    /// # Ok::<(), tinymcp::Error>(())
    /// ```
    #[must_use]
    pub fn headers_with(
        mut self,
        callback: impl Fn(&OutgoingRequest<'_>) -> Result<Vec<(String, String)>, String> + Send + Sync + 'static,
    ) -> Self {
        self.settings.callback = Some(Arc::new(callback));
        self
    }

    /// Goes through this proxy (`http://user:password@host:port`), or through none, whatever the environment says.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when it is no proxy of the kind `http`, or, with the feature `tls`, `https`.
    pub fn proxy(mut self, proxy: Option<&str>) -> Result<Self> {
        self.settings.proxy = match proxy {
            None => ProxyChoice::None,
            Some(proxy) => {
                let proxy = proxy::parse(proxy).map_err(|e| Error::InvalidUse(format!("the proxy: {e}")))?;
                ProxyChoice::Given(proxy)
            }
        };
        Ok(self)
    }

    /// How long looking up the host may take, and then connecting to it. Default: 10 s each.
    #[must_use]
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.settings.connect_timeout = time;
        self
    }

    /// How long a stream that stays open may bring nothing, not even a comment, before its peer counts as gone and it is opened
    /// again. Default: 5 minutes; `None` is for ever. Calls have the times of [`Timeouts`](crate::client::Timeouts).
    #[must_use]
    pub fn read_timeout(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.settings.read_timeout = time.into();
        self
    }

    /// How many calls may be under way at a time, each on a thread of its own; further ones wait. Default: 64.
    #[must_use]
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.settings.max_calls = calls;
        self
    }

    /// How often in a row a stream that broke off is opened again if that brings nothing: the stream of a Legacy session, or that
    /// of a Legacy call, which then fails. The wait is what the server says, else 1 s; it doubles up to 30 s. Default: 5; with 0 no
    /// stream is opened again.
    #[must_use]
    pub fn stream_tries(mut self, tries: u32) -> Self {
        self.settings.stream_tries = tries;
        self
    }

    /// Trusts the certificates in `pem`, and those they sign, in place of the roots that Mozilla trusts.
    ///
    /// # Errors
    /// [`Error::InvalidUse`] when there is none in it, or what is there cannot be read.
    #[cfg(feature = "tls")]
    pub fn root_certificates(mut self, pem: &[u8]) -> Result<Self> {
        let invalid = |e: &dyn fmt::Display| Error::InvalidUse(format!("the root certificates: {e}"));
        let mut roots = Vec::new();
        for item in ureq::tls::parse_pem(pem) {
            if let ureq::tls::PemItem::Certificate(certificate) = item.map_err(|e| invalid(&e))? {
                roots.push(certificate);
            }
        }
        if roots.is_empty() {
            return Err(invalid(&"there is none"));
        }
        self.settings.roots = Some(roots.into());
        Ok(self)
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.settings.headers.keys().map(|name| name.as_str()).collect();
        f.debug_struct("HttpTransport")
            .field("url", &format_args!("{}", self.settings.name()))
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

impl Transport for HttpTransport {
    fn open(self: Box<Self>, options: &OpenOptions) -> io::Result<Connection> {
        let Self { settings, learned } = *self;
        let url = settings.name().to_string();
        let (line, outlet) = Line::new(settings, learned, options.max_frame_bytes)
            .map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, format!("{url}: {e}")))?;
        Ok(Connection::new(HttpReader::new(&line, outlet), HttpWriter::new(&line), HttpLink::new(&line)))
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }
}

impl Client {
    /// Reaches the server at `url` over HTTP; [`HttpTransport`] has what can be set. Nothing is sent before
    /// [`initialize`](crate::ClientHandle::initialize) or the first use.
    ///
    /// ```no_run
    /// use tinymcp::Client;
    ///
    /// let client = Client::connect_http("http://localhost:8000/mcp")?;
    /// for tool in client.list_tools()? {
    ///     println!("{}", tool.name);
    /// }
    /// # Ok::<(), tinymcp::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `url` cannot be used.
    pub fn connect_http(url: &str) -> Result<Self> {
        Self::builder().connect_http(url)
    }
}

impl ClientBuilder {
    /// Reaches the server at `url` over HTTP; [`HttpTransport`] has what can be set, and [`open`](Self::open) takes one.
    ///
    /// # Errors
    /// When no revision is offered, or `url` cannot be used.
    pub fn connect_http(self, url: &str) -> Result<Client> {
        self.open(HttpTransport::new(url)?)
    }
}
