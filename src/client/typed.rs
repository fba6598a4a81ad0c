//! Requests of the protocol itself: sent only to a server that declares what they need, and answered with a whole
//! result. What a user sends by hand does not pass here.

use std::sync::Arc;
use std::time::Instant;

use super::cache::{Fetch, Key};
use super::call::{CallOptions, must_be_complete, request_in_rounds, request_on};
use super::session::{Session, Settled};
use crate::error::{Error, Result};
use crate::json::{FromJson, Json, Members};
use crate::method::Method;
use crate::protocol::{ProtocolVersion, ServerCapabilities};

/// The whole result of a request.
pub(super) struct Answer {
    pub(super) result: Arc<Json>,
    /// The connection it is of.
    pub(super) settled: Arc<Settled>,
    /// `None` if it came from the cache, or is not for it.
    fetch: Option<(Fetch, Instant)>,
}

impl Answer {
    /// To be called once the result has turned out to be what it should be: another is not worth keeping.
    pub(super) fn keep(self) {
        if let Some((fetch, received)) = self.fetch {
            fetch.keep(&self.result, received);
        }
    }

    /// Reads the result of `method`.
    pub(super) fn read<T: FromJson>(self, method: Method) -> Result<T> {
        let value = read(method, &self.result)?;
        self.keep();
        Ok(value)
    }
}

/// Sends a request on the connection for which this was settled, and waits for its whole result, if the cache has none.
///
/// # Errors
/// As any call; [`Error::Unsupported`] without sending anything if the server does not declare it.
pub(super) fn ask(
    session: &Arc<Session>,
    settled: &Arc<Settled>,
    method: Method,
    params: &[(&str, Json)],
    options: &CallOptions,
) -> Result<Answer> {
    must_offer(settled, method)?;
    let mut fetch = None;
    // Who has closed, or has lost the server, is to learn that.
    let is_open = || settled.peer.end().is_none();
    if let Some(cache) = settled.cache.as_ref().filter(|_| method.is_cacheable() && is_open()) {
        let key = Key::new(method, params, &options.meta);
        let may_be_known = !options.is_fresh && options.input.is_none();
        if let Some(result) = may_be_known.then(|| cache.find(&key, Instant::now())).flatten() {
            return Ok(Answer { result, settled: Arc::clone(settled), fetch: None });
        }
        fetch = Some(cache.fetch(key));
    }
    let (result, settled, is_plain) = if method.may_need_input() {
        let named = params.iter().find(|(name, _)| matches!(*name, "name" | "uri"));
        let name = named.and_then(|(_, name)| String::from_json(name.as_raw()).ok()).unwrap_or_default();
        let asked = request_in_rounds(session, Arc::clone(settled), method, &name, params, options)?;
        (asked.0, Arc::clone(settled), asked.1)
    } else {
        let (result, settled) = request_on(session, Arc::clone(settled), method.name(), params, options)?;
        (result, settled, options.input.is_none())
    };
    let received = Instant::now();
    let kind = Members::of(result.as_raw()).ok().and_then(|mut members| members.lenient("resultType"));
    must_be_complete(kind.as_ref())?;
    let fetch = fetch.filter(|_| is_plain).map(|fetch| (fetch, received));
    Ok(Answer { result: Arc::new(result), settled, fetch })
}

/// Reads the result of `method`.
pub(super) fn read<T: FromJson>(method: Method, result: &Json) -> Result<T> {
    T::from_json(result.as_raw()).map_err(|e| Error::Protocol(format!("the result of {method}: {e}")))
}

/// Whether the server has `method`, by its revision and by what it declares.
///
/// # Errors
/// [`Error::Unsupported`], which names the capability and the revision.
pub(super) fn must_offer(settled: &Settled, method: Method) -> Result<()> {
    let version = &settled.identity.version;
    if !method.is_in(version) {
        return Err(Error::Unsupported(format!("revision {version}, which is spoken here, has no {method}")));
    }
    let is_needed = match method {
        // A server without tools is rare, and one that forgets to declare them is not: it is asked.
        Method::ToolsList | Method::ToolsCall => false,
        // spec: 2025-03-26 changelog (the capability is new in that revision, the method is not)
        Method::CompletionComplete => *version > ProtocolVersion::V2024_11_05,
        _ => true,
    };
    method
        .capability()
        .filter(|_| is_needed)
        .map_or(Ok(()), |name| must_declare(settled, name, method.name()))
}

/// Whether the server declares the capability that `purpose` needs.
pub(super) fn must_declare(settled: &Settled, capability: &str, purpose: &str) -> Result<()> {
    if declares(&settled.identity.capabilities, capability) {
        return Ok(());
    }
    let version = &settled.identity.version;
    Err(Error::Unsupported(format!(
        "{purpose} needs the capability {capability}, which the server does not declare in revision {version}"
    )))
}

/// Whether a capability is declared, by the name that the method table has for it.
fn declares(capabilities: &ServerCapabilities, capability: &str) -> bool {
    let resources = capabilities.resources.as_ref();
    match capability {
        "tools" => capabilities.tools.is_some(),
        "prompts" => capabilities.prompts.is_some(),
        "resources" => resources.is_some(),
        "resources.subscribe" => resources.is_some_and(|resources| resources.subscribe == Some(true)),
        "completions" => capabilities.completions.is_some(),
        "logging" => capabilities.logging.is_some(),
        // Of the others no typed call is made.
        _ => false,
    }
}
