//! [`Watch`]: single resources whose changes are told.

use serde_json::value::RawValue;

use super::asked::{Asked, bad_params};
use super::feature::Feature;
use super::listen::{Filter, RESOURCES, bad_filter};
use crate::json::{FromJson, JsonError, Members};
use crate::jsonrpc::ErrorObject;
use crate::method::Method;
use crate::peer::Served;
use crate::protocol::{MAX_URI_BYTES, ProtocolVersion, ServerCapabilities};

/// Watching resources: `resources/subscribe` and `resources/unsubscribe` of the Legacy era, and their part of a filter of
/// `subscriptions/listen`. Comes after the feature that has the resources, and adds to what that declares.
pub(super) struct Watch;

impl Feature for Watch {
    fn methods(&self) -> &'static [Method] {
        &[Method::ResourcesSubscribe, Method::ResourcesUnsubscribe]
    }

    fn is_quick(&self, _method: Method) -> bool {
        true
    }

    fn declare(&self, capabilities: &mut ServerCapabilities, _version: &ProtocolVersion) {
        let resources = capabilities.resources.get_or_insert_default();
        resources.list_changed = Some(true);
        resources.subscribe = Some(true);
    }

    fn serve(&self, asked: Asked<'_>, out: &mut Vec<u8>) -> Served {
        Served::Answered(subscribe(asked, out))
    }

    fn filter(
        &self,
        _asked: &Asked<'_>,
        members: &mut Members<'_>,
        filter: &mut Filter,
    ) -> Result<(), ErrorObject> {
        if let Some(raw) = members.take(RESOURCES).filter(|raw| raw.get() != "null") {
            filter.uris = Some(read_uris(raw).map_err(|e| bad_filter(e.inside(RESOURCES)))?);
        }
        Ok(())
    }
}

fn subscribe(mut asked: Asked<'_>, out: &mut Vec<u8>) -> Result<(), ErrorObject> {
    let uri: String = asked.param("uri")?;
    let (changes, connection) = (&asked.server.changes, asked.connection.number);
    if asked.method == Method::ResourcesUnsubscribe {
        changes.unsubscribe(connection, &uri);
    } else {
        check_length(&uri).map_err(|e| bad_params(e, Some("uri")))?;
        changes.subscribe(connection, &uri).map_err(ErrorObject::internal)?;
    }
    out.extend_from_slice(b"{}");
    Ok(())
}

fn read_uris(raw: &RawValue) -> Result<Vec<String>, JsonError> {
    let uris = Vec::<String>::from_json(raw)?;
    for (at, uri) in uris.iter().enumerate() {
        check_length(uri).map_err(|e| e.at(at))?;
    }
    Ok(uris)
}

fn check_length(uri: &str) -> Result<(), JsonError> {
    match uri.len() > MAX_URI_BYTES {
        true => Err(JsonError::new(format!("longer than {MAX_URI_BYTES} bytes"))),
        false => Ok(()),
    }
}
