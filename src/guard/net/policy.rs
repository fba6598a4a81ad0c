//! [`UrlPolicy`]: which URLs a server fetches for others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use super::resolve::{LookUps, NotFound};
use super::special::{embedded, special_use};
use super::{CheckedUrl, Network, Resolve, UrlError};
use crate::url::Url;

/// How long a name may take to be looked up.
const RESOLVE_TIME: Duration = Duration::from_secs(5);

/// Redirects after each other.
const MAX_REDIRECTS: u32 = 5;

/// Addresses of a host that are handed on; all are checked.
const MAX_ADDRESSES: usize = 16;

/// Which URLs may be fetched on behalf of a model: those of the public Internet, unless more or less is said.
///
/// A URL is an order to connect to something, given by whoever wrote it. Fetched from inside a network it may reach what nobody
/// outside can: the machine itself, its neighbours, the address where a cloud gives out credentials. So
/// [`check`](Self::check) looks the host up, once, compares **every** address with the [special ones](super::special_use), and returns
/// the addresses to connect to. One that is refused refuses the URL.
///
/// ```
/// use std::io::{Read, Write};
/// use std::net::TcpListener;
/// use std::time::Duration;
/// use tinymcp::guard::UrlPolicy;
///
/// let policy = UrlPolicy::new();
/// for url in ["http://127.0.0.1/", "http://[::ffff:10.0.0.1]/", "http://0x7f.1/", "http://a@b/", "file:///etc/passwd"] {
///     assert!(policy.check(url).is_err(), "{url}");
/// }
///
/// // A server of one's own, allowed by its author.
/// let server = TcpListener::bind("127.0.0.1:0")?;
/// let url = format!("http://{}/tea?kind=green", server.local_addr()?);
/// let policy = policy.allow_network("127.0.0.1".parse()?);
///
/// let checked = policy.check(&url)?;
/// let mut stream = checked.connect(Duration::from_secs(5))?; // to the addresses that were checked
/// write!(stream, "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", checked.path_and_query(), checked.authority())?;
/// let mut request = [0; 24];
/// server.accept()?.0.read_exact(&mut request)?;
/// assert_eq!(&request, b"GET /tea?kind=green HTTP");
///
/// // A redirect is a new URL, and is checked as one.
/// let error = policy.follow(&checked, "http://169.254.169.254/latest/meta-data/").unwrap_err();
/// assert_eq!(error.to_string(), "http://169.254.169.254/latest/meta-data/: its address is not a public one (link-local)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What is a good URL
///
/// `http` or `https`, a host, perhaps a port, a path, a query. Refused: a user name or password; characters that a URL may not have, `\`
/// among them; a host in another script than ASCII (its `xn--` form is one like any other); and every way to write an IPv4 address but
/// four decimal numbers, as programs read `0x7f.1`, `017700000001` and `2130706433` differently. A dot at the end of the host, and a fragment,
/// are dropped. Hosts are compared in lower case.
#[derive(Clone, Debug)]
pub struct UrlPolicy {
    https_only: bool,
    ports: Option<Vec<u16>>,
    only_hosts: Option<Vec<String>>,
    allowed_hosts: Vec<String>,
    allowed: Vec<Network>,
    refused: Vec<Network>,
    max_redirects: u32,
    resolve_time: Duration,
    look_ups: LookUps,
}

impl Default for UrlPolicy {
    fn default() -> Self {
        Self::new()
    }
}

impl UrlPolicy {
    /// The public Internet, by `http` and `https`, at any port.
    #[must_use]
    pub fn new() -> Self {
        Self {
            https_only: false,
            ports: None,
            only_hosts: None,
            allowed_hosts: Vec::new(),
            allowed: Vec::new(),
            refused: Vec::new(),
            max_redirects: MAX_REDIRECTS,
            resolve_time: RESOLVE_TIME,
            look_ups: LookUps::new(),
        }
    }

    /// Refuses `http`.
    #[must_use]
    pub fn https_only(self) -> Self {
        Self { https_only: true, ..self }
    }

    /// Refuses other ports than these.
    #[must_use]
    pub fn ports(self, ports: impl IntoIterator<Item = u16>) -> Self {
        Self { ports: Some(ports.into_iter().collect()), ..self }
    }

    /// Refuses other hosts than these. `*.example.com` stands for every host below `example.com`, which it is not itself. Their
    /// addresses are checked as ever.
    #[must_use]
    pub fn only_hosts<S: AsRef<str>>(self, hosts: impl IntoIterator<Item = S>) -> Self {
        let hosts = hosts.into_iter().map(|host| plain_host(host.as_ref())).collect();
        Self { only_hosts: Some(hosts), ..self }
    }

    /// Opens a host, wherever its name leads to; `*.example.com` those below it. For hosts whose names you trust.
    #[must_use]
    pub fn allow_host(mut self, host: impl AsRef<str>) -> Self {
        self.allowed_hosts.push(plain_host(host.as_ref()));
        self
    }

    /// Opens addresses that are refused otherwise, under whatever name. IPv4 addresses inside IPv6 ones count as IPv4.
    #[must_use]
    pub fn allow_network(mut self, network: Network) -> Self {
        self.allowed.push(network);
        self
    }

    /// Refuses further addresses, for example public ones of your own network. This wins over everything that is allowed.
    #[must_use]
    pub fn refuse_network(mut self, network: Network) -> Self {
        self.refused.push(network);
        self
    }

    /// How many redirects [`follow`](Self::follow) follows after each other. Default: 5.
    #[must_use]
    pub fn max_redirects(self, max_redirects: u32) -> Self {
        Self { max_redirects, ..self }
    }

    /// How long looking up a name may take. Default: 5 s.
    ///
    /// The system's resolver cannot be interrupted: a look-up that is late goes on by itself, on a thread, until the system gives it
    /// up. A policy and its clones have 16 of them at most, then URLs with names are an error at once.
    #[must_use]
    pub fn resolve_time(self, resolve_time: Duration) -> Self {
        Self { resolve_time, ..self }
    }

    /// Looks names up by `resolver` instead of the system's.
    ///
    /// ```
    /// use std::net::IpAddr;
    /// use tinymcp::guard::UrlPolicy;
    ///
    /// let policy = UrlPolicy::new().resolver(|host: &str| match host {
    ///     "good.example" => Ok(vec![IpAddr::from([93, 184, 215, 14])]),
    ///     "rebound.example" => Ok(vec![IpAddr::from([93, 184, 215, 14]), IpAddr::from([127, 0, 0, 1])]),
    ///     _ => Err(std::io::ErrorKind::NotFound.into()),
    /// });
    /// assert_eq!(policy.check("https://Good.Example./")?.addresses(), ["93.184.215.14:443".parse()?]);
    /// let error = policy.check("http://rebound.example/").unwrap_err();
    /// assert_eq!(error.to_string(), "http://rebound.example/: its host has an address that is not a public one (loopback)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn resolver(self, resolver: impl Resolve) -> Self {
        Self { look_ups: LookUps::by(resolver), ..self }
    }

    /// Checks a URL, and finds the addresses to connect to.
    ///
    /// # Errors
    /// When it is no good URL, when this policy refuses it, or when its host has no address or is not found in time.
    pub fn check(&self, url: &str) -> Result<CheckedUrl, UrlError> {
        let text = url.split('#').next().unwrap_or_default();
        let url = strict(text).and_then(|()| Url::parse(text)).map_err(UrlError::Bad)?;
        self.checked(url, 0)
    }

    /// Checks where the answer from `from` sends us: the `Location` of a redirect, which may be relative.
    ///
    /// Send no credentials along to [another origin](CheckedUrl::is_same_origin).
    ///
    /// # Errors
    /// As for [`check`](Self::check); also after too many redirects, and from `https` to `http`.
    pub fn follow(&self, from: &CheckedUrl, location: &str) -> Result<CheckedUrl, UrlError> {
        if from.redirects >= self.max_redirects {
            return Err(refused(&from.url, format!("more than {} redirects", self.max_redirects)));
        }
        let text = location.split('#').next().unwrap_or_default().trim_ascii();
        let url = strict(text).and_then(|()| from.url.join(text)).map_err(UrlError::Bad)?;
        if from.is_secure() && !url.is_secure() {
            return Err(refused(&url, "a redirect from https to http"));
        }
        self.checked(url, from.redirects + 1)
    }

    fn checked(&self, url: Url, redirects: u32) -> Result<CheckedUrl, UrlError> {
        let (url, host) = canonical(url).map_err(UrlError::Bad)?;
        if self.https_only && !url.is_secure() {
            return Err(refused(&url, "only https is allowed"));
        }
        if self.ports.as_ref().is_some_and(|ports| !ports.contains(&url.port())) {
            return Err(refused(&url, format!("port {} is not allowed", url.port())));
        }
        if self.only_hosts.as_ref().is_some_and(|hosts| !is_among(url.host(), hosts)) {
            return Err(refused(&url, "its host is not among those that are allowed"));
        }
        let found = match host {
            Some(address) => vec![address],
            None => self.look_ups.find(url.host(), self.resolve_time).map_err(|e| self.not_found(&url, e))?,
        };
        let is_open = is_among(url.host(), &self.allowed_hosts);
        for address in &found {
            if let Some(kind) = self.problem(*address, is_open) {
                let subject =
                    if host.is_some() { "its address is" } else { "its host has an address that is" };
                let problem = format!("{subject} {kind}");
                return Err(UrlError::Refused { url: url.to_string(), problem, address: Some(*address) });
            }
        }
        let mut addresses = Vec::new();
        for address in found {
            let address = SocketAddr::new(address, url.port());
            if addresses.len() < MAX_ADDRESSES && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            let problem = "its host has no address".to_owned();
            return Err(UrlError::NotFound { url: url.to_string(), problem, source: None });
        }
        Ok(CheckedUrl { url, addresses, redirects })
    }

    /// What is wrong with an address.
    fn problem(&self, address: IpAddr, is_open: bool) -> Option<String> {
        let inner = match address {
            IpAddr::V6(address) => embedded(address).map(IpAddr::V4),
            IpAddr::V4(_) => None,
        };
        let is_in = |address, networks: &[Network]| networks.iter().any(|network| network.contains(address));
        // Refused under either of its forms; allowed by where it leads to in the end.
        let reached = inner.unwrap_or(address);
        if is_in(address, &self.refused) || is_in(reached, &self.refused) {
            return Some("refused".to_owned());
        }
        if is_open || is_in(reached, &self.allowed) {
            return None;
        }
        special_use(address).map(|kind| format!("not a public one ({kind})"))
    }

    fn not_found(&self, url: &Url, reason: NotFound) -> UrlError {
        let (problem, source) = match reason {
            NotFound::Busy(open) => (format!("{open} look-ups of names are open"), None),
            NotFound::Late => (format!("its host was not found within {:?}", self.resolve_time), None),
            NotFound::Failed(e) => ("its host was not found".to_owned(), Some(e)),
        };
        UrlError::NotFound { url: url.to_string(), problem, source }
    }
}

fn refused(url: &Url, problem: impl Into<String>) -> UrlError {
    UrlError::Refused { url: url.to_string(), problem: problem.into(), address: None }
}

/// A host as it is compared: in lower case, without a dot at its end and without brackets.
fn plain_host(host: &str) -> String {
    let host = host.strip_suffix('.').unwrap_or(host);
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    // An address has several forms.
    inner.parse::<Ipv6Addr>().map_or_else(|_| host.to_ascii_lowercase(), |address| address.to_string())
}

fn is_among(host: &str, hosts: &[String]) -> bool {
    let host = plain_host(host);
    hosts.iter().any(|allowed| match allowed.strip_prefix("*.") {
        Some(domain) => host
            .strip_suffix(domain)
            .and_then(|below| below.strip_suffix('.'))
            .is_some_and(|below| !below.is_empty()),
        None => host == *allowed,
    })
}

/// Only the characters of RFC 3986, and whole percent-encodings: what others read in different ways.
fn strict(text: &str) -> Result<(), String> {
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let is_good = match byte {
            b'%' => matches!(after, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit()),
            _ => byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(byte),
        };
        if !is_good {
            let is_host = !text.is_ascii();
            let hint = if is_host { "; a host in another script has an xn-- form" } else { "" };
            return Err(format!("it has characters that must be percent-encoded{hint}"));
        }
        rest = after;
    }
    Ok(())
}

/// The URL with its host in the one form that is compared and sent, and its address if it is given as one.
fn canonical(url: Url) -> Result<(Url, Option<IpAddr>), String> {
    let host = url.host();
    if let Some(inner) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        let address: Ipv6Addr = inner.parse().map_err(|_| format!("{host:?} is no host"))?;
        return Ok((url.with_host(format!("[{address}]")), Some(address.into())));
    }
    let host = host.strip_suffix('.').unwrap_or(host).to_owned();
    let is_name = host.len() <= 253 && host.split('.').all(|label| (1..=63).contains(&label.len()));
    if !is_name {
        return Err(format!("{host:?} is no host"));
    }
    // As browsers tell: a number at the end makes all of it an address.
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = match last.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_hexdigit()),
        None => last.bytes().all(|b| b.is_ascii_digit()),
    };
    let address = match host.parse::<Ipv4Addr>() {
        Ok(address) => Some(IpAddr::V4(address)),
        Err(_) if is_number => return Err(format!("{host:?} is no address: write four decimal numbers")),
        Err(_) => None,
    };
    Ok((url.with_host(host), address))
}
