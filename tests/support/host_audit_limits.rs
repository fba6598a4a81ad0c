//! What the tables about a host's audit log and result filter in the guide are compared with: rows as in `guide.rs`.

pub(crate) const ROWS: &[(&str, &str, &[&str])] = &[
    ("arguments, and a result, in an audit log", "host/audit/builder.rs", &["VALUE_BYTES: usize = "]),
    ("any other text in an audit log", "host/audit/line.rs", &["TEXT_BYTES: usize = "]),
    ("an audit file", "host/audit/file.rs", &[]),
    ("secrets that are hidden by their value", "host/audit/log.rs", &["MAX_SECRETS: usize = "]),
    ("a line of an audit log that is read", "host/audit/read.rs", &["LINE_BYTES: u64 = "]),
    (
        "intents that wait for their outcomes, where a log is explained",
        "host/audit/explain.rs",
        &["MAX_OPEN: usize = "],
    ),
    ("a text of a result, and a string of a structured one", "host/filter/caps.rs", &["text_bytes: "]),
    ("all texts of a result", "host/filter/caps.rs", &["result_bytes: "]),
    ("a structured result", "host/filter/caps.rs", &["structured_bytes: "]),
    ("a picture, a sound or a file in a result, as base64", "host/filter/caps.rs", &["blob_bytes: "]),
    ("blocks of a result, parts of a resource, messages of a prompt", "host/filter/caps.rs", &["blocks: "]),
    ("a name, a title or an address", "host/filter/caps.rs", &["name_bytes: "]),
    ("a description, and a string of a schema", "host/filter/caps.rs", &["description_bytes: "]),
    ("a schema", "host/filter/caps.rs", &["schema_bytes: "]),
    ("`_meta`, and unknown members, each", "host/filter/caps.rs", &["extra_bytes: "]),
    ("the last lines of an audit log reach the disk", "host/audit/syncer.rs", &["LAST_SYNC: Duration = "]),
    ("it is seen that an audit file was moved or removed", "host/audit/file.rs", &["LOOK: Duration = "]),
    ("an audit file is let go by a log that was dropped", "host/audit/lock.rs", &["LET_GO: Duration = "]),
];
