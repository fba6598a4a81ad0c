//! [`FromJson`]: reading a value, with errors that name the place.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::BuildHasher;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Json, Members, repair_surrogates};

/// What was wrong with a JSON value, and where.
///
/// Displays as `place: problem`, for example `filters[2].limit: expected an integer, found "many"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    place: String,
    problem: String,
}

impl JsonError {
    /// A problem with the value itself.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { place: String::new(), problem: problem.into() }
    }

    /// `raw` is not `what` (with its article: "a string").
    #[must_use]
    pub fn expected(what: &str, raw: &RawValue) -> Self {
        Self::new(format!("expected {what}, found {}", excerpt(raw.get())))
    }

    /// The same problem, seen from the object that holds the value as member `name`.
    #[must_use]
    pub fn inside(mut self, name: &str) -> Self {
        let dot = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        self.place = format!("{name}{dot}{}", self.place);
        self
    }

    /// The same problem, seen from the array that holds the value at `index`.
    #[must_use]
    pub fn at(self, index: usize) -> Self {
        self.inside(&format!("[{index}]"))
    }

    /// Where: member names and indices from the outside in, empty for the value itself.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What is wrong there.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.problem),
            place => write!(f, "{place}: {}", self.problem),
        }
    }
}

impl std::error::Error for JsonError {}

/// At most 40 characters of a value, for error messages.
fn excerpt(text: &str) -> String {
    shortened(text, 40)
}

/// At most so many characters, and a sign if there were more.
pub(crate) fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// A type that can be read from JSON text.
///
/// Implemented for the usual types; [`data!`](crate::data) implements it for structs and enums.
///
/// Models often write a number as a string. So an integer also accepts `"30"` and `30.0`, a boolean `"true"`, and an
/// object or list its own JSON text in a string. A string is never made out of anything else.
pub trait FromJson: Sized {
    /// Reads `raw`.
    ///
    /// # Errors
    /// When the value has another type or is out of range.
    fn from_json(raw: &RawValue) -> Result<Self, JsonError>;

    /// The value of a missing member; `None` if there must be one.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }

    /// Whether this value is written by leaving its member out.
    fn is_absent(&self) -> bool {
        false
    }

    /// Whether a value of the wrong type may be treated as absent. Only wire types use this.
    const OPTIONAL: bool = false;
}

impl<T: FromJson> FromJson for Option<T> {
    const OPTIONAL: bool = true;
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        if raw.get() == "null" { Ok(None) } else { T::from_json(raw).map(Some) }
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

/// `T` from text, once more with lone surrogates replaced if that is what is wrong with it.
fn parse<'a, T: Deserialize<'a>>(raw: &'a RawValue, repaired: &'a mut String) -> Option<T> {
    if let Ok(value) = serde_json::from_str(raw.get()) {
        return Some(value);
    }
    *repaired = repair_surrogates(raw.get())?;
    let value = serde_json::from_str(repaired).ok()?;
    log::debug!("replaced a lone surrogate by U+FFFD in {}", excerpt(raw.get()));
    Some(value)
}

impl FromJson for String {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        parse(raw, &mut String::new()).ok_or_else(|| JsonError::expected("a string", raw))
    }
}

/// The string in `raw`, borrowed unless it has escapes.
pub(crate) fn string(raw: &RawValue) -> Result<Cow<'_, str>, JsonError> {
    let inner = raw.get().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match inner.filter(|text| !text.contains('\\')) {
        Some(text) => Ok(Cow::Borrowed(text)),
        None => String::from_json(raw).map(Cow::Owned),
    }
}

impl FromJson for bool {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        match raw.get() {
            "true" | "\"true\"" => Ok(true),
            "false" | "\"false\"" => Ok(false),
            _ => Err(JsonError::expected("a boolean", raw)),
        }
    }
}

/// The text of a number that may stand in quotes.
fn number_text(raw: &RawValue) -> &str {
    let text = raw.get();
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).map_or(text, str::trim)
}

/// The integer that `text` spells in any of JSON's ways (`30`, `30.0`, `3e1`), if it is one. Digits
/// are moved, not computed with, so that large integers stay exact.
fn integer(text: &str) -> Option<i128> {
    if let Ok(n) = text.parse() {
        return Some(n);
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let zeros = usize::try_from(exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?).ok()?;
    // 40 digits are more than an i128 has: no need to build the rest.
    (zeros <= 40).then(|| format!("{whole}{fraction}{}", "0".repeat(zeros)).parse().ok())?
}

macro_rules! integers {
    ($($int:ident)*) => {$(
        impl FromJson for $int {
            fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
                let text = number_text(raw);
                if let Ok(n) = text.parse() {
                    return Ok(n);
                }
                match integer(text) {
                    Some(n) => Self::try_from(n).map_err(|_| {
                        let text = excerpt(text);
                        JsonError::new(format!("{text} is not between {} and {}", Self::MIN, Self::MAX))
                    }),
                    None => Err(JsonError::expected("an integer", raw)),
                }
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize i128);

impl FromJson for f64 {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let text = number_text(raw);
        // Rust also reads "inf" and "nan", which are no JSON numbers.
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
        match text.parse::<Self>() {
            Ok(n) if is_number && n.is_finite() => Ok(n),
            _ => Err(JsonError::expected("a number", raw)),
        }
    }
}

impl FromJson for f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounding to the nearest f32 is what is asked for")]
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        f64::from_json(raw).map(|n| n as Self)
    }
}

impl FromJson for Value {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        parse(raw, &mut String::new()).ok_or_else(|| JsonError::expected("a JSON value", raw))
    }
}

impl FromJson for Json {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        Ok(Self::from_raw(raw))
    }
}

/// How deep a recursive type or schema may be nested in itself: as deep as serde_json reads.
pub(super) const MAX_DEPTH: usize = 128;

thread_local! {
    /// How many calls of [`nested`] are under way.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Does `work`, which may come here again for what is inside; `None` when that is too deep. JSON itself is split without
/// recursion, so nothing but this keeps a peer from overflowing the stack, which ends the process.
pub(crate) fn nested<T>(work: impl FnOnce() -> T) -> Option<T> {
    struct Level;
    impl Drop for Level {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    if DEPTH.get() >= MAX_DEPTH {
        return None;
    }
    DEPTH.set(DEPTH.get() + 1);
    let _level = Level;
    Some(work())
}

/// Reads an object that may contain another of its type, and may also arrive as JSON text inside a string.
pub(crate) fn nested_object<T>(
    raw: &RawValue,
    read: impl Fn(&mut Members<'_>) -> Result<T, JsonError>,
) -> Result<T, JsonError> {
    let read = || through_string(raw, '{', |raw| read(&mut Members::of(raw)?));
    nested(read).unwrap_or_else(|| Err(JsonError::new(format!("nested more than {MAX_DEPTH} levels deep"))))
}

/// Reads a list or object that may also arrive as JSON text inside a string.
fn through_string<T>(
    raw: &RawValue,
    opening: char,
    read: impl Fn(&RawValue) -> Result<T, JsonError>,
) -> Result<T, JsonError> {
    if !raw.get().starts_with('"') {
        return read(raw);
    }
    match String::from_json(raw).ok().filter(|text| text.trim_start().starts_with(opening)) {
        Some(text) => match serde_json::from_str::<&RawValue>(&text) {
            Ok(inner) => read(inner),
            Err(_) => read(raw),
        },
        None => read(raw),
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        through_string(raw, '[', |raw| {
            let items: Vec<&RawValue> =
                serde_json::from_str(raw.get()).map_err(|_| JsonError::expected("a list", raw))?;
            items.into_iter().enumerate().map(|(i, item)| T::from_json(item).map_err(|e| e.at(i))).collect()
        })
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        through_string(raw, '{', |raw| entries(raw).and_then(Iterator::collect))
    }
}

impl<T: FromJson, S: BuildHasher + Default> FromJson for HashMap<String, T, S> {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        through_string(raw, '{', |raw| entries(raw).and_then(Iterator::collect))
    }
}

fn entries<T: FromJson>(
    raw: &RawValue,
) -> Result<impl Iterator<Item = Result<(String, T), JsonError>>, JsonError> {
    let members = Members::of(raw)?.rest();
    let members: Vec<(String, Json)> = members.iter().map(|(k, v)| (k.to_owned(), v.clone())).collect();
    Ok(members.into_iter().map(|(name, value)| match T::from_json(value.as_raw()) {
        Ok(value) => Ok((name, value)),
        Err(e) => Err(e.inside(&name)),
    }))
}

impl<T: FromJson> FromJson for Box<T> {
    const OPTIONAL: bool = T::OPTIONAL;
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        T::from_json(raw).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: FromJson>(text: &str) -> Result<T, String> {
        T::from_json(Json::parse(text).expect("valid JSON").as_raw()).map_err(|e| e.to_string())
    }

    #[test]
    fn integers_accept_every_spelling_of_the_same_number() {
        for text in ["30", "30.0", "\"30\"", "3e1", "\" 30 \"", "\"30.00\""] {
            assert_eq!(read::<u8>(text), Ok(30), "{text}");
        }
        assert_eq!(read::<u64>("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(read::<i64>("9007199254740993.0"), Ok(9_007_199_254_740_993));
        assert_eq!(read::<u8>("300"), Err("300 is not between 0 and 255".into()));
        assert_eq!(read::<u8>("1.5"), Err("expected an integer, found 1.5".into()));
        assert_eq!(read::<u8>("\"many\""), Err("expected an integer, found \"many\"".into()));
        assert_eq!(read::<u8>("null"), Err("expected an integer, found null".into()));
        for text in ["1e400", "1.5e-2147483648", "1e99999999999"] {
            assert_eq!(read::<u8>(text), Err(format!("expected an integer, found {text}")));
        }
    }

    #[test]
    fn a_string_is_never_made_of_something_else() {
        assert_eq!(read::<String>("5"), Err("expected a string, found 5".into()));
        assert_eq!(read::<String>(r#""cut \ud83d""#), Ok("cut \u{fffd}".into()));
    }

    #[test]
    fn errors_name_the_place() {
        let error = read::<BTreeMap<String, Vec<u8>>>(r#"{"a": [1, "x"]}"#).expect_err("x is no number");
        assert_eq!(error, "a[1]: expected an integer, found \"x\"");
    }

    #[test]
    fn lists_and_objects_may_come_as_text() {
        assert_eq!(read::<Vec<u8>>("\"[1, 2]\""), Ok(vec![1, 2]));
        assert_eq!(read::<Vec<u8>>("\"1, 2\""), Err("expected a list, found \"1, 2\"".into()));
    }

    #[test]
    fn floats_are_json_numbers() {
        assert_eq!(read::<f64>("\"1.5\""), Ok(1.5));
        assert!(read::<f64>("\"nan\"").is_err());
        assert!(read::<f64>("1e400").is_err());
    }
}
