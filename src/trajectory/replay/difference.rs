//! [`Difference`]: where two JSON values part.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;

use crate::json::{FromJson, Members, nested};

/// So many bytes of a value are shown.
const SHOWN_BYTES: usize = 200;

/// A place in which two JSON values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The place, as a JSON pointer (RFC 6901); empty for the whole value. Where a string holds JSON on both sides, the pointer
    /// goes on into it.
    pub pointer: String,
    /// What was recorded there, as JSON text that is cut off if it is long; `None` if nothing was.
    pub recorded: Option<String>,
    /// What is there now, likewise.
    pub now: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        let pointer = if self.pointer.is_empty() { "the whole" } else { &self.pointer };
        write!(f, "{pointer}: recorded {}, now {}", shown(&self.recorded), shown(&self.now))
    }
}

/// `text` as it is shown: its beginning and its length if it is long.
pub(super) fn shown(text: &str) -> String {
    if text.len() <= SHOWN_BYTES {
        return text.to_owned();
    }
    let mut end = SHOWN_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… ({} bytes)", &text[..end], text.len())
}

/// Hears of each difference: the pointer and both sides. Returns whether it wants to hear of more.
pub(super) type Found<'a> = dyn FnMut(&str, Option<&RawValue>, Option<&RawValue>) -> bool + 'a;

/// Whether two values are the same: the order of keys does not count, and numbers are the same if their texts are.
pub(super) fn same(one: &RawValue, other: &RawValue) -> bool {
    let mut same = true;
    let mut found = |_: &str, _: Option<&RawValue>, _: Option<&RawValue>| {
        same = false;
        false
    };
    Walk { pointer: String::new(), opens_strings: false, found: &mut found }.compare(one, other);
    same
}

/// At most `limit` of the differences between two values, and whether there are more.
pub(super) fn collect(recorded: &RawValue, now: &RawValue, limit: usize) -> (Vec<Difference>, bool) {
    let mut all = Vec::new();
    let mut has_more = false;
    let mut found = |pointer: &str, one: Option<&RawValue>, other: Option<&RawValue>| {
        has_more = all.len() == limit;
        if !has_more {
            all.push(difference(pointer, one, other));
        }
        !has_more
    };
    Walk { pointer: String::new(), opens_strings: false, found: &mut found }.compare(recorded, now);
    (all, has_more)
}

pub(super) fn difference(pointer: &str, recorded: Option<&RawValue>, now: Option<&RawValue>) -> Difference {
    let text = |raw: Option<&RawValue>| raw.map(|raw| shown(raw.get()));
    Difference { pointer: pointer.to_owned(), recorded: text(recorded), now: text(now) }
}

/// Tells `found` where two values differ, until it wants no more. Strings that hold JSON on both sides are compared as such.
pub(super) fn differences(recorded: &RawValue, now: &RawValue, found: &mut Found<'_>) {
    Walk { pointer: String::new(), opens_strings: true, found }.compare(recorded, now);
}

struct Walk<'a, 'f> {
    pointer: String,
    opens_strings: bool,
    found: &'a mut Found<'f>,
}

impl Walk<'_, '_> {
    /// Whether to go on.
    fn compare(&mut self, one: &RawValue, other: &RawValue) -> bool {
        if one.get() == other.get() {
            return true;
        }
        // What is nested deeper than anything is read is compared by its text.
        nested(|| self.compare_parts(one, other)).unwrap_or_else(|| self.tell(Some(one), Some(other)))
    }

    fn compare_parts(&mut self, one: &RawValue, other: &RawValue) -> bool {
        let first = |raw: &RawValue| raw.get().as_bytes().first().copied();
        match (first(one), first(other)) {
            (Some(b'{'), Some(b'{')) => self.objects(one, other),
            (Some(b'['), Some(b'[')) => self.lists(one, other),
            (Some(b'"'), Some(b'"')) => self.strings(one, other),
            _ => self.tell(Some(one), Some(other)),
        }
    }

    fn objects(&mut self, one: &RawValue, other: &RawValue) -> bool {
        let (Ok(one_members), Ok(other_members)) = (Members::of(one), Members::of(other)) else {
            return self.tell(Some(one), Some(other));
        };
        let mut names: BTreeMap<&str, (Option<&RawValue>, Option<&RawValue>)> = BTreeMap::new();
        // Of two members with one name the last counts, as everywhere.
        for (name, value) in one_members.iter() {
            names.entry(name).or_default().0 = Some(value);
        }
        for (name, value) in other_members.iter() {
            names.entry(name).or_default().1 = Some(value);
        }
        names.into_iter().all(|(name, (one, other))| self.inside(name, one, other))
    }

    fn lists(&mut self, one: &RawValue, other: &RawValue) -> bool {
        let (Ok(ones), Ok(others)) = (items(one), items(other)) else {
            return self.tell(Some(one), Some(other));
        };
        let count = ones.len().max(others.len());
        (0..count).all(|at| self.inside(&at.to_string(), ones.get(at).copied(), others.get(at).copied()))
    }

    fn strings(&mut self, one: &RawValue, other: &RawValue) -> bool {
        let (Ok(one_text), Ok(other_text)) = (String::from_json(one), String::from_json(other)) else {
            return self.tell(Some(one), Some(other));
        };
        if one_text == other_text {
            return true;
        }
        match (inner(&one_text), inner(&other_text)) {
            (Some(one), Some(other)) if self.opens_strings => self.compare(one, other),
            _ => self.tell(Some(one), Some(other)),
        }
    }

    fn inside(&mut self, name: &str, one: Option<&RawValue>, other: Option<&RawValue>) -> bool {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        let goes_on = match (one, other) {
            (Some(one), Some(other)) => self.compare(one, other),
            _ => self.tell(one, other),
        };
        self.pointer.truncate(length);
        goes_on
    }

    fn tell(&mut self, one: Option<&RawValue>, other: Option<&RawValue>) -> bool {
        (self.found)(&self.pointer, one, other)
    }
}

fn items(raw: &RawValue) -> Result<Vec<&RawValue>, serde_json::Error> {
    serde_json::from_str(raw.get())
}

/// The JSON object or list that a string holds, as structured results do in their text.
fn inner(text: &str) -> Option<&RawValue> {
    let text = text.trim();
    text.starts_with(['{', '[']).then(|| serde_json::from_str(text).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn told(one: &str, other: &str) -> Vec<String> {
        let json = |text| Json::parse(text).expect("JSON");
        let mut all = Vec::new();
        differences(json(one).as_raw(), json(other).as_raw(), &mut |pointer, one, other| {
            all.push(difference(pointer, one, other).to_string());
            all.len() < 8
        });
        all
    }

    #[test]
    fn order_and_spelling_make_no_difference_and_the_text_of_numbers_does() {
        let equal: [(&str, &str); 4] = [
            (r#"{"a":1,"b":{"c":[1,2]}}"#, r#"{ "b":{"c":[1, 2]}, "a":1 }"#),
            (r#"{"a":"\u0041"}"#, r#"{"a":"A"}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"["{\"a\":1,\"b\":2}"]"#, r#"["{\"b\":2,\"a\":1}"]"#),
        ];
        for (one, other) in equal {
            assert_eq!(told(one, other), Vec::<String>::new(), "{one} {other}");
        }
        let parted: [(&str, &str, &str); 7] = [
            (
                "9007199254740993",
                "9007199254740992",
                "the whole: recorded 9007199254740993, now 9007199254740992",
            ),
            ("1", "1.0", "the whole: recorded 1, now 1.0"),
            (r#"{"a":1}"#, "{}", "/a: recorded 1, now nothing"),
            ("{}", r#"{"a/b~":null}"#, "/a~1b~0: recorded nothing, now null"),
            (r#"{"a":[1,2]}"#, r#"{"a":[1,3]}"#, "/a/1: recorded 2, now 3"),
            ("[1]", r#"{"0":1}"#, r#"the whole: recorded [1], now {"0":1}"#),
            (r#"{"t":"{\"n\":1}"}"#, r#"{"t":"{\"n\":2}"}"#, "/t/n: recorded 1, now 2"),
        ];
        for (one, other, want) in parted {
            assert_eq!(told(one, other), [want], "{one} {other}");
        }
    }

    #[test]
    fn strings_that_hold_json_are_opened_only_on_request() {
        let json = |text: &str| Json::parse(text).expect("JSON");
        let (one, other) = (json(r#"["{\"a\":1,\"b\":2}"]"#), json(r#"["{\"b\":2,\"a\":1}"]"#));
        assert!(!same(one.as_raw(), other.as_raw()));
        let (found, has_more) = collect(json("[1,2,3]").as_raw(), json("[0,0,0]").as_raw(), 2);
        assert_eq!((found.len(), has_more), (2, true));
    }

    #[test]
    fn what_is_deep_long_or_different_in_many_places_is_bounded() {
        let deep = |n: usize, leaf: u8| format!("{}{leaf}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(told(&deep(20_000, 1), &deep(20_000, 2)).len(), 1);
        let many = |leaf: u8| format!("[{}]", vec![leaf.to_string(); 100].join(","));
        assert_eq!(told(&many(1), &many(2)).len(), 8);
        let long = format!("\"{}\"", "é".repeat(1000));
        let text = &told(&long, "1")[0];
        assert!(text.contains("… (2002 bytes), now 1") && text.len() < 300, "{text}");
    }
}
