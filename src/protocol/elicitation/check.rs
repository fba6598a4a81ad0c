//! Whether the values of a form are those that were asked for.

use serde_json::value::RawValue;

#[cfg(feature = "validation")]
use crate::json::Validator;
use crate::json::{FromJson, Json, JsonError, Object};

use super::{
    MultiSelectEnumSchema, NumberKind, NumberSchema, PrimitiveSchema, RequestedSchema,
    SingleSelectEnumSchema, StringFormat, StringSchema,
};

impl RequestedSchema {
    /// Whether `content` has what the form asks for: every required field, and in each field a value of its type, length,
    /// range and choice. `null` is no value. Fields of an unknown kind, and values that were not asked for, are not judged.
    ///
    /// Formats are judged by their shape, and not by whether something is there: an e-mail address has one `@` between a name
    /// and a domain; a URI has a scheme and no spaces; a date is a day of the calendar, and a date-time such a day with a time
    /// and its offset from UTC. Unknown formats are not judged.
    ///
    /// With the feature `validation` the values are then compared with all that the schema says, a `pattern` or a field of
    /// an unknown kind for example.
    ///
    /// # Errors
    /// All that is wrong, in the order of the fields.
    pub fn check(&self, content: &Object) -> Result<(), Vec<JsonError>> {
        let mut problems = Vec::new();
        for (name, field) in &self.properties {
            if let Some(value) = content.json(name).filter(|value| value.as_str() != "null") {
                problems.extend(field.check(value.as_raw()).err().map(|e| e.inside(name)));
            }
        }
        for name in &self.required {
            if content.json(name).is_none_or(|value| value.as_str() == "null") {
                problems.push(JsonError::new("missing").inside(name));
            }
        }
        #[cfg(feature = "validation")]
        if problems.is_empty() {
            self.check_schema(content, &mut problems);
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Compares what has been read as its kind with the schema as it was written.
    #[cfg(feature = "validation")]
    fn check_schema(&self, content: &Object, problems: &mut Vec<JsonError>) {
        let schema = match Json::new(self).map(|schema| Validator::compile(&schema)) {
            Ok(Ok(schema)) => schema,
            // The kinds have been judged; whoever wrote the rest did not write a schema.
            Ok(Err(e)) => return log::warn!("a form is not judged by its schema: {e}"),
            Err(e) => return log::warn!("a form is not judged by its schema: {e}"),
        };
        let given = content.iter().filter(|(_, value)| value.as_str() != "null");
        let given: Object = given.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        problems.extend(schema.check(Json::from(given).as_raw()).err().into_iter().flatten());
    }
}

impl PrimitiveSchema {
    fn check(&self, raw: &RawValue) -> Result<(), JsonError> {
        match self {
            Self::String(field) => field.check(raw),
            Self::Number(field) => field.check(raw),
            Self::Boolean(_) if matches!(raw.get(), "true" | "false") => Ok(()),
            Self::Boolean(_) => Err(JsonError::expected("a boolean", raw)),
            Self::SingleSelect(field) => field.check(raw),
            Self::MultiSelect(field) => field.check(raw),
            Self::Unknown(_) => Ok(()),
        }
    }
}

/// "at least 1 character", "at most 3 items".
fn limit(bound: &str, n: u64, one: &str, found: u64) -> JsonError {
    let plural = if n == 1 { "" } else { "s" };
    JsonError::new(format!("expected at {bound} {n} {one}{plural}, found {found}"))
}

fn check_count(found: usize, min: Option<u64>, max: Option<u64>, one: &str) -> Result<(), JsonError> {
    let found = found as u64;
    match (min, max) {
        (Some(min), _) if found < min => Err(limit("least", min, one, found)),
        (_, Some(max)) if found > max => Err(limit("most", max, one, found)),
        _ => Ok(()),
    }
}

impl StringSchema {
    fn check(&self, raw: &RawValue) -> Result<(), JsonError> {
        let text = String::from_json(raw)?;
        check_count(text.chars().count(), self.min_length, self.max_length, "character")?;
        let (fits, what) = match &self.format {
            Some(StringFormat::Email) => (is_email(&text), "an e-mail address"),
            Some(StringFormat::Uri) => (is_uri(&text), "a URI"),
            Some(StringFormat::Date) => (is_date(&text), "a date such as 2026-07-28"),
            Some(StringFormat::DateTime) => (is_date_time(&text), "a date-time such as 2026-07-28T12:00:00Z"),
            Some(StringFormat::Unknown(_)) | None => (true, ""),
        };
        if fits { Ok(()) } else { Err(JsonError::expected(what, raw)) }
    }
}

impl NumberSchema {
    fn check(&self, raw: &RawValue) -> Result<(), JsonError> {
        let whole = self.kind == NumberKind::Integer;
        let what = if whole { "an integer" } else { "a number" };
        // What stands in quotes is read leniently elsewhere; here it is not what was asked for.
        let number =
            f64::from_json(raw).ok().filter(|n| !raw.get().starts_with('"') && (!whole || n.trunc() == *n));
        let n = number.ok_or_else(|| JsonError::expected(what, raw))?;
        match (self.minimum, self.maximum) {
            (Some(min), _) if n < min => Err(JsonError::new(format!("expected at least {min}, found {n}"))),
            (_, Some(max)) if n > max => Err(JsonError::new(format!("expected at most {max}, found {n}"))),
            _ => Ok(()),
        }
    }
}

/// Refuses a value that is none of `options`, of which it names the first ones.
fn check_choice<'a>(
    raw: &RawValue,
    chosen: &str,
    mut options: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Result<(), JsonError> {
    const NAMED: usize = 10;
    if options.clone().any(|(value, _)| value == chosen) {
        return Ok(());
    }
    let mut names: Vec<_> = options.by_ref().take(NAMED).map(|(value, _)| format!("{value:?}")).collect();
    if options.next().is_some() {
        names.push("…".to_owned());
    }
    Err(JsonError::expected(&format!("one of {}", names.join(", ")), raw))
}

impl SingleSelectEnumSchema {
    fn check(&self, raw: &RawValue) -> Result<(), JsonError> {
        check_choice(raw, &String::from_json(raw)?, self.options())
    }
}

impl MultiSelectEnumSchema {
    fn check(&self, raw: &RawValue) -> Result<(), JsonError> {
        if !raw.get().starts_with('[') {
            return Err(JsonError::expected("a list", raw));
        }
        let chosen = <Vec<Json>>::from_json(raw)?;
        check_count(chosen.len(), self.min_items, self.max_items, "item")?;
        for (at, item) in chosen.iter().enumerate() {
            let fits = String::from_json(item.as_raw())
                .and_then(|text| check_choice(item.as_raw(), &text, self.options()));
            fits.map_err(|e| e.at(at))?;
        }
        Ok(())
    }
}

fn is_email(text: &str) -> bool {
    let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '@' | '<' | '>' | ',');
    let Some((name, domain)) = text.split_once('@') else { return false };
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    !name.is_empty() && !name.contains(bad) && domain.split('.').all(label)
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let bad = |c: char| c.is_whitespace() || c.is_control() || "<>\"{}|\\^`".contains(c);
    let mut escapes = rest.split('%').skip(1);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
        && !rest.is_empty()
        && !rest.contains(bad)
        && escapes.all(|after| {
            after.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        })
}

/// The number that exactly `len` digits spell.
fn digits(text: &str, len: usize) -> Option<u32> {
    (text.len() == len && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// `hh:mm`.
fn is_clock(text: &str) -> bool {
    let Some((hour, minute)) = text.split_once(':') else { return false };
    digits(hour, 2).is_some_and(|hour| hour < 24) && digits(minute, 2).is_some_and(|minute| minute < 60)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else { return false };
    // RFC 3339: the time ends with its offset from UTC.
    let time = match time.strip_suffix(['Z', 'z']) {
        Some(time) => time,
        None => match time.rsplit_once(['+', '-']) {
            Some((time, offset)) if is_clock(offset) => time,
            _ => return false,
        },
    };
    let Some((clock, seconds)) = time.rsplit_once(':') else { return false };
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    is_date(date)
        && is_clock(clock)
        // 60 is a leap second.
        && digits(seconds, 2).is_some_and(|second| second <= 60)
        && !fraction.is_empty()
        && fraction.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    /// What is wrong with the value `value` of `field`, or nothing.
    fn problem(field: impl Into<PrimitiveSchema>, value: &str) -> String {
        let form = RequestedSchema::new().required("x", field);
        let content: Object =
            Json::parse(&format!(r#"{{"x":{value}}}"#)).expect("JSON").to().expect("an object");
        let problems = form.check(&content).err().unwrap_or_default();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn values_are_judged_by_their_field() {
        let text = || PrimitiveSchema::text().with_length(1, 3);
        let number = || PrimitiveSchema::number().with_range(0.5, 9);
        let integer = || PrimitiveSchema::integer().with_range(1, 9);
        let choice = || PrimitiveSchema::titled_choice([("a", "A"), ("b", "B")]);
        let choices = || PrimitiveSchema::choices(["a", "b"]).with_items(1, 1);
        let cases: [(PrimitiveSchema, &str, &str); 27] = [
            (text().into(), r#""äöü""#, ""),
            (text().into(), r#""""#, "x: expected at least 1 character, found 0"),
            (text().into(), r#""four""#, "x: expected at most 3 characters, found 4"),
            (text().into(), "5", "x: expected a string, found 5"),
            (text().into(), "null", "x: missing"),
            (number().into(), "0.5", ""),
            (number().into(), "9", ""),
            (number().into(), "0.25", "x: expected at least 0.5, found 0.25"),
            (number().into(), "10", "x: expected at most 9, found 10"),
            (number().into(), r#""5""#, r#"x: expected a number, found "5""#),
            (integer().into(), "3.0", ""),
            (integer().into(), "3.5", "x: expected an integer, found 3.5"),
            (integer().into(), "true", "x: expected an integer, found true"),
            (PrimitiveSchema::boolean().into(), "false", ""),
            (PrimitiveSchema::boolean().into(), r#""true""#, r#"x: expected a boolean, found "true""#),
            (choice().into(), r#""b""#, ""),
            (choice().into(), r#""B""#, r#"x: expected one of "a", "b", found "B""#),
            (choice().into(), "1", "x: expected a string, found 1"),
            (choices().into(), r#"["a"]"#, ""),
            (choices().into(), "[]", "x: expected at least 1 item, found 0"),
            (choices().into(), r#"["a","b"]"#, "x: expected at most 1 item, found 2"),
            (choices().into(), r#"["c"]"#, r#"x[0]: expected one of "a", "b", found "c""#),
            (choices().into(), "[1]", "x[0]: expected a string, found 1"),
            (choices().into(), r#""a""#, r#"x: expected a list, found "a""#),
            (choices().into(), r#""[]""#, r#"x: expected a list, found "[]""#),
            (PrimitiveSchema::Unknown(Json::null()), "[[]]", ""),
            (
                PrimitiveSchema::choice((0..12).map(|n| n.to_string())).into(),
                r#""x""#,
                r#"x: expected one of "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", …, found "x""#,
            ),
        ];
        for (field, value, want) in cases {
            assert_eq!(problem(field, value), want, "{value}");
        }
    }

    #[test]
    fn names_of_old_choices_belong_to_their_values() {
        let text = r#"{"type":"string","enum":["a","b"],"enumNames":["A"]}"#;
        let Ok(PrimitiveSchema::SingleSelect(field)) =
            PrimitiveSchema::from_json(Json::parse(text).expect("JSON").as_raw())
        else {
            panic!("no choice")
        };
        assert_eq!(field.options().collect::<Vec<_>>(), [("a", "A"), ("b", "b")]);
        assert_eq!(problem(field, r#""b""#), "");
    }

    #[test]
    fn all_problems_are_told_and_what_was_not_asked_for_is_not_judged() {
        let form = RequestedSchema::new()
            .required("a", PrimitiveSchema::text())
            .required("b", PrimitiveSchema::integer())
            .optional("c", PrimitiveSchema::boolean());
        let content: Object =
            Json::parse(r#"{"b":"x","c":1,"d":[]}"#).expect("JSON").to().expect("an object");
        let problems = form.check(&content).expect_err("wrong");
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [r#"b: expected an integer, found "x""#, "c: expected a boolean, found 1", "a: missing"]
        );
        let content: Object = Json::parse(r#"{"a":"","b":1,"d":[]}"#).expect("JSON").to().expect("an object");
        assert_eq!(form.check(&content), Ok(()));
    }

    #[test]
    fn formats_are_judged_by_shape() {
        type Judge = fn(&str) -> bool;
        let cases: [(Judge, &[&str], &[&str]); 4] = [
            (
                is_email,
                &["a@b", "ada.l+x@mail.example.com", "jörg@bücher.example", "o'hara@example.com"],
                &["", "a", "@b", "a@", "a@b@c", "a b@c", "a@b c", "a@.b", "a@b.", "a@-b", "<a@b>", "a\n@b"],
            ),
            (
                is_uri,
                &[
                    "https://example.com/a?b=%20#c",
                    "mailto:a@b",
                    "urn:isbn:1",
                    "file:///tmp",
                    "https://bücher.example",
                ],
                &[
                    "",
                    "a",
                    "/a",
                    ":a",
                    "a:",
                    "1a:b",
                    "https://a b",
                    "https://a/%2",
                    "https://a/%zz",
                    "a_b:c",
                    "a:{b}",
                ],
            ),
            (
                is_date,
                &["2026-07-28", "2024-02-29", "2000-02-29", "0001-01-01"],
                &[
                    "",
                    "2026-7-28",
                    "2026-13-01",
                    "2026-00-01",
                    "2026-02-29",
                    "1900-02-29",
                    "2026-04-31",
                    "2026-01-00",
                    "2026-01-01T",
                    "+026-01-01",
                    "2026-01-01-01",
                ],
            ),
            (
                is_date_time,
                &[
                    "2026-07-28T12:00:00Z",
                    "2026-07-28t23:59:60.123z",
                    "2026-07-28T00:00:00-05:30",
                    "2026-07-28T00:00:00.5+14:00",
                ],
                &[
                    "",
                    "2026-07-28",
                    "2026-07-28T12:00:00",
                    "2026-07-28T12:00Z",
                    "2026-07-28T24:00:00Z",
                    "2026-07-28T12:60:00Z",
                    "2026-07-28T12:00:61Z",
                    "2026-07-28T12:00:00.Z",
                    "2026-07-28T12:00:00+5",
                    "2026-02-30T12:00:00Z",
                    "2026-07-28 12:00:00Z",
                ],
            ),
        ];
        for (judge, right, wrong) in cases {
            for text in right {
                assert!(judge(text), "{text}");
            }
            for text in wrong {
                assert!(!judge(text), "{text}");
            }
        }
        let mail = PrimitiveSchema::text().with_format(StringFormat::Email);
        assert_eq!(problem(mail, r#""a""#), r#"x: expected an e-mail address, found "a""#);
        let odd = PrimitiveSchema::text().with_format(StringFormat::Unknown("color".into()));
        assert_eq!(problem(odd, r#""a""#), "");
    }
}
