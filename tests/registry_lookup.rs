//! Asking a registry of servers, before one that answers in the shapes of the published API, and before hostile ones.

#[path = "support/scripted_http.rs"]
mod scripted;

use std::thread;
use std::time::{Duration, Instant};

use scripted::{Arrived, ScriptedHttp};
use serde_json::{Value, json};
use tinymcp::http::HttpTransport;
use tinymcp::http::registry::{Page, Query, RegistryError, ServerRegistry, SetupOptions, Status};

/// A server as the API lists one.
fn listed(name: &str, version: &str) -> Value {
    json!({
        "server": {
            "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": name,
            "description": "Made for this test",
            "title": "A title",
            "version": version,
            "websiteUrl": "https://example.com/about",
            "repository": {"url": "https://example.com/source", "source": "example", "id": "1"},
            "packages": [{
                "registryType": "npm",
                "registryBaseUrl": "https://registry.npmjs.org",
                "identifier": "@made/up",
                "version": version,
                "transport": {"type": "stdio"},
                "environmentVariables": [{"name": "API_KEY", "isRequired": true, "isSecret": true}]
            }],
            "remotes": [{"type": "streamable-http", "url": "https://mcp.example.com/mcp"}]
        },
        "_meta": {"io.modelcontextprotocol.registry/official": {
            "status": "active",
            "publishedAt": "2026-01-02T03:04:05Z",
            "updatedAt": "2026-01-02T03:04:06Z",
            "isLatest": true
        }}
    })
}

fn page(servers: &[Value], next: Option<&str>) -> Value {
    let mut metadata = json!({"count": servers.len()});
    if let Some(next) = next {
        metadata["nextCursor"] = json!(next);
    }
    json!({"servers": servers, "metadata": metadata})
}

/// What `ask` gets from a registry that answers each request in turn by one of `answers`; and what it was asked.
fn asked<T: Send>(
    answers: Vec<Box<dyn FnOnce(Arrived) + Send>>,
    ask: impl FnOnce(&ServerRegistry) -> T + Send,
) -> (T, Vec<String>) {
    let server = ScriptedHttp::start();
    let registry = ServerRegistry::new(&server.url("")).expect("an address");
    thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&registry));
        let mut paths = Vec::new();
        for answer in answers {
            let arrived = server.expect_verb("GET");
            assert_eq!(arrived.header("accept"), Some("application/json"));
            paths.push(arrived.path.clone());
            answer(arrived);
        }
        let got = asking.join().expect("no panic");
        assert!(server.try_next().is_none(), "it asks once more");
        (got, paths)
    })
}

fn answer(body: Value) -> Box<dyn FnOnce(Arrived) + Send> {
    Box::new(move |arrived| arrived.reply_json("200 OK", &[], &body))
}

fn status(status: &'static str, body: &'static str) -> Box<dyn FnOnce(Arrived) + Send> {
    Box::new(move |arrived| arrived.reply(status, &[("content-type", "application/json")], body))
}

/// What comes of one answer to a list.
fn list(answer: Box<dyn FnOnce(Arrived) + Send>) -> Result<Page, RegistryError> {
    asked(vec![answer], |registry| registry.list(&Query::new())).0
}

#[test]
fn a_page_has_servers_with_all_that_is_published() {
    let query = Query::new().with_search("we ather/&").latest().with_limit(3).with_cursor("a/b:1+2");
    let body = page(&[listed("io.github.ann/weather", "1.2.3")], Some("more"));
    let (got, paths) = asked(vec![answer(body)], |registry| registry.list(&query));
    assert_eq!(paths, ["/v0.1/servers?search=we%20ather%2F%26&version=latest&limit=3&cursor=a%2Fb%3A1%2B2"]);
    let page = got.expect("a page");
    assert_eq!((page.next_cursor.as_deref(), page.broken.len()), (Some("more"), 0));
    let server = &page.servers[0];
    assert_eq!((server.name.as_str(), server.version.as_str()), ("io.github.ann/weather", "1.2.3"));
    assert_eq!(server.title.as_deref(), Some("A title"));
    assert_eq!(server.description.as_deref(), Some("Made for this test"));
    assert_eq!(server.website_url.as_deref(), Some("https://example.com/about"));
    assert_eq!(server.repository_url.as_deref(), Some("https://example.com/source"));
    assert_eq!((server.status.clone(), server.is_latest), (Some(Status::Active), Some(true)));
    assert_eq!(server.published_at.as_deref(), Some("2026-01-02T03:04:05Z"));
    assert_eq!((server.packages.len(), server.remotes.len(), server.unread.len()), (1, 1, 0));
    assert!(server.extra.get::<String>("$schema").is_some());
}

#[test]
fn a_search_reads_all_pages_of_latest_versions() {
    let pages = vec![
        answer(page(&[listed("a.b/one", "1.0.0"), json!(7)], Some("c1"))),
        answer(page(&[json!({"server": {"name": "a.b/two"}})], Some("c2"))),
        answer(page(&[listed("a.b/three", "1.0.0")], Some(""))),
    ];
    let (found, paths) = asked(pages, |registry| registry.search("b"));
    let found = found.expect("found");
    assert_eq!(
        paths,
        [
            "/v0.1/servers?search=b&version=latest",
            "/v0.1/servers?search=b&version=latest&cursor=c1",
            "/v0.1/servers?search=b&version=latest&cursor=c2"
        ]
    );
    let names: Vec<_> = found.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!((names, found.next_cursor), (vec!["a.b/one", "a.b/three"], None));
    let broken: Vec<_> = found.broken.iter().map(|broken| (broken.index, broken.name.as_deref())).collect();
    assert_eq!(broken, [(1, None), (2, Some("a.b/two"))]);
    assert_eq!(found.broken[1].problem, "server.version: missing");
}

#[test]
fn a_search_stops_where_there_are_too_many() {
    let many: Vec<_> = (0..600).map(|i| listed(&format!("a.b/s{i}"), "1.0.0")).collect();
    let pages = vec![answer(page(&many, Some("c1"))), answer(page(&many, Some("c2")))];
    let (found, _) = asked(pages, |registry| registry.search(""));
    let found = found.expect("found");
    assert_eq!((found.servers.len(), found.next_cursor.as_deref()), (1_200, Some("c2")));
}

#[test]
fn pages_that_lead_in_a_circle_end() {
    let pages =
        vec![answer(page(&[], Some("x"))), answer(page(&[], Some("y"))), answer(page(&[], Some("x")))];
    let (results, _) = asked(pages, |registry| registry.pages(Query::new()).collect::<Vec<_>>());
    assert_eq!(results.len(), 3);
    let error = results[2].as_ref().expect_err("a circle");
    assert!(matches!(error, RegistryError::Malformed(text) if text.contains("lead back")), "{error}");
}

#[test]
fn one_server_is_asked_for_by_name_and_version() {
    let one = || answer(listed("io.github.ann/weather", "1.0.0+build"));
    let (got, paths) = asked(vec![one(), one(), answer(page(&[], None))], |registry| {
        let latest = registry.server("io.github.ann/weather")?;
        let exact = registry.server_version("io.github.ann/weather", "1.0.0+build")?;
        Ok::<_, RegistryError>((latest, exact, registry.versions("io.github.ann/weather")?))
    });
    let (latest, exact, versions) = got.expect("answers");
    assert_eq!((latest.version.as_str(), &latest), ("1.0.0+build", &exact));
    assert_eq!(versions, Page::default());
    assert_eq!(
        paths,
        [
            "/v0.1/servers/io.github.ann%2Fweather/versions/latest",
            "/v0.1/servers/io.github.ann%2Fweather/versions/1.0.0%2Bbuild?include_deleted=true",
            "/v0.1/servers/io.github.ann%2Fweather/versions?include_deleted=true"
        ]
    );
    let setup = latest.setup(&SetupOptions::new()).expect("an entry");
    assert_eq!(setup.inputs[0].id, "weather.API_KEY");
}

#[test]
fn names_and_versions_that_are_none_are_not_asked_for() {
    let (results, _) = asked(vec![], |registry| {
        let names = [
            "",
            "weather",
            "../x",
            "a/b/c",
            "a/b c",
            "a/b\u{202e}",
            "a/b?x",
            &format!("a/{}", "b".repeat(300)),
        ];
        let mut results: Vec<_> = names.iter().map(|name| registry.server(name).map(drop)).collect();
        for version in ["", "..", "1 2", "1\n"] {
            results.push(registry.server_version("a/b", version).map(drop));
        }
        results
    });
    for result in results {
        let error = result.expect_err("no name");
        assert!(matches!(error, RegistryError::InvalidUse(_)), "{error}");
        assert!(!error.to_string().contains(['\u{202e}', '\n']), "{error}");
    }
}

#[test]
fn another_server_than_was_asked_for_is_no_answer() {
    for (name, version) in [("io.github.eve/weather", "1.0.0"), ("io.github.ann/weather", "2.0.0")] {
        let (got, _) = asked(vec![answer(listed(name, version))], |registry| {
            registry.server_version("io.github.ann/weather", "1.0.0")
        });
        assert!(
            matches!(&got, Err(RegistryError::Malformed(text)) if text.contains("answers with")),
            "{got:?}"
        );
    }
    let (got, _) =
        asked(vec![answer(page(&[listed("a/b", "1.0.0"), listed("a/c", "1.0.0")], None))], |registry| {
            registry.versions("a/b")
        });
    assert!(matches!(&got, Err(RegistryError::Malformed(text)) if text.contains("a/c")), "{got:?}");
}

#[test]
fn what_is_deprecated_or_deleted_is_shown() {
    let mut old = listed("a.b/old", "1.0.0");
    old["_meta"]["io.modelcontextprotocol.registry/official"] = json!({"status": "deprecated", "statusMessage": "use a.b/new\u{1b}[2K", "statusChangedAt": "2026-02-01T00:00:00Z"});
    let mut gone = listed("a.b/gone", "1.0.0");
    gone["_meta"]["io.modelcontextprotocol.registry/official"] =
        json!({"status": "deleted", "isLatest": false});
    // What a publisher says of itself is not what the registry says.
    let mut liar = gone.clone();
    liar["server"]["status"] = json!("active");
    let mut odd = listed("a.b/odd", "1.0.0");
    odd["_meta"] = json!({"io.modelcontextprotocol.registry/official": {"status": "frozen"}});
    let mut bare = listed("a.b/bare", "1.0.0");
    bare["_meta"] = json!(5);
    let page = list(answer(page(&[old, gone, liar, odd, bare], None))).expect("a page");
    let statuses: Vec<_> = page.servers.iter().map(|server| server.status.clone()).collect();
    let other = Some(Status::Other("frozen".to_owned()));
    assert_eq!(
        statuses,
        [Some(Status::Deprecated), Some(Status::Deleted), Some(Status::Deleted), other, None]
    );
    assert_eq!(page.servers[0].status_message.as_deref(), Some("use a.b/new\\u{1b}[2K"));
    assert_eq!(page.servers[0].status_changed_at.as_deref(), Some("2026-02-01T00:00:00Z"));

    let setup = page.servers[0].setup(&SetupOptions::new()).expect("deprecated is no error");
    assert_eq!(setup.cautions, ["the registry marks it as deprecated: use a.b/new\\u{1b}[2K"]);
    let error = page.servers[1].setup(&SetupOptions::new()).expect_err("deleted");
    assert_eq!(error.to_string(), "a.b/gone 1.0.0 (npm package): deleted");
    let setup = page.servers[1].setup(&SetupOptions::new().with_deleted()).expect("asked for");
    assert_eq!(setup.cautions, ["the registry marks it as deleted", "there is a newer version"]);
}

#[test]
fn one_broken_server_hides_no_other() {
    let good = listed("a.b/good", "1.0.0");
    let with = |member: &str, value: Value| {
        let mut server = good.clone();
        server["server"][member] = value;
        server
    };
    let bad = [
        json!(null),
        json!("text"),
        json!([]),
        json!({}),
        json!({"server": 5}),
        with("name", json!(5)),
        with("name", json!("a.b/\u{1b}[31mred")),
        with("name", json!("no slash")),
        with("version", json!(null)),
        with("version", json!("1\u{202e}0")),
    ];
    // Optional members of the wrong type cost only themselves.
    let odd = [
        with("description", json!(5)),
        with("title", json!({"a": 1})),
        with("websiteUrl", json!("javascript:alert(1)")),
        with("repository", json!("x")),
        with("packages", json!("x")),
        with("remotes", json!({"a": 1})),
        with("packages", json!([5, {"registryType": "npm"}, good["server"]["packages"][0].clone()])),
    ];
    let all: Vec<_> = [std::slice::from_ref(&good), &bad, &odd, std::slice::from_ref(&good)].concat();
    let page = list(answer(page(&all, None))).expect("a page");
    assert_eq!((page.servers.len(), page.broken.len()), (2 + odd.len(), bad.len()));
    let places: Vec<_> = page.broken.iter().map(|broken| broken.index).collect();
    assert_eq!(places, (1..=bad.len()).collect::<Vec<_>>());
    assert_eq!(page.broken[6].name.as_deref(), Some("a.b/\\u{1b}[31mred"));
    for broken in &page.broken {
        let text = format!("{:?} {}", broken.name, broken.problem);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
    assert_eq!(page.servers[3].website_url, None);
    assert_eq!(page.servers[5].unread, ["packages: expected a list, found \"x\""]);
    let last = &page.servers[7];
    assert_eq!(last.packages.len(), 1);
    assert_eq!(last.unread, ["packages[0]: expected an object, found 5", "packages[1].identifier: missing"]);
}

#[test]
fn texts_are_made_visible_and_cut() {
    let mut server = listed("a.b/good", "1.0.0");
    server["server"]["title"] = json!("a\u{202e}b\u{7}c");
    server["server"]["description"] = json!("x".repeat(100_000));
    let page = list(answer(page(&[server], None))).expect("a page");
    assert_eq!(page.servers[0].title.as_deref(), Some("a\\u{202e}b\\u{7}c"));
    assert!(page.servers[0].description.as_ref().is_some_and(|text| text.len() < 10_000));
}

#[test]
fn a_byte_that_is_no_utf_8_costs_its_own_text() {
    let mut body =
        page(&[listed("a.b/one", "1.0.0"), listed("a.b/two", "1.0.0")], None).to_string().into_bytes();
    let at = body.windows(4).position(|four| four == b"Made").expect("a description");
    body[at] = 0xff;
    let raw = Box::new(move |arrived: Arrived| {
        let mut all = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
        all.extend_from_slice(&body);
        arrived.say(&all);
    });
    let page = list(raw).expect("a page");
    assert_eq!(page.servers[0].description.as_deref(), Some("\u{fffd}ade for this test"));
    assert_eq!(page.servers[1].description.as_deref(), Some("Made for this test"));
}

#[test]
fn what_is_no_page_is_an_error_that_says_so() {
    for (body, said) in [
        ("", "breaks off"),
        (r#"{"servers": [{"server""#, "breaks off"),
        ("<html>\u{1b}[2Jhello</html>", "no JSON"),
        ("[]", "expected an object"),
        (r#"{"items": []}"#, "servers: missing"),
        (r#"{"servers": 5}"#, "expected a list"),
        (r#"{"servers": {}}"#, "expected a list"),
    ] {
        let error = list(status("200 OK", body)).expect_err(body);
        let text = error.to_string();
        assert!(matches!(error, RegistryError::Malformed(_)) && text.contains(said), "{body}: {text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
    assert_eq!(list(status("200 OK", r#"{"servers": null, "metadata": 5}"#)), Ok(Page::default()));
    let deep = format!(r#"{{"servers": [{}{}]}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let result = list(Box::new(move |arrived| arrived.reply("200 OK", &[], &deep)));
    assert!(
        matches!(result, Err(RegistryError::Malformed(_))) || result.is_ok_and(|page| page.broken.len() == 1)
    );
}

#[test]
fn statuses_are_told_apart() {
    let error = list(status("404 Not Found", r#"{"error": "Server not found"}"#)).expect_err("not there");
    assert!(matches!(&error, RegistryError::NotFound(text) if text.contains("Server not found")), "{error}");
    assert!(!error.is_retryable());
    for (line, code, again) in [
        ("401 Unauthorized", 401, false),
        ("429 Too Many Requests", 429, true),
        ("500 Internal Server Error", 500, true),
        ("204 No Content", 204, false),
    ] {
        let error = list(status(line, "")).expect_err(line);
        assert!(matches!(error, RegistryError::Rejected { status, .. } if status == code), "{error}");
        assert_eq!(error.is_retryable(), again, "{error}");
    }
}

#[test]
fn answers_are_read_up_to_a_limit_and_in_their_time() {
    let body = page(&[listed("a.b/one", "1.0.0")], None).to_string();
    for (limit, is_read) in [(body.len(), true), (body.len() - 1, false)] {
        let body = body.clone();
        let answer = Box::new(move |arrived: Arrived| arrived.reply("200 OK", &[], &body));
        let (got, _) =
            asked(vec![answer], |registry| registry.clone().max_answer_bytes(limit).list(&Query::new()));
        assert_eq!(got.is_ok(), is_read);
        assert!(is_read || matches!(got, Err(RegistryError::TooLarge { limit: told, .. }) if told == limit));
    }
    // A head, and then silence.
    let server = ScriptedHttp::start();
    let registry =
        ServerRegistry::new(&server.url("")).expect("an address").answer_time(Duration::from_millis(300));
    let start = Instant::now();
    let asking = thread::spawn(move || registry.list(&Query::new()));
    let arrived = server.expect_verb("GET");
    let stream = arrived.stream(&[]);
    let error = asking.join().expect("no panic").expect_err("too late");
    assert!(matches!(error, RegistryError::Unreachable(_)) && error.is_retryable(), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20));
    drop(stream);
}

#[test]
fn nobody_there_is_an_error() {
    let url = ScriptedHttp::start().url("");
    let error = ServerRegistry::new(&url).expect("an address").list(&Query::new()).expect_err("nobody");
    assert!(matches!(&error, RegistryError::Unreachable(text) if text.contains(&url)), "{error}");
}

#[test]
fn redirects_stay_within_the_origin() {
    let to = |place: &'static str| -> Box<dyn FnOnce(Arrived) + Send> {
        Box::new(move |arrived| arrived.reply("308 Permanent Redirect", &[("location", place)], ""))
    };
    let answers = vec![to("/other/v0.1/servers"), answer(page(&[], None))];
    let (got, paths) = asked(answers, |registry| registry.list(&Query::new()));
    assert_eq!((got, paths[1].as_str()), (Ok(Page::default()), "/other/v0.1/servers"));
    let error = list(to("http://192.0.2.1/v0.1/servers")).expect_err("elsewhere");
    assert!(matches!(&error, RegistryError::Malformed(text) if text.contains("not followed")), "{error}");
    let circle = (0..6).map(|_| to("/v0.1/servers")).collect();
    let (got, _) = asked(circle, |registry| registry.list(&Query::new()));
    assert!(matches!(&got, Err(RegistryError::Malformed(text)) if text.contains("more than 5")), "{got:?}");
}

#[test]
fn an_encoded_body_is_not_read() {
    let odd = Box::new(|arrived: Arrived| arrived.reply("200 OK", &[("content-encoding", "gzip")], "x"));
    let error = list(odd).expect_err("encoded");
    assert!(matches!(&error, RegistryError::Malformed(text) if text.contains("gzip")), "{error}");
}

#[test]
fn a_registry_of_ones_own_has_a_path_headers_and_no_query() {
    let server = ScriptedHttp::start();
    for (path, asked) in [
        ("/team/", "/team/v0.1/servers"),
        ("/team/v0", "/team/v0/servers"),
        ("/vault", "/vault/v0.1/servers"),
    ] {
        let transport = HttpTransport::new(&server.url(path)).expect("an address");
        let transport = transport.header("Authorization", "Bearer s3cr3t").expect("a header");
        let registry = ServerRegistry::over(transport).expect("a registry");
        assert!(!format!("{registry:?}").contains("s3cr3t"));
        thread::scope(|scope| {
            let asking = scope.spawn(|| registry.list(&Query::new()));
            let arrived = server.expect_verb("GET");
            assert_eq!(
                (arrived.path.as_str(), arrived.header("authorization")),
                (asked, Some("Bearer s3cr3t"))
            );
            arrived.reply_json("200 OK", &[], &page(&[], None));
            assert_eq!(asking.join().expect("no panic"), Ok(Page::default()));
        });
    }
    assert!(ServerRegistry::new(&server.url("/?key=1")).is_err());
}

#[test]
fn the_official_registry_needs_tls() {
    match ServerRegistry::official() {
        Ok(registry) => assert!(format!("{registry:?}").contains("registry.modelcontextprotocol.io")),
        Err(error) => {
            assert!(!cfg!(feature = "tls") && error.to_string().contains("the feature tls"), "{error}")
        }
    }
}
