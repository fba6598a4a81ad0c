//! [`Glob`]: a pattern with `*` and `?` that is looked for inside of texts.

use std::ops::Range;

/// The parts of a glob between its `*`; `?` is any one character of a word.
#[derive(Clone)]
pub(super) struct Glob {
    first: Vec<char>,
    rest: Vec<Vec<char>>,
}

/// What a `*` and a `?` do not stand for.
fn ends_word(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '"' | '\'' | '`' | ',' | ';' | '(' | ')' | '{' | '}' | '[' | ']' | '<' | '>')
}

impl Glob {
    /// `None` for one that is empty.
    pub(super) fn new(glob: &str) -> Option<Self> {
        let mut parts = glob.split('*').map(|part| part.chars().collect());
        let (first, rest) = (parts.next()?, parts.collect::<Vec<Vec<char>>>());
        (!first.is_empty() || !rest.is_empty()).then_some(Self { first, rest })
    }

    /// Appends where it is in `text`. A match begins where a word does if the glob begins with a letter or digit, and is as long
    /// as it can be.
    pub(super) fn find_all(&self, text: &str, found: &mut Vec<Range<usize>>) {
        let mut at = 0;
        while let Some(start) = self.next_start(text, at) {
            at = match self.matched(text, start) {
                Match::To(end) if end > start => {
                    found.push(start..end);
                    end
                }
                Match::Nowhere { until } if until > start => until,
                _ => start + text[start..].chars().next().map_or(1, char::len_utf8),
            };
        }
    }

    /// Where it may begin, at `from` or after it.
    fn next_start(&self, text: &str, from: usize) -> Option<usize> {
        let rest = text.get(from..).filter(|rest| !rest.is_empty())?;
        match self.first.first() {
            Some('?') | None => Some(from),
            // Found as text, which is quicker than looking at every character.
            Some(c) => rest.find(*c).map(|at| from + at),
        }
    }

    fn matched(&self, text: &str, start: usize) -> Match {
        let follows_word = text[..start].chars().next_back().is_some_and(char::is_alphanumeric);
        if follows_word && self.first.first().is_none_or(|c| c.is_alphanumeric()) {
            return Match::No;
        }
        let Some(begun) = part_at(text, start, &self.first) else { return Match::No };
        let Some((last, middle)) = self.rest.split_last() else { return Match::To(begun) };
        let begins_in_word = !self.first.iter().any(|c| ends_word(*c));
        let until = text[begun..].find(ends_word).map_or(text.len(), |end| begun + end);
        let mut at = begun;
        for part in middle {
            match part_from(text, at, until, part) {
                Some(end) => at = end,
                // Nor will a later start in this word find it: that looks at less.
                None if begins_in_word => return Match::Nowhere { until },
                None => return Match::No,
            }
        }
        if last.is_empty() {
            return Match::To(until);
        }
        let ends = text[at..until].char_indices().rev().map(|(offset, _)| at + offset);
        let mut ends = ends.filter_map(|from| part_at(text, from, last).filter(|end| *end <= until));
        match ends.next() {
            Some(end) => Match::To(end),
            None if begins_in_word => Match::Nowhere { until },
            None => Match::No,
        }
    }
}

enum Match {
    To(usize),
    /// Not here, but perhaps at the next character.
    No,
    /// Not here, and not before `until`.
    Nowhere {
        until: usize,
    },
}

/// The end of `part` if it stands at `at`.
fn part_at(text: &str, at: usize, part: &[char]) -> Option<usize> {
    let mut chars = text[at..].chars();
    for wanted in part {
        let c = chars.next()?;
        if *wanted != c && (*wanted != '?' || ends_word(c)) {
            return None;
        }
    }
    Some(text.len() - chars.as_str().len())
}

/// The end of the first `part` between `from` and `until`.
fn part_from(text: &str, from: usize, until: usize, part: &[char]) -> Option<usize> {
    let starts = text[from..until].char_indices().map(|(offset, _)| from + offset).chain([until]);
    starts.filter_map(|start| part_at(text, start, part)).find(|end| *end <= until)
}
