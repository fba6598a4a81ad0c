//! [`Filler`]: turns what is published of a value into what stands in an entry.
//!
//! **Invariant:** a text of the publisher with `${` in it never reaches an entry: it would take variables and answers of this machine
//! without anybody having decided that. Only references that are made here do.

use std::collections::{BTreeMap, BTreeSet};

use super::detail::{Field, NamedField};
use super::error::{SetupError, SetupErrorKind};
use super::setup::SetupOptions;
use crate::host::config::Input;
use crate::host::filter::visible_line;

/// Collects what an entry takes, while it is put together.
pub(super) struct Filler<'a> {
    /// What the ids of inputs begin with: two servers that want an `API_KEY` are not to get the same one.
    prefix: String,
    options: &'a SetupOptions,
    /// What was chosen, by key.
    chosen: BTreeMap<&'a str, Vec<String>>,
    /// Inputs of the entry, by id, with what they were made of.
    asked: BTreeMap<String, (Field, Input)>,
    order: Vec<String>,
    /// What could be given and is not.
    optional: Vec<Input>,
    /// Keys that values can be chosen for.
    known: BTreeSet<String>,
}

impl<'a> Filler<'a> {
    pub(super) fn new(server: &str, options: &'a SetupOptions) -> Self {
        let prefix = format!("{}.", key_of(server));
        let mut chosen: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (key, value) in &options.values {
            let key = key.strip_prefix(&prefix).unwrap_or(key);
            chosen.entry(key).or_default().push(value.clone());
        }
        let (asked, order, optional, known) = Default::default();
        Self { prefix, options, chosen, asked, order, optional, known }
    }

    /// What the value becomes: several texts where several were chosen, none if it is left out.
    pub(super) fn fill(
        &mut self,
        key: &str,
        field: &Field,
        is_repeated: bool,
    ) -> Result<Vec<String>, SetupError> {
        self.fill_from(key, field, is_repeated, None)
    }

    /// The same of a variable of the environment, which a secret may be taken from.
    pub(super) fn fill_variable(&mut self, variable: &NamedField) -> Result<Option<String>, SetupError> {
        let from = self.options.secrets_from_environment.then_some(variable.name.as_str());
        Ok(self.fill_from(&variable.name, &variable.field, false, from)?.pop())
    }

    fn fill_from(
        &mut self,
        key: &str,
        field: &Field,
        is_repeated: bool,
        environment: Option<&str>,
    ) -> Result<Vec<String>, SetupError> {
        let key = key_of(key);
        let fixed = match &field.value {
            Some(value) => self.fixed(value, field, &field.variables)?,
            None => None,
        };
        if let Some(fixed) = fixed {
            return Ok(vec![fixed]);
        }
        self.known.insert(key.clone());
        if let Some(chosen) = self.chosen.get(key.as_str()) {
            check_chosen(&key, chosen, field, is_repeated)?;
            return Ok(chosen.clone());
        }
        let default = usable_default(field);
        if let Some(default) = default.filter(|_| !field.is_secret) {
            return Ok(vec![default.to_owned()]);
        }
        // What was to be fixed and cannot be is wanted.
        if field.is_required || field.value.is_some() {
            return Ok(vec![match environment.filter(|_| field.is_secret) {
                Some(name) => format!("${{env:{name}}}"),
                None => self.ask(&key, field),
            }]);
        }
        let id = format!("{}{key}", self.prefix);
        if self.optional.iter().all(|known| known.id != id) {
            self.optional.push(input(id, field));
        }
        Ok(Vec::new())
    }

    /// A text that the publisher has fixed, its variables filled in; `None` when it cannot be used as it is.
    fn fixed(
        &mut self,
        value: &str,
        field: &Field,
        variables: &BTreeMap<String, Field>,
    ) -> Result<Option<String>, SetupError> {
        let pieces = pieces(value, variables);
        let has_variables = pieces.iter().any(|piece| matches!(piece, Piece::Variable(_)));
        // A secret that everybody can read is an example of one.
        if field.is_secret && !has_variables && !value.is_empty() {
            return Ok(None);
        }
        self.put_together(&pieces, variables, field.is_secret)
    }

    /// An address, whose variables must all be known.
    pub(super) fn address(
        &mut self,
        url: &str,
        variables: &BTreeMap<String, Field>,
    ) -> Result<String, SetupError> {
        let pieces = pieces(url, variables);
        let text: String =
            pieces.iter().map(|piece| if let Piece::Text(text) = piece { text } else { "" }).collect();
        if text.contains(['{', '}']) {
            return Err(SetupError::malformed("its address names a variable that is not described"));
        }
        let filled = self.put_together(&pieces, variables, false)?;
        filled.ok_or_else(|| SetupError::malformed("its address names something of this machine"))
    }

    fn put_together(
        &mut self,
        pieces: &[Piece<'_>],
        variables: &BTreeMap<String, Field>,
        is_secret: bool,
    ) -> Result<Option<String>, SetupError> {
        if pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains("${"))) {
            return Ok(None);
        }
        let mut out = String::new();
        for piece in pieces {
            let text = match piece {
                Piece::Text(text) => (*text).to_owned(),
                Piece::Variable(name) => {
                    // Half a text is none: whatever is a part of one is wanted.
                    let is_secret = is_secret || variables[*name].is_secret;
                    let field = Field { is_required: true, is_secret, ..variables[*name].clone() };
                    self.fill(name, &field, false)?.concat()
                }
            };
            // Two harmless texts make a reference.
            if out.ends_with('$') && text.starts_with('{') {
                return Ok(None);
            }
            out += &text;
        }
        Ok(Some(out))
    }

    /// A reference to what the user answers. What is described alike and has the same key is asked for once.
    fn ask(&mut self, key: &str, field: &Field) -> String {
        for number in 1.. {
            let id = match number {
                1 => format!("{}{key}", self.prefix),
                _ => format!("{}{key}-{number}", self.prefix),
            };
            match self.asked.get(&id) {
                Some((known, _)) if known != field => continue,
                Some(_) => {}
                None => {
                    self.asked.insert(id.clone(), (field.clone(), input(id.clone(), field)));
                    self.order.push(id.clone());
                }
            }
            return format!("${{input:{id}}}");
        }
        unreachable!("there are more numbers than fields")
    }

    /// What is to be asked for, and what could be given.
    pub(super) fn finish(mut self) -> Result<(Vec<Input>, Vec<Input>), SetupError> {
        if let Some(unknown) = self.chosen.keys().find(|key| !self.known.contains(**key)) {
            let known: Vec<_> = self.known.iter().map(String::as_str).collect();
            let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
            let problem = format!("no value can be chosen for {}, but for {known}", visible_line(unknown));
            return Err(SetupError::new(SetupErrorKind::Choice, problem));
        }
        let inputs =
            self.order.iter().filter_map(|id| self.asked.remove(id)).map(|(_, input)| input).collect();
        Ok((inputs, self.optional))
    }
}

enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// `text` at its variables. A name in braces that is none of them stays text.
fn pieces<'a>(text: &'a str, variables: &BTreeMap<String, Field>) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = text[at..].find('{') {
        let start = at + found + 1;
        let end = text[start..].find(['{', '}']).map(|length| start + length);
        match end.filter(|end| text[*end..].starts_with('}') && variables.contains_key(&text[start..*end])) {
            Some(end) => {
                pieces.push(Piece::Text(&text[kept..start - 1]));
                pieces.push(Piece::Variable(&text[start..end]));
                at = end + 1;
                kept = at;
            }
            None => at = start,
        }
    }
    pieces.push(Piece::Text(&text[kept..]));
    pieces
}

/// A name as a part of `${input:…}`.
pub(super) fn key_of(name: &str) -> String {
    let name = name.trim_start_matches('-');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let key: String = name.chars().take(100).map(|c| if is_plain(c) { c } else { '_' }).collect();
    if key.is_empty() { "value".to_owned() } else { key }
}

/// The default, unless it names something of this machine or is no choice.
fn usable_default(field: &Field) -> Option<&str> {
    let default = field.default.as_deref()?;
    let is_choice = field.choices.is_empty() || field.choices.iter().any(|choice| choice == default);
    (is_choice && !default.contains("${")).then_some(default)
}

fn check_chosen(key: &str, chosen: &[String], field: &Field, is_repeated: bool) -> Result<(), SetupError> {
    let wrong = |problem: &str| Err(SetupError::new(SetupErrorKind::Choice, format!("{key}: {problem}")));
    if chosen.len() > 1 && !is_repeated {
        return wrong("it can be given once only");
    }
    for text in chosen {
        if text.contains("${") {
            if field.choices.contains(text) {
                return wrong("a choice of the publisher that names something of this machine");
            }
            continue;
        }
        if field.is_secret {
            return wrong("a secret is not written into an entry; give what names it, such as ${env:NAME}");
        }
        if !field.choices.is_empty() && !field.choices.contains(text) {
            return wrong("none of the values that can be chosen");
        }
    }
    Ok(())
}

/// What the user is asked for.
fn input(id: String, field: &Field) -> Input {
    let mut question = match &field.description {
        Some(description) => visible_line(description).into_owned(),
        None => id.clone(),
    };
    if let Some(example) = &field.placeholder {
        question += &format!(" (for example {})", visible_line(example));
    }
    let is_boolean = field.format.as_deref() == Some("boolean");
    let input = match () {
        () if field.is_secret => Input::password(id, question),
        () if !field.choices.is_empty() => Input::pick(id, question, &field.choices),
        () if is_boolean => Input::pick(id, question, ["true", "false"]),
        () => Input::text(id, question),
    };
    match usable_default(field).filter(|_| !field.is_secret) {
        Some(default) => input.with_default(default),
        None => input,
    }
}
