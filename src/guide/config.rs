//! Configuration files: the servers that a user has already told another host of.
//!
//! With the feature `host`, [`Config`] reads such a file, [`Resolver`] puts in what it only names, and the result is a [`Launch`]: a
//! command line or an address.
//!
//! ```no_run
//! # #[cfg(feature = "host")] {
//! use tinymcp::host::config::{Config, Resolver};
//!
//! let config = match Config::read("/home/ann/.config/host/mcp.json") {
//!     Err(error) if error.is_missing() => Config::new(), // nothing is configured yet
//!     result => result?,
//! };
//! for error in &config.rejected {
//!     eprintln!("{error}"); // mcp.json:7:18: server "notes": args[1]: expected a string, found a number
//! }
//! let resolver = Resolver::of(&config).workspace("/home/ann/project");
//! for entry in config.servers.iter().filter(|entry| !entry.disabled) {
//!     match resolver.resolve(entry) {
//!         Ok(launch) => println!("{launch:?}"),
//!         Err(error) => eprintln!("{error}"), // … headers.Authorization: TOKEN: not set, and it has no default
//!     }
//! }
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A host does more than that before it starts anything: a configuration that the user has not seen is asked about first.
//!
//! # Which files
//!
//! | servers are under | as in the files of | what is special |
//! |---|---|---|
//! | `mcpServers` | Claude Desktop, Claude Code, Cursor, Windsurf, Cline, Gemini CLI, Copilot CLI, LM Studio and most others | |
//! | `servers`, beside `inputs` | VS Code's `mcp.json`; below `mcp` in its settings | comments, `null` in `env` |
//! | `context_servers` | Zed | comments; older: `command` is an object of `path`, `args`, `env` |
//! | `amp.mcpServers` | Amp | |
//! | `mcp` | opencode, Crush | `command` is the whole line, `environment` |
//! | the file itself | Warp | only if everything in it is a server |
//!
//! What sections have in common:
//!
//! | | also written | |
//! |---|---|---|
//! | `command`, `args`, `env`, `cwd`, `envFile` | `environment`, `working_directory` | a server that is started |
//! | `url`, `headers` | `serverUrl`, `httpUrl`, `baseUrl` | a server at an address |
//! | `type` | `transport`, `transportType` | `stdio`, `local`; `http`, `streamable-http`, `sse`, `remote`. Needed only if there are both `command` and `url` |
//! | `disabled: true` | `enabled: false`, `isActive: false` | kept, and not to be started |
//!
//! Everything else (`timeout`, `alwaysAllow`, `oauth`, …) is in [`extra`](crate::host::config::ServerEntry::extra), as it is written. TOML and
//! YAML are not read.
//!
//! Comments and trailing commas need the feature `jsonc`; without it such a file is an error that says so. A name that is given twice, of a
//! server or in one, is an error that names both lines: which one counts differs between programs, and a reader sees only one of
//! them. It costs that server, not the others.
//!
//! # What a file names
//!
//! `${env:NAME}`, `${NAME}`, `${NAME:-default}`, `${input:id}`, `${workspaceFolder}`, `${userHome}`: the whole table is at [`Resolver`]. What has no
//! value is an error that names file, server, field and variable. Values are put in once: what looks like a variable in the value of one
//! stays text, so that nobody who sets one variable reads another.
//!
//! Values come from the environment, or first from a [`SecretSource`]: a keyring, a vault, a question to the user. An input is asked for
//! once, whichever servers need it:
//!
//! ```
//! # #[cfg(feature = "host")] {
//! use tinymcp::host::config::{Config, Input, LaunchReach, Resolver, Secret, SecretError, SecretSource};
//!
//! struct Dialog;
//!
//! impl SecretSource for Dialog {
//!     fn input(&self, input: &Input) -> Result<Option<Secret>, SecretError> {
//!         // A host shows the question and hides what is typed, as input.kind says.
//!         let question = input.description.as_deref().unwrap_or(&input.id);
//!         Ok(Some(format!("answer to {question}").into()))
//!     }
//! }
//!
//! let config = Config::parse(
//!     r#"{
//!         "inputs": [{"id": "token", "type": "promptString", "description": "API token", "password": true}],
//!         "servers": {"search": {
//!             "type": "http",
//!             "url": "https://example.com/mcp",
//!             "headers": {"Authorization": "Bearer ${input:token}"}
//!         }}
//!     }"#,
//!     "mcp.json",
//! )?;
//! let launch = Resolver::of(&config).secrets(Dialog).resolve(&config.servers[0])?;
//!
//! let LaunchReach::Url { headers, .. } = &launch.reach else { unreachable!() };
//! assert_eq!(headers["Authorization"].reveal(), "Bearer answer to API token");
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Secret`] is never in `Debug` or `Display`, and no value of a file, a variable or an answer is in an error: only names and places are.
//!
//! # What a user is shown
//!
//! A configuration runs commands and can send secrets away. [`canonical`](crate::host::config::Resolver::canonical) is what would be run
//! or reached, before anything is put in: when it is not the text that the user has allowed, the user is asked again.
//! [`takes`](crate::host::config::ServerEntry::takes) says which secret goes where:
//!
//! ```
//! # #[cfg(feature = "host")] {
//! use tinymcp::host::config::ServerEntry;
//!
//! let entry = ServerEntry::url("search", "https://example.com/mcp").with_header("Authorization", "Bearer ${env:TOKEN}");
//! assert_eq!(entry.takes()[0].to_string(), "headers.Authorization takes TOKEN");
//! # }
//! ```
//!
//! # Writing a file
//!
//! Change [`servers`](crate::host::config::Config::servers) and call [`write`](crate::host::config::Config::write). Only what has changed is
//! written: other settings, comments, order and the spelling of numbers stay, and so do servers that could not be read. The file is there
//! whole at every moment, and keeps its permissions. If another program has written it since it was read, that is an error.
//!
//! ```
//! # #[cfg(feature = "host")] {
//! use tinymcp::host::config::{Config, ServerEntry};
//!
//! # let folder = std::env::temp_dir().join(format!("tinymcp-guide-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("mcp.json");
//! let mut config = Config::new();
//! config.servers.push(ServerEntry::command("notes", "notes-server", ["--dir", "${userHome}/notes"]));
//! config.write(&path)?;
//! assert_eq!(Config::read(&path)?.servers, config.servers);
//! # std::fs::remove_dir_all(&folder)?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Config`]: crate::host::config::Config
//! [`Launch`]: crate::host::config::Launch
//! [`Resolver`]: crate::host::config::Resolver
//! [`Secret`]: crate::host::config::Secret
//! [`SecretSource`]: crate::host::config::SecretSource
