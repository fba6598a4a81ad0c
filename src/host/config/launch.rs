//! [`Launch`]: a server with everything replaced, ready to be started or reached.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use super::entry::{ServerEntry, names};
use super::secret::Secret;

/// A server with everything replaced, ready to be started or reached. `Debug` shows no value that could be a secret.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Launch {
    /// What the user calls it.
    pub name: String,
    /// How it is reached.
    pub reach: LaunchReach,
    /// The values that were put in place of variables, answers and secrets, each by itself.
    pub(super) replaced: Vec<Secret>,
}

/// So short a value says nothing, and may be a part of any text.
const MIN_REPLACED_BYTES: usize = 6;

/// How a server is reached, with everything replaced.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum LaunchReach {
    /// It is started.
    #[non_exhaustive]
    Command {
        /// The program: a name that is looked up in `PATH`, or a path that does not depend on the folder.
        program: String,
        /// Its arguments.
        args: Vec<Secret>,
        /// Variables it gets beyond the basic ones, those of its file included.
        env: BTreeMap<String, Secret>,
        /// Variables it does not get even where they are basic ones.
        env_removed: BTreeSet<String>,
        /// The folder it is started in; `None` for that of this process.
        cwd: Option<PathBuf>,
    },
    /// It is at an address.
    #[non_exhaustive]
    Url {
        /// `http` or `https`.
        url: Secret,
        /// Headers of every request.
        headers: BTreeMap<String, Secret>,
        /// What is spoken there.
        transport: UrlTransport,
    },
}

/// What a server at an address speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlTransport {
    /// The file does not say: Streamable HTTP, or else the older HTTP+SSE.
    #[default]
    Any,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, of 2024-11-05.
    Sse,
}

impl Launch {
    /// The values that `entry`, of which this was made, takes from outside of its file: the fields that have any in them, and what was
    /// put there, as a server may repeat either.
    pub(in crate::host) fn taken(&self, entry: &ServerEntry) -> Vec<&Secret> {
        let fields: BTreeSet<String> = entry.takes().into_iter().map(|taken| taken.field).collect();
        let named = |group: &str, values: &'_ BTreeMap<String, Secret>| -> Vec<String> {
            values.keys().filter(|name| fields.contains(&format!("{group}.{name}"))).cloned().collect()
        };
        let mut taken: Vec<&Secret> = match &self.reach {
            LaunchReach::Command { args, env, .. } => {
                let args = args.iter().enumerate().filter(|(i, _)| fields.contains(&format!("args[{i}]")));
                let names = named("env", env);
                args.map(|(_, arg)| arg).chain(names.iter().filter_map(|name| env.get(name))).collect()
            }
            LaunchReach::Url { url, headers, .. } => {
                let names = named("headers", headers);
                let url = Some(url).filter(|_| fields.contains("url"));
                url.into_iter().chain(names.iter().filter_map(|name| headers.get(name))).collect()
            }
        };
        taken.extend(self.replaced.iter().filter(|value| value.reveal().len() >= MIN_REPLACED_BYTES));
        taken
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch").field("name", &self.name).field("reach", &self.reach).finish()
    }
}

impl fmt::Debug for LaunchReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { args, env, env_removed, cwd, .. } => f
                .debug_struct("Command")
                .field("args", &format_args!("{} of them", args.len()))
                .field("env", &names(env))
                .field("env_removed", env_removed)
                .field("has_cwd", &cwd.is_some())
                .finish_non_exhaustive(),
            Self::Url { headers, transport, .. } => f
                .debug_struct("Url")
                .field("headers", &names(headers))
                .field("transport", transport)
                .finish_non_exhaustive(),
        }
    }
}
