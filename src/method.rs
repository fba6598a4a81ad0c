//! [`Method`]: every method of every revision, in one table.
//!
//! Who asks what a method is, when it exists, which capability it needs or whether it may be sent twice, asks here.
//!
//! **Invariant:** a new method is a new row; nothing else in the crate lists methods.

use std::fmt;

use crate::protocol::{ProtocolVersion, TASKS_EXTENSION};

/// Whether a method expects an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// It does.
    Request,
    /// It does not.
    Notification,
}

/// Which way a method goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Direction {
    /// From client to server.
    ToServer,
    /// From server to client.
    ToClient,
    /// Both ways.
    Both,
}

#[derive(Clone, Copy)]
struct Traits {
    asks: bool,
    input: bool,
    cached: bool,
    idempotent: bool,
    tasks: bool,
}

impl Traits {
    const NONE: Self = Self { asks: false, input: false, cached: false, idempotent: false, tasks: false };
}

struct Row {
    name: &'static str,
    kind: Kind,
    direction: Direction,
    first: ProtocolVersion,
    last: ProtocolVersion,
    capability: Option<&'static str>,
    traits: Traits,
}

macro_rules! methods {
    ($(
        $(#[$meta:meta])*
        $variant:ident = $name:literal, $kind:ident $direction:ident, $first:ident to $last:ident,
        $capability:expr, [$($trait:ident)*];
    )*) => {
        /// A method of the protocol.
        ///
        /// ```
        /// use tinymcp::method::Method;
        /// use tinymcp::protocol::ProtocolVersion;
        ///
        /// let method = Method::from_name("resources/subscribe").expect("a known method");
        /// assert_eq!(method.capability(), Some("resources.subscribe"));
        /// assert!(method.is_in(&ProtocolVersion::V2025_11_25) && !method.is_in(&ProtocolVersion::V2026_07_28));
        /// assert_eq!(Method::from_name("tools/run"), None);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $( $(#[$meta])* $variant, )*
        }

        static TABLE: &[Row] = &[$(
            Row {
                name: $name,
                kind: Kind::$kind,
                direction: Direction::$direction,
                first: ProtocolVersion::$first,
                last: ProtocolVersion::$last,
                capability: $capability,
                traits: Traits { $($trait: true,)* ..Traits::NONE },
            },
        )*];

        impl Method {
            /// Every method.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The method called `name`, if there is one in any revision.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $( $name => Some(Self::$variant), )*
                    _ => None,
                }
            }
        }
    };
}

// The capability is that of the side that serves a request or sends a notification. Traits:
//   asks        may be answered with a request for input (spec: 2026-07-28 basic/patterns/mrtr)
//   input       from 2026-07-28 on not a message, but such a request for input
//   cached      its result carries caching hints (spec: 2026-07-28 server/utilities/caching)
//   idempotent  doing it twice is the same as doing it once
//   tasks       from 2026-07-28 on not a method of the protocol itself, but of its extension for tasks
methods! {
    /// Opens a Legacy connection.
    Initialize = "initialize", Request ToServer, V2024_11_05 to V2025_11_25, None, [];
    /// Asks whether the other side is alive.
    Ping = "ping", Request Both, V2024_11_05 to V2025_11_25, None, [idempotent];
    /// Asks for versions and capabilities.
    Discover = "server/discover", Request ToServer, V2026_07_28 to V2026_07_28, None, [cached idempotent];

    /// Lists tools.
    ToolsList = "tools/list", Request ToServer, V2024_11_05 to V2026_07_28, Some("tools"), [cached idempotent];
    /// Calls a tool. Whether that can be repeated is up to the tool.
    ToolsCall = "tools/call", Request ToServer, V2024_11_05 to V2026_07_28, Some("tools"), [asks];

    /// Lists resources.
    ResourcesList = "resources/list", Request ToServer, V2024_11_05 to V2026_07_28,
        Some("resources"), [cached idempotent];
    /// Lists resource templates.
    ResourceTemplatesList = "resources/templates/list", Request ToServer, V2024_11_05 to V2026_07_28,
        Some("resources"), [cached idempotent];
    /// Reads a resource.
    ResourcesRead = "resources/read", Request ToServer, V2024_11_05 to V2026_07_28,
        Some("resources"), [asks cached idempotent];
    /// Asks to be told when a resource changes.
    ResourcesSubscribe = "resources/subscribe", Request ToServer, V2024_11_05 to V2025_11_25,
        Some("resources.subscribe"), [idempotent];
    /// Asks to be told no longer.
    ResourcesUnsubscribe = "resources/unsubscribe", Request ToServer, V2024_11_05 to V2025_11_25,
        Some("resources.subscribe"), [idempotent];

    /// Lists prompts.
    PromptsList = "prompts/list", Request ToServer, V2024_11_05 to V2026_07_28, Some("prompts"), [cached idempotent];
    /// Fills in a prompt.
    PromptsGet = "prompts/get", Request ToServer, V2024_11_05 to V2026_07_28, Some("prompts"), [asks idempotent];

    /// Completes an argument. Revision 2024-11-05 has no capability for it.
    CompletionComplete = "completion/complete", Request ToServer, V2024_11_05 to V2026_07_28,
        Some("completions"), [idempotent];
    /// Sets which log messages to send.
    LoggingSetLevel = "logging/setLevel", Request ToServer, V2024_11_05 to V2025_11_25,
        Some("logging"), [idempotent];

    /// Opens a stream of change notices.
    SubscriptionsListen = "subscriptions/listen", Request ToServer, V2026_07_28 to V2026_07_28, None, [idempotent];

    /// Asks the client's language model.
    SamplingCreateMessage = "sampling/createMessage", Request ToClient, V2024_11_05 to V2025_11_25,
        Some("sampling"), [input];
    /// Asks for the client's root folders.
    RootsList = "roots/list", Request ToClient, V2024_11_05 to V2025_11_25, Some("roots"), [input idempotent];
    /// Asks the client's user.
    ElicitationCreate = "elicitation/create", Request ToClient, V2025_06_18 to V2025_11_25,
        Some("elicitation"), [input];

    /// Asks how a task is doing.
    TasksGet = "tasks/get", Request Both, V2025_11_25 to V2026_07_28, Some("tasks"), [idempotent tasks];
    /// Waits for a task's result.
    TasksResult = "tasks/result", Request Both, V2025_11_25 to V2025_11_25, Some("tasks"), [idempotent];
    /// Lists tasks.
    TasksList = "tasks/list", Request Both, V2025_11_25 to V2025_11_25, Some("tasks.list"), [idempotent];
    /// Answers what a task asks. An answer that came before is ignored.
    TasksUpdate = "tasks/update", Request ToServer, V2026_07_28 to V2026_07_28, None, [idempotent tasks];
    /// Cancels a task. In 2025-11-25 a task that has ended cannot be cancelled again.
    TasksCancel = "tasks/cancel", Request Both, V2025_11_25 to V2026_07_28, Some("tasks.cancel"), [tasks];

    /// The client is ready.
    Initialized = "notifications/initialized", Notification ToServer, V2024_11_05 to V2025_11_25, None, [];
    /// A request is no longer wanted.
    Cancelled = "notifications/cancelled", Notification Both, V2024_11_05 to V2026_07_28, None, [];
    /// How far a request is.
    Progress = "notifications/progress", Notification Both, V2024_11_05 to V2026_07_28, None, [];
    /// A log message.
    LogMessage = "notifications/message", Notification ToClient, V2024_11_05 to V2026_07_28, Some("logging"), [];
    /// The list of tools changed.
    ToolsListChanged = "notifications/tools/list_changed", Notification ToClient, V2024_11_05 to V2026_07_28,
        Some("tools.listChanged"), [];
    /// The list of resources changed.
    ResourcesListChanged = "notifications/resources/list_changed", Notification ToClient,
        V2024_11_05 to V2026_07_28, Some("resources.listChanged"), [];
    /// A resource changed.
    ResourcesUpdated = "notifications/resources/updated", Notification ToClient, V2024_11_05 to V2026_07_28,
        Some("resources.subscribe"), [];
    /// The list of prompts changed.
    PromptsListChanged = "notifications/prompts/list_changed", Notification ToClient, V2024_11_05 to V2026_07_28,
        Some("prompts.listChanged"), [];
    /// The list of root folders changed.
    RootsListChanged = "notifications/roots/list_changed", Notification ToServer, V2024_11_05 to V2025_11_25,
        Some("roots.listChanged"), [];
    /// What the user was sent to a URL for is done.
    ElicitationComplete = "notifications/elicitation/complete", Notification ToClient, V2025_11_25 to V2025_11_25,
        None, [];
    /// A task's state changed, in the words of 2025-11-25.
    TasksStatus = "notifications/tasks/status", Notification Both, V2025_11_25 to V2025_11_25, Some("tasks"), [];
    /// A task's state changed.
    TasksChanged = "notifications/tasks", Notification ToClient, V2026_07_28 to V2026_07_28, None, [tasks];
    /// A stream of change notices is open.
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged", Notification ToClient,
        V2026_07_28 to V2026_07_28, None, [];
}

impl Method {
    fn row(self) -> &'static Row {
        // The enum and the table come from the same rows.
        &TABLE[self as usize]
    }

    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether it expects an answer.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.row().kind
    }

    /// Whether it expects an answer.
    #[must_use]
    pub fn is_request(self) -> bool {
        self.kind() == Kind::Request
    }

    /// Which way it goes in `version`.
    #[must_use]
    pub fn direction(self, version: &ProtocolVersion) -> Direction {
        // spec: 2026-07-28 schema (a client answers no requests, so it has no progress to tell either)
        match self.row().direction {
            Direction::Both if version.is_modern() && self.is_request() => Direction::ToServer,
            Direction::Both if version.is_modern() && self == Self::Progress => Direction::ToClient,
            direction => direction,
        }
    }

    /// The first and the last revision in which it is a message.
    #[must_use]
    pub fn revisions(self) -> (&'static ProtocolVersion, &'static ProtocolVersion) {
        let row = self.row();
        (&row.first, &row.last)
    }

    /// Whether it is a message of `version`, or of an extension of it. An unknown version has none.
    #[must_use]
    pub fn is_in(self, version: &ProtocolVersion) -> bool {
        let (first, last) = self.revisions();
        version.rank().is_some() && (first.rank()..=last.rank()).contains(&version.rank())
    }

    /// The capability that the side must have which serves the request or sends the notification; after a dot, the
    /// member of it that must be true or present. Where the method belongs to an [`extension`](Self::extension), it is
    /// that instead.
    #[must_use]
    pub fn capability(self) -> Option<&'static str> {
        self.row().capability
    }

    /// The extension it belongs to in `version`, which both sides must declare; `None` if it belongs to the protocol.
    ///
    /// ```
    /// use tinymcp::method::Method;
    /// use tinymcp::protocol::{ProtocolVersion, TASKS_EXTENSION};
    ///
    /// assert_eq!(Method::TasksGet.extension(&ProtocolVersion::V2026_07_28), Some(TASKS_EXTENSION));
    /// assert_eq!(Method::TasksGet.extension(&ProtocolVersion::V2025_11_25), None);
    /// ```
    #[must_use]
    pub fn extension(self, version: &ProtocolVersion) -> Option<&'static str> {
        // spec: seps/2663-tasks-extension#backward-compatibility (2025-11-25 has tasks of its own)
        (self.row().traits.tasks && version.is_modern()).then_some(TASKS_EXTENSION)
    }

    /// Whether the answer may be a request for input. From 2026-07-28 on.
    #[must_use]
    pub fn may_need_input(self) -> bool {
        self.row().traits.asks
    }

    /// Whether it is one of the requests for input that such an answer holds. Up to 2025-11-25 these are requests to
    /// the client.
    #[must_use]
    pub fn is_input_request(self) -> bool {
        self.row().traits.input
    }

    /// Whether the result says how long it may be cached. From 2026-07-28 on.
    #[must_use]
    pub fn is_cacheable(self) -> bool {
        self.row().traits.cached
    }

    /// Whether a request whose answer was lost can be sent again.
    #[must_use]
    pub fn is_idempotent(self) -> bool {
        self.row().traits.idempotent
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_rows_agree() {
        for &method in Method::ALL {
            assert_eq!(Method::from_name(method.name()), Some(method));
            assert_eq!(method.name().starts_with("notifications/"), !method.is_request(), "{method}");
            assert!(method.revisions().0 <= method.revisions().1, "{method}");
        }
        assert_eq!(Method::from_name("tools/Call"), None);
    }

    #[test]
    fn traits_are_those_of_the_specification() {
        let those = |property: fn(Method) -> bool| -> Vec<&str> {
            Method::ALL.iter().filter(|method| property(**method)).map(|method| method.name()).collect()
        };
        assert_eq!(those(Method::may_need_input), ["tools/call", "resources/read", "prompts/get"]);
        assert_eq!(
            those(Method::is_input_request),
            ["sampling/createMessage", "roots/list", "elicitation/create"]
        );
        assert_eq!(
            those(Method::is_cacheable),
            [
                "server/discover",
                "tools/list",
                "resources/list",
                "resources/templates/list",
                "resources/read",
                "prompts/list"
            ]
        );
        assert!(!Method::ToolsCall.is_idempotent());
    }
}
