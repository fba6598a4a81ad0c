//! The way back from a URI to the values. The rules are those of the module above.

use super::parse::{Modifier, Operator, Part, Variable};
use super::{MAX_BYTES, UriTemplateError, Variables, is_reserved, is_unreserved, percent_encoded};

/// One byte of a URI in normal form: itself if it can be written so, else with [`ENCODED`]. So `%41` and `A` are the same
/// unit, `%2F` and `/` are two, and a unit is never cut in half.
type Unit = u16;

const ENCODED: Unit = 0x100;

/// The units of `text`; `None` if a `%` is not followed by two digits.
fn units(text: &str) -> Option<Vec<Unit>> {
    let mut rest = text.as_bytes();
    let mut units = Vec::with_capacity(rest.len());
    while let Some(&first) = rest.first() {
        let (byte, length) = if first == b'%' { (percent_encoded(rest)?, 3) } else { (first, 1) };
        // What is reserved means itself only if it was written as itself.
        let plain = is_unreserved(byte) || length == 1 && is_reserved(byte);
        units.push(if plain { Unit::from(byte) } else { ENCODED | Unit::from(byte) });
        rest = &rest[length..];
    }
    Some(units)
}

/// `uri` in normal form, in which what means the same is written the same; `None` if a `%` is not followed by two digits.
pub(crate) fn normal_uri(uri: &str) -> Option<String> {
    let mut normal = String::with_capacity(uri.len());
    for unit in units(uri)? {
        let byte = (unit & 0xff) as u8;
        if unit & ENCODED == 0 {
            normal.push(char::from(byte));
        } else {
            normal += &format!("%{byte:02X}");
        }
    }
    Some(normal)
}

/// `c` when it was written as itself.
fn is(unit: Unit, c: u8) -> bool {
    unit == Unit::from(c)
}

/// How to match a template.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// From the beginning up to the query or fragment that the template ends with.
    steps: Vec<Step>,
    query: Option<Query>,
    fragment: Option<String>,
}

#[derive(Clone, Debug)]
enum Step {
    Literal(Vec<Unit>),
    Value { name: String, kind: Kind },
}

/// Which values an expression has.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// `{a}`, `{/a}`
    Segment,
    /// `{a,b}`
    Item,
    /// `{.a}`
    Label,
    /// `{/a*}`
    Segments,
    /// `{+a}`, with a `/` before it or not.
    Path { after_slash: bool },
}

/// A query that comes last.
#[derive(Clone, Debug)]
struct Query {
    /// What it begins with.
    first: u8,
    /// How many of these come before it.
    skip: usize,
    /// The variables, and their names in the URI.
    names: Vec<(String, Vec<Unit>)>,
}

fn cannot(why: impl std::fmt::Display) -> UriTemplateError {
    UriTemplateError::new(format!("cannot be matched: {why}"))
}

impl Plan {
    pub(super) fn new(parts: &[Part]) -> Result<Self, UriTemplateError> {
        let mut plan = Self::default();
        let mut names = Vec::new();
        for part in parts {
            match part {
                Part::Literal(text) => plan.literal(text)?,
                Part::Expression { operator, variables } => {
                    for Variable { name, modifier } in variables {
                        match modifier {
                            Modifier::Prefix(_) => return Err(cannot(format!("a part of {name}"))),
                            Modifier::Explode if *operator != Operator::Path => {
                                return Err(cannot(format!("the list {name}*")));
                            }
                            _ if names.contains(&name) => return Err(cannot(format!("{name} comes twice"))),
                            _ => names.push(name),
                        }
                    }
                    plan.expression(*operator, variables)?;
                }
            }
        }
        plan.check_ends()?;
        Ok(plan)
    }

    fn literal(&mut self, text: &str) -> Result<(), UriTemplateError> {
        if self.query.is_some() || self.fragment.is_some() {
            return Err(cannot(format!("{text:?} after a query or fragment")));
        }
        let units = units(text).ok_or_else(|| cannot(format!("{text:?}")))?;
        match self.steps.last_mut() {
            Some(Step::Literal(before)) => before.extend(units),
            _ => self.steps.push(Step::Literal(units)),
        }
        Ok(())
    }

    fn value(&mut self, variable: &Variable, kind: Kind) -> Result<(), UriTemplateError> {
        let name = variable.name.clone();
        if let Some(Step::Value { name: before, .. }) = self.steps.last() {
            return Err(cannot(format!("nothing between {before} and {name}")));
        }
        self.steps.push(Step::Value { name, kind });
        Ok(())
    }

    fn expression(&mut self, operator: Operator, variables: &[Variable]) -> Result<(), UriTemplateError> {
        let first = &variables[0];
        if let (Operator::Reserved | Operator::Fragment, [_, second, ..]) = (operator, variables) {
            return Err(cannot(format!("{} and {} in one expression", first.name, second.name)));
        }
        let at_end = self.fragment.is_some()
            || self.query.is_some() && !matches!(operator, Operator::Continuation | Operator::Fragment);
        if at_end {
            return Err(cannot(format!("{} after a query or fragment", first.name)));
        }
        match operator {
            Operator::Simple => {
                let kind = if variables.len() > 1 { Kind::Item } else { Kind::Segment };
                for (at, variable) in variables.iter().enumerate() {
                    if at > 0 {
                        self.literal(",")?;
                    }
                    self.value(variable, kind)?;
                }
            }
            Operator::Reserved => {
                let slash = Unit::from(b'/');
                let after_slash =
                    matches!(self.steps.last(), Some(Step::Literal(text)) if text.last() == Some(&slash));
                self.value(first, Kind::Path { after_slash })?;
            }
            Operator::Label => {
                for variable in variables {
                    self.literal(".")?;
                    self.value(variable, Kind::Label)?;
                }
            }
            Operator::Path => {
                for variable in variables {
                    self.literal("/")?;
                    let many = variable.modifier == Modifier::Explode;
                    self.value(variable, if many { Kind::Segments } else { Kind::Segment })?;
                }
            }
            Operator::Query => self.begin_query(b'?', variables),
            Operator::Continuation => self.begin_query(b'&', variables),
            Operator::Fragment => self.fragment = Some(first.name.clone()),
            Operator::Parameters => return Err(cannot(format!(";{}", first.name))),
        }
        Ok(())
    }

    fn begin_query(&mut self, first: u8, variables: &[Variable]) {
        let skip = if first == b'&' { self.literals().filter(|unit| is(*unit, first)).count() } else { 0 };
        let query = self.query.get_or_insert(Query { first, skip, names: Vec::new() });
        let names = variables.iter().map(|variable| {
            // The grammar has seen to it that each `%` has its digits.
            (variable.name.clone(), units(&variable.name).unwrap_or_default())
        });
        query.names.extend(names);
    }

    fn literals(&self) -> impl Iterator<Item = Unit> {
        let texts = self.steps.iter().filter_map(|step| match step {
            Step::Literal(text) => Some(text),
            Step::Value { .. } => None,
        });
        texts.flatten().copied()
    }

    /// A query or fragment begins at the first such character, which must not come before.
    fn check_ends(&self) -> Result<(), UriTemplateError> {
        let ends =
            [(b'?', self.query.as_ref().is_some_and(|q| q.first == b'?')), (b'#', self.fragment.is_some())];
        for (first, ends) in ends {
            if ends && self.literals().any(|unit| is(unit, first)) {
                return Err(cannot(format!("a second {:?}", char::from(first))));
            }
        }
        Ok(())
    }

    pub(super) fn matches(&self, uri: &str) -> Option<Variables> {
        if uri.len() > MAX_BYTES {
            return None;
        }
        let units = units(uri)?;
        let mut head = units.as_slice();
        let fragment = self.fragment.as_ref().and_then(|name| Some((name, cut(&mut head, b'#', 0)?)));
        let query =
            self.query.as_ref().and_then(|query| Some((query, cut(&mut head, query.first, query.skip)?)));
        let mut found = Vec::new();
        let ends = self.ends(head)?;
        let mut start = 0;
        for (step, end) in self.steps.iter().zip(ends) {
            if let Step::Value { name, kind } = step {
                found.push((name.clone(), kind.read(&head[start..end])?));
            }
            start = end;
        }
        if let Some((query, text)) = query {
            query.read(text, &mut found)?;
        }
        if let Some((name, text)) = fragment {
            found.push((name.clone(), path(text, false)?));
        }
        Some(Variables(found))
    }

    /// Where each step ends; `None` if there is no way to match.
    ///
    /// All ways are looked at together, from the end: a step matches at a place if the following one does where it may
    /// end. That is one look for each step and place. Then the way is walked from the beginning, with the
    /// longest values that lead to the end.
    fn ends(&self, units: &[Unit]) -> Option<Vec<usize>> {
        match self.steps.first() {
            // Most URIs belong to another template.
            Some(Step::Literal(text)) if !units.starts_with(text) => return None,
            _ => {}
        }
        let width = units.len() + 1;
        // Row after row: whether this step and those after it match the units from a place on.
        let mut table = vec![false; (self.steps.len() + 1) * width];
        table[self.steps.len() * width + units.len()] = true;
        for (row, step) in self.steps.iter().enumerate().rev() {
            let (here, next) = table[row * width..].split_at_mut(width);
            match step {
                Step::Literal(text) => {
                    for at in 0..=units.len().checked_sub(text.len())? {
                        here[at] = next[at + text.len()] && units[at..].starts_with(text);
                    }
                }
                Step::Value { kind, .. } => {
                    for at in (0..units.len()).rev() {
                        here[at] = kind.allows(units[at]) && (next[at + 1] || here[at + 1]);
                    }
                }
            }
        }
        let mut at = 0;
        let mut ends = Vec::with_capacity(self.steps.len());
        for (row, step) in self.steps.iter().enumerate() {
            if !table[row * width + at] {
                return None;
            }
            let next = &table[(row + 1) * width..][..width];
            at = match step {
                Step::Literal(text) => at + text.len(),
                Step::Value { kind, .. } => {
                    let longest = units[at..].iter().take_while(|unit| kind.allows(**unit)).count();
                    (at + 1..=at + longest).rev().find(|end| next[*end])?
                }
            };
            ends.push(at);
        }
        (at == units.len()).then_some(ends)
    }
}

/// Cuts `text` off before its first `at` after `skip` others, and returns what follows that.
fn cut<'a>(text: &mut &'a [Unit], at: u8, skip: usize) -> Option<&'a [Unit]> {
    let mut places = text.iter().enumerate().filter(|(_, unit)| is(**unit, at));
    let place = places.nth(skip)?.0;
    let rest = &text[place + 1..];
    *text = &text[..place];
    Some(rest)
}

impl Kind {
    fn allows(self, unit: Unit) -> bool {
        let Ok(byte) = u8::try_from(unit) else { return true };
        match self {
            Self::Segment => !b"/?#".contains(&byte),
            Self::Item => !b"/?#,".contains(&byte),
            Self::Label => !b"/?#.".contains(&byte),
            Self::Segments => !b"?#".contains(&byte),
            Self::Path { .. } => true,
        }
    }

    fn read(self, units: &[Unit]) -> Option<String> {
        match self {
            Self::Segment | Self::Item | Self::Label => plain(units),
            Self::Segments => {
                let segments = units.split(|unit| is(*unit, b'/'));
                let read = |segment: &[Unit]| plain(segment).filter(|text| !text.is_empty());
                Some(segments.map(read).collect::<Option<Vec<_>>>()?.join("/"))
            }
            Self::Path { after_slash } => path(units, after_slash),
        }
    }
}

impl Query {
    /// Adds the values of the query `text` in the order of the names.
    fn read(&self, text: &[Unit], found: &mut Vec<(String, String)>) -> Option<()> {
        // A fragment that the template does not have.
        if text.iter().any(|unit| is(*unit, b'#')) {
            return None;
        }
        let mut values = vec![None; self.names.len()];
        if !text.is_empty() {
            for pair in text.split(|unit| is(*unit, b'&')) {
                let mut pair = pair.splitn(2, |unit| is(*unit, b'='));
                let (name, value) = (pair.next()?, pair.next().unwrap_or_default());
                let known = self.names.iter().position(|(_, known)| known == name)?;
                if values[known].replace(plain(value)?).is_some() {
                    return None;
                }
            }
        }
        let named = self.names.iter().zip(values);
        found.extend(named.filter_map(|((name, _), value)| Some((name.clone(), value?))));
        Some(())
    }
}

/// The text that `units` stand for.
fn decoded(units: &[Unit]) -> Option<String> {
    // The low byte is what was encoded.
    let text = String::from_utf8(units.iter().map(|unit| unit.to_le_bytes()[0]).collect()).ok()?;
    (!text.chars().any(char::is_control)).then_some(text)
}

fn is_dots(text: &str) -> bool {
    // spec: 2026-07-28 server/resources#security-considerations (MUST prevent directory traversal)
    matches!(text, "." | "..")
}

/// A value that is at most one segment of a path.
fn plain(units: &[Unit]) -> Option<String> {
    decoded(units).filter(|text| !text.contains(['/', '\\']) && !is_dots(text))
}

/// A value that may be more than one segment, and leads nowhere but down.
fn path(units: &[Unit], after_slash: bool) -> Option<String> {
    let hidden = |unit: &Unit| *unit == ENCODED | Unit::from(b'/') || *unit == ENCODED | Unit::from(b'\\');
    let text = decoded(units).filter(|_| !units.iter().any(hidden))?;
    // Not only `/`: the text may become a URI again.
    let climbs = text.split(['/', '?', '#']).any(is_dots);
    let is_absolute = after_slash && text.starts_with('/');
    (!climbs && !is_absolute).then_some(text)
}
