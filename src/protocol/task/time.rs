//! The one form of time that the protocol writes.

use std::time::{SystemTime, UNIX_EPOCH};

/// `at` in ISO 8601 as RFC 3339 narrows it, in UTC and whole milliseconds. Times before 1970 count as its beginning.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use tinymcp::protocol::task::timestamp;
///
/// assert_eq!(timestamp(UNIX_EPOCH + Duration::from_millis(951_782_400_500)), "2000-02-29T00:00:00.500Z");
/// ```
#[must_use]
pub fn timestamp(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hours, minutes, seconds) = (second / 3600, second / 60 % 60, second % 60);
    let milliseconds = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}Z")
}

/// Year, month and day of the day that is `days` after 1970-01-01.
///
/// Years are counted from March on, so that the day a leap year has more is the last one; then 400 years have
/// 146,097 days, 100 years 36,524, four years 1,461, and the months from March on have 153 days in every five.
fn date(days: u64) -> (u64, u64, u64) {
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    (era * 400 + year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn known_moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (68_255_999, "1972-02-29T23:59:59.000Z"),
            (951_868_799, "2000-02-29T23:59:59.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_785_196_800, "2026-07-28T00:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799, "9999-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        assert_eq!(timestamp(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn every_day_follows_the_one_before() {
        // Counted up by the rule of the calendar, from 1970 to 2405: more than one round of 400 years.
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..159_000 {
            assert_eq!(date(days), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }
}
