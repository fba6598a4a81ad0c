//! Which texts are paths beneath a folder. Pure: no file is looked at.

use std::path::{Component, Path, PathBuf};

/// Systems differ; Linux takes 4,096 with the end marker.
const MAX_PATH_BYTES: usize = 4095;

/// How much of a path an error repeats.
const SHOWN_CHARS: usize = 200;

/// What Windows takes for a device, whatever follows after a dot.
const DEVICES: [&str; 28] = [
    "con", "prn", "aux", "nul", "conin$", "conout$", "com0", "com1", "com2", "com3", "com4", "com5", "com6",
    "com7", "com8", "com9", "lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
    "clock$", "config$",
];

/// Which names are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Those that mean the same on every system.
    Portable,
    /// Those that this system takes.
    Native,
}

/// `path` without `.`, `..` and doubled separators; `.` for the folder itself.
///
/// # Errors
/// When it is no path beneath a folder: the text says what is wrong with it.
pub(super) fn clean(path: &Path, names: Names) -> Result<PathBuf, &'static str> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_portable = names == Names::Portable || cfg!(windows);
    if bytes.is_empty() {
        return Err("the path is empty");
    }
    if bytes.len() > MAX_PATH_BYTES {
        return Err("the path is longer than 4095 bytes");
    }
    if bytes.contains(&0) {
        return Err("the path has a NUL byte");
    }
    if is_portable {
        if bytes.iter().any(|byte| *byte < b' ' || *byte == 0x7f) {
            return Err("the path has a control character");
        }
        if bytes.starts_with(br"\") || matches!(bytes, [letter, b':', ..] if letter.is_ascii_alphabetic()) {
            return Err("the path is absolute; name it from the folder on");
        }
        if bytes.contains(&b'\\') {
            return Err(r"the path has a \; folders are separated by /");
        }
        if bytes.contains(&b':') {
            return Err("the path has a colon");
        }
    }
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Prefix(_) | Component::RootDir => {
                return Err("the path is absolute; name it from the folder on");
            }
            Component::CurDir => {}
            Component::ParentDir => {
                if !cleaned.pop() {
                    return Err("the path leads out of the folder");
                }
            }
            Component::Normal(name) => {
                if is_portable {
                    portable(name.as_encoded_bytes())?;
                }
                cleaned.push(name);
            }
        }
    }
    if cleaned.as_os_str().is_empty() {
        cleaned.push(".");
    }
    Ok(cleaned)
}

/// Whether a name means the same on every system.
fn portable(name: &[u8]) -> Result<(), &'static str> {
    if name.ends_with(b".") || name.ends_with(b" ") {
        return Err("a name in the path ends with a dot or a space, which some systems leave away");
    }
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or(name).trim_ascii_end().to_ascii_lowercase();
    // Windows takes the superscript digits for digits.
    let stem = String::from_utf8_lossy(&stem).replace('¹', "1").replace('²', "2").replace('³', "3");
    if DEVICES.contains(&&*stem) {
        return Err("a name in the path is that of a device on some systems");
    }
    Ok(())
}

/// `path` for messages: on one line, and not too long.
pub(super) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let mut shown = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == SHOWN_CHARS {
            shown.push('…');
            break;
        }
        let is_hidden = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if is_hidden { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned() {
        for (path, want) in [
            ("a.txt", "a.txt"),
            ("./a//b/./c/", "a/b/c"),
            ("a/../b", "b"),
            ("a/b/../../c", "c"),
            ("a/..", "."),
            (".", "."),
            ("./", "."),
            ("~/x", "~/x"),
            (".hidden/..x", ".hidden/..x"),
            ("%2e%2e/x", "%2e%2e/x"),
            ("Grüße/世界", "Grüße/世界"),
            ("console/com10/nulls.txt", "console/com10/nulls.txt"),
        ] {
            for names in [Names::Portable, Names::Native] {
                assert_eq!(clean(Path::new(path), names).as_deref(), Ok(Path::new(want)), "{path}");
            }
        }
    }

    #[test]
    fn what_leaves_is_refused_under_any_rules() {
        let long = "a/".repeat(2500);
        for (path, problem) in [
            ("", "empty"),
            ("..", "leads out"),
            ("a/../../b", "leads out"),
            ("../a", "leads out"),
            ("./..", "leads out"),
            ("/", "absolute"),
            ("/etc/passwd", "absolute"),
            ("//server/share", "absolute"),
            ("a\0b", "NUL"),
            (&long, "4095"),
        ] {
            for names in [Names::Portable, Names::Native] {
                let error = clean(Path::new(path), names).expect_err(path);
                assert!(error.contains(problem), "{path}: {error}");
            }
        }
    }

    #[test]
    fn what_another_system_reads_differently_is_refused_unless_allowed() {
        for (path, problem) in [
            ("..\\..\\x", "separated by /"),
            ("a\\b", "separated by /"),
            ("\\\\server\\share", "absolute"),
            ("\\\\?\\C:\\x", "absolute"),
            ("C:", "absolute"),
            ("c:x", "absolute"),
            ("C:/Windows", "absolute"),
            ("a:stream", "absolute"),
            ("file.txt:stream", "colon"),
            ("a/b::$DATA", "colon"),
            ("a./b", "dot or a space"),
            ("a/...", "dot or a space"),
            ("a /b", "dot or a space"),
            (".. /b", "dot or a space"),
            ("con", "device"),
            ("a/NUL", "device"),
            ("Aux.txt", "device"),
            ("com1.tar.gz", "device"),
            ("lpt¹", "device"),
            ("com1 .txt", "device"),
            ("a\nb", "control"),
            ("a\u{7f}", "control"),
        ] {
            let error = clean(Path::new(path), Names::Portable).expect_err(path);
            assert!(error.contains(problem), "{path}: {error}");
            if cfg!(unix) {
                assert!(clean(Path::new(path), Names::Native).is_ok(), "{path}");
            }
        }
    }

    #[test]
    fn messages_stay_on_one_line() {
        assert_eq!(shown(Path::new("a\n\u{1b}[2J\u{202e}b")), "a\\u{a}\\u{1b}[2J\\u{202e}b");
        assert_eq!(shown(Path::new(&"x".repeat(1000))).chars().count(), 201);
    }
}
