//! Consent: who may start, call and ask what, in the name of the user.
//!
//! Before a [host](super::host) does anything it asks a [`Policy`](crate::host::consent::Policy). Its answer is yes, no, or to ask; what is to be
//! asked is put to the user by a [`Consent`](crate::host::consent::Consent), unless the user has answered it before. Without a `Consent` it is
//! denied.
//!
//! ```
//! # #[cfg(feature = "host")] {
//! use tinymcp::CancelToken;
//! use tinymcp::host::consent::{Answer, Grants, Question, Rules};
//! use tinymcp::host::Host;
//!
//! let grants = Grants::new(); // `Grants::open(path)` keeps what is granted for always
//! let host = Host::builder()
//!     .policy(Rules::new().trust("notes").allow("files", "read_*").deny("*", "delete_*"))
//!     .consent(|question: &Question, _: &CancelToken| {
//!         println!("{question}"); // a dialog, in a real program
//!         Answer::No
//!     })
//!     .grants(&grants)
//!     .start()?;
//! # drop(host);
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! # Rules and hints
//!
//! [`Rules`](crate::host::consent::Rules) are patterns of servers and tools: `deny` wins over `ask`, and `ask` over `allow`. Where no rule
//! matches, the hints of the tool decide, **if the server is trusted**: one with `readOnlyHint: true` runs, unless it says `openWorldHint: true`;
//! any other is asked about. Of a server that is not trusted every call is asked about: what it says of itself is a claim. A policy of your own is a
//! closure that sees the server, the tool and its arguments.
//!
//! # Questions
//!
//! A [`Question`](crate::host::consent::Question) shows what will happen: the tool, its arguments, what the server claims of it, why it is asked, and
//! what has changed since the user agreed to it. Its texts have been made harmless. It is asked on a thread of its own. The user has
//! [five minutes](crate::host::HostBuilder::ask_time), which do not count as time of the call; after that it is denied, and so it is if the
//! asking panics. At most 8 questions of a server wait at a time, and 30 are asked within a minute; more are denied without asking, and an event tells of
//! it, so that no server can bury its user.
//!
//! # What is remembered
//!
//! | answer | counts |
//! |---|---|
//! | [`Once`](crate::host::consent::Answer::Once) | for this call |
//! | [`Session`](crate::host::consent::Answer::Session) | as long as the [`Grants`](crate::host::consent::Grants) live |
//! | [`Always`](crate::host::consent::Answer::Always) | also in later runs, if they have a file |
//! | [`No`](crate::host::consent::Answer::No) | for this call |
//!
//! It counts for one tool as its server described it, kept as canonical JSON, of one server as it was configured. If the description, a schema or a hint
//! changes, the user is asked again and sees the difference. If the name is given to another command, that is another server.
//!
//! The file is written beside its place, brought to the disk, and renamed, readable by its owner alone. Several processes may use it: it is read
//! again when it has changed. One that cannot be read grants nothing.
//!
//! # Taking it back
//!
//! [`revoke_tool`](crate::host::consent::Grants::revoke_tool), [`revoke_server`](crate::host::consent::Grants::revoke_server) and
//! [`revoke_all`](crate::host::consent::Grants::revoke_all) count at once, and end what is under way, whether it was allowed by an answer or by a
//! rule. The caller gets [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown): the server was told to stop, and may have finished before.
//!
//! # Starting, sampling, elicitation
//!
//! A server of a configuration file is a command that somebody wrote there. It is started once the user has agreed to it, and asked about again when it
//! changes; so is a URL, as variables in it and in its headers leave this machine. Servers that the program itself
//! [names](crate::host::HostBuilder::server) are started without asking.
//!
//! What servers ask passes the same gate before the [handler](crate::host::HostBuilder::handler) sees it: a language model's answer is asked about twice,
//! once for the question and once before the server gets the answer. What is refused is, for the server, a user who declined.
