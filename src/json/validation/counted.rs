//! The view of a value that the validator looks through: it counts the looks.
//!
//! The number of alternatives to try can double with each level of a schema, and with each level of a value where a schema
//! refers to itself. What the validator does not remember it does again: telling why a value of 20 levels fits
//! neither of two recursive alternatives took all memory. So every look at the value is paid for from a budget, and when
//! that is used up the work is unwound. So it is when the stack has grown too far: references can lead through hundreds
//! of others at each level of a value, and a stack that overflows ends the process.
//!
//! **Invariant:** a budget belongs to one run of [`within`] on one thread.

use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::iter::Map as Mapped;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::slice;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson, cmp};
use serde_json::{Map, Number, Value, map};

thread_local! {
    /// What is left for the run on this thread.
    static LEFT: Cell<u64> = const { Cell::new(NO_LIMIT) };

    /// Where the stack was when the run began.
    static BOTTOM: Cell<usize> = const { Cell::new(0) };
}

/// Outside of a run.
const NO_LIMIT: u64 = u64::MAX;

/// How far the stack may grow: half of what a thread has. A debug build follows 1,200 references in it, ten at each of 120
/// levels of a value.
pub(super) const STACK_BYTES: usize = 1024 * 1024;

/// A problem that is found is kept with its value, and the problems inside it with theirs, until all are told.
const PROBLEM_STEPS: u64 = 250;

/// The budget is used up.
#[derive(Debug, PartialEq)]
pub(super) struct TooExpensive;

/// Does `work` with a budget of so many looks.
pub(super) fn within<T>(steps: u64, work: impl FnOnce() -> T) -> Result<T, TooExpensive> {
    LEFT.set(steps);
    BOTTOM.set(here());
    // Nothing is kept that the work could have left half done: the compiled schema does not change by being used.
    let done = catch_unwind(AssertUnwindSafe(work));
    LEFT.set(NO_LIMIT);
    done.map_err(|payload: Box<dyn Any + Send>| match payload.downcast::<TooExpensive>() {
        Ok(exhausted) => *exhausted,
        Err(other) => resume_unwind(other),
    })
}

/// An address on the stack.
#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&local)).addr()
}

fn pay(steps: u64) {
    let left = LEFT.get();
    if left == NO_LIMIT {
        return;
    }
    match left.checked_sub(steps) {
        Some(left) if here().abs_diff(BOTTOM.get()) < STACK_BYTES => LEFT.set(left),
        _ => {
            // What is dropped on the way out may look once more.
            LEFT.set(NO_LIMIT);
            // Not `panic!`: the hook would write about it to stderr.
            resume_unwind(Box::new(TooExpensive))
        }
    }
}

/// Reading a text costs what its bytes do.
fn pay_text(text: &str) {
    pay(1 + text.len() as u64 / 8);
}

/// The representation of values that is made of [`Counted`].
pub(super) struct CountedJson;

/// A value whose looks are paid for.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a>(pub(super) &'a Value);

pub(super) struct CountedObject<'a>(&'a Map<String, Value>);

pub(super) struct CountedArray<'a>(&'a [Value]);

type Member<'a> = (&'a str, Counted<'a>);

impl Json for CountedJson {
    type Node<'a> = Counted<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;
    const KEYS_PER_LOOKUP: usize = SerdeJson::KEYS_PER_LOOKUP;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(Counted<'_>) -> T) -> T {
        pay_text(string);
        *buffer = string.into();
        f(Counted(buffer))
    }
}

impl<'a> Node<'a, CountedJson> for Counted<'a> {
    type Object = CountedObject<'a>;
    type Array = CountedArray<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<CountedObject<'a>> {
        pay(1);
        self.0.as_object().map(CountedObject)
    }

    fn as_array(&self) -> Option<CountedArray<'a>> {
        pay(1);
        self.0.as_array().map(|items| CountedArray(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.0.as_str();
        pay_text(text.unwrap_or_default());
        text.map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        pay(1);
        match self.0 {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        pay(1);
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        pay(1);
        self.0.is_null()
    }

    fn json_type(&self) -> JsonType {
        pay(1);
        Node::<SerdeJson>::json_type(&self.0)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        is_equal(self.0, expected)
    }

    /// Asked for what a problem is about.
    fn to_value(&self) -> Cow<'a, Value> {
        pay(PROBLEM_STEPS);
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        pay(1);
        Node::<SerdeJson>::identity(&self.0)
    }
}

impl<'a> Object<'a, CountedJson> for CountedObject<'a> {
    type Node = Counted<'a>;
    type MemberName = &'a str;
    type MembersIter = Mapped<map::Iter<'a>, fn((&'a String, &'a Value)) -> Member<'a>>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<Counted<'a>> {
        pay(1);
        self.0.get(key).map(Counted)
    }

    fn members(&self) -> Self::MembersIter {
        fn member<'a>((name, value): (&'a String, &'a Value)) -> Member<'a> {
            pay_text(name);
            (name, Counted(value))
        }
        self.0.iter().map(member)
    }
}

impl<'a> Array<'a, CountedJson> for CountedArray<'a> {
    type Node = Counted<'a>;
    type ElementsIter = Mapped<slice::Iter<'a, Value>, fn(&'a Value) -> Counted<'a>>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> Self::ElementsIter {
        fn element(value: &Value) -> Counted<'_> {
            pay(1);
            Counted(value)
        }
        self.0.iter().map(element)
    }

    /// By the texts of the items, in a table whose order nobody can guess: whoever knows how items are hashed can write a
    /// hundred thousand that meet in one place, and comparing each with each takes minutes.
    fn is_unique(&self) -> bool {
        let mut seen = HashSet::new();
        self.0.iter().all(|item| {
            let mut text = String::new();
            normal_form(item, &mut text);
            seen.insert(text)
        })
    }
}

/// Numbers are equal if they are so as numbers; members have no order.
fn is_equal(value: &Value, expected: &Value) -> bool {
    pay(1);
    match (value, expected) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_equal(a, b)))
        }
        _ => cmp::equal(value, expected),
    }
}

/// Writes a text that two values share exactly if they are equal: `1` and `1.0` are, members have no order.
fn normal_form(value: &Value, out: &mut String) {
    pay(1);
    match value {
        Value::Null => out.push('n'),
        Value::Bool(true) => out.push('t'),
        Value::Bool(false) => out.push('f'),
        Value::Number(number) => {
            let float = number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 1e38);
            let whole = number.as_i128().or_else(|| float.map(|n| n as i128));
            match whole {
                Some(whole) => *out += &whole.to_string(),
                None => *out += &number.to_string(),
            }
            out.push(',');
        }
        // With its length, so that no content is taken for what follows.
        Value::String(text) => *out += &format!("{}:{text}", text.len()),
        Value::Array(items) => {
            out.push('[');
            items.iter().for_each(|item| normal_form(item, out));
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            // Sorted here: the program may use a `serde_json` that keeps their order.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in members {
                *out += &format!("{}:{name}", name.len());
                normal_form(value, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_values_have_one_normal_form() {
        let form = |value: Value| {
            let mut text = String::new();
            normal_form(&value, &mut text);
            text
        };
        for (a, b) in [
            (json!(1), json!(1.0)),
            (json!(0), json!(-0.0)),
            (json!({"a": 1, "b": [2.0]}), json!({"b": [2], "a": 1})),
            (json!(1e300), json!(1e300)),
        ] {
            assert_eq!(form(a.clone()), form(b.clone()), "{a} {b}");
        }
        for (a, b) in [
            (json!(u64::MAX), json!(u64::MAX - 1)),
            (json!(1.5), json!(15)),
            (json!([1, 23]), json!([12, 3])),
            (json!(["a", "b"]), json!(["a1:b"])),
            (json!([[], 1]), json!([[1]])),
            (json!({"a": 1}), json!(["a", 1])),
            (json!("1"), json!(1)),
            (json!(null), json!("null")),
        ] {
            assert_ne!(form(a.clone()), form(b.clone()), "{a} {b}");
        }
    }

    #[test]
    fn a_used_up_budget_ends_the_work_and_no_other() {
        assert_eq!(within(2, || Counted(&Value::Null).is_null()), Ok(true));
        let looks = || (0..3).filter(|_| Counted(&Value::Null).is_null()).count();
        assert_eq!(within(2, looks), Err(TooExpensive));
        assert_eq!(within(3, looks), Ok(3));
        assert_eq!(looks(), 3);
        let other = catch_unwind(|| within(2, || resume_unwind(Box::new("another"))));
        assert_eq!(other.expect_err("a panic").downcast_ref(), Some(&"another"));
    }
}
