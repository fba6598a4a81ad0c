//! What a user can be shown of an entry, and what of it is compared: [`ServerEntry::canonical`], [`ServerEntry::takes`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::digest::sha256;
use super::entry::{Reach, ServerEntry};
use super::template::{Piece, split};
use crate::json::{Json, Object};

/// Something that a server's entry takes from outside of its file, and where it goes. Displays as `headers.Authorization takes TOKEN`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Taken {
    /// The field it goes into: `env.TOKEN`, `url`.
    pub field: String,
    /// What is taken.
    pub what: TakenKind,
    /// Its name.
    pub name: String,
}

/// What kind of thing is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TakenKind {
    /// A variable of the environment, or of a source.
    Variable,
    /// What the user answers.
    Input,
    /// A secret of a source.
    Secret,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = super::error::shown_name(&self.name);
        let field = super::error::shown_name(&self.field);
        match self.what {
            TakenKind::Variable => write!(f, "{field} takes {name}"),
            TakenKind::Input => write!(f, "{field} takes the answer to {name}"),
            TakenKind::Secret => write!(f, "{field} takes the secret {name}"),
        }
    }
}

/// Variables that decide which code runs: a user must see what they are set to.
const DECIDE_CODE: [&str; 28] = [
    "BASH_ENV",
    "CLASSPATH",
    "ENV",
    "GCONV_PATH",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LUA_INIT",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "PATHEXT",
    "PERL5LIB",
    "PERL5OPT",
    "PHPRC",
    "PROMPT_COMMAND",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "SHELLOPTS",
];

fn decides_code(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    DECIDE_CODE.contains(&name.as_str()) || name.starts_with("DYLD_") || name.starts_with("NPM_CONFIG_")
}

/// A value as it can be kept and shown: what it names, or that it is some text, which is only told from others.
fn masked(text: &str) -> String {
    let has_default = |piece: &Piece<'_>| matches!(piece, Piece::Variable { default: Some(_), .. });
    let pieces = split(text).unwrap_or_default();
    let names_something = pieces.iter().any(|piece| !matches!(piece, Piece::Text(_)));
    if text.is_empty() || (names_something && !pieces.iter().any(has_default)) {
        return text.to_owned();
    }
    format!("sha256:{}", sha256(text))
}

impl ServerEntry {
    /// What would be run or reached, as one line of JSON in which equal entries are equal: nothing is replaced, so that no variable's
    /// value is in it, and two of them differ exactly if a user who allowed the one has not seen the other.
    ///
    /// The file that the entry comes from is part of it, as the same `./server` beside another file is another program. Where servers are
    /// started in a workspace, [`Resolver::canonical`](super::Resolver::canonical) is the one to compare.
    ///
    /// Command, arguments, folder and URL stand there as they are written, and so do variables that decide which code runs (`PATH`,
    /// `LD_PRELOAD`, `NODE_OPTIONS`, …). Other variables and all headers are often secrets that were written into the file: they are there
    /// as they are written only if they name what they take, as in `Bearer ${env:TOKEN}`; else as a SHA-256 digest, which tells that
    /// they change and not what they are.
    ///
    /// ```
    /// use tinymcp::host::config::ServerEntry;
    ///
    /// let entry = ServerEntry::command("notes", "npx", ["-y", "notes"]).with_env("TOKEN", "${env:NOTES_TOKEN}");
    /// assert_eq!(entry.canonical(), r#"{"args":["-y","notes"],"command":"npx","env":{"TOKEN":"${env:NOTES_TOKEN}"}}"#);
    /// assert_ne!(entry.canonical(), entry.clone().with_env("TOKEN", "s3cr3t").canonical());
    /// assert!(!entry.with_env("TOKEN", "s3cr3t").canonical().contains("s3cr3t"));
    /// ```
    #[must_use]
    pub fn canonical(&self) -> String {
        Json::from(self.canonical_members()).as_str().to_owned()
    }

    /// What is run, or where it leads, as it is written: for people. Nothing is replaced.
    #[must_use]
    pub fn written(&self) -> String {
        match &self.reach {
            Reach::Command(command) => {
                let words = std::iter::once(&command.command).chain(&command.args);
                let is_plain =
                    |word: &str| !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '"');
                let quoted =
                    words.map(|word| if is_plain(word) { word.clone() } else { format!("{word:?}") });
                quoted.collect::<Vec<_>>().join(" ")
            }
            Reach::Url(url) => url.url.clone(),
        }
    }

    pub(super) fn canonical_members(&self) -> Object {
        let mut object = Object::new();
        if let Some(file) = self.file() {
            object.insert("file", &file);
        }
        match &self.reach {
            Reach::Command(command) => {
                object.insert("command", &command.command);
                object.insert("args", &command.args);
                let mut env: BTreeMap<&str, Option<String>> = BTreeMap::new();
                for (name, text) in &command.env {
                    let text = if decides_code(name) { text.clone() } else { masked(text) };
                    env.insert(name, Some(text));
                }
                env.extend(command.env_removed.iter().map(|name| (name.as_str(), None)));
                if !env.is_empty() {
                    object.insert("env", &env);
                }
                if let Some(path) = &command.env_file {
                    object.insert("envFile", path);
                }
                if let Some(cwd) = &command.cwd {
                    object.insert("cwd", cwd);
                }
            }
            Reach::Url(url) => {
                object.insert("url", &url.url);
                if let Some(transport) = &url.transport {
                    object.insert("type", transport);
                }
                if !url.headers.is_empty() {
                    let headers: BTreeMap<_, _> = url
                        .headers
                        .iter()
                        .map(|(name, text)| (name.to_ascii_lowercase(), masked(text)))
                        .collect();
                    object.insert("headers", &headers);
                }
            }
        }
        object
    }

    /// What the entry takes from outside of its file, field by field: which secret leaves in which header.
    ///
    /// A file under `envFile` is read besides; it is named in the entry.
    #[must_use]
    pub fn takes(&self) -> Vec<Taken> {
        let mut taken = BTreeSet::new();
        let mut look =
            |field: String, text: &str| collect(&field, &split(text).unwrap_or_default(), &mut taken);
        match &self.reach {
            Reach::Command(command) => {
                look("command".into(), &command.command);
                for (i, arg) in command.args.iter().enumerate() {
                    look(format!("args[{i}]"), arg);
                }
                for (name, text) in &command.env {
                    look(format!("env.{name}"), text);
                }
                for (name, text) in [("envFile", &command.env_file), ("cwd", &command.cwd)] {
                    look(name.into(), text.as_deref().unwrap_or_default());
                }
            }
            Reach::Url(url) => {
                look("url".into(), &url.url);
                for (name, text) in &url.headers {
                    look(format!("headers.{name}"), text);
                }
            }
        }
        taken.into_iter().collect()
    }

    /// The names of all variables, inputs and secrets it takes, each once: `TOKEN`, `input:api-key`, `secret:github`.
    #[must_use]
    pub fn takes_from_environment(&self) -> BTreeSet<String> {
        let name = |taken: Taken| match taken.what {
            TakenKind::Variable => taken.name,
            TakenKind::Input => format!("input:{}", taken.name),
            TakenKind::Secret => format!("secret:{}", taken.name),
        };
        self.takes().into_iter().map(name).collect()
    }
}

fn collect(field: &str, pieces: &[Piece<'_>], taken: &mut BTreeSet<Taken>) {
    for piece in pieces {
        let (what, name) = match piece {
            Piece::Variable { name, default } => {
                collect(field, default.as_deref().unwrap_or_default(), taken);
                (TakenKind::Variable, *name)
            }
            Piece::Input(id) => (TakenKind::Input, *id),
            Piece::Secret(name) => (TakenKind::Secret, *name),
            _ => continue,
        };
        taken.insert(Taken { field: field.to_owned(), what, name: name.to_owned() });
    }
}
