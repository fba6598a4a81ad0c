//! [`Resilient`]: a caller whose calls get through if they can.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::attempts::{Attempts, Revive, Times};
use super::breaker::Breaker;
use super::policy::RestartPolicy;
use super::restart::Restarter;
use super::retry::Retry;
use super::route::{Act, Need, Route, routed_calls};
use crate::client::{CallOptions, Caller, ClientHandle, Events, Filter, RemoteTool, Repeatable, Timeouts};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::method::Method;
use crate::protocol::{CallToolResult, ToolDefinition};
use crate::sync::{CancelToken, Deadline};
use crate::tool::Arguments;

/// To learn which tools can be repeated, before the first call.
const LISTING: Duration = Duration::from_secs(10);

/// A [`Caller`] that starts a server again which has died, makes calls again that did not get through, and leaves a server alone
/// that fails again and again.
///
/// A call is made again only where that cannot do its work twice: if nothing was sent; if its method can be repeated, as listing
/// and reading can; if its tool says `readOnlyHint` or `idempotentHint`; or if
/// [`CallOptions::with_repeatable`] says so. Any other whose answer was lost is [`Error::OutcomeUnknown`], at once. To know
/// what the tools say, they are listed before the first call, unless that has been done.
///
/// All tries, pauses and restarts together take no longer than the call may: its timeout, or its total if progress starts the
/// timeout anew. [Cancelling](CallOptions::with_cancel) ends a pause at once. What happens is told by [`Breaker::state`] and
/// [`RestartPolicy::on_event`].
///
/// Clones share breaker and restarts. It owns no connection: that is closed by its [`Client`](crate::Client).
///
/// ```
/// use serde_json::json;
/// use tinymcp::client::{CallOptions, Caller};
/// use tinymcp::host::resilience::{Breaker, Resilient, Restart, RestartPolicy, Retry};
/// use tinymcp::{Arguments, Server, ToolRegistry, testing, tool};
///
/// let tools = ToolRegistry::new().with(tool! { fn add(a: i64, b: i64) -> i64 { a + b } })?;
/// let client = testing::pair(&Server::builder("calculator", "1").tools(tools).build()?)?;
///
/// let caller = Resilient::builder()
///     .retry(Retry::default().with_tries(5))
///     .breaker(Breaker::default())
///     .restart(RestartPolicy::new(Restart::Eagerly))
///     .over(&client)?;
/// let sum = caller.call("add", Arguments::new(&json!({"a": 1, "b": 2})).expect("an object"), &CallOptions::default())?;
/// assert_eq!(sum.text_content(), "3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Resilient(Arc<Inner>);

struct Inner {
    caller: Arc<dyn Caller>,
    revive: Box<dyn Revive + Send + Sync>,
    restarter: Option<Arc<Restarter>>,
    retry: Retry,
    breaker: Option<Breaker>,
    timeouts: Timeouts,
    tools: Tools,
}

/// Where it is known which tools can be repeated.
enum Tools {
    Client(ClientHandle),
    Own(Repeatable),
}

impl Tools {
    fn repeatable(&self) -> &Repeatable {
        match self {
            Self::Client(client) => client.repeatable(),
            Self::Own(repeatable) => repeatable,
        }
    }
}

/// A [`Resilient`] to be. What is not set is as [`Retry`], [`RestartPolicy`] and [`Breaker`] have it by default.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before it is put over a caller"]
pub struct ResilientBuilder {
    retry: Retry,
    breaker: Option<Breaker>,
    restart: RestartPolicy,
    timeouts: Timeouts,
}

impl ResilientBuilder {
    /// Sets how often calls are tried.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the breaker; several may share one.
    pub fn breaker(mut self, breaker: Breaker) -> Self {
        self.breaker = Some(breaker);
        self
    }

    /// Never leaves the server alone.
    pub fn no_breaker(mut self) -> Self {
        self.breaker = None;
        self
    }

    /// Sets when the server is started again. Only [over a client](Self::over).
    pub fn restart(mut self, policy: RestartPolicy) -> Self {
        self.restart = policy;
        self
    }

    /// Sets how long calls take at most whose options do not say. Only [over another caller](Self::over_caller): a client has its
    /// own.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Puts it over a client.
    ///
    /// # Errors
    /// When restarts are to be eager, and there is no thread to watch the server.
    pub fn over(self, client: &ClientHandle) -> Result<Resilient> {
        let restarter = Arc::new(Restarter::new(client, self.restart));
        restarter.watch()?;
        Ok(Resilient(Arc::new(Inner {
            caller: Arc::new(client.clone()),
            revive: Box::new(Arc::clone(&restarter)),
            restarter: Some(restarter),
            retry: self.retry,
            breaker: self.breaker,
            timeouts: *client.timeouts(),
            tools: Tools::Client(client.clone()),
        })))
    }

    /// Puts it over something else that makes calls, such as a pool, which looks after its connections itself.
    #[must_use]
    pub fn over_caller(self, caller: Arc<dyn Caller>) -> Resilient {
        Resilient(Arc::new(Inner {
            caller,
            revive: Box::new(LooksAfterItself),
            restarter: None,
            retry: self.retry,
            breaker: self.breaker,
            timeouts: self.timeouts,
            tools: Tools::Own(Repeatable::default()),
        }))
    }
}

impl Resilient {
    /// Everything that can be set before.
    pub fn builder() -> ResilientBuilder {
        ResilientBuilder {
            retry: Retry::default(),
            breaker: Some(Breaker::default()),
            restart: RestartPolicy::default(),
            timeouts: Timeouts::default(),
        }
    }

    /// The breaker, if there is one.
    #[must_use]
    pub fn breaker(&self) -> Option<&Breaker> {
        self.0.breaker.as_ref()
    }

    /// Starts the server again, also if it was given up, and closes the breaker. Open calls fail as they do when a server
    /// dies. It takes up to `time`; `None` is for ever.
    ///
    /// # Errors
    /// - [`Error::Unsupported`] over something that is no client, or that cannot be opened again.
    /// - [`Error::Timeout`] when it is not there in time; the restart goes on.
    /// - As [`ClientHandle::reconnect`].
    pub fn restart(&self, time: Option<Duration>, cancel: Option<&CancelToken>) -> Result<()> {
        let restarter = self.0.restarter.as_ref();
        let restarter =
            restarter.ok_or_else(|| Error::Unsupported("this caller starts no server".to_owned()))?;
        restarter.restart(Deadline::after(time), cancel)?;
        if let Some(breaker) = &self.0.breaker {
            breaker.reset();
        }
        Ok(())
    }

    /// Why the server is not started again any more, if so.
    #[must_use]
    pub fn given_up(&self) -> Option<String> {
        self.0.restarter.as_ref().and_then(|restarter| restarter.given_up())
    }

    /// The tools of the server, ready to be registered beside local ones, each called through this.
    ///
    /// # Errors
    /// As [`ClientHandle::discover_tools`].
    pub fn discover_tools(&self) -> Result<Vec<RemoteTool>> {
        let list = self.list_tools(&CallOptions::default())?;
        let caller: Arc<dyn Caller> = Arc::new(self.clone());
        Ok(list.into_iter().map(|tool| RemoteTool::new(tool, Arc::clone(&caller))).collect())
    }
}

impl Inner {
    fn attempts<'a>(&'a self, need: Need<'_>, options: &'a CallOptions) -> Attempts<'a> {
        Attempts {
            method: need.method(),
            retry: &self.retry,
            breaker: self.breaker.as_ref(),
            revive: self.revive.as_ref(),
            options,
            timeouts: &self.timeouts,
        }
    }
}

impl Route for Resilient {
    fn route(&self, need: Need<'_>, options: &CallOptions, act: Act<'_>) -> Result<()> {
        let inner = &*self.0;
        let tools = inner.tools.repeatable();
        let is_repeatable = || match need {
            Need::Method(_) => true,
            Need::Tool(name) => options.is_repeatable() || tools.has(name),
        };
        let wants_to_know = matches!(need, Need::Tool(_)) && !options.is_repeatable();
        inner.attempts(need, options).run(&is_repeatable, &mut |options| {
            if !wants_to_know || tools.is_known() {
                return act(&*inner.caller, options);
            }
            let times = Times::new(options, &inner.timeouts);
            match listing(&*inner.caller, options, &times)? {
                Some(list) => self.listed(&list),
                None => tools.refresh(&[]),
            }
            act(&*inner.caller, &times.left(options, None))
        })
    }

    fn listed(&self, tools: &[ToolDefinition]) {
        if let Tools::Own(repeatable) = &self.0.tools {
            repeatable.refresh(tools);
        }
    }
}

/// The tools, if they can be listed: before the call, so that what is believed of a tool is what its server said before.
///
/// # Errors
/// When nothing can be called now.
fn listing(caller: &dyn Caller, options: &CallOptions, times: &Times) -> Result<Option<Vec<ToolDefinition>>> {
    let time = times.deadline().remaining().map_or(LISTING, |left| left.min(LISTING));
    let mut plain = CallOptions::default().with_timeout(time).with_total(time);
    if let Some(cancel) = options.cancel_token() {
        plain = plain.with_cancel(cancel);
    }
    match caller.list_tools(&plain) {
        Ok(list) => Ok(Some(list.items)),
        Err(error @ Error::Cancelled(_)) => Err(error),
        Err(error) if error.is_closed() || error.is_retryable() => Err(error),
        Err(error) => {
            log::debug!("the tools cannot be listed, and so none counts as repeatable: {error}");
            Ok(None)
        }
    }
}

impl Caller for Resilient {
    routed_calls!();

    fn events(&self, filter: Filter) -> Result<Events> {
        let need = Need::Method(Method::SubscriptionsListen);
        super::route::routed(self, need, &CallOptions::default(), &|caller, _| caller.events(filter.clone()))
    }
}

impl fmt::Debug for Resilient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        f.debug_struct("Resilient")
            .field("server", &inner.revive.name())
            .field("retry", &inner.retry)
            .field("breaker", &inner.breaker)
            .finish_non_exhaustive()
    }
}

/// A caller that starts its servers itself, or has none.
struct LooksAfterItself;

impl Revive for LooksAfterItself {
    fn ready(&self, _: Deadline, _: Option<&CancelToken>) -> Result<()> {
        Ok(())
    }

    fn is_hopeful(&self, _: &Error) -> bool {
        true
    }

    fn name(&self) -> String {
        "the caller below".to_owned()
    }
}

impl<T: Revive + Send + Sync> Revive for Arc<T> {
    fn ready(&self, until: Deadline, cancel: Option<&CancelToken>) -> Result<()> {
        (**self).ready(until, cancel)
    }

    fn is_hopeful(&self, error: &Error) -> bool {
        (**self).is_hopeful(error)
    }

    fn name(&self) -> String {
        (**self).name()
    }
}

/// Calls a tool, and starts the server again and makes the call again if that is needed and harmless: [`Resilient`] for one call,
/// without a breaker.
///
/// The usual loop around a call — on any error start the server anew, wait twice as long as before, call again — has its tool do its
/// work twice whenever an answer is lost. Here that never happens unasked: what may have been carried out is
/// made again only if the tool says `readOnlyHint` or `idempotentHint`, or
/// [`with_repeatable`](CallOptions::with_repeatable) says so. The tools are listed before, unless that has been done.
///
/// `arguments` is anything that serializes to a JSON object; `()` stands for none. A server that is alive is not started again; threads
/// that find it dead at the same time start it once.
///
/// ```no_run
/// use std::time::Duration;
/// use serde_json::json;
/// use tinymcp::client::CallOptions;
/// use tinymcp::host::resilience::{Retry, resilient_tool_call};
///
/// # fn main() -> tinymcp::Result<()> {
/// let client = tinymcp::Client::connect("python3", &["notes_server.py"])?;
/// // Three tries, with pauses of up to one and two seconds; half a minute for all of it.
/// let options = CallOptions::default().with_timeout(Duration::from_secs(30));
/// match resilient_tool_call(&client, "create_note", json!({"title": "Plan"}), &Retry::default(), &options) {
///     Err(tinymcp::Error::OutcomeUnknown(_)) => println!("the note may be there: look before you try again"),
///     result => println!("{}", result?.text_content()),
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// - [`Error::OutcomeUnknown`] when the call may have been carried out and cannot be repeated.
/// - The last error when all tries failed, or when there is no time for another.
/// - As [`ClientHandle::call_tool_with`].
pub fn resilient_tool_call(
    client: &ClientHandle,
    name: &str,
    arguments: impl Serialize,
    retry: &Retry,
    options: &CallOptions,
) -> Result<CallToolResult> {
    let arguments =
        Json::new(&arguments).map_err(|e| Error::InvalidUse(format!("arguments are no JSON: {e}")))?;
    let arguments = Arguments::from_raw(arguments.as_raw()).map_err(|_| {
        Error::InvalidUse(format!("arguments must be a JSON object, not {:.40}", arguments.as_str()))
    })?;
    // The pauses are those between the tries, and these limit the restarts.
    let restart = RestartPolicy::default().with_pauses(Duration::ZERO, Duration::ZERO).with_limit(u32::MAX);
    let resilient = Resilient::builder().retry(retry.clone()).no_breaker().restart(restart).over(client)?;
    resilient.call(name, arguments, options)
}
