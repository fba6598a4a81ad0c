//! What the tables about HTTP in the guide are compared with: rows as in `guide.rs`, and what is no limit.

pub(crate) const SERVER: &[(&str, &str, &[&str])] = &[
    ("open connections", "http/server/builder.rs", &["connections: "]),
    ("connections beyond them that are told so", "http/server/wire/accept.rs", &["TURNED_AWAY: usize = "]),
    ("connections that wait to be accepted", "http/server/wire/mod.rs", &["BACKLOG: i32 = "]),
    ("requests that are served, of all clients", "server/builder.rs", &["threads: "]),
    ("requests that wait for that", "server/builder.rs", &["in_flight: "]),
    ("open requests of a Legacy session", "server/builder.rs", &["in_flight: "]),
    ("the head of a request", "http/server/builder.rs", &["head_bytes: ", "headers: "]),
    ("its body", "transport/framing.rs", &["DEFAULT_MAX_FRAME_BYTES: usize = "]),
    (
        "heads and bodies that are being received, of all clients",
        "http/server/builder.rs",
        &["receiving_bytes: "],
    ),
    (
        "the first line of a chunk; all trailers",
        "http/server/wire/chunked.rs",
        &["MAX_LINE: usize = ", "MAX_TRAILERS: usize = "],
    ),
    ("empty lines before a request", "http/server/wire/inbox.rs", &["EMPTY_LINES: usize = "]),
    (
        "bytes that wait on a stream for a client that does not read",
        "http/server/builder.rs",
        &["stream_bytes: "],
    ),
    (
        "bytes of answers that wait for clients that do not read, in all",
        "http/server/builder.rs",
        &["sending_bytes: "],
    ),
    ("answers that wait so in HTTP+SSE", "server/builder.rs", &["unsent_bytes: "]),
    (
        "what a client sends after the last answer of its connection",
        "http/server/wire/connection.rs",
        &["LINGER_BYTES: usize = "],
    ),
    ("Legacy clients that have a session", "http/server/builder.rs", &["Local::new(server)), "]),
    ("messages of a session that wait for its stream", "http/server/standing.rs", &["WAITING: usize = "]),
    ("how the id of a session may begin", "http/server/legacy.rs", &["1..="]),
    ("open `subscriptions/listen` of all Modern clients", "http/server/builder.rs", &[]),
    (
        "resources and tasks watched for all Modern clients",
        "http/server/backend.rs",
        &["MAX_SUBJECTS: usize = "],
    ),
    ("a state that its client carries", "http/server/sealed.rs", &["MAX_STATE_BYTES: usize = "]),
    (
        "events kept of a stream, for a Legacy client that comes back",
        "http/server/events/mod.rs",
        &["MAX_EVENTS: usize = ", "MAX_STREAM_BYTES: usize = "],
    ),
    ("streams with such events, of a session", "http/server/events/mod.rs", &["MAX_STREAMS: usize = "]),
    ("such events of a server", "http/server/events/mod.rs", &["MAX_BYTES: usize = "]),
    (
        "the head of a request, from its first byte; the body",
        "http/server/builder.rs",
        &["head_time: ", "body_time: "],
    ),
    ("a connection waits for a request", "http/server/builder.rs", &["idle_time: "]),
    ("a client takes some more of an answer", "http/server/builder.rs", &["write_time: "]),
    ("a stream is silent before it carries a comment", "http/server/mod.rs", &["KEEP_ALIVE: Duration = "]),
    ("a session without an open request or stream", "http/server/builder.rs", &["session_idle: "]),
    (
        "an event of a stream is kept, for a client that comes back",
        "http/server/events/mod.rs",
        &["TIME: Duration = "],
    ),
    (
        "before a Legacy client comes back, as a server suggests",
        "http/server/session.rs",
        &["RETRY: Duration = "],
    ),
    (
        "before more connections are accepted, when the operating system has no room",
        "http/server/wire/accept.rs",
        &["PAUSE: Duration = "],
    ),
    (
        "a client closes its connection, after the last answer",
        "http/server/wire/connection.rs",
        &["LINGER: Duration = "],
    ),
    (
        "servers of a relay, beside that of Modern clients",
        "http/server/relay/mod.rs",
        &["MAX_SERVERS: usize = "],
    ),
    ("a server of a relay makes room for another", "http/server/relay/mod.rs", &["TO_END: Duration = "]),
    (
        "before a server of a relay that answered nothing is started again, which doubles",
        "http/server/relay/door.rs",
        &["FIRST_PAUSE: Duration = ", "MAX_PAUSE: Duration = "],
    ),
    (
        "the output of a server of a relay, after its end",
        "http/server/relay/upstream.rs",
        &["LAST_WORDS: Duration = "],
    ),
    ("open calls of a relay, at its end", "http/server/relay/mod.rs", &["GRACE: Duration = "]),
    (
        "at the end, after the grace: answers are taken; threads end",
        "http/server/wire/mod.rs",
        &["FLUSH: Duration = ", "LEAVE: Duration = "],
    ),
];

pub(crate) const CLIENT: &[(&str, &str, &[&str])] = &[
    ("calls under way", "http/client/mod.rs", &["max_calls: "]),
    ("messages that wait to be sent", "http/client/line.rs", &["MAX_WAITING: usize = "]),
    ("notifications and responses under way", "http/client/line.rs", &["MAX_NOTES: usize = "]),
    ("streams open", "http/client/line.rs", &["MAX_STREAMS: usize = "]),
    ("frames that wait for the client's reader", "http/client/line.rs", &["MAX_FRAMES: usize = "]),
    ("connections that wait for the next request", "http/client/agents.rs", &["MAX_IDLE: usize = "]),
    ("streams that stay open after their answer", "http/client/exchange.rs", &["MAX_LINGERING: usize = "]),
    ("tools whose mirrored arguments it knows", "http/client/learned.rs", &["MAX_TOOLS: usize = "]),
    ("what is read of an answer that nobody wants", "http/client/wire.rs", &["DISCARDED_BYTES: u64 = "]),
    ("the id of an event that is sent back", "http/client/sse.rs", &["MAX_ID_BYTES: usize = "]),
    ("redirects of one request", "http/client/wire.rs", &["MAX_REDIRECTS: usize = "]),
    ("tries to open a stream again that bring nothing, in a row", "http/client/mod.rs", &["stream_tries: "]),
    ("looking up a host, and then connecting to it", "http/client/mod.rs", &["connect_timeout: "]),
    ("a stream that brings nothing, not even a comment", "http/client/mod.rs", &["read_timeout: Some("]),
    (
        "before a stream is opened again, if the server does not say",
        "http/client/stream.rs",
        &["RETRY: Duration = "],
    ),
    (
        "the same after tries that brought nothing, which doubles; and at least",
        "http/client/stream.rs",
        &["MAX_PAUSE: Duration = ", "MIN_PAUSE: Duration = "],
    ),
    ("a server accepts a notification or a response", "http/client/posting.rs", &["NOTE_TIME: Duration = "]),
    (
        "a session's stream opens, before what comes after the handshake is sent all the same",
        "http/client/stream.rs",
        &["STREAM_TIME: Duration = "],
    ),
    (
        "the first event of a server that may speak HTTP+SSE",
        "http/client/old.rs",
        &["ENDPOINT_TIME: Duration = "],
    ),
    (
        "a stream stays open after its answer, while others come",
        "http/client/exchange.rs",
        &["LINGER: Duration = "],
    ),
    (
        "a connection that nobody uses, unless the server says less",
        "http/client/agents.rs",
        &["IDLE: Duration = "],
    ),
];

/// Constants of `src/http` that nobody can run into: sizes of pieces, forms on the wire, what is shown of something.
pub(crate) const NO_LIMITS: &[(&str, &[&str])] = &[
    ("http/headers.rs", &["SHOWN"]),
    ("http/server/sealed.rs", &["KEY_ID_BYTES", "HEAD_BYTES", "TAG_BYTES", "MIN_KEY_BYTES", "MAX_CHARS"]),
    ("http/server/events/mod.rs", &["EVENT_BYTES"]),
    ("http/server/relay/upstream.rs", &["REPORTED_NOISE"]),
    // How the threads take turns. Their number is in the table of threads.
    ("http/server/wire/crew.rs", &["IDLE", "LOOK", "QUIET_LOOKS", "BUSY_LOOKS"]),
    ("http/server/wire/accept.rs", &["AT_ONCE"]),
    ("http/server/wire/connection.rs", &["FIRST"]),
    ("http/server/wire/inbox.rs", &["BODY_ROOM"]),
    ("http/server/wire/outgoing.rs", &["PIECE"]),
    // More than the limit of the head's table.
    ("http/server/wire/parse.rs", &["MAX_HEADERS"]),
    ("http/server/wire/registry.rs", &["NEVER", "LISTENER", "LOOKS"]),
    ("http/server/wire/serve.rs", &["READ"]),
    ("http/server/wire/text.rs", &["SMALL_BODY"]),
    ("http/client/answer.rs", &["HEAD_BYTES"]),
    ("http/client/sse.rs", &["HEAD_BYTES"]),
    ("http/client/stream.rs", &["PIECE_BYTES", "LASTING"]),
    ("http/client/wire.rs", &["SHOWN_CHARS"]),
];
