//! Numbers within bounds.

use serde_json::{Map, Number, Value};

use super::Random;
use super::schema::Problem;
use super::shape::{WIDE, whole};

/// From here on nothing is far from 0, if the schema allows.
const USUAL: i128 = 100;

/// What is whole and no further from 0 is exact as a floating-point number.
const EXACT: i128 = 1 << 53;

/// What is whole and not in here is not written.
const WRITTEN: (i128, i128) = (i64::MIN as i128, u64::MAX as i128);

/// Formats that are limits of whole numbers, and that are none.
pub(super) const FORMATS: [(&str, (i128, i128)); 14] = [
    ("int8", (i8::MIN as i128, i8::MAX as i128)),
    ("int16", (i16::MIN as i128, i16::MAX as i128)),
    ("int32", (i32::MIN as i128, i32::MAX as i128)),
    ("int64", (i64::MIN as i128, i64::MAX as i128)),
    ("int", (i64::MIN as i128, i64::MAX as i128)),
    ("int128", WRITTEN),
    ("uint8", (0, u8::MAX as i128)),
    ("uint16", (0, u16::MAX as i128)),
    ("uint32", (0, u32::MAX as i128)),
    ("uint64", (0, u64::MAX as i128)),
    ("uint", (0, u64::MAX as i128)),
    ("uint128", (0, u64::MAX as i128)),
    ("float", WRITTEN),
    ("double", WRITTEN),
];

fn none_allowed(kind: &str) -> Problem {
    Problem::new(format!("no {kind} is within minimum, maximum, multipleOf and 64 bits"))
}

pub(super) fn integer(members: &Map<String, Value>, random: &mut Random) -> Result<Value, Problem> {
    let bound = |name: &str| members.get(name).and_then(Value::as_number);
    let step = match bound("multipleOf") {
        None => 1,
        // Of those of 3/4, every one of 3 is whole.
        Some(step) => fraction(step).ok_or_else(|| too_fine(step))?.0,
    };
    let down = |number: &Number| whole(number).unwrap_or_else(|| rounded(number, f64::floor));
    let up = |number: &Number| whole(number).unwrap_or_else(|| rounded(number, f64::ceil));
    let format = members.get("format").and_then(Value::as_str);
    let limits =
        FORMATS.iter().find(|(name, _)| Some(*name) == format).map_or(WRITTEN, |(_, limits)| *limits);
    let lows = [bound("minimum").map(up), bound("exclusiveMinimum").map(|number| down(number) + 1)];
    let highs = [bound("maximum").map(down), bound("exclusiveMaximum").map(|number| up(number) - 1)];
    let (low, high) = match (lows.into_iter().flatten().max(), highs.into_iter().flatten().min()) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) => (low, low.max(0).saturating_add(USUAL.saturating_mul(step))),
        (None, Some(high)) => (high.min(0).saturating_sub(USUAL.saturating_mul(step)), high),
        (None, None) => (0, USUAL.saturating_mul(step)),
    };
    let (low, high) = (low.max(limits.0), high.min(limits.1));
    let (first, last) = (low.div_euclid(step) + i128::from(low.rem_euclid(step) != 0), high.div_euclid(step));
    if first > last {
        return Err(none_allowed("whole number"));
    }
    let count = u64::try_from(last - first + 1).unwrap_or(u64::MAX);
    let made = (first + i128::from(random.below(count))) * step;
    let number = i64::try_from(made).map(Value::from).or_else(|_| u64::try_from(made).map(Value::from));
    number.map_err(|_| none_allowed("whole number"))
}

pub(super) fn number(members: &Map<String, Value>, random: &mut Random) -> Result<Value, Problem> {
    const BOUNDS: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    let exact = |name: &str| members.get(name).and_then(Value::as_number);
    let is_large = |number: &Number| whole(number).is_some_and(|number| number.abs() > EXACT);
    let step = exact("multipleOf").map(|step| fraction(step).ok_or_else(|| too_fine(step))).transpose()?;
    // As floating-point numbers, such bounds would be others; and a whole number is a number.
    if BOUNDS.iter().filter_map(|name| exact(name)).any(is_large) || step.is_some_and(|step| step.1 == 1) {
        return integer(members, random);
    }
    let bound = |name: &str| exact(name).and_then(Number::as_f64);
    let low = [bound("minimum"), bound("exclusiveMinimum")].into_iter().flatten().reduce(f64::max);
    let high = [bound("maximum"), bound("exclusiveMaximum")].into_iter().flatten().reduce(f64::min);
    let (low, high) = match (low, high) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) => (low, low.max(0.0) + 100.0),
        (None, Some(high)) => (high.min(0.0) - 100.0, high),
        (None, None) => (0.0, 100.0),
    };
    let is_allowed = |number: &f64| {
        bound("minimum").is_none_or(|low| *number >= low)
            && bound("maximum").is_none_or(|high| *number <= high)
            && bound("exclusiveMinimum").is_none_or(|low| *number > low)
            && bound("exclusiveMaximum").is_none_or(|high| *number < high)
    };
    let any = low + (high - low) * random.unit();
    let candidates = match step {
        Some(step) => multiples(step, [any, low, high]),
        // Short ones first, as people write them; then any.
        None => vec![(any * 100.0).round() / 100.0, any, low + (high - low) / 2.0, low, high],
    };
    let made = candidates.into_iter().filter(|number| number.is_finite()).find(is_allowed);
    made.and_then(Number::from_f64).map(Value::Number).ok_or_else(|| none_allowed("number"))
}

/// Multiples of a fraction that are near some numbers, each as its digits would be read.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "what is not near is not allowed, or harmless"
)]
fn multiples((digits, parts): (i128, i128), near: [f64; 3]) -> Vec<f64> {
    let step = digits as f64 / parts as f64;
    let counts = near.map(|number| (number / step).round() as i128);
    let around = counts.iter().flat_map(|count| [0, 1, -1].map(|more| count.saturating_add(more)));
    around.filter_map(|count| Some(count.checked_mul(digits)? as f64 / parts as f64)).collect()
}

/// A decimal number above 0 as a fraction in its lowest terms, by its digits; `None` if it has too many.
fn fraction(number: &Number) -> Option<(i128, i128)> {
    if let Some(whole) = whole(number) {
        return (whole > 0 && whole < WIDE).then_some((whole, 1));
    }
    let text = number.to_string();
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent = exponent.parse::<i32>().ok()? - i32::try_from(after.len()).ok()?;
    let digits: i128 = format!("{before}{after}").parse().ok()?;
    let parts = 10_i128.checked_pow(u32::try_from(-exponent).ok()?)?;
    if digits <= 0 || digits > EXACT || parts > EXACT {
        return None;
    }
    let (mut a, mut b) = (digits, parts);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    Some((digits / a, parts / a))
}

fn too_fine(step: &Number) -> Problem {
    Problem::new(format!("multipleOf {step} is too large or has too many digits"))
}

#[expect(clippy::cast_possible_truncation, reason = "what is beyond is cut to what is looked at")]
fn rounded(number: &Number, round: fn(f64) -> f64) -> i128 {
    number.as_f64().map_or(0, |number| (round(number) as i128).clamp(-WIDE, WIDE))
}
