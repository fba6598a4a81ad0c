//! Which names of keys are hidden.

/// Names in their plain form: letters and digits in lower case.
#[derive(Clone, Default)]
pub(super) struct Keys(Vec<String>);

/// A longer key is compared by so many of its last characters.
const MAX_CHARS: usize = 128;

impl Keys {
    pub(super) fn add(&mut self, name: &str) {
        let name = Plain::of(name).text;
        if !name.is_empty() && !self.0.contains(&name) {
            self.0.push(name);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether `key` is one of the names, ends with one, or has one as a word or several words of it.
    pub(super) fn matches(&self, key: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let key = match key.char_indices().rev().nth(MAX_CHARS) {
            Some((cut, c)) => &key[cut + c.len_utf8()..],
            None => key,
        };
        let plain = Plain::of(key);
        self.0.iter().any(|name| {
            plain.text.ends_with(name.as_str())
                || plain
                    .text
                    .match_indices(name.as_str())
                    .any(|(at, _)| plain.begins.contains(&at) && plain.begins.contains(&(at + name.len())))
        })
    }
}

/// A key in its plain form, and where its words begin there.
struct Plain {
    text: String,
    begins: Vec<usize>,
}

impl Plain {
    fn of(key: &str) -> Self {
        let mut plain = Self { text: String::with_capacity(key.len()), begins: Vec::new() };
        let (mut before, mut chars) = (None::<char>, key.chars().peekable());
        while let Some(c) = chars.next() {
            if c.is_alphanumeric() {
                let begins = match before {
                    None => true,
                    Some(b) => {
                        let next_is_small = chars.peek().is_some_and(|next| next.is_lowercase());
                        c.is_uppercase() && (!b.is_uppercase() || next_is_small)
                            || c.is_numeric() != b.is_numeric()
                    }
                };
                if begins {
                    plain.begins.push(plain.text.len());
                }
                plain.text.extend(c.to_lowercase());
            }
            before = Some(c).filter(|c| c.is_alphanumeric());
        }
        plain
    }
}
