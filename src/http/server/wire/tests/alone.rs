//! What is counted for the whole process: threads, descriptors, memory. Each test is a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;
use crate::http::server::wire::crew;

const ALONE: &str = "TINYMCP_TEST_ALONE";

/// Runs `test` in a process in which nothing else runs, whose shell has said `before`.
fn alone(name: &str, before: &str, test: impl FnOnce(), meanwhile: impl FnOnce(&mut std::process::Child)) {
    if std::env::var_os(ALONE).is_some_and(|alone| *alone == *name) {
        return test();
    }
    let exact = format!("{}::{name}", module_path!().split_once("::").expect("a path").1);
    let program = std::env::current_exe().expect("it runs");
    let mut child = Command::new("sh")
        .args(["-c", &format!("{before} exec \"$0\" --exact \"$1\" --nocapture --test-threads=1")])
        .arg(program)
        .arg(exact)
        .env(ALONE, name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    meanwhile(&mut child);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == crew::NAME).count()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("a line");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

#[test]
fn waiting_costs_no_threads_and_little_memory() {
    const MANY: usize = 3000;
    let test = || {
        let (streams_tx, streams) = crossbeam_channel::unbounded();
        let rig = Rig::new(limits(), move |request, reply| match request.admitted.as_str() {
            "/stream" => tell(&streams_tx, reply.stream(&[], b"")),
            _ => echo(request, reply),
        });
        rig.peer().get("/").answer().is(200, "");
        let before = resident_kib();
        let mut peers: Vec<_> = (0..MANY).map(|_| rig.peer()).collect();
        for (n, peer) in peers.iter_mut().enumerate() {
            peer.get(if n % 2 == 0 { "/" } else { "/stream" });
            peer.head();
            peer.read = Vec::new();
        }
        let each = (resident_kib() - before) * 1024 / MANY;
        assert!(each < 2048, "{each} bytes a connection");
        assert!(threads() <= 8, "{} threads", threads());
        let streams: Vec<_> = (0..MANY / 2).map(|_| streams.recv_timeout(SOON).expect("served")).collect();
        let start = Instant::now();
        streams.iter().for_each(|stream| assert_eq!(stream.send(b"data: all\n\n"), Ok(())));
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        for peer in peers.iter_mut().skip(1).step_by(2) {
            assert_eq!(peer.chunk(), "data: all\n\n");
        }
    };
    alone("waiting_costs_no_threads_and_little_memory", "", test, |_| ());
}

#[test]
fn nothing_is_left_after_the_stop() {
    let test = || {
        let before = (threads(), descriptors());
        for _ in 0..3 {
            let (held_tx, held) = crossbeam_channel::unbounded();
            let rig = Rig::new(limits(), move |request, reply| match request.admitted.as_str() {
                "/hold" => tell(&held_tx, reply),
                _ => echo(request, reply),
            });
            let mut peers: Vec<_> = (0..100).map(|_| rig.peer()).collect();
            for (n, peer) in peers.iter_mut().enumerate() {
                match n % 4 {
                    0 => peer.get("/").answer().is(200, ""),
                    1 => {
                        peer.get("/hold");
                    }
                    2 => {
                        peer.send("POST / HT");
                    }
                    _ => {}
                }
            }
            let replies: Vec<_> = (0..25).map(|_| held.recv_timeout(SOON).expect("served")).collect();
            assert!(threads() > 0);
            assert!(!rig.wire.stop(Duration::ZERO));
            drop(rig);
            drop(peers);
            // A thread has its name a little longer than it does anything.
            eventually("all threads are gone", || threads() == 0);
            // Whoever still has a reply keeps no socket, but the two descriptors by which sockets were waited for.
            assert!(descriptors() <= before.1 + 2, "{} descriptors", descriptors());
            drop(replies);
            assert_eq!((threads(), descriptors()), before);
        }
    };
    alone("nothing_is_left_after_the_stop", "", test, |_| ());
}

#[test]
fn connections_wait_when_there_are_no_more_descriptors() {
    let test = || {
        let rig = Rig::echo(limits());
        writeln!(std::io::stdout(), "\naddress {}", rig.wire.address()).expect("piped");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).expect("read");
    };
    let meanwhile = |child: &mut std::process::Child| {
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let address =
            lines.find_map(|line| Some(line.strip_prefix("address ")?.to_owned())).expect("it runs");
        let connect = || {
            let stream = TcpStream::connect(&address).expect("it listens");
            stream.set_read_timeout(Some(SOON)).expect("set");
            Peer { stream, read: Vec::new() }
        };
        let mut peers: std::collections::VecDeque<_> = (0..100).map(|_| connect()).collect();
        peers.iter_mut().for_each(|peer| {
            peer.get("/");
        });
        // Those that were accepted are served; as they close the others are.
        let cpu = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("Linux");
            let fields: Vec<_> = stat.split(' ').collect();
            fields[13].parse::<u64>().expect("ticks") + fields[14].parse::<u64>().expect("ticks")
        };
        peers.front_mut().expect("one").answer().is(200, "");
        let before = cpu();
        std::thread::sleep(Duration::from_millis(350));
        assert!(cpu() - before < 15, "it waits without work");
        peers.front_mut().expect("one").get("/").answer().is(200, "");
        drop(peers.pop_front());
        while let Some(mut peer) = peers.pop_front() {
            peer.answer().is(200, "");
        }
        child.stdin.take().expect("piped").write_all(b"\n").expect("it runs");
        lines.for_each(drop);
    };
    alone("connections_wait_when_there_are_no_more_descriptors", "ulimit -n 40;", test, meanwhile);
}
