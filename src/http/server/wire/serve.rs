//! What a thread of the [crew](super::crew) does: it waits for news, reads, serves.

use std::io::{ErrorKind, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::accept::accept;
use super::common::{ACCEPT, Common};
use super::connection::{Connection, Reading};
use super::crew::{Crew, Job, Turn};
use super::inbox::{Progress, Refused, Whole};
use super::readiness::{Event, WAKE};
use super::registry::LISTENER;
use super::{Reply, Request, Response, Service};

/// A thread reads so much at once.
const READ: usize = 32 * 1024;

/// A request and whom to answer it.
struct Task<A> {
    request: Request<A>,
    reply: Reply,
}

/// The work of a thread, until it is not needed any more or the crew ends.
pub(super) fn work<S: Service>(service: &Arc<S>, common: &Arc<Common>, crew: &Arc<Crew>) {
    let mut room = vec![0; READ];
    loop {
        match crew.wait() {
            Ok(Some(event)) => attend(service, common, crew, event, &mut room),
            Ok(None) => {}
            Err(e) => {
                log::error!("connections have no more news: {e}");
                crew.fail(e);
            }
        }
        if crew.has_ended() {
            return crew.ends();
        }
        let now = common.clock.now();
        if common.registry.is_due(now) {
            look(common, now);
        }
        if !crew.go_on() {
            return;
        }
    }
}

/// Looks at the connections whose time may be over.
fn look(common: &Arc<Common>, now: u64) {
    for (place, connection) in common.registry.due(now) {
        if place == LISTENER {
            common.room_was_made();
        } else {
            let next = connection.map_or(now, |connection| connection.look(now));
            common.registry.looked_at(place, now, next);
        }
    }
}

fn attend<S: Service>(
    service: &Arc<S>,
    common: &Arc<Common>,
    crew: &Arc<Crew>,
    event: Event,
    room: &mut [u8],
) {
    let task = match event.key {
        WAKE => return finish(crew, crew.take_waiting()),
        ACCEPT => return accept(common),
        key => {
            let Some(connection) = common.registry.get(key) else { return };
            connection.hear(event).and_then(|reading| read(&**service, crew, &connection, reading, room))
        }
    };
    let Some(task) = task else { return };
    let mut turn = crew.take_place();
    if !matches!(turn, Turn::Now) {
        drop(turn); // the service is asked without the lock
        if guarded("is_quick", || service.is_quick(&task.request)) == Some(true) {
            return serve(&**service, task);
        }
        turn = crew.take_place();
    }
    match turn {
        Turn::Now => {
            serve(&**service, task);
            finish(crew, crew.next_or_leave());
        }
        Turn::Later(queue) => {
            let service = Arc::clone(service);
            let mut held = common.held();
            held.add(task.request.body.len());
            queue.push(Box::new(move || {
                drop(held);
                serve(&*service, task);
            }));
        }
        Turn::Never(limit) => {
            let Task { reply, .. } = task;
            match guarded("busy", || service.busy(limit)) {
                Some(response) => reply.answer(response),
                None => drop(reply),
            }
        }
    }
}

/// Serves what has waited, until nothing does.
fn finish(crew: &Arc<Crew>, mut next: Option<Job>) {
    while let Some(job) = next {
        job();
        next = crew.next_or_leave();
    }
}

fn serve<S: Service>(service: &S, Task { request, reply }: Task<S::Admitted>) {
    // A reply that goes down with the panic answers for it.
    guarded("serve", || service.serve(request, reply));
}

/// A panic of the service costs a request, and no thread.
fn guarded<R>(what: &str, call: impl FnOnce() -> R) -> Option<R> {
    let result = catch_unwind(AssertUnwindSafe(call));
    if result.is_err() {
        log::error!("the service panicked in `{what}`");
    }
    result.ok()
}

/// Reads what there is, until it is a request or there is no more.
fn read<S: Service>(
    service: &S,
    crew: &Arc<Crew>,
    connection: &Arc<Connection>,
    mut reading: Reading,
    room: &mut [u8],
) -> Option<Task<S::Admitted>> {
    let limits = &connection.common.limits;
    // What lies there already may be enough.
    let mut is_first = reading.inbox.has_input();
    loop {
        let mut length = 0;
        if !std::mem::take(&mut is_first) && reading.may_read {
            match (&*reading.socket).read(room) {
                Ok(0) => {
                    connection.ended(reading.inbox);
                    return None;
                }
                Ok(n) => length = n,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => {
                    log::debug!("a connection broke while it was read from: {e}");
                    connection.ended(reading.inbox);
                    return None;
                }
            }
            // Less than there was room for was all, and there is an edge for what comes after it. Not for an end that was told.
            reading.may_read = length == room.len() || reading.has_ended && length > 0;
        }
        let admit = |head: &super::Head| {
            if service.admits_at_length() {
                crew.leaves_the_news();
            }
            guarded("admit", || service.admit(head)).unwrap_or_else(|| Err(Response::new(500)))
        };
        match reading.inbox.take(&room[..length], connection.peer, limits, admit) {
            Ok(Progress::Whole(Whole { head, manner, body, admitted })) => {
                let turn = connection.begin(reading.inbox, reading.may_read)?;
                let reply = Reply::new(Arc::clone(connection), turn, manner);
                return Some(Task { request: Request { head, body, admitted }, reply });
            }
            Ok(Progress::More { expects_continue }) => {
                if expects_continue && !reading.may_read {
                    connection.ask_for_body();
                }
                if !reading.may_read {
                    reading = connection.await_more(reading.inbox)?;
                }
            }
            Err(Refused { mut response, is_own, mut manner }) => {
                if is_own {
                    response = service.put(response);
                }
                log::debug!("a request of {} was refused: {}", connection.peer, response.status);
                manner.keeps_alive = false;
                let turn = connection.begin(reading.inbox, true)?;
                connection.answer(turn, manner, response);
                return None;
            }
        }
    }
}
