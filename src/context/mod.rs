//! [`Context`]: what a handler sees of the call it serves.
//!
//! A handler is written once for both eras. What it asks of the client is a request to a Legacy one, which this thread waits
//! for; a Modern one gets it as the end of this round, and the handler runs again with the answer: the guide says
//! [what may run twice](crate::guide::asking#what-may-run-twice).
//!
//! **Invariant:** the handler's code cannot tell the eras apart, except by asking for the revision.

mod ask;
mod input;
mod logging;
mod progress;
mod rounds;
mod state;
mod task;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub use ask::{Ability, AskError, Question, Questions};
pub(crate) use ask::{needed, not_answered};
pub(crate) use input::Asker;
pub use logging::Entered;
pub(crate) use logging::{LogThreshold, log_params};
pub(crate) use rounds::{Keys, Pause, Resumed, Rounds};
pub(crate) use state::States;
pub use state::{MemoryStates, StateError, StateStore};

use crate::era::{KeptMeta, Lower, RequestMeta};
use crate::json::{FromJson, Json, Object};
use crate::jsonrpc::RequestId;
pub use crate::peer::Principal;
use crate::peer::{Call, Outlet};
use crate::protocol::notice::ProgressParams;
use crate::protocol::{ClientCapabilities, Implementation, LogLevel, ProgressToken, ProtocolVersion};
use crate::sync::{CancelToken, Mutex, lock};

/// What a handler sees of the call it serves: who calls, whether that was given up, and where progress goes.
///
/// Cheap to clone. A clone that outlives its call is inert.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    cancel: CancelToken,
    version: ProtocolVersion,
    caller: Caller,
    progress_token: Option<ProgressToken>,
    progress: Mutex<progress::Pace>,
    /// The least severe log messages that a Modern request asks for.
    log_level: Option<LogLevel>,
    meta: KeptMeta,
    /// The part of `meta` for the handler, taken out when it asks.
    other: OnceLock<Object>,
    /// `None` without a caller.
    served: Option<(Arc<dyn Outlet>, Arc<Call>)>,
    /// What a Modern call learned before.
    rounds: Rounds,
    /// How long a client may take to answer a question.
    patience: Option<Duration>,
    /// Asks in another way than by rounds or requests.
    asker: Option<Arc<dyn Asker>>,
}

/// What is known about the client.
pub(crate) enum Caller {
    /// There is none: the tool runs locally.
    Local,
    /// What the handshake of the connection said.
    Legacy(Arc<LegacyClient>),
    /// What the request says.
    Modern,
}

/// What a client said in its handshake.
#[derive(Debug)]
pub(crate) struct LegacyClient {
    pub(crate) version: ProtocolVersion,
    /// As it was written: most handlers never ask.
    pub(crate) capabilities: Option<Json>,
    /// Likewise.
    pub(crate) info: Option<Json>,
    /// Which log messages it gets.
    pub(crate) log_threshold: LogThreshold,
    /// The elicitations that sent its user to a URL and are not known to be complete. Bound: [`MAX_ASKED_URLS`], the oldest
    /// make room. Held for a look-up.
    pub(crate) asked_urls: Mutex<Vec<String>>,
}

/// So many elicitations by URL are remembered for a connection.
const MAX_ASKED_URLS: usize = 1024;

impl LegacyClient {
    /// Its user was sent to a URL by the elicitation `id`.
    pub(crate) fn url_asked(&self, id: &str) {
        let mut asked = lock(&self.asked_urls);
        if asked.len() == MAX_ASKED_URLS {
            asked.remove(0);
        }
        asked.push(id.to_owned());
    }

    /// That is done; whether it was this client that was asked.
    pub(crate) fn forget_url(&self, id: &str) -> bool {
        let mut asked = lock(&self.asked_urls);
        let at = asked.iter().position(|asked| asked == id);
        at.map(|at| asked.remove(at)).is_some()
    }
}

impl Context {
    /// A context without a caller: for running a tool locally. `cancel_token().cancel(..)` cancels it.
    #[must_use]
    pub fn detached() -> Self {
        Self(Arc::new(Inner {
            cancel: CancelToken::new(),
            version: ProtocolVersion::LATEST,
            caller: Caller::Local,
            progress_token: None,
            progress: Mutex::default(),
            log_level: None,
            meta: KeptMeta::default(),
            other: OnceLock::new(),
            served: None,
            rounds: Rounds::default(),
            patience: None,
            asker: None,
        }))
    }

    /// The context of a request that is being served. `caller` is the era's source of what is not in `meta`.
    pub(crate) fn new(
        outlet: &Arc<dyn Outlet>,
        call: &Arc<Call>,
        meta: &RequestMeta<'_>,
        legacy: Option<Arc<LegacyClient>>,
        rounds: Rounds,
        patience: Option<Duration>,
    ) -> Self {
        let (caller, version) = match (&meta.modern, legacy) {
            (Some(version), _) => (Caller::Modern, version.clone()),
            (None, Some(client)) => {
                let version = client.version.clone();
                (Caller::Legacy(client), version)
            }
            (None, None) => (Caller::Local, ProtocolVersion::LATEST),
        };
        Self(Arc::new(Inner {
            cancel: call.cancel.clone(),
            version,
            caller,
            progress_token: meta.progress_token.clone(),
            progress: Mutex::default(),
            log_level: meta.log_level,
            meta: meta.keep(),
            other: OnceLock::new(),
            served: Some((Arc::clone(outlet), Arc::clone(call))),
            rounds,
            patience,
            asker: None,
        }))
    }

    /// The same, not cloned yet, for a handler that runs on when its request is answered, and asks by `asker`.
    pub(crate) fn asking_by(mut self, asker: Arc<dyn Asker>) -> Self {
        match Arc::get_mut(&mut self.0) {
            Some(inner) => inner.asker = Some(asker),
            None => unreachable!("a context has no clones before its handler has it"),
        }
        self
    }

    /// Fires when the caller gave up on this call. Long work should look at it, or wait on it instead of sleeping.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let cx = tinymcp::Context::detached();
    /// # cx.cancel_token().cancel("test");
    /// while !cx.cancel_token().wait_timeout(Duration::from_secs(1)) {
    ///     // poll something once a second
    /// }
    /// ```
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        &self.0.cancel
    }

    /// Whether the caller gave up on this call.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Reports progress: `done` of `total`, in any unit, with a word for the user. Does nothing if the caller did
    /// not ask for it. May be dropped: a value that is not larger than the one before is, and so is what comes in excess of
    /// 64 reports at once and 100 a second. The one that reaches the total is not.
    ///
    /// ```
    /// # let cx = tinymcp::Context::detached();
    /// cx.progress(1.0, 3.0, "copying");
    /// cx.progress(2.0, None, None);
    /// ```
    pub fn progress<'a>(
        &self,
        done: f64,
        total: impl Into<Option<f64>>,
        message: impl Into<Option<&'a str>>,
    ) {
        let inner = &self.0;
        let (Some(token), Some((outlet, call))) = (&inner.progress_token, &inner.served) else { return };
        if !done.is_finite() {
            log::debug!("dropped progress {done}: it is no number");
            return;
        }
        let mut params = ProgressParams::new(token.clone(), done);
        let total = total.into().filter(|total| total.is_finite());
        params.total = total;
        params.message = message.into().map(str::to_owned);
        params.lower(&inner.version);
        let params = serde_json::to_string(&params).expect("wire types serialize");
        // Asked when the frame takes its place among the others: a handler's threads may report at the same time.
        let is_due = || lock(&inner.progress).is_due(done, total, Instant::now());
        outlet.notify(call, "notifications/progress", &params, &is_due);
    }

    /// Whether the caller asked for progress.
    #[must_use]
    pub fn wants_progress(&self) -> bool {
        self.0.progress_token.is_some()
    }

    /// The revision the caller speaks.
    #[must_use]
    pub fn protocol_version(&self) -> &ProtocolVersion {
        &self.0.version
    }

    /// Which software the caller is, if it says so. Self-reported: for display and logs.
    #[must_use]
    pub fn client_info(&self) -> Option<Implementation> {
        match &self.0.caller {
            Caller::Local => None,
            Caller::Legacy(client) => read(client.info.as_ref()),
            Caller::Modern => self.0.meta.client_info(),
        }
    }

    /// What the caller can do for this request.
    #[must_use]
    pub fn client_capabilities(&self) -> ClientCapabilities {
        match &self.0.caller {
            Caller::Local => ClientCapabilities::default(),
            Caller::Legacy(client) => read(client.capabilities.as_ref()).unwrap_or_default(),
            Caller::Modern => self.0.meta.capabilities(),
        }
    }

    /// Who makes the call, where a transport found out: over HTTP it is what the server's guard returned.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.0.served.as_ref()?.1.principal.as_ref()
    }

    /// Closes the stream on which the answer will come, and has the client ask for the rest after `retry`, so that a long call
    /// holds no connection open. Only where a client can come back: over HTTP, from 2025-11-25 on and before 2026-07-28.
    /// `false` elsewhere, and nothing happens.
    pub fn send_away(&self, retry: Duration) -> bool {
        self.0.served.as_ref().is_some_and(|(outlet, _)| outlet.send_away(retry))
    }

    /// The `_meta` of the request, without the members the protocol itself uses.
    #[must_use]
    pub fn meta(&self) -> &Object {
        self.0.other.get_or_init(|| self.0.meta.other())
    }

    /// The id of the request, for logs.
    #[must_use]
    pub fn request_id(&self) -> Option<&RequestId> {
        self.0.served.as_ref().map(|(_, call)| &call.id)
    }
}

/// What a client says of itself is never an error.
fn read<T: FromJson>(json: Option<&Json>) -> Option<T> {
    let json = json?;
    T::from_json(json.as_raw()).map_err(|e| log::debug!("ignored what a client says of itself: {e}")).ok()
}

impl Default for Context {
    fn default() -> Self {
        Self::detached()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("request", &self.request_id())
            .field("version", &self.0.version)
            .finish_non_exhaustive()
    }
}
