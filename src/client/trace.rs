//! [`TraceContext`]: which trace a call belongs to.

use std::fmt;

use super::{CallOptions, ClientBuilder};
use crate::error::{Error, Result};
use crate::json::Object;
use crate::protocol::meta;

/// More than this is nothing that a server should be sent with every call.
const MAX_BYTES: usize = 8 * 1024;

/// Which trace a call belongs to, in the words of W3C Trace Context and W3C Baggage. A server may put its own spans below it.
///
/// ```
/// use tinymcp::client::{CallOptions, TraceContext};
///
/// let trace = TraceContext::new("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01")?
///     .with_tracestate("vendor=opaque")?
///     .with_baggage("tenant=42")?;
/// let options = CallOptions::default().with_trace(&trace);
/// assert!(TraceContext::new("0af7651916cd43dd8448eb211c80319c").is_err());
/// # let _ = options;
/// # Ok::<(), tinymcp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    traceparent: String,
    tracestate: Option<String>,
    baggage: Option<String>,
}

impl TraceContext {
    /// The trace and span that `traceparent` names: version, trace id, parent id and flags.
    ///
    /// # Errors
    /// When it is not in the form of W3C Trace Context.
    pub fn new(traceparent: impl Into<String>) -> Result<Self> {
        let traceparent = traceparent.into();
        if is_traceparent(&traceparent) {
            Ok(Self { traceparent, tracestate: None, baggage: None })
        } else {
            Err(Error::InvalidUse(format!(
                "traceparent: not in the form of W3C Trace Context: {traceparent:.80?}"
            )))
        }
    }

    /// Adds what tracing systems keep for themselves.
    ///
    /// # Errors
    /// When it is no list of at most 32 members `key=value`, or is longer than 8 KiB.
    pub fn with_tracestate(mut self, tracestate: impl Into<String>) -> Result<Self> {
        self.tracestate = Some(list("tracestate", tracestate.into(), 32)?);
        Ok(self)
    }

    /// Adds properties of the application.
    ///
    /// # Errors
    /// When it is no list of at most 64 members `key=value`, or is longer than 8 KiB.
    pub fn with_baggage(mut self, baggage: impl Into<String>) -> Result<Self> {
        self.baggage = Some(list("baggage", baggage.into(), 64)?);
        Ok(self)
    }

    pub(super) fn write(&self, fields: &mut Object) {
        // spec: 2026-07-28 basic/index#meta (these three keys have no prefix)
        fields.insert(meta::TRACEPARENT, &self.traceparent);
        if let Some(tracestate) = &self.tracestate {
            fields.insert(meta::TRACESTATE, tracestate);
        }
        if let Some(baggage) = &self.baggage {
            fields.insert(meta::BAGGAGE, baggage);
        }
    }
}

impl fmt::Display for TraceContext {
    /// The `traceparent`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.traceparent)
    }
}

impl CallOptions {
    /// Says which trace the call belongs to, whatever [`ClientBuilder::trace`] says.
    #[must_use]
    pub fn with_trace(mut self, trace: &TraceContext) -> Self {
        self.trace = Some(trace.clone());
        self
    }
}

impl ClientBuilder {
    /// Asks `current` before each call, with its method, which trace it belongs to. It runs on the thread that makes the
    /// call, where tracing libraries keep what is current.
    ///
    /// ```no_run
    /// # fn current_span() -> String { String::new() }
    /// use tinymcp::Client;
    /// use tinymcp::client::TraceContext;
    ///
    /// let client = Client::builder().trace(|_method| TraceContext::new(current_span()).ok());
    /// ```
    #[must_use]
    pub fn trace(mut self, current: impl Fn(&str) -> Option<TraceContext> + Send + Sync + 'static) -> Self {
        self.trace = Some(std::sync::Arc::new(current));
        self
    }
}

/// Version, trace id, parent id and flags; a later version than 00 may have more after these.
fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags, rest @ ..] = parts.as_slice() else { return false };
    let is_hex = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
    };
    let is_id = |text: &str, digits: usize| is_hex(text, digits) && text.bytes().any(|b| b != b'0');
    is_hex(version, 2)
        && *version != "ff"
        && is_id(trace, 32)
        && is_id(parent, 16)
        && is_hex(flags, 2)
        && (rest.is_empty() || *version != "00")
        && text.len() <= MAX_BYTES
        && is_printable(text)
}

fn list(name: &str, text: String, max: usize) -> Result<String> {
    let members: Vec<&str> = text.split(',').map(str::trim).filter(|member| !member.is_empty()).collect();
    let is_member = |member: &&str| member.split_once('=').is_some_and(|(key, _)| !key.trim().is_empty());
    let problem = if text.len() > MAX_BYTES {
        format!("longer than {MAX_BYTES} bytes")
    } else if members.len() > max {
        format!("more than {max} members")
    } else if members.is_empty() || !members.iter().all(is_member) || !is_printable(&text) {
        format!("no list of key=value: {text:.80?}")
    } else {
        return Ok(text);
    };
    Err(Error::InvalidUse(format!("{name}: {problem}")))
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'\t' | b' '..=b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_trace_context_is_refused() {
        let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7");
        for (text, is_good) in [
            (format!("00-{trace}-{parent}-01"), true),
            (format!("cc-{trace}-{parent}-01-later"), true),
            (format!("00-{trace}-{parent}-01-later"), false),
            (format!("ff-{trace}-{parent}-01"), false),
            (format!("00-{}-{parent}-01", trace.to_uppercase()), false),
            (format!("00-{}-{parent}-01", "0".repeat(32)), false),
            (format!("00-{trace}-{}-01", "0".repeat(16)), false),
            (format!("00-{trace}-{parent}"), false),
            (format!("00-{trace}-{parent}-1"), false),
            (format!("cc-{trace}-{parent}-01-\n"), false),
            (String::new(), false),
        ] {
            assert_eq!(TraceContext::new(text.as_str()).is_ok(), is_good, "{text}");
        }
        let good = TraceContext::new(format!("00-{trace}-{parent}-01")).expect("good");
        for (text, is_good) in [
            ("a=1", true),
            ("a=1, b=2;p=q,", true),
            ("", false),
            ("a", false),
            ("=1", false),
            ("a=\n", false),
        ] {
            assert_eq!(good.clone().with_tracestate(text).is_ok(), is_good, "{text:?}");
            assert_eq!(good.clone().with_baggage(text).is_ok(), is_good, "{text:?}");
        }
        let many = |count: usize| vec!["a=1"; count].join(",");
        assert!(
            good.clone().with_tracestate(many(32)).is_ok() && good.clone().with_tracestate(many(33)).is_err()
        );
        assert!(good.clone().with_baggage(many(64)).is_ok() && good.clone().with_baggage(many(65)).is_err());
        assert!(good.with_baggage(format!("a={}", "b".repeat(MAX_BYTES))).is_err());
    }
}
