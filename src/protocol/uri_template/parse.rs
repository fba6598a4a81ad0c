//! The grammar of RFC 6570, section 2.

use super::{MAX_BYTES, MAX_VARIABLES, UriTemplateError, percent_encoded};

/// A piece of a template.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Literal(String),
    Expression { operator: Operator, variables: Vec<Variable> },
}

impl Part {
    pub(super) fn variables(&self) -> &[Variable] {
        match self {
            Self::Literal(_) => &[],
            Self::Expression { variables, .. } => variables,
        }
    }
}

/// What stands between `{` and the first variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameters,
    Query,
    Continuation,
}

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) modifier: Modifier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modifier {
    None,
    Explode,
    /// So many characters from the beginning.
    Prefix(usize),
}

pub(super) fn parse(text: &str) -> Result<Vec<Part>, UriTemplateError> {
    if text.len() > MAX_BYTES {
        return Err(UriTemplateError::new(format!("a uri template of more than {MAX_BYTES} bytes")));
    }
    let mut parts = Vec::new();
    let mut variables = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let Some(inner) = rest.strip_prefix('{') else {
            let end = rest.find('{').unwrap_or(rest.len());
            check_literal(&rest[..end], at)?;
            parts.push(Part::Literal(rest[..end].to_owned()));
            at += end;
            continue;
        };
        let Some(end) = inner.find('}') else { return Err(wrong("an expression without an end", at)) };
        let part = expression(&inner[..end], at)?;
        variables += part.variables().len();
        if variables > MAX_VARIABLES {
            let problem = format!("a uri template with more than {MAX_VARIABLES} variables");
            return Err(UriTemplateError::new(problem));
        }
        parts.push(part);
        at += end + 2;
    }
    Ok(parts)
}

fn wrong(what: &str, at: usize) -> UriTemplateError {
    UriTemplateError::new(format!("{what} at byte {at}"))
}

fn check_literal(text: &str, start: usize) -> Result<(), UriTemplateError> {
    for (at, c) in text.char_indices() {
        // RFC 6570 section 2.1; the apostrophe is missing there by mistake (erratum 6937).
        let allowed = match c {
            '%' => percent_encoded(&text.as_bytes()[at..]).is_some(),
            ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' => false,
            c => !c.is_control(),
        };
        if !allowed {
            return Err(wrong(&format!("{c:?} outside of an expression"), start + at));
        }
    }
    Ok(())
}

fn expression(inner: &str, at: usize) -> Result<Part, UriTemplateError> {
    let operator = match inner.bytes().next() {
        Some(b'+') => Operator::Reserved,
        Some(b'#') => Operator::Fragment,
        Some(b'.') => Operator::Label,
        Some(b'/') => Operator::Path,
        Some(b';') => Operator::Parameters,
        Some(b'?') => Operator::Query,
        Some(b'&') => Operator::Continuation,
        // What RFC 6570 reserves for later (`=,!@|`) is no name either.
        _ => Operator::Simple,
    };
    let list = if operator == Operator::Simple { inner } else { &inner[1..] };
    let variables = list.split(',').map(|variable| parse_variable(variable, at)).collect::<Result<_, _>>()?;
    Ok(Part::Expression { operator, variables })
}

fn parse_variable(text: &str, at: usize) -> Result<Variable, UriTemplateError> {
    let (name, modifier) = match text.split_once(':') {
        Some((name, length)) => {
            // One to four digits, and no zero in front.
            let digits = length.len() <= 4 && length.bytes().all(|b| b.is_ascii_digit());
            let length = length.parse().ok().filter(|_| digits && !length.starts_with('0'));
            let wrong = || wrong(&format!("{text:?}: a length that is not between 1 and 9999"), at);
            (name, Modifier::Prefix(length.ok_or_else(wrong)?))
        }
        None => match text.strip_suffix('*') {
            Some(name) => (name, Modifier::Explode),
            None => (text, Modifier::None),
        },
    };
    if name.split('.').all(is_word) {
        return Ok(Variable { name: name.to_owned(), modifier });
    }
    Err(wrong(&format!("{name:?} is not the name of a variable,"), at))
}

/// One or more letters, digits, underscores and percent-encoded bytes.
fn is_word(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some(&byte) = rest.first() {
        let length = match byte {
            b'%' if percent_encoded(rest).is_some() => 3,
            b'_' => 1,
            byte if byte.is_ascii_alphanumeric() => 1,
            _ => return false,
        };
        rest = &rest[length..];
    }
    !text.is_empty()
}
