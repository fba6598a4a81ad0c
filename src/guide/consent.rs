//! Consent: what an agent may do on behalf of its user, and how the user is asked.
//!
//! A [`Host`](crate::host::Host), with the feature `host`, does nothing in silence. Before a tool is called, a server of a configuration file
//! is started, or something that a server asks is answered, a [`Policy`](crate::host::consent::Policy) is asked. It allows, denies, or
//! wants the user to be asked. What cannot be decided is denied: without anybody to ask, after a panic, when nobody answers.
//!
//! ```
//! # #[cfg(feature = "host")] {
//! use std::sync::Mutex;
//! use std::time::Duration;
//! use tinymcp::CancelToken;
//! use tinymcp::host::Host;
//! use tinymcp::host::consent::{Answer, AskLimits, Grants, Question, Rules};
//!
//! let rules = Rules::new()
//!     .trust("notes") // believes its hints
//!     .allow("files", "read_*")
//!     .ask("files", "read_secret*")
//!     .deny("*", "delete_*");
//!
//! // Asks on the terminal, one question at a time.
//! let turn = Mutex::new(());
//! let ask = move |question: &Question, cancel: &CancelToken| {
//!     let Ok(_turn) = turn.lock() else { return Answer::No };
//!     if cancel.is_cancelled() {
//!         return Answer::No; // nobody waits for this one any more
//!     }
//!     eprintln!("{question}\nMay it? [o]nce, this [s]ession, [a]lways, [N]o, n[e]ver in this session");
//!     let mut line = String::new();
//!     match std::io::stdin().read_line(&mut line).map(|_| line.trim()) {
//!         Ok("o") => Answer::Once,
//!         Ok("s") => Answer::Session,
//!         Ok("a") => Answer::Always,
//!         Ok("e") => Answer::NoSession,
//!         _ => Answer::No,
//!     }
//! };
//!
//! let grants = Grants::new(); // or Grants::open(file), for what is granted for always
//! let host = Host::builder()
//!     .policy(rules)
//!     .consent(ask)
//!     .grants(&grants)
//!     .ask_limits(AskLimits::default().with_time(Duration::from_secs(120)))
//!     .start()?;
//! # drop(host);
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! # What is decided by what
//!
//! 1. **Rules** come first. They name servers and tools by patterns (`*` is any text, `?` any character; with the feature `patterns`
//!    also by regular expressions). A tool is named as its server names it. **Deny wins over ask, and ask over allow**, in whatever order
//!    they were given.
//! 2. Where no rule is, **hints**:
//!
//!    | server | the tool says | |
//!    |---|---|---|
//!    | not trusted | whatever | is asked about |
//!    | trusted | `readOnlyHint: true` | runs |
//!    | trusted | `readOnlyHint: true` and `openWorldHint: true` | is asked about |
//!    | trusted | anything else, or nothing | is asked about |
//!
//!    Servers are trusted by [`Rules::trust`](crate::host::consent::Rules::trust). A hint is what the server says of itself: of one that
//!    is not trusted it is shown to the user, as a claim, and decides nothing.
//! 3. What is to be asked is done without asking if the user **has agreed to it before**, see below. What the user does not want to hear
//!    of again in this session is denied, whatever else allows it.
//! 4. **The user** is asked.
//!
//! Starting a server of a configuration file is asked about unless a rule allows it: it runs a command, and can carry what is in the
//! environment into an address. Servers that the program itself adds are started unasked. Sampling, its *answers*, and elicitation are
//! asked about unless a rule allows them; a server is told no more than that the user has rejected it.
//!
//! A policy of your own is a closure, or anything that implements [`Policy`](crate::host::consent::Policy); it sees the arguments as well,
//! and can leave the rest to [`Rules`](crate::host::consent::Rules).
//!
//! # What the user sees
//!
//! A [`Question`](crate::host::consent::Question) has all that will happen: the server and the tool, its description, the arguments, the
//! hints in words; for a start the command line or address as it is written, the file it stands in, and what it takes from the
//! environment and where that goes. Values of variables and headers are not shown, unless they decide what is run. `Display` is for
//! terminals: nothing in it can command one, and what comes from a server stands on lines of its own:
//!
//! ```text
//! Call send of server mail
//! | Sends a mail.
//! Its server claims, unchecked: it does not say that it only reads; it says that it destroys nothing.
//! With the arguments
//! | {
//! |   "to": "ada@example.com"
//! | }
//! It has changed since you agreed to it:
//!   {
//! -   "description": "Sends a mail to yourself.",
//! +   "description": "Sends a mail.",
//!     "inputSchema": {
//!       "type": "object"
//! Asked because: the server is not trusted
//! ```
//!
//! # How long an answer is good for
//!
//! | [`Answer`](crate::host::consent::Answer) | |
//! |---|---|
//! | `Once` | this call |
//! | `Session` | this tool, with whatever arguments, as long as the host lives |
//! | `Always` | the same, also in later runs: kept in the file of [`Grants`](crate::host::consent::Grants) |
//! | `No` | this call is denied |
//! | `NoSession` | this tool is denied as long as the host lives, whatever it turns into |
//!
//! Consent is to what was shown: to one tool of one server, as that was configured, and as the tool was described. **A tool that is
//! described in another way is asked about again**, with the difference, line by line; and a server of a file, once what it runs has changed.
//! That holds also where a trusted server says that its changed tool only reads. It does not hold where a rule allows the tool by its name,
//! as the rule was made without looking.
//!
//! # Taking it back
//!
//! Keep a clone of the [`Grants`](crate::host::consent::Grants): it lists what was granted, and takes it back at any time, one by one, for a
//! tool, for a server, or all. Calls that are under way are cancelled, however they were allowed, also those that were granted once; their
//! callers get [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown), as the server may have done its work. A question that is open
//! just then is withdrawn.
//!
//! The file is JSON, for its owner alone; it is written beside, brought to the disk, and renamed, so that a crash leaves the old one or the
//! new one. Several processes may share it: each reads it anew when it has changed, and changes it as it is then, so that what one has
//! taken back no other brings back; calls that another process has under way go on. On Linux the turn to change it is a name in the kernel,
//! which processes in containers of their own do not see of each other; that another has changed it is then seen at the last moment, and an error. A file that is damaged is an error when it is
//! opened; if it becomes so later, nothing is granted by it, it is not written over, and the host tells of it as
//! [`HostEvent::Trouble`](crate::host::HostEvent::Trouble). What cannot be taken out of the file, as the disk fails, is taken back for this
//! process all the same.
//!
//! # Questions without end
//!
//! People who are asked too often say yes to anything. So of one server a single question is shown at a time. Those that wait behind it
//! are looked at again before they are shown: a yes for the session is for them too. A question has
//! [5 minutes](crate::host::consent::AskLimits::with_time), which are no time of the call; then it is a no, and the token given to
//! [`Consent::ask`](crate::host::consent::Consent::ask) fires, so that a dialog can close. The token fires too when the caller gives up, or the
//! server is removed. Whoever asks may never return: the call goes on without.
//!
//! [Eight](crate::host::consent::AskLimits::with_waiting) questions of a server may be open, and
//! [thirty](crate::host::consent::AskLimits::with_per_minute) are shown in a minute. Further ones are denied at once and told, with their
//! number, as [`HostEvent::Trouble`](crate::host::HostEvent::Trouble). Over all servers [four](crate::host::consent::AskLimits::with_shown) are
//! shown at a time; those go first whose server was not asked about for the longest time, so that a server that asks a thousand times
//! delays no other.
