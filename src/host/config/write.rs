//! Writing: entries back into the text they were read from.
//!
//! **Invariant:** only what has changed is written. What the file has besides stays as it is to the byte.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::value::RawValue;

use super::edit::{Change, Editor};
use super::entry::{Reach, ServerEntry};
use super::error::{ConfigError, ConfigErrorKind};
use super::input::Input;
use super::layout::{CommandForm, Parts, SWITCHES, Spelling, Style, URLS, parts};
use super::read::{Contents, contents, input};
use super::text::{Fields, Plain, kind};
use crate::json::{Json, Object};

/// `original` with these servers and inputs instead of its own.
///
/// # Errors
/// When two servers have one name, or something cannot be written so that it reads the same.
pub(super) fn text(original: &str, servers: &[ServerEntry], inputs: &[Input]) -> Result<String, ConfigError> {
    let mut names = BTreeSet::new();
    for entry in servers {
        super::check::entry(entry).map_err(|error| error.of_server(&entry.name))?;
        if !names.insert(entry.name.as_str()) {
            let problem = "there are two servers of this name";
            return Err(ConfigError::new(ConfigErrorKind::Duplicate, problem).of_server(&entry.name));
        }
    }
    let plain = Plain::of(original)?;
    let parts = parts(&plain)?;
    let before = contents(&plain, &parts, "", Path::new(""));
    let mut editor = Editor::new(original, &plain);
    write_servers(&mut editor, &plain, &parts, &before, servers);
    if before.inputs != inputs {
        write_inputs(&mut editor, &plain, &parts, inputs);
    }
    let text = editor.finish();
    let same = |after: &Contents| {
        let known: BTreeMap<_, _> = after.servers.iter().map(|entry| (&*entry.name, entry)).collect();
        let are_servers = known.len() == servers.len()
            && servers.iter().all(|entry| known.get(&*entry.name).is_some_and(|other| is_same(other, entry)));
        are_servers && (before.inputs == inputs || after.inputs == inputs)
    };
    let plain = Plain::of(&text)?;
    if !same(&contents(&plain, &super::layout::parts(&plain)?, "", Path::new(""))) {
        let problem = "cannot be written so that it would be read as it is: an unknown member has the name of a known one";
        return Err(ConfigError::value(problem));
    }
    Ok(text)
}

fn is_same(one: &ServerEntry, other: &ServerEntry) -> bool {
    (&one.reach, one.disabled, &one.extra) == (&other.reach, other.disabled, &other.extra)
}

fn write_servers(
    editor: &mut Editor<'_>,
    plain: &Plain,
    parts: &Parts<'_>,
    before: &Contents,
    servers: &[ServerEntry],
) {
    let read: BTreeMap<_, _> = before.servers.iter().map(|entry| (&*entry.name, entry)).collect();
    let wanted: BTreeMap<_, _> = servers.iter().map(|entry| (&*entry.name, entry)).collect();
    let mut written: BTreeSet<&str> = BTreeSet::new();
    let new: Vec<&ServerEntry> = {
        let there: BTreeSet<&str> =
            parts.sections.iter().flat_map(|section| &section.members).map(|(name, _)| &**name).collect();
        servers.iter().filter(|entry| !there.contains(&*entry.name)).collect()
    };
    for (number, section) in parts.sections.iter().enumerate() {
        // Below a name that settings and servers share, other members are not servers.
        let fields = plain.fields(section.object).unwrap_or_default();
        let are_servers: BTreeSet<usize> = section.members.iter().map(|(_, raw)| plain.offset(raw)).collect();
        let spelling = Spelling::new_in(section.style, &section.members, plain);
        let mut changes = Vec::new();
        for (i, (name, raw)) in fields.iter().enumerate() {
            if !are_servers.contains(&plain.offset(raw)) {
                continue;
            }
            match (read.get(&**name), wanted.get(&**name)) {
                (Some(old), Some(new)) if is_same(old, new) => {}
                (Some(old), Some(new)) => write_entry(editor, plain, &spelling, raw, old, new),
                (Some(_), None) => changes.push((i, Change::Remove)),
                // One that could not be read stays, unless the program has another for it.
                (None, None) => {}
                (None, Some(_)) if written.contains(&**name) => changes.push((i, Change::Remove)),
                (None, Some(new)) => changes.push((i, Change::Set(rendered(new, &spelling)))),
            }
            if let Some((name, _)) = wanted.get_key_value(&**name) {
                written.insert(name);
            }
        }
        let added = if number == 0 { new.as_slice() } else { &[] };
        let added: Vec<_> =
            added.iter().map(|entry| (entry.name.clone(), rendered(entry, &spelling))).collect();
        if kind(section.object) == "null" {
            if !added.is_empty() {
                editor.replace(section.object, &object(&added));
            }
            continue;
        }
        editor.members(section.object, &fields, changes, &added);
    }
    if parts.sections.is_empty() && !new.is_empty() {
        let spelling = Spelling::new_in(Style::Hosts, &Vec::new(), plain);
        let added: Vec<_> =
            new.iter().map(|entry| (entry.name.clone(), rendered(entry, &spelling))).collect();
        editor.members(parts.root, &parts.fields, Vec::new(), &[("mcpServers".into(), object(&added))]);
    }
}

/// Changes what is different in one entry.
fn write_entry(
    editor: &mut Editor<'_>,
    plain: &Plain,
    of_new: &Spelling,
    raw: &RawValue,
    old: &ServerEntry,
    new: &ServerEntry,
) {
    let fields = plain.fields(raw).unwrap_or_default();
    let spelling = match (&old.reach, &new.reach) {
        (Reach::Command(_), Reach::Command(_)) | (Reach::Url(_), Reach::Url(_)) => Spelling::of(&fields),
        _ => return editor.replace(raw, &rendered(new, of_new)),
    };
    let old: BTreeMap<String, Json> = members(old, &spelling, Some(&fields)).into_iter().collect();
    let wanted = members(new, &spelling, Some(&fields));
    let new: BTreeMap<&str, &Json> = wanted.iter().map(|(name, json)| (&**name, json)).collect();
    let mut changes = Vec::new();
    for (i, (name, _)) in fields.iter().enumerate() {
        match (old.get(&**name), new.get(&**name)) {
            (Some(old), Some(new)) if old.as_str() == new.as_str() => {}
            (_, Some(new)) => changes.push((i, Change::Set(new.as_str().to_owned()))),
            (Some(_), None) => changes.push((i, Change::Remove)),
            // A second address, which was the same as the first.
            (None, None) if URLS.contains(&&**name) && *name != spelling.url => {
                changes.push((i, Change::Remove))
            }
            (None, None) => {}
        }
    }
    let there: BTreeSet<&str> = fields.iter().map(|(name, _)| &**name).collect();
    let added = wanted.iter().filter(|(name, _)| !there.contains(&**name));
    let added: Vec<_> = added.map(|(name, json)| (name.clone(), json.as_str().to_owned())).collect();
    editor.members(raw, &fields, changes, &added);
}

fn rendered(entry: &ServerEntry, spelling: &Spelling) -> String {
    let members = members(entry, spelling, None);
    object(&members.into_iter().map(|(name, json)| (name, json.as_str().to_owned())).collect::<Vec<_>>())
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<_> =
        members.iter().map(|(name, json)| format!("{}:{json}", Json::from(name.as_str()))).collect();
    format!("{{{}}}", members.join(","))
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> Json {
    Json::new(value).expect("texts and lists of them are JSON")
}

/// The members of an entry as they are written, in the order people write them. `fields` are those of the entry it was read from.
fn members(entry: &ServerEntry, spelling: &Spelling, fields: Option<&Fields<'_>>) -> Vec<(String, Json)> {
    let mut members: Vec<(String, Json)> = Vec::new();
    let mut put = |name: &str, json: Json| members.push((name.to_owned(), json));
    let written = |name: &str| {
        fields.and_then(|fields| fields.iter().find(|(other, _)| other == name)).map(|(_, raw)| *raw)
    };
    match &entry.reach {
        Reach::Command(command) => {
            if let Some(name) = spelling.kind {
                let word = if spelling.command == CommandForm::Line { "local" } else { "stdio" };
                put(name, written(name).map_or_else(|| json(word), Json::from_raw));
            }
            let mut env: BTreeMap<&str, Option<&str>> =
                command.env.iter().map(|(name, text)| (&**name, Some(&**text))).collect();
            env.extend(command.env_removed.iter().map(|name| (&**name, None)));
            // What was there and empty may stay.
            let is_there = |name: &str, is_empty: bool| {
                !is_empty || written(name).is_some_and(|raw| raw.get() != "null")
            };
            match spelling.command {
                CommandForm::Program => {
                    put("command", json(&command.command));
                    if is_there("args", command.args.is_empty()) {
                        put("args", json(&command.args));
                    }
                    if is_there(spelling.env, env.is_empty()) {
                        put(spelling.env, json(&env));
                    }
                }
                CommandForm::Line => {
                    let line: Vec<_> = std::iter::once(&command.command).chain(&command.args).collect();
                    put("command", json(&line));
                    if is_there(spelling.env, env.is_empty()) {
                        put(spelling.env, json(&env));
                    }
                }
                CommandForm::Object => {
                    let mut inner: Object = written("command")
                        .and_then(|raw| crate::json::FromJson::from_json(raw).ok())
                        .unwrap_or_default();
                    inner.insert("path", &command.command);
                    inner.insert("args", &command.args);
                    inner.insert("env", &env);
                    put("command", inner.into());
                }
            }
            if let Some(path) = &command.env_file {
                put("envFile", json(path));
            }
            if let Some(cwd) = &command.cwd {
                put(spelling.cwd, json(cwd));
            }
        }
        Reach::Url(url) => {
            // Some say it by the name of the address alone.
            let is_implied = spelling.kind.is_none()
                && spelling.url == "httpUrl"
                && url.transport.as_deref() == Some("http");
            let word = match (&url.transport, spelling.kind) {
                (Some(word), _) if !is_implied => Some(word.as_str()),
                (None, Some(_)) if fields.is_none() => {
                    Some(if spelling.command == CommandForm::Line { "remote" } else { "http" })
                }
                _ => None,
            };
            if let Some(word) = word {
                put(spelling.kind.unwrap_or("type"), json(word));
            }
            put(spelling.url, json(&url.url));
            if !url.headers.is_empty() || written("headers").is_some_and(|raw| raw.get() != "null") {
                put("headers", json(&url.headers));
            }
        }
    }
    for (switch, off) in SWITCHES {
        if written(switch).is_some_and(|raw| raw.get() != "null")
            || (entry.disabled && switch == spelling.switch.0)
        {
            put(switch, json(&(entry.disabled == off)));
        }
    }
    for (name, json) in entry.extra.iter() {
        put(name, json.clone());
    }
    members
}

fn write_inputs(editor: &mut Editor<'_>, plain: &Plain, parts: &Parts<'_>, inputs: &[Input]) {
    // Those that have not changed stay as they are.
    let items = parts.inputs.and_then(|raw| super::text::items(raw).ok()).unwrap_or_default();
    let items: Vec<_> = items.into_iter().map(|raw| (input(plain, raw).ok(), raw.get())).collect();
    let written =
        inputs.iter().map(|input| match items.iter().find(|(old, _)| old.as_ref() == Some(input)) {
            Some((_, text)) => (*text).to_owned(),
            None => json(&input.members()).as_str().to_owned(),
        });
    let broken = items.iter().filter(|(old, _)| old.is_none()).map(|(_, text)| (*text).to_owned());
    let list = format!("[{}]", written.chain(broken).collect::<Vec<_>>().join(","));
    if let Some(raw) = parts.inputs {
        return editor.replace(raw, &list);
    }
    let settings = parts.sections.iter().any(|section| section.path == "mcp.servers");
    let below = parts.fields.iter().find(|(name, _)| settings && name == "mcp").map(|(_, raw)| *raw);
    let holder = below.unwrap_or(parts.root);
    let fields = plain.fields(holder).unwrap_or_default();
    editor.members(holder, &fields, Vec::new(), &[("inputs".into(), list)]);
}
