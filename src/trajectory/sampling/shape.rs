//! What keywords must look like, and values compared as schemas compare them.

use serde_json::{Number, Value};

/// The types there are.
const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// Whether a keyword has a value that it can have.
pub(super) fn is_shaped(keyword: &str, value: &Value) -> bool {
    let is_type = |value: &Value| value.as_str().is_some_and(|kind| TYPES.contains(&kind));
    match keyword {
        "type" => {
            is_type(value) || value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_type))
        }
        "enum" | "anyOf" => value.as_array().is_some_and(|all| !all.is_empty()),
        "properties" | "$defs" | "definitions" => value.is_object(),
        "required" => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
        "additionalProperties" | "items" => value.is_object() || value.is_boolean(),
        "minProperties" | "minItems" | "maxItems" | "minLength" | "maxLength" => count(value).is_some(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|step| step > 0.0),
        "uniqueItems" => value.is_boolean(),
        "format" | "$ref" => value.is_string(),
        _ => true,
    }
}

/// A number of items, members or characters; `2.0` is one, too.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole, and not negative")]
pub(super) fn count(value: &Value) -> Option<u64> {
    let whole = |number: f64| (number >= 0.0 && number.fract() == 0.0).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

/// Whether a value is of a type.
pub(super) fn is_of(kind: &str, value: &Value) -> bool {
    match (kind, value) {
        ("integer", Value::Number(number)) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        ("number", value) => value.is_number(),
        ("object", value) => value.is_object(),
        ("array", value) => value.is_array(),
        ("string", value) => value.is_string(),
        ("boolean", value) => value.is_boolean(),
        ("null", value) => value.is_null(),
        _ => false,
    }
}

/// Whether two values are one to a schema, to which `1` and `1.0` are.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (whole(a), whole(b)) {
            (Some(a), Some(b)) => a == b,
            (None, None) => a.as_f64() == b.as_f64(),
            _ => false,
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// The largest whole number, of either sign, that is looked at: more than any of 64 bits, and sums of a few still have room.
pub(super) const WIDE: i128 = 1 << 100;

/// A number that is whole, exactly; one beyond [`WIDE`] is that.
#[expect(clippy::cast_possible_truncation, reason = "what is beyond is cut to what is looked at")]
pub(super) fn whole(number: &Number) -> Option<i128> {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    whole.or_else(|| {
        let float = number.as_f64()?;
        (float.fract() == 0.0).then_some((float as i128).clamp(-WIDE, WIDE))
    })
}
