//! [`Allowed`]: which hosts a request may name, and which web pages it may come from.
//!
//! A web page can have its own name lead to an address of this machine or network, and then reach what listens there as if it
//! were the page's own server (DNS rebinding). Such a request names the page's host, and mostly its origin.
//!
//! | server listens on | hosts | origins |
//! |---|---|---|
//! | a loopback address | `localhost` and loopback addresses, and those that were given | pages of such hosts, and those that were given |
//! | another address | any; if some were given, those and loopback ones | the same |
//!
//! A server that others are to reach has a name that only its operator knows, so it answers to all until it is told. It is safe
//! from foreign pages by their origin, as browsers send that with every `POST`. `0.0.0.0` is an address to
//! listen on, not one to call, and pages were seen to abuse it.
//!
//! spec: 2026-07-28 basic/transports/streamable-http#security--endpoint

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::http::headers::{only, quoted};

/// Which hosts a request may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Hosts {
    /// Loopback ones if the server listens there, and any if not.
    #[default]
    Usual,
    /// Loopback ones and these: a name or address, with a port if no other will do.
    Only(Vec<String>),
    /// All: something before this server looks at them.
    Any,
}

/// Which hosts a request may name, and which web pages it may come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    /// Beside the loopback ones; `None`: any.
    hosts: Option<Vec<Authority>>,
    /// Beside those of loopback hosts.
    origins: Vec<Origin>,
}

impl Allowed {
    /// What a server that listens on `bound` allows. An origin is `scheme://host` or `scheme://host:port`.
    ///
    /// # Errors
    /// When a host or an origin is none.
    pub(super) fn new(bound: IpAddr, hosts: &Hosts, origins: &[String]) -> Result<Self, String> {
        let hosts = match hosts {
            Hosts::Usual => bound.to_canonical().is_loopback().then(Vec::new),
            Hosts::Only(hosts) => {
                Some(hosts.iter().map(|host| Authority::parsed(host)).collect::<Result<_, _>>()?)
            }
            Hosts::Any => None,
        };
        let origins = origins.iter().map(|origin| Origin::parsed(origin)).collect::<Result<_, _>>()?;
        Ok(Self { hosts, origins })
    }

    /// Looks at the values of the headers `Host` and `Origin` of a request, before its body is read.
    ///
    /// # Errors
    /// When the request must be refused, with status 403: why.
    pub(super) fn check<'a>(
        &self,
        hosts: impl IntoIterator<Item = &'a str>,
        origins: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), String> {
        let host = only(hosts, "host")?.ok_or("the host header is missing")?;
        let named = Authority::parsed(host)?;
        if let Some(allowed) = &self.hosts {
            if !named.is_loopback() && !allowed.iter().any(|allowed| allowed.covers(&named)) {
                return Err(format!("host {} is not allowed", quoted(host)));
            }
        }
        // Programs send none.
        let Some(origin) = only(origins, "origin")? else { return Ok(()) };
        let page = Origin::parsed(origin)?;
        if page.is_loopback() || self.origins.contains(&page) {
            return Ok(());
        }
        Err(format!("origin {} is not allowed", quoted(origin)))
    }
}

/// A host, and a port unless it is the usual one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Authority {
    /// In lower case; an address in its usual spelling.
    host: String,
    port: Option<u16>,
}

impl Authority {
    fn parsed(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| format!("host {} is not a host with or without a port", quoted(text)))
    }

    fn parse(text: &str) -> Option<Self> {
        let end = match text.strip_prefix('[') {
            Some(address) => address.find(']')? + 2,
            None => text.find(':').unwrap_or(text.len()),
        };
        let (host, port) = text.split_at(end);
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(address) => format!("[{}]", address.parse::<Ipv6Addr>().ok()?),
            None => Some(host.to_ascii_lowercase())
                .filter(|host| !host.is_empty() && host.bytes().all(is_of_name))?,
        };
        let port = match port.strip_prefix(':') {
            // `parse` takes a sign as well.
            Some(port) => Some(port.parse().ok().filter(|_| port.bytes().all(|byte| byte.is_ascii_digit()))?),
            None if port.is_empty() => None,
            None => return None,
        };
        Some(Self { host, port })
    }

    /// Whether this one, as it was given, means `named`: with any port, unless it has one.
    fn covers(&self, named: &Self) -> bool {
        self.host == named.host && (self.port.is_none() || self.port == named.port)
    }

    /// Whether it can mean nothing but this machine.
    fn is_loopback(&self) -> bool {
        match self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(address) => address.parse().is_ok_and(|address: Ipv6Addr| address.is_loopback()),
            None => {
                self.host == "localhost"
                    || self.host.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
            }
        }
    }
}

/// Where a web page comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    /// In lower case.
    scheme: String,
    authority: Authority,
}

impl Origin {
    fn parsed(text: &str) -> Result<Self, String> {
        Self::parse(text)
            .ok_or_else(|| format!("origin {} is not scheme://host or scheme://host:port", quoted(text)))
    }

    fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let mut authority = Authority::parse(authority)?;
        let scheme = scheme.to_ascii_lowercase();
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_lowercase())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        if matches!((scheme.as_str(), authority.port), ("http", Some(80)) | ("https", Some(443))) {
            authority.port = None;
        }
        is_scheme.then_some(Self { scheme, authority })
    }

    fn is_loopback(&self) -> bool {
        matches!(self.scheme.as_str(), "http" | "https") && self.authority.is_loopback()
    }
}

/// Whether the name of a host may hold `byte`, in lower case.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: &str = "127.0.0.1";

    fn allowed(bound: &str, hosts: &Hosts, origins: &[&str]) -> Allowed {
        let origins: Vec<_> = origins.iter().map(|origin| (*origin).to_owned()).collect();
        Allowed::new(bound.parse().expect("an address"), hosts, &origins).expect("hosts and origins")
    }

    fn these(hosts: &[&str]) -> Hosts {
        Hosts::Only(hosts.iter().map(|host| (*host).to_owned()).collect())
    }

    #[test]
    fn a_local_server_answers_to_local_names_alone() {
        for bound in [LOCAL, "127.0.0.2", "::1", "::ffff:127.0.0.1"] {
            let allowed = allowed(bound, &Hosts::Usual, &[]);
            for host in [
                "localhost",
                "localhost:8080",
                "LocalHost:1",
                "127.0.0.1",
                "127.0.0.1:65535",
                "127.9.9.9:80",
                "[::1]",
                "[::1]:8080",
                "[0:0:0:0:0:0:0:1]:8080",
            ] {
                assert_eq!(allowed.check([host], []), Ok(()), "{host}");
            }
            for host in [
                "evil.com",
                "evil.com:8080",
                "localhost.evil.com",
                "localhost.evil.com:8080",
                "evil-localhost",
                "127.0.0.1.evil.com",
                "localhost.",
                "x.localhost",
                "0.0.0.0",
                "0.0.0.0:8080",
                "[::]",
                "[::]:8080",
                "10.0.0.1",
                "[2001:db8::1]",
                "127.1",
                "2130706433",
                "0x7f.0.0.1",
            ] {
                assert_eq!(allowed.check([host], []), Err(format!("host {host:?} is not allowed")), "{host}");
            }
        }
    }

    #[test]
    fn what_is_no_host_is_refused_everywhere() {
        for allowed in [allowed(LOCAL, &Hosts::Usual, &[]), allowed("0.0.0.0", &Hosts::Any, &[])] {
            for host in [
                "",
                ":80",
                "localhost:",
                "localhost:x",
                "localhost:+80",
                "localhost:-1",
                "localhost:65536",
                "localhost:80:80",
                "::1",
                "[::1",
                "[::1]80",
                "[::1]:",
                "[]",
                "[localhost]",
                "[::1%25lo]",
                "user@localhost",
                "localhost/x",
                "http://localhost",
                "localhost evil.com",
                "localhost,evil.com",
                "lo\u{e9}",
                "localhost\0",
            ] {
                let problem = format!("host {host:?} is not a host with or without a port");
                assert_eq!(allowed.check([host], []), Err(problem), "{host}");
            }
            assert_eq!(allowed.check([], []), Err("the host header is missing".into()));
            let twice = allowed.check(["localhost", "localhost"], []);
            assert_eq!(twice, Err("there is more than one host header".into()));
        }
    }

    #[test]
    fn foreign_pages_are_refused_wherever_a_server_listens() {
        for bound in [LOCAL, "0.0.0.0", "::", "192.0.2.1"] {
            let allowed =
                allowed(bound, &Hosts::Usual, &["https://app.example.com", "vscode-webview://1a2b"]);
            let check = |origin: &str| allowed.check(["localhost:8080"], [origin]);
            for origin in [
                "http://localhost",
                "http://localhost:6274",
                "https://localhost:6274",
                "HTTP://LOCALHOST:3000",
                "http://127.0.0.1:3000",
                "http://[::1]:3000",
                "https://app.example.com",
                "https://APP.example.com",
                "https://app.example.com:443",
                "vscode-webview://1a2b",
            ] {
                assert_eq!(check(origin), Ok(()), "{origin}");
            }
            for origin in [
                "https://evil.example",
                "http://localhost.evil.com",
                "http://0.0.0.0:8080",
                "http://app.example.com",
                "https://app.example.com:8443",
                "https://x.app.example.com",
                "https://app.example.com.evil.com",
                "ftp://localhost",
                "vscode-webview://1a2c",
                "https://192.0.2.1",
            ] {
                assert_eq!(check(origin), Err(format!("origin {origin:?} is not allowed")), "{origin}");
            }
            for origin in [
                "null",
                "",
                "*",
                "localhost",
                "http:localhost",
                "http://",
                "://localhost",
                "http://localhost/",
                "http://localhost:80/x",
                "http://user@localhost",
                "http://localhost http://evil.com",
                "http://localhost,http://evil.com",
                "1http://localhost",
                "ht tp://localhost",
            ] {
                let problem = format!("origin {origin:?} is not scheme://host or scheme://host:port");
                assert_eq!(check(origin), Err(problem), "{origin}");
            }
            let twice = allowed.check(["localhost"], ["http://localhost", "http://localhost"]);
            assert_eq!(twice, Err("there is more than one origin header".into()));
            assert_eq!(allowed.check(["localhost"], []), Ok(()));
        }
    }

    #[test]
    fn hosts_are_those_that_were_given() {
        let local =
            allowed(LOCAL, &these(&["mcp.example.com", "Alt.example.com:8443", "[2001:DB8::1]"]), &[]);
        let public =
            allowed("0.0.0.0", &these(&["mcp.example.com", "alt.example.com:8443", "[2001:db8::1]"]), &[]);
        assert_eq!(local, public);
        for (host, is_allowed) in [
            ("mcp.example.com", true),
            ("MCP.Example.Com:9", true),
            ("alt.example.com:8443", true),
            ("alt.example.com", false),
            ("alt.example.com:443", false),
            ("[2001:db8:0::1]:80", true),
            ("example.com", false),
            ("x.mcp.example.com", false),
            ("localhost:80", true),
            ("0.0.0.0", false),
        ] {
            assert_eq!(public.check([host], []).is_ok(), is_allowed, "{host}");
        }
        // That a host is allowed says nothing of the pages it serves: a name may be made to lead here.
        assert!(public.check(["mcp.example.com"], ["https://mcp.example.com"]).is_err());
        // Nothing but loopback.
        assert!(allowed("0.0.0.0", &these(&[]), &[]).check(["mcp.example.com"], []).is_err());
        for any in [
            allowed("0.0.0.0", &Hosts::Usual, &[]),
            allowed("192.0.2.1", &Hosts::Usual, &[]),
            allowed(LOCAL, &Hosts::Any, &[]),
        ] {
            assert_eq!(any.check(["whatever.example.com:80"], []), Ok(()));
            assert!(any.check(["evil.com"], ["https://evil.com"]).is_err());
        }
    }

    #[test]
    fn what_is_given_must_be_a_host_or_an_origin() {
        let local = IpAddr::from([127, 0, 0, 1]);
        for host in ["http://x", "x/", "", "x:y", "*.example.com"] {
            let problem = format!("host {host:?} is not a host with or without a port");
            assert_eq!(Allowed::new(local, &these(&[host]), &[]), Err(problem));
        }
        for origin in ["https://x/", "x", "*", "null"] {
            let problem = format!("origin {origin:?} is not scheme://host or scheme://host:port");
            assert_eq!(Allowed::new(local, &Hosts::Usual, &[origin.to_owned()]), Err(problem));
        }
        let long = "x".repeat(1000) + "/";
        let problem = Allowed::new(local, &these(&[&long]), &[]).expect_err("too long to show");
        assert!(problem.len() < 200, "{problem}");
    }
}
