//! [`Way`]: where the answer to a request goes, and what precedes it.

use std::sync::Arc;

use super::exchange::Exchange;
use super::greeting::Greeting;
use super::standing::Standing;
use super::wire::Response;
use crate::jsonrpc::ErrorObject;
use crate::peer::{Call, NotSent, Outlet};

/// Where the answer to a request goes, and what precedes it.
#[derive(Clone)]
pub(super) enum Way {
    /// To the POST that brought the request.
    Exchange(Arc<Exchange>),
    /// Over the one stream of a client of 2024-11-05.
    Standing(Arc<Standing>),
    /// To the POST of an `initialize`, by which a session begins.
    Greeting(Arc<Greeting>),
}

impl Way {
    /// The same for whoever writes messages himself.
    pub(super) fn outlet(&self) -> Arc<dyn Outlet> {
        match self {
            Self::Exchange(exchange) => Arc::<Exchange>::clone(exchange),
            Self::Standing(standing) => Arc::<Standing>::clone(standing),
            Self::Greeting(greeting) => Arc::<Standing>::clone(greeting.standing()),
        }
    }

    /// Sends a whole message ahead of the answer.
    pub(super) fn message(&self, message: &[u8]) -> Result<(), NotSent> {
        match self {
            Self::Exchange(exchange) => exchange.event(message),
            Self::Standing(standing) => standing.message(message),
            // spec: 2025-11-25 basic/lifecycle#initialization (it has no stream before)
            Self::Greeting(greeting) => greeting.standing().message(message),
        }
    }

    /// Answers `call` with a whole message, which may be this error. Nothing happens if it has ended.
    pub(super) fn answer(&self, call: &Arc<Call>, error: Option<&ErrorObject>, message: Vec<u8>) {
        match self {
            Self::Exchange(exchange) => exchange.answer_with(call, error, message),
            Self::Standing(standing) => standing.answer_with(call, &message),
            Self::Greeting(greeting) if call.close() => greeting.finish(error, message),
            Self::Greeting(_) => {}
        }
    }

    /// The call has no answer.
    pub(super) fn skip(&self) {
        if let Self::Exchange(exchange) = self {
            exchange.skip();
        }
    }

    /// Ends without an answer of the server.
    pub(super) fn abandon(&self, response: Response) {
        match self {
            Self::Exchange(exchange) => exchange.abandon(response),
            Self::Standing(_) => {}
            Self::Greeting(greeting) => greeting.abandon(response),
        }
    }
}
