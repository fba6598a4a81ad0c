//! The changes on all members of a pool, as those of one server.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tinymcp::client::{CallOptions, Caller, Change, Event, Events, Filter};
use tinymcp::host::pool::{MemberState, Pool, Start};
use tinymcp::{Client, Context, Error, FnTool, ProtocolVersion, Server, ToolRegistry, transport};

const LONG: Duration = Duration::from_secs(30);
/// Within this nothing more is told.
const QUIET: Duration = Duration::from_millis(400);

fn server() -> Server {
    Server::builder("growing", "1").tools(ToolRegistry::new()).build().expect("a server")
}

fn join(server: &Server, version: &ProtocolVersion) -> tinymcp::Result<Client> {
    let (near, far) = transport::memory_pair();
    let server = server.clone();
    thread::spawn(move || server.serve(far));
    Client::builder().versions([version.clone()]).open(near)
}

fn grow(server: &Server) {
    let name = format!("tool-{}", server.tools().len());
    let schema = serde_json::json!({"type": "object"});
    let tool = FnTool::new(name, "", schema, |_, _: &Context| "here");
    server.tools().register(tool).expect("registers");
}

#[track_caller]
fn expect(events: &mut Events, change: Change) {
    assert_eq!(events.next_timeout(LONG), Some(Event::new(None, change)));
}

#[track_caller]
fn expect_nothing(events: &mut Events) {
    assert_eq!(events.next_timeout(QUIET), None);
}

fn pool_of(server: &Server, version: ProtocolVersion, size: usize) -> Pool {
    let server = server.clone();
    let builder = Pool::builder().size(size).start(Start::Eagerly).no_health_checks();
    builder.open(move |_| join(&server, &version)).expect("opens")
}

#[test]
fn a_change_that_all_members_tell_of_is_one() {
    for version in [ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_06_18] {
        let server = server();
        let pool = pool_of(&server, version, 3);
        let mut events = pool.events(Filter::new().tools()).expect("listens");
        let mut others = pool.events(Filter::new().tools()).expect("listens");
        for number in 0..3 {
            grow(&server);
            expect(&mut events, Change::ToolsChanged);
            expect_nothing(&mut events);
            assert_eq!(pool.list_tools(&CallOptions::default()).expect("lists").items.len(), number + 1);
        }
        // Nobody took them meanwhile.
        expect(&mut others, Change::ToolsChanged);
        expect_nothing(&mut others);
        drop(events);
        let waits = thread::spawn(move || others.next());
        pool.close(LONG);
        assert_eq!(waits.join().expect("no panic"), None, "it ends with the pool");
    }
}

/// Servers of which each member has one, and the pool.
fn apart(size: usize) -> (Pool, Arc<Mutex<Vec<Server>>>) {
    let made: Arc<Mutex<Vec<Server>>> = Arc::default();
    let keep = Arc::clone(&made);
    let builder = Pool::builder().size(size).start(Start::Eagerly).no_health_checks();
    let pool = builder.open(move |_| {
        let server = server();
        keep.lock().expect("not poisoned").push(server.clone());
        join(&server, &ProtocolVersion::V2026_07_28)
    });
    let pool = pool.expect("opens");
    until_up(&pool, size);
    (pool, made)
}

fn until_up(pool: &Pool, members: usize) {
    let start = Instant::now();
    while pool.members().iter().filter(|member| member.state == MemberState::Ready).count() != members {
        assert!(start.elapsed() < LONG, "{pool:?}");
        thread::yield_now();
    }
}

#[test]
fn what_one_member_tells_is_told() {
    let (pool, made) = apart(2);
    let made = |at: usize| made.lock().expect("not poisoned")[at].clone();
    let mut events = pool.events(Filter::new().tools()).expect("listens");
    for at in [0, 1, 1, 0] {
        grow(&made(at));
        expect(&mut events, Change::ToolsChanged);
        expect_nothing(&mut events);
    }
    // Also one that comes later; when it is listened to nobody says.
    let third = pool.add().expect("room");
    until_up(&pool, 3);
    let start = Instant::now();
    while events.next_timeout(QUIET).is_none() {
        assert!(start.elapsed() < LONG, "it is never heard");
        grow(&made(2));
    }
    while events.next_timeout(QUIET).is_some() {}
    pool.remove(third, LONG).expect("closed");
    expect_nothing(&mut events);
    grow(&made(0));
    expect(&mut events, Change::ToolsChanged);
}

#[test]
fn what_may_have_been_missed_counts_as_changed() {
    let (pool, made) = apart(1);
    let mut events = pool.events(Filter::new().tools().resource("a:b")).expect("listens");
    expect_nothing(&mut events);
    let first = made.lock().expect("not poisoned")[0].clone();
    first.handle().stop();
    // That it is gone may be told first, if that is seen before another is there.
    let told: Vec<_> = std::iter::from_fn(|| events.next_timeout(LONG).map(|event| event.change))
        .filter(|change| *change != Change::Interrupted)
        .take(2)
        .collect();
    assert_eq!(told, [Change::ToolsChanged, Change::ResourceUpdated("a:b".into())]);
    expect_nothing(&mut events);
    let second = made.lock().expect("not poisoned")[1].clone();
    grow(&second);
    expect(&mut events, Change::ToolsChanged);
}

#[test]
fn listeners_have_a_limit() {
    let pool = pool_of(&server(), ProtocolVersion::V2026_07_28, 1);
    let error = pool.events(Filter::new()).map(drop).expect_err("nothing is asked for");
    assert!(matches!(error, Error::InvalidUse(_)), "{error}");
    let open: Vec<_> = (0..64).map(|_| pool.events(Filter::new().tools()).expect("room")).collect();
    let error = pool.events(Filter::new().tools()).map(drop).expect_err("too many");
    assert!(matches!(error, Error::Busy(_)), "{error}");
    drop(open);
    // The thread that has started the member may just be at one of them.
    let start = Instant::now();
    while let Err(error) = pool.events(Filter::new().tools()) {
        assert!(matches!(error, Error::Busy(_)) && start.elapsed() < LONG, "{error}");
    }
}
