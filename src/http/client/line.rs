//! [`Line`]: what the parts of a connection share, and the ways frames go: out through exchanges, in through one channel.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded, select, unbounded};
use ureq::http::HeaderValue;

use super::agents::Agents;
use super::exchange::{Exchange, Exchanges, Purpose};
use super::learned::Learned;
use super::outgoing::{Outgoing, What};
use super::settings::Settings;
use super::wire::Trouble;
use crate::method::Method;
use crate::sync::{CancelToken, Mutex, Refused, ThreadPool, lock};
use crate::transport::RequestFailure;
use crate::url::Url;

/// So many messages wait to be sent.
const MAX_WAITING: usize = 4096;

/// So many notifications and responses are under way at a time.
const MAX_NOTES: usize = 8;

/// So many streams stay open at a time: those of `subscriptions/listen`, and that of a Legacy session.
const MAX_STREAMS: usize = 66;

/// So many frames wait for the connection's reader.
const MAX_FRAMES: usize = 64;

/// What the reader is given.
pub(super) enum Item {
    Frame(Vec<u8>),
    /// The head of what was too long.
    TooLong(Vec<u8>),
    Failed(RequestFailure),
    End,
}

/// What the reader takes from.
pub(super) struct Outlet {
    pub(super) items: Receiver<Item>,
    pub(super) rejected: Receiver<RequestFailure>,
}

/// What was settled with a Legacy server.
#[derive(Default)]
pub(super) struct Legacy {
    pub(super) session: Option<HeaderValue>,
    pub(super) version: Option<HeaderValue>,
    /// Where messages go in the HTTP+SSE of 2024-11-05; `None` in Streamable HTTP.
    pub(super) endpoint: Option<Url>,
}

/// A message on its way.
struct Parcel {
    outgoing: Box<Outgoing>,
    exchange: Arc<Exchange>,
}

/// What waits for its turn: behind a notification that the server has not accepted yet.
#[derive(Default)]
struct Queue {
    is_held: bool,
    waiting: VecDeque<Parcel>,
}

/// The threads. End: after 10 s without work, and with the connection; one that is stuck then, in looking up a name or in
/// connecting, is left to itself and reported.
struct Threads {
    /// `mcp-http`: an exchange each, until its answer. Bound: the setting `max_calls`; further ones wait.
    calls: ThreadPool,
    /// `mcp-http-note`: so that an answer to the server gets through while calls wait for it. Bound: [`MAX_NOTES`].
    notes: ThreadPool,
    /// `mcp-http-stream`: a stream each. Bound: [`MAX_STREAMS`].
    streams: ThreadPool,
}

/// A connection: its settings, state, exchanges and threads. Owner: its link, its writer, and each exchange while it lasts.
pub(super) struct Line {
    pub(super) settings: Settings,
    pub(super) max_frame_bytes: usize,
    pub(super) agents: Agents,
    pub(super) learned: Arc<Learned>,
    pub(super) exchanges: Exchanges,
    legacy: Mutex<Legacy>,
    /// Bound: [`MAX_FRAMES`]; who has more waits. End: with the reader.
    inbox: Sender<Item>,
    /// Requests that were not even begun. Bound: the engine's open requests, each of which is here once at most, so that
    /// whoever writes never waits; it may be the thread that reads. End: with the reader.
    rejects: Sender<RequestFailure>,
    /// Fires at the end.
    pub(super) stop: CancelToken,
    queue: Mutex<Queue>,
    threads: Mutex<Option<Threads>>,
    streams: AtomicUsize,
}

impl Line {
    /// # Errors
    /// When the settings cannot be used.
    pub(super) fn new(
        settings: Settings,
        learned: Arc<Learned>,
        max_frame_bytes: usize,
    ) -> Result<(Arc<Self>, Outlet), String> {
        let agents = Agents::new(settings.agent_config()?);
        let (inbox, items) = bounded(MAX_FRAMES);
        let (rejects, rejected) = unbounded();
        let threads = Threads {
            calls: ThreadPool::new("mcp-http", settings.max_calls, MAX_WAITING),
            notes: ThreadPool::new("mcp-http-note", MAX_NOTES, MAX_WAITING),
            streams: ThreadPool::new("mcp-http-stream", MAX_STREAMS, MAX_STREAMS),
        };
        let line = Self {
            settings,
            max_frame_bytes,
            agents,
            learned,
            exchanges: Exchanges::default(),
            legacy: Mutex::default(),
            inbox,
            rejects,
            stop: CancelToken::new(),
            queue: Mutex::default(),
            threads: Mutex::new(Some(threads)),
            streams: AtomicUsize::new(0),
        };
        Ok((Arc::new(line), Outlet { items, rejected }))
    }

    /// Looks at or changes what was settled with a Legacy server. `act` must be short.
    pub(super) fn legacy<T>(&self, act: impl FnOnce(&mut Legacy) -> T) -> T {
        act(&mut lock(&self.legacy))
    }

    /// Hands something to the reader. Waits for room, unless the end comes first.
    pub(super) fn deliver(&self, item: Item) {
        let item = match self.inbox.try_send(item) {
            Err(TrySendError::Full(item)) => item,
            Ok(()) | Err(TrySendError::Disconnected(_)) => return,
        };
        let stop = self.stop.receiver();
        select! {
            send(self.inbox, item) -> _ => {}
            recv(stop) -> _ => {}
        }
    }

    /// The request of `exchange` has failed. Nobody is told who has given it up.
    pub(super) fn fail(&self, outgoing: &Outgoing, exchange: &Exchange, trouble: Trouble) {
        if let Some(failure) = self.failure(outgoing, exchange, trouble) {
            self.deliver(Item::Failed(failure));
        }
    }

    /// What is to be told of a failure. What has no answer goes to the log.
    fn failure(&self, outgoing: &Outgoing, exchange: &Exchange, trouble: Trouble) -> Option<RequestFailure> {
        let (url, problem) = (self.settings.name(), trouble.problem);
        match outgoing.id() {
            _ if exchange.is_given_up() => None,
            Some(id) => {
                let failure = RequestFailure::new(id.clone(), trouble.kind, problem);
                Some(match trouble.status {
                    Some(status) => failure.with_status(status),
                    None => failure,
                })
            }
            None => {
                let what = Some(outgoing.method.as_str()).filter(|method| !method.is_empty());
                log::warn!("{} was not delivered to {url}: {problem}", what.unwrap_or("a response"));
                None
            }
        }
    }

    /// Sends a frame of ours, soon. Never waits for the server.
    pub(super) fn accept(self: &Arc<Self>, outgoing: Outgoing) {
        self.exchanges.sweep();
        let mut is_modern = outgoing.version.is_some();
        if let What::Cancellation(id) = &outgoing.what {
            let open = self.exchanges.find(id);
            is_modern = open.as_ref().is_some_and(|exchange| exchange.is_modern);
            match open {
                // spec: 2026-07-28 basic/transports/streamable-http#cancellation (closing the stream is the cancellation)
                Some(exchange) if is_modern => return exchange.give_up(),
                Some(exchange) if self.take_waiting(&exchange) => return exchange.give_up(),
                Some(_) => {}
                // In the HTTP+SSE of 2024-11-05 an exchange ends before its answer comes.
                None if self.legacy(|legacy| legacy.endpoint.is_some()) => {}
                None => return log::debug!("request {id} has ended and is not cancelled"),
            }
        }
        let purpose = if outgoing.id().is_some() { Purpose::Call } else { Purpose::Note };
        let begun = self.exchanges.begin(purpose, outgoing.id().cloned(), is_modern);
        let Some(exchange) = begun else { return };
        let parcel = Parcel { outgoing: Box::new(outgoing), exchange };
        let refused = {
            let mut queue = lock(&self.queue);
            if !queue.is_held && queue.waiting.is_empty() {
                let is_ordered = parcel.outgoing.is_ordered();
                let started = self.start(parcel);
                queue.is_held = is_ordered && started.is_ok();
                started
            } else if queue.waiting.len() < MAX_WAITING {
                queue.waiting.push_back(parcel);
                return;
            } else {
                Err((parcel, format!("{MAX_WAITING} messages wait to be sent")))
            }
        };
        if let Err((parcel, problem)) = refused {
            self.refuse(&parcel, problem);
        }
    }

    /// Takes the request of `exchange` out of the queue, if it is still there: nothing of it is sent.
    fn take_waiting(&self, exchange: &Arc<Exchange>) -> bool {
        let taken = {
            let mut queue = lock(&self.queue);
            let at = queue.waiting.iter().position(|parcel| Arc::ptr_eq(&parcel.exchange, exchange));
            at.and_then(|at| queue.waiting.remove(at))
        };
        taken.is_some_and(|parcel| {
            self.exchanges.end(&parcel.exchange);
            true
        })
    }

    fn refuse(&self, parcel: &Parcel, problem: String) {
        if let Some(failure) = self.failure(&parcel.outgoing, &parcel.exchange, Trouble::not_sent(problem)) {
            // Disconnected: nobody reads any more.
            let _ = self.rejects.send(failure);
        }
        self.exchanges.end(&parcel.exchange);
    }

    /// The server has accepted the notification that held back others, or never will.
    fn go_on(self: &Arc<Self>) {
        loop {
            let refused = {
                let mut queue = lock(&self.queue);
                queue.is_held = false;
                loop {
                    let Some(parcel) = queue.waiting.pop_front() else { return };
                    queue.is_held = parcel.outgoing.is_ordered();
                    match self.start(parcel) {
                        Err(refused) => break refused,
                        Ok(()) if queue.is_held => return,
                        Ok(()) => {}
                    }
                }
            };
            self.refuse(&refused.0, refused.1);
        }
    }

    /// Gives `parcel` to a thread. Never waits.
    fn start(self: &Arc<Self>, parcel: Parcel) -> Result<(), (Parcel, String)> {
        let mut threads = lock(&self.threads);
        let Some(threads) = threads.as_mut() else {
            return Err((parcel, "the connection is closed".to_owned()));
        };
        let is_stream = parcel.outgoing.is(Method::SubscriptionsListen);
        let pool = match parcel.outgoing.what {
            What::Request(_) if is_stream => &threads.streams,
            What::Request(_) => &threads.calls,
            _ => &threads.notes,
        };
        if is_stream && !self.begin_stream() {
            return Err((parcel, format!("{MAX_STREAMS} streams are open")));
        }
        // A job that is refused is dropped, and with it what it holds.
        let place = Arc::new(Mutex::new(Some(parcel)));
        let (line, mine) = (Arc::clone(self), Arc::clone(&place));
        let given = pool.execute(move |_| {
            let parcel = lock(&mine).take();
            if let Some(parcel) = parcel {
                line.work(parcel);
            }
            if is_stream {
                line.end_stream();
            }
        });
        let Err(refused) = given else { return Ok(()) };
        if is_stream {
            self.end_stream();
        }
        let parcel = lock(&place).take();
        match parcel {
            Some(parcel) => Err((parcel, told(&refused))),
            None => Ok(()),
        }
    }

    /// On a thread of its pool.
    fn work(self: &Arc<Self>, parcel: Parcel) {
        let Parcel { outgoing, exchange } = parcel;
        let act = || if exchange.is_given_up() { Ok(()) } else { self.exchange(&exchange, &outgoing) };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        let outcome = outcome.unwrap_or_else(|_| Err(Trouble::unknown("the thread that sent it panicked")));
        if let Err(trouble) = outcome {
            self.fail(&outgoing, &exchange, trouble);
        }
        self.exchanges.end(&exchange);
        if outgoing.is_ordered() {
            self.go_on();
        }
    }

    /// Runs `stream` on a thread for streams.
    pub(super) fn run_stream(
        self: &Arc<Self>,
        stream: impl FnOnce(&Arc<Self>) + Send + 'static,
    ) -> Result<(), String> {
        let mut threads = lock(&self.threads);
        let Some(threads) = threads.as_mut() else { return Err("the connection is closed".to_owned()) };
        if !self.begin_stream() {
            return Err(format!("{MAX_STREAMS} streams are open"));
        }
        let line = Arc::clone(self);
        let given = threads.streams.execute(move |_| {
            stream(&line);
            line.end_stream();
        });
        given.map_err(|refused| {
            self.end_stream();
            told(&refused)
        })
    }

    fn begin_stream(&self) -> bool {
        self.streams
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n < MAX_STREAMS).then_some(n + 1))
            .is_ok()
    }

    fn end_stream(&self) {
        self.streams.fetch_sub(1, Ordering::SeqCst);
    }

    /// Ends every exchange; what waits is not sent.
    pub(super) fn hang_up(&self) {
        self.stop.cancel("closed");
        self.exchanges.close();
        let waiting = std::mem::take(&mut lock(&self.queue).waiting);
        drop(waiting);
        self.agents.clear();
    }

    /// Waits a while for the threads, after [`hang_up`](Self::hang_up).
    pub(super) fn join(&self, grace: std::time::Duration) {
        let threads = lock(&self.threads).take();
        if let Some(Threads { calls, notes, streams }) = threads {
            let deadline = crate::sync::Deadline::after(Some(grace));
            for pool in [&streams, &notes, &calls] {
                pool.close(deadline.remaining().unwrap_or_default());
            }
        }
        self.agents.clear();
    }
}

fn told(refused: &Refused) -> String {
    match refused {
        Refused::Full(waiting) => format!("{waiting} messages wait to be sent"),
        Refused::NoThread(e) => format!("no thread to send it: {e}"),
        Refused::Closed => "the connection is closed".to_owned(),
    }
}
