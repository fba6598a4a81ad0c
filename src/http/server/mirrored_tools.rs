//! [`MirroredTools`]: which tools of a server have arguments that clients mirror into headers.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::modern::single;
use super::wire::Head;
use crate::http::mirrored::{Mirrored, check, of_schema};
use crate::sync::{Mutex, lock};
use crate::tool::ToolRegistry;

/// The tools whose schemas say `x-mcp-header`. Read anew after each change of the registry.
pub(super) struct MirroredTools {
    tools: ToolRegistry,
    /// As they were in a generation of the registry; `None`: to be read. Held for a look-up.
    known: Mutex<Option<(u64, Known)>>,
}

type Known = Arc<HashMap<String, Vec<Mirrored>>>;

impl MirroredTools {
    pub(super) fn new(tools: &ToolRegistry) -> Self {
        Self { tools: tools.clone(), known: Mutex::default() }
    }

    /// Compares the arguments of a call with its headers.
    ///
    /// # Errors
    /// What differs.
    pub(super) fn check(&self, tool: &str, arguments: Option<&RawValue>, head: &Head) -> Result<(), String> {
        let known = self.known();
        match known.get(tool) {
            Some(mirrored) => check(mirrored, arguments, |name| single(head, name)),
            None => Ok(()),
        }
    }

    fn known(&self) -> Known {
        let generation = self.tools.generation();
        if let Some((_, known)) = lock(&self.known).as_ref().filter(|(of, _)| *of == generation) {
            return Arc::clone(known);
        }
        // Without the lock: tools describe themselves. A change meanwhile is seen by the next call, as what was read is of the
        // generation before it.
        let mut found = HashMap::new();
        for name in self.tools.names() {
            let Some(tool) = self.tools.get(&name) else { continue };
            match of_schema(tool.definition().input_schema.as_raw()) {
                Ok(mirrored) if mirrored.is_empty() => {}
                Ok(mirrored) => drop(found.insert(name, mirrored)),
                Err(problem) => log::warn!("clients will refuse the tool {name}: {problem}"),
            }
        }
        let known = Arc::new(found);
        *lock(&self.known) = Some((generation, Arc::clone(&known)));
        known
    }
}
