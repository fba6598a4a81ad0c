//! The text of a field, split into what stays and what is replaced. Pure: knows no values.
//!
//! **Invariant:** a text is split once, before anything is replaced. What a variable holds is never looked at again, so that a value
//! with `${…}` in it stays that text.

/// A part of a field's text.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Variable { name: &'a str, default: Option<Vec<Piece<'a>>> },
    Input(&'a str),
    Secret(&'a str),
    WorkspaceFolder,
    WorkspaceFolderBasename,
    UserHome,
    PathSeparator,
}

/// So deep may defaults be nested in each other, braces counted.
pub(super) const MAX_DEPTH: usize = 16;

/// Splits `text`. A `$` that begins none of the forms is text.
///
/// # Errors
/// What is wrong: a form without a name, or nested too deep.
pub(super) fn split(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = text[at..].find("${") {
        let start = at + found;
        match form(&text[start + 2..])? {
            Some((piece, length)) => {
                if kept < start {
                    pieces.push(Piece::Text(&text[kept..start]));
                }
                pieces.push(piece);
                at = start + 2 + length;
                kept = at;
            }
            None => at = start + 2,
        }
    }
    if kept < text.len() {
        pieces.push(Piece::Text(&text[kept..]));
    }
    Ok(pieces)
}

/// The form that `rest`, which follows a `${`, begins with, and how long it is, its brace included.
fn form(rest: &str) -> Result<Option<(Piece<'_>, usize)>, String> {
    for (word, piece) in [
        ("workspaceFolder}", Piece::WorkspaceFolder),
        ("workspaceFolderBasename}", Piece::WorkspaceFolderBasename),
        ("userHome}", Piece::UserHome),
        ("pathSeparator}", Piece::PathSeparator),
        ("/}", Piece::PathSeparator),
    ] {
        if rest.starts_with(word) {
            return Ok(Some((piece, word.len())));
        }
    }
    for (word, piece) in [("input:", Piece::Input as fn(_) -> _), ("secret:", Piece::Secret as fn(_) -> _)] {
        if let Some(named) = rest.strip_prefix(word) {
            let Some(end) = named.find(['}', '$', '{']).filter(|end| named[*end..].starts_with('}')) else {
                return Ok(None);
            };
            if end == 0 {
                return Err(format!("${{{word}}} names nothing"));
            }
            return Ok(Some((piece(&named[..end]), word.len() + end + 1)));
        }
    }
    let (named, before) = match rest.strip_prefix("env:") {
        Some(named) => (named, "env:".len()),
        None => (rest, 0),
    };
    // After `env:` a name is what the system takes for one; without, `${…}` is left alone unless it looks like a variable.
    let is_name = |c: char| match before {
        0 => c.is_ascii_alphanumeric() || c == '_',
        _ => !matches!(c, '}' | '{' | '$' | '=' | ':' | '\0'),
    };
    let end = named.find(|c| !is_name(c)).unwrap_or(named.len());
    let (name, after) = named.split_at(end);
    if name.is_empty() && before > 0 && (after.starts_with('}') || after.starts_with(":-")) {
        return Err("${env:} names no variable".into());
    }
    if name.is_empty() || (before == 0 && name.starts_with(|c: char| c.is_ascii_digit())) {
        return Ok(None);
    }
    if after.starts_with('}') {
        return Ok(Some((Piece::Variable { name, default: None }, before + end + 1)));
    }
    let Some(default) = after.strip_prefix(":-") else { return Ok(None) };
    let Some(length) = balanced(default)? else { return Ok(None) };
    let pieces = split(&default[..length])?;
    Ok(Some((Piece::Variable { name, default: Some(pieces) }, before + end + 2 + length + 1)))
}

/// Where the brace is that closes what began before `text`, if there is one: `{"a":1}` may be a default.
fn balanced(text: &str) -> Result<Option<usize>, String> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' if depth == MAX_DEPTH => return Err(format!("defaults nested more than {MAX_DEPTH} deep")),
            b'{' => depth += 1,
            b'}' if depth == 0 => return Ok(Some(at)),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable<'a>(name: &'a str, default: Option<Vec<Piece<'a>>>) -> Piece<'a> {
        Piece::Variable { name, default }
    }

    #[test]
    fn forms_are_told_from_text() {
        let text = |text| vec![Piece::Text(text)];
        let cases = [
            ("plain", text("plain")),
            ("", vec![]),
            ("${A}", vec![variable("A", None)]),
            ("x${env:A}y", vec![Piece::Text("x"), variable("A", None), Piece::Text("y")]),
            ("${A:-b c}", vec![variable("A", Some(text("b c")))]),
            ("${env:A:-b}", vec![variable("A", Some(text("b")))]),
            ("${A:-}", vec![variable("A", Some(vec![]))]),
            ("${A:-${B:-c}}", vec![variable("A", Some(vec![variable("B", Some(text("c")))]))]),
            (r#"${A:-{"a":1}}"#, vec![variable("A", Some(text(r#"{"a":1}"#)))]),
            ("${env:ProgramFiles(x86)}", vec![variable("ProgramFiles(x86)", None)]),
            ("${input:a-b}", vec![Piece::Input("a-b")]),
            ("${secret:my token}", vec![Piece::Secret("my token")]),
            ("${workspaceFolder}${/}a", vec![Piece::WorkspaceFolder, Piece::PathSeparator, Piece::Text("a")]),
            ("${workspaceFolderBasename}", vec![Piece::WorkspaceFolderBasename]),
            ("${userHome}${pathSeparator}", vec![Piece::UserHome, Piece::PathSeparator]),
            ("$${A}", vec![Piece::Text("$"), variable("A", None)]),
            ("${${A}}", vec![Piece::Text("${"), variable("A", None), Piece::Text("}")]),
            ("${A:-x ${B}", vec![Piece::Text("${A:-x "), variable("B", None)]),
        ];
        for (given, want) in cases {
            assert_eq!(split(given), Ok(want), "{given}");
        }
        for given in [
            "$",
            "$A",
            "$$",
            "${",
            "${}",
            "${A",
            "${A-b}",
            "${A:b}",
            "${1}",
            "${1A}",
            "${a b}",
            "${config:x}",
            "${command:y}",
            "${workspaceFolder:other}",
            "${env:A",
            "${env:A=b}",
            "${input:a",
            "{A}",
            "$(A)",
            "${é}",
        ] {
            assert_eq!(split(given), Ok(text(given)), "{given}");
        }
        for given in ["${env:}", "${env::-x}", "${input:}", "${secret:}"] {
            assert!(split(given).is_err(), "{given}");
        }
    }

    #[test]
    fn hostile_texts_take_little_time_and_stack() {
        let deep = "${A:-".repeat(100_000);
        assert!(split(&deep).is_err());
        let many = "${".repeat(500_000);
        assert_eq!(split(&many), Ok(vec![Piece::Text(&many)]));
        let wide = format!("{}{}", "${A:-".repeat(MAX_DEPTH), "{}".repeat(200_000));
        assert!(split(&wide).is_ok_and(|pieces| pieces.len() == 1));
    }
}
