//! Files of variables, as `envFile` names them: `KEY=VALUE`, a line each.

use super::error::{ConfigError, ConfigErrorKind};

/// Reads the variables of a file, in their order; of those with one name the last counts. Nothing in them is replaced.
///
/// ```text
/// # a comment
/// PLAIN=up to the end of the line   # or up to a comment
/// export ALSO="quoted, with \n, \t, \", \\ and over several lines"
/// RAW='as it is'
/// ```
///
/// # Errors
/// Naming the line, when it is none of these.
pub(super) fn variables(text: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let mut found = Vec::new();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut line = 1;
    while !rest.is_empty() {
        let here = rest.trim_start_matches([' ', '\t']);
        let (this, next) = here.split_once('\n').unwrap_or((here, ""));
        let is_blank = this.trim_end().is_empty() || this.starts_with('#');
        if is_blank {
            (rest, line) = (next, line + 1);
            continue;
        }
        let wrong = |problem: &str| {
            ConfigError::new(ConfigErrorKind::Syntax, format!("line {line}: {problem}")).at(Some((line, 1)))
        };
        let assignment = match this.strip_prefix("export") {
            Some(after) if after.starts_with([' ', '\t']) => {
                here["export".len()..].trim_start_matches([' ', '\t'])
            }
            _ => here,
        };
        let end = assignment.find(['=', '\n']).filter(|end| assignment[*end..].starts_with('='));
        let end = end.ok_or_else(|| wrong("expected NAME=VALUE"))?;
        let name = assignment[..end].trim_end_matches([' ', '\t']);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if name.is_empty() || !name.chars().all(is_part) {
            return Err(wrong("not the name of a variable before `=`"));
        }
        let value = assignment[end + 1..].trim_start_matches([' ', '\t']);
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let (value, after) =
                    quoted(&value[1..], quote).ok_or_else(|| wrong("a quote does not end"))?;
                let (left, next) = after.split_once('\n').unwrap_or((after, ""));
                let left = left.trim();
                if !left.is_empty() && !left.starts_with('#') {
                    return Err(wrong("text after the closing quote"));
                }
                (value, next)
            }
            _ => {
                let (value, next) = value.split_once('\n').unwrap_or((value, ""));
                let comment = value.starts_with('#').then_some(0);
                let comment = comment.or_else(|| value.find(" #").or_else(|| value.find("\t#")));
                (value[..comment.unwrap_or(value.len())].trim_end().to_owned(), next)
            }
        };
        if value.contains('\0') {
            return Err(wrong("has a NUL character"));
        }
        line += here[..here.len() - after.len()].matches('\n').count();
        rest = after;
        found.push((name.to_owned(), value));
    }
    Ok(found)
}

/// What is in quotes, and what follows them.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((value, &text[at + 1..])),
            '\\' if quote == '"' => match chars.next()?.1 {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                c @ ('"' | '\\' | '$' | '`') => value.push(c),
                c => value.extend(['\\', c]),
            },
            '\r' if text[at + 1..].starts_with('\n') => {}
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_shells_read_them() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("", &[]),
            ("\n \n# only a comment", &[]),
            ("A=1\nB = 2 \r\nC=", &[("A", "1"), ("B", "2"), ("C", "")]),
            ("export A=1\nexport=2\nexported=3", &[("A", "1"), ("export", "2"), ("exported", "3")]),
            ("A=x # y\nB=x#y\nC=# all\nD=a=b", &[("A", "x"), ("B", "x#y"), ("C", ""), ("D", "a=b")]),
            (r#"A="x # \"y\" \n\\ \q" # c"#, &[("A", "x # \"y\" \n\\ \\q")]),
            (r"A='x \n ${B}'", &[("A", r"x \n ${B}")]),
            ("A=\"1\r\n2\"\nB=it's", &[("A", "1\n2"), ("B", "it's")]),
            ("\u{feff}A=${HOME}$B", &[("A", "${HOME}$B")]),
            ("A=1\nA=2", &[("A", "1"), ("A", "2")]),
            ("  A.b-c='' ", &[("A.b-c", "")]),
        ];
        for (text, want) in cases {
            let found = variables(text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
            let found: Vec<_> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(found, *want, "{text:?}");
        }
    }

    #[test]
    fn a_wrong_line_is_named_without_what_it_says() {
        for (text, line) in [
            ("A=1\nsecret", 2),
            ("=secret", 1),
            ("A=\"1\n2\"\nB='secret", 3),
            ("\n\nA b=secret", 3),
            ("A=\"x\" secret", 1),
            ("A=sec\0ret", 1),
            ("export", 1),
        ] {
            let error = variables(text).expect_err(text);
            assert_eq!(error.line(), Some(line), "{text:?}: {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
