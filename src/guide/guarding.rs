//! Guarding a server: what arguments must not reach, and what a server should not be able to do.
//!
//! A model chooses the arguments of a call, and a web page or a file that it has read may have told it which. So treat an argument as
//! a stranger's, also where the user is you. Two defences: check each argument **where it is used**, for what it is used as; and let the server
//! have no more rights than it needs, for what the checks miss. The feature `guard` helps with the first.
//!
//! | the argument becomes | danger | use |
//! |---|---|---|
//! | a path | a file somewhere else | [`Root`](crate::guard::Root) |
//! | a URL | a server that only this machine reaches | [`UrlPolicy`](crate::guard::UrlPolicy) |
//! | an argument of a program | an option, or a command | [`Program`](crate::guard::Program) |
//! | a value in a query | a query | [parameters](#queries) |
//! | a text for others | instructions for *their* model; terminal escapes | say where it is from; the host's filter |
//!
//! A schema is not a guard: it says that a path is a string. Nor is a list of bad words (`..`, `127.0.0.1`, `DROP TABLE`): there is always
//! another way to write it.
//!
//! # Paths
//!
//! Open a [`Root`](crate::guard::Root) when the server starts, and go through it for everything:
//!
//! ```
//! # #[cfg(feature = "guard")] {
//! use tinymcp::guard::Root;
//! use tinymcp::{Server, ToolError, ToolRegistry, testing, tool};
//!
//! # let folder = std::env::temp_dir().join(format!("tinymcp-doc-guarding-{}", std::process::id()));
//! # std::fs::create_dir_all(folder.join("public"))?;
//! # std::fs::write(folder.join("secret"), "secret")?;
//! # std::fs::write(folder.join("public/tea.md"), "green")?;
//! let root = Root::open(folder.join("public"))?.max_file_bytes(100_000).read_only();
//! let listed = root.clone();
//! let tools = ToolRegistry::new()
//!     .with(tool! {
//!         /// Read a file.
//!         fn read(path: String) -> Result<String, ToolError> { Ok(root.read_to_string(path)?) }
//!     })?
//!     .with(tool! {
//!         /// List all files.
//!         fn list() -> Result<String, ToolError> {
//!             let paths = listed.walk(".")?.entries.into_iter().map(|entry| entry.path.display().to_string());
//!             Ok(paths.collect::<Vec<_>>().join("\n"))
//!         }
//!     })?;
//! let client = testing::pair(&Server::builder("files", "1").tools(tools).build()?)?;
//! let call = |tool: &str, path: &str| {
//!     let result = client.call_tool(tool, serde_json::json!({"path": path}))?;
//!     Ok::<_, tinymcp::Error>(result.text_content())
//! };
//! assert_eq!(call("list", "")?, "tea.md");
//! assert_eq!(call("read", "tea.md")?, "green");
//! assert_eq!(call("read", "../secret")?, "../secret: the path leads out of the folder");
//! # #[cfg(unix)] {
//! # std::os::unix::fs::symlink("../secret", folder.join("public/link"))?;
//! assert_eq!(call("read", "link")?, "link: a link leads out of the folder");
//! # }
//! # std::fs::remove_dir_all(folder)?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What goes wrong by hand: joining an absolute path drops the folder before it; comparing the beginnings of texts takes `/srv/notes-old` for a part of
//! `/srv/notes`; resolving links first and opening afterwards leaves a moment in which a link can be put in between; and opening a pipe waits for ever. Variables of a
//! resource template are decoded once, by this crate, before your function sees them: hand them on as they are. For the folders
//! that a client names (`roots`, as `file:` URIs) there is [`Root::relative_uri`](crate::guard::Root::relative_uri).
//!
//! # URLs
//!
//! A tool that fetches URLs fetches them **from where the server is**. [`UrlPolicy`](crate::guard::UrlPolicy) lets it reach the public
//! Internet and what you open. Connect to the addresses that it returns, and have it check every redirect. With a plain
//! [`TcpStream`](std::net::TcpStream), its own example shows how. An HTTP library must be told three things: not to look the name up again, not to
//! follow redirects by itself, and to use no proxy, which would look it up instead. With ureq:
//!
//! ```
//! # #[cfg(all(feature = "guard", feature = "http-client"))] {
//! use std::net::SocketAddr;
//! use tinymcp::ToolError;
//! use tinymcp::guard::{CheckedUrl, UrlPolicy};
//! use ureq::config::Config;
//! use ureq::http::Uri;
//! use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
//! use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
//!
//! /// Knows the addresses that were checked, and no other.
//! #[derive(Debug)]
//! struct Checked(Vec<SocketAddr>);
//!
//! impl Resolver for Checked {
//!     fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
//!         let mut addresses = self.empty();
//!         self.0.iter().take(16).for_each(|address| addresses.push(*address));
//!         Ok(addresses)
//!     }
//! }
//!
//! fn fetch(policy: &UrlPolicy, url: &str) -> Result<String, ToolError> {
//!     let mut checked: CheckedUrl = policy.check(url)?;
//!     loop {
//!         let config = ureq::Agent::config_builder()
//!             .max_redirects(0)
//!             .proxy(None)
//!             .timeout_global(Some(std::time::Duration::from_secs(20)))
//!             .build();
//!         let resolver = Checked(checked.addresses().to_vec());
//!         let agent = ureq::Agent::with_parts(config, DefaultConnector::default(), resolver);
//!         let mut answer = agent.get(checked.url()).call()?;
//!         let location = answer.headers().get("location").and_then(|value| value.to_str().ok());
//!         match location {
//!             Some(location) if answer.status().is_redirection() => checked = policy.follow(&checked, location)?,
//!             _ => return Ok(answer.body_mut().with_config().limit(100_000).read_to_string()?),
//!         }
//!     }
//! }
//!
//! # use std::io::{BufRead, BufReader, Write};
//! # let server = std::net::TcpListener::bind("127.0.0.1:0")?;
//! # let port = server.local_addr()?.port();
//! # let answers = ["302 Found\r\nlocation: /tea\r\ncontent-length: 0", "200 OK\r\ncontent-length: 5\r\n\r\ngreen", "302 Found\r\nlocation: http://127.0.0.2/\r\ncontent-length: 0"];
//! # let web = std::thread::spawn(move || -> std::io::Result<()> {
//! #     for answer in answers {
//! #         let (mut stream, _) = server.accept()?;
//! #         for line in BufReader::new(stream.try_clone()?).lines() {
//! #             if line?.is_empty() { break; }
//! #         }
//! #         write!(stream, "HTTP/1.1 {}{}", answer.replacen("\r\ncontent", "\r\nconnection: close\r\ncontent", 1), if answer.contains("green") { "" } else { "\r\n\r\n" })?;
//! #     }
//! #     Ok(())
//! # });
//! // A server of one's own, which sends us to /tea, and later to an address that nobody opened.
//! let policy = UrlPolicy::new().allow_network("127.0.0.1".parse()?);
//! let url = format!("http://127.0.0.1:{port}/");
//! assert_eq!(fetch(&policy, &url).unwrap(), "green");
//! let error = fetch(&policy, &url).unwrap_err();
//! assert_eq!(error.to_string(), "http://127.0.0.2/: its address is not a public one (loopback)");
//! # web.join().expect("no panic")?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Send nothing along that the other side could use: no cookies, and no token of yours but to the origin it is for. The answer is text of a
//! stranger; limit its size and its time, as above. Where a server has no reason to reach the network at all, take the network away from it instead.
//!
//! # Commands
//!
//! Give a program a list of arguments, never a line for a shell, whatever you quote. [`Program`](crate::guard::Program) fixes the program and checks the
//! arguments: nothing that begins with `-` gets in as an option (`--output=/etc/…`, `-oProxyCommand=…`), and `--` is put before them.
//!
//! ```
//! # #[cfg(all(feature = "guard", unix))] {
//! use std::time::Duration;
//! use tinymcp::guard::Program;
//! use tinymcp::{Context, ToolError, tool};
//!
//! let program = Program::new("/bin/cat").time_limit(Duration::from_secs(5)).current_dir("/");
//! let show = tool! {
//!     /// Show a file of a mounted archive.
//!     fn show(name: String, cx: &Context) -> Result<String, ToolError> {
//!         if name.contains('/') { return Err(ToolError::bad_arguments("name: must not have a /")); }
//!         Ok(program.run_until([name], cx.cancel_token())?.into_text()?)
//!     }
//! };
//! # let client = tinymcp::testing::pair(&tinymcp::Server::builder("t", "1").tools(tinymcp::ToolRegistry::new().with(show)?).build()?)?;
//! # let show = |name: &str| Ok::<_, tinymcp::Error>(client.call_tool("show", serde_json::json!({"name": name}))?.text_content());
//! assert_eq!(show("--version")?, "cat: argument 1 begins with -: \"--version\"");
//! assert!(show("a; rm -rf ~")?.ends_with("No such file or directory"));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Better than a program is a library that does the same in your process: no arguments to be misread. And
//! what a program *does* with an argument is still to be guarded: `git clone` takes URLs, `tar` takes paths, `curl` takes both.
//!
//! # Queries
//!
//! A value never becomes a part of a query's text. Every database library has parameters; the query is fixed, the values travel beside it, and none of them
//! can change what the query says. This crate depends on no database, so here is one of a few lines that shows the seam. Yours
//! looks much the same: `connection.prepare("… WHERE author = ?1")?.query([author])?`.
//!
//! ```
//! use tinymcp::{ToolError, tool};
//!
//! # #[derive(Clone)]
//! # struct Connection;
//! # impl Connection {
//! #     fn query(&self, sql: &'static str, values: &[&str]) -> Result<Vec<String>, ToolError> {
//! #         assert_eq!(sql.matches('?').count(), values.len());
//! #         let notes = [("ada", "looms"), ("bob", "tea")];
//! #         let hits = notes.iter().filter(|(author, _)| *author == values[0]);
//! #         let mut titles: Vec<_> = hits.map(|(_, title)| (*title).to_owned()).collect();
//! #         if sql.ends_with("DESC") { titles.reverse(); }
//! #         Ok(titles)
//! #     }
//! # }
//! # let connection = Connection;
//! let by_author = tool! {
//!     /// Titles of notes by their author.
//!     fn by_author(author: String, order: String = "asc".to_owned()) -> Result<Vec<String>, ToolError> {
//!         // Names of tables and columns, and key words, cannot be parameters: choose among texts of your own.
//!         let sql = match &*order {
//!             "asc" => "SELECT title FROM notes WHERE author = ?1 ORDER BY title ASC",
//!             "desc" => "SELECT title FROM notes WHERE author = ?1 ORDER BY title DESC",
//!             _ => return Err(ToolError::bad_arguments("order: must be asc or desc")),
//!         };
//!         connection.query(sql, &[&author]) // `sql` is `&'static str`: nothing can be formatted into it
//!     }
//! };
//! # let client = tinymcp::testing::pair(&tinymcp::Server::builder("t", "1").tools(tinymcp::ToolRegistry::new().with(by_author)?).build()?)?;
//! # let ask = |arguments: serde_json::Value| client.call_tool("by_author", arguments);
//! # use serde_json::json;
//! assert_eq!(ask(json!({"author": "ada"}))?.text_content(), r#"["looms"]"#);
//! assert_eq!(ask(json!({"author": "' OR '1'='1"}))?.text_content(), "[]"); // an author of that name, whom nobody knows
//! assert!(ask(json!({"author": "ada", "order": "asc; DROP TABLE notes"}))?.is_error());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A function that takes the query as `&'static str` makes the mistake impossible to compile. In a pattern for `LIKE`, `%` and `_` are still special:
//! escape them. The same holds for every language with a text form: XPath, LDAP filters, regular expressions (which also need a limit), HTML.
//!
//! A tool that *is for* running queries of the model's cannot be guarded by reading them. Give it a connection that can do no harm: an account that may
//! only read, and only some views; a read-only replica or file; a time limit and a limit of rows, both set in the database.
//!
//! # Least privilege
//!
//! Whatever a check misses is done with the server's rights. So:
//!
//! | | |
//! |---|---|
//! | user | one of its own, which owns nothing but its data; not root, and not you |
//! | files | only its folders are writable; secrets of others are not readable. In a container or sandbox: only these are there |
//! | network | none, or only what it talks to, by the container or the firewall |
//! | database | an account with the rights that the tools need. Two servers, one that reads and one that writes, can be allowed separately |
//! | tokens of an API | the narrowest scope, read-only where that is enough, one for each server, with an end |
//! | tools | few, and narrow: `create_invoice` rather than `run_sql`, `restart_web` rather than `run`. What deletes or pays is a tool of its own, so that users can be [asked](crate::guide::asking) about it alone |
//! | hints | say [`read_only`](crate::FnTool::read_only) and [`destructive`](crate::FnTool::destructive) truly. They help honest hosts to ask the right questions; they protect nobody |
//! | several users | act with the rights of [who calls](crate::Context::principal), never with the sum of everybody's: check for each call that this note is theirs |
//!
//! # Credentials
//!
//! - Take them from the environment or a file when the server starts, never as an argument of a tool: what a model has seen, it can repeat. Not in the command line
//!   either, which every user of the machine can read.
//! - Nothing that a client sent is a credential for others: a token that came in with a request is for *this* server, and is not passed on to another one.
//! - Keep them out of results, errors and logs. An error of an HTTP library may name the URL with its query: put keys into headers. This crate's log shows frames at the
//!   level `trace`, unredacted, and only there.
//! - What a program does not need it does not get: [`Program`](crate::guard::Program) and [child servers](crate::transport::Environment) inherit the base of the environment,
//!   which has no secrets.
//! - Ask a user for a password by [a URL](crate::guide::questions), where it goes to your web page and not through the model; never in a form.
//!
//! # Limits
//!
//! A model in a loop calls again and again. [Sizes, numbers and times](crate::guide::limits) of calls are bounded by this crate; bound what a tool makes of them as
//! well: rows, bytes, depth, money. Refuse early, with a text that says the limit: the model can then ask for less.
