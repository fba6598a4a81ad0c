//! Heads of requests: where one ends, and what it says of what follows. Strict: what two readers could read in two
//! ways is refused, as somebody between the client and this server may have read it the other way.

use std::mem::MaybeUninit;
use std::net::SocketAddr;

use super::Limits;
use super::head::{Head, Span};
use super::reply::Response;

/// More headers than this are refused whatever the limit is: there is room for so many on the stack.
const MAX_HEADERS: usize = 128;

/// A head, and what it says to this module's own.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) head: Head,
    pub(super) body: Framing,
    pub(super) manner: Manner,
    /// The client waits for a `100 Continue` before it sends the body.
    pub(super) expects_continue: bool,
}

/// How long the body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Sized(u64),
    Chunked,
}

/// How a request wants to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manner {
    /// A `HEAD`: as a `GET`, without the body.
    pub(super) is_head: bool,
    /// Knows no chunks.
    pub(super) is_http_1_0: bool,
    /// Another request may follow.
    pub(super) keeps_alive: bool,
}

impl Manner {
    /// For what could not be read.
    pub(super) const LAST: Self = Self { is_head: false, is_http_1_0: false, keeps_alive: false };
}

/// Why a request is not served.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn new(status: u16, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }

    pub(super) fn bad(why: &str) -> Self {
        Self::new(400, why)
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = Response::new(self.status);
        response.headers.push(("Content-Type", "text/plain; charset=utf-8".to_owned()));
        response.body = self.why.into_bytes();
        response
    }
}

/// Where the head ends, if it does. `scanned` is how far it was looked for, so that no byte is looked at twice.
pub(super) fn end_of_head(bytes: &[u8], scanned: &mut usize) -> Result<Option<usize>, Refusal> {
    while let Some(at) = bytes.get(*scanned..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n')) {
        let line_end = *scanned + at;
        *scanned = line_end + 1;
        let before = bytes.get(..line_end).unwrap_or_default();
        if before.last() != Some(&b'\r') {
            return Err(Refusal::bad("a line of the head ends without a carriage return"));
        }
        if before.ends_with(b"\n\r") {
            return Ok(Some(line_end + 1));
        }
    }
    *scanned = bytes.len();
    // A client that speaks TLS, for instance, would never end what it takes for its turn.
    match bytes.first() {
        Some(first) if !(first.is_ascii_graphic() || *first == b'\r') => {
            Err(Refusal::bad("this is not a request of HTTP/1.1"))
        }
        _ => Ok(None),
    }
}

/// Reads a whole head.
pub(super) fn parse(bytes: &[u8], peer: SocketAddr, limits: &Limits) -> Result<Parsed, Refusal> {
    let mut room = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let room = &mut room[..limits.headers.min(MAX_HEADERS)];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, room) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) => return Err(Refusal::bad("the head has no end")),
        Err(e) => return Err(unreadable(e, bytes, limits)),
    }
    let span = |part: &[u8]| span_of(part, bytes).ok_or_else(|| Refusal::new(431, "the head is too large"));
    let method = request.method.unwrap_or_default();
    let is_http_1_0 = request.version == Some(0);
    let mut said = Said::default();
    let mut headers = Vec::with_capacity(request.headers.len());
    for header in request.headers.iter() {
        said.take(header.name, header.value)?;
        headers.push((span(header.name.as_bytes())?, span(header.value)?));
    }
    let target = path_of(request.path.unwrap_or_default())?;
    let (method_span, target_span) = (span(method.as_bytes())?, span(target.as_bytes())?);
    let body = said.framing(is_http_1_0)?;
    if !is_http_1_0 && said.hosts != 1 {
        return Err(Refusal::bad("there must be exactly one Host"));
    }
    if said.expects_other {
        return Err(Refusal::new(417, "only 100-continue can be expected"));
    }
    let keeps_alive = !said.closes && (!is_http_1_0 || said.keeps_alive);
    let manner = Manner { is_head: method == "HEAD", is_http_1_0, keeps_alive };
    let mut text = bytes.to_vec();
    for (name, _) in &headers {
        text[name.start as usize..name.end as usize].make_ascii_lowercase();
    }
    let text = String::from_utf8(text).map_err(|_| Refusal::bad("the head is not UTF-8"))?;
    let head = Head {
        text: text.into_boxed_str(),
        method: method_span,
        target: target_span,
        headers: headers.into_boxed_slice(),
        peer,
    };
    Ok(Parsed { head, body, manner, expects_continue: said.expects_continue && !is_http_1_0 })
}

/// Where `part` is in `whole`.
fn span_of(part: &[u8], whole: &[u8]) -> Option<Span> {
    if part.is_empty() {
        return Some(Span::default()); // which the parser took from anywhere
    }
    let start = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    Some(Span { start: u32::try_from(start).ok()?, end: u32::try_from(start + part.len()).ok()? })
}

fn unreadable(e: httparse::Error, bytes: &[u8], limits: &Limits) -> Refusal {
    match e {
        httparse::Error::TooManyHeaders => {
            let limit = limits.headers.min(MAX_HEADERS);
            Refusal::new(431, format!("more than {limit} headers"))
        }
        httparse::Error::Version if is_other_version(bytes) => {
            Refusal::new(505, "only HTTP/1.0 and HTTP/1.1 are spoken here")
        }
        e => Refusal::bad(&e.to_string()),
    }
}

/// Whether the first line ends like one of another HTTP.
fn is_other_version(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let [_, _, version] = line.split(|byte| *byte == b' ').collect::<Vec<_>>()[..] else { return false };
    version.strip_prefix(b"HTTP/").is_some_and(|version| version.first().is_some_and(u8::is_ascii_digit))
}

/// What the target is within this server: a proxy may be told the whole address.
fn path_of(target: &str) -> Result<&str, Refusal> {
    if target.starts_with('/') || target == "*" {
        return Ok(target);
    }
    let (scheme, rest) = target.split_once("://").unwrap_or_default();
    if !(scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")) {
        return Err(Refusal::bad("the target is neither a path nor an address"));
    }
    match rest.find(['/', '?']) {
        Some(at) if rest[at..].starts_with('/') => Ok(&rest[at..]),
        // The root's path is a piece of every address: of `://`.
        None => Ok(&target[scheme.len() + 1..scheme.len() + 2]),
        Some(_) => Err(Refusal::bad("the target has a query and no path")),
    }
}

/// What the headers say that matter here.
#[derive(Default)]
struct Said {
    length: Option<u64>,
    codings: usize,
    is_chunked: bool,
    hosts: usize,
    closes: bool,
    keeps_alive: bool,
    expects_continue: bool,
    expects_other: bool,
}

impl Said {
    fn take(&mut self, name: &str, value: &[u8]) -> Result<(), Refusal> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if is("content-length") {
            if self.length.is_some() {
                return Err(Refusal::bad("there is more than one Content-Length"));
            }
            if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
                return Err(Refusal::bad("the Content-Length is not a number"));
            }
            // Too many digits are too many bytes.
            let number = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
            self.length = Some(number.unwrap_or(u64::MAX));
        } else if is("transfer-encoding") {
            self.codings += 1;
            self.is_chunked = value.eq_ignore_ascii_case(b"chunked");
        } else if is("host") {
            self.hosts += 1;
        } else if is("connection") {
            for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                self.closes |= option.eq_ignore_ascii_case(b"close");
                self.keeps_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        } else if is("expect") {
            self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
            self.expects_other |= !value.eq_ignore_ascii_case(b"100-continue");
        }
        Ok(())
    }

    fn framing(&self, is_http_1_0: bool) -> Result<Framing, Refusal> {
        match (self.length, self.codings) {
            (length, 0) => Ok(Framing::Sized(length.unwrap_or(0))),
            (Some(_), _) => Err(Refusal::bad("there are a Content-Length and a Transfer-Encoding")),
            (None, _) if is_http_1_0 => Err(Refusal::bad("HTTP/1.0 has no Transfer-Encoding")),
            (None, 1) if self.is_chunked => Ok(Framing::Chunked),
            (None, _) => Err(Refusal::new(501, "the only Transfer-Encoding known is chunked")),
        }
    }
}
