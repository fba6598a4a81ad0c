//! URLs that a server sends the user to: which are safe to show, and which are done with.

use std::collections::VecDeque;

use crate::sync::{CancelToken, Mutex, lock};

/// So many URLs that a user was sent to are remembered for the notice that they are done with; then the oldest is
/// forgotten.
const REMEMBERED: usize = 256;

/// The host of a web address.
///
/// Browsers repair a lot: they take `\` for `/`, drop line breaks, and know names and passwords before the host. What
/// a user reads must be where the browser goes, so everything that would need repair is refused.
///
/// spec: 2026-07-28 client/elicitation#safe-url-handling
pub(super) fn host(url: &str) -> Result<&str, &'static str> {
    let (scheme, rest) = url.split_once("://").ok_or("is no web address")?;
    if !scheme.eq_ignore_ascii_case("https") && !scheme.eq_ignore_ascii_case("http") {
        return Err("is no http or https address");
    }
    if !rest.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'<' | b'>')) {
        return Err("has characters that must be escaped");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("has a user's name before its host");
    }
    let (host, port) = match authority.find(']') {
        Some(end) if authority.starts_with('[') => {
            let (host, port) = authority.split_at(end + 1);
            (host, port.strip_prefix(':').or(port.is_empty().then_some("")).ok_or("has a bad port")?)
        }
        _ => authority.split_once(':').unwrap_or((authority, "")),
    };
    let is_v6 = host.len() > 2 && host.starts_with('[');
    let is_letter = |byte: u8| match is_v6 {
        true => byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.' | b'[' | b']'),
        false => byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'),
    };
    if host.is_empty() || !host.bytes().all(is_letter) {
        return Err("has no host");
    }
    if port.len() > 5 || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("has a bad port");
    }
    Ok(host)
}

/// The URLs that a user was sent to, until the server says that they are done with.
///
/// Owner: the client's role. Bound: [`REMEMBERED`]. End of each: its notice, or a newer one that takes its place.
#[derive(Debug, Default)]
pub(super) struct Urls(Mutex<VecDeque<(String, CancelToken)>>);

impl Urls {
    /// The user is sent to the URL of this id; the token fires when it is done with.
    pub(super) fn open(&self, id: &str) -> CancelToken {
        let mut open = lock(&self.0);
        if let Some((_, done)) = open.iter().find(|(known, _)| known == id) {
            return done.clone();
        }
        if open.len() >= REMEMBERED {
            open.pop_front();
        }
        let done = CancelToken::new();
        open.push_back((id.to_owned(), done.clone()));
        done
    }

    /// It is done with; `false` if nobody was sent there, or that was said before. Never blocks.
    ///
    /// spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation (others MUST be ignored)
    pub(super) fn complete(&self, id: &str) -> bool {
        let found = {
            let mut open = lock(&self.0);
            let at = open.iter().position(|(known, _)| known == id);
            at.and_then(|at| open.remove(at))
        };
        found.inspect(|(_, done)| done.cancel("done")).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_web_addresses_have_a_host() {
        for (url, expected) in [
            ("https://example.com", "example.com"),
            ("HTTPS://Example.com:8443/a?b#c@d", "Example.com"),
            ("http://localhost:80/", "localhost"),
            ("https://[::1]:80/x", "[::1]"),
            ("https://[::1]", "[::1]"),
            ("https://a.example?next=https://b.example/", "a.example"),
            ("https://xn--pple-43d.example/", "xn--pple-43d.example"),
        ] {
            assert_eq!(host(url), Ok(expected), "{url}");
        }
        for url in [
            "",
            "example.com",
            "javascript:alert(1)",
            "javascript://example.com/%0aalert(1)",
            "file:///etc/passwd",
            "data:text/html,hi",
            "vscode://x/y",
            " https://example.com",
            "https:example.com",
            "https:/example.com",
            "https:///example.com",
            "https://",
            "https://:80",
            "https://?a",
            "https://good.example@evil.example/",
            "https://good.example:x@evil.example/",
            "https://good.example\\@evil.example/",
            "https://good.example\\.evil.example/",
            "https://good.example\n.evil.example/",
            "https://good.example/\u{202e}moc",
            "https://gооd.example/",
            "https://good%2eexample/",
            "https://good.example:8o/",
            "https://good.example:123456/",
            "https://a:1:2/",
            "https://[::1/",
            "https://[::1]x/",
            "https://[evil.example]/",
            "https://[]/",
        ] {
            assert!(host(url).is_err(), "{url:?}: {:?}", host(url));
        }
    }

    #[test]
    fn a_url_is_done_with_once_and_only_if_somebody_was_sent_there() {
        let urls = Urls::default();
        let done = urls.open("a");
        assert!(!urls.complete("b") && !done.is_cancelled());
        let again = urls.open("a");
        assert!(urls.complete("a") && done.is_cancelled() && again.is_cancelled());
        assert!(!urls.complete("a"));
        let first = urls.open("0");
        for n in 1..=REMEMBERED {
            urls.open(&n.to_string());
        }
        assert!(!urls.complete("0") && !first.is_cancelled() && urls.complete("1"));
    }
}
