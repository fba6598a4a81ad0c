//! Reading: a file's text to entries.
//!
//! **Invariant:** a broken entry is one error, which names it; it hides no other. No value of the file gets into an error.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::check;
use super::entry::{CommandEntry, Places, Reach, ServerEntry, UrlEntry};
use super::error::{ConfigError, name_alone};
use super::input::{Input, InputKind, PickOption};
use super::layout::{CommandForm, Parts, SWITCHES, Said, Spelling, URLS, said};
use super::text::{Fields, Plain, expected, items, kind, quoted, string, strings};
use crate::json::{Json, Object};

/// What a file says.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) servers: Vec<ServerEntry>,
    pub(super) inputs: Vec<Input>,
    pub(super) rejected: Vec<ConfigError>,
}

/// Reads all of a file, which errors call `file`.
pub(super) fn contents(plain: &Plain, parts: &Parts<'_>, file: &str, source: &Path) -> Contents {
    let mut contents = Contents::default();
    let entries = || parts.sections.iter().flat_map(|section| &section.members);
    let mut last: BTreeMap<&str, &RawValue> = BTreeMap::new();
    let mut twice: BTreeMap<&str, Option<ConfigError>> = BTreeMap::new();
    for (name, raw) in entries() {
        if let Some(before) = last.insert(name, raw) {
            twice.entry(name).or_insert_with(|| Some(plain.twice(before, raw)));
        }
    }
    for (name, raw) in entries() {
        let read = match twice.get_mut(&**name).map(Option::take) {
            None => entry(plain, name, raw, source),
            Some(Some(error)) => Err(error),
            // It has been told of.
            Some(None) => continue,
        };
        match read {
            Ok(entry) => contents.servers.push(entry),
            Err(error) => {
                let error = error.at(plain.place_of(raw)).of_server(name).of_file(Some(file));
                contents.rejected.push(error);
            }
        }
    }
    if let Some(raw) = parts.inputs {
        inputs(plain, raw, file, &mut contents);
    }
    contents
}

/// Reads fields of one object, and notes where they are.
struct Reader<'a> {
    plain: &'a Plain,
    fields: Fields<'a>,
    places: BTreeMap<String, (usize, usize)>,
}

impl<'a> Reader<'a> {
    /// The value of `name`, unless it is missing or `null`.
    fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        let raw = self.fields.iter().find(|(other, raw)| other == name && raw.get() != "null")?.1;
        self.note(name.to_owned(), raw);
        Some(raw)
    }

    fn note(&mut self, field: String, raw: &RawValue) {
        if let Some(place) = self.plain.place_of(raw) {
            self.places.insert(field, place);
        }
    }

    fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self, &'a RawValue) -> Result<T, ConfigError>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(raw) = self.take(name) else { return Ok(None) };
        match read(self, raw) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(error.at(self.plain.place_of(raw)).inside(name)),
        }
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, ConfigError> {
        self.read(name, |_, raw| string(raw))
    }

    /// A list, of which the first `skipped` are something else.
    fn texts(&mut self, name: &str, skipped: usize) -> Result<Option<Vec<String>>, ConfigError> {
        self.read(name, |reader, raw| {
            let texts = strings(reader.plain, raw)?;
            for (i, (_, item)) in texts.iter().skip(skipped).enumerate() {
                reader.note(format!("args[{i}]"), item);
            }
            Ok(texts.into_iter().map(|(text, _)| text).collect())
        })
    }

    /// Names and texts, known as `field` whatever the file calls it. In `env`, `null` stands for a name without a text, and a number
    /// for its digits.
    fn map(
        &mut self,
        name: &str,
        field: &str,
    ) -> Result<Option<BTreeMap<String, Option<String>>>, ConfigError> {
        let is_env = field == "env";
        self.read(name, |reader, raw| {
            let fields = reader.plain.fields(raw)?;
            reader.plain.once(&fields)?;
            let mut map = BTreeMap::new();
            for (key, raw) in fields {
                let text = match kind(raw) {
                    "null" if is_env => None,
                    "a number" if is_env => Some(raw.get().to_owned()),
                    _ => match string(raw) {
                        Ok(text) => Some(text),
                        Err(error) => {
                            return Err(error.at(reader.plain.place_of(raw)).inside(&name_alone(&key)));
                        }
                    },
                };
                reader.note(format!("{field}.{key}"), raw);
                map.insert(key.into_owned(), text);
            }
            Ok(map)
        })
    }

    fn flag(&mut self, name: &str) -> Result<Option<bool>, ConfigError> {
        self.read(name, |_, raw| match raw.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(expected("a boolean", raw)),
        })
    }
}

/// Reads one entry.
fn entry(plain: &Plain, name: &str, raw: &RawValue, source: &Path) -> Result<ServerEntry, ConfigError> {
    let fields = plain.fields(raw)?;
    plain.once(&fields)?;
    let spelling = Spelling::of(&fields);
    let mut reader = Reader { plain, fields, places: BTreeMap::new() };
    reader.note(String::new(), raw);
    let said = match spelling.kind {
        Some(name) => reader.read(name, |_, raw| said(raw))?,
        None => None,
    };
    let has_command = reader.take("command").is_some();
    let has_url = reader.take(spelling.url).is_some();
    let is_command = match (&said, has_command, has_url) {
        (Some((Said::Command, _)), true, _) | (None, true, false) => true,
        (Some((Said::Url, _)), _, true) | (None, false, true) => false,
        (Some((Said::Command, _)), false, _) => {
            return Err(
                ConfigError::value("missing: the type is that of a server that is started").inside("command")
            );
        }
        (Some((Said::Url, _)), _, false) => {
            return Err(
                ConfigError::value("missing: the type is that of a server at an address").inside("url")
            );
        }
        (None, true, true) => {
            return Err(ConfigError::value("both command and url are given, and no type says which counts"));
        }
        (None, false, false) => return Err(ConfigError::value("has neither command nor url")),
    };
    let reach = if is_command {
        Reach::Command(command(&mut reader, &spelling)?)
    } else {
        Reach::Url(url(&mut reader, &spelling, said.map(|(_, word)| word))?)
    };
    let mut disabled = false;
    for (name, off) in SWITCHES {
        disabled |= reader.flag(name)? == Some(off);
    }
    let extra = reader.fields.iter().filter(|(name, _)| !spelling.knows(name, is_command));
    let extra: Object = extra.map(|(name, raw)| (name.to_string(), Json::from_raw(raw))).collect();
    let mut entry = ServerEntry::new(name, reach);
    entry.disabled = disabled;
    entry.source = Some(source.to_owned());
    entry.extra = extra;
    entry.places = Places(Arc::new(reader.places));
    check::entry(&entry).map_err(|error| {
        let place = entry.places.of(error.field());
        error.at(place)
    })?;
    Ok(entry)
}

fn command(reader: &mut Reader<'_>, spelling: &Spelling) -> Result<CommandEntry, ConfigError> {
    let mut entry = CommandEntry::default();
    let mut env = None;
    match spelling.command {
        CommandForm::Program => {
            entry.command = reader.text("command")?.unwrap_or_default();
            entry.args = reader.texts("args", 0)?.unwrap_or_default();
            env = reader.map(spelling.env, "env")?;
        }
        CommandForm::Line => {
            let mut line = reader.texts("command", 1)?.unwrap_or_default().into_iter();
            entry.command = line.next().unwrap_or_default();
            entry.args = line.collect();
            env = reader.map(spelling.env, "env")?;
        }
        CommandForm::Object => {
            let plain = reader.plain;
            let places = reader.read("command", |_, raw| {
                let fields = plain.fields(raw)?;
                plain.once(&fields)?;
                let mut inner = Reader { plain, fields, places: BTreeMap::new() };
                entry.command = inner.text("path")?.unwrap_or_default();
                entry.args = inner.texts("args", 0)?.unwrap_or_default();
                env = inner.map("env", "env")?;
                Ok(inner.places)
            })?;
            reader.places.extend(places.unwrap_or_default());
        }
    }
    let (set, removed): (Vec<_>, Vec<_>) =
        env.unwrap_or_default().into_iter().partition(|(_, text)| text.is_some());
    entry.env = set.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
    entry.env_removed = removed.into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>();
    entry.env_file = reader.text("envFile")?;
    entry.cwd = reader.text(spelling.cwd)?;
    if let Some(raw) = reader.take(spelling.cwd) {
        reader.note("cwd".into(), raw);
    }
    Ok(entry)
}

fn url(reader: &mut Reader<'_>, spelling: &Spelling, word: Option<String>) -> Result<UrlEntry, ConfigError> {
    let mut entry = UrlEntry { url: reader.text(spelling.url)?.unwrap_or_default(), ..UrlEntry::default() };
    if let Some(raw) = reader.take(spelling.url) {
        reader.note("url".into(), raw);
    }
    for other in URLS.into_iter().filter(|name| *name != spelling.url) {
        if reader.text(other)?.is_some_and(|url| url != entry.url) {
            let problem = format!("another address than {}: which one counts?", spelling.url);
            return Err(ConfigError::value(problem).inside(other));
        }
    }
    // Who writes it so, tells the two ways apart by the name.
    entry.transport = word.or_else(|| (spelling.url == "httpUrl").then(|| "http".to_owned()));
    let headers = reader.map("headers", "headers")?.unwrap_or_default();
    entry.headers = headers.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
    Ok(entry)
}

fn inputs(plain: &Plain, raw: &RawValue, file: &str, contents: &mut Contents) {
    if kind(raw) == "null" {
        return;
    }
    let mut reject = |error: ConfigError| contents.rejected.push(error.inside("inputs").of_file(Some(file)));
    let items = match items(raw) {
        Ok(items) => items,
        Err(error) => return reject(error.at(plain.place_of(raw))),
    };
    let mut seen: BTreeMap<String, &RawValue> = BTreeMap::new();
    for (i, item) in items.into_iter().enumerate() {
        let read = input(plain, item).and_then(|input| match seen.insert(input.id.clone(), item) {
            Some(before) => Err(plain.twice(before, item).inside("id")),
            None => Ok(input),
        });
        match read {
            Ok(input) => contents.inputs.push(input),
            Err(error) => reject(error.at(plain.place_of(item)).inside(&format!("[{i}]"))),
        }
    }
}

pub(super) fn input(plain: &Plain, raw: &RawValue) -> Result<Input, ConfigError> {
    let fields = plain.fields(raw)?;
    plain.once(&fields)?;
    let mut reader = Reader { plain, fields, places: BTreeMap::new() };
    let id = reader.text("id")?.filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| ConfigError::value("missing").inside("id"))?;
    let word = reader.text("type")?.unwrap_or_else(|| "promptString".into());
    let mut known = vec!["id", "type", "description", "default"];
    let kind = match word.as_str() {
        "promptString" => {
            known.push("password");
            InputKind::Text { password: reader.flag("password")?.unwrap_or_default() }
        }
        "pickString" => {
            known.push("options");
            let options = reader.read("options", |reader, raw| {
                let options = items(raw)?.into_iter().enumerate();
                options
                    .map(|(i, raw)| option(reader.plain, raw).map_err(|e| e.inside(&format!("[{i}]"))))
                    .collect::<Result<Vec<_>, _>>()
            })?;
            InputKind::Pick { options: options.unwrap_or_default() }
        }
        _ => InputKind::Other(word),
    };
    let mut input = Input::text(id, "");
    input.kind = kind;
    input.description = reader.text("description")?;
    input.default = reader.text("default")?;
    let extra = reader.fields.iter().filter(|(name, _)| !known.contains(&&**name));
    input.extra = extra.map(|(name, raw)| (name.to_string(), Json::from_raw(raw))).collect();
    if let InputKind::Pick { options } = &input.kind {
        if options.is_empty() {
            return Err(ConfigError::value(format!("input {} has none", quoted(&input.id))).inside("options"));
        }
    }
    Ok(input)
}

fn option(plain: &Plain, raw: &RawValue) -> Result<PickOption, ConfigError> {
    if kind(raw) == "a string" {
        return string(raw).map(PickOption::new);
    }
    let mut reader = Reader { plain, fields: plain.fields(raw)?, places: BTreeMap::new() };
    let value = reader.text("value")?.ok_or_else(|| ConfigError::value("missing").inside("value"))?;
    let label = reader.text("label")?;
    let extra = reader.fields.iter().filter(|(name, _)| name != "value" && name != "label");
    let extra = extra.map(|(name, raw)| (name.to_string(), Json::from_raw(raw))).collect();
    Ok(PickOption { label, value, extra })
}
