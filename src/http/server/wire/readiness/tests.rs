//! Both ways of waiting, by the same table.

use std::io::{Read, Write};
use std::net::Shutdown;

use super::*;

const LONG: Option<Duration> = Some(Duration::from_secs(20));
const NOT: Option<Duration> = Some(Duration::from_millis(20));

/// A pair of connected sockets; the first is ours and does not wait.
fn pair() -> (Arc<TcpStream>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let far = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    let (near, _) = listener.accept().expect("it connects");
    near.set_nonblocking(true).expect("set");
    (Arc::new(near), far)
}

fn drain(socket: &TcpStream) -> usize {
    let (mut room, mut all) = ([0; 4096], 0);
    while let Ok(n @ 1..) = (&*socket).read(&mut room) {
        all += n;
    }
    all
}

macro_rules! table {
    ($module:ident, $readiness:ty) => {
        mod $module {
            use super::*;

            type Tested = $readiness;

            /// The next news of `key` that is so; those before it are said to be over.
            fn until(tested: &Tested, key: Key, is_so: impl Fn(Event) -> bool) -> Event {
                loop {
                    let event = tested.wait(LONG).expect("it waits").expect("news in time");
                    if event.key == key && is_so(event) {
                        return event;
                    }
                    tested.rearm(event.key, Wants { read: true, write: false });
                }
            }

            /// What is told already is not told again.
            fn is_quiet(tested: &Tested) {
                while let Some(event) = tested.wait(NOT).expect("it waits") {
                    assert!(event.is_writable && !event.is_readable && !event.is_broken, "{event:?}");
                }
            }

            #[test]
            fn bytes_room_and_ends_are_told_once() {
                let tested = Tested::new().expect("handles");
                let (near, mut far) = pair();
                tested.register(&Source::Stream(Arc::clone(&near)), 7).expect("room");
                is_quiet(&tested);
                for _ in 0..3 {
                    far.write_all(b"hello").expect("sent");
                    assert!(!until(&tested, 7, |event| event.is_readable).has_ended);
                    is_quiet(&tested);
                    assert_eq!(drain(&near), 5);
                    tested.rearm(7, Wants { read: true, write: false });
                    is_quiet(&tested);
                }
                // Until there is no room, and then until there is.
                let mut sent = 0;
                while let Ok(n) = (&*near).write(&[0; 64 * 1024]) {
                    sent += n;
                }
                tested.rearm(7, Wants { read: true, write: true });
                assert_eq!(tested.wait(NOT).expect("it waits"), None);
                let mut room = vec![0; sent];
                far.read_exact(&mut room).expect("received");
                until(&tested, 7, |event| event.is_writable);
                tested.rearm(7, Wants { read: true, write: false });
                far.shutdown(Shutdown::Write).expect("open");
                until(&tested, 7, |event| event.is_readable && event.has_ended);
                is_quiet(&tested);
                tested.forget(7);
            }

            #[test]
            fn what_came_before_and_what_is_poked_is_told() {
                let tested = Tested::new().expect("handles");
                let (near, mut far) = pair();
                far.write_all(b"early").expect("sent");
                let source = Source::Stream(Arc::clone(&near));
                tested.register(&source, 1 << 40).expect("room");
                until(&tested, 1 << 40, |event| event.is_readable);
                is_quiet(&tested);
                tested.poke(&source, 1 << 40);
                until(&tested, 1 << 40, |event| event.is_readable && event.is_writable);
                is_quiet(&tested);
                tested.forget(1 << 40);
                drop(source);
                drop(near);
                assert_eq!(far.read(&mut [0; 9]).map_err(|e| e.kind()).unwrap_or(0), 0);
            }

            #[test]
            fn a_broken_connection_is_told() {
                let tested = Tested::new().expect("handles");
                let (near, far) = pair();
                (&*near).write_all(b"never read").expect("sent");
                tested.register(&Source::Stream(Arc::clone(&near)), 3).expect("room");
                // Closed with bytes that nobody read, it is reset.
                drop(far);
                until(&tested, 3, |event| event.is_broken);
            }

            #[test]
            fn connections_to_accept_are_told() {
                let tested = Tested::new().expect("handles");
                let listener = Arc::new(TcpListener::bind("127.0.0.1:0").expect("a port"));
                listener.set_nonblocking(true).expect("set");
                tested.register(&Source::Listener(Arc::clone(&listener)), 2).expect("room");
                for _ in 0..3 {
                    let _far = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
                    until(&tested, 2, |event| event.is_readable);
                    is_quiet(&tested);
                    listener.accept().expect("it connects");
                    tested.rearm(2, Wants { read: true, write: false });
                }
            }

            #[test]
            fn a_wake_up_is_for_one_thread_and_is_not_lost() {
                let tested = Tested::new().expect("handles");
                tested.wake();
                assert_eq!(tested.wait(LONG).expect("it waits").map(|event| event.key), Some(WAKE));
                assert_eq!(tested.wait(NOT).expect("it waits"), None);
                assert_eq!(tested.wait(Some(Duration::ZERO)).expect("it waits"), None);
                let (tested, ends) = (&tested, crossbeam_channel::unbounded());
                std::thread::scope(|scope| {
                    for _ in 0..4 {
                        let end = ends.0.clone();
                        scope.spawn(move || {
                            let event = tested.wait(LONG).expect("it waits");
                            let _ = end.send(event.map(|event| event.key));
                        });
                    }
                    for _ in 0..4 {
                        tested.wake();
                        let woken = ends.1.recv_timeout(Duration::from_secs(20)).expect("woken");
                        assert_eq!(woken, Some(WAKE));
                    }
                });
            }

            #[test]
            fn news_of_many_are_shared_by_those_who_wait() {
                const EACH: u64 = 200;
                let tested = Tested::new().expect("handles");
                let (near, mut far): (Vec<_>, Vec<_>) = (0..8).map(|_| pair()).unzip();
                for (key, near) in (10..).zip(&near) {
                    tested.register(&Source::Stream(Arc::clone(near)), key).expect("room");
                }
                let total = std::sync::atomic::AtomicU64::new(0);
                let (tested, near, total) = (&tested, &near, &total);
                std::thread::scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(move || {
                            loop {
                                let event = tested.wait(LONG).expect("it waits").expect("news in time");
                                if event.key == WAKE {
                                    return tested.wake();
                                }
                                let read = drain(&near[(event.key - 10) as usize]) as u64;
                                tested.rearm(event.key, Wants { read: true, write: false });
                                let order = std::sync::atomic::Ordering::SeqCst;
                                if total.fetch_add(read, order) + read == EACH * 8 {
                                    tested.wake();
                                }
                            }
                        });
                    }
                    for _ in 0..EACH {
                        far.iter_mut().for_each(|far| far.write_all(b"x").expect("sent"));
                    }
                });
                assert_eq!(total.load(std::sync::atomic::Ordering::SeqCst), EACH * 8);
            }
        }
    };
}

#[cfg(target_os = "linux")]
table!(by_epoll, super::super::epoll::Readiness);
table!(by_poll, super::super::poll::Readiness);
