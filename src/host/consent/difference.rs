//! What has changed between two JSON texts, line by line.
//!
//! **Invariant:** whatever differs is shown, or it is said that something is not: nothing can be hidden behind much of the same.

/// The table of a comparison has at most so many cells; larger changes are shown as a whole, the old before the new.
const MAX_CELLS: usize = 4_000_000;

/// So many lines around a change are shown.
const CONTEXT: usize = 2;

/// A longer line that changes is shown around what changes in it, in characters.
const LONG_LINE: usize = 160;

/// So many characters of it that stay the same are shown on either side.
const AROUND: usize = 40;

/// A line and what became of it: `-` it was there, `+` it is, ` ` it was and is.
type Edit<'a> = (char, &'a str);

/// The lines that differ between two JSON texts, each laid out: `-` before what was, `+` before what is, and two lines around.
pub(super) fn difference(before: &str, after: &str) -> String {
    let (before, after) = (laid_out(before), laid_out(after));
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    // The same at both ends need not be compared.
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    let mut edits: Vec<Edit<'_>> = old[..head].iter().map(|line| (' ', *line)).collect();
    edits.extend(compared(&old[head..old.len() - tail], &new[head..new.len() - tail]));
    edits.extend(old[old.len() - tail..].iter().map(|line| (' ', *line)));
    shown(&edits)
}

/// The longest common sequence of lines, by the table of its lengths.
fn compared<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Edit<'a>> {
    let width = new.len() + 1;
    if width.saturating_mul(old.len() + 1) > MAX_CELLS {
        let gone = old.iter().map(|line| ('-', *line));
        return gone.chain(new.iter().map(|line| ('+', *line))).collect();
    }
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
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

fn shown(edits: &[Edit<'_>]) -> String {
    let is_near = |at: usize| {
        let near = &edits[at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(edits.len())];
        near.iter().any(|(sign, _)| *sign != ' ')
    };
    let mut text = String::new();
    let mut is_gap = false;
    let mut at = 0;
    while at < edits.len() {
        if edits[at].0 == ' ' {
            if is_near(at) {
                if std::mem::take(&mut is_gap) {
                    text.push_str("  ...\n");
                }
                push(&mut text, ' ', &briefly(edits[at].1, usize::MAX, 0));
            } else {
                is_gap = true;
            }
            at += 1;
            continue;
        }
        if std::mem::take(&mut is_gap) {
            text.push_str("  ...\n");
        }
        // A run of lines that went and lines that came: those in the same place are compared with each other.
        let run = edits[at..].iter().take_while(|(sign, _)| *sign != ' ').count();
        let of = |wanted| {
            edits[at..at + run].iter().filter(move |(sign, _)| *sign == wanted).map(|(_, line)| *line)
        };
        let (gone, come): (Vec<_>, Vec<_>) = (of('-').collect(), of('+').collect());
        for (sign, lines, others) in [('-', &gone, &come), ('+', &come, &gone)] {
            for (i, line) in lines.iter().enumerate() {
                let (head, tail) = others.get(i).map_or((0, 0), |other| ends(line, other));
                push(&mut text, sign, &briefly(line, head, tail));
            }
        }
        at += run;
    }
    text
}

fn push(text: &mut String, sign: char, line: &str) {
    text.push(sign);
    text.push(' ');
    text.push_str(line);
    text.push('\n');
}

/// How many characters two lines have in common at their beginning, and how many at their end.
fn ends(a: &str, b: &str) -> (usize, usize) {
    let head = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let rest = a.chars().count().min(b.chars().count()) - head;
    let tail = a.chars().rev().zip(b.chars().rev()).take(rest).take_while(|(a, b)| a == b).count();
    (head, tail)
}

/// A long line without most of its first `head` and last `tail` characters, which are as before. How it begins is shown all the same.
fn briefly(line: &str, head: usize, tail: usize) -> String {
    let characters = line.chars().count();
    if characters <= LONG_LINE {
        return line.to_owned();
    }
    let head = head.min(characters);
    let part = |from: usize, to: usize| line.chars().take(to).skip(from);
    let out = |from: usize, to: usize| match to.saturating_sub(from) {
        0 => String::new(),
        count => format!("[{count} characters as before]"),
    };
    let (begin, from) = (AROUND.min(head), head.saturating_sub(AROUND).max(AROUND.min(head)));
    let to = characters - tail.saturating_sub(AROUND).min(characters - from);
    let middle: String = part(from, to).collect();
    part(0, begin).collect::<String>() + &out(begin, from) + &middle + &out(to, characters)
}

/// A JSON text with a line for each member and item; a string with line breaks has a line for each of its own. Strings and
/// numbers stay as they are.
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
            if is_escaped && c == 'n' {
                line(&mut text, depth + 1);
            }
            in_string = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        if c.is_whitespace() {
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
    fn json_is_laid_out_by_lines() {
        for (json, wanted) in [
            (
                r#"{"a":1,"b":{"c":"x, {y}: \"z\"","d":[1,2]},"e":{}}"#,
                "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": \"x, {y}: \\\"z\\\"\",\n    \"d\": [\n      1,\n      2\n    ]\n  },\n  \"e\": {}\n}",
            ),
            (r#"{ "a" : [ ] , "b" : 1e9 }"#, "{\n  \"a\": [],\n  \"b\": 1e9\n}"),
            (r#"["one\ntwo","\\n"]"#, "[\n  \"one\\n\n    two\",\n  \"\\\\n\"\n]"),
            ("5", "5"),
        ] {
            assert_eq!(laid_out(json), wanted);
        }
    }

    #[test]
    fn what_differs_is_shown_with_what_is_around() {
        let before = r#"{"a":1,"b":{"c":"x","d":[1,2]},"e":{}}"#;
        let after = r#"{"a":1,"b":{"c":"other","d":[1,2]},"e":{}}"#;
        assert_eq!(
            difference(before, after),
            "  ...\n    \"a\": 1,\n    \"b\": {\n-     \"c\": \"x\",\n+     \"c\": \"other\",\n      \"d\": [\n        1,\n"
        );
        assert_eq!(difference(before, before), "");
        let (many, few) = (vec!["1"; 50].join(","), vec!["1"; 40].join(","));
        let shown = difference(&format!("[0,{many},2]"), &format!("[9,{few},8]"));
        assert!(shown.contains("-   0,") && shown.contains("+   8") && shown.contains("..."), "{shown}");
    }

    #[test]
    fn a_change_in_much_of_the_same_is_found() {
        let long = "blah ".repeat(2_000);
        let shown =
            difference(&format!(r#"{{"d":"{long}read{long}"}}"#), &format!(r#"{{"d":"{long}send{long}"}}"#));
        assert!(shown.chars().count() < 600, "{shown}");
        assert!(
            shown.contains("-   \"d\": \"blah")
                && shown.contains("blah readblah")
                && shown.contains("blah sendblah"),
            "{shown}"
        );
        // Nor is it hidden behind long lines around it.
        let around = |word: &str| format!(r#"["{long}","{long}","{word}","{long}","{long}"]"#);
        let shown = difference(&around("read"), &around("send"));
        assert!(shown.contains("+   \"send\",\n") && shown.chars().count() < 1_000, "{shown}");
        // Lines of one string.
        let text = |word: &str| format!(r#"{{"d":"one\ntwo\n{word}\nfour\nfive\nsix"}}"#);
        let shown = difference(&text("three"), &text("3"));
        assert!(shown.contains("-     three\\n\n+     3\\n\n") && !shown.contains("six"), "{shown}");
        // Too much to compare is still shown.
        let many = |word: &str| format!("[{}]", vec![word; 3_000].join(","));
        let shown = difference(&many("1"), &many("2"));
        assert_eq!((shown.matches("-   1").count(), shown.matches("+   2").count()), (3_000, 3_000));
    }
}
