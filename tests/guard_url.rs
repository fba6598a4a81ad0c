//! Which URLs may be fetched, and from where.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tinymcp::guard::{CheckedUrl, UrlError, UrlPolicy};
use tinymcp::{Server, ToolError, ToolRegistry, testing, tool};

const PUBLIC: &str = "93.184.215.14";

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// A policy with a book of names; what is not in it must not be looked up.
fn policy() -> UrlPolicy {
    UrlPolicy::new().resolver(|host: &str| match host {
        "good.example" | "xn--bcher-kva.example" | "a.b.example" | "b.example" => Ok(vec![address(PUBLIC)]),
        "both.example" => Ok(vec![address(PUBLIC), address("2606:4700::1111"), address(PUBLIC)]),
        "bad.example" => Ok(vec![address(PUBLIC), address("10.0.0.1")]),
        "metadata.google.internal" => Ok(vec![address("169.254.169.254")]),
        "intranet" => Ok(vec![address("192.168.0.7")]),
        "localhost" => Ok(vec![address("::1"), address("127.0.0.1")]),
        "none.example" => Ok(Vec::new()),
        "missing.example" => Err(io::ErrorKind::NotFound.into()),
        "panics.example" => panic!("on purpose"),
        _ => panic!("{host} was looked up"),
    })
}

#[test]
fn public_urls_give_the_addresses_to_connect_to() {
    let policy = policy();
    for (url, whole, addresses) in [
        ("http://good.example", "http://good.example/", "93.184.215.14:80"),
        (
            "HTTPS://GOOD.example.:8443/a/../b?x=%20#part",
            "https://good.example:8443/a/../b?x=%20",
            "93.184.215.14:8443",
        ),
        ("https://xn--BCHER-kva.example/", "https://xn--bcher-kva.example/", "93.184.215.14:443"),
        ("http://both.example/", "http://both.example/", "93.184.215.14:80 [2606:4700::1111]:80"),
        ("http://8.8.8.8./", "http://8.8.8.8/", "8.8.8.8:80"),
        ("http://[2606:4700:0::1111]:81/", "http://[2606:4700::1111]:81/", "[2606:4700::1111]:81"),
        ("http://[64:ff9b::8.8.8.8]/", "http://[64:ff9b::808:808]/", "[64:ff9b::808:808]:80"),
    ] {
        let checked = policy.check(url).unwrap_or_else(|e| panic!("{url}: {e}"));
        let addresses: Vec<SocketAddr> =
            addresses.split(' ').map(|address| address.parse().expect("an address")).collect();
        assert_eq!((checked.url().as_str(), checked.addresses()), (whole, &addresses[..]), "{url}");
    }
    let checked = policy.check("https://good.example:8443/a?key=secret#b").expect("fine");
    assert_eq!((checked.host(), checked.port(), checked.is_secure()), ("good.example", 8443, true));
    assert_eq!(checked.authority(), "good.example:8443");
    assert_eq!(checked.path_and_query(), "/a?key=secret");
    assert!(!format!("{checked} {checked:?}").contains("secret"));
    assert_eq!(policy.check("http://[2606:4700::1]/").expect("fine").host(), "2606:4700::1");
}

#[test]
fn what_is_no_public_address_is_refused() {
    let policy = policy();
    for host in [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "10.0.0.1",
        "172.31.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "192.0.0.192",
        "198.18.0.1",
        "203.0.113.9",
        "224.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "127.0.0.1.",
        "[::]",
        "[::1]",
        "[fe80::1]",
        "[fec0::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
        "[2001:db8::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[::127.0.0.1]",
        "[64:ff9b::10.0.0.1]",
        "[64:ff9b:1::8.8.8.8]",
        "[2002:7f00:1::]",
        "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
        "localhost",
        "LOCALHOST.",
        "intranet",
        "metadata.google.internal",
        "bad.example",
    ] {
        let error = policy.check(&format!("http://{host}/latest?key=secret")).expect_err(host);
        assert!(matches!(error, UrlError::Refused { .. }) && error.address().is_some(), "{host}: {error}");
        let text = error.to_string();
        assert!(text.contains("not a public one") && !text.contains("secret"), "{text}");
    }
    // What a name leads to is for the program alone.
    let error = policy.check("http://intranet/").expect_err("refused");
    assert_eq!(error.address(), Some(address("192.168.0.7")));
    assert!(!error.to_string().contains("192.168"), "{error}");
}

#[test]
fn odd_ways_to_write_an_address_are_refused() {
    let policy = policy();
    for host in [
        "0x7f.1",
        "0x7f000001",
        "0X7F.0.0.1",
        "017700000001",
        "2130706433",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "127.0.0.01",
        "1.2.3.4.5",
        "256.1.1.1",
        "0",
        "0x",
        "good.example.1",
        "1.2.3.4..",
        ".",
        "..",
        ".good.example",
        "good..example",
        "[127.0.0.1]",
        "[::1%25eth0]",
        "[fe80::1%eth0]",
        "[v1.x]",
        "[::1",
        "::1",
        "１２７.0.0.1",
        "127。0。0。1",
        "bücher.example",
        "127.0.0.1%00",
        "127%2e0.0.1",
        "a b",
        "a\tb",
        "good.example\\@intranet",
        "good.example\0",
        "",
    ] {
        let url = format!("http://{host}/");
        let error = policy.check(&url).expect_err(&url);
        assert!(matches!(error, UrlError::Bad(_)), "{host}: {error}");
    }
    let long = format!("http://{}/", "a.".repeat(150));
    assert!(matches!(policy.check(&long), Err(UrlError::Bad(_))));
    assert!(matches!(policy.check(&format!("http://{}.example/", "a".repeat(64))), Err(UrlError::Bad(_))));
    assert!(matches!(
        policy.check(&format!("http://good.example/{}", "a".repeat(40_000))),
        Err(UrlError::Bad(_))
    ));
}

#[test]
fn what_is_no_plain_url_of_http_is_refused() {
    let policy = policy();
    for (url, problem) in [
        ("", "neither http"),
        ("good.example", "neither http"),
        ("//good.example/", "neither http"),
        ("file:///etc/passwd", "neither http"),
        ("ftp://good.example/", "neither http"),
        ("gopher://good.example/", "neither http"),
        ("data:text/plain,x", "neither http"),
        ("javascript:alert(1)", "neither http"),
        ("http:good.example", "neither http"),
        ("http:/good.example", "neither http"),
        (" http://good.example/", "percent-encoded"),
        ("http://good.example/ ", "percent-encoded"),
        ("http://good.example/a\r\nHost: b", "percent-encoded"),
        ("http://good.example\\..\\", "percent-encoded"),
        ("http://good.example/%", "percent-encoded"),
        ("http://good.example/%2", "percent-encoded"),
        ("http://good.example/%zz", "percent-encoded"),
        ("http://good.example/ü", "percent-encoded"),
        ("http://good.example/{a}", "percent-encoded"),
        ("http://user@good.example/", "user name"),
        ("http://user:secret@good.example/", "user name"),
        ("http://good.example@127.0.0.1/", "user name"),
        ("http://127.0.0.1:80@good.example/", "user name"),
        ("http://good.example:0/", "no port"),
        ("http://good.example:65536/", "no port"),
        ("http://good.example:+80/", "no port"),
        ("http://good.example:80:80/", "no port"),
    ] {
        let error = policy.check(url).expect_err(url).to_string();
        assert!(error.contains(problem) && !error.contains("secret"), "{url:?}: {error}");
    }
}

#[test]
fn the_author_opens_and_closes_more() {
    let check = |policy: &UrlPolicy, url: &str| policy.check(url).map(drop).map_err(|e| e.to_string());
    let open = policy().allow_host("Intranet.").allow_network("127.0.0.0/8".parse().expect("a network"));
    for url in [
        "http://intranet/",
        "http://127.0.0.1:8080/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::127.0.0.1]/",
    ] {
        assert_eq!(check(&open, url), Ok(()), "{url}");
    }
    for url in [
        "http://bad.example/",
        "http://192.168.0.7/",
        "http://[::1]/",
        "http://localhost/",
        "http://10.0.0.1/",
    ] {
        assert!(check(&open, url).is_err(), "{url}");
    }
    // A network of IPv6 opens nothing of IPv4 that is hidden in it.
    let six = policy().allow_network("::/0".parse().expect("a network"));
    assert_eq!(check(&six, "http://[::1]/"), Ok(()));
    assert!(check(&six, "http://[::ffff:10.0.0.1]/").is_err() && check(&six, "http://10.0.0.1/").is_err());

    // Refusing wins.
    let closed =
        open.refuse_network("127.0.0.53".parse().expect("an address")).refuse_network(address(PUBLIC).into());
    assert!(
        check(&closed, "http://[::ffff:127.0.0.53]/").is_err()
            && check(&closed, "http://127.0.0.54/").is_ok()
    );
    assert_eq!(
        check(&closed, "http://good.example/").unwrap_err(),
        "http://good.example/: its host has an address that is refused"
    );

    let only = policy().only_hosts(["Good.Example", "*.b.example"]).ports([443, 8443]).https_only();
    for url in ["https://good.example/", "https://GOOD.example.:8443/", "https://a.b.example/"] {
        assert_eq!(check(&only, url), Ok(()), "{url}");
    }
    for (url, problem) in [
        ("http://good.example:443/", "only https"),
        ("https://good.example:444/", "port 444"),
        ("https://b.example/", "not among"),
        ("https://xb.example/", "not among"),
        ("https://good.example.evil/", "not among"),
        ("https://127.0.0.1/", "not among"),
    ] {
        assert!(check(&only, url).unwrap_err().contains(problem), "{url}");
    }
    // Being among the hosts opens no address.
    assert!(check(&policy().only_hosts(["localhost", "127.0.0.1", "[::1]"]), "http://localhost/").is_err());
    assert!(check(&policy().only_hosts(["::1"]).allow_host("0:0::1"), "http://[::1]/").is_ok());
}

#[test]
fn a_redirect_is_checked_like_any_url() {
    let policy = policy();
    let from = policy.check("https://good.example/a/b?c").expect("fine");
    let follow = |location: &str| policy.follow(&from, location);
    for (location, url, is_same) in [
        ("/d", "https://good.example/d", true),
        ("e?f#g", "https://good.example/a/e?f", true),
        ("../../h", "https://good.example/h", true),
        ("//both.example/", "https://both.example/", false),
        ("https://good.example:444/", "https://good.example:444/", false),
    ] {
        let next = follow(location).unwrap_or_else(|e| panic!("{location}: {e}"));
        assert_eq!(
            (next.url().as_str(), next.redirects(), next.is_same_origin(&from)),
            (url, 1, is_same),
            "{location}"
        );
    }
    for (location, problem) in [
        ("http://good.example/", "from https to http"),
        ("https://127.0.0.1/", "loopback"),
        ("//127.0.0.1/", "loopback"),
        ("//[::1]/", "loopback"),
        ("https://bad.example/", "private"),
        ("https://0x7f.1/", "four decimal numbers"),
        ("/\\127.0.0.1/", "percent-encoded"),
        ("\\\\127.0.0.1/", "percent-encoded"),
        ("https://a:b@good.example/", "user name"),
        ("file:///etc/passwd", "neither http"),
    ] {
        let error = follow(location).expect_err(location).to_string();
        assert!(error.contains(problem), "{location}: {error}");
    }
    let upgraded =
        policy.check("http://good.example/").and_then(|from| policy.follow(&from, "https://good.example/"));
    assert!(upgraded.is_ok());
    let mut at = from;
    let error = loop {
        match policy.follow(&at, "/") {
            Ok(next) => at = next,
            Err(e) => break e.to_string(),
        }
    };
    assert_eq!((at.redirects(), error.as_str()), (5, "https://good.example/: more than 5 redirects"));
    let none = policy.max_redirects(0);
    assert!(none.check("http://good.example/").and_then(|from| none.follow(&from, "/")).is_err());
}

/// The name leads elsewhere the second time: nobody asks a second time.
#[test]
fn a_name_is_looked_up_once() {
    let answers = Mutex::new(VecDeque::from([PUBLIC, "127.0.0.1"]));
    let policy = UrlPolicy::new().resolver(move |_: &str| {
        let next = answers.lock().expect("no panic").pop_front().ok_or(io::ErrorKind::NotFound)?;
        Ok(vec![address(next)])
    });
    let checked = policy.check("http://rebound.example/").expect("public");
    assert_eq!(checked.addresses(), [SocketAddr::new(address(PUBLIC), 80)]);
    assert!(policy.check("http://rebound.example/").is_err(), "each check asks anew");
}

#[test]
fn what_cannot_be_looked_up_is_an_error_that_says_so() {
    let policy = policy();
    for (url, text) in [
        ("http://none.example/", "http://none.example/: its host has no address"),
        ("http://missing.example/", "http://missing.example/: its host was not found: entity not found"),
        ("http://panics.example/", "http://panics.example/: its host was not found: the resolver panicked"),
    ] {
        let error = policy.check(url).expect_err(url);
        assert!(matches!(error, UrlError::NotFound { .. }), "{error:?}");
        assert_eq!(ToolError::from(error).to_string(), text);
    }
}

#[test]
fn a_resolver_that_hangs_is_given_up_and_counted() {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let ended = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ended);
    let policy = UrlPolicy::new().resolve_time(Duration::from_millis(1)).resolver(move |_: &str| {
        // Disconnected at the end of the test.
        let _ = held.lock().expect("no panic").recv();
        count.fetch_add(1, Ordering::Release);
        Ok(vec![address(PUBLIC)])
    });
    let started = Instant::now();
    for _ in 0..16 {
        let error = policy.clone().check("http://good.example/").expect_err("late");
        assert_eq!(error.to_string(), "http://good.example/: its host was not found within 1ms");
    }
    let error = policy.check("http://good.example/").expect_err("too many");
    assert_eq!(error.to_string(), "http://good.example/: 16 look-ups of names are open");
    assert!(policy.check("http://8.8.8.8/").is_ok(), "an address needs no looking up");
    assert!(started.elapsed() < Duration::from_secs(5));
    drop(release);
    let until = Instant::now() + Duration::from_secs(10);
    while ended.load(Ordering::Acquire) < 16 && Instant::now() < until {
        thread::yield_now();
    }
    let policy = policy.resolve_time(Duration::from_secs(10));
    let until = Instant::now() + Duration::from_secs(10);
    while policy.check("http://good.example/").is_err() {
        assert!(Instant::now() < until, "look-ups are still counted");
        thread::yield_now();
    }
}

/// Answers each request with the next of `answers`, and says which were asked.
struct Web {
    address: SocketAddr,
    asked: mpsc::Receiver<String>,
    is_over: Arc<AtomicBool>,
}

impl Web {
    fn new(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (asks, asked) = mpsc::channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&is_over);
        let answers: Vec<String> =
            answers.iter().map(|answer| answer.replace("PORT", &address.port().to_string())).collect();
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("a connection");
                if stops.load(Ordering::Relaxed) {
                    return;
                }
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
                asks.send(head.join("\n")).expect("somebody hears");
                write!(stream, "HTTP/1.1 {answer}\r\nconnection: close\r\n\r\n").expect("written");
            }
        });
        Self { address, asked, is_over }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread, which may have ended.
        let _ = TcpStream::connect(self.address);
    }
}

/// Status and location.
fn get(checked: &CheckedUrl) -> io::Result<(String, Option<String>)> {
    let mut stream = checked.connect(Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", checked.path_and_query(), checked.authority())?;
    let head: Vec<_> = BufReader::new(stream).lines().collect::<Result<_, _>>()?;
    let location = head.iter().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned);
    Ok((head.first().cloned().unwrap_or_default(), location))
}

#[test]
fn a_tool_fetches_what_was_opened_and_follows_nowhere_else() {
    let web =
        Web::new(&["302 x\r\nlocation: /tea", "302 x\r\nlocation: http://127.0.0.2:PORT/admin", "200 OK"]);
    let opened = "127.0.0.1".parse().expect("an address");
    let policy = UrlPolicy::new().allow_network(opened).resolver(|_: &str| Ok(vec![address("127.0.0.1")]));
    let fetch = tool! {
        fn fetch(url: String) -> Result<String, ToolError> {
            let mut checked = policy.check(&url)?;
            loop {
                let (status, location) = get(&checked)?;
                let Some(location) = location else { return Ok(status) };
                checked = policy.follow(&checked, &location)?;
            }
        }
    };
    let tools = ToolRegistry::new().with(fetch).expect("a tool");
    let client = testing::pair(&Server::builder("web", "1").tools(tools).build().expect("a server"))
        .expect("a client");
    let fetch = |url: &str| {
        let result = client.call_tool("fetch", serde_json::json!({"url": url})).expect("a result");
        (result.is_error(), result.text_content())
    };
    let port = web.address.port();
    let (is_error, text) = fetch(&format!("http://web.example:{port}/start?x=1"));
    assert!(is_error, "{text}");
    assert_eq!(text, format!("http://127.0.0.2:{port}/admin: its address is not a public one (loopback)"));
    let asked: Vec<_> =
        (0..2).map(|_| web.asked.recv_timeout(Duration::from_secs(5)).expect("asked")).collect();
    let host = format!("Host: web.example:{port}");
    assert_eq!(asked, [format!("GET /start?x=1 HTTP/1.1\n{host}"), format!("GET /tea HTTP/1.1\n{host}")]);
    assert_eq!(fetch(&format!("http://web.example:{port}/")), (false, "HTTP/1.1 200 OK".to_owned()));
}

#[test]
fn an_address_that_does_not_answer_is_followed_by_the_next() {
    let web = Web::new(&["200 OK"]);
    let policy = UrlPolicy::new()
        .allow_network("127.0.0.0/8".parse().expect("a network"))
        // Nobody listens at the first.
        .resolver(|_: &str| Ok(vec![address("127.0.0.9"), address("127.0.0.1")]));
    let checked = policy.check(&format!("http://two.example:{}/", web.address.port())).expect("opened");
    assert_eq!(get(&checked).expect("an answer").0, "HTTP/1.1 200 OK");
    drop(web);
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let checked = policy.check(&format!("http://two.example:{}/", closed.port())).expect("opened");
    assert!(checked.connect(Duration::from_secs(5)).is_err());
    assert!(checked.connect(Duration::ZERO).is_err());
}
