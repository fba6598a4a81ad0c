//! [`Ignored`]: places of a result that may differ.

use std::fmt;
use std::sync::Arc;

use super::difference::Difference;

type Check = dyn Fn(&str, &Difference) -> bool + Send + Sync;

/// What is declared to be different each time.
#[derive(Clone, Default)]
pub(super) struct Ignored {
    patterns: Vec<Vec<String>>,
    checks: Vec<Arc<Check>>,
}

impl Ignored {
    pub(super) fn add_pattern(&mut self, pattern: &str) {
        self.patterns.push(parts(pattern).map(str::to_owned).collect());
    }

    pub(super) fn add_check(&mut self, check: impl Fn(&str, &Difference) -> bool + Send + Sync + 'static) {
        self.checks.push(Arc::new(check));
    }

    /// Whether a difference counts for nothing in an answer of `name`.
    pub(super) fn takes(&self, name: &str, difference: &Difference) -> bool {
        let pointer = difference.pointer.as_str();
        self.takes_place(pointer)
            || mirrored(pointer).is_some_and(|mirrored| self.takes_place(&mirrored))
            || self.checks.iter().any(|check| check(name, difference))
    }

    fn takes_place(&self, pointer: &str) -> bool {
        let place: Vec<_> = parts(pointer).collect();
        self.patterns.iter().any(|pattern| covers(pattern, &place))
    }
}

impl fmt::Debug for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patterns = self.patterns.iter().map(|parts| format!("/{}", parts.join("/")));
        f.debug_struct("Ignored")
            .field("patterns", &patterns.collect::<Vec<_>>())
            .field("checks", &self.checks.len())
            .finish()
    }
}

fn parts(pointer: &str) -> impl Iterator<Item = &str> {
    pointer.split('/').skip(1)
}

/// Structured content stands once more in a text: what is ignored in the one is in the other.
fn mirrored(pointer: &str) -> Option<String> {
    let (_, rest) = pointer.strip_prefix("/content/")?.split_once("/text/")?;
    Some(format!("/structuredContent/{rest}"))
}

/// Whether `place` is one that `pattern` stands for, or lies in one.
fn covers(pattern: &[String], place: &[&str]) -> bool {
    match pattern {
        [] => true,
        [any, rest @ ..] if any == "**" => (0..=place.len()).any(|at| covers(rest, &place[at..])),
        [first, rest @ ..] => match place {
            [part, below @ ..] => (first == "*" || first == part) && covers(rest, below),
            [] => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_places_and_what_is_below_them() {
        for (pattern, place, want) in [
            ("/structuredContent/time", "/structuredContent/time", true),
            ("/structuredContent/time", "/structuredContent/time/hour", true),
            ("/structuredContent/time", "/structuredContent/times", false),
            ("/structuredContent/time", "/structuredContent", false),
            ("/content/*/text", "/content/3/text", true),
            ("/content/*/text", "/content/3/data", false),
            ("/**/id", "/structuredContent/items/4/id", true),
            ("/**/id", "/structuredContent/items/4/name", false),
            ("/structuredContent/time", "/content/0/text/time", true),
            ("", "/anything", true),
        ] {
            let mut ignored = Ignored::default();
            ignored.add_pattern(pattern);
            let difference = Difference { pointer: place.to_owned(), recorded: None, now: None };
            assert_eq!(ignored.takes("any", &difference), want, "{pattern} {place}");
        }
    }
}
