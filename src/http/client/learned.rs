//! [`Learned`]: which arguments of which tools are mirrored into headers, as the server's lists say.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::http::mirrored::{Mirrored, header_values, of_schema};
use crate::json::{Members, string};
use crate::sync::{Mutex, lock};

/// So many tools may have such arguments. Beyond that a list starts anew.
const MAX_TOOLS: usize = 10_000;

/// Owner: a transport and its copies, as a list that was read before a reconnect holds after it. Bound: [`MAX_TOOLS`].
#[derive(Default)]
pub(super) struct Learned(Mutex<HashMap<String, Arc<[Mirrored]>>>);

impl Learned {
    /// Takes in the result of `tools/list`.
    pub(super) fn learn(&self, result: &RawValue, is_first_page: bool) {
        let tools = Members::of(result).ok().and_then(|mut result| result.take("tools"));
        let Some(tools) = tools.and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok()) else {
            return;
        };
        let found: Vec<_> = tools.into_iter().filter_map(of_tool).collect();
        let mut known = lock(&self.0);
        if is_first_page && known.len() >= MAX_TOOLS {
            known.clear();
        }
        for (name, mirrored) in found {
            if mirrored.is_empty() {
                known.remove(&name);
            } else if known.len() < MAX_TOOLS || known.contains_key(&name) {
                known.insert(name, mirrored.into());
            }
        }
    }

    /// The headers for a call of `tool`: whole names, encoded values.
    pub(super) fn headers(&self, tool: &str, arguments: Option<&RawValue>) -> Vec<(String, String)> {
        let mirrored = lock(&self.0).get(tool).cloned();
        mirrored.map(|mirrored| header_values(&mirrored, arguments)).unwrap_or_default()
    }
}

/// The name of a tool, and what of its arguments is mirrored: nothing if it says so badly, as such a tool is not offered.
fn of_tool(tool: &RawValue) -> Option<(String, Vec<Mirrored>)> {
    let mut tool = Members::of(tool).ok()?;
    let name = string(tool.take("name")?).ok()?.into_owned();
    let mirrored = tool.take("inputSchema").map(of_schema).transpose().ok().flatten().unwrap_or_default();
    Some((name, mirrored))
}
