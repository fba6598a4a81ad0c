//! Streams of changes that break off, or do not get through, while the connection goes on.

#[path = "support/failing.rs"]
mod failing;

use std::sync::mpsc::{TryRecvError, channel};
use std::time::Duration;

use failing::{Asked, Far, LONG, during, modern};
use serde_json::{Value, json};
use tinymcp::client::{Change, Changes, ChangesEnd, ClientBuilder, Filter, Timeouts};
use tinymcp::transport::FailureKind::{NotSent, OutcomeUnknown};
use tinymcp::{Client, Error};

const LISTEN: &str = "subscriptions/listen";

fn quick(reopen: Duration) -> ClientBuilder {
    Client::builder().timeouts(Timeouts::default().with_reopen(reopen))
}

fn about(asked: &Asked) -> Value {
    json!({"io.modelcontextprotocol/subscriptionId": asked.id})
}

fn acknowledge(far: &Far, asked: &Asked) {
    let params = json!({"_meta": about(asked), "notifications": asked.params["notifications"]});
    far.notify("notifications/subscriptions/acknowledged", params);
}

fn changed(far: &Far, asked: &Asked) {
    far.notify("notifications/tools/list_changed", json!({"_meta": about(asked)}));
}

#[track_caller]
fn listening(client: &Client, far: &Far) -> (Changes, Asked) {
    let mut asked = None;
    let changes = during(
        || client.listen(Filter::new().tools()),
        || {
            let listen = far.expect(LISTEN);
            acknowledge(far, &listen);
            asked = Some(listen);
        },
    );
    (changes.expect("opens"), asked.expect("asked"))
}

#[test]
fn a_stream_that_breaks_off_is_opened_again_at_once_and_then_with_pauses() {
    // With pauses that nobody here waits for.
    let (client, far) = modern(quick(Duration::from_secs(3600)));
    let (mut changes, first) = listening(&client, &far);
    changed(&far, &first);
    assert_eq!(changes.next(), Some(Change::ToolsChanged));
    far.fail(&first, OutcomeUnknown);
    assert_eq!(changes.next(), Some(Change::Interrupted));
    let again = far.expect(LISTEN);
    assert!(again.id > first.id);
    assert_eq!(changes.try_next(), None, "not before it is open");
    acknowledge(&far, &again);
    // What changed meanwhile, nobody knows.
    assert_eq!(changes.next(), Some(Change::ToolsChanged));
    changed(&far, &first);
    changed(&far, &again);
    assert_eq!(changes.next(), Some(Change::ToolsChanged));
    assert_eq!(changes.try_next(), None, "the first stream is nobody's");
    // It did not live long: the next time is later.
    far.fail(&again, OutcomeUnknown);
    assert_eq!(changes.next(), Some(Change::Interrupted));
    assert!(far.next_within(Duration::from_millis(100)).is_none());
    assert!(changes.end().is_none());
}

#[test]
fn a_server_that_is_gone_for_long_is_heard_again() {
    let (tx, called) = channel();
    let builder = quick(Duration::from_millis(1)).on_tools_changed(move |_| {
        let _ = tx.send(());
    });
    let (client, far) = modern(builder);
    let own = far.expect(LISTEN);
    acknowledge(&far, &own);
    let (mut changes, other) = listening(&client, &far);
    far.fail(&own, OutcomeUnknown);
    far.fail(&other, OutcomeUnknown);
    assert_eq!(changes.next(), Some(Change::Interrupted));
    // Both streams, more often than a server may refuse them.
    for _ in 0..16 {
        far.fail(&far.expect(LISTEN), NotSent);
    }
    assert_eq!(called.try_recv(), Err(TryRecvError::Empty));
    let opened = [far.expect(LISTEN), far.expect(LISTEN)];
    opened.iter().for_each(|asked| acknowledge(&far, asked));
    assert_eq!(changes.next(), Some(Change::ToolsChanged));
    assert_eq!(called.recv_timeout(LONG), Ok(()));
    opened.iter().for_each(|asked| changed(&far, asked));
    assert_eq!(changes.next(), Some(Change::ToolsChanged));
    assert_eq!(called.recv_timeout(LONG), Ok(()));
    client.close().expect("closes");
    assert_eq!(changes.next(), None);
}

#[test]
fn what_cannot_be_opened_is_an_error_at_once() {
    let (client, far) = modern(Client::builder());
    let error = during(|| client.listen(Filter::new().tools()), || far.fail(&far.expect(LISTEN), NotSent));
    let error = error.expect_err("it did not get through");
    assert!(matches!(error, Error::Unreachable(_)) && error.is_retryable(), "{error}");
    let error = during(|| client.listen(Filter::new().tools()), || far.refuse(&far.expect(LISTEN), 401));
    let error = error.expect_err("refused");
    assert!(matches!(error, Error::Rejected { status: Some(401), .. }), "{error}");
    let (changes, _) = listening(&client, &far);
    drop(changes);
    far.expect("notifications/cancelled");
}

#[test]
fn a_stream_that_is_refused_again_and_again_ends() {
    let (client, far) = modern(quick(Duration::from_millis(1)));
    let (mut changes, first) = listening(&client, &far);
    far.fail(&first, OutcomeUnknown);
    for _ in 0..6 {
        far.refuse(&far.expect(LISTEN), 403);
    }
    assert_eq!(changes.next(), Some(Change::Interrupted));
    assert_eq!(changes.next(), None);
    let end = changes.end();
    assert!(matches!(end, Some(ChangesEnd::Failed(Error::Rejected { status: Some(403), .. }))), "{end:?}");
}
