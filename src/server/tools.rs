//! Calling a tool.

use std::time::Instant;

use super::Inner;
use super::asked::Asked;
use super::input::examine;
use super::pace::Pace;
use crate::context::Context;
use crate::era::Lower;
use crate::jsonrpc::{ErrorObject, write_json};
use crate::peer::{Ground, Served};
use crate::protocol::{CallToolResult, Content};
use crate::tool::registry::execute_caught;
use crate::tool::{Arguments, Tool, ToolError};

impl Inner {
    pub(super) fn call_tool(&self, mut asked: Asked<'_>, out: &mut Vec<u8>) -> Served {
        let name: String = match asked.param("name") {
            Ok(name) => name,
            Err(error) => return Served::Answered(Err(error)),
        };
        let Some(tool) = self.config.tools.get(&name) else {
            // spec: 2026-07-28 server/tools#error-handling (unknown tool: -32602)
            let error = ToolError::unknown_tool(&name).into_result();
            return Served::Answered(error.and_then(|result| write_result(&asked, out, result)));
        };
        for feature in &self.config.features {
            if let Some(served) = feature.take_call(&mut asked, &tool, out) {
                return served;
            }
        }
        let pace = self.paces.of(&name);
        let on_reader = asked.serving.ground == Ground::Reader;
        if on_reader && !pace.as_ref().is_some_and(|pace| pace.enter_reader()) {
            return Served::Elsewhere;
        }
        let result = self.run_tool(&*tool, &mut asked, pace.as_deref());
        if let Some(pace) = pace.filter(|_| on_reader) {
            pace.leave_reader();
        }
        Served::Answered(result.and_then(|(cx, result)| {
            match result.map_err(|error| examine(error, &cx, asked.method)) {
                Ok(result) => write_result(&asked, out, result),
                Err(error) => {
                    let mut features = self.config.features.iter();
                    features
                        .find_map(|feature| feature.take_begun(&mut asked, &tool, &cx, out))
                        .or_else(|| asked.pause(&cx, out))
                        .unwrap_or_else(|| write_result(&asked, out, error.into_result()?))
                }
            }
        }))
    }

    fn run_tool(
        &self,
        tool: &dyn Tool,
        asked: &mut Asked<'_>,
        pace: Option<&Pace>,
    ) -> Result<(Context, Result<CallToolResult, ToolError>), ErrorObject> {
        // First, so that mostly nothing is left for the context to look through.
        let arguments =
            asked.members.take("arguments").map_or_else(|| Ok(Arguments::empty()), Arguments::from_raw);
        let cx = asked.context()?;
        let result = arguments.map_err(|e| e.of_tool(tool.name())).and_then(|arguments| {
            let start = Instant::now();
            let result = execute_caught(tool, arguments, &cx);
            if let Some(pace) = pace {
                pace.measure(start);
            }
            result
        });
        Ok((cx, result))
    }
}

fn write_result(asked: &Asked<'_>, out: &mut Vec<u8>, mut result: CallToolResult) -> Result<(), ErrorObject> {
    result.lower(&asked.version);
    // Growing a large buffer piece by piece would leave copies of it behind.
    out.reserve(result.content.iter().filter_map(Content::as_text).map(str::len).sum::<usize>() + 512);
    if asked.is_modern() && (result.result_type.is_some() || result.meta.is_some()) {
        return asked.write_lowered(out, &result);
    }
    write_json(out, &result);
    if asked.is_modern() {
        out.pop();
        asked.server.config.stamp.append_plain(out);
        out.push(b'}');
    }
    Ok(())
}
