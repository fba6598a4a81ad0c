//! [`Pattern`]: which names are meant.

use std::fmt;

/// A pattern of the names of servers or tools. It is compared with a name as a whole, and `a` is not `A`.
///
/// Of a text it is a glob: `*` is any text, `?` any character, and there is nothing else.
///
/// ```
/// use tinymcp::host::consent::Pattern;
///
/// assert!(Pattern::from("read_*").matches("read_file"));
/// assert!(!Pattern::from("read_*").matches("spread_file"));
/// ```
#[derive(Clone)]
pub struct Pattern(Kind);

#[derive(Clone)]
enum Kind {
    Glob(Vec<char>),
    #[cfg(feature = "patterns")]
    Regex(regex_lite::Regex, String),
}

impl Pattern {
    /// A regular expression, which a name must match as a whole: `read_(file|dir)`. With the feature `patterns`.
    ///
    /// # Errors
    /// When it is none; the text says why.
    #[cfg(feature = "patterns")]
    pub fn regex(regex: &str) -> Result<Self, String> {
        let wrong = |e: regex_lite::Error| format!("{regex}: {e}");
        // By itself first: `a)|(b` is one only with what is put around it.
        regex_lite::Regex::new(regex).map_err(wrong)?;
        let whole = regex_lite::Regex::new(&format!("\\A(?:{regex})\\z")).map_err(wrong)?;
        Ok(Self(Kind::Regex(whole, regex.to_owned())))
    }

    /// Whether `name` as a whole is like the pattern. In time proportional to the product of their lengths.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match &self.0 {
            Kind::Glob(glob) => is_like(glob, name),
            #[cfg(feature = "patterns")]
            Kind::Regex(regex, _) => regex.is_match(name),
        }
    }
}

fn is_like(glob: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut to) = (0, 0);
    // Where the last `*` stands, and how far it reaches.
    let mut star: Option<(usize, usize)> = None;
    while to < name.len() {
        match glob.get(at) {
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
    glob[at..].iter().all(|c| *c == '*')
}

impl From<&str> for Pattern {
    fn from(glob: &str) -> Self {
        Self(Kind::Glob(glob.chars().collect()))
    }
}

impl From<&String> for Pattern {
    fn from(glob: &String) -> Self {
        Self::from(glob.as_str())
    }
}

impl From<String> for Pattern {
    fn from(glob: String) -> Self {
        Self::from(glob.as_str())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Glob(glob) => glob.iter().try_for_each(|c| write!(f, "{c}")),
            #[cfg(feature = "patterns")]
            Kind::Regex(_, text) => f.write_str(text),
        }
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
            ("[a]+", &["[a]+"], &["a", "aa"]),
        ] {
            let pattern = Pattern::from(pattern);
            assert!(yes.iter().all(|name| pattern.matches(name)), "{pattern} {yes:?}");
            assert!(!no.iter().any(|name| pattern.matches(name)), "{pattern} {no:?}");
        }
        // Nothing backtracks without end.
        assert!(!Pattern::from("*a".repeat(200)).matches(&"a".repeat(199)));
    }

    #[cfg(feature = "patterns")]
    #[test]
    fn regular_expressions_match_names_as_a_whole() {
        let pattern = Pattern::regex("read_(file|dir)|list").expect("one");
        assert!(["read_file", "read_dir", "list"].iter().all(|name| pattern.matches(name)));
        assert!(!["read_files", "xlist", "list\n", ""].iter().any(|name| pattern.matches(name)));
        for wrong in ["(", "a)|(b", "a)"] {
            assert!(Pattern::regex(wrong).is_err(), "{wrong}");
        }
    }
}
