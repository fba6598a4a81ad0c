//! What a server answers to each request.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::Inner;
use super::connection::Connection;
use crate::context::{Context, LegacyClient};
use crate::era::{Lower, RequestMeta, lowered, negotiate, no_handshake, resolve, unsupported_version};
use crate::json::Members;
use crate::jsonrpc::{ErrorObject, write_json};
use crate::method::{Direction, Method};
use crate::peer::{Ground, Request, Served, Serving};
use crate::protocol::{
    CallToolResult, Content, DiscoverResult, InitializeResult, ListToolsResult, ProtocolVersion,
    ServerCapabilities, ToolsCapability,
};
use crate::tool::registry::execute_caught;
use crate::tool::{Arguments, ToolError};

/// A request whose metadata is understood.
struct Asked<'a> {
    method: Method,
    is_modern: bool,
    meta: RequestMeta<'a>,
    version: ProtocolVersion,
    legacy: Option<Arc<LegacyClient>>,
    members: Members<'a>,
}

impl Inner {
    /// Serves one request of `connection` into `out`.
    pub(super) fn dispatch(
        &self,
        connection: &Connection,
        serving: Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Served {
        match self.understand(connection, serving.request) {
            Ok(asked) if asked.method == Method::ToolsCall => self.call_tool(asked, serving, out),
            Ok(asked) => Served::Answered(self.answer(connection, asked, out)),
            Err(error) => Served::Answered(Err(error)),
        }
    }

    fn understand<'a>(
        &self,
        connection: &Connection,
        request: Request<'a>,
    ) -> Result<Asked<'a>, ErrorObject> {
        let params = request.params.map(Members::of).transpose();
        let mut members =
            params.map_err(|e| ErrorObject::invalid_params(e.inside("params")))?.unwrap_or_default();
        let method = Method::from_name(request.method);
        let fields = members.take("_meta");
        let offered = &self.config.offered;
        if method == Some(Method::Initialize) && offered.latest_legacy().is_none() {
            // spec: 2026-07-28 basic/versioning#backward-compatibility-with-initialization-based-versions (a server
            // without Legacy revisions SHOULD name what it supports)
            let requested = members.lenient("protocolVersion");
            let requested = requested.unwrap_or_else(|| ProtocolVersion::Unknown("none".to_owned()));
            return Err(no_handshake(&requested, offered));
        }
        // A client that looks for an old server may probe without metadata: what it gets tells it how to go on.
        let is_bare_probe =
            method == Some(Method::Discover) && fields.is_none() && offered.latest().is_modern();
        let meta = if is_bare_probe { RequestMeta::default() } else { resolve(method, fields, offered)? };
        let unknown = || ErrorObject::method_not_found(request.method);
        let method = method.filter(|method| method.is_request()).ok_or_else(unknown)?;
        let legacy = if meta.modern.is_some() { None } else { connection.legacy() };
        let version = match (&meta.modern, &legacy) {
            (Some(version), _) => version.clone(),
            (None, Some(client)) => client.version.clone(),
            (None, None) if is_bare_probe => offered.latest().clone(),
            (None, None) if method == Method::Initialize => ProtocolVersion::LATEST_LEGACY,
            // spec: 2026-07-28 basic/index#meta (-32602); Legacy only says that such requests should not be sent
            (None, None) if offered.newest_first().any(|version| method.is_in(version)) => {
                return Err(ErrorObject::invalid_params(format!(
                    "{} needs an initialize request before it, or the protocol version in params._meta",
                    request.method
                )));
            }
            (None, None) => return Err(unknown()),
        };
        let is_ours = method.is_in(&version) && method.direction(&version) != Direction::ToClient;
        if !is_ours {
            return Err(unknown());
        }
        Ok(Asked { method, is_modern: meta.modern.is_some(), meta, version, legacy, members })
    }

    fn answer(
        &self,
        connection: &Connection,
        mut asked: Asked<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorObject> {
        match asked.method {
            Method::Initialize => self.initialize(connection, asked.members, out),
            // spec: 2026-07-28 server/discover (every server implements it)
            Method::Discover => {
                let config = &self.config;
                let supported = config.offered.newest_first().filter(|version| version.is_modern()).cloned();
                let mut result = DiscoverResult::new(supported.collect(), self.capabilities(&asked.version));
                result.instructions.clone_from(&config.instructions);
                self.write(out, true, asked.method, &lowered(result, &asked.version))
            }
            // spec: 2026-07-28 server/tools#capabilities (the same for every connection)
            Method::ToolsList => {
                let cursor: Option<String> = asked
                    .members
                    .required("cursor")
                    .map_err(|e| ErrorObject::invalid_params(e.inside("params")))?;
                let page = self.config.tools.page(cursor.as_deref(), self.config.page_size);
                // spec: 2026-07-28 server/utilities/pagination (an invalid cursor is -32602)
                let (tools, next_cursor) = page.map_err(ErrorObject::invalid_params)?;
                let mut result = ListToolsResult::new(tools);
                result.next_cursor = next_cursor;
                self.write(out, asked.is_modern, asked.method, &lowered(result, &asked.version))
            }
            Method::ResourcesList | Method::ResourceTemplatesList | Method::PromptsList
                if !asked.is_modern && !self.config.refuses_unoffered_lists =>
            {
                let key = match asked.method {
                    Method::ResourcesList => "resources",
                    Method::ResourceTemplatesList => "resourceTemplates",
                    _ => "prompts",
                };
                out.extend_from_slice(format!("{{\"{key}\":[]}}").as_bytes());
                Ok(())
            }
            method => Err(ErrorObject::method_not_found(method.name())),
        }
    }

    /// Lenient: no client is refused for what it says of itself.
    fn initialize(
        &self,
        connection: &Connection,
        mut members: Members<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorObject> {
        let requested = members.lenient::<ProtocolVersion>("protocolVersion");
        let requested = requested.unwrap_or_else(|| ProtocolVersion::Unknown("none".to_owned()));
        let config = &self.config;
        let version = negotiate(&requested, &config.offered)
            .ok_or_else(|| unsupported_version(&requested, &config.offered))?;
        connection.settle(LegacyClient {
            version: version.clone(),
            capabilities: members.lenient("capabilities").unwrap_or_default(),
            info: members.lenient("clientInfo"),
        });
        let mut result =
            InitializeResult::new(version.clone(), self.capabilities(&version), config.info.clone());
        result.instructions.clone_from(&config.instructions);
        write_json(out, &lowered(result, &version));
        Ok(())
    }

    fn capabilities(&self, version: &ProtocolVersion) -> ServerCapabilities {
        // spec: 2026-07-28 server/tools#capabilities (declared even while there is no tool)
        // A Modern client hears of changes by subscriptions, which this server does not offer.
        ServerCapabilities::default().with_tools(ToolsCapability::new(version.is_legacy()))
    }

    fn call_tool(&self, mut asked: Asked<'_>, serving: Serving<'_>, out: &mut Vec<u8>) -> Served {
        let name: String = match asked.members.required("name") {
            Ok(name) => name,
            Err(e) => return Served::Answered(Err(ErrorObject::invalid_params(e.inside("params")))),
        };
        let Some(tool) = self.config.tools.get(&name) else {
            // spec: 2026-07-28 server/tools#error-handling (unknown tool: -32602)
            let error = ToolError::unknown_tool(&name).into_result();
            return Served::Answered(error.and_then(|result| self.write_result(out, &asked, result)));
        };
        let pace = self.paces.of(&name);
        let on_reader = serving.ground == Ground::Reader;
        if on_reader && !pace.as_ref().is_some_and(|pace| pace.enter_reader()) {
            return Served::Elsewhere;
        }
        let arguments =
            asked.members.take("arguments").map_or_else(|| Ok(Arguments::empty()), Arguments::from_raw);
        let result = arguments.map_err(|e| e.of_tool(&name)).and_then(|arguments| {
            let cx = Context::new(serving.outlet, serving.call, &asked.meta, asked.legacy.clone());
            let start = Instant::now();
            let result = execute_caught(&*tool, arguments, &cx);
            if let Some(pace) = &pace {
                pace.measure(start);
            }
            result
        });
        if let Some(pace) = pace.filter(|_| on_reader) {
            pace.leave_reader();
        }
        let result = match result {
            Ok(result) => Ok(result),
            Err(error) => error.into_result(),
        };
        Served::Answered(result.and_then(|result| self.write_result(out, &asked, result)))
    }

    fn write_result(
        &self,
        out: &mut Vec<u8>,
        asked: &Asked<'_>,
        mut result: CallToolResult,
    ) -> Result<(), ErrorObject> {
        result.lower(&asked.version);
        // Growing a large buffer piece by piece would leave copies of it behind.
        out.reserve(result.content.iter().filter_map(Content::as_text).map(str::len).sum::<usize>() + 512);
        if asked.is_modern && (result.result_type.is_some() || result.meta.is_some()) {
            return self.write(out, true, asked.method, &result);
        }
        write_json(out, &result);
        if asked.is_modern {
            out.pop();
            self.config.stamp.append_plain(out);
            out.push(b'}');
        }
        Ok(())
    }

    fn write<T: Serialize>(
        &self,
        out: &mut Vec<u8>,
        is_modern: bool,
        method: Method,
        result: &T,
    ) -> Result<(), ErrorObject> {
        if is_modern {
            return self.config.stamp.write(out, Some(method), result).map_err(ErrorObject::internal);
        }
        write_json(out, result);
        Ok(())
    }
}
