//! What those who look after several clients see of one: whether its connection has ended, and whether its server is odd.

use std::time::Duration;

use crossbeam_channel::Receiver;

use super::ClientHandle;
use crate::error::Phase;

impl ClientHandle {
    /// Becomes ready (disconnected) when the connection of now has ended. `None` if there is none.
    pub(crate) fn ended(&self) -> Option<Receiver<()>> {
        Some(self.session.current()?.peer.ended())
    }

    /// How the connection of now has ended, for people.
    pub(crate) fn how_it_ended(&self) -> String {
        let peer = self.session.current().map(|settled| settled.peer.clone());
        self.session
            .closed(Phase::Handshake, peer.as_ref(), Duration::ZERO)
            .failure()
            .map_or_else(String::new, |failure| failure.to_string().trim_start_matches(": ").to_owned())
    }

    /// How many answers the server has sent on this connection to what it was never asked.
    pub(crate) fn strays(&self) -> u64 {
        self.session.current().map_or(0, |settled| settled.peer.strays())
    }
}
