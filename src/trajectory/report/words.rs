//! Numbers, durations and times as people read them.

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
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
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
        0..=999 => format!("{ns} ns"),
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

/// `2026-07-28 12:00:00.123 UTC`, of microseconds since 1970.
pub(super) fn time(us: u64) -> String {
    let (days, of_day) = (us / 86_400_000_000, us % 86_400_000_000);
    let (year, month, day) = date(days);
    let ms = of_day / 1000;
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{:03} UTC", ms % 1000)
}

/// Year, month and day in the Gregorian calendar of a number of days since 1970.
fn date(days: u64) -> (u64, u64, u64) {
    // Counted from 1 March of year 0, so that a leap day is the last of its year; in periods of 400 years.
    let days = days + 719_468;
    let (period, of_period) = (days / 146_097, days % 146_097);
    let year = (of_period - of_period / 1460 + of_period / 36_524 - of_period / 146_096) / 365;
    let of_year = of_period - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (period * 400 + year + next, month, day)
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
        for (us, want) in [
            (0, "1970-01-01 00:00:00.000 UTC"),
            (951_782_399_999_000, "2000-02-28 23:59:59.999 UTC"),
            (951_782_400_000_000, "2000-02-29 00:00:00.000 UTC"),
            (1_785_196_800_000_000, "2026-07-28 00:00:00.000 UTC"),
            (4_107_542_400_000_000, "2100-03-01 00:00:00.000 UTC"),
        ] {
            assert_eq!(time(us), want);
        }
        assert!(time(u64::MAX).starts_with("586524-"));
        assert_eq!(
            (number(0.5), number(-3.0), number(1e-9), number(1e12)),
            ("0.5".into(), "-3".into(), "1.000e-9".into(), "1.000e12".into())
        );
    }
}
