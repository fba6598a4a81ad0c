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
    ("steps of an episode, and its time", "trajectory/environment/mod.rs", &[]),
    ("a step; each request of a reset", "trajectory/environment/mod.rs", &[]),
    (
        "orders of a member of many that are under way",
        "trajectory/environment/vec.rs",
        &["(orders, taken) = bounded("],
    ),
    (
        "items of a list, and members of an object, that a schema asks for, made up",
        "trajectory/sampling/maker.rs",
        &["MOST_OF_ONE: u64 = "],
    ),
    ("a text that is made up, in characters", "trajectory/sampling/format.rs", &["LONGEST: u64 = "]),
    (
        "values of arguments that are made up, and characters of their texts",
        "trajectory/sampling/maker.rs",
        &["MOST_VALUES: u64 = ", "MOST_CHARACTERS: u64 = "],
    ),
    (
        "levels of arguments that are made up; of those, with what a schema does not ask for",
        "trajectory/sampling/maker.rs",
        &["TOO_DEEP: usize = ", "DEEP: usize = "],
    ),
];
