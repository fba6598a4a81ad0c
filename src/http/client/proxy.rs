//! Which proxy leads to a server, by the settings or the environment.
//!
//! ureq reads the environment as well, but takes one proxy for all schemes and the entries of `NO_PROXY` literally.

use std::net::IpAddr;

use ureq::Proxy;

use crate::url::Url;

/// Where the proxy is named.
#[derive(Clone, Debug, Default)]
pub(super) enum ProxyChoice {
    /// In `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, except for what `NO_PROXY` names.
    #[default]
    Environment,
    /// Nowhere.
    None,
    Given(Proxy),
}

/// # Errors
/// When it is no address of a proxy, or of a kind that is not supported; the text holds nothing of a password.
pub(super) fn parse(text: &str) -> Result<Proxy, String> {
    let proxy = Proxy::new(text).map_err(|_| "it is no address of a proxy".to_owned())?;
    match proxy.protocol() {
        ureq::ProxyProtocol::Http => Ok(proxy),
        ureq::ProxyProtocol::Https if cfg!(feature = "tls") => Ok(proxy),
        ureq::ProxyProtocol::Https => {
            Err("a proxy that is reached by https needs the feature tls".to_owned())
        }
        other => Err(format!("proxies of the kind {other} are not supported")),
    }
}

/// The proxy for `url`, if it is to be reached through one. This machine never is.
///
/// # Errors
/// When the environment names one that cannot be used: to go around it would be worse.
pub(super) fn of(
    choice: &ProxyChoice,
    url: &Url,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Proxy>, String> {
    if url.is_loopback() {
        return Ok(None);
    }
    match choice {
        ProxyChoice::None => Ok(None),
        ProxyChoice::Given(proxy) => Ok(Some(proxy.clone())),
        ProxyChoice::Environment => {
            let either = |name: &str| {
                let value = environment(name).or_else(|| environment(&name.to_ascii_uppercase()));
                value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value))
            };
            let own = if url.is_secure() {
                either("https_proxy")
            } else if environment("REQUEST_METHOD").is_some() {
                // In a CGI program `HTTP_PROXY` is the header `Proxy` of whoever sent the request.
                environment("http_proxy").map(|value| ("http_proxy".to_owned(), value))
            } else {
                either("http_proxy")
            };
            let Some((name, proxy)) = own.or_else(|| either("all_proxy")) else { return Ok(None) };
            if either("no_proxy").is_some_and(|(_, list)| is_excepted(&list, url)) {
                return Ok(None);
            }
            parse(&proxy).map(Some).map_err(|e| format!("environment variable {name}: {e}"))
        }
    }
}

/// Whether `list` names the host of `url`: by `*`, its name or one that it is below of, its address or a network of it, each
/// perhaps with a port.
fn is_excepted(list: &str, url: &Url) -> bool {
    let host = url.host().trim_end_matches('.');
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    list.split([',', ' ']).map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        if entry == "*" {
            return true;
        }
        if let (Some(address), Some((network, bits))) = (address, entry.split_once('/')) {
            return is_inside(address, network, bits);
        }
        if let (Some(address), Ok(excepted)) = (address, entry.trim_matches(['[', ']']).parse::<IpAddr>()) {
            return address == excepted;
        }
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (entry, None),
        };
        if port.is_some_and(|port| port.parse() != Ok(url.port())) {
            return false;
        }
        let name = name.trim_start_matches('*').trim_start_matches('.').to_ascii_lowercase();
        !name.is_empty()
            && host.strip_suffix(&name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// Whether `address` begins with the first `bits` of `network`.
fn is_inside(address: IpAddr, network: &str, bits: &str) -> bool {
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else { return false };
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) if bits <= 32 => {
            (a.to_bits() ^ b.to_bits()).checked_shr(32 - bits).unwrap_or_default() == 0
        }
        (IpAddr::V6(a), IpAddr::V6(b)) if bits <= 128 => {
            (a.to_bits() ^ b.to_bits()).checked_shr(128 - bits).unwrap_or_default() == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(url: &str, environment: &[(&str, &str)]) -> Result<Option<String>, String> {
        let url = Url::parse(url).expect("an address");
        let find = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let proxy = of(&ProxyChoice::Environment, &url, &find)?;
        Ok(proxy.map(|proxy| proxy.host().to_owned()))
    }

    #[test]
    fn the_environment_is_read_as_others_read_it() {
        const HTTP: (&str, &str) = ("HTTP_PROXY", "http://h:1");
        const HTTPS: (&str, &str) = ("https_proxy", "http://s:1");
        const ALL: (&str, &str) = ("ALL_PROXY", "http://a:1");
        for (url, environment, want) in [
            ("http://x/", &[][..], None),
            ("http://x/", &[HTTP, HTTPS, ALL], Some("h")),
            ("https://x/", &[HTTP, HTTPS, ALL], Some("s")),
            ("http://x/", &[HTTPS], None),
            ("https://x/", &[HTTP], None),
            ("https://x/", &[HTTP, ALL], Some("a")),
            ("http://x/", &[("http_proxy", "http://l:1"), HTTP], Some("l")),
            ("http://x/", &[("http_proxy", ""), HTTP], None),
            ("http://x/", &[HTTP, ("REQUEST_METHOD", "GET")], None),
            ("http://x/", &[("http_proxy", "h:1"), ("REQUEST_METHOD", "GET")], Some("h")),
            ("http://localhost/", &[HTTP, ALL], None),
            ("http://127.1.2.3/", &[HTTP, ALL], None),
            ("http://[::1]/", &[HTTP, ALL], None),
        ] {
            assert_eq!(chosen(url, environment), Ok(want.map(str::to_owned)), "{url} {environment:?}");
        }
        let error = chosen("http://x/", &[("HTTP_PROXY", "socks5://user:secret@h:1")]).expect_err("refused");
        assert_eq!(error, "environment variable http_proxy: proxies of the kind SOCKS5 are not supported");
    }

    #[test]
    fn exceptions_are_names_addresses_and_networks() {
        for (list, url, want) in [
            ("*", "http://x/", true),
            ("example.com", "http://example.com/", true),
            ("example.com", "http://a.example.com/", true),
            (".example.com", "http://a.example.com/", true),
            ("*.example.com", "http://a.example.com/", true),
            ("example.com", "http://notexample.com/", false),
            ("a, b ,EXAMPLE.com", "http://Example.COM./", true),
            ("a b", "http://b/", true),
            ("example.com:8080", "http://example.com:8080/", true),
            ("example.com:8080", "http://example.com/", false),
            ("10.0.0.1", "http://10.0.0.1:9/", true),
            ("10.0.0.1", "http://10.0.0.12/", false),
            ("10.0.0.0/8", "http://10.200.3.4/", true),
            ("10.0.0.0/8", "http://11.0.0.1/", false),
            ("0.0.0.0/0", "http://8.8.8.8/", true),
            ("fd00::/8", "http://[fd12::1]/", true),
            ("[fd12::1]", "http://[fd12::1]/", true),
            ("fd00::/8", "http://[fe80::1]/", false),
            ("10.0.0.0/99", "http://10.0.0.1/", false),
            ("", "http://x/", false),
            (",,", "http://x/", false),
        ] {
            let url = Url::parse(url).expect("an address");
            assert_eq!(is_excepted(list, &url), want, "{list:?} {url}");
        }
    }
}
