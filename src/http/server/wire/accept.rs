//! Accepts connections.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::common::ACCEPT;
use super::common::Common;
use super::connection::Connection;
use super::parse::Refusal;
use super::readiness::{Source, Wants};

/// As many are accepted in one go; other news than those of new connections have their turn, too.
const AT_ONCE: usize = 64;

/// So many connections beyond the limit are told that they are, until they close. Further ones are just closed.
const TURNED_AWAY: usize = 64;

/// When the operating system has no room for a connection, it is asked again after this, or when one closes.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts the connections that wait for it.
pub(super) fn accept(common: &Arc<Common>) {
    let Some(Source::Listener(listener)) = common.listener() else { return };
    for _ in 0..AT_ONCE {
        match listener.accept() {
            Ok((socket, peer)) => welcome(common, socket, peer),
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                common.readiness.rearm(ACCEPT, Wants { read: true, write: false });
                return;
            }
            // It went before it was accepted.
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
            Err(e) => {
                if common.accept_later(common.clock.after(PAUSE)) {
                    log::warn!("no more connections can be accepted for now: {e}");
                }
                return;
            }
        }
    }
    common.accept_again();
}

fn welcome(common: &Arc<Common>, socket: TcpStream, peer: SocketAddr) {
    let prepared = socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true));
    if let Err(e) = prepared {
        log::debug!("a connection broke while it was accepted: {e}");
        return;
    }
    let limit = common.limits.connections;
    let socket = Arc::new(socket);
    let now = common.clock.now();
    let mut has_room = true;
    let mut place =
        common.registry.insert(limit, now, |key| Connection::new(key, Arc::clone(&socket), peer, common));
    if place.is_none() {
        has_room = false;
        let make = |key| Connection::to_turn_away(key, Arc::clone(&socket), peer, common);
        place = common.registry.insert(limit.saturating_add(TURNED_AWAY), now, make);
    }
    let Some((connection, is_next)) = place else { return };
    if is_next {
        common.readiness.wake();
    }
    if let Err(e) = common.readiness.register(&Source::Stream(Arc::clone(&socket)), connection.key) {
        log::warn!("a connection is closed, as there is no room to wait for it: {e}");
        connection.stop(true);
        return;
    }
    drop(socket);
    connection.is_registered();
    if !has_room {
        let mut response = Refusal::new(503, format!("{limit} connections are open")).into_response();
        response.headers.push(("Retry-After", "1".to_owned()));
        connection.turn_away(response);
    }
}
