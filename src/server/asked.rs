//! [`Asked`]: a request whose era, revision and metadata are understood.

use std::sync::Arc;

use serde::Serialize;

use super::Inner;
use super::connection::Connection;
use crate::context::{Asker, Context, Entered, LegacyClient, Rounds};
use crate::era::{Lower, RequestMeta, no_handshake, resolve};
use crate::json::{FromJson, JsonError, Members};
use crate::jsonrpc::{ErrorObject, write_json};
use crate::method::{Direction, Method};
use crate::peer::{Call, Outlet, Serving};
use crate::protocol::ProtocolVersion;

/// A request whose metadata is understood. Whoever answers it takes its parameters out of `members`.
pub(super) struct Asked<'a> {
    pub(super) server: &'a Inner,
    pub(super) connection: &'a Connection,
    pub(super) serving: Serving<'a>,
    pub(super) method: Method,
    pub(super) version: ProtocolVersion,
    /// The parameters but for `_meta`.
    pub(super) members: Members<'a>,
    meta: RequestMeta<'a>,
    legacy: Option<Arc<LegacyClient>>,
    /// Its handler may make a task of it.
    pub(super) may_begin: bool,
    /// Its thread works for it, once it has a context.
    entered: Option<Entered>,
}

impl<'a> Asked<'a> {
    /// Understands a request.
    ///
    /// # Errors
    /// What to answer, if it is none that is served.
    pub(super) fn understand(
        server: &'a Inner,
        connection: &'a Connection,
        serving: Serving<'a>,
    ) -> Result<Self, ErrorObject> {
        let request = serving.request;
        let params = request.params.map(Members::of).transpose();
        let mut members = params.map_err(|e| bad_params(e, None))?.unwrap_or_default();
        let method = Method::from_name(request.method);
        let fields = members.take("_meta");
        let offered = &server.config.offered;
        if method == Some(Method::Initialize) && offered.latest_legacy().is_none() {
            // spec: 2026-07-28 basic/versioning#backward-compatibility-with-initialization-based-versions (a server
            // without Legacy revisions SHOULD name what it supports)
            let requested = members.lenient("protocolVersion");
            let requested = requested.unwrap_or_else(|| ProtocolVersion::Unknown("none".to_owned()));
            return Err(no_handshake(&requested, offered));
        }
        // A client that looks for an old server may probe without metadata: what it gets tells it how to go on.
        let is_bare_probe =
            method == Some(Method::Discover) && fields.is_none() && offered.latest().is_modern();
        let mut meta = if is_bare_probe { RequestMeta::default() } else { resolve(method, fields, offered)? };
        meta.log_level = meta.log_level.filter(|_| server.config.logs());
        let unknown = || ErrorObject::method_not_found(request.method);
        let method = method.filter(|method| method.is_request()).ok_or_else(unknown)?;
        let legacy = if meta.modern.is_some() { None } else { connection.legacy() };
        let version = match (&meta.modern, &legacy) {
            (Some(version), _) => version.clone(),
            (None, Some(client)) => client.version.clone(),
            (None, None) if is_bare_probe => offered.latest().clone(),
            (None, None) if method == Method::Initialize => ProtocolVersion::LATEST_LEGACY,
            // spec: 2026-07-28 basic/index#meta (-32602); Legacy only says that such requests should not be sent
            (None, None) if offered.newest_first().any(|version| method.is_in(version)) => {
                return Err(ErrorObject::invalid_params(format!(
                    "{} needs an initialize request before it, or the protocol version in params._meta",
                    request.method
                )));
            }
            (None, None) => return Err(unknown()),
        };
        let is_ours = method.is_in(&version) && method.direction(&version) != Direction::ToClient;
        if !is_ours {
            return Err(unknown());
        }
        let (may_begin, entered) = (false, None);
        Ok(Self { server, connection, serving, method, version, members, meta, legacy, may_begin, entered })
    }

    /// Whether the request is a Modern one, whose result is stamped.
    pub(super) fn is_modern(&self) -> bool {
        self.version.is_modern()
    }

    /// What the handler of this request sees. To be made once, by the thread that runs it: the state of an earlier round is
    /// used up.
    ///
    /// # Errors
    /// -32602 if the request state is not one of this call.
    pub(super) fn context(&mut self) -> Result<Context, ErrorObject> {
        let rounds = self.resumed()?.may_begin(self.may_begin);
        let Serving { outlet, call, .. } = self.serving;
        let patience = Some(self.server.config.input_time);
        let cx = Context::new(outlet, call, &self.meta, self.legacy.clone(), rounds, patience);
        self.entered = self.server.config.enter.map(|enter| enter(&cx));
        Ok(cx)
    }

    /// What the handshake of its connection settled, if it is a Legacy request.
    pub(super) fn legacy(&self) -> Option<&LegacyClient> {
        self.legacy.as_deref()
    }

    /// What the handler of a task sees that this request becomes, which is cancelled and asks apart from the request, and
    /// knows what `rounds` do.
    pub(super) fn task_context(
        &mut self,
        outlet: &Arc<dyn Outlet>,
        call: &Arc<Call>,
        asker: Arc<dyn Asker>,
        rounds: Rounds,
    ) -> Context {
        if self.is_modern() {
            // spec: seps/2663-tasks-extension#task-status-notifications (no progress of a task, nor log messages)
            self.meta.progress_token = None;
            self.meta.log_level = None;
        }
        Context::new(outlet, call, &self.meta, self.legacy.clone(), rounds, None).asking_by(asker)
    }

    /// Whether this very request declares the extension `name`.
    pub(super) fn declares(&self, name: &str) -> bool {
        self.is_modern() && self.meta.keep().capabilities().has_extension(name)
    }

    /// Takes a parameter out.
    ///
    /// # Errors
    /// -32602 if it is missing or no `T`.
    pub(super) fn param<T: FromJson>(&mut self, name: &str) -> Result<T, ErrorObject> {
        self.members.required(name).map_err(|e| bad_params(e, None))
    }

    /// Writes `result` as the request's revision knows it.
    ///
    /// # Errors
    /// When it cannot be JSON.
    pub(super) fn write<T: Serialize + Lower>(
        &self,
        out: &mut Vec<u8>,
        mut result: T,
    ) -> Result<(), ErrorObject> {
        result.lower(&self.version);
        self.write_lowered(out, &result)
    }

    /// Writes a result that says nothing its revision does not know.
    ///
    /// # Errors
    /// When it cannot be JSON.
    pub(super) fn write_lowered<T: Serialize>(
        &self,
        out: &mut Vec<u8>,
        result: &T,
    ) -> Result<(), ErrorObject> {
        if self.is_modern() {
            let stamp = &self.server.config.stamp;
            return stamp.write(out, Some(self.method), result).map_err(ErrorObject::internal);
        }
        write_json(out, result);
        Ok(())
    }
}

/// -32602, with the place of the problem.
pub(super) fn bad_params(error: JsonError, member: Option<&str>) -> ErrorObject {
    let error = match member {
        Some(member) => error.inside(member),
        None => error,
    };
    ErrorObject::invalid_params(error.inside("params"))
}
