//! Servers in real `bwrap`, which try to get out. Where there is none, or the system does not allow what it takes, each test says so
//! and makes sure of one thing: that nothing is started then.

#![cfg(target_os = "linux")]

#[path = "support/places.rs"]
mod places;
#[path = "support/prober.rs"]
mod prober;
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use places::Place;
use prober::{attempt, prober};
use support::alone::{Alone, alone, is_alive};
use support::peers::{self, eventually};
use tinymcp::host::containment::{Bwrap, CommandLine, Containment, Limits, Sandbox, Spawner};
use tinymcp::transport::{ChildProcess, EndStep, Environment};
use tinymcp::{Client, Error};

#[test]
fn child() {
    prober::child();
    peers::child();
}

/// Holds back other tests; `None` where the sandbox cannot work.
fn sandboxed() -> Option<Alone> {
    let alone = alone();
    let Err(error) = Bwrap::new().check() else { return Some(alone) };
    writeln!(std::io::stderr(), "not tried: {error}").expect("stderr");
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("install bubblewrap") || text.contains("contains nothing here: "), "{text}");
    let refused =
        Client::builder().open(within(Bwrap::new()).apply(prober("never"))).expect_err("not contained");
    assert!(refused.to_string().ends_with(text.trim_start_matches("unsupported: ")), "{refused}");
    None
}

fn within(sandbox: Bwrap) -> Containment {
    Containment::new(&Spawner::start().expect("a thread")).with(sandbox)
}

fn open(sandbox: Bwrap, server: ChildProcess) -> Client {
    Client::builder().open(within(sandbox).apply(server)).expect("starts")
}

fn is_root() -> bool {
    fs::metadata("/proc/self").expect("Linux").uid() == 0
}

#[test]
fn nothing_outside_can_be_reached() {
    let Some(_alone) = sandboxed() else { return };
    let place = Place::new();
    let home = place.folder("home");
    fs::write(home.join("secret"), "the secret of a test").expect("a file");
    let shared = place.folder("shared");
    fs::write(shared.join("text"), "to be read").expect("a file");
    let work = place.folder("work");
    let [place_, home_, shared_, work_] =
        [place.path(), &home, &shared, &work].map(|path| path.display().to_string());

    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = tcp.local_addr().expect("an address").to_string();
    let name = format!("tinymcp-test-{}", std::process::id());
    let _socket =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).expect("a name")).expect("a socket");

    let server = || prober("unmarked").env("HOME", &home);
    let outside = Client::builder().open(server()).expect("starts");
    let inside = open(Bwrap::new().read_only(&shared).writable(&work), server());

    // What works without the sandbox, so that its failing within is the sandbox's doing.
    let secret = format!("{home_}/secret");
    for (what, subject) in [
        ("create", format!("{home_}/new")),
        ("create", format!("{place_}/new")),
        ("create", format!("{shared_}/new")),
        ("open for writing", secret.clone()),
        ("chmod", format!("{shared_}/text")),
        ("read", secret.clone()),
        ("read", "/etc/os-release".to_owned()),
        ("list", home_.clone()),
        ("list", "/run".to_owned()),
        ("list", "/home".to_owned()),
        ("list", "/sys".to_owned()),
        ("read", format!("/proc/{}/cmdline", std::process::id())),
        ("run", format!("kill -0 {}", std::process::id())),
        ("tcp", port),
        ("abstract socket", name),
    ] {
        let tried = attempt(&outside, what, &subject);
        assert!(tried.is_ok(), "{what} {subject} outside: {tried:?}");
        if what == "create" {
            fs::remove_file(&subject).expect("it was made");
        }
        let tried = attempt(&inside, what, &subject);
        // `/etc/os-release` is a link into `/usr`; of `/etc` there is what was named, and that is not among it.
        assert!(tried.is_err(), "{what} {subject} inside: {tried:?}");
    }

    // What `root` could do, or anybody, and nobody should try without.
    for (what, subject) in [
        ("create", "/usr/tinymcp-test"),
        ("create", "/usr/bin/tinymcp-test"),
        ("create", "/bin/tinymcp-test"),
        ("create", "/lib/tinymcp-test"),
        ("create", "/etc/tinymcp-test"),
        ("create", "/tinymcp-test"),
        ("open for writing", "/usr/bin/env"),
        ("open for writing", "/etc/passwd"),
        ("open for writing", "/proc/sys/kernel/core_pattern"),
        ("open for writing", "/proc/sys/vm/stat_interval"),
        ("open for writing", "/proc/sysrq-trigger"),
        ("open for writing", "/dev/tty"),
        ("chmod", "/usr/bin/env"),
        ("chmod", "/dev/null"),
        ("chmod", "/dev/zero"),
        ("chmod", "/dev/full"),
        ("chmod", "/dev/random"),
        ("chmod", "/dev/urandom"),
        ("read", "/etc/shadow"),
        ("list", "/root"),
        ("list", "/etc/ssl"),
        ("read", "/proc/kcore"),
        ("run", "mount -o remount,rw /"),
        ("run", "mount -o remount,rw,bind /usr"),
        ("run", "mount -o remount,rw /proc"),
        ("run", "mount -t tmpfs none /mnt"),
        ("run", "mount --bind /tmp /usr"),
        ("run", "umount /usr"),
        ("run", "umount /proc"),
        ("run", "unshare --user --map-root-user --mount mount -o remount,rw,bind /usr"),
        ("run", "unshare --user --map-root-user --mount umount /usr"),
        ("run", "nsenter --target 1 --mount true"),
        ("run", "chroot / true"),
        ("run", "mknod /tmp/disk b 8 0"),
        ("run", "chown 1 /tmp"),
        ("run", "hostname tinymcp-test"),
        ("run", "date -s 2001-01-01"),
        ("run", "ls /sys /run /home /var /opt /srv /mnt /media /boot"),
        ("tcp", "192.0.2.1:80"),
        ("tcp", "1.1.1.1:443"),
        ("tcp", "[2606:4700:4700::1111]:443"),
        ("udp", "1.1.1.1:53"),
        ("udp", "169.254.169.254:80"),
    ] {
        let tried = attempt(&inside, what, subject);
        assert!(tried.is_err(), "{what} {subject}: {tried:?}");
    }
    for subject in ["1.1.1.1:443", "192.0.2.1:80"] {
        let error = attempt(&inside, "tcp", subject).expect_err("no network");
        assert!(error.contains("unreachable"), "{subject}: {error}");
    }

    // What it is for.
    assert_eq!(attempt(&inside, "read", &format!("{shared_}/text")).as_deref(), Ok("to be read"));
    assert_eq!(attempt(&inside, "create", &format!("{work_}/made")).as_deref(), Ok("done"));
    assert_eq!(fs::read_to_string(work.join("made")).expect("it is there"), "created");
    assert_eq!(attempt(&inside, "create", "/tmp/own").as_deref(), Ok("done"));
    assert!(!Path::new("/tmp/own").exists());
    assert_eq!(
        attempt(&inside, "run", "echo x >/dev/null; head -c 4 /dev/urandom | wc -c").as_deref(),
        Ok("4")
    );
    let folder = attempt(&inside, "folder", "").expect("a folder");
    assert!(
        folder == "/" || std::env::current_dir().is_ok_and(|current| current == Path::new(&folder)),
        "{folder}"
    );
    assert_eq!(attempt(&inside, "list", &place_).as_deref(), Ok("shared work"));
    // Its own processes alone: bwrap, itself, and what it runs.
    let processes = attempt(&inside, "run", "ls -d /proc/[0-9]* | wc -l").expect("a number");
    assert!(processes.parse::<u32>().expect("a number") < 10, "{processes}");
    let report = inside.close().expect("closes");
    assert_eq!(report.ending.step, EndStep::EndOfInput, "{report:?}");
}

#[test]
fn nothing_outside_can_be_reached_by_a_user_without_privileges() {
    let Some(_alone) = sandboxed() else { return };
    if !is_root() {
        return; // the other test is this one
    }
    let place = Place::new();
    let own = place.path().join("test");
    fs::copy(std::env::current_exe().expect("the test binary"), &own).expect("a copy");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--"])
        .arg(&own)
        .args(["--exact", "nothing_outside_can_be_reached", "--nocapture", "--test-threads=1"])
        .current_dir("/")
        .env("HOME", "/")
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return writeln!(std::io::stderr(), "not tried: setpriv: {error}").expect("stderr"),
    };
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    if let Some(reason) = said.lines().find(|line| line.starts_with("not tried")) {
        writeln!(std::io::stderr(), "as a user without privileges: {reason}").expect("stderr");
    }
}

/// The processes outside that have `mark` on their command lines, other than this one.
fn marked(mark: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("Linux").filter_map(Result::ok);
    let marked = processes.filter(|process| {
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(mark)
    });
    marked
        .map(|process| process.file_name().to_string_lossy().into_owned())
        .filter(|pid| is_alive(pid))
        .collect()
}

/// How many private folders there are of a process.
fn left_by(pid: u32) -> usize {
    let left = fs::read_dir(std::env::temp_dir()).expect("a folder").filter_map(Result::ok);
    let own = format!("tinymcp-{pid}-");
    left.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)).count()
}

#[test]
fn a_server_ends_with_its_host_though_it_ignores_the_end_of_its_input() {
    let Some(_alone) = sandboxed() else { return };
    let mark = format!("mark-host-{}", std::process::id());
    let mut host = Command::new(std::env::current_exe().expect("the test binary"))
        .args(["--exact", "a_host_to_be_killed", "--nocapture", "--test-threads=1"])
        .env("TINYMCP_TEST_MARK", &mark)
        .stdout(Stdio::piped())
        .spawn()
        .expect("runs");
    let lines = BufReader::new(host.stdout.take().expect("stdout")).lines();
    lines.map_while(Result::ok).find(|line| line == "started").expect("it starts");
    assert!(!marked(&mark).is_empty());
    host.kill().expect("killed");
    host.wait().expect("reaped");
    eventually("the server is gone", || marked(&mark).is_empty());
    assert_eq!(left_by(host.id()), 0);
}

#[test]
fn a_host_to_be_killed() {
    let Ok(mark) = std::env::var("TINYMCP_TEST_MARK") else { return };
    let server = peers::odd("ignore_eof").args(["--skip", &mark]);
    // From a thread that is done before: its end is not the server's.
    let opened = std::thread::spawn(move || {
        let client = open(Bwrap::new(), server);
        client.call_tool("t", ()).expect("answers");
        client
    });
    let client = opened.join().expect("no panic");
    client.call_tool("t", ()).expect("answers still");
    writeln!(std::io::stdout(), "\nstarted").expect("stdout");
    loop {
        std::thread::park(); // with the client open
    }
}

#[test]
fn a_server_outlives_the_thread_that_opened_it_and_can_be_started_again() {
    let Some(_alone) = sandboxed() else { return };
    // Runs `work` on a thread, and goes on when the system has that thread no more.
    fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        let opener = std::thread::Builder::new().name("opener".into());
        let done = std::thread::scope(|scope| opener.spawn_scoped(scope, work).expect("a thread").join());
        let names = || {
            let tasks = fs::read_dir("/proc/self/task").expect("Linux").filter_map(Result::ok);
            tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok()).collect::<Vec<_>>()
        };
        eventually("the thread is gone", || !names().iter().any(|name| name.trim_end() == "opener"));
        done.expect("no panic")
    }
    let client = apart(|| open(Bwrap::new(), prober("unmarked")));
    client.initialize().expect("settles");
    for _ in 0..3 {
        apart(|| client.handle().reconnect().expect("starts again"));
        // One that is being killed does not answer for long.
        for _ in 0..100 {
            attempt(&client, "read", "/proc/self/comm").expect("its name");
        }
    }
}

#[test]
fn values_of_variables_are_on_no_command_line_and_in_no_file_that_stays() {
    let Some(_alone) = sandboxed() else { return };
    let (secret, mark) = (format!("s3cret-{}", std::process::id()), format!("mark-{}", std::process::id()));
    let seen = std::thread::scope(|scope| {
        let (stop, stopped) = crossbeam_channel::bounded::<()>(0);
        let watch = scope.spawn({
            let (secret, mark) = (secret.clone(), mark.clone());
            move || {
                let (mut looks, mut own) = (0, 0);
                // A disconnection ends it.
                while stopped.try_recv() != Err(crossbeam_channel::TryRecvError::Disconnected) {
                    assert_eq!(marked(&secret), [""; 0]);
                    own += usize::from(!marked(&mark).is_empty());
                    looks += 1;
                }
                (looks, own)
            }
        });
        for _ in 0..5 {
            let server = prober(&mark)
                .environment(Environment::None)
                .env("API_KEY", &secret)
                .env("ODD", " a\n'\"$x\u{e9}=");
            let client = open(Bwrap::new(), server);
            let variables = attempt(&client, "variables", "").expect("variables");
            let mut variables: BTreeMap<String, String> = serde_json::from_str(&variables).expect("JSON");
            assert_eq!(variables.remove("API_KEY"), Some(secret.clone()));
            assert_eq!(variables.remove("ODD").as_deref(), Some(" a\n'\"$x\u{e9}="));
            // bwrap sets this one.
            variables.remove("PWD");
            assert_eq!(variables.into_keys().collect::<Vec<_>>(), ["TINYMCP_TEST_PROBER"]);
            assert!(!marked(&mark).is_empty());
            client.close().expect("closes");
        }
        drop(stop);
        watch.join().expect("no value was seen")
    });
    assert!(seen.0 > 3 && seen.1 > 0, "{seen:?}");
    assert_eq!(left_by(std::process::id()), 0);
}

#[test]
fn signals_to_the_group_reach_the_server_which_has_its_time() {
    let Some(_alone) = sandboxed() else { return };
    let place = Place::new();
    let script =
        r#"trap 'sleep 0.2; echo heard >"$OUT"; exit 7' TERM; exec 3<&0; "$0" "$@" <&3 & wait; wait"#;
    let server = peers::odd_in_shell(script, "ignore_eof").env("OUT", place.path().join("out"));
    let contained =
        within(Bwrap::new().writable(place.path()).read_only(std::env::current_exe().expect("a path")));
    let client = Client::builder().patience(peers::brief()).open(contained.apply(server)).expect("starts");
    client.call_tool("t", ()).expect("answers");
    let report = client.close().expect("closes");
    assert_eq!(fs::read_to_string(place.path().join("out")).expect("it was heard"), "heard\n");
    assert_eq!(
        (report.ending.step, report.ending.status.and_then(|s| s.code())),
        (EndStep::Term, Some(7)),
        "{report:?}"
    );

    // One without a handler has its default back, and ends.
    let client = Client::builder()
        .patience(peers::brief())
        .open(within(Bwrap::new()).apply(peers::odd("ignore_eof")))
        .expect("starts");
    client.call_tool("t", ()).expect("answers");
    assert_eq!(client.close().expect("closes").ending.step, EndStep::Term);
}

#[test]
fn no_descriptor_of_the_host_gets_in() {
    let Some(_alone) = sandboxed() else { return };
    let output = Command::new("bash")
        .args(["-c", r#"exec 5</etc 17</etc; exec "$0" "$@""#])
        .arg(std::env::current_exe().expect("the test binary"))
        .args(["--exact", "a_host_with_descriptors", "--nocapture", "--test-threads=1"])
        .env("TINYMCP_TEST_DESCRIPTORS", "1")
        .output()
        .expect("bash");
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("tried"), "{said}");
}

#[test]
fn a_host_with_descriptors() {
    if std::env::var_os("TINYMCP_TEST_DESCRIPTORS").is_none() {
        return;
    }
    let outside = Client::builder().open(prober("unmarked")).expect("starts");
    let links = attempt(&outside, "descriptors", "").expect("links");
    assert_eq!(links.split(' ').filter(|link| *link == "/etc").count(), 2, "{links}");
    let inside = open(Bwrap::new(), prober("unmarked"));
    let links = attempt(&inside, "descriptors", "").expect("links");
    assert!(!links.contains("/etc") && !links.contains("variables"), "{links}");
    writeln!(std::io::stdout(), "tried").expect("stdout");
}

#[test]
fn limits_hold_within_and_cannot_be_raised() {
    let Some(_alone) = sandboxed() else { return };
    let limits =
        Limits::new().memory_bytes(1 << 32).open_files(99).cpu_time(Duration::from_secs(60)).file_bytes(1000);
    let contained = Containment::new(&Spawner::start().expect("a thread")).with(limits).with(Bwrap::new());
    let client = Client::builder().open(contained.apply(prober("unmarked"))).expect("starts");
    let limits = attempt(&client, "read", "/proc/self/limits").expect("limits");
    for (name, limit) in [
        ("Max address space", "4294967296"),
        ("Max open files", "99"),
        ("Max cpu time", "60"),
        ("Max file size", "1000"),
        ("Max core file size", "0"),
    ] {
        let line = limits.lines().find(|line| line.starts_with(name)).expect("a limit");
        let words: Vec<_> = line[name.len()..].split_whitespace().take(2).collect();
        assert_eq!(words, [limit, limit], "{line}");
    }
    let raised = attempt(&client, "run", "ulimit -n 100");
    assert!(raised.is_err(), "{raised:?}");
    assert!(attempt(&client, "run", "head -c 2000 /dev/zero >/tmp/big").is_err());
}

#[test]
fn a_home_a_program_with_its_folder_and_a_folder_to_start_in() {
    let Some(_alone) = sandboxed() else { return };
    let place = Place::new();
    let folder = place.folder("bin");
    fs::write(folder.join("data"), "beside it").expect("a file");
    let program = folder.join("server=1");
    fs::copy(std::env::current_exe().expect("the test binary"), &program).expect("a copy");
    let server = || {
        ChildProcess::new(&program)
            .args(["--exact", "child", "--quiet", "--nocapture", "--test-threads=1"])
            .env("TINYMCP_TEST_PROBER", "1")
            .env("HOME", "/home/nobody-there")
    };
    let data = folder.join("data").display().to_string();
    let client = open(Bwrap::new(), server());
    assert!(attempt(&client, "read", &data).is_err());
    assert!(attempt(&client, "list", "/home").is_err());

    let client = open(Bwrap::new().program_folder().private_home(), server().current_dir(&folder));
    assert_eq!(attempt(&client, "read", &data).as_deref(), Ok("beside it"));
    assert_eq!(attempt(&client, "folder", "").as_deref(), Ok(folder.to_str().expect("text")));
    assert_eq!(attempt(&client, "list", "/home/nobody-there").as_deref(), Ok(""));
    assert_eq!(attempt(&client, "create", "/home/nobody-there/x").as_deref(), Ok("done"));
    let client = open(Bwrap::new().private_home(), server().current_dir("/home/nobody-there"));
    assert_eq!(attempt(&client, "create", "y").as_deref(), Ok("done"));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_filter_of_system_calls_is_used() {
    let Some(_alone) = sandboxed() else { return };
    let place = Place::new();
    // mkdir (83) fails with "not permitted" (1), all else goes on.
    let code: [(u16, u8, u8, u32); 4] =
        [(0x20, 0, 0, 0), (0x15, 0, 1, 83), (0x06, 0, 0, 0x0005_0001), (0x06, 0, 0, 0x7fff_0000)];
    let filter: Vec<u8> = code
        .iter()
        .flat_map(|(op, yes, no, k)| [&op.to_ne_bytes()[..], &[*yes, *no], &k.to_ne_bytes()[..]].concat())
        .collect();
    let file = place.path().join("filter");
    fs::write(&file, filter).expect("a file");
    let client = open(Bwrap::new().seccomp(&file), prober("unmarked"));
    let refused = attempt(&client, "run", "mkdir /tmp/folder").expect_err("filtered");
    assert!(refused.contains("not permitted"), "{refused}");
    let client = open(Bwrap::new(), prober("unmarked"));
    assert!(attempt(&client, "run", "mkdir /tmp/folder").is_ok());
}

#[test]
fn the_network_is_there_when_it_is_asked_for() {
    let Some(_alone) = sandboxed() else { return };
    let sandbox = Bwrap::new().share_net();
    if let Err(error) = sandbox.check() {
        panic!("works without the network, not with it: {error}");
    }
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let client = open(sandbox, prober("unmarked"));
    assert_eq!(
        attempt(&client, "tcp", &tcp.local_addr().expect("an address").to_string()).as_deref(),
        Ok("done")
    );
    assert!(attempt(&client, "read", "/etc/resolv.conf").is_ok() || !Path::new("/etc/resolv.conf").exists());
    assert!(attempt(&client, "list", "/etc/ssl/private").is_err());
    assert!(attempt(&client, "run", "mount -o remount,rw,bind /usr").is_err());
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let Some(_alone) = sandboxed() else { return };
    let refused = |sandbox: Bwrap, change: &dyn Fn(&mut CommandLine)| {
        let mut command = CommandLine::new("sh");
        change(&mut command);
        sandbox.wrap(command).expect_err("it does not fit").to_string()
    };
    let same = |_: &mut CommandLine| {};
    assert_eq!(
        refused(Bwrap::new().read_only("/"), &same),
        "invalid use: a sandbox shows folders by absolute paths, and not all of /: /"
    );
    assert!(refused(Bwrap::new().writable("notes"), &same).ends_with(": notes"));
    assert!(
        refused(Bwrap::new().writable("/no/such/folder"), &same).starts_with("/no/such/folder: No such file")
    );
    assert_eq!(
        refused(Bwrap::new(), &|command| command.cwd = Some("/var".into())),
        "invalid use: the folder to start in is not shown in the sandbox: /var"
    );
    assert_eq!(
        refused(Bwrap::new().private_home(), &same),
        "invalid use: a private home needs the variable HOME, a path"
    );
    assert!(
        refused(Bwrap::new(), &|command| command.program = "no-such-server".into())
            .ends_with("no program no-such-server in PATH")
    );
    assert!(refused(Bwrap::new().seccomp("/no/filter"), &same).starts_with("/no/filter: No such file"));
    let zero = |command: &mut CommandLine| {
        command.env.insert("API_KEY".into(), "a\0b".into());
    };
    assert_eq!(refused(Bwrap::new(), &zero), "invalid use: the variable API_KEY has a zero byte");
}
