//! Feature `validation`: structured results against the output schemas of their tools.
//!
//! A client remembers the output schemas of its last listing; a [`RemoteTool`](super::RemoteTool) brings its own along. A
//! schema is compiled when the first result is there.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::json::{Json, Validator};
use crate::protocol::ProtocolVersion;
use crate::protocol::tool::{CallToolResult, ToolDefinition};
use crate::sync::{Mutex, lock};
use crate::tool::check_result;

/// So many tools' schemas are remembered.
const MAX_SCHEMAS: usize = 1_024;

/// What the results of a tool must look like.
pub(super) struct Expected {
    tool: String,
    schema: Json,
    /// `None`: the schema cannot be used, which has been reported.
    compiled: OnceLock<Option<Validator>>,
}

impl Expected {
    /// `None`: anything is expected.
    pub(super) fn of(tool: &ToolDefinition) -> Option<Arc<Self>> {
        let schema = tool.output_schema.clone()?;
        Some(Arc::new(Self { tool: tool.name.clone(), schema, compiled: OnceLock::new() }))
    }

    /// # Errors
    /// When `result` breaks the schema.
    // spec: 2026-07-28 server/tools#output-schema (clients SHOULD validate structured results)
    pub(super) fn check(&self, result: &CallToolResult, version: &ProtocolVersion) -> Result<()> {
        // Before, there are no structured results.
        if *version < ProtocolVersion::V2025_06_18 {
            return Ok(());
        }
        let Some(validator) = self.compiled.get_or_init(|| self.compile()) else { return Ok(()) };
        check_result(validator, result).map_err(|problems| {
            let tool = &self.tool;
            Error::Protocol(format!("the result of tool {tool} breaks its output schema: {problems}"))
        })
    }

    fn compile(&self) -> Option<Validator> {
        let compiled = Validator::compile(&self.schema);
        compiled
            .map_err(|e| {
                log::warn!("tool {}: results are not compared with its output schema: {e}", self.tool)
            })
            .ok()
    }
}

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expected").field(&self.tool).finish()
    }
}

/// The output schemas of the last listing, by tool. Owner: the session. The lock is held for a look-up or an exchange.
#[derive(Default)]
pub(super) struct ResultSchemas(Mutex<HashMap<String, Arc<Expected>>>);

impl ResultSchemas {
    /// Takes those of `tools` in place of all before.
    pub(super) fn refresh(&self, tools: &[ToolDefinition]) {
        let mut expected = tools.iter().filter_map(Expected::of);
        let schemas: HashMap<_, _> =
            expected.by_ref().take(MAX_SCHEMAS).map(|expected| (expected.tool.clone(), expected)).collect();
        if let Some(first) = expected.next() {
            log::warn!(
                "results of tool {} and those after it are not compared with their schemas",
                first.tool
            );
        }
        *lock(&self.0) = schemas;
    }

    pub(super) fn of(&self, tool: &str) -> Option<Arc<Expected>> {
        lock(&self.0).get(tool).cloned()
    }
}
