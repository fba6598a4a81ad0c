//! Programs with arguments of somebody else's: what arrives, and that everything ends.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use tinymcp::guard::{CommandError, Program};
use tinymcp::transport::Environment;
use tinymcp::{CancelToken, ToolError};

/// A script that is the program; removed at the end.
struct Script(PathBuf);

impl Script {
    fn new(text: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tinymcp-command-{}-{count}", std::process::id()));
        fs::write(&path, text).expect("written");
        Self(path)
    }

    /// A fixed shell script, whose arguments are data. (A file that was written just now may be "busy" to be executed.)
    fn program(&self) -> Program {
        Program::new("/bin/sh").arg(&self.0).without_separator()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn shown() -> Script {
    Script::new("for arg in \"$@\"; do printf '<%s>' \"$arg\"; done")
}

fn text(program: &Program, args: &[&str]) -> Result<String, String> {
    let output = program.run(args).and_then(|output| output.into_text());
    output.map_err(|e| ToolError::from(e).to_string())
}

#[test]
fn arguments_arrive_as_they_are() {
    let script = shown();
    let plain = script.program().arg("fixed");
    let odd =
        ["$(id)", "`id`", "; id", "| id", "a b", "\"'", "*", "$HOME", "a\nb", "", "ü", "&&", "> /tmp/x"];
    let want: String = odd.iter().map(|arg| format!("<{arg}>")).collect();
    assert_eq!(text(&plain, &odd), Ok(format!("<fixed>{want}")));
    assert_eq!(text(&plain, &[]), Ok("<fixed>".to_owned()));
    let separated = Program::new("/bin/sh").arg(&script.0).arg("fixed");
    // `sh` itself needs none here: the script sees it.
    assert_eq!(text(&separated, &[]), Ok("<fixed>".to_owned()));
    assert_eq!(text(&separated, &["a"]), Ok("<fixed><--><a>".to_owned()));
    assert_eq!(text(&separated.allow_dashes(), &["-a", "--", "-"]), Ok("<fixed><--><-a><--><->".to_owned()));
}

#[test]
fn what_could_be_an_option_or_cut_an_argument_is_refused() {
    let script = shown();
    let program = script.program();
    let long = "a".repeat(60_000);
    for (args, problem) in [
        (&["-x"][..], "sh: argument 1 begins with -: \"-x\""),
        (&["a", "--output=/etc/passwd"], "sh: argument 2 begins with -: \"--output=/etc/passwd\""),
        (&["a", "-"], "sh: argument 2 begins with -: \"-\""),
        (&["a\0b"], "sh: argument 1 has a NUL character: \"a\\0b\""),
        (&["a"; 1001], "sh: more than 1000 arguments"),
        (&[&*long; 2], "sh: arguments of more than 102400 bytes"),
    ] {
        assert_eq!(text(&program, args), Err(problem.to_owned()));
    }
    assert!(text(&program.clone().allow_dashes(), &["a\0b"]).is_err());
    assert_eq!(text(&program, &["a-b", "−x"]), Ok("<a-b><−x>".to_owned()));
}

#[test]
fn a_program_gets_no_input_and_no_secrets() {
    let script = Script::new(
        "cat; echo \"${TINYMCP_GUARD_OWN:-none} ${CARGO_MANIFEST_DIR:-none}\"; test -n \"$PATH\"; pwd",
    );
    let folder = fs::canonicalize(env::temp_dir()).expect("a folder");
    let program = script.program().current_dir(&folder).env("TINYMCP_GUARD_OWN", "mine");
    assert!(env::var_os("CARGO_MANIFEST_DIR").is_some(), "cargo sets it");
    assert_eq!(text(&program, &[]), Ok(format!("mine none\n{}\n", folder.display())));
    let all = text(&program.clone().environment(Environment::All), &[]).expect("fine");
    assert!(all.starts_with("mine /"), "{all}");
    assert!(!format!("{:?}", program.arg("secret")).contains("secret"));
}

#[test]
fn a_failure_says_what_the_program_said() {
    let script = Script::new("echo out; echo 'no such branch' >&2; exit 3");
    let output = script.program().run([""; 0]).expect("it ran");
    assert_eq!(
        (output.status.code(), &output.stdout[..], &output.stderr[..]),
        (Some(3), &b"out\n"[..], &b"no such branch\n"[..])
    );
    assert_eq!(text(&script.program(), &[]), Err("sh: exit status: 3: no such branch".to_owned()));
    let error = text(&Program::new("/no/such/program"), &["a"]).expect_err("it is not there");
    assert!(error.starts_with("program: cannot be run: No such file"), "{error}");
    let loud = Script::new("head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1");
    assert!(text(&loud.program(), &[]).expect_err("it failed").len() < 3000);
}

/// Whether a process is there, and no zombie.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

fn is_gone(pid: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(5);
    while is_alive(pid) && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
    !is_alive(pid)
}

/// The process ids that a script has written to `file`, once there are `count`.
fn pids(file: &Path, count: usize) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        let pids: Vec<_> = text.lines().map(str::to_owned).collect();
        if pids.len() >= count || Instant::now() > until {
            return pids;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_runs_too_long_is_ended_with_all_it_started() {
    for stubborn in ["", "trap '' TERM\n"] {
        let file = Script::new("");
        let script =
            Script::new(&format!("{stubborn}sleep 600 & echo $! >> \"$1\"; echo $$ >> \"$1\"; wait; wait"));
        let program = script.program().time_limit(Duration::from_millis(300));
        let started = Instant::now();
        let error = program.run([&file.0]).expect_err("it is late");
        assert!(matches!(error, CommandError::Late { .. }), "{error:?}");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        let pids = pids(&file.0, 2);
        assert!(pids.len() == 2 && pids.iter().all(|pid| is_gone(pid)), "{pids:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_left_running_is_ended_and_holds_nobody_up() {
    let file = Script::new("");
    let script = Script::new("sleep 600 & echo $! >> \"$1\"; echo done");
    let started = Instant::now();
    let output = script.program().run([&file.0]).expect("it ran");
    assert_eq!((&output.stdout[..], output.status.success()), (&b"done\n"[..], true));
    assert!(started.elapsed() < Duration::from_secs(5));
    let pids = pids(&file.0, 1);
    assert!(pids.len() == 1 && is_gone(&pids[0]), "{pids:?}");
}

#[test]
fn what_writes_too_much_is_ended() {
    for script in ["yes", "yes >&2", "head -c 1001 /dev/zero"] {
        let script = Script::new(script);
        let started = Instant::now();
        let error = script.program().max_output_bytes(1000).run([""; 0]).expect_err("too much");
        assert_eq!(error.to_string(), "sh: more than 1000 bytes of output");
        assert!(started.elapsed() < Duration::from_secs(5));
    }
    let script = Script::new("head -c 1000 /dev/zero; head -c 1000 /dev/zero >&2");
    let output = script.program().max_output_bytes(1000).run([""; 0]).expect("just fits");
    assert_eq!((output.stdout.len(), output.stderr.len()), (1000, 1000));
}

#[test]
#[cfg(target_os = "linux")]
fn a_cancelled_run_ends() {
    let file = Script::new("");
    let script = Script::new("echo $$ >> \"$1\"; sleep 600");
    let cancel = CancelToken::new();
    let error = thread::scope(|scope| {
        let run = scope.spawn(|| script.program().run_until([&file.0], &cancel));
        assert_eq!(pids(&file.0, 1).len(), 1, "it runs");
        cancel.cancel("enough");
        run.join().expect("no panic").expect_err("cancelled")
    });
    assert_eq!(error.to_string(), "sh: cancelled");
    assert!(is_gone(&pids(&file.0, 1)[0]));
}
