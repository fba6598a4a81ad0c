//! [`Agents`]: connections, each in an agent of its own.
//!
//! [`Agent::shutdown`] ends everything that an agent does, so one agent serves one exchange at a time: ending that leaves all
//! others alone. Between exchanges it waits here with its open connection.

use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::config::Config;

use crate::sync::{Mutex, lock};

/// So many wait with an open connection.
const MAX_IDLE: usize = 8;

/// How long a connection is kept that nobody uses, unless its server says less.
const IDLE: Duration = Duration::from_secs(30);

/// Owner: the connection to the server. Bound: [`MAX_IDLE`] that wait, and one an exchange. End: each after [`IDLE`], once
/// another is taken or given back, or with the connection.
pub(super) struct Agents {
    config: Config,
    /// The last one given back is at the end, and is used first.
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    agent: Agent,
    until: Instant,
}

/// An agent for one exchange.
pub(super) struct Taken {
    pub(super) agent: Agent,
    /// It has an open connection, which the server may be closing just now.
    pub(super) is_used: bool,
}

impl Agents {
    pub(super) fn new(config: Config) -> Self {
        Self { config, idle: Mutex::default() }
    }

    pub(super) fn take(&self) -> Taken {
        let idle = {
            let mut idle = lock(&self.idle);
            let stale = drop_stale(&mut idle);
            let agent = idle.pop();
            drop(idle);
            drop(stale); // closes connections
            agent
        };
        match idle {
            Some(idle) => Taken { agent: idle.agent, is_used: true },
            None => self.fresh(),
        }
    }

    pub(super) fn fresh(&self) -> Taken {
        Taken { agent: self.config.new_agent(), is_used: false }
    }

    /// Takes back an agent whose exchange was completed. `keep_alive` is what the server said about how long it waits.
    pub(super) fn give_back(&self, agent: Agent, keep_alive: Option<Duration>) {
        // A request that crosses the server's closing is lost, and nobody knows whether it was carried out.
        let time = keep_alive.map_or(IDLE, |time| time.saturating_sub(Duration::from_secs(1)).min(IDLE));
        if time.is_zero() {
            return;
        }
        let mut idle = lock(&self.idle);
        let mut stale = drop_stale(&mut idle);
        if idle.len() >= MAX_IDLE {
            stale.push(idle.remove(0));
        }
        idle.push(Idle { agent, until: Instant::now() + time });
        drop(idle);
        drop(stale);
    }

    /// Closes the connections that nobody uses.
    pub(super) fn clear(&self) {
        let idle = std::mem::take(&mut *lock(&self.idle));
        drop(idle);
    }
}

/// Takes out those that have waited too long, to be dropped without the lock.
fn drop_stale(idle: &mut Vec<Idle>) -> Vec<Idle> {
    let now = Instant::now();
    let (stale, kept) = std::mem::take(idle).into_iter().partition(|idle| idle.until <= now);
    *idle = kept;
    stale
}
