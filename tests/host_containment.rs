//! Containment without a sandbox of the system: layers, limits, containers by a runtime that is a script, and what is said where a
//! tool is missing.

#![cfg(target_os = "linux")]

#[path = "support/places.rs"]
mod places;
mod support;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use places::Place;
use support::alone::{alone, is_alive, mcp_threads};
use support::peers::{self, eventually, odd};
use tinymcp::client::Client;
use tinymcp::host::containment::{Bwrap, CommandLine, Container, Containment, Limits, Sandbox, Spawner};
use tinymcp::transport::{ChildProcess, EndStep, Environment, Spawn};
use tinymcp::{Error, Result};

#[test]
fn child() {
    peers::child();
}

fn spawner() -> Spawner {
    Spawner::start().expect("a thread")
}

#[test]
fn layers_are_put_around_each_other_and_the_end_is_told_after_each_start() {
    let _alone = alone();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let layer = |name: &'static str| {
        let seen = Arc::clone(&seen);
        move |mut command: CommandLine| -> Result<CommandLine> {
            let seen = Arc::clone(&seen);
            seen.lock().expect("ours").push(format!("start {name}"));
            command.at_end(move || seen.lock().expect("ours").push(format!("end {name}")));
            Ok(command.wrapped_in("env", [format!("LAYER_{name}=1")]))
        }
    };
    let contained = Containment::new(&spawner()).with(layer("A")).with(layer("B"));
    let wrapped = Sandbox::wrap(&contained, CommandLine::new("server")).expect("wraps");
    assert_eq!(wrapped.program, "env");
    assert_eq!(wrapped.args, ["LAYER_B=1", "env", "LAYER_A=1", "server"]);
    drop(wrapped);

    let client = Client::builder().open(contained.apply(odd("env"))).expect("starts");
    let text = client.call_tool("t", ()).expect("answers").text_content();
    assert!(text.contains("LAYER_A") && text.contains("LAYER_B"), "{text}");
    client.handle().reconnect().expect("starts again");
    client.close().expect("closes");
    let once = ["start A", "start B", "end B", "end A"];
    assert_eq!(*seen.lock().expect("ours"), [once, once, once].concat());
}

#[test]
fn what_cannot_be_wrapped_or_started_is_not_started_and_ends_in_order() {
    let _alone = alone();
    let ended = Arc::new(Mutex::new(0));
    let count = || {
        let ended = Arc::clone(&ended);
        move |mut command: CommandLine| -> Result<CommandLine> {
            let ended = Arc::clone(&ended);
            command.at_end(move || *ended.lock().expect("ours") += 1);
            Ok(command)
        }
    };
    let refuse = |_: CommandLine| Err(Error::Unsupported("no sandbox today".into()));
    let open = |contained: Containment, server| {
        let error = Client::builder().open(contained.apply(server)).expect_err("not started");
        let Error::Transport { error, .. } = error else { panic!("{error}") };
        (error.kind(), error.to_string())
    };
    let (kind, text) =
        open(Containment::new(&spawner()).with(count()).with(refuse), ChildProcess::new("server"));
    assert_eq!((kind, text.as_str()), (io::ErrorKind::Unsupported, "server: no sandbox today"));
    let (kind, text) = open(Containment::new(&spawner()).with(count()), ChildProcess::new("/no/such/server"));
    assert_eq!(kind, io::ErrorKind::NotFound, "{text}");
    assert_eq!(*ended.lock().expect("ours"), 2);
}

#[test]
fn a_spawner_lives_as_long_as_what_it_has_started() {
    let _alone = alone();
    let own = spawner();
    let client = Client::builder().open(odd("ok").spawn_with(Arc::new(own.clone()))).expect("starts");
    drop(own);
    client.call_tool("t", ()).expect("answers");
    let is_there = || mcp_threads().iter().any(|name| name.trim_end() == "mcp-spawn");
    assert!(is_there());
    client.close().expect("closes");
    eventually("the thread is gone", || !is_there());

    // Many at once, each with its own error or child.
    let own = spawner();
    std::thread::scope(|scope| {
        for i in 0..16 {
            let own = own.clone();
            scope.spawn(move || {
                let program = if i % 2 == 0 { "true" } else { "no-such-program" };
                match own.spawn(Command::new(program)) {
                    Ok(mut child) => assert!(i % 2 == 0 && child.wait().expect("ends").success()),
                    Err(error) => assert!(i % 2 == 1 && error.kind() == io::ErrorKind::NotFound, "{error}"),
                }
            });
        }
    });
}

#[test]
fn limits_are_set_by_prlimit() {
    let _alone = alone();
    let program = |wrapped: &CommandLine| Path::new(&wrapped.program).file_name().map(ToOwned::to_owned);
    let wrapped = Limits::new().open_files(50).wrap(CommandLine::new("sh").args(["-c", "ulimit -n"]));
    let wrapped = match wrapped {
        Ok(wrapped) => wrapped,
        Err(error) => {
            assert!(error.to_string().contains("install util-linux"), "{error}");
            return;
        }
    };
    assert_eq!(program(&wrapped).as_deref(), Some("prlimit".as_ref()));
    let output = Command::new(&wrapped.program).args(&wrapped.args).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "50\n");
    // The shell is named, for a sandbox that has to show it.
    assert!(wrapped.needs[0].ends_with("bin/sh"), "{wrapped:?}");

    let limited = Containment::new(&spawner()).with(Limits::new().open_files(64));
    let client = Client::builder().open(limited.apply(odd("ok"))).expect("starts");
    let pid = client.call_tool("t", ()).expect("answers").text_content();
    let pid = pid.trim_start_matches("ok ");
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).expect("alive");
    assert!(limits.lines().any(|line| line.starts_with("Max open files            64 ")), "{limits}");
    assert_eq!(client.close().expect("closes").ending.step, EndStep::EndOfInput);
}

#[test]
fn without_a_sandbox_nothing_is_started() {
    let _alone = alone();
    let place = Place::new();
    let says = |program: PathBuf| {
        let sandbox = Bwrap::new().program(program);
        let ran = place.path().join("ran");
        let server = ChildProcess::new("sh").args(["-c", &format!("touch {}", ran.display())]);
        let opened = Client::builder().open(Containment::new(&spawner()).with(sandbox.clone()).apply(server));
        assert!(opened.is_err() && !ran.exists());
        sandbox.check().expect_err("nothing to contain with").to_string()
    };
    assert_eq!(
        says("/no/such/bwrap".into()),
        "unsupported: the sandbox needs the program /no/such/bwrap, which is not in PATH: install bubblewrap (Linux only)"
    );
    let forbidden = "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n";
    let text = says(place.file("forbidden", forbidden));
    assert!(
        text.contains(
            "contains nothing here: bwrap: No permissions to create new namespace; the system does not let"
        ),
        "{text}"
    );
    let text = says(place.file("old", "#!/bin/sh\necho 'bwrap: Unknown option --clearenv' >&2\nexit 1\n"));
    assert!(text.ends_with("contains nothing here: bwrap: Unknown option --clearenv"), "{text}");
    let text = says(place.file("mute", "#!/bin/sh\nexit 3\n"));
    assert!(text.ends_with("contains nothing here: exit status: 3"), "{text}");
}

/// A container runtime: what it is told goes to `log`; a container is a process in a session of its own, which only `rm` can end.
const RUNTIME: &str = r#"#!/bin/sh
state=$(dirname "$0")
for word in "$@"; do printf '%s\n' "$word"; done >>"$state/log"
case "$1" in
run)
    id=$(printf '%064x' $$)
    while [ "$1" != image ]; do
        case "$1" in
        --cidfile) [ -e "$2" ] && exit 125; file=$2; shift ;;
        --entrypoint) program=$2; shift ;;
        esac
        shift
    done
    shift
    printf %s "$id" >"$file"
    exec 3<&0
    setsid "$program" "$@" <&3 3<&- &
    echo $! >"$state/$id"
    wait
    ;;
rm)
    [ -e "$state/$3" ] || exit 1
    kill -9 "-$(cat "$state/$3")" 2>/dev/null
    rm "$state/$3"
    ;;
esac
"#;

fn log(place: &Place) -> Vec<String> {
    fs::read_to_string(place.path().join("log")).expect("a log").lines().map(str::to_owned).collect()
}

#[test]
fn a_container_is_ended_by_its_id_and_gets_a_new_one_at_each_start() {
    let _alone = alone();
    let place = Place::new();
    let runtime = place.file("runtime", RUNTIME);
    let contained = Containment::new(&spawner()).with(Container::new(&runtime, "image"));
    let server = contained.apply(odd("ignore_eof").env("API_KEY", "s3cret"));
    let client = Client::builder().patience(peers::brief()).open(server).expect("starts");
    let pid = || {
        let text = client.call_tool("t", ()).expect("answers").text_content();
        text.trim_start_matches("ok ").to_owned()
    };
    let first = pid();
    client.handle().reconnect().expect("starts again");
    assert!(!is_alive(&first), "the container of the first start");
    let second = pid();
    assert!(is_alive(&second));
    let report = client.close().expect("closes");
    assert_eq!(report.ending.step, EndStep::Term, "the client went at SIGTERM: {report:?}");
    eventually("the container is gone", || !is_alive(&second));

    let log = log(&place);
    assert!(!log.iter().any(|word| word.contains("s3cret")), "{log:?}");
    let after = |word: &str| -> Vec<&String> {
        log.iter().zip(log.iter().skip(1)).filter(|(w, _)| *w == word).map(|(_, next)| next).collect()
    };
    let (files, removed) = (after("--cidfile"), after("--force"));
    assert_eq!((files.len(), removed.len()), (2, 2), "{log:?}");
    assert!(files[0] != files[1] && removed[0] != removed[1] && removed.iter().all(|id| id.len() == 64));
    assert!(files.iter().all(|file| !Path::new(file).parent().expect("a folder").exists()));
}

#[test]
fn a_container_is_told_what_to_be() {
    let _alone = alone();
    let place = Place::new();
    let runtime = place.file("runtime", RUNTIME);
    let folder = place.folder("docs");
    let mut command = CommandLine::new("node").args(["server.js", "--port=1"]);
    command.env.extend(Environment::Base.variables());
    command.env.insert("API_KEY".into(), "s3cret".into());
    command.env.insert("LANG".into(), "xx_XX".into());
    command.cwd = Some("/app".into());
    let container = Container::new(&runtime, "node:22")
        .read_only(&folder, "/docs")
        .writable(&folder, "/work")
        .memory_bytes(1 << 20)
        .processes(7)
        .cpus(0.5)
        .user("1000:1000")
        .network("inner")
        .env("HOME", "/tmp")
        .option("--runtime=runsc");
    assert!(!format!("{container:?} {command:?}").contains("s3cret"));
    let wrapped = container.wrap(command).expect("wraps");
    let text: Vec<_> = wrapped.args.iter().map(|arg| arg.to_string_lossy()).collect();
    let text = text.join(" ");
    let folder = folder.display();
    assert!(text.starts_with("run --rm --init --interactive --cidfile "), "{text}");
    let rest = text.splitn(7, ' ').nth(6).expect("more");
    assert_eq!(
        rest,
        format!(
            "--cap-drop ALL --security-opt no-new-privileges --network inner --pids-limit 7 --read-only --tmpfs /tmp \
             --memory 1048576 --memory-swap 1048576 --cpus 0.5 --user 1000:1000 \
             --mount type=bind,source={folder},target=/docs,readonly --mount type=bind,source={folder},target=/work \
             --env API_KEY --env LANG --env HOME=/tmp --workdir /app --entrypoint node --runtime=runsc node:22 server.js --port=1"
        )
    );
    let value = |name: &str| {
        wrapped.env.get(std::ffi::OsStr::new(name)).map(|value| value.to_string_lossy().into_owned())
    };
    assert_eq!(value("API_KEY").as_deref(), Some("s3cret"));
    assert_eq!(value("PATH"), std::env::var("PATH").ok(), "the client's own");

    // By default: no network. The image's own program gets the arguments alone.
    let wrapped = Container::new(&runtime, "image")
        .program_of_image()
        .wrap(CommandLine::new("x").args(["y"]))
        .expect("wraps");
    let text: Vec<_> = wrapped.args.iter().map(|arg| arg.to_string_lossy()).collect();
    assert!(
        text.join(" ").ends_with("--network none --pids-limit 512 --read-only --tmpfs /tmp image y"),
        "{text:?}"
    );
}

#[test]
fn a_container_that_cannot_be_is_refused() {
    let _alone = alone();
    let place = Place::new();
    let runtime = place.file("runtime", RUNTIME);
    let refused = |container: Container, name: &str, value: &str| {
        let mut command = CommandLine::new("x");
        command.env.insert(name.into(), value.into());
        container.wrap(command).expect_err("it cannot be").to_string()
    };
    let container = || Container::new(&runtime, "image");
    assert_eq!(
        refused(Container::new("no-such-runtime", "image"), "A", "b"),
        "unsupported: the container runtime no-such-runtime is not in PATH"
    );
    for (name, value) in [
        ("LD_PRELOAD", "/x.so"),
        ("DOCKER_HOST", "tcp://x"),
        ("PATH", "/elsewhere"),
        ("XDG_RUNTIME_DIR", "/x"),
    ] {
        let text = refused(container(), name, value);
        assert_eq!(
            text,
            format!(
                "invalid use: the variable {name} would be read by the container client itself: set it by Container::env"
            )
        );
        container().env(name, value).wrap(CommandLine::new("x")).expect("on the command line");
    }
    assert!(refused(container().read_only("docs", "/docs"), "A", "b").ends_with(": docs"));
    assert!(
        refused(container().read_only("/etc", "/a,readonly=false"), "A", "b").ends_with("/a,readonly=false")
    );
    assert!(refused(container().read_only("/no/such/folder", "/x"), "A", "b").contains("/no/such/folder"));
    if let Ok(limited) = Limits::new().wrap(CommandLine::new("sh")) {
        assert!(container().wrap(limited).expect_err("not there").to_string().contains("limits by prlimit"));
    }
}

#[test]
fn a_client_that_never_made_a_container_leaves_nothing_to_remove() {
    let _alone = alone();
    let place = Place::new();
    let runtime = place.file(
        "runtime",
        "#!/bin/sh\necho \"$@\" >>\"$(dirname \"$0\")/log\"\necho 'no such image' >&2\nexit 125\n",
    );
    let contained = Containment::new(&spawner()).with(Container::new(&runtime, "image"));
    let client = Client::builder().open(contained.apply(odd("ok"))).expect("the client starts");
    let error = client.call_tool("t", ()).expect_err("no container");
    assert!(error.to_string().contains("no such image"), "{error}");
    client.close().expect("closes");
    let log = log(&place);
    assert!(!log.is_empty() && log.iter().all(|line| line.starts_with("run ")), "{log:?}");
}
