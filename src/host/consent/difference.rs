//! What has changed between two JSON texts, line by line.

/// With more lines than this a comparison says only that there are many.
const MAX_LINES: usize = 2_000;

/// So many lines around a change are shown.
const CONTEXT: usize = 2;

/// The lines that differ between two JSON texts, each laid out: `-` before what was, `+` before what is, and two lines around.
pub(super) fn difference(before: &str, after: &str) -> String {
    let (before, after) = (laid_out(before), laid_out(after));
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if old.len() > MAX_LINES || new.len() > MAX_LINES {
        return format!("- {} lines\n+ {} lines, too many to compare", old.len(), new.len());
    }
    // The same at both ends need not be compared.
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    let mut edits: Vec<(char, &str)> = old[..head].iter().map(|line| (' ', *line)).collect();
    edits.extend(compared(&old[head..old.len() - tail], &new[head..new.len() - tail]));
    edits.extend(old[old.len() - tail..].iter().map(|line| (' ', *line)));
    shown(&edits)
}

/// The longest common sequence of lines, by the table of its lengths.
fn compared<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let width = new.len() + 1;
    let mut lengths = vec![0_u16; (old.len() + 1) * width];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            lengths[i * width + j] = match a == b {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut edits = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            edits.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || i < old.len() && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]
        {
            edits.push(('-', old[i]));
            i += 1;
        } else {
            edits.push(('+', new[j]));
            j += 1;
        }
    }
    edits
}

fn shown(edits: &[(char, &str)]) -> String {
    let is_near = |at: usize| {
        let near = &edits[at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(edits.len())];
        near.iter().any(|(sign, _)| *sign != ' ')
    };
    let mut text = String::new();
    let mut is_gap = false;
    for (at, (sign, line)) in edits.iter().enumerate() {
        if !is_near(at) {
            is_gap = true;
            continue;
        }
        if std::mem::take(&mut is_gap) {
            text.push_str("  ...\n");
        }
        text.push(*sign);
        text.push(' ');
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// A JSON text with a line for each member and item. Strings and numbers stay as they are.
pub(super) fn laid_out(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut is_escaped, mut is_empty) = (0_usize, false, false, false);
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.push_str(&"  ".repeat(depth.min(32)));
    };
    for c in json.chars() {
        if in_string {
            text.push(c);
            in_string = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        if std::mem::take(&mut is_empty) && !matches!(c, '}' | ']') {
            line(&mut text, depth);
        }
        match c {
            '{' | '[' => {
                text.push(c);
                depth += 1;
                is_empty = true;
                continue;
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if !text.ends_with(['{', '[']) {
                    line(&mut text, depth);
                }
                text.push(c);
            }
            ',' => {
                text.push(c);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            c if c.is_whitespace() => {}
            c => {
                in_string = c == '"';
                text.push(c);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_and_compared_by_lines() {
        let before = r#"{"a":1,"b":{"c":"x, {y}: \"z\"","d":[1,2]},"e":{}}"#;
        assert_eq!(
            laid_out(before),
            "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": \"x, {y}: \\\"z\\\"\",\n    \"d\": [\n      1,\n      2\n    ]\n  },\n  \"e\": {}\n}"
        );
        let after = r#"{"a":1,"b":{"c":"other","d":[1,2]},"e":{}}"#;
        let shown = difference(before, after);
        assert_eq!(
            shown,
            "    \"a\": 1,\n    \"b\": {\n-     \"c\": \"x, {y}: \\\"z\\\"\",\n+     \"c\": \"other\",\n      \"d\": [\n        1,\n  ...\n"
                .replace("  ...\n", "")
        );
        assert_eq!(difference(before, before), "");
        let long = format!("[{}]", vec!["1"; 3_000].join(","));
        assert!(difference(&long, "[]").contains("too many"));
        let (many, few) = (vec!["1"; 50].join(","), vec!["1"; 40].join(","));
        let shown = difference(&format!("[0,{many},2]"), &format!("[9,{few},8]"));
        assert!(shown.contains("-   0,") && shown.contains("+   8") && shown.contains("..."), "{shown}");
    }
}
