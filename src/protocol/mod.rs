//! The wire types of every revision, a file a feature.
//!
//! One type serves all revisions: it is the newest form, and the `era` room takes out what an older
//! revision lacks. Members that a type does not know are kept in its `extra` and written back.
//!
//! | file | holds |
//! |---|---|
//! | `version`, `meta`, `capability`, `lifecycle` | what every connection needs |
//! | `content`, `contents`, `tool`, `notice` | tool calls and what accompanies them |
//! | `page` | lists of anything, page by page |
//! | `resource`, `prompt`, `completion`, `logging` | the other server features |
//! | `sampling`, `elicitation`, `roots` | what a server may ask of a client |
//! | `input` | how it asks from 2026-07-28 on |
//! | `uri_template` | RFC 6570, both ways |
//! | `subscription` | change notices of 2026-07-28 |
//! | `task` | tasks: the extension of 2026-07-28, and the experiment of 2025-11-25 |
//!
//! **Invariant:** no I/O and no policy.

pub(crate) mod base64;
pub mod capability;
pub mod completion;
pub mod content;
pub mod contents;
pub mod elicitation;
pub mod input;
pub mod lifecycle;
pub mod logging;
pub mod meta;
pub mod notice;
pub mod page;
pub mod prompt;
pub mod resource;
pub mod roots;
pub mod sampling;
pub mod subscription;
pub mod task;
pub mod tool;
pub mod uri_template;
pub mod version;

pub use capability::{
    ClientCapabilities, ElicitationCapability, MissingRequiredClientCapability, PromptsCapability,
    ResourcesCapability, RootsCapability, SamplingCapability, ServerCapabilities, ToolsCapability,
};
pub use completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext, CompletionReference,
    PromptReference, ResourceTemplateReference,
};
pub use content::{
    Annotations, AudioContent, Content, EmbeddedResource, ImageContent, ResourceLink, Role, TextContent,
};
pub use contents::{BlobResourceContents, ResourceContents, TextResourceContents};
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
pub use logging::{LogLevel, LogMessageParams, SetLevelParams};
pub use meta::ProgressToken;
pub use notice::{CancelledParams, ProgressParams};
pub use page::{Listed, Page, Rejected};
pub use prompt::{
    GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
pub use resource::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult, Resource,
    ResourceTemplate, ResourceUpdatedParams, SubscribeParams, UnsubscribeParams,
};
pub use roots::{ListRootsParams, ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences, SamplingContent,
    SamplingMessage, StopReason, ToolChoice, ToolChoiceMode, ToolResultContent, ToolUseContent,
};
pub use subscription::{
    ListChangedParams, SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
    SubscriptionsListenResult,
};
pub use task::{TASKS_EXTENSION, Task, TaskParams, TaskStatus, UpdateTaskParams};
pub use tool::{CallToolParams, CallToolResult, ListToolsResult, ToolAnnotations, ToolDefinition};
pub(crate) use uri_template::{MAX_BYTES as MAX_URI_BYTES, normal_uri};
pub use uri_template::{TemplateValue, UriTemplate, UriTemplateError, Variables};
pub use version::ProtocolVersion;
