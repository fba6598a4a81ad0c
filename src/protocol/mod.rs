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
//! | `sampling`, `elicitation`, `roots` | what a server may ask of a client |
//! | `input` | how it asks from 2026-07-28 on |
//! | `subscription`, `task` | change notices of 2026-07-28 and tasks of 2025-11-25, when they come |
//!
//! **Invariant:** no I/O and no policy.

pub mod capability;
pub mod content;
pub mod elicitation;
pub mod input;
pub mod lifecycle;
pub mod meta;
pub mod notice;
pub mod roots;
pub mod sampling;
pub mod tool;
pub mod version;

pub use capability::{
    ClientCapabilities, ElicitationCapability, MissingRequiredClientCapability, PromptsCapability,
    ResourcesCapability, RootsCapability, SamplingCapability, ServerCapabilities, ToolsCapability,
};
pub use content::{
    Annotations, AudioContent, BlobResourceContents, Content, EmbeddedResource, ImageContent,
    ResourceContents, ResourceLink, Role, TextContent, TextResourceContents,
};
pub use elicitation::{
    BooleanSchema, ElicitAction, ElicitFormParams, ElicitMode, ElicitParams, ElicitResult, ElicitUrlParams,
    ElicitationCompleteParams, EnumItems, EnumOption, MultiSelectEnumSchema, NumberKind, NumberSchema,
    PrimitiveSchema, RequestedSchema, SingleSelectEnumSchema, StringFormat, StringSchema,
    UrlElicitationRequired,
};
pub use input::{InputRequest, InputRequests, InputRequiredResult, RequestState};
pub use lifecycle::{
    CacheScope, DiscoverResult, Icon, IconTheme, Implementation, InitializeParams, InitializeResult,
    PaginatedParams, ResultType,
};
pub use meta::ProgressToken;
pub use notice::{CancelledParams, ProgressParams};
pub use roots::{ListRootsParams, ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences, SamplingContent,
    SamplingMessage, StopReason, ToolChoice, ToolChoiceMode, ToolResultContent, ToolUseContent,
};
pub use tool::{
    CallToolParams, CallToolResult, ListToolsResult, RejectedTool, ToolAnnotations, ToolDefinition, ToolPage,
};
pub use version::ProtocolVersion;
