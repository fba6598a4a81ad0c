//! Listing the tools of a server, page by page.

use std::collections::HashSet;
use std::sync::Arc;

use super::call::{CallOptions, must_be_complete, request};
use super::session::Session;
use crate::error::{Error, Result};
use crate::json::{FromJson, Json, Members};
use crate::protocol::tool::{RejectedTool, ToolDefinition, ToolPage};

/// More pages than this are no list but a loop.
const MAX_PAGES: usize = 1000;

/// More tools than this, malformed ones included, are refused.
const MAX_TOOLS: usize = 100_000;

/// The tools of a server.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolList {
    /// The well-formed ones, in the server's order.
    pub tools: Vec<ToolDefinition>,
    /// The others, and what is wrong with each. One malformed tool does not hide the rest.
    pub rejected: Vec<RejectedTool>,
}

pub(super) fn list(session: &Arc<Session>) -> Result<ToolList> {
    let mut list = ToolList::default();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params: Vec<_> = cursor.iter().map(|cursor| ("cursor", Json::from(cursor.as_str()))).collect();
        let result = request(session, "tools/list", &params, &CallOptions::default())?;
        let kind = Members::of(result.as_raw()).ok().and_then(|mut members| members.lenient("resultType"));
        must_be_complete(kind.as_ref())?;
        let page = ToolPage::from_json(result.as_raw())
            .map_err(|e| Error::Protocol(format!("the result of tools/list: {e}")))?;
        for rejected in &page.rejected {
            let name = rejected.name.as_deref().unwrap_or("without a name");
            log::warn!("rejected tool {name}: {}", rejected.problem);
        }
        list.tools.extend(page.tools);
        list.rejected.extend(page.rejected);
        if list.tools.len() + list.rejected.len() > MAX_TOOLS {
            return Err(Error::Protocol(format!("the server lists more than {MAX_TOOLS} tools")));
        }
        // spec: 2026-07-28 server/utilities/pagination#implementation-guidelines (an empty cursor is one, too)
        let Some(next) = page.next_cursor else {
            #[cfg(feature = "validation")]
            session.results.refresh(&list.tools);
            return Ok(list);
        };
        if !seen.insert(next.clone()) {
            return Err(Error::Protocol(format!("tools/list came back to cursor {next:?}")));
        }
        cursor = Some(next);
    }
    Err(Error::Protocol(format!("tools/list has more than {MAX_PAGES} pages")))
}
