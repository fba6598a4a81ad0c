//! Listing prompts and filling them in.

use std::sync::Arc;

use super::asked::{Asked, bad_params};
use super::changes::Changes;
use super::feature::Feature;
use crate::context::Context;
use crate::json::Object;
use crate::jsonrpc::ErrorObject;
use crate::method::Method;
use crate::peer::{Ground, Served};
use crate::prompt::{PromptArguments, PromptRegistry};
use crate::protocol::{
    CompleteParams, Completion, CompletionReference, GetPromptParams, ListPromptsResult, PromptsCapability,
    ProtocolVersion, ServerCapabilities,
};
use crate::tool::{ChangeListener, ToolError, caught};

pub(super) struct Prompts(pub(super) PromptRegistry);

impl Feature for Prompts {
    fn methods(&self) -> &'static [Method] {
        &[Method::PromptsList, Method::PromptsGet]
    }

    fn is_quick(&self, method: Method) -> bool {
        method == Method::PromptsList
    }

    fn declare(&self, capabilities: &mut ServerCapabilities, _version: &ProtocolVersion) {
        // spec: 2026-07-28 server/prompts#capabilities (declared even while there is no prompt)
        capabilities.prompts = Some(PromptsCapability::new(true));
        if self.0.has_completers() {
            capabilities.completions = Some(Object::new());
        }
    }

    fn serve(&self, asked: Asked<'_>, out: &mut Vec<u8>) -> Served {
        // Whoever reads must not run other people's code.
        if asked.method != Method::PromptsList && asked.serving.ground == Ground::Reader {
            return Served::Elsewhere;
        }
        Served::Answered(match asked.method {
            Method::PromptsList => self.list(asked, out),
            _ => self.get(asked, out),
        })
    }

    fn tell_changes(&self, changes: &Arc<Changes>) -> Option<ChangeListener> {
        Some(self.0.on_change(changes.teller(Method::PromptsListChanged)))
    }

    fn prompts(&self) -> Option<&PromptRegistry> {
        Some(&self.0)
    }

    fn complete(&self, params: &CompleteParams, cx: &Context) -> Option<Result<Completion, ToolError>> {
        let CompletionReference::Prompt(reference) = &params.reference else { return None };
        let prompt = self.0.get(&reference.name)?;
        Some(caught("the completion of", &reference.name, || prompt.completers().answer(params, cx)))
    }
}

impl Prompts {
    fn list(&self, mut asked: Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        let cursor: Option<String> = asked.param("cursor")?;
        let page = self.0.page(cursor.as_deref(), asked.server.config.page_size);
        // spec: 2026-07-28 server/utilities/pagination (an invalid cursor is -32602)
        let (prompts, next_cursor) = page.map_err(ErrorObject::invalid_params)?;
        let mut result = ListPromptsResult::new(prompts);
        result.next_cursor = next_cursor;
        asked.write(out, result)
    }

    fn get(&self, mut asked: Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        // Takes out first what belongs to the round.
        let cx = asked.context()?;
        let params = GetPromptParams::from_members(std::mem::take(&mut asked.members));
        let params = params.map_err(|e| bad_params(e, None))?;
        let arguments = PromptArguments::from(params.arguments.unwrap_or_default());
        let result = self.0.fill(&params.name, &arguments, &cx);
        asked.finish(&cx, result, out)
    }
}
