//! The names that tools have with the host: `server__tool`.
//!
//! **Invariants:** a name depends on the server's name and the tool's alone, so that it is the same in every run; it is one that
//! every model's interface takes: `[A-Za-z0-9_-]`, 1 to 64 characters.

/// The longest name that models' interfaces take.
const MAX: usize = 64;

/// Between the server's name and the tool's.
const BETWEEN: &str = "__";

/// The name of `tool` on `server`. Characters that are not allowed become `_`; what is too long is cut, and ends in a number made
/// of the whole. Two tools can come to the same name, which is found out where they are kept.
///
/// ```
/// use tinymcp::host::tool_name;
///
/// assert_eq!(tool_name("notes", "create_note"), "notes__create_note");
/// assert_eq!(tool_name("my files", "read.file"), "my_files__read_file");
/// let long = tool_name("archive", &"very_".repeat(20));
/// assert_eq!((long.len(), &long[..20]), (64, "archive__very_very_v"));
/// assert_ne!(long, tool_name("archive", &"very_".repeat(21)));
/// ```
#[must_use]
pub fn tool_name(server: &str, tool: &str) -> String {
    let whole = format!("{server}{BETWEEN}{tool}");
    let name: String = whole.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    if name.len() <= MAX {
        return name;
    }
    let number = format!("_{:08x}", hash(&whole));
    let kept = &name[..MAX - number.len()];
    format!("{kept}{number}")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_allowed_everywhere_and_stay_the_same() {
        let long = "t".repeat(200);
        let snowmen = "☃".repeat(40);
        for (server, tool, name) in [
            ("a", "b", "a__b"),
            ("a__b", "c", "a__b__c"),
            ("a", "b__c", "a__b__c"),
            ("é", "x/y", "___x_y"),
            ("s", &long, &format!("s__{}_{:08x}", "t".repeat(52), hash(&format!("s__{long}")))),
            ("s", &snowmen, &format!("s__{}", "_".repeat(40))),
        ] {
            let made = tool_name(server, tool);
            assert_eq!(made, name);
            assert!(made.len() <= MAX && made.chars().all(is_allowed));
        }
        // It is written into files of users: the same for ever.
        assert_eq!(hash("archive__very"), 0xfa17_0135);
    }
}
