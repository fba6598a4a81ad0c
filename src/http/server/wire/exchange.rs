//! How a [`Connection`] answers: as a whole, or event by event. Any thread may call this, and none of it waits.
//!
//! `turn` names the request: what is said to one that is over has no effect.

use std::net::Shutdown;

use super::connection::{Connection, Gone, Phase, Rest, State};
use super::parse::Manner;
use super::{NotWritten, Response, text};
use crate::sync::caught;

impl Connection {
    /// Answers as a whole.
    pub(super) fn answer(&self, turn: u32, manner: Manner, mut response: Response) {
        let manner = Manner { keeps_alive: manner.keeps_alive && !self.common.is_stopping(), ..manner };
        text::with_text(|text| {
            text::response_head(text, &response, manner);
            let mut body = None;
            if manner.is_head {
                // The head says how long it would be.
            } else if response.body.len() <= text::SMALL_BODY {
                text.extend_from_slice(&response.body);
            } else {
                body = Some(std::mem::take(&mut response.body));
            }
            let mut state = self.lock();
            if state.turn == turn && state.phase == Phase::Serving {
                let rest = self.finish_by(&mut state, manner, text, body);
                drop(state);
                rest.settle();
            }
        });
    }

    /// Nobody will answer. A peer that has gone is not told: it was given up for that.
    pub(super) fn unanswered(&self, turn: u32, manner: Manner) {
        let mut state = self.lock();
        if state.turn == turn && state.is_open && (state.has_ended || state.is_broken) {
            let rest = self.close(&mut state);
            drop(state);
            return rest.settle();
        }
        drop(state);
        log::error!("a request was not answered");
        self.answer(turn, manner, Response::new(500));
    }

    /// Begins an answer that goes on.
    pub(super) fn open_stream(
        &self,
        turn: u32,
        manner: Manner,
        headers: &[(&'static str, String)],
        first: &[u8],
    ) -> Manner {
        // Only the end of the connection tells a client of HTTP/1.0 that the stream has ended.
        let keeps_alive = manner.keeps_alive && !manner.is_http_1_0 && !self.common.is_stopping();
        let manner = Manner { keeps_alive, ..manner };
        text::with_text(|text| {
            text::stream_head(text, headers, manner);
            if !manner.is_head {
                text::events(text, first, manner);
            }
            let mut state = self.lock();
            if state.turn != turn || state.phase != Phase::Serving {
                return;
            }
            if manner.is_head {
                let rest = self.finish_by(&mut state, manner, text, None);
                drop(state);
                rest.settle();
                return;
            }
            state.phase = Phase::Streaming(manner);
            self.write(&mut state, text, None);
        });
        manner
    }

    /// Sends whole events, unless `limit` bytes wait already.
    ///
    /// # Errors
    /// `Full`, `Gone`.
    pub(super) fn send(
        &self,
        turn: u32,
        manner: Manner,
        events: &[u8],
        limit: usize,
    ) -> Result<(), NotWritten> {
        text::with_text(|text| {
            text::events(text, events, manner);
            let mut state = self.lock();
            let is_on = state.turn == turn && matches!(state.phase, Phase::Streaming(_));
            if !is_on || state.has_ended || state.is_broken {
                return Err(NotWritten::Gone);
            }
            if state.out.bytes() >= limit {
                return Err(NotWritten::Full(limit));
            }
            if self.write(&mut state, text, None) { Ok(()) } else { Err(NotWritten::Gone) }
        })
    }

    /// Sends the last events.
    pub(super) fn finish(&self, turn: u32, manner: Manner, events: &[u8]) {
        text::with_text(|text| {
            text::events(text, events, manner);
            if !manner.is_http_1_0 {
                text.extend_from_slice(text::LAST_CHUNK);
            }
            let mut state = self.lock();
            if state.turn == turn && matches!(state.phase, Phase::Streaming(_)) {
                let rest = self.finish_by(&mut state, manner, text, None);
                drop(state);
                rest.settle();
            }
        });
    }

    /// The stream will not be finished: closes the connection, by which its client sees that.
    pub(super) fn abandon(&self, turn: u32) {
        let mut state = self.lock();
        if state.turn == turn && matches!(state.phase, Phase::Streaming(_)) {
            let mut rest = self.close(&mut state);
            // Whoever gave the stream up need not be told.
            rest.callback = rest.gone.take();
            drop(state);
            rest.settle();
        }
    }

    /// Has `gone` called when the peer goes before the answer is written.
    pub(super) fn when_gone(&self, turn: u32, gone: Gone) {
        let mut state = self.lock();
        let is_gone = state.has_ended || state.is_broken;
        if state.turn != turn || !state.is_open {
            drop(state);
            drop(gone);
        } else if is_gone {
            drop(state);
            caught(gone);
        } else {
            let replaced = state.gone.replace(gone);
            drop(state);
            drop(replaced);
        }
    }

    /// Something to see on a stream that is silent.
    pub(super) fn keep_alive(&self, state: &mut State, manner: Manner) {
        text::with_text(|text| {
            text::events(text, text::KEEP_ALIVE, manner);
            self.write(state, text, None);
        });
    }

    fn finish_by(&self, state: &mut State, manner: Manner, text: &[u8], body: Option<Vec<u8>>) -> Rest {
        state.closes |= !manner.keeps_alive;
        if !self.write(state, text, body) {
            return Rest::default();
        }
        if state.out.is_empty() {
            return self.end(state);
        }
        state.phase = Phase::Flushing;
        Rest::default()
    }

    /// Writes what there is room for, and keeps the rest; `false`: the connection is broken. Then the crew, which is told,
    /// closes it and calls who wants to know: the calling thread may be in the midst of something.
    fn write(&self, state: &mut State, text: &[u8], body: Option<Vec<u8>>) -> bool {
        let State { socket: Some(socket), out, .. } = &mut *state else { return false };
        let waited = !out.is_empty();
        let mut written = out.write(&mut &**socket, text);
        if let (Ok(()), Some(body)) = (&written, body) {
            written = out.write_owned(&mut &**socket, body);
        }
        if let Err(e) = written {
            log::debug!("a connection broke while it was written to: {e}");
            // A socket that is full is ready for nothing, so that nobody would hear of it. One that is over already stays so.
            let _ = socket.shutdown(Shutdown::Both);
            state.is_broken = true;
            state.deadline = 0;
            self.poke(state);
            return false;
        }
        // More for a peer that does not read gives it no more time.
        if !waited {
            self.wrote(state);
        }
        self.rearm(state);
        true
    }
}
