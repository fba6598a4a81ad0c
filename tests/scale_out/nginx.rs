//! nginx with one of the configurations.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::replica::Replica;

pub(crate) struct Nginx {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Nginx {
    /// Starts `program` with the `servers` of a configuration, of which the ports are replaced.
    pub(crate) fn start(program: &Path, servers: &str, replicas: &[Replica; 2]) -> Self {
        // Free a moment ago; nginx cannot be asked to choose.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        let folder = std::env::temp_dir().join(format!("tinymcp-nginx-{}-{port}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let servers = servers
            .replace("127.0.0.1:8001", &replicas[0].address)
            .replace("127.0.0.1:8002", &replicas[1].address)
            .replace("127.0.0.1:8000", &format!("127.0.0.1:{port}"));
        let at = folder.display();
        let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|what| format!("{what}_temp_path {at}/{what};\n"))
            .collect();
        let whole = format!(
            "daemon off;\npid {at}/pid;\nerror_log {at}/error.log warn;\nevents {{}}\n\
             http {{\naccess_log off;\n{paths}{servers}\n}}\n"
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, whole).expect("written");
        let child = Command::new(program)
            .arg("-p")
            .arg(&folder)
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts");
        let nginx = Self { child, folder, port };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || fs::read_to_string(nginx.folder.join("error.log")).unwrap_or_default();
            assert!(start.elapsed() < Duration::from_secs(10), "nginx does not listen: {}", log());
            std::thread::sleep(Duration::from_millis(10)); // between tries to connect
        }
        nginx
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master ends its workers on SIGTERM; SIGKILL would leave them.
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").arg(&pid).status();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
