//! One spelling for equal values.

use serde_json::value::RawValue;

use super::read::nested;
use super::{Members, string};

/// `raw` in its canonical form.
pub(crate) fn canonical(raw: &RawValue) -> Vec<u8> {
    let mut out = Vec::new();
    write_canonical(&mut out, raw);
    out
}

/// Appends `raw` in a form that does not depend on white space, on the order of members or on how strings are escaped.
/// Numbers are told apart by their text, and so is what lies deeper than 128 levels.
fn write_canonical(out: &mut Vec<u8>, raw: &RawValue) {
    if nested(|| write_parts(out, raw)).is_none() {
        out.extend_from_slice(raw.get().as_bytes());
    }
}

fn write_parts(out: &mut Vec<u8>, raw: &RawValue) {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'{') => match Members::of(raw) {
            Ok(members) => write_members(out, &members),
            Err(_) => out.extend_from_slice(text.as_bytes()),
        },
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            out.push(b'[');
            for (i, item) in items.into_iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_canonical(out, item);
            }
            out.push(b']');
        }
        Some(b'"') => match string(raw) {
            Ok(word) => write_string(out, &word),
            Err(_) => out.extend_from_slice(text.as_bytes()),
        },
        _ => out.extend_from_slice(text.as_bytes()),
    }
}

/// So many members of an object are put in order: each of them is inserted among the others.
const SORTED: usize = 4096;

/// Appends the object of `members`. Of members with one name the last counts. Those beyond the first 4,096 stay as they come.
pub(crate) fn write_members(out: &mut Vec<u8>, members: &Members<'_>) {
    let mut sorted: Vec<(&str, &RawValue)> = Vec::new();
    for (name, value) in members.iter() {
        if sorted.len() >= SORTED {
            sorted.push((name, value));
            continue;
        }
        match sorted.binary_search_by_key(&name, |(name, _)| *name) {
            Ok(at) => sorted[at].1 = value,
            Err(at) => sorted.insert(at, (name, value)),
        }
    }
    out.push(b'{');
    for (i, (name, value)) in sorted.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_string(out, name);
        out.push(b':');
        write_canonical(out, value);
    }
    out.push(b'}');
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a string is JSON");
}

#[cfg(test)]
mod tests {
    use super::super::Json;
    use super::*;

    #[test]
    fn equal_values_have_one_spelling() {
        let canonical = |text: &str| {
            String::from_utf8(canonical(Json::parse(text).expect(text).as_raw())).expect("UTF-8")
        };
        for (one, other) in [
            (r#"{"a":1,"b":[true,null]}"#, r#" { "b" : [ true , null ] , "a" : 1 } "#),
            (r#"{"a":"é/\n"}"#, r#"{"\u0061":"\u00e9\/\u000a"}"#),
            (r#"{"a":2}"#, r#"{"a":1,"a":2}"#),
            ("{}", " {  }"),
            ("[]", "[ ]"),
        ] {
            assert_eq!(canonical(one), canonical(other));
        }
        for (one, other) in
            [("[1,2]", "[2,1]"), (r#"{"a":1}"#, r#"{"a":"1"}"#), ("1", "1.0"), (r#""a""#, r#"["a"]"#)]
        {
            assert_ne!(canonical(one), canonical(other));
        }
    }

    #[test]
    fn depth_and_number_of_members_cost_neither_the_stack_nor_much_time() {
        let canonical = |text: String| canonical(Json::parse(&text).expect("JSON").as_raw()).len();
        let deep = 20_000;
        assert_eq!(canonical(format!("{}{}", "[".repeat(deep), "]".repeat(deep))), 2 * deep);
        let members: Vec<_> = (0..100_000).rev().map(|n| format!("\"{n:06}\":0")).collect();
        assert_eq!(canonical(format!("{{{}}}", members.join(","))), 100_000 * 11 + 1);
    }
}
