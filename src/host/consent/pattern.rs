//! Patterns of names: `*` is any text, `?` any character.

use std::fmt;

/// A pattern of names of servers or tools.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<char>);

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self(text.chars().collect())
    }

    /// Whether `name` as a whole is like the pattern. In time proportional to the product of their lengths.
    pub(super) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut to) = (0, 0);
        // Where the last `*` stands, and how far it reaches.
        let mut star: Option<(usize, usize)> = None;
        while to < name.len() {
            match self.0.get(at) {
                Some('*') => {
                    star = Some((at, to));
                    at += 1;
                }
                Some(c) if *c == '?' || *c == name[to] => {
                    at += 1;
                    to += 1;
                }
                _ => {
                    let Some((after, reached)) = star else { return false };
                    star = Some((after, reached + 1));
                    at = after + 1;
                    to = reached + 1;
                }
            }
        }
        self.0[at..].iter().all(|c| *c == '*')
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|c| write!(f, "{c}"))
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_like_patterns_as_a_whole() {
        for (pattern, yes, no) in [
            ("*", &["", "a", "a/b"][..], &[][..]),
            ("read_*", &["read_", "read_file"], &["read", "xread_file"]),
            ("*_file", &["read_file", "_file"], &["read_files"]),
            ("a?c", &["abc", "aéc"], &["ac", "abbc"]),
            ("a*b*c", &["abc", "axxbyybzc"], &["ab", "acb"]),
            ("", &[""], &["a"]),
            ("a", &["a"], &["A", "aa"]),
        ] {
            let pattern = Pattern::new(pattern);
            assert!(yes.iter().all(|name| pattern.matches(name)), "{pattern} {yes:?}");
            assert!(!no.iter().any(|name| pattern.matches(name)), "{pattern} {no:?}");
        }
        // Nothing backtracks without end.
        assert!(!Pattern::new(&"*a".repeat(200)).matches(&"a".repeat(199)));
    }
}
