//! Every example runs and prints what its header says.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};

use serde_json::json;
use tinymcp::client::CallOptions;
use tinymcp::json::Json;
use tinymcp::transport::ChildProcess;
use tinymcp::{Client, ProtocolVersion};

/// The example `name`, built by the same `cargo test` as this test.
fn example(name: &str) -> PathBuf {
    let test = env::current_exe().expect("a path");
    let profile = test.parent().and_then(Path::parent).expect("target/PROFILE/deps/TEST");
    let path = profile.join("examples").join(format!("{name}{}", env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{} is missing: build it with cargo build --examples", path.display());
    path
}

/// An empty folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tinymcp-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("a new folder");
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("readable");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn output(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().expect("it starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{status}\n{stdout}\n{stderr}");
    assert_eq!(stderr, "");
    stdout.into_owned()
}

/// What the header of an example promises: the lines between `$ cargo run` and the end of the block.
fn promised(source: &str) -> String {
    let lines =
        source.lines().map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or_default());
    let lines = lines.skip_while(|line| !line.starts_with("$ cargo run")).skip(1);
    lines.take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect()
}

/// Runs `name` in a temporary folder of its own and compares; the folder's name differs on every run.
fn check(name: &str, source: &str) {
    let folder = Folder::new(name);
    let printed = output(Command::new(example(name)).env("TMPDIR", &folder.0).env("HOME", &folder.0));
    // Under a host, which the agent has if it can, tools have the name of their server before their own.
    let printed = printed.replace("notes__", "");
    let mut words: Vec<String> = printed.split(' ').map(str::to_owned).collect();
    for word in &mut words {
        if let Some(at) = word.find(&*folder.0.to_string_lossy()) {
            let rest = word[at..].strip_prefix(&*folder.0.to_string_lossy()).expect("found there");
            let digits = rest.find(|c: char| c.is_ascii_digit()).expect("a process id");
            let after = rest[digits..].trim_start_matches(|c: char| c.is_ascii_digit());
            *word = format!("/tmp{}4711{after}", &rest[..digits]);
        }
    }
    assert_eq!(words.join(" "), promised(source));
    assert!(folder.names().is_empty(), "left behind: {:?}", folder.names());
}

#[test]
#[cfg(unix)]
fn the_quickstart_prints_what_it_says() {
    check("quickstart", include_str!("../examples/quickstart.rs"));
}

#[test]
#[cfg(unix)]
fn the_agent_prints_what_it_says() {
    check("agent", include_str!("../examples/agent.rs"));
}

#[test]
#[cfg(feature = "trajectory")]
fn the_report_says_what_is_on_its_page() {
    let folder = Folder::new("report");
    let (recording, page) = (folder.0.join("episodes.jsonl"), folder.0.join("page.html"));
    fs::write(&recording, "{\"event\":\"begin\",\"trajectory\":\"7\",\"seq\":0,\"task\":\"Tidy up\"}\n")
        .expect("written");
    let said = output(Command::new(example("report")).args([&recording, &page]));
    assert_eq!(said, format!("{}: 1 trajectories, 1 events\n", page.display()));
    assert!(fs::read_to_string(&page).expect("a page").contains("Tidy up"));
    let failed = Command::new(example("report")).args([&page, &recording]).output().expect("it starts");
    let why = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && why.contains("page.html: not a recording"), "{why}");
}

#[test]
fn the_echo_client_measures_the_echo_server() {
    let mut command = Command::new(example("echo_client"));
    let printed = output(command.args(["--calls", "20", "--"]).arg(example("echo_server")));
    let figures: serde_json::Value = serde_json::from_str(&printed).expect("one line of JSON");
    assert_eq!(figures["calls"], 20);
}

/// What it can do with one that can do everything: tests/every_method.rs.
#[test]
fn the_everything_server_tells_a_client_that_can_do_nothing_what_it_lacks() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let server = ChildProcess::new(example("everything_server"));
        let client = Client::builder().versions([version.clone()]).open(server).expect("a server");
        assert_eq!(call(&client, "brew", json!({"tea": "green"})), Ok("a cup of green tea".to_owned()));
        for (tool, lacking) in [
            ("choose", "elicitation"),
            ("pay", "elicitation"),
            ("advise", "sampling"),
            ("locate", "roots"),
            ("cater", "elicitation"),
        ] {
            let called = client.call_tool(tool, json!({"mood": "fine"}));
            let problem = match called {
                // An error of its own, with which a client can know what to declare.
                Err(error) if version.is_modern() => error.to_string(),
                Ok(result) if result.is_error() => result.text_content(),
                other => panic!("{tool}: {other:?}"),
            };
            assert!(problem.contains(lacking), "{tool}: {problem}");
        }
        client.close().expect("an orderly end");
    }
}

/// A program that serves over HTTP, and is ended with the test.
#[cfg(all(feature = "http-server", feature = "http-client"))]
struct Served(std::process::Child);

#[cfg(all(feature = "http-server", feature = "http-client"))]
impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[cfg(all(feature = "http-server", feature = "http-client"))]
fn notes_are_kept_over_http_as_well() {
    use std::io::{BufRead, BufReader};

    let folder = Folder::new("notes-http");
    let mut command = Command::new(example("notes_server"));
    command.args(["--transport", "streamable-http", "--port", "0"]);
    command.env("NOTES_DIR", &folder.0).env("RUST_LOG", "info").stdin(Stdio::null()).stderr(Stdio::piped());
    let mut served = Served(command.spawn().expect("it starts"));
    let said = BufReader::new(served.0.stderr.take().expect("piped")).lines();
    let url =
        said.map(|line| line.expect("text")).find_map(|line| Some(line.split_once("serving ")?.1.to_owned()));
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let builder = Client::builder().versions([version.clone()]);
        let client = builder.connect_http(url.as_deref().expect("a URL")).expect("a client");
        let note = json!({"title": version.as_str(), "content": "bread"});
        call(&client, "create_note", note).expect("saved");
        let found = call(&client, "search_notes", json!({"query": "bread"})).expect("found");
        assert!(found.contains(version.as_str()), "{found}");
        client.close().expect("an orderly end");
    }
    assert_eq!(folder.names().len(), 2);
}

/// The notes server and a client for it.
fn notes(folder: &Path) -> Client {
    let server = ChildProcess::new(example("notes_server")).env("NOTES_DIR", folder);
    Client::builder().open(server).expect("a server")
}

fn call(client: &Client, tool: &str, arguments: serde_json::Value) -> Result<String, String> {
    let result = client.call_tool(tool, arguments).expect("a result");
    let text = result.text_content();
    if result.is_error() { Err(text) } else { Ok(text) }
}

#[test]
fn notes_are_saved_under_safe_names() {
    let outer = Folder::new("names");
    let folder = outer.0.join("made/when/missing");
    let client = notes(&folder);
    let create = |title: &str, content: &str| {
        call(&client, "create_note", json!({"title": title, "content": content, "tags": ["a", "b"]}))
    };
    for (title, name) in [
        ("Plan", "Plan.md"),
        ("../../etc/passwd", "______etc_passwd.md"),
        ("..", "__.md"),
        ("  Grüße, 世界-1_2  ", "Grüße_ 世界-1_2.md"),
        ("two\nlines: \"x\"", "two_lines_ _x_.md"),
    ] {
        let want = format!("Note saved to {}", folder.join(name).display());
        assert_eq!(create(title, "text"), Ok(want), "{title:?}");
    }
    let text = fs::read_to_string(folder.join("two_lines_ _x_.md")).expect("saved");
    assert_eq!(text, "---\ntitle: \"two\\nlines: \\\"x\\\"\"\ntags: [\"a\",\"b\"]\n---\n\ntext");

    for blank in ["", "   "] {
        let problem = create(blank, "text").expect_err("refused");
        assert_eq!(problem, "bad arguments for tool create_note: title: must not be blank");
    }
    // Another title of the same file name is refused, the same title replaces.
    let problem = create("?./../etc/passwd", "mine").expect_err("taken");
    assert!(
        problem.ends_with("etc_passwd.md: the file holds another note, choose another title"),
        "{problem}"
    );
    assert!(create("Plan", "second").is_ok());
    let text = fs::read_to_string(folder.join("Plan.md")).expect("saved");
    assert!(text.ends_with("\n\nsecond"), "{text}");
    // What the user put there is left alone.
    fs::write(folder.join("Mine.md"), "by hand").expect("writable");
    assert!(create("Mine", "x").is_err());
    client.close().expect("an orderly end");
}

#[test]
fn notes_are_found_in_either_case_and_cut_between_characters() {
    let folder = Folder::new("search");
    let client = notes(&folder.0);
    let search = |query: &str| call(&client, "search_notes", json!({"query": query})).expect("a list");
    assert_eq!(search("Plan"), "No notes found matching 'Plan'");
    for (title, content) in [
        ("b", "the PLAN\r\nis here"),
        ("a b", "no plan"),
        ("a", "planning"),
        ("İ", &format!("{}NEEDLE{}", "İ".repeat(80), "世".repeat(200))),
    ] {
        call(&client, "create_note", json!({"title": title, "content": content})).expect("saved");
    }
    fs::write(folder.0.join("hand.md"), "no front matter, a plan").expect("writable");
    fs::create_dir(folder.0.join("folder.md")).expect("a folder");
    assert_eq!(
        search("pLaN"),
        "- **a**: ...a planning...\n- **a b**: ...a b no plan...\n- **b**: ...b the PLAN  is here...\n\
         - **hand**: ...hand no front matter, a plan..."
    );
    let around = format!("- **İ**: ...{}NEEDLE{}...", "İ".repeat(50), "世".repeat(94));
    assert_eq!(search("needle"), around);
    // Front matter is not searched.
    assert_eq!(search("tags:"), "No notes found matching 'tags:'");
    client.close().expect("an orderly end");
}

#[test]
fn notes_are_resources() {
    let outer = Folder::new("resources");
    let folder = outer.0.join("notes");
    fs::create_dir(&folder).expect("a folder");
    fs::write(outer.0.join("secret.md"), "not for you").expect("writable");
    fs::create_dir(folder.join("folder.md")).expect("a folder");
    fs::write(folder.join("v1.2.md"), "by hand").expect("writable");
    for versions in [[ProtocolVersion::V2024_11_05], [ProtocolVersion::V2026_07_28]] {
        let server = ChildProcess::new(example("notes_server")).env("NOTES_DIR", &folder);
        let client = Client::builder().versions(versions.clone()).open(server).expect("a server");
        let ask = |method: &str, params: &[(&str, Json)]| {
            let options = CallOptions::default();
            client
                .request(method, params, &options)
                .map(|result| result.to_value())
                .map_err(|e| e.to_string())
        };
        let read = |uri: &str| {
            let read = ask("resources/read", &[("uri", Json::from(json!(uri)))])?;
            Ok(read["contents"][0]["text"].as_str().unwrap_or_default().to_owned())
        };
        call(&client, "create_note", json!({"title": "to do: 世", "content": "milk"})).expect("saved");
        let text = "---\ntitle: \"to do: 世\"\ntags: []\n---\n\nmilk".to_owned();
        assert_eq!(read("notes://to%20do_%20%E4%B8%96"), Ok(text.clone()));
        // By its title as well.
        assert_eq!(read("notes://to do: 世"), Ok(text));
        let listed = ask("resources/list", &[]).expect("a page");
        let note = |uri: &str, name: &str| json!({"uri": uri, "name": name, "mimeType": "text/markdown"});
        let notes = json!([note("notes://to%20do_%20%E4%B8%96", "to do_ 世"), note("notes://v1.2", "v1.2")]);
        assert_eq!(listed["resources"], notes);
        let templates = ask("resources/templates/list", &[]).expect("a page");
        assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "notes://{title}");
        let reference = json!({"type": "ref/resource", "uri": "notes://{title}"});
        let argument = json!({"name": "title", "value": "TO"});
        let params = [("ref", Json::from(reference)), ("argument", Json::from(argument))];
        let completed = ask("completion/complete", &params).expect("proposals");
        assert_eq!(completed["completion"]["values"], json!(["to do_ 世"]));
        let code = if versions[0].is_modern() { -32602 } else { -32002 };
        for (uri, problem) in [
            ("notes://lunch%20plan", "Note not found: lunch plan"),
            ("notes://secret", "Note not found: secret"),
            ("notes://..%2Fsecret", "resource not found: notes://..%2Fsecret"),
            ("notes://../secret", "resource not found: notes://../secret"),
        ] {
            let error: Result<String, String> = read(uri);
            let error = error.expect_err(uri);
            assert!(error.contains(problem) && error.contains(&code.to_string()), "{error}");
        }
        client.close().expect("an orderly end");
    }
}

/// With the feature, not even a link that somebody put into the folder leads out; nor is a pipe waited for.
#[test]
#[cfg(all(feature = "guard", unix))]
fn notes_stay_in_their_folder() {
    let outer = Folder::new("guarded");
    let folder = outer.0.join("notes");
    fs::create_dir(&folder).expect("a folder");
    let secret = "---\ntitle: \"out\"\ntags: []\n---\n\nsecret";
    fs::write(outer.0.join("secret.md"), secret).expect("writable");
    std::os::unix::fs::symlink("../secret.md", folder.join("out.md")).expect("a link");
    std::os::unix::fs::symlink("../new.md", folder.join("new.md")).expect("a link");
    assert!(Command::new("mkfifo").arg(folder.join("pipe.md")).status().expect("mkfifo").success());
    let client = notes(&folder);
    let titles =
        ["../secret", "../../etc/passwd", "/etc/passwd", "..", "nul", "a\\..\\b", "out", "new", "pipe"];
    for (n, title) in titles.into_iter().enumerate() {
        let saved = call(&client, "create_note", json!({"title": title, "content": "mine"}));
        assert_eq!(saved.is_ok(), n < 6, "{title}: {saved:?}");
    }
    let read = |title: &str| client.read_resource(&format!("notes://{title}")).map_err(|e| e.to_string());
    assert!(read("nul").is_ok());
    for title in ["out", "new", "pipe"] {
        let error = read(title).expect_err(title);
        let is_shown = error.contains("secret") || error.contains(&*outer.0.to_string_lossy());
        assert!(!is_shown, "{error}");
    }
    let found = call(&client, "search_notes", json!({"query": "secret"})).expect("a list");
    assert_eq!(found, "- **___secret**: ...../secret mine...");
    assert_eq!(client.list_resources().expect("a list").items.len(), 6);
    client.close().expect("an orderly end");
    assert_eq!(outer.names(), ["notes", "secret.md"]);
    assert_eq!(fs::read_to_string(outer.0.join("secret.md")).expect("there"), secret);
}

#[test]
fn the_logger_writes_to_stderr_alone() {
    let folder = Folder::new("log");
    fs::create_dir(folder.0.join("folder.md")).expect("a folder");
    let input = folder.0.join("input");
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_notes","arguments":{"query":"x"}}}"#;
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    fs::write(&input, format!("{hello}\n{call}\n")).expect("writable");
    let Output { status, stdout, stderr } = Command::new(example("notes_server"))
        .env("NOTES_DIR", &folder.0)
        .env_remove("RUST_LOG")
        .stdin(fs::File::open(&input).expect("readable"))
        .output()
        .expect("it starts");
    assert!(status.success(), "{status}");
    let stdout = String::from_utf8(stdout).expect("UTF-8");
    assert_eq!(stdout.lines().filter(|line| line.starts_with(r#"{"jsonrpc":"2.0","#)).count(), 2, "{stdout}");
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    assert!(stderr.contains("WARN") && stderr.contains("folder.md"), "{stderr}");
}
