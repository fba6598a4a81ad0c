//! Features: everything the protocol has, and the page whose example shows it.
//!
//! The list is that of the tier system for SDKs (SEP-1730): 48 features, and tasks, which are experimental. All of them are here. What
//! the protocol has besides is authorization over HTTP (OAuth), which is not here yet.
//!
//! # Tools
//!
//! | feature | server | client | example |
//! |---|---|---|---|
//! | listing | [`tools`](crate::server::ServerBuilder::tools) | [`list_tools`](crate::ClientHandle::list_tools), [`discover_tools`](crate::ClientHandle::discover_tools) | [tools](crate::guide::tools) |
//! | calling | [`tool!`](macro@crate::tool), [`Tool`](crate::Tool) | [`call_tool`](crate::ClientHandle::call_tool) | [tools](crate::guide::tools) |
//! | text results | `String`, `&str`, [`Content::text`](crate::protocol::Content::text) | [`text_content`](crate::protocol::CallToolResult::text_content) | [what a tool returns](crate::guide::tools#what-a-tool-returns) |
//! | image results | [`ImageContent`](crate::protocol::ImageContent) | the same | [what a tool returns](crate::guide::tools#what-a-tool-returns) |
//! | audio results | [`AudioContent`](crate::protocol::AudioContent) | the same | [what a tool returns](crate::guide::tools#what-a-tool-returns) |
//! | embedded resources | [`Content::resource`](crate::protocol::Content::resource) | the same | [what a tool returns](crate::guide::tools#what-a-tool-returns) |
//! | errors | [`ToolError`](crate::ToolError) | [`is_error`](crate::protocol::CallToolResult::is_error), [`Error::Peer`](crate::Error::Peer) | [errors](crate::guide::errors) |
//! | change notices | by the registry | [`listen`](crate::ClientHandle::listen), [`on_tools_changed`](crate::client::ClientBuilder::on_tools_changed) | [changes](crate::guide::changes) |
//!
//! # Resources
//!
//! | feature | server | client | example |
//! |---|---|---|---|
//! | listing | [`resources`](crate::server::ServerBuilder::resources) | [`list_resources`](crate::ClientHandle::list_resources) | [resources](crate::guide::resources) |
//! | reading text | [`FnResource::text`](crate::FnResource::text) | [`read_resource`](crate::ClientHandle::read_resource) | [resources](crate::guide::resources) |
//! | reading bytes | [`FnResource::bytes`](crate::FnResource::bytes) | [`BlobResourceContents::bytes`](crate::protocol::BlobResourceContents::bytes) | [resources](crate::guide::resources) |
//! | templates | [`FnTemplate`](crate::FnTemplate) | [`list_resource_templates`](crate::ClientHandle::list_resource_templates) | [resources](crate::guide::resources) |
//! | reading by a template | [`FnTemplate::new`](crate::FnTemplate::new) | [`read_resource`](crate::ClientHandle::read_resource) | [resources](crate::guide::resources) |
//! | subscribing | [`resource_updated`](crate::ServerHandle::resource_updated) | [`listen`](crate::ClientHandle::listen), [`on_resource_updated`](crate::client::ClientBuilder::on_resource_updated) | [changes](crate::guide::changes#on-a-client-one-after-the-other) |
//! | unsubscribing | by itself | [`Changes::close`](crate::client::Changes::close), or its drop | [changes](crate::guide::changes#on-a-client-one-after-the-other) |
//! | change notices | by the registry | [`listen`](crate::ClientHandle::listen), [`on_resources_changed`](crate::client::ClientBuilder::on_resources_changed) | [changes](crate::guide::changes) |
//!
//! # Prompts and completion
//!
//! | feature | server | client | example |
//! |---|---|---|---|
//! | listing | [`prompts`](crate::server::ServerBuilder::prompts) | [`list_prompts`](crate::ClientHandle::list_prompts) | [prompts](crate::guide::prompts) |
//! | getting one | [`prompt!`](macro@crate::prompt) | [`get_prompt`](crate::ClientHandle::get_prompt) | [prompts](crate::guide::prompts) |
//! | with arguments | parameters of [`prompt!`](macro@crate::prompt) | the same | [prompts](crate::guide::prompts) |
//! | embedded resources | [`Content::resource`](crate::protocol::Content::resource) | the same | [prompts](crate::guide::prompts) |
//! | images | [`ImageContent`](crate::protocol::ImageContent) | the same | [prompts](crate::guide::prompts) |
//! | change notices | by the registry | [`listen`](crate::ClientHandle::listen), [`on_prompts_changed`](crate::client::ClientBuilder::on_prompts_changed) | [changes](crate::guide::changes) |
//! | completing an argument of a prompt | [`FnPrompt::complete`](crate::FnPrompt::complete) | [`complete`](crate::ClientHandle::complete) | [completion](crate::guide::prompts#completion) |
//! | completing a variable of a template | [`FnTemplate::complete`](crate::FnTemplate::complete) | the same | [completion](crate::guide::prompts#completion) |
//!
//! # Asking the client
//!
//! | feature | server | client | example |
//! |---|---|---|---|
//! | sampling | [`Context::sample`](crate::Context::sample) | [`on_sample`](crate::client::ClientBuilder::on_sample) | [the language model](crate::guide::questions#the-language-model) |
//! | elicitation with a form | [`Context::elicit`](crate::Context::elicit) | [`on_elicit`](crate::client::ClientBuilder::on_elicit) | [asking](crate::guide::asking) |
//! | elicitation by a URL | [`ElicitParams::url`](crate::protocol::ElicitParams::url) | [`on_elicit_url`](crate::client::ClientBuilder::on_elicit_url) | [URLs](crate::guide::questions#urls) |
//! | the schema of a form is checked | by itself | by itself; [`RequestedSchema::check`](crate::protocol::RequestedSchema::check) | [forms](crate::guide::questions#forms) |
//! | default values | `with_default` of each kind of field | [`Asked::defaults`](crate::client::Asked::defaults) | [forms](crate::guide::questions#forms), [asking](crate::guide::asking) |
//! | choices | [`PrimitiveSchema::choice`](crate::protocol::PrimitiveSchema::choice), [`choices`](crate::protocol::PrimitiveSchema::choices) and their titled forms | the same | [forms](crate::guide::questions#forms), [asking](crate::guide::asking) |
//! | notice that a URL is done with | [`elicitation_completed`](crate::ServerHandle::elicitation_completed) | [`on_elicitation_complete`](crate::client::ClientBuilder::on_elicitation_complete) | [URLs](crate::guide::questions#urls) |
//! | roots | [`Context::roots`](crate::Context::roots) | [`roots`](crate::client::ClientBuilder::roots), [`on_roots`](crate::client::ClientBuilder::on_roots) | [root folders](crate::guide::questions#root-folders) |
//! | notice that roots changed | [`on_roots_changed`](crate::server::ServerBuilder::on_roots_changed) | [`set_roots`](crate::ClientHandle::set_roots) | [root folders](crate::guide::questions#root-folders) |
//!
//! # Everything else
//!
//! | feature | server | client | example |
//! |---|---|---|---|
//! | sending log messages | [`logging`](crate::server::ServerBuilder::logging), [`Context::log`](crate::Context::log) | [`on_notification`](crate::client::ClientBuilder::on_notification) | [log messages](crate::guide::logging#log-messages) |
//! | setting their level | by itself | [`set_log_level`](crate::ClientHandle::set_log_level) | [log messages](crate::guide::logging#log-messages) |
//! | ping | by itself | [`ping`](crate::ClientHandle::ping) | [is anybody there?](crate::guide::calls#is-anybody-there) |
//! | progress | [`Context::progress`](crate::Context::progress) | [`with_progress`](crate::client::CallOptions::with_progress) | [progress](crate::guide::calls#progress) |
//! | cancellation | [`is_cancelled`](crate::Context::is_cancelled), [`cancel_token`](crate::Context::cancel_token) | [`with_cancel`](crate::client::CallOptions::with_cancel), [`CallHandle::cancel`](crate::client::CallHandle::cancel) | [cancellation](crate::guide::calls#cancellation) |
//! | pages | [`page_size`](crate::server::ServerBuilder::page_size) | whole lists; [`tool_pages`](crate::ClientHandle::tool_pages) and its like | [lists and pages](crate::guide::resources#lists-and-pages) |
//! | capabilities | from what is registered | from the handlers; [`ServerIdentity`](crate::client::ServerIdentity) | [eras](crate::guide::eras#on-a-client), [asking](crate::guide::asking#what-a-client-cannot-do-is-not-asked) |
//! | versions | [`versions`](crate::server::ServerBuilder::versions) | [`versions`](crate::client::ClientBuilder::versions) | [eras](crate::guide::eras) |
//! | JSON Schema 2020-12 | `json::Validator` | the same | [validation](crate::guide::validation#json-schema-2020-12) |
//! | tasks (experimental): status, result, cancelling | [`tasks`](crate::server::ServerBuilder::tasks), [`TaskMode`](crate::tool::TaskMode), [`Context::begin_task`](crate::Context::begin_task) | [`tasks`](crate::client::ClientBuilder::tasks), [`call_tool_task`](crate::ClientHandle::call_tool_task), [`TaskHandle`](crate::client::TaskHandle) | [tasks](crate::guide::tasks) |
//!
//! # Transports
//!
//! | feature | server | client | example |
//! |---|---|---|---|
//! | stdio | [`Server::start`](crate::Server::start) | [`Client::connect`](crate::Client::connect), [`ChildProcess`](crate::transport::ChildProcess) | [starting servers](crate::guide::starting), and the program `quickstart` |
//! | sockets, memory | [`Server::serve`](crate::Server::serve) | [`ClientBuilder::open`](crate::client::ClientBuilder::open) | [starting servers](crate::guide::starting#over-a-socket-or-anything-else) |
//! | Streamable HTTP (feature `http-server`, `http-client`) | [`Server::serve_http`](crate::Server::serve_http), [`HttpServer`](crate::http::HttpServer) | [`Client::connect_http`](crate::Client::connect_http), [`HttpTransport`](crate::http::HttpTransport) | [serving](crate::guide::http), [reaching](crate::guide::http_client) |
//! | its sessions and resumable streams, up to 2025-11-25 | by itself; [`EventStore`](crate::http::EventStore) | by itself | [one address, both eras](crate::guide::http#one-address-both-eras), [streams that broke off](crate::guide::http#streams-that-broke-off) |
//! | arguments in headers, since 2026-07-28 | `x-mcp-header` in a schema | by itself | [arguments in headers](crate::guide::http#arguments-in-headers) |
//! | HTTP with SSE, of 2024-11-05 | by itself; [`sse_paths`](crate::http::HttpServerBuilder::sse_paths) | by itself | [one address, both eras](crate::guide::http#one-address-both-eras) |
//! | TLS | [a proxy](crate::guide::operating#tls) | feature `tls` | [proxies, TLS, redirects](crate::guide::http_client#proxies-tls-redirects) |
//! | tokens of your own | [`guard`](crate::http::HttpServerBuilder::guard), [`Context::principal`](crate::Context::principal) | [`headers_with`](crate::http::HttpTransport::headers_with) | [who may come in](crate::guide::http#who-may-come-in), [headers and tokens](crate::guide::http_client#headers-and-tokens) |
//! | authorization (OAuth) | not yet | not yet | |
//!
//! # Beyond the list
//!
//! | feature | example |
//! |---|---|
//! | structured results, annotations, icons | [tools](crate::guide::tools) |
//! | results kept by hints of the server | [caching](crate::guide::caching) |
//! | several questions at once, steps that are done once | [asking](crate::guide::asking#what-may-run-twice), [several at once](crate::guide::questions#several-at-once) |
//! | files of one folder, URLs of the public Internet, programs without a shell (feature `guard`) | [guarding](crate::guide::guarding) |
//! | servers that others have published (features `http-client` and `host`) | [finding servers](crate::guide::registry) |
//! | trace context | [trace context](crate::guide::calls#trace-context) |
//! | calls that fail alone, sessions that end, servers that are restarted | [connections that break](crate::guide::http_client#connections-that-break) |
//! | several servers that share the calls of a client | [replicas](crate::guide::operating#several-replicas) |
//! | a server that is started again | [starting again](crate::guide::starting#starting-again) |
//! | every frame for a recorder or a log | [`Tap`](crate::transport::Tap), [`WireLog`](crate::transport::WireLog) |
