//! [`HostBuilder`]: everything that can be set before a host starts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::audit::{AuditLog, Intent, Kind};
use super::config::{Config, Resolver, ServerEntry};
use super::connector::{Connector, NoConnector};
use super::consent::{AskLimits, Consent, Gatekeeper, Grants, Policy, Rules, Subject};
use super::containment::{Sandbox, Spawner};
use super::events::{Bulletin, HostEvent};
use super::filter::ResultFilter;
use super::handle::Host;
use super::inner::Inner;
use super::resilience::{BreakerOptions, RestartPolicy, Retry};
use crate::client::{ClientBuilder, ClientHandler};
use crate::error::Result;
use crate::transport::Environment;

type Tune = Arc<dyn Fn(&str, ClientBuilder) -> ClientBuilder + Send + Sync>;
type Contain = Arc<dyn Fn(&ServerEntry) -> Option<Arc<dyn Sandbox>> + Send + Sync>;

/// Sets up a [`Host`].
pub struct HostBuilder {
    servers: Vec<ServerEntry>,
    resolver: Resolver,
    policy: Arc<dyn Policy>,
    consent: Option<Arc<dyn Consent>>,
    grants: Grants,
    ask_limits: AskLimits,
    audit: Option<AuditLog>,
    filter: ResultFilter,
    retry: Retry,
    restart: RestartPolicy,
    breaker: BreakerOptions,
    environment: Environment,
    contain: Option<Contain>,
    connector: Arc<dyn Connector>,
    handler: Option<Arc<dyn ClientHandler>>,
    tune: Option<Tune>,
    start_time: Duration,
    max_starting: usize,
}

impl Default for HostBuilder {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            resolver: Resolver::new(),
            policy: Arc::new(Rules::new()),
            consent: None,
            grants: Grants::default(),
            ask_limits: AskLimits::default(),
            audit: None,
            filter: ResultFilter::default(),
            retry: Retry::default(),
            restart: RestartPolicy::default(),
            breaker: BreakerOptions::default(),
            environment: Environment::default(),
            contain: None,
            connector: Arc::new(NoConnector),
            handler: None,
            tune: None,
            start_time: Duration::from_secs(30),
            max_starting: 8,
        }
    }
}

impl HostBuilder {
    /// A server that the program itself wants. It is started without asking; its tools are called as the policy says.
    #[must_use]
    pub fn server(mut self, entry: ServerEntry) -> Self {
        self.servers.push(entry);
        self
    }

    /// The servers of a configuration. Each is started once the user has agreed to what it runs, or to where it leads.
    #[must_use]
    pub fn config(mut self, config: &Config) -> Self {
        self.servers.extend(config.servers.iter().cloned());
        self
    }

    /// Where variables and secrets in entries come from. Default: the environment.
    #[must_use]
    pub fn resolver(mut self, resolver: Resolver) -> Self {
        self.resolver = resolver;
        self
    }

    /// What may be started, called and asked. Default: [`Rules`] without any, by which everything is asked.
    #[must_use]
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// Who asks the user. Without one, what would be asked is denied.
    #[must_use]
    pub fn consent(mut self, consent: impl Consent + 'static) -> Self {
        self.consent = Some(Arc::new(consent));
        self
    }

    /// What the user has agreed to before, and where that is kept. Default: for this host alone. Keep a clone, to take consent
    /// back.
    #[must_use]
    pub fn grants(mut self, grants: &Grants) -> Self {
        self.grants = grants.clone();
        self
    }

    /// How long the user may take for an answer. It does not count as time of the call. Default: 5 minutes.
    #[must_use]
    pub fn ask_time(mut self, time: Duration) -> Self {
        self.ask_limits = self.ask_limits.with_time(time);
        self
    }

    /// How much the user is asked, and for how long. Default: [`AskLimits::default`].
    #[must_use]
    pub fn ask_limits(mut self, limits: AskLimits) -> Self {
        self.ask_limits = limits;
        self
    }

    /// Where everything that is done is written down. Default: nowhere.
    #[must_use]
    pub fn audit(mut self, log: &AuditLog) -> Self {
        self.audit = Some(log.clone());
        self
    }

    /// What is done to what servers send. Default: [`ResultFilter::default`].
    #[must_use]
    pub fn filter(mut self, filter: ResultFilter) -> Self {
        self.filter = filter;
        self
    }

    /// How often a call is made again that did not get through. Default: [`Retry::default`].
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// When a server is started again that has ended by itself, and how often. Default: by the next call. What happens is told by
    /// [`watch`](super::HostHandle::watch), and not to the policy's own callback.
    #[must_use]
    pub fn restart(mut self, restart: RestartPolicy) -> Self {
        self.restart = restart;
        self
    }

    /// When calls to a server that fails and fails are not made any more; each server has its own.
    #[must_use]
    pub fn breaker(mut self, breaker: BreakerOptions) -> Self {
        self.breaker = breaker;
        self
    }

    /// Which variables of this process every server gets that is started, beside those of its entry. Default: [`Environment::Base`].
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Contains every server that is started.
    #[must_use]
    pub fn sandbox(self, sandbox: impl Sandbox + 'static) -> Self {
        let sandbox: Arc<dyn Sandbox> = Arc::new(sandbox);
        self.sandbox_with(move |_| Some(Arc::clone(&sandbox)))
    }

    /// Contains each server as `choose` says; `None` is not at all.
    #[must_use]
    pub fn sandbox_with(
        mut self,
        choose: impl Fn(&ServerEntry) -> Option<Arc<dyn Sandbox>> + Send + Sync + 'static,
    ) -> Self {
        self.contain = Some(Arc::new(choose));
        self
    }

    /// How servers at addresses are reached. Without one, an entry with a `url` cannot be started. With the feature `http-client`
    /// `HostBuilder::http` sets the library's own.
    #[must_use]
    pub fn connector(mut self, connector: impl Connector + 'static) -> Self {
        self.connector = Arc::new(connector);
        self
    }

    /// Who answers what servers ask. Requests for sampling and elicitation pass the policy first, and so do the answers of
    /// sampling before they go to the server.
    #[must_use]
    pub fn handler(mut self, handler: impl ClientHandler + 'static) -> Self {
        self.handler = Some(Arc::new(handler));
        self
    }

    /// Sets up the client of each server further: time-outs, limits, a tap. It is given the server's name.
    #[must_use]
    pub fn client(
        mut self,
        tune: impl Fn(&str, ClientBuilder) -> ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        self.tune = Some(Arc::new(tune));
        self
    }

    /// How long a server may take to start: to settle the protocol, and to list its tools. Default: 30 s.
    #[must_use]
    pub fn start_time(mut self, time: Duration) -> Self {
        self.start_time = time;
        self
    }

    /// How many servers are started side by side. Default: 8.
    #[must_use]
    pub fn max_starting(mut self, servers: usize) -> Self {
        self.max_starting = servers;
        self
    }

    /// Begins to start the servers, and returns at once: [`wait_first`](super::HostHandle::wait_first),
    /// [`wait_ready`](super::HostHandle::wait_ready) and [`watch`](super::HostHandle::watch) tell what comes of it.
    ///
    /// # Errors
    /// When two servers have one name, or a thread cannot be started.
    pub fn start(self) -> Result<Host> {
        let bulletin = Arc::new(Bulletin::default());
        let told = Arc::clone(&bulletin);
        let on_trouble = move |server: &str, problem: String| {
            told.tell(&HostEvent::Trouble { server: Arc::from(server), problem });
        };
        let log = self.audit.clone();
        let on_answer = move |subject: &Subject<'_>, answer: &str| {
            let Some(log) = &log else { return };
            let target = subject.tool().map_or_else(|| subject.kind().to_string(), |tool| tool.name.clone());
            let event = Intent::new(Kind::Consent).with_server(subject.server()).with_target(&target);
            // A log that must be written is asked for the call itself.
            let _ = log.event(&event.with_detail(answer));
        };
        let gatekeeper =
            Gatekeeper::new(self.policy, self.consent, self.grants, self.ask_limits, on_trouble, on_answer);
        let settings = Settings {
            resolver: self.resolver,
            gatekeeper: Arc::new(gatekeeper),
            audit: self.audit,
            filter: self.filter,
            retry: self.retry,
            restart: self.restart,
            breaker: self.breaker,
            environment: self.environment,
            contain: self.contain,
            spawner: Spawner::start()?,
            connector: self.connector,
            handler: self.handler,
            tune: self.tune,
            start_time: self.start_time,
            max_starting: self.max_starting,
            bulletin,
        };
        let host = Host::of(Inner::start(settings)?);
        for entry in self.servers {
            host.add(entry)?;
        }
        Ok(host)
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder").field("servers", &self.servers).finish_non_exhaustive()
    }
}

/// What was set, and what belongs to the host as a whole.
pub(super) struct Settings {
    pub(super) resolver: Resolver,
    pub(super) gatekeeper: Arc<Gatekeeper>,
    pub(super) audit: Option<AuditLog>,
    pub(super) filter: ResultFilter,
    pub(super) retry: Retry,
    pub(super) restart: RestartPolicy,
    pub(super) breaker: BreakerOptions,
    pub(super) environment: Environment,
    pub(super) contain: Option<Contain>,
    pub(super) spawner: Spawner,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) handler: Option<Arc<dyn ClientHandler>>,
    pub(super) tune: Option<Tune>,
    pub(super) start_time: Duration,
    pub(super) max_starting: usize,
    pub(super) bulletin: Arc<Bulletin>,
}
