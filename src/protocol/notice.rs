//! Notifications about a request in flight: cancelled, and progress.

use crate::json::{Object, wire};
use crate::jsonrpc::RequestId;

use super::ProgressToken;

wire::wire! {
    /// Parameters of `notifications/cancelled`.
    pub struct CancelledParams {
        /// The request that is no longer wanted.
        pub request_id: RequestId = "requestId",
        /// Why, for logs.
        pub reason: Option<String> = "reason",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }

    /// Parameters of `notifications/progress`.
    pub struct ProgressParams {
        /// The token the request carried.
        pub progress_token: ProgressToken = "progressToken",
        /// How far the work is; grows with every notification.
        pub progress: f64 = "progress",
        /// How far it will get, if that is known.
        pub total: Option<f64> = "total",
        /// What is going on, for people. From 2025-03-26 on.
        pub message: Option<String> = "message",
        /// Metadata.
        pub meta: Option<Object> = "_meta",
    }
}

impl CancelledParams {
    /// That the request `request_id` is no longer wanted.
    #[must_use]
    pub fn new(request_id: impl Into<RequestId>) -> Self {
        Self { request_id: request_id.into(), reason: None, meta: None, extra: Object::new() }
    }
}

wire::builders!(CancelledParams {
    /// Says why.
    with_reason => reason: String,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl ProgressParams {
    /// How far the request is that carried `progress_token`.
    #[must_use]
    pub fn new(progress_token: impl Into<ProgressToken>, progress: f64) -> Self {
        Self {
            progress_token: progress_token.into(),
            progress,
            total: None,
            message: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

wire::builders!(ProgressParams {
    /// Sets how far the work will get.
    with_total => total: f64,
    /// Says what is going on.
    with_message => message: String,
    /// Sets the metadata.
    with_meta => meta: Object,
});
