//! What the tables about asking the user in the guide are compared with: rows as in `guide.rs`.

pub(crate) const ROWS: &[(&str, &str, &[&str])] = &[
    ("questions to the user about one server that are open", "host/consent/asking.rs", &["waiting: "]),
    ("the same that are shown within a minute", "host/consent/asking.rs", &["per_minute: "]),
    (
        "questions to the user that are shown at a time, each about another server",
        "host/consent/asking.rs",
        &["shown: "],
    ),
    (
        "servers of which it is known when they were asked about",
        "host/consent/desk.rs",
        &["MAX_SERVERS: usize = "],
    ),
    (
        "a text of a question, and what has changed, on a terminal",
        "host/consent/question.rs",
        &["SHOWN: usize = ", "SHOWN_CHANGE: usize = "],
    ),
    (
        "cells of the table by which two definitions are compared",
        "host/consent/difference.rs",
        &["MAX_CELLS: usize = "],
    ),
    (
        "what is granted for the session, and for always; refused for the session",
        "host/consent/grants.rs",
        &["MAX_GRANTS: usize = "],
    ),
    (
        "the definition of a tool that is agreed to for more than once",
        "host/consent/grants.rs",
        &["MAX_BYTES: usize = "],
    ),
    ("a file of grants", "host/consent/store.rs", &["MAX_FILE_BYTES: u64 = "]),
    (
        "what was taken back while its file could not be written",
        "host/consent/meant.rs",
        &["MAX_UNWRITTEN: usize = "],
    ),
    ("the user answers a question; before, that waits to be shown", "host/consent/asking.rs", &["time: "]),
    (
        "a change of a file of grants waits for that of another process",
        "host/consent/turn.rs",
        &["TURN_TIME: Duration = "],
    ),
];
