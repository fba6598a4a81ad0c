//! A server that tries to get out: its tools do what a contained server must not be able to do. What a tool could not do is its
//! error.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use tinymcp::client::Client;
use tinymcp::transport::ChildProcess;
use tinymcp::{Server, ToolError, ToolRegistry, tool};

const ROLE: &str = "TINYMCP_TEST_PROBER";

const ARGS: [&str; 5] = ["--exact", "child", "--quiet", "--nocapture", "--test-threads=1"];

/// It, not contained in anything. `mark` is on its command line.
pub(crate) fn prober(mark: &str) -> ChildProcess {
    let exe = std::env::current_exe().expect("the test binary");
    // To libtest the mark is one more name of no test.
    ChildProcess::new(exe).args(ARGS).args(["--skip", mark]).env(ROLE, "1")
}

/// What comes of one try.
pub(crate) fn attempt(client: &Client, what: &str, subject: &str) -> Result<String, String> {
    let result = client.call_tool("attempt", json!({"what": what, "subject": subject})).expect("answers");
    let text = result.text_content();
    if result.is_error == Some(true) { Err(text) } else { Ok(text) }
}

/// The body of the test `child`.
pub(crate) fn child() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let tools = ToolRegistry::new()
        .with(tool! {
            fn attempt(what: String, subject: String) -> Result<String, ToolError> {
                try_to(&what, &subject).map_err(|error| ToolError::new(error.to_string()))
            }
        })
        .expect("tools");
    Server::builder("prober", "1").tools(tools).build().expect("a server").start().expect("serves");
    std::process::exit(0);
}

fn try_to(what: &str, subject: &str) -> Result<String, Box<dyn std::error::Error>> {
    let done = || Ok("done".to_owned());
    match what {
        "create" => {
            fs::OpenOptions::new().write(true).create_new(true).open(subject)?.write_all(b"created")?;
            done()
        }
        "open for writing" => {
            fs::OpenOptions::new().write(true).open(subject)?;
            done()
        }
        // To what it is already.
        "chmod" => {
            fs::set_permissions(subject, fs::metadata(subject)?.permissions())?;
            done()
        }
        "read" => Ok(fs::read_to_string(subject)?),
        "list" => {
            let names =
                fs::read_dir(subject)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            let mut names = names.collect::<Result<Vec<_>, std::io::Error>>()?;
            names.sort();
            Ok(names.join(" "))
        }
        "descriptors" => {
            let links =
                fs::read_dir("/proc/self/fd")?.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
            let mut links: Vec<_> = links.map(|link| link.to_string_lossy().into_owned()).collect();
            links.sort();
            Ok(links.join(" "))
        }
        "tcp" => {
            TcpStream::connect_timeout(&subject.parse()?, Duration::from_secs(5))?;
            done()
        }
        "udp" => {
            UdpSocket::bind("0.0.0.0:0")?.send_to(b"x", subject)?;
            done()
        }
        "abstract socket" => {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name(subject)?)?;
            done()
        }
        "run" => {
            let output = Command::new("sh").args(["-c", subject]).output()?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.success() {
                return Ok(said.trim().to_owned());
            }
            Err(format!("{}: {said}{}", output.status, String::from_utf8_lossy(&output.stderr).trim()).into())
        }
        "variables" => Ok(json!(std::env::vars().collect::<std::collections::BTreeMap<_, _>>()).to_string()),
        "folder" => Ok(std::env::current_dir()?.to_string_lossy().into_owned()),
        _ => Err(format!("cannot {what}").into()),
    }
}
