//! Numbers within bounds.

use serde_json::{Map, Number, Value};

use super::Random;
use super::schema::Problem;

/// From here on nothing is far from 0, if the schema allows.
const USUAL: i128 = 100;

/// The largest whole number that every reader takes exactly.
const EXACT: i128 = (1 << 53) - 1;

pub(super) fn integer(members: &Map<String, Value>, random: &mut Random) -> Result<Value, Problem> {
    let bound = |name: &str| members.get(name).and_then(Value::as_number);
    let step = match bound("multipleOf") {
        None => 1,
        Some(step) => {
            whole(step).filter(|step| *step > 0).ok_or_else(|| Problem::new(format!("multipleOf {step}")))?
        }
    };
    let floor = |number: &Number| number.as_f64().map_or(0, |number| number.floor() as i128);
    let ceil = |number: &Number| number.as_f64().map_or(0, |number| number.ceil() as i128);
    let exact = |number: &Number, or: &dyn Fn(&Number) -> i128| whole(number).unwrap_or_else(|| or(number));
    let lows = [
        bound("minimum").map(|number| exact(number, &ceil)),
        bound("exclusiveMinimum").map(|number| exact(number, &floor) + 1),
    ];
    let highs = [
        bound("maximum").map(|number| exact(number, &floor)),
        bound("exclusiveMaximum").map(|number| exact(number, &ceil) - 1),
    ];
    let low = lows.into_iter().flatten().max();
    let high = highs.into_iter().flatten().min();
    let (low, high) = match (low, high) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) => (low, low.max(0) + USUAL * step),
        (None, Some(high)) => (high.min(0) - USUAL * step, high),
        (None, None) => (0, USUAL * step),
    };
    let (first, last) = (low.div_euclid(step) + i128::from(low.rem_euclid(step) != 0), high.div_euclid(step));
    if first > last {
        return Err(Problem::new("no whole number is allowed"));
    }
    let count = u64::try_from(last - first + 1).unwrap_or(u64::MAX);
    let made = (first + i128::from(random.below(count))) * step;
    let number = i64::try_from(made).map(Value::from).or_else(|_| u64::try_from(made).map(Value::from));
    number.map_err(|_| Problem::new("only numbers of more than 64 bits are allowed"))
}

pub(super) fn number(members: &Map<String, Value>, random: &mut Random) -> Result<Value, Problem> {
    let bound = |name: &str| members.get(name).and_then(Value::as_f64);
    if members.contains_key("multipleOf") {
        return integer(members, random)
            .map_err(|_| Problem::new("multipleOf of a number that is not whole"));
    }
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
    // Short ones first, as people write them; then any.
    let exact = low + (high - low) * random.unit();
    let candidates = [(exact * 100.0).round() / 100.0, exact, low + (high - low) / 2.0, low, high];
    let made = candidates.into_iter().filter(|number| number.is_finite()).find(is_allowed);
    made.and_then(Number::from_f64).map(Value::Number).ok_or_else(|| Problem::new("no number is allowed"))
}

fn whole(number: &Number) -> Option<i128> {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    whole.or_else(|| {
        let float = number.as_f64()?;
        #[expect(clippy::cast_precision_loss, reason = "it is exact up to there")]
        let is_exact = float.fract() == 0.0 && float.abs() <= EXACT as f64;
        is_exact.then_some(float as i128)
    })
}
