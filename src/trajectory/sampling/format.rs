//! Texts of a length or a format.

use serde_json::{Map, Value};

use super::Random;
use super::schema::Problem;
use super::shape::count;

/// The formats that texts can be made in.
pub(super) const FORMATS: [&str; 13] = [
    "date",
    "time",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "uuid",
    "regex",
    "json-pointer",
];

/// Longer ones are not made.
const LONGEST: u64 = 100_000;

/// At most `left` characters.
pub(super) fn string(
    members: &Map<String, Value>,
    left: u64,
    random: &mut Random,
) -> Result<String, Problem> {
    let number = |name: &str| members.get(name).and_then(count);
    let least = number("minLength").unwrap_or_default();
    let most = number("maxLength").unwrap_or(u64::MAX);
    if least > most {
        return Err(Problem::new("minLength above maxLength"));
    }
    if least > LONGEST.min(left) {
        return Err(Problem::new("minLength above what is made, 100,000, and 1,000,000 in all"));
    }
    if let Some(format) = members.get("format").and_then(Value::as_str) {
        // Some have several lengths.
        let mut tries = (0..300).map(|_| formatted(format, random));
        let made = tries.find(|made| (least..=most).contains(&(made.chars().count() as u64)));
        return made.ok_or_else(|| Problem::new(format!("format {format} beside minLength or maxLength")));
    }
    // Like a word, if that is allowed.
    let (short, long) = (least.max(most.min(3)), most.min(least.max(3) + 9));
    let length = short + random.below(long - short + 1);
    Ok(word(length.min(left), random))
}

fn word(length: u64, random: &mut Random) -> String {
    (0..length).map(|_| char::from(b'a' + u8::try_from(random.below(26)).unwrap_or_default())).collect()
}

fn formatted(format: &str, random: &mut Random) -> String {
    let mut two = |from: u64, to: u64| format!("{:02}", from + random.below(to - from + 1));
    let date = format!("20{}-{}-{}", two(10, 39), two(1, 12), two(1, 28));
    let time = format!("{}:{}:{}Z", two(0, 23), two(0, 59), two(0, 59));
    match format {
        "date" => date,
        "time" => time,
        "date-time" => format!("{date}T{time}"),
        "duration" => format!("PT{}M", 1 + random.below(90)),
        "email" => format!("{}@example.com", word(6, random)),
        "hostname" => format!("{}.example.com", word(6, random)),
        "ipv4" => format!("192.0.2.{}", random.below(256)),
        "ipv6" => format!("2001:db8::{:x}", random.below(65_536)),
        "uri" => format!("https://example.com/{}", word(6, random)),
        "uri-reference" => format!("/{}", word(6, random)),
        "uuid" => {
            let (a, b) = (random.bits(), random.bits());
            format!(
                "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
                a >> 32,
                a >> 16 & 0xffff,
                a & 0xfff,
                b >> 52,
                b & 0xffff_ffff_ffff
            )
        }
        "regex" => word(4, random),
        _ => format!("/{}", word(4, random)),
    }
}
