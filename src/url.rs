//! [`Url`]: an address of HTTP, as far as a client and a guard need one.

use std::fmt;
#[cfg(feature = "http-client")]
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;

/// A longer one is refused. What clients and servers take differs; none takes more than 64 KiB.
const MAX_BYTES: usize = 32 * 1024;

/// An absolute address: scheme, host, port, path and query. Without a user name, a password and a fragment.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Url {
    is_secure: bool,
    /// In lower case; an IPv6 address in brackets.
    host: String,
    port: u16,
    /// Begins with `/`.
    path: String,
    /// With its `?`, or empty.
    query: String,
}

impl Url {
    /// # Errors
    /// When it is no address that can be used; the text says why, and holds nothing of a password.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("it exceeds {MAX_BYTES} bytes"));
        }
        let (scheme, rest) = text.split_once("://").ok_or("it begins with neither http:// nor https://")?;
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err("it begins with neither http:// nor https://".to_owned()),
        };
        if text.contains('#') {
            return Err("it has a fragment".to_owned());
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        if authority.contains('@') {
            return Err("it has a user name; credentials belong into a header".to_owned());
        }
        let (host, port) = host_and_port(authority)?;
        let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        let path = if path.is_empty() { "/" } else { path };
        let port = port.unwrap_or(if is_secure { 443 } else { 80 });
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>`\"".contains(&byte)) {
            return Err("it has characters that must be percent-encoded".to_owned());
        }
        Ok(Self { is_secure, host, port, path: path.to_owned(), query: query.to_owned() })
    }

    /// What `reference`, a `Location` or the address in an event, means here.
    pub(crate) fn join(&self, reference: &str) -> Result<Self, String> {
        let reference = reference.split('#').next().unwrap_or_default().trim();
        let has_scheme = reference
            .split_once(':')
            .is_some_and(|(scheme, _)| !scheme.is_empty() && !scheme.contains(['/', '?', '.']));
        if has_scheme {
            return Self::parse(reference);
        }
        let scheme = if self.is_secure { "https" } else { "http" };
        if let Some(rest) = reference.strip_prefix("//") {
            return Self::parse(&format!("{scheme}://{rest}"));
        }
        let (path, query) = reference.split_at(reference.find('?').unwrap_or(reference.len()));
        let (path, query) = match path {
            "" if query.is_empty() => (self.path.clone(), self.query.as_str()),
            "" => (self.path.clone(), query),
            _ if path.starts_with('/') => (without_dots(path), query),
            _ => {
                let folder = &self.path[..=self.path.rfind('/').unwrap_or_default()];
                (without_dots(&format!("{folder}{path}")), query)
            }
        };
        Self::parse(&format!("{}{path}{query}", self.origin()))
    }

    /// Scheme, host and port: what must not change.
    pub(crate) fn origin(&self) -> String {
        let (scheme, usual) = if self.is_secure { ("https", 443) } else { ("http", 80) };
        if self.port == usual {
            format!("{scheme}://{}", self.host)
        } else {
            format!("{scheme}://{}:{}", self.host, self.port)
        }
    }

    pub(crate) fn is_of_origin(&self, other: &Self) -> bool {
        (self.is_secure, &self.host, self.port) == (other.is_secure, &other.host, other.port)
    }

    /// What a request is sent to.
    pub(crate) fn whole(&self) -> String {
        format!("{}{}{}", self.origin(), self.path, self.query)
    }

    /// What the first line of a request has.
    #[cfg(feature = "guard")]
    pub(crate) fn path_and_query(&self) -> String {
        format!("{}{}", self.path, self.query)
    }

    /// The same at another host, which must be one.
    #[cfg(feature = "guard")]
    pub(crate) fn with_host(self, host: String) -> Self {
        Self { host, ..self }
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// In lower case; an IPv6 address in brackets.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Whether the host is given as an address, which nobody needs to look up.
    #[cfg(feature = "http-client")]
    pub(crate) fn is_numeric(&self) -> bool {
        self.host.starts_with('[') || self.host.parse::<Ipv4Addr>().is_ok()
    }

    /// Whether it leads to this machine.
    #[cfg(feature = "http-client")]
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host.strip_suffix('.').unwrap_or(&self.host);
        if host == "localhost" || host.ends_with(".localhost") {
            return true;
        }
        match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(host) => host.parse::<Ipv6Addr>().is_ok_and(|address| {
                address.is_loopback() || address.to_ipv4_mapped().is_some_and(|address| address.is_loopback())
            }),
            None => host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
        }
    }
}

/// Without the query, which may hold a secret: for messages.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn host_and_port(authority: &str) -> Result<(String, Option<u16>), String> {
    let end = match authority.strip_prefix('[') {
        Some(rest) => rest.find(']').ok_or("its host has no closing bracket")? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    let is_valid = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').is_some_and(|host| host.parse::<Ipv6Addr>().is_ok()),
        None => {
            !host.is_empty()
                && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'))
        }
    };
    if !is_valid {
        return Err(format!("{host:?} is no host"));
    }
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        Some("") => None,
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
            Some(digits.parse().ok().filter(|port| *port != 0).ok_or(format!("{digits} is no port"))?)
        }
        _ => return Err(format!("{port:?} is no port")),
    };
    Ok((host.to_ascii_lowercase(), port))
}

/// Takes `.` and `..` out of a path that begins with `/`.
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut ends_open = false;
    for part in path.split('/').skip(1) {
        ends_open = matches!(part, "." | "..");
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let mut joined: String = parts.iter().flat_map(|part| ["/", *part]).collect();
    if ends_open || joined.is_empty() {
        joined.push('/');
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart_and_refused() {
        for (text, whole, shown) in [
            ("http://localhost:3000/mcp", "http://localhost:3000/mcp", "http://localhost:3000/mcp"),
            ("HTTPS://Example.COM", "https://example.com/", "https://example.com/"),
            ("https://example.com:443/a?key=s", "https://example.com/a?key=s", "https://example.com/a"),
            ("http://example.com?x=1", "http://example.com/?x=1", "http://example.com/"),
            ("http://[::1]:80/a%20b", "http://[::1]/a%20b", "http://[::1]/a%20b"),
            ("http://h:/", "http://h/", "http://h/"),
        ] {
            let url = Url::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!((url.whole().as_str(), url.to_string().as_str()), (whole, shown), "{text}");
        }
        for (text, problem) in [
            ("localhost:3000", "neither http"),
            ("ftp://a/", "neither http"),
            ("http://", "is no host"),
            ("http:///a", "is no host"),
            ("http://a b/", "is no host"),
            ("http://a/b c", "percent-encoded"),
            ("http://bücher.example/", "is no host"),
            ("http://a/ü", "percent-encoded"),
            ("http://[::g]/", "is no host"),
            ("http://[::1/", "no closing bracket"),
            ("http://a:0/", "is no port"),
            ("http://a:65536/", "is no port"),
            ("http://a:b/", "is no port"),
            ("http://user:secret@a/", "user name"),
            ("http://a/#part", "fragment"),
        ] {
            let error = Url::parse(text).expect_err(text);
            assert!(error.contains(problem) && !error.contains("secret"), "{text}: {error}");
        }
    }

    /// The library that sends requests takes what is taken here.
    #[test]
    #[cfg(feature = "http-client")]
    fn what_is_taken_can_be_sent() {
        for byte in 0..=127_u8 {
            for text in ["http://h/a", "http://h/a?b="] {
                let text = format!("{text}{}c", char::from(byte));
                if let Ok(url) = Url::parse(&text) {
                    assert!(url.whole().parse::<ureq::http::Uri>().is_ok(), "{text}");
                }
            }
        }
    }

    #[test]
    fn references_are_resolved() {
        let base = Url::parse("http://h:8080/a/sse?k=1").expect("an address");
        for (reference, want) in [
            ("/messages?s=1", "http://h:8080/messages?s=1"),
            ("messages/?s=1", "http://h:8080/a/messages/?s=1"),
            ("../m", "http://h:8080/m"),
            ("../../../m/./n/..", "http://h:8080/m/"),
            ("?s=2", "http://h:8080/a/sse?s=2"),
            ("", "http://h:8080/a/sse?k=1"),
            ("#x", "http://h:8080/a/sse?k=1"),
            ("//other/x", "http://other/x"),
            ("https://other/x", "https://other/x"),
            ("m?at=http://x/", "http://h:8080/a/m?at=http://x/"),
        ] {
            let joined = base.join(reference).unwrap_or_else(|e| panic!("{reference}: {e}"));
            assert_eq!(joined.whole(), want, "{reference}");
            assert_eq!(joined.is_of_origin(&base), want.starts_with("http://h:8080/"), "{reference}");
        }
        assert!(base.join("javascript:alert(1)").is_err());
    }

    #[test]
    #[cfg(feature = "http-client")]
    fn this_machine_is_known_by_its_names() {
        for (host, want) in [
            ("localhost", true),
            ("LOCALHOST.", true),
            ("a.localhost", true),
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("localhost.example.com", false),
            ("notlocalhost", false),
            ("128.0.0.1", false),
            ("0.0.0.0", false),
            ("[::2]", false),
        ] {
            let url = Url::parse(&format!("http://{host}:1/")).expect("an address");
            assert_eq!(url.is_loopback(), want, "{host}");
        }
    }
}
