//! Where programs put servers in their files, and how they call the fields.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::error::{ConfigError, ConfigErrorKind};
use super::text::{Fields, Plain, kind, string};

/// Which programs write a file so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `mcpServers`: desktop hosts, and most others.
    Hosts,
    /// `servers` beside `inputs`: editors; and the same below `mcp` in their settings.
    Editor,
    /// `context_servers`.
    ContextServers,
    /// `mcp`, with `type`, of terminal programs.
    Terminal,
    /// Nothing but servers.
    Bare,
}

/// An object of servers.
pub(super) struct Section<'a> {
    /// How errors call it.
    pub(super) path: &'static str,
    pub(super) style: Style,
    pub(super) object: &'a RawValue,
    pub(super) members: Fields<'a>,
}

/// A file's parts.
pub(super) struct Parts<'a> {
    pub(super) root: &'a RawValue,
    pub(super) fields: Fields<'a>,
    pub(super) sections: Vec<Section<'a>>,
    /// What `inputs` is, and the object that holds it, if there are servers of editors below it.
    pub(super) inputs: Option<&'a RawValue>,
}

/// The sections that stand at the top of a file.
const SECTIONS: [(&str, Style); 4] = [
    ("mcpServers", Style::Hosts),
    ("servers", Style::Editor),
    ("context_servers", Style::ContextServers),
    ("amp.mcpServers", Style::Hosts),
];

/// Names of a URL, the one that is written first.
pub(super) const URLS: [&str; 4] = ["url", "serverUrl", "httpUrl", "baseUrl"];
/// Names of what says how a server is reached.
pub(super) const TYPES: [&str; 3] = ["type", "transport", "transportType"];
/// Names of the variables.
pub(super) const ENVS: [&str; 2] = ["env", "environment"];
/// Names of the folder.
pub(super) const CWDS: [&str; 2] = ["cwd", "working_directory"];
/// Names of what switches a server off, and the value that does.
pub(super) const SWITCHES: [(&str, bool); 3] = [("disabled", true), ("enabled", false), ("isActive", false)];

/// Finds the servers of a file. A file without any is one of a program that has none.
///
/// # Errors
/// When the file, or what must hold servers, is no object, or is there twice.
pub(super) fn parts<'a>(plain: &'a Plain) -> Result<Parts<'a>, ConfigError> {
    let root = plain.root()?;
    let fields = plain.fields(root)?;
    let mut sections = Vec::new();
    for (path, style) in SECTIONS {
        if let Some(object) = only(plain, &fields, path)? {
            sections.push(section(plain, path, style, object)?);
        }
    }
    let mut inputs = only(plain, &fields, "inputs")?;
    let settings = only(plain, &fields, "mcp")?.filter(|raw| kind(raw) == "an object");
    if let Some(settings) = settings {
        let below = plain.fields(settings)?;
        let servers = below.iter().find(|(name, _)| name == "servers").map(|(_, raw)| *raw);
        match servers.filter(|servers| !is_server(plain, servers)) {
            Some(servers) => {
                only(plain, &below, "servers").map_err(|e| e.inside("mcp"))?;
                sections.push(section(plain, "mcp.servers", Style::Editor, servers)?);
                inputs = inputs.or(only(plain, &below, "inputs").map_err(|e| e.inside("mcp"))?);
            }
            // Another program keeps settings of its own under this name, beside its servers.
            None if sections.is_empty() => {
                let members: Fields<'_> =
                    below.into_iter().filter(|(_, raw)| is_server(plain, raw)).collect();
                if !members.is_empty() {
                    sections.push(Section { path: "mcp", style: Style::Terminal, object: settings, members });
                }
            }
            None => {}
        }
    }
    let all_are_servers = |(name, raw): &(Cow<'_, str>, &RawValue)| {
        name == "$schema" || name == "inputs" || is_server(plain, raw)
    };
    if sections.is_empty()
        && fields.iter().any(|(_, raw)| is_server(plain, raw))
        && fields.iter().all(all_are_servers)
    {
        let members = fields.iter().filter(|(_, raw)| is_server(plain, raw)).cloned().collect();
        sections.push(Section { path: "", style: Style::Bare, object: root, members });
    }
    Ok(Parts { root, fields, sections, inputs })
}

fn section<'a>(
    plain: &'a Plain,
    path: &'static str,
    style: Style,
    object: &'a RawValue,
) -> Result<Section<'a>, ConfigError> {
    if kind(object) == "null" {
        return Ok(Section { path, style, object, members: Vec::new() });
    }
    let members = plain.fields(object).map_err(|e| e.inside(path))?;
    Ok(Section { path, style, object, members })
}

/// The member `name`, which may not be there twice.
fn only<'a>(plain: &Plain, fields: &Fields<'a>, name: &str) -> Result<Option<&'a RawValue>, ConfigError> {
    let mut found = fields.iter().filter(|(other, _)| other == name).map(|(_, raw)| *raw);
    match (found.next(), found.next()) {
        (Some(first), Some(second)) => Err(plain.twice(first, second).inside(name)),
        (first, _) => Ok(first),
    }
}

/// Whether an object says itself how a server is reached.
fn is_server(plain: &Plain, raw: &RawValue) -> bool {
    kind(raw) == "an object"
        && plain.fields(raw).is_ok_and(|fields| {
            fields.iter().any(|(name, value)| match &**name {
                "command" => matches!(kind(value), "a string" | "a list"),
                name => URLS.contains(&name) && kind(value) == "a string",
            })
        })
}

/// How one entry calls its fields.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spelling {
    pub(super) url: &'static str,
    pub(super) kind: Option<&'static str>,
    pub(super) env: &'static str,
    pub(super) cwd: &'static str,
    pub(super) switch: (&'static str, bool),
    pub(super) command: CommandForm,
}

/// What `command` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandForm {
    /// The program.
    Program,
    /// The program and its arguments.
    Line,
    /// An object of `path`, `args` and `env`.
    Object,
}

impl Spelling {
    /// Of an entry with these fields.
    pub(super) fn of(fields: &Fields<'_>) -> Self {
        let find = |name: &str| fields.iter().find(|(other, _)| other == name).map(|(_, raw)| *raw);
        let first = |names: &[&'static str]| names.iter().copied().find(|name| find(name).is_some());
        Self {
            url: first(&URLS).unwrap_or("url"),
            kind: TYPES.into_iter().find(|name| {
                find(name)
                    .is_some_and(|raw| kind(raw) == "a string" || (*name == "type" && kind(raw) != "null"))
            }),
            env: first(&ENVS).unwrap_or("env"),
            cwd: first(&CWDS).unwrap_or("cwd"),
            switch: SWITCHES.into_iter().find(|(name, _)| find(name).is_some()).unwrap_or(SWITCHES[0]),
            command: match find("command").map(kind) {
                Some("a list") => CommandForm::Line,
                Some("an object") => CommandForm::Object,
                _ => CommandForm::Program,
            },
        }
    }

    /// Of a new entry among these.
    pub(super) fn new_in(style: Style, members: &Fields<'_>, plain: &Plain) -> Self {
        let has_programs = members.iter().any(|(_, raw)| {
            plain.fields(raw).is_ok_and(|fields| {
                fields.iter().any(|(name, value)| name == "command" && kind(value) == "a string")
            })
        });
        let (mut spelling, is_line) = (Self::of(&Vec::new()), style == Style::Terminal && !has_programs);
        if matches!(style, Style::Editor | Style::Terminal) {
            spelling.kind = Some("type");
        }
        if matches!(style, Style::ContextServers) || is_line {
            spelling.switch = ("enabled", false);
        }
        if is_line {
            (spelling.command, spelling.env) = (CommandForm::Line, "environment");
        }
        spelling
    }

    /// Whether a field of this name is understood in an entry that is started, or that is at an address.
    pub(super) fn knows(&self, name: &str, is_command: bool) -> bool {
        let both = self.kind == Some(name) || SWITCHES.iter().any(|(switch, _)| *switch == name);
        let command = match self.command {
            CommandForm::Object => false,
            CommandForm::Line => name == self.env,
            CommandForm::Program => name == self.env || name == "args",
        };
        both || match is_command {
            true => command || name == "command" || name == self.cwd || name == "envFile",
            false => URLS.contains(&name) || name == "headers",
        }
    }
}

/// What `type` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Command,
    Url,
}

/// What a word under `type` says.
///
/// # Errors
/// When it is none of the known ones.
pub(super) fn said(raw: &RawValue) -> Result<(Said, String), ConfigError> {
    let word = string(raw)?;
    let plain: String =
        word.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect();
    match plain.as_str() {
        "stdio" | "local" => Ok((Said::Command, word)),
        "http" | "streamablehttp" | "sse" | "remote" | "ws" | "websocket" => Ok((Said::Url, word)),
        _ => {
            let known = "stdio, local, http, streamable-http, sse, remote, ws";
            Err(ConfigError::new(
                ConfigErrorKind::Value,
                format!("expected one of {known}, found another word"),
            ))
        }
    }
}
