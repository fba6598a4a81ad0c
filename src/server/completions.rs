//! Completing arguments: finds the feature that knows what is being filled in.

use super::asked::{Asked, bad_params};
use super::feature::Feature;
use crate::json::Object;
use crate::jsonrpc::ErrorObject;
use crate::method::Method;
use crate::peer::{Ground, Served};
use crate::protocol::{
    CompleteParams, CompleteResult, CompletionReference, ProtocolVersion, ServerCapabilities,
};
use crate::tool::ToolError;

/// What a feature completes it declares itself; `is_declared` is for a server whose completers come later.
pub(super) struct Completions {
    pub(super) is_declared: bool,
}

impl Feature for Completions {
    fn methods(&self) -> &'static [Method] {
        &[Method::CompletionComplete]
    }

    fn is_quick(&self, _: Method) -> bool {
        false
    }

    fn declare(&self, capabilities: &mut ServerCapabilities, _: &ProtocolVersion) {
        if self.is_declared {
            capabilities.completions = Some(Object::new());
        }
    }

    fn serve(&self, asked: Asked<'_>, out: &mut Vec<u8>) -> Served {
        // Whoever reads must not run other people's code.
        match asked.serving.ground {
            Ground::Reader => Served::Elsewhere,
            Ground::Worker => Served::Answered(complete(asked, out)),
        }
    }
}

fn complete(mut asked: Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
    let params = CompleteParams::from_members(std::mem::take(&mut asked.members));
    let params = params.map_err(|e| bad_params(e, None))?;
    let cx = asked.context()?;
    let mut features = asked.server.config.features.iter();
    let result = features.find_map(|feature| feature.complete(&params, &cx)).unwrap_or_else(|| {
        // spec: 2026-07-28 server/utilities/completion#error-handling (invalid params: -32602)
        Err(ToolError::invalid_params(match &params.reference {
            CompletionReference::Prompt(prompt) => format!("unknown prompt: {}", prompt.name),
            CompletionReference::Resource(resource) => format!("unknown resource template: {}", resource.uri),
            CompletionReference::Unknown(_) => {
                "params.ref.type: expected ref/prompt or ref/resource".to_owned()
            }
        }))
    });
    asked.finish(&cx, result.map(CompleteResult::new), out)
}
