//! The wire types of every revision, a file a feature.
//!
//! One type serves all revisions: it is the newest form, and the `era` room takes out what an older
//! revision lacks. Members that a type does not know are kept in its `extra` and written back.
//!
//! | file | holds |
//! |---|---|
//! | `version`, `meta`, `capability`, `lifecycle` | what every connection needs |
//! | `content`, `tool`, `notice` | tool calls and what accompanies them |
//! | `resource`, `prompt`, `completion`, `logging` | the other server features, when they come |
//! | `sampling`, `elicitation`, `roots`, `input` | what a server may ask of a client, when it comes |
//! | `uri_template` | RFC 6570, both ways |
//! | `subscription` | change notices of 2026-07-28 |
//! | `task` | tasks: the extension of 2026-07-28, and the experiment of 2025-11-25 |
//!
//! **Invariant:** no I/O and no policy.

pub mod capability;
pub mod content;
pub mod lifecycle;
pub mod meta;
pub mod notice;
pub mod subscription;
pub mod task;
pub mod tool;
pub mod uri_template;
pub mod version;

pub use capability::{
    ClientCapabilities, ElicitationCapability, PromptsCapability, ResourcesCapability, RootsCapability,
    SamplingCapability, ServerCapabilities, ToolsCapability,
};
pub use content::{
    Annotations, AudioContent, BlobResourceContents, Content, EmbeddedResource, ImageContent,
    ResourceContents, ResourceLink, Role, TextContent, TextResourceContents,
};
pub use lifecycle::{
    CacheScope, DiscoverResult, Icon, IconTheme, Implementation, InitializeParams, InitializeResult,
    PaginatedParams, ResultType,
};
pub use meta::ProgressToken;
pub use notice::{CancelledParams, ProgressParams};
pub use subscription::{
    ListChangedParams, SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
    SubscriptionsListenResult,
};
pub use task::{TASKS_EXTENSION, Task, TaskParams, TaskStatus, UpdateTaskParams};
pub use tool::{
    CallToolParams, CallToolResult, ListToolsResult, RejectedTool, ToolAnnotations, ToolDefinition, ToolPage,
};
pub use uri_template::{TemplateValue, UriTemplate, UriTemplateError, Variables};
pub use version::ProtocolVersion;
