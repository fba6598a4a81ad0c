//! Configuration files: those of other hosts, what they name, what is wrong with them, and writing them.

mod formats;
mod hostile;
mod resolving;
mod secrets;
mod writing;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use tinymcp::host::config::{Config, Launch, LaunchReach, Resolver, ServerEntry};

/// A configuration of one entry, written as JSON, or what is wrong with it.
fn entry(json: &str) -> Result<ServerEntry, String> {
    let text = format!(r#"{{"mcpServers": {{"s": {json}}}}}"#);
    let mut config = Config::parse(&text, "mcp.json").map_err(|error| error.to_string())?;
    match config.rejected.first() {
        Some(error) => Err(error.to_string()),
        None => Ok(config.servers.remove(0)),
    }
}

fn variables(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A resolver that knows these variables alone.
fn resolver(known: &[(&str, &str)]) -> Resolver {
    Resolver::new().no_environment().home("/home/ann").secrets(variables(known))
}

/// Program, arguments, variables and folder of a server that is started.
#[derive(Debug, PartialEq)]
struct Started {
    program: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
}

fn started(launch: &Launch) -> Started {
    match &launch.reach {
        LaunchReach::Command { program, args, env, cwd, .. } => Started {
            program: program.clone(),
            args: args.iter().map(|arg| arg.reveal().to_owned()).collect(),
            env: env.iter().map(|(name, text)| (name.clone(), text.reveal().to_owned())).collect(),
            cwd: cwd.clone(),
        },
        _ => panic!("{launch:?} is not started"),
    }
}

/// A folder that is gone at the end of a test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("tinymcp-config-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path.canonicalize().expect("a folder"))
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
