//! What the tables about a host in the guide are compared with: rows as in `guide.rs`.

pub(crate) const ROWS: &[(&str, &str, &[&str])] = &[
    ("servers of a host", "host/inner.rs", &["MAX_SERVERS: usize = "]),
    ("tries of a call, host", "host/resilience/retry.rs", &["tries: "]),
    ("restarts of a server in a row", "host/resilience/policy.rs", &["limit: "]),
    ("failures in a row that open a circuit", "host/resilience/breaker.rs", &["failures: "]),
    (
        "the last calls of which a breaker takes the share of failures, at most",
        "host/resilience/breaker.rs",
        &["MAX_RECENT: u32 = "],
    ),
    ("members of a pool; at most", "host/pool/builder.rs", &["size: ", "MAX_MEMBERS: usize = "]),
    (
        "pings in a row that a member of a pool may leave unanswered",
        "host/pool/health.rs",
        &["UNANSWERED: u32 = "],
    ),
    (
        "conversations of a pool by their key; a key",
        "host/pool/sticky.rs",
        &["MAX_CONVERSATIONS: usize = ", "MAX_KEY_BYTES: usize = "],
    ),
    ("those who listen to changes by a pool", "host/pool/events.rs", &["MAX_OPEN: usize = "]),
    (
        "before a call is tried again, which doubles; at most",
        "host/resilience/retry.rs",
        &["first: ", "cap: "],
    ),
    (
        "listing the tools before the first of such calls, if nobody has",
        "host/resilience/resilient.rs",
        &["LISTING: Duration = "],
    ),
    (
        "before the second restart in a row, which doubles; at most",
        "host/resilience/policy.rs",
        &["first: ", "cap: "],
    ),
    (
        "a server stays, so that the next restart is the first again; one that did not stay is left alone",
        "host/resilience/policy.rs",
        &["stable_after: ", "rest: "],
    ),
    (
        "a circuit is open, which doubles; at most",
        "host/resilience/breaker.rs",
        &["cool_down: ", "longest_cool_down: "],
    ),
    (
        "between two pings of the members of a pool; for the answer",
        "host/pool/builder.rs",
        &["check_every: Some(", "check_time: "],
    ),
    (
        "before a member of a pool that does not stay is started again, which doubles; at most; it has stayed",
        "host/pool/builder.rs",
        &["first: ", "cap: ", "stable_after: "],
    ),
    (
        "a conversation of a pool that nobody holds, without a call",
        "host/pool/sticky.rs",
        &["IDLE: Duration = "],
    ),
    ("all members of a pool tell of the same change", "host/pool/events.rs", &["SETTLING: Duration = "]),
    ("servers that start side by side", "host/builder.rs", &["max_starting: "]),
    ("tools of one server in a host", "host/catalogue.rs", &["MAX_TOOLS: usize = "]),
    ("the name of a tool in a host, in characters", "functions/names.rs", &["MAX: usize = "]),
    ("refused tools of a listing that an event names", "host/listing.rs", &["MAX_REFUSED_TOLD: usize = "]),
    ("refused tools of which it is known that they were told", "host/member.rs", &["MAX_REFUSALS: usize = "]),
    ("questions about one call whose tool changes meanwhile", "host/caller.rs", &["MAX_CHANGES: usize = "]),
    ("a text that a server of a host wrote, in errors and events", "host/member.rs", &["MAX_TEXT: usize = "]),
    (
        "events of a host that wait for who watches; their texts",
        "host/events.rs",
        &["MAX_WAITING: usize = ", "MAX_WAITING_BYTES: usize = "],
    ),
    (
        "those who listen to changes by a host; changes that wait for one of them",
        "host/subscriptions.rs",
        &["MAX_OPEN: usize = ", "QUEUE: usize = "],
    ),
    ("servers that are asked for a list side by side", "host/caller.rs", &["SIDE_BY_SIDE: usize = "]),
    (
        "a server of a host starts: the protocol is settled, its tools are listed",
        "host/builder.rs",
        &["start_time: "],
    ),
    (
        "before the tools of a server are listed again that change all the time, which doubles; at most",
        "host/member.rs",
        &["FIRST_PAUSE: Duration = ", "LONGEST_PAUSE: Duration = "],
    ),
    ("who ends a server waits for those who just start it", "host/ending.rs", &["LANDING: Duration = "]),
    (
        "who closes a pool, or takes a member out, waits for those who just start it",
        "host/pool/close.rs",
        &["LANDING: Duration = "],
    ),
];
