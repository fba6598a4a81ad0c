//! Numbers, durations and times as people read them.

use std::time::{Duration, UNIX_EPOCH};

use crate::protocol::task::timestamp;

/// With commas: `8,388,608`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `one` of a thing, or several.
pub(super) fn several(number: u64, one: &str) -> String {
    match one.strip_suffix("ry") {
        _ if number == 1 => format!("1 {one}"),
        Some(stem) => format!("{} {stem}ries", count(number)),
        None => format!("{} {one}s", count(number)),
    }
}

/// `4.56 ms`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn duration(ns: u64) -> String {
    let three = |value: f64, unit: &str| {
        let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
        format!("{value:.digits$} {unit}")
    };
    let value = ns as f64;
    match ns {
        0 => "0 s".to_owned(),
        1..=999 => format!("{ns} ns"),
        1_000..=999_499 => three(value / 1e3, "µs"),
        999_500..=999_499_999 => three(value / 1e6, "ms"),
        999_500_000..=99_999_999_999 => three(value / 1e9, "s"),
        _ => {
            let seconds = ns / 1_000_000_000;
            let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
            match hours {
                0 => format!("{minutes} min {} s", seconds % 60),
                _ => format!("{} h {minutes} min", count(hours)),
            }
        }
    }
}

/// `2026-07-28T12:00:00.123Z`, of microseconds since 1970; 0 is none.
pub(super) fn time(us: u64) -> String {
    let at = UNIX_EPOCH.checked_add(Duration::from_micros(us)).filter(|_| us > 0);
    at.map_or_else(|| "at no known time".to_owned(), timestamp)
}

/// A number with few digits.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = match value.abs() {
        1e-3..1e7 => format!("{value:.3}"),
        _ => return format!("{value:.3e}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_read_well() {
        assert_eq!((count(0), count(999), count(8_388_608)), ("0".into(), "999".into(), "8,388,608".into()));
        let durations = [(12, "12 ns"), (4_560_000, "4.56 ms"), (45_600, "45.6 µs"), (456_000_000, "456 ms")];
        for (ns, want) in
            durations.into_iter().chain([(999_999_999, "1.00 s"), (123_000_000_000, "2 min 3 s")])
        {
            assert_eq!(duration(ns), want);
        }
        assert_eq!(duration(u64::MAX), "5,124,095 h 34 min");
        assert_eq!(time(951_782_400_500_999), "2000-02-29T00:00:00.500Z");
        assert!(!time(u64::MAX).is_empty());
        assert_eq!(several(1, "trajectory"), "1 trajectory");
        assert_eq!(
            (several(0, "trajectory"), several(2000, "byte")),
            ("0 trajectories".into(), "2,000 bytes".into())
        );
        assert_eq!(
            (number(0.5), number(-3.0), number(1e-9), number(1e12)),
            ("0.5".into(), "-3".into(), "1.000e-9".into(), "1.000e12".into())
        );
    }
}
