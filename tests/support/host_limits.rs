//! What the tables about a host in the guide are compared with: rows as in `guide.rs`.

pub(crate) const ROWS: &[(&str, &str, &[&str])] = &[
    ("servers of a host", "host/inner.rs", &["MAX_SERVERS: usize = "]),
    ("servers that start side by side", "host/builder.rs", &["max_starting: "]),
    ("tools of one server in a host", "host/catalogue.rs", &["MAX_TOOLS: usize = "]),
    ("the name of a tool in a host, in characters", "host/names.rs", &["MAX: usize = "]),
    ("events of a host that wait for who watches", "host/events.rs", &["MAX_WAITING: usize = "]),
    (
        "those who listen to changes by a host; changes that wait for one of them",
        "host/subscriptions.rs",
        &["MAX_OPEN: usize = ", "QUEUE: usize = "],
    ),
    ("servers that are asked for a list side by side", "host/caller.rs", &["SIDE_BY_SIDE: usize = "]),
    ("questions that are with users at a time", "host/consent/asking.rs", &["THREADS: usize = "]),
    (
        "questions of one server that wait, and that are asked within a minute",
        "host/consent/asking.rs",
        &["MAX_WAITING: usize = ", "MAX_ASKED: usize = "],
    ),
    (
        "what is granted and kept; a definition with it",
        "host/consent/grants.rs",
        &["MAX_GRANTS: usize = ", "MAX_BYTES: usize = "],
    ),
    ("a file of grants", "host/consent/store.rs", &["MAX_FILE_BYTES: u64 = "]),
    ("a text in a question, in characters", "host/consent/question.rs", &["MAX_TEXT: usize = "]),
    (
        "a server of a host starts: the protocol is settled, its tools are listed",
        "host/builder.rs",
        &["start_time: "],
    ),
    ("the user answers", "host/consent/gatekeeper.rs", &["ASK_TIME: Duration = "]),
    (
        "another process changes the file of grants; it has left that undone",
        "host/consent/store.rs",
        &["LOCK_TIME: Duration = ", "STALE: Duration = "],
    ),
];
