//! Answers that cannot be read although one can see whose they are: raw control characters or `NaN` from a server that
//! writes JSON by hand, a text cut short, bytes of another encoding.
//!
//! The call they belong to fails at once and says why; waiting for its timeout would tell the user less, and later.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Shared;
use super::pending::NoResult;
use crate::json::{FromJson, Json};
use crate::jsonrpc::{BadFrame, Incoming, RequestId};

impl Shared {
    /// Ends the call that `frame`, which is no message, was meant to answer, if there is one.
    pub(super) fn hear_garbled(&self, frame: &[u8], bad: &BadFrame) -> Heard {
        let text = String::from_utf8_lossy(frame);
        if matches!(text, Cow::Owned(_)) {
            // As with lone surrogates: a character is lost, not the answer.
            if let Ok(Incoming::Response { id: Some(id), result: Ok(result) }) =
                Incoming::decode(text.as_bytes())
            {
                if self.pending.complete(&id, Ok(Json::of_frame(result))) {
                    log::debug!("replaced what is not UTF-8 in the answer to {id} by U+FFFD");
                    return Heard::Mended;
                }
            }
        }
        let garbled = || Err(NoResult::Garbled(bad.error.message.clone()));
        match answered(&text).is_some_and(|id| self.pending.complete(&id, garbled())) {
            true => Heard::Answer,
            false => Heard::Nothing,
        }
    }
}

/// What a frame that is no message turned out to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// An answer with wrong bytes in its texts, which has been delivered.
    Mended,
    /// An answer, whose call has failed.
    Answer,
    /// Nothing that is known here.
    Nothing,
}

/// The id in a text that begins like a response, as far as it can be read.
pub(crate) fn answered(text: &str) -> Option<RequestId> {
    let mut head = Head::default();
    // Usually fails: what it has found until then is in `head`.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(&mut head);
    head.id.filter(|_| head.is_jsonrpc && !head.has_method)
}

/// What tells a response from a request, and both from a line of a log that happens to be JSON.
#[derive(Default)]
struct Head {
    is_jsonrpc: bool,
    has_method: bool,
    id: Option<RequestId>,
}

impl<'de> Visitor<'de> for &mut Head {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            match name.as_ref() {
                "jsonrpc" => self.is_jsonrpc = members.next_value::<&RawValue>()?.get() == "\"2.0\"",
                "id" => self.id = RequestId::from_json(members.next_value()?).ok(),
                "method" => {
                    self.has_method = true;
                    members.next_value::<IgnoredAny>()?;
                }
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_responses_are_recognised() {
        for (text, want) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"a":NaN}}"#, Some(7)),
            (r#"{"id":7,"jsonrpc":"2.0","result":{"content":["#, Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"error":null}"#, Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}} and more"#, Some(7)),
            (r#"{"jsonrpc":"2.0","result":NaN,"id":7}"#, None),
            (r#"{"jsonrpc":"2.0","id":7,"method":"a","params":NaN}"#, None),
            (r#"{"id":7,"level":"info","result":NaN}"#, None),
            (r#"{"jsonrpc":"2.0","id":nu"#, None),
            (r#"[{"jsonrpc":"2.0","id":7}]"#, None),
            ("starting", None),
        ] {
            assert_eq!(answered(text), want.map(RequestId::Number), "{text}");
        }
    }
}
