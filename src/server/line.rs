//! [`Line`]: a connection without a transport of its own, for what carries each message by itself.

use std::sync::Arc;

use super::changes::Most;
use super::connection::Connection;
use super::{Cleanup, Server};
use crate::context::StateStore;
use crate::era::Offered;
use crate::peer::{Limits, Role};
use crate::protocol::ProtocolVersion;
use crate::sync::{CancelToken, Deadline};
use crate::transport::Tap;

/// What a server knows of some clients, or of one; whoever has it carries their messages. It ends when it is dropped.
pub(crate) struct Line {
    server: Server,
    connection: Arc<Connection>,
}

impl Server {
    /// A line on which so much may be listened to.
    pub(crate) fn line(&self, most: Most) -> Line {
        let connection = Arc::new(Connection::new(Arc::clone(&self.0), most));
        Line { server: self.clone(), connection }
    }

    /// Lines are served, until the end of what is returned.
    pub(crate) fn begin_serving(&self) -> Cleanup<'_> {
        Cleanup::new(&self.0, true)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.config.limits
    }

    pub(crate) fn grace(&self) -> std::time::Duration {
        self.0.config.grace
    }

    pub(crate) fn offered(&self) -> &Offered {
        &self.0.config.offered
    }

    pub(crate) fn tap(&self) -> Option<&Arc<dyn Tap>> {
        self.0.config.tap.as_ref()
    }

    pub(crate) fn stop_token(&self) -> &CancelToken {
        &self.0.stop
    }

    /// Keeps the states of calls in `store`, unless the program has chosen another.
    pub(crate) fn keep_states_in(&self, store: impl FnOnce() -> Arc<dyn StateStore>) {
        self.0.config.states.get_or_init(store);
    }
}

impl Line {
    /// What serves its messages.
    pub(crate) fn role(&self) -> &dyn Role {
        &*self.connection
    }

    /// The revision that a handshake settled.
    pub(crate) fn legacy_version(&self) -> Option<ProtocolVersion> {
        self.connection.legacy().map(|client| client.version.clone())
    }

    /// Ends its subscriptions in good order. Closing their streams says what stdio says by a cancellation.
    pub(crate) fn end_subscriptions(&self) {
        self.server.0.end_subscriptions(self.connection.number, false);
    }

    /// Waits for what is to be answered without a thread that serves it.
    pub(crate) fn drain(&self, deadline: Deadline) {
        let features = &self.server.0.config.features;
        features.iter().for_each(|feature| feature.drain(self.connection.number, deadline));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let (server, number) = (&self.server.0, self.connection.number);
        self.end_subscriptions();
        server.changes.forget(number);
        server.config.features.iter().for_each(|feature| feature.connection_ended(number));
    }
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Line({})", self.connection.number)
    }
}
