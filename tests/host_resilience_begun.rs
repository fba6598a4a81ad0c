//! Calls whose requests fail by themselves: a call that the server has begun with is not begun anew unasked, also if what failed
//! was never sent.

#[path = "support/failing.rs"]
mod failing;

use std::time::Duration;

use failing::{Far, during, modern, said};
use serde_json::{Value, json};
use tinymcp::client::CallOptions;
use tinymcp::host::resilience::{Retry, resilient_tool_call};
use tinymcp::protocol::ElicitResult;
use tinymcp::transport::FailureKind::{self, NotSent, OutcomeUnknown};
use tinymcp::{Client, ClientHandle, Error};

fn quick() -> Retry {
    Retry::default().with_base(Duration::from_millis(1))
}

fn send(client: &ClientHandle, options: &CallOptions) -> tinymcp::Result<String> {
    let result = resilient_tool_call(client, "send", json!({"to": "Ada"}), &quick(), options);
    result.map(|result| result.text_content())
}

/// Answers the listing that comes before the first call.
fn list(far: &Far, annotations: Value) {
    let tool = json!({"name": "send", "inputSchema": {"type": "object"}, "annotations": annotations});
    let result = json!({"resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private"});
    far.answer(&far.expect("tools/list"), result);
}

fn question() -> Value {
    json!({
        "resultType": "input_required", "requestState": "sealed",
        "inputRequests": {"sure": {"method": "elicitation/create", "params": {
            "mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}
        }}}
    })
}

fn once() -> tinymcp::client::ClientBuilder {
    Client::builder().max_resends(0).on_elicit(|_| Ok(ElicitResult::decline()))
}

#[test]
fn what_was_never_sent_is_sent_again_whatever_it_is() {
    for (failure, annotations, options, times) in [
        (NotSent, json!({}), CallOptions::default(), 3),
        (OutcomeUnknown, json!({}), CallOptions::default(), 1),
        (OutcomeUnknown, json!({"idempotentHint": true}), CallOptions::default(), 3),
        (OutcomeUnknown, json!({"readOnlyHint": true}), CallOptions::default(), 3),
        (OutcomeUnknown, json!({"readOnlyHint": false, "destructiveHint": false}), CallOptions::default(), 1),
    ] {
        let (client, far) = modern(once());
        let result = during(
            || send(&client, &options),
            || {
                list(&far, annotations.clone());
                for _ in 0..times {
                    far.fail(&far.expect("tools/call"), failure);
                }
            },
        );
        let error = result.expect_err("all tries failed");
        assert_eq!(matches!(error, Error::OutcomeUnknown(_)), times == 1, "{error}");
        far.expect_nothing();
    }
    // Whoever says so himself needs no listing.
    let (client, far) = modern(once());
    let options = CallOptions::default().with_repeatable();
    let result = during(
        || send(&client, &options),
        || {
            far.fail(&far.expect("tools/call"), OutcomeUnknown);
            far.answer(&far.expect("tools/call"), said("sent"));
        },
    );
    assert_eq!(result.expect("the second try"), "sent");
}

fn round_that_fails(failure: FailureKind, annotations: Value) -> (tinymcp::Result<String>, Far, Client) {
    let (client, far) = modern(once());
    let result = during(
        || send(&client, &CallOptions::default()),
        || {
            let is_harmless = annotations != json!({});
            list(&far, annotations);
            far.answer(&far.expect("tools/call"), question());
            far.fail(&far.expect("tools/call"), failure);
            if is_harmless {
                let again = far.expect("tools/call");
                assert!(again.params.get("requestState").is_none(), "from the beginning");
                far.answer(&again, said("sent"));
            }
        },
    );
    (result, far, client)
}

#[test]
fn a_call_that_was_answered_with_a_question_has_begun() {
    for failure in [NotSent, OutcomeUnknown] {
        let (result, far, client) = round_that_fails(failure, json!({}));
        let error = result.expect_err("it may have done something");
        assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
        far.expect_nothing();
        drop(client);
        let (result, far, _client) = round_that_fails(failure, json!({"idempotentHint": true}));
        assert_eq!(result.expect("it does no harm"), "sent");
        far.expect_nothing();
    }
}

#[test]
fn a_call_that_became_a_task_has_begun() {
    let (client, far) = modern(once().tasks());
    let task = json!({
        "resultType": "task", "taskId": "t1", "status": "working", "ttlMs": 60_000, "pollIntervalMs": 50,
        "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z"
    });
    let result = during(
        || send(&client, &CallOptions::default()),
        || {
            list(&far, json!({}));
            far.answer(&far.expect("tools/call"), task.clone());
            far.fail(&far.expect("tasks/get"), NotSent);
            // Nobody else knows of the task.
            let (method, asked) = far.any();
            assert_eq!(method, "tasks/cancel");
            far.answer_if_heard(&asked, json!({"resultType": "complete"}));
        },
    );
    let error = result.expect_err("the task may have done something");
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    far.expect_nothing();
}
