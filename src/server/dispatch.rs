//! What a server answers to each request.

use super::Inner;
use super::asked::Asked;
use super::connection::Connection;
use super::listen::told;
use crate::context::{LegacyClient, LogThreshold};
use crate::era::{negotiate, unsupported_version};
use crate::json::{Json, Object};
use crate::jsonrpc::ErrorObject;
use crate::method::Method;
use crate::peer::{Served, Serving};
use crate::protocol::{
    DiscoverResult, InitializeResult, ListToolsResult, ProtocolVersion, ServerCapabilities, ToolsCapability,
};
use crate::sync::Mutex;

impl Inner {
    /// Whether `method` runs nobody else's code.
    pub(super) fn is_quick(&self, method: &str) -> bool {
        match Method::from_name(method) {
            // Tools describe themselves, which is their authors' code as much as a call is.
            Some(Method::ToolsCall | Method::ToolsList) => false,
            Some(method) => self.feature(method).is_none_or(|feature| feature.is_quick(method)),
            None => true,
        }
    }

    /// Serves one request of `connection` into `out`.
    pub(super) fn dispatch(
        &self,
        connection: &Connection,
        serving: Serving<'_>,
        out: &mut Vec<u8>,
    ) -> Served {
        match Asked::understand(self, connection, serving) {
            Ok(asked) if asked.method == Method::ToolsCall => self.call_tool(asked, out),
            Ok(asked) => match self.feature(asked.method) {
                Some(feature) => feature.serve(asked, out),
                None if asked.method == Method::SubscriptionsListen => self.listen(asked),
                None => Served::Answered(self.answer(asked, out)),
            },
            Err(error) => Served::Answered(Err(error)),
        }
    }

    fn feature(&self, method: Method) -> Option<&dyn super::feature::Feature> {
        let feature = self.config.features.iter().find(|feature| feature.methods().contains(&method));
        feature.map(|feature| &**feature)
    }

    fn answer(&self, mut asked: Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        match asked.method {
            Method::Initialize => self.initialize(asked, out),
            // spec: 2026-07-28 server/discover (every server implements it)
            Method::Discover => {
                let config = &self.config;
                let supported = config.offered.newest_first().filter(|version| version.is_modern()).cloned();
                let mut result = DiscoverResult::new(supported.collect(), self.capabilities(&asked.version));
                result.instructions.clone_from(&config.instructions);
                asked.write(out, result)
            }
            // spec: 2026-07-28 server/tools#capabilities (the same for every connection)
            Method::ToolsList => {
                let cursor: Option<String> = asked.param("cursor")?;
                let page = self.config.tools.page(cursor.as_deref(), self.config.page_size);
                // spec: 2026-07-28 server/utilities/pagination (an invalid cursor is -32602)
                let (tools, next_cursor) = page.map_err(ErrorObject::invalid_params)?;
                let mut result = ListToolsResult::new(tools);
                result.next_cursor = next_cursor;
                asked.write(out, result)
            }
            Method::ResourcesList | Method::ResourceTemplatesList | Method::PromptsList
                if !asked.is_modern() && !self.config.refuses_unoffered_lists =>
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
    fn initialize(&self, mut asked: Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        let members = &mut asked.members;
        let requested = members.lenient::<ProtocolVersion>("protocolVersion");
        // spec: 2025-11-25 basic/lifecycle#version-negotiation
        let requested = requested.unwrap_or_else(|| ProtocolVersion::Unknown("none".to_owned()));
        let config = &self.config;
        let version = negotiate(&requested, &config.offered)
            .ok_or_else(|| unsupported_version(&requested, &config.offered))?;
        let client = asked.connection.settle(LegacyClient {
            version: version.clone(),
            capabilities: members.take("capabilities").map(Json::of_frame),
            info: members.take("clientInfo").map(Json::of_frame),
            log_threshold: LogThreshold::new(config.logs()),
            asked_urls: Mutex::default(),
        });
        let capabilities = self.capabilities(&version);
        self.changes.greet(asked.connection.number, asked.serving.outlet, client, told(&capabilities));
        let mut result = InitializeResult::new(version.clone(), capabilities, config.info.clone());
        result.instructions.clone_from(&config.instructions);
        asked.version = version;
        asked.write(out, result)
    }

    pub(super) fn capabilities(&self, version: &ProtocolVersion) -> ServerCapabilities {
        // spec: 2026-07-28 server/tools#capabilities (declared even while there is no tool)
        let mut capabilities = ServerCapabilities::default().with_tools(ToolsCapability::new(true));
        let declared = |object: &Object| Some(object.clone()).filter(|object| !object.is_empty());
        capabilities.extensions = declared(&self.config.extensions);
        capabilities.experimental = declared(&self.config.experimental);
        for feature in &self.config.features {
            feature.declare(&mut capabilities, version);
        }
        capabilities
    }
}
