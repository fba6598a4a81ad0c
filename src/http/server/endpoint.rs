//! [`Endpoint`]: who is let in, and which part of the transport a request is for.
//!
//! ```text
//!             ┌ Host, Origin, path, method, guard ─ by the head alone
//!   request ──┤                      ┌ names a Modern revision ─────▶ modern:  one exchange
//!             └ /mcp  POST ──────────┤
//!                                    └ any other ───────────────────▶ legacy:  its session
//!               /mcp  GET, DELETE ──────────────────────────────────▶ legacy
//!               /sse, /messages ────────────────────────────────────▶ pair:    HTTP+SSE of 2024-11-05
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::answers::{error_response, refusal};
use super::backend::{Asked, Backend, Line};
use super::events::EventStore;
use super::guard::Guard;
use super::modern::ModernRequest;
use super::origin::Allowed;
use super::sessions::Sessions;
use super::wire::{Head, Reply, Request as HttpRequest, Response, Service};
use crate::context::Principal;
use crate::http::headers;
use crate::json::Members;
use crate::jsonrpc::{BadFrame, ErrorCode, ErrorObject, Incoming, begin_result, write_error};
use crate::peer::{Request, Served};
use crate::protocol::{ProtocolVersion, meta};
use crate::transport::{Direction, Tap, show};

/// What answers every request.
pub(super) struct Endpoint {
    pub(super) backend: Arc<dyn Backend>,
    /// Of all Modern requests: what each needs to know it says itself.
    pub(super) modern: Arc<dyn Line>,
    pub(super) allowed: Allowed,
    pub(super) guard: Option<Guard>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) events: Option<Arc<dyn EventStore>>,
    pub(super) paths: Paths,
    /// The header by which a proxy says how the id of a new session is to begin.
    pub(super) session_prefix: Option<String>,
}

/// Where things are.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    pub(super) mcp: String,
    /// The two of HTTP+SSE, if they are served.
    pub(super) pair: Option<(String, String)>,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Mcp,
    PairStream,
    PairMessages,
}

/// A request that was let in.
pub(super) struct Admitted {
    route: Route,
    principal: Option<Principal>,
}

/// What a request says, and who says it.
#[derive(Clone, Copy)]
pub(super) struct Inbound<'a> {
    pub(super) head: &'a Head,
    pub(super) principal: &'a Option<Principal>,
    pub(super) body: &'a [u8],
}

impl Service for Endpoint {
    type Admitted = Admitted;

    fn admit(&self, head: &Head) -> Result<Admitted, Response> {
        // spec: 2026-07-28 basic/transports/streamable-http#security--endpoint (MUST be 403)
        let allowed = self.allowed.check(head.headers("host"), head.headers("origin"));
        allowed.map_err(|problem| refusal(403, problem))?;
        let route = self.route(head.path()).ok_or_else(|| refusal(404, "there is nothing at this path"))?;
        let methods = self.methods(route);
        if !methods.split(", ").any(|method| method == head.method()) {
            // spec: 2026-07-28 basic/transports/streamable-http#earlier-streamable-http-revisions
            let mut response = refusal(405, format!("{} is not served here", head.method()));
            response.headers.push(("Allow", methods.to_owned()));
            return Err(response);
        }
        let principal = self.guard.as_ref().map(|guard| self.let_in(guard, head)).transpose()?;
        Ok(Admitted { route, principal })
    }

    fn admits_at_length(&self) -> bool {
        self.guard.is_some()
    }

    fn serve(&self, request: HttpRequest<Admitted>, reply: Reply) {
        let HttpRequest { head, body, admitted: Admitted { route, principal } } = request;
        let from = Inbound { head: &head, principal: &principal, body: &body };
        match (route, head.method()) {
            (Route::Mcp, "POST") => self.post(from, reply),
            (_, "GET") if !accepts(&head, &["text/event-stream", "text/*", "*/*"]) => {
                reply.answer(refusal(406, "the client must accept text/event-stream"));
            }
            (Route::Mcp, "GET") => self.listen(&from, reply),
            (Route::Mcp, _) => self.delete(&from, reply),
            (Route::PairStream, _) => self.open_pair(&from, reply),
            (Route::PairMessages, _) => self.post_pair(&from, reply),
        }
    }

    fn is_quick(&self, request: &HttpRequest<Admitted>) -> bool {
        match request.head.method() {
            "POST" => {}
            // It ends what takes the places. A stream can wait: what it has missed may have to be fetched.
            method => return method == "DELETE",
        }
        match Incoming::decode(&request.body) {
            Ok(Incoming::Request { method, .. }) => method == "ping",
            Ok(Incoming::Notification { .. } | Incoming::Response { .. }) => true,
            Err(bad) => !bad.is_batch,
        }
    }

    fn put(&self, refusal: Response) -> Response {
        let Response { status, headers, body } = refusal;
        let why = String::from_utf8_lossy(&body);
        // spec: 2026-07-28 basic/transports/streamable-http#server-validation (also for invalid characters in a header)
        let is_head = status == 400 && why.contains("head");
        let code = if is_head { ErrorCode::HEADER_MISMATCH } else { ErrorCode::INVALID_REQUEST };
        let mut response = error_response(status, None, &ErrorObject::new(code, why));
        response.headers.extend(headers.into_iter().filter(|(name, _)| *name != "Content-Type"));
        response
    }

    fn busy(&self, limit: usize) -> Response {
        let error = ErrorObject::internal(format!("server busy: {limit} requests wait"));
        let mut response = error_response(503, None, &error);
        response.headers.push(("Retry-After", "1".to_owned()));
        response
    }
}

impl Endpoint {
    fn route(&self, path: &str) -> Option<Route> {
        let pair = self.paths.pair.as_ref();
        match path {
            _ if path == self.paths.mcp => Some(Route::Mcp),
            _ if pair.is_some_and(|(stream, _)| path == stream) => Some(Route::PairStream),
            _ if pair.is_some_and(|(_, messages)| path == messages) => Some(Route::PairMessages),
            _ => None,
        }
    }

    fn methods(&self, route: Route) -> &'static str {
        match route {
            Route::Mcp if self.backend.offered().latest_legacy().is_some() => "POST, GET, DELETE",
            Route::Mcp | Route::PairMessages => "POST",
            Route::PairStream => "GET",
        }
    }

    fn let_in(&self, guard: &Guard, head: &Head) -> Result<Principal, Response> {
        // It is the program's code, and may panic: then nobody is let in.
        let let_in = catch_unwind(AssertUnwindSafe(|| guard(head))).map_err(|_| {
            log::error!("the guard panicked");
            error_response(500, None, &ErrorObject::internal("the guard panicked"))
        })?;
        let_in.map_err(super::guard::Denied::into_response)
    }

    fn post(&self, from: Inbound<'_>, reply: Reply) {
        if let Err((status, problem)) = acceptable(from.head) {
            return reply.answer(refusal(status, problem));
        }
        if let Some(tap) = self.tap() {
            show(&**tap, Direction::Received, from.body);
        }
        let incoming = Incoming::decode(from.body);
        let era = self.era(from.head, &incoming);
        match (era, incoming) {
            (Era::Legacy, incoming) => self.serve_legacy(from, incoming, reply),
            (Era::Modern(members, meta), Ok(Incoming::Request { id, method, params })) => {
                let request = Request { method: &method, params };
                self.serve_modern(ModernRequest { from, id, request, members, meta }, reply);
            }
            (Era::Modern(..), Ok(Incoming::Response { .. })) => {
                reply.answer(refusal(400, "a client must not send responses in this revision"));
            }
            (Era::Modern(..), Ok(notification)) => {
                // spec: 2026-07-28 basic/transports/streamable-http#sending-messages
                reply.answer(heard(self.modern.hear(None, notification, from.body)));
            }
            (Era::Modern(..), Err(bad)) => {
                reply.answer(error_response(400, bad.id.as_ref(), &bad.error));
            }
        }
    }

    /// Which era a message is of. A request says so itself; with a session, or a Legacy revision in its headers, it is Legacy.
    fn era<'a>(&self, head: &Head, incoming: &Result<Incoming<'a>, BadFrame>) -> Era<'a> {
        let offered = self.backend.offered();
        let has_legacy = offered.latest_legacy().is_some();
        if !offered.latest().is_modern() {
            return Era::Legacy;
        }
        let header = head.header(headers::PROTOCOL_VERSION).map(ProtocolVersion::from);
        let has_session = head.header(headers::SESSION_ID).is_some();
        let says_legacy = match &header {
            Some(version) => version.is_legacy() || (has_session && !version.is_modern()),
            // spec: 2026-07-28 basic/transports/streamable-http#protocol-version-header (older clients have none)
            None => true,
        };
        let params = match incoming {
            Ok(Incoming::Request { params, .. }) => *params,
            _ if says_legacy && has_legacy => return Era::Legacy,
            _ => None,
        };
        let members = params.and_then(|params| Members::of(params).ok()).unwrap_or_default();
        let fields = members.find("_meta");
        let fields = fields.and_then(|fields| Members::of(fields).ok()).unwrap_or_default();
        if !fields.names().any(|name| name == meta::PROTOCOL_VERSION) && says_legacy && has_legacy {
            return Era::Legacy;
        }
        Era::Modern(members, fields)
    }

    /// Runs a request on the calling thread: its answer, and the error in it. `None`: it stays open.
    pub(super) fn run(&self, line: &dyn Line, asked: Asked<'_>) -> Option<(Option<ErrorObject>, Vec<u8>)> {
        let Asked { call, request, .. } = asked;
        let mut body = Vec::with_capacity(512);
        begin_result(&mut body, Some(&call.id));
        // The role's own state is only changed by whole steps; a panic in a handler leaves it usable.
        let served = catch_unwind(AssertUnwindSafe(|| line.serve(asked, &mut body)));
        let error = match served {
            Ok(Served::Open) => return None,
            Ok(Served::Answered(Ok(()))) => {
                body.push(b'}');
                return Some((None, body));
            }
            Ok(Served::Answered(Err(error))) => error,
            Ok(Served::Elsewhere) => ErrorObject::internal("no thread to serve the request on"),
            Err(_) => {
                log::error!("the handler of {} panicked", request.method);
                ErrorObject::internal(format!("the handler of {} panicked", request.method))
            }
        };
        body.clear();
        write_error(&mut body, Some(&call.id), &error);
        Some((Some(error), body))
    }

    pub(super) fn tap(&self) -> Option<&Arc<dyn Tap>> {
        self.backend.tap()
    }
}

/// The answer to what needs none of its own.
pub(super) fn heard(taken: Result<(), ErrorObject>) -> Response {
    match taken {
        Ok(()) => Response::new(202),
        Err(error) => error_response(503, None, &error),
    }
}

/// Of which era a message is.
enum Era<'a> {
    Legacy,
    /// The parameters, and their metadata.
    Modern(Members<'a>, Members<'a>),
}

/// Lenient, where nothing can be misunderstood.
///
/// # Errors
/// The status and what is wrong.
fn acceptable(head: &Head) -> Result<(), (u16, String)> {
    let content_type = head.header("content-type").unwrap_or("application/json");
    if !is(content_type, "application/json") {
        return Err((415, format!("the Content-Type is {content_type:?}, expected application/json")));
    }
    if !accepts(head, &["application/json", "text/event-stream", "*/*", "application/*", "text/*"]) {
        return Err((406, "the client must accept application/json and text/event-stream".to_owned()));
    }
    Ok(())
}

/// Whether the client takes one of these, or does not say what it takes.
fn accepts(head: &Head, kinds: &[&str]) -> bool {
    let mut accepted = head.headers("accept").flat_map(|accept| accept.split(',')).peekable();
    accepted.peek().is_none() || accepted.any(|kind| kinds.iter().any(|known| is(kind, known)))
}

/// Whether `text` names this media type, with parameters or without.
fn is(text: &str, wanted: &str) -> bool {
    text.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(wanted))
}
