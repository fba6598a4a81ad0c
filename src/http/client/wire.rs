//! Requests and replies of HTTP: sending one, following redirects, and what is known if that fails.

use std::io::{self, Read};
use std::time::Duration;

use ureq::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use ureq::{Agent, Body, SendBody};

use super::exchange::Exchange;
use super::line::Line;
use super::settings::OutgoingRequest;
use crate::transport::FailureKind;
use crate::url::Url;

/// So many redirects are followed.
pub(super) const MAX_REDIRECTS: usize = 5;

/// So much of a page of text is shown.
const SHOWN_CHARS: usize = 200;

/// What is read of a body that nobody wants, so that its connection can be used again.
const DISCARDED_BYTES: u64 = 64 * 1024;

/// One request of HTTP.
pub(super) struct Call<'a> {
    pub(super) verb: Method,
    pub(super) url: &'a Url,
    /// Without those of the user.
    pub(super) headers: HeaderMap,
    pub(super) body: Option<&'a [u8]>,
    pub(super) shown: OutgoingRequest<'a>,
    /// For each read, of the head and of the body.
    pub(super) read_timeout: Option<Duration>,
    /// For all of it.
    pub(super) timeout: Option<Duration>,
}

/// Why there is no reply, or no answer in it.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) kind: FailureKind,
    pub(super) problem: String,
    /// Of the reply, if there was one.
    pub(super) status: Option<u16>,
}

impl Trouble {
    fn new(kind: FailureKind, problem: impl Into<String>) -> Self {
        Self { kind, problem: problem.into(), status: None }
    }

    /// A reply with this head that is no answer; `told` is what it says.
    pub(super) fn replied(head: &Head, has_session: bool, told: String) -> Self {
        let status = head.status;
        let kind = match status {
            // spec: 2025-11-25 basic/transports#session-management
            StatusCode::NOT_FOUND if has_session => FailureKind::SessionEnded,
            _ if status.is_server_error() && !head.is_later() => FailureKind::OutcomeUnknown,
            _ => FailureKind::Refused,
        };
        Self { kind, problem: told, status: Some(status.as_u16()) }
    }

    pub(super) fn not_sent(problem: impl Into<String>) -> Self {
        Self::new(FailureKind::NotSent, problem)
    }

    pub(super) fn refused(problem: impl Into<String>) -> Self {
        Self::new(FailureKind::Refused, problem)
    }

    pub(super) fn unknown(problem: impl Into<String>) -> Self {
        Self::new(FailureKind::OutcomeUnknown, problem)
    }
}

/// The head of a reply.
#[derive(Clone)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

/// A reply whose body is to be read.
pub(super) struct Reply {
    pub(super) head: Head,
    body: Body,
}

impl Line {
    /// Sends `call` with the headers of the user and waits for the head of the reply. Redirects are followed within the
    /// origin.
    pub(super) fn send(&self, exchange: &Exchange, call: &Call<'_>) -> Result<Reply, Trouble> {
        let mut url = call.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut headers = call.headers.clone();
            self.settings.add_headers(&mut headers, &call.shown).map_err(Trouble::not_sent)?;
            let reply = self.send_once(exchange, call, &url, &headers)?;
            match reply.head.redirect(&url, &call.verb)? {
                Some(next) => url = next,
                None => return Ok(reply),
            }
            reply.discard(self, exchange);
        }
        Err(Trouble::refused(format!("more than {MAX_REDIRECTS} redirects, the last to {url}")))
    }

    fn send_once(
        &self,
        exchange: &Exchange,
        call: &Call<'_>,
        url: &Url,
        headers: &HeaderMap,
    ) -> Result<Reply, Trouble> {
        let uri: Uri = url.whole().parse().map_err(|e| Trouble::not_sent(format!("{url}: {e}")))?;
        let mut taken = self.agents.take();
        loop {
            if !exchange.enter(&taken.agent) {
                return Err(Trouble::not_sent("given up"));
            }
            let (response, is_whole) = match call.body {
                Some(bytes) => {
                    let mut feed = Feed { bytes, is_taken: false };
                    let response = call.run(&taken.agent, &uri, headers, SendBody::from_reader(&mut feed));
                    (response, feed.is_taken && feed.bytes.is_empty())
                }
                None => (call.run(&taken.agent, &uri, headers, SendBody::none()), false),
            };
            let error = match response {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    let head = Head { status: head.status, headers: head.headers };
                    return Ok(Reply { head, body });
                }
                Err(error) => error,
            };
            // A server does nothing for a request of which it has half, or only the head.
            let kind = if is_whole { FailureKind::OutcomeUnknown } else { FailureKind::NotSent };
            let is_lost = taken.is_used && matches!(error, ureq::Error::Io(_));
            if is_lost && kind == FailureKind::NotSent && !exchange.is_given_up() {
                log::debug!("{url} had closed its connection: {error}");
                taken = self.agents.fresh();
                continue;
            }
            let problem = match kind {
                FailureKind::NotSent => format!("not sent: {}", told(&error)),
                _ => format!("sent, and then: {}", told(&error)),
            };
            return Err(Trouble::new(kind, problem));
        }
    }
}

impl Call<'_> {
    pub(super) fn run(
        &self,
        agent: &Agent,
        uri: &Uri,
        headers: &HeaderMap,
        body: SendBody<'_>,
    ) -> Result<Response<Body>, ureq::Error> {
        let mut request = Request::new(body);
        *request.method_mut() = self.verb.clone();
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = headers.clone();
        // What is compressed arrives late: an event waits for those after it.
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(body) = self.body {
            request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let request = agent
            .configure_request(request)
            .timeout_per_read(self.read_timeout)
            .timeout_global(self.timeout)
            .build();
        agent.run(request)
    }
}

/// Gives the body away and knows whether it has given all.
struct Feed<'a> {
    bytes: &'a [u8],
    is_taken: bool,
}

impl Read for Feed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_taken = true;
        self.bytes.read(buffer)
    }
}

/// `error` in the words of whoever asks what went wrong.
pub(super) fn told(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            "the server closed the connection".to_owned()
        }
        ureq::Error::Io(e) => e.to_string(),
        ureq::Error::HostNotFound => "host not found".to_owned(),
        ureq::Error::Timeout(ureq::Timeout::Connect) => "no connection in time".to_owned(),
        ureq::Error::Timeout(_) => "no word from the server in time".to_owned(),
        other => other.to_string(),
    }
}

/// The same of an error that reading a body gave.
pub(super) fn told_io(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>()) {
        Some(inner) => told(inner),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
        None => error.to_string(),
    }
}

impl Head {
    fn text(&self, header: &HeaderName) -> Option<&str> {
        self.headers.get(header)?.to_str().ok()
    }

    /// The media type, in lower case and without parameters.
    pub(super) fn media_type(&self) -> String {
        let value = self.text(&CONTENT_TYPE).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    pub(super) fn is_event_stream(&self) -> bool {
        self.media_type() == "text/event-stream"
    }

    /// How the body is encoded, if it is: nobody asked for that.
    pub(super) fn encoding(&self) -> Option<&str> {
        self.text(&CONTENT_ENCODING).filter(|encoding| !encoding.eq_ignore_ascii_case("identity"))
    }

    /// How long the server keeps the connection if nobody uses it, if it says so.
    pub(super) fn keep_alive(&self) -> Option<Duration> {
        let value = self.headers.get("keep-alive")?.to_str().ok()?;
        let seconds = value.split(',').find_map(|part| part.trim().strip_prefix("timeout="))?;
        seconds.trim().parse().ok().map(Duration::from_secs)
    }

    /// `HTTP 404 Not Found`.
    pub(super) fn told(&self) -> String {
        match self.status.canonical_reason() {
            Some(reason) => format!("HTTP {} {reason}", self.status.as_u16()),
            None => format!("HTTP {}", self.status.as_u16()),
        }
    }

    /// Whether the server has done nothing and says when to come again.
    pub(super) fn is_later(&self) -> bool {
        self.status == StatusCode::SERVICE_UNAVAILABLE && self.headers.contains_key(RETRY_AFTER)
    }

    /// What the reply says in place of an answer, with `body` as far as it is shown.
    pub(super) fn told_with(&self, body: &[u8]) -> String {
        let mut told = self.told();
        if let Some(time) = self.text(&RETRY_AFTER) {
            told += &format!(", retry after {time}");
        }
        if let Some(challenge) = self.text(&WWW_AUTHENTICATE) {
            told += &format!(", WWW-Authenticate: {challenge}");
        }
        match shown(body) {
            text if text.is_empty() => told,
            text => format!("{told}: {text}"),
        }
    }

    /// Where the reply leads on to.
    pub(super) fn redirect(&self, url: &Url, verb: &Method) -> Result<Option<Url>, Trouble> {
        let Some(location) = self.headers.get(LOCATION).filter(|_| self.status.is_redirection()) else {
            return Ok(None);
        };
        match self.status.as_u16() {
            // A body that was sent as POST must arrive as POST.
            303 if *verb != Method::GET => return Ok(None),
            301 | 302 | 303 | 307 | 308 => {}
            _ => return Ok(None),
        }
        let refused = |problem: String| Trouble::refused(format!("{}: {problem}", self.told()));
        let location = location.to_str().map_err(|_| refused("its Location cannot be read".to_owned()))?;
        let next = url.join(location).map_err(|e| refused(format!("its Location cannot be used: {e}")))?;
        if !next.is_of_origin(url) {
            // Headers with credentials would go to whoever is there.
            let problem =
                format!("it leads from {} to {}, which is not followed", url.origin(), next.origin());
            return Err(refused(problem));
        }
        Ok(Some(next))
    }
}

impl Reply {
    pub(super) fn into_reader(self) -> impl Read {
        self.body.into_reader()
    }

    /// Reads what little there is, so that the connection can be used again.
    pub(super) fn discard(self, line: &Line, exchange: &Exchange) {
        let keep_alive = self.head.keep_alive();
        let mut rest = self.into_reader().take(DISCARDED_BYTES + 1);
        if io::copy(&mut rest, &mut io::sink()).is_ok_and(|read| read <= DISCARDED_BYTES) {
            exchange.release(&line.agents, keep_alive);
        }
    }

    /// Reads the whole body; `Err` with its head if it is longer than `limit`.
    pub(super) fn read(
        self,
        line: &Line,
        exchange: &Exchange,
        limit: usize,
    ) -> io::Result<Result<Vec<u8>, Vec<u8>>> {
        let keep_alive = self.head.keep_alive();
        let mut bytes = Vec::new();
        self.into_reader().take(limit as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > limit {
            bytes.truncate(super::answer::HEAD_BYTES);
            return Ok(Err(bytes));
        }
        exchange.release(&line.agents, keep_alive);
        Ok(Ok(bytes))
    }
}

/// The beginning of a text for people, on one line.
pub(super) fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * 1024)]);
    let mut shown = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown += word;
        if let Some((end, _)) = shown.char_indices().nth(SHOWN_CHARS) {
            shown.truncate(end);
            shown.push('…');
            break;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_shown_as_their_beginning_on_one_line() {
        assert_eq!(shown(b""), "");
        assert_eq!(shown(b" \r\n<html>\n\t<p>No\0 entry</p>\n"), "<html> <p>No entry</p>");
        assert_eq!(shown("ä".repeat(201).as_bytes()), format!("{}…", "ä".repeat(200)));
        assert_eq!(shown(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }
}
