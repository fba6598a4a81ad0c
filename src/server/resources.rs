//! Listing and reading resources.

use std::sync::Arc;

use serde_json::json;

use super::asked::Asked;
use super::changes::Changes;
use super::feature::Feature;
use crate::context::Context;
use crate::json::{Json, Object};
use crate::jsonrpc::{ErrorCode, ErrorObject};
use crate::method::Method;
use crate::peer::{Ground, Served};
use crate::protocol::{
    CompleteParams, Completion, CompletionReference, ProtocolVersion, ResourcesCapability, ServerCapabilities,
};
use crate::resource::{NotFound, ResourceRegistry};
use crate::tool::{ChangeListener, ToolError, caught};

/// The registry behind the methods of `resources/`.
pub(super) struct Resources(pub(super) ResourceRegistry);

impl Feature for Resources {
    fn methods(&self) -> &'static [Method] {
        &[Method::ResourcesList, Method::ResourceTemplatesList, Method::ResourcesRead]
    }

    fn is_quick(&self, method: Method) -> bool {
        // What a template lists is its author's code, and a template may come at any time.
        method == Method::ResourceTemplatesList
    }

    fn declare(&self, capabilities: &mut ServerCapabilities, _version: &ProtocolVersion) {
        // spec: 2026-07-28 server/resources#capabilities (declared even while there is no resource)
        capabilities.resources = Some(ResourcesCapability::default());
        if self.0.has_completers() {
            capabilities.completions = Some(Object::new());
        }
    }

    fn serve(&self, asked: Asked<'_>, out: &mut Vec<u8>) -> Served {
        match asked.method {
            Method::ResourceTemplatesList => Served::Answered(self.list_templates(asked, out)),
            Method::ResourcesList => {
                if asked.serving.ground == Ground::Reader && self.0.has_listers() {
                    return Served::Elsewhere;
                }
                Served::Answered(self.list(asked, out))
            }
            _ => self.read(asked, out),
        }
    }

    fn tell_changes(&self, changes: &Arc<Changes>) -> Option<ChangeListener> {
        Some(self.0.on_change(changes.teller(Method::ResourcesListChanged)))
    }

    fn resources(&self) -> Option<&ResourceRegistry> {
        Some(&self.0)
    }

    fn complete(&self, params: &CompleteParams, cx: &Context) -> Option<Result<Completion, ToolError>> {
        let CompletionReference::Resource(reference) = &params.reference else { return None };
        let template = self.0.get_template(&reference.uri)?;
        Some(caught("the completion of", &reference.uri, || template.completers().answer(params, cx)))
    }
}

impl Resources {
    fn list(&self, mut asked: Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        let cursor: Option<String> = asked.param("cursor")?;
        let cx = asked.context()?;
        let page = self.0.list(cursor.as_deref(), asked.server.config.page_size, &cx);
        asked.write(out, page.map_err(ToolError::into_error)?)
    }

    fn list_templates(&self, mut asked: Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
        let cursor: Option<String> = asked.param("cursor")?;
        let page = self.0.list_templates(cursor.as_deref(), asked.server.config.page_size);
        asked.write(out, page.map_err(ErrorObject::invalid_params)?)
    }

    fn read(&self, mut asked: Asked<'_>, out: &mut Vec<u8>) -> Served {
        let uri: String = match asked.param("uri") {
            Ok(uri) => uri,
            Err(error) => return Served::Answered(Err(error)),
        };
        let found = self.0.find(&uri);
        let runs_code = found.as_ref().is_ok_and(|found| !found.is_fixed());
        if runs_code && asked.serving.ground == Ground::Reader {
            return Served::Elsewhere;
        }
        Served::Answered(asked.context().and_then(|cx| {
            let read = found.and_then(|found| found.read(&uri, &cx));
            let is_modern = asked.is_modern();
            asked.finish(&cx, read.map_err(|error| coded(error, &uri, is_modern)), out)
        }))
    }
}

/// The same error; "not found" with the code of the request's era.
fn coded(error: ToolError, uri: &str, is_modern: bool) -> ToolError {
    let message = match (error.downcast_ref::<NotFound>(), error.protocol_error()) {
        (Some(missing), _) => missing.to_string(),
        (_, Some(theirs)) if theirs.code == ErrorCode::RESOURCE_NOT_FOUND => theirs.message.clone(),
        _ => return error,
    };
    // spec: 2026-07-28 server/resources#error-handling; 2025-11-25 server/resources#error-handling
    let code = if is_modern { ErrorCode::INVALID_PARAMS } else { ErrorCode::RESOURCE_NOT_FOUND };
    let mut error = ErrorObject::new(code, message);
    error.data = Some(Json::from(json!({"uri": uri})));
    ToolError::protocol(error)
}
