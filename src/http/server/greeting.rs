//! [`Greeting`]: the answer to an `initialize`, with which a client learns of its session.

use std::sync::Arc;

use super::answers::json_response;
use super::session::{InUse, Session};
use super::sessions::Sessions;
use super::standing::Standing;
use super::wire::{Reply, Response};
use crate::jsonrpc::ErrorObject;
use crate::sync::{Mutex, lock};
use crate::transport::{Direction, Tap, show};

/// The answer to an `initialize`. Its session counts among the others by then, but nobody else knows it.
pub(super) struct Greeting {
    session: Arc<Session>,
    sessions: Arc<Sessions>,
    tap: Option<Arc<dyn Tap>>,
    /// `None` once it is answered. Held for a moment.
    reply: Mutex<Option<(Reply, InUse)>>,
}

impl Greeting {
    /// Answers by `reply`. A client that leaves before has no session: it could not name it.
    pub(super) fn new(
        session: Arc<Session>,
        in_use: InUse,
        sessions: &Arc<Sessions>,
        tap: Option<&Arc<dyn Tap>>,
        reply: Reply,
    ) -> Arc<Self> {
        let (id, left) = (session.id.clone(), Arc::downgrade(sessions));
        reply.when_gone(Box::new(move || {
            if left.upgrade().is_some_and(|sessions| sessions.end(&id, "the client has left")) {
                log::debug!("a client left before its session began");
            }
        }));
        let reply = Mutex::new(Some((reply, in_use)));
        Arc::new(Self { session, sessions: Arc::clone(sessions), tap: tap.cloned(), reply })
    }

    pub(super) fn standing(&self) -> &Arc<Standing> {
        self.session.standing()
    }

    /// Answers with a whole message, which may be this error: then there is no session.
    pub(super) fn finish(&self, error: Option<&ErrorObject>, message: Vec<u8>) {
        let Some((reply, _in_use)) = lock(&self.reply).take() else { return };
        if let Some(tap) = &self.tap {
            show(&**tap, Direction::Sent, &message);
        }
        if let Some(error) = error {
            log::debug!("initialize was refused: {error}");
            self.sessions.end(&self.session.id, "initialize has failed");
            return reply.answer(json_response(400, message));
        }
        let mut response = json_response(200, message);
        response.headers.push(("Mcp-Session-Id", self.session.id.clone()));
        reply.answer(response);
    }

    /// Answers in the server's place.
    pub(super) fn abandon(&self, response: Response) {
        let Some((reply, _in_use)) = lock(&self.reply).take() else { return };
        reply.answer(response);
    }
}
