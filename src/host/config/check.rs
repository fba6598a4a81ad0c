//! What no server can be started or reached with: looked for when a file is read, and once more when variables have been replaced.

use super::entry::{Reach, ServerEntry};
use super::error::{ConfigError, name_alone};

/// Looks at an entry as it is written.
pub(super) fn entry(entry: &ServerEntry) -> Result<(), ConfigError> {
    if entry.name.is_empty() {
        return Err(ConfigError::value("the server's name is empty"));
    }
    match &entry.reach {
        Reach::Command(command) => {
            program(&command.command).map_err(|e| e.inside("command"))?;
            for (i, arg) in command.args.iter().enumerate() {
                no_nul(arg).map_err(|e| e.inside(&format!("[{i}]")).inside("args"))?;
            }
            for name in command.env.keys().chain(&command.env_removed) {
                variable_name(name).map_err(|e| e.inside("env"))?;
            }
            for (name, text) in &command.env {
                no_nul(text).map_err(|e| e.inside(name).inside("env"))?;
            }
            for (name, text) in [("envFile", &command.env_file), ("cwd", &command.cwd)] {
                let Some(text) = text else { continue };
                let is_empty = text.is_empty().then(|| ConfigError::value("is empty"));
                is_empty.map_or_else(|| no_nul(text), Err).map_err(|e| e.inside(name))?;
            }
        }
        Reach::Url(url) => {
            // What has variables is looked at when it has their values.
            if !url.url.contains("${") {
                address(&url.url).map_err(|e| e.inside("url"))?;
            }
            let mut before: Option<&str> = None;
            let mut names: Vec<_> = url.headers.keys().map(String::as_str).collect();
            names.sort_by_key(|name| name.to_ascii_lowercase());
            for name in names {
                header_name(name).map_err(|e| e.inside("headers"))?;
                if before.is_some_and(|before| before.eq_ignore_ascii_case(name)) {
                    let problem = "given twice: a header's name means the same in small letters and capitals";
                    return Err(ConfigError::value(problem).inside(name).inside("headers"));
                }
                before = Some(name);
            }
            for (name, text) in &url.headers {
                header_value(text).map_err(|e| e.inside(name).inside("headers"))?;
            }
        }
    }
    Ok(())
}

pub(super) fn program(text: &str) -> Result<(), ConfigError> {
    if text.trim().is_empty() {
        return Err(ConfigError::value("names no program"));
    }
    no_nul(text)
}

pub(super) fn no_nul(text: &str) -> Result<(), ConfigError> {
    if text.contains('\0') {
        return Err(ConfigError::value("has a NUL character, which no program can be given"));
    }
    Ok(())
}

/// The name of a variable that a server gets.
pub(super) fn variable_name(name: &str) -> Result<(), ConfigError> {
    if name.is_empty() {
        return Err(ConfigError::value("the name of a variable is empty"));
    }
    if name.contains(['=', '\0']) {
        return Err(ConfigError::value("the name of a variable cannot have `=` or NUL in it")
            .inside(&name_alone(name)));
    }
    Ok(())
}

/// An address as far as everybody needs it to be one: who connects looks closer.
pub(super) fn address(text: &str) -> Result<(), ConfigError> {
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        let start = text.get(..scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then(|| &text[scheme.len()..])
    });
    let Some(rest) = rest else {
        return Err(ConfigError::value("expected an address that begins with http:// or https://"));
    };
    if rest.is_empty() || rest.starts_with(['/', '?', '#']) {
        return Err(ConfigError::value("names no host"));
    }
    if text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err(ConfigError::value("has white space or a control character in it"));
    }
    Ok(())
}

/// A header's name, by the grammar of HTTP.
fn header_name(name: &str) -> Result<(), ConfigError> {
    let is_token = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(ConfigError::value("not the name of a header").inside(&name_alone(name)));
    }
    Ok(())
}

/// A header's value: a line break in it would be another header.
pub(super) fn header_value(text: &str) -> Result<(), ConfigError> {
    if text.contains(|c: char| c.is_control() && c != '\t') {
        return Err(ConfigError::value("has a line break or a control character in it"));
    }
    Ok(())
}
