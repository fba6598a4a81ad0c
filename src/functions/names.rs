//! Names that every model's interface takes: `[A-Za-z0-9_-]`, 1 to 64 characters.

use std::collections::BTreeSet;

/// The longest name.
const MAX: usize = 64;

/// `name` as it is taken: other characters become `_`; what is too long is cut, and ends in a number made of the whole. It depends on
/// the name alone, in every version.
pub(crate) fn fitted(name: &str) -> String {
    let allowed: String = name.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    match allowed.len() {
        0 => "_".to_owned(),
        1..=MAX => allowed,
        _ => ending(&allowed, &format!("_{:08x}", hash(name))),
    }
}

fn ending(name: &str, end: &str) -> String {
    format!("{}{end}", &name[..name.len().min(MAX - end.len())])
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// FNV-1a, both halves of its 64 bits together. Written out, as std's hash may change between versions.
fn hash(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    #[expect(clippy::cast_possible_truncation, reason = "the halves are wanted")]
    let (high, low) = ((hash >> 32) as u32, hash as u32);
    high ^ low
}

/// The names for all of these, no two of them equal. Those that fit stay as they are, whatever becomes of others.
pub(super) fn all<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut taken: BTreeSet<String> =
        names.clone().filter(|name| fitted(name) == *name).map(str::to_owned).collect();
    let mut one = |name: &str| {
        let plain = fitted(name);
        if plain == name {
            return plain;
        }
        let mut free = plain.clone();
        for number in 2_u32.. {
            if taken.insert(free.clone()) {
                break;
            }
            free = ending(&plain, &format!("_{number}"));
        }
        free
    };
    names.map(&mut one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_everywhere_and_stay_the_same() {
        let long = "t".repeat(200);
        for (name, wanted) in [
            ("read_file", "read_file"),
            ("files.read/one", "files_read_one"),
            ("é", "_"),
            ("", "_"),
            (&long, &format!("{}_{:08x}", "t".repeat(55), hash(&long))),
            (&"☃".repeat(40), &"_".repeat(40)),
        ] {
            let made = fitted(name);
            assert_eq!(made, wanted);
            assert!((1..=MAX).contains(&made.len()) && made.chars().all(is_allowed));
        }
        // It is written into files of users: the same for ever.
        assert_eq!(hash("archive__very"), 0xfa17_0135);
    }

    #[test]
    fn no_two_are_equal_and_plain_ones_are_left_alone() {
        let names = ["a.b", "a_b", "a/b", "a b", "c"];
        assert_eq!(all(names.into_iter()), ["a_b_2", "a_b", "a_b_3", "a_b_4", "c"]);
        let long = "x".repeat(64);
        let other = format!("{}.", &long[..63]);
        assert_eq!(all([other.as_str(), &format!("{}_", &long[..63])].into_iter())[0].len(), 64);
    }
}
