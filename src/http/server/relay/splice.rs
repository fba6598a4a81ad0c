//! Replacing parts of a message in its text, of which nothing else changes.
//!
//! What is replaced tells the calls of one Modern client from those of another, so it must be beyond doubt where it stands. Servers
//! differ in which member counts that is there twice, and some take `ID` for `id`: what could be read in two ways is refused.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;

use crate::json::{self, Members};
use crate::protocol::meta;

/// The text as one line, which a frame is.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    let has_breaks = text.bytes().any(|byte| matches!(byte, b'\n' | b'\r'));
    if has_breaks { Cow::Owned(json::one_line(text)) } else { Cow::Borrowed(text) }
}

/// Where in a message what is replaced stands.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) id: Option<Range<usize>>,
    /// `progressToken`: of a request in its `_meta`, of progress in its parameters.
    pub(super) token: Option<Range<usize>>,
    /// The id of a subscription, in the `_meta` of a notice or a result.
    pub(super) subscription: Option<Range<usize>>,
}

impl Marks {
    /// Of a message of a client.
    ///
    /// # Errors
    /// When it could be read in two ways.
    pub(super) fn of_client(text: &str) -> Result<Self, String> {
        let members = Members::parse(text).map_err(|e| e.to_string())?;
        let id = only(&members, "id")?;
        only(&members, "method")?;
        let params = inside(only(&members, "params")?);
        let fields = inside(only(&params, "_meta")?);
        let token = only(&fields, "progressToken")?.filter(|raw| raw.get() != "null");
        let place = |raw: &RawValue| place(text, raw);
        Ok(Self { id: id.map(place), token: token.map(place), subscription: None })
    }

    /// Of an answer of a server.
    pub(super) fn of_answer(text: &str) -> Self {
        let mut members = Members::parse(text).unwrap_or_default();
        let id = members.take("id").map(|raw| place(text, raw));
        let result = members.take("result");
        Self { id, subscription: subscription(text, result), token: None }
    }

    /// Of a notification of a server.
    pub(super) fn of_notice(text: &str, params: Option<&RawValue>) -> Self {
        let token = inside(params).take("progressToken");
        Self { token: token.map(|raw| place(text, raw)), subscription: subscription(text, params), id: None }
    }
}

/// The members of an object, or none.
fn inside(raw: Option<&RawValue>) -> Members<'_> {
    raw.and_then(|raw| Members::of(raw).ok()).unwrap_or_default()
}

fn subscription(text: &str, raw: Option<&RawValue>) -> Option<Range<usize>> {
    let fields = inside(raw).take("_meta");
    inside(fields).take(meta::SUBSCRIPTION_ID).map(|raw| place(text, raw))
}

/// The member of this name.
///
/// # Errors
/// When somebody else might take another one for it.
fn only<'a>(members: &Members<'a>, name: &str) -> Result<Option<&'a RawValue>, String> {
    let mut found = None;
    for (key, raw) in members.iter().filter(|(key, _)| key.chars().map(folded).eq(name.chars().map(folded))) {
        if key != name {
            return Err(format!("a member is called {key:?}, which could be taken for {name:?}"));
        }
        if found.replace(raw).is_some() {
            return Err(format!("there are several members {name:?}"));
        }
    }
    Ok(found)
}

/// As readers do that compare names without case, in all of Unicode.
fn folded(c: char) -> char {
    match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    }
}

/// Where `part` stands in `text`, of which it is a part.
fn place(text: &str, part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.get().len()
}

/// The text with these parts replaced, which do not overlap.
pub(super) fn replaced<const N: usize>(text: &str, mut parts: [(Option<Range<usize>>, &str); N]) -> String {
    parts.sort_by_key(|(place, _)| place.as_ref().map(|place| place.start));
    let mut out = String::with_capacity(text.len() + 64);
    let mut copied = 0;
    for (place, other) in parts {
        let Some(place) = place else { continue };
        out.push_str(&text[copied..place.start]);
        out.push_str(other);
        copied = place.end;
    }
    out.push_str(&text[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &str) -> Result<String, String> {
        let marks = Marks::of_client(text)?;
        Ok(replaced(text, [(marks.token, "7"), (marks.id, "7")]))
    }

    #[test]
    fn nothing_but_the_parts_changes() {
        for (text, want) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, r#"{"jsonrpc":"2.0","id":7,"method":"m"}"#),
            (
                r#"{ "params" : {"n":1e400,"_meta":{"progressToken":"t\u00e4","x":0.10}}, "id":"a,\"b" ,"y":[ 1 ]}"#,
                r#"{ "params" : {"n":1e400,"_meta":{"progressToken":7,"x":0.10}}, "id":7 ,"y":[ 1 ]}"#,
            ),
            (
                r#"{"\u0069d":5,"params":{"_meta":{"progressToken":null}}}"#,
                r#"{"\u0069d":7,"params":{"_meta":{"progressToken":null}}}"#,
            ),
            (
                r#"{"id":5,"params":{"id":5,"arguments":{"_meta":{"progressToken":1}}}}"#,
                r#"{"id":7,"params":{"id":5,"arguments":{"_meta":{"progressToken":1}}}}"#,
            ),
            (r#"{"id":5,"params":[1],"ident":6}"#, r#"{"id":7,"params":[1],"ident":6}"#),
            (r#"{"id":5,"params":{"_meta":4}}"#, r#"{"id":7,"params":{"_meta":4}}"#),
        ] {
            assert_eq!(sent(text).as_deref(), Ok(want));
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for text in [
            r#"{"id":1,"id":2}"#,
            r#"{"id":1,"ID":2}"#,
            r#"{"id":1,"\u0049d":2}"#,
            r#"{"id":1,"method":"a","Method":"b"}"#,
            r#"{"id":1,"params":{},"params":{}}"#,
            r#"{"id":1,"paramſ":{}}"#,
            r#"{"id":1,"params":{"_meta":{},"_META":{}}}"#,
            r#"{"id":1,"params":{"_meta":{"progressToken":1,"progressToKen":2}}}"#,
            r#"{"id":1,"params":{"_meta":{"ProgressToken":2}}}"#,
        ] {
            assert!(sent(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_comes_back_is_found() {
        let text = r#"{"id":7,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#;
        let marks = Marks::of_answer(text);
        let back = replaced(text, [(marks.id, r#""a""#), (marks.subscription, r#""a""#)]);
        assert_eq!(back, r#"{"id":"a","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"a"}}}"#);
        let params = r#"{"progress":1,"progressToken":7}"#;
        let text = format!(r#"{{"method":"notifications/progress","params":{params}}}"#);
        let members = Members::parse(&text).expect("an object").take("params");
        let marks = Marks::of_notice(&text, members);
        assert_eq!(replaced(&text, [(marks.token, "\"t\"")]), text.replace(":7", ":\"t\""));
    }

    #[test]
    fn a_message_becomes_one_line() {
        assert_eq!(one_line("{\"a\": 1}"), "{\"a\": 1}");
        assert_eq!(one_line("{\r\n \"a b\": 1}\n"), "{\"a b\":1}");
    }
}
