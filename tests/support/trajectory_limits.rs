//! The rows of the guide's tables that are of recordings, and where the figures of each stand in the code.

pub(crate) const ROWS: &[(&str, &str, &[&str])] = &[
    ("trajectories that are open in one sink", "trajectory/sink.rs", &["MAX_OPEN: u64 = "]),
    ("what a sink in memory holds", "trajectory/sink.rs", &["MEMORY_BYTES: usize = "]),
    (
        "lists of tools known to be in the file, writing and reading",
        "trajectory/sink.rs",
        &["KNOWN_DEFINITIONS: usize = "],
    ),
    ("trajectories that are put together at a time, reading", "trajectory/group.rs", &["MAX_OPEN: usize = "]),
    ("events of one of them, reading", "trajectory/group.rs", &["MAX_EVENTS: usize = "]),
    ("a line of a recording that is read", "trajectory/lines.rs", &["MAX_LINE_BYTES: usize = "]),
    ("tools with figures of their own", "trajectory/statistics.rs", &["MAX_TOOLS: usize = "]),
    ("a page that shows a recording", "trajectory/report/mod.rs", &["MAX_PAGE_BYTES: usize = "]),
    ("a value on such a page, as HTML", "trajectory/report/mod.rs", &["VALUE_BYTES: usize = "]),
];
