//! Text as HTML: nothing in it is markup, and nothing in it is invisible.
//!
//! **Invariant:** whatever is put into a page of what was recorded goes through here.

use std::fmt::Write as _;

/// Whether a character is shown by its number: it controls a terminal, the direction of text or the breaking of lines, or has no
/// width, so that a reader would not see it or see something else.
fn is_hidden(c: char, before: Option<char>) -> bool {
    match c {
        '\n' | '\t' => false,
        // They join letters and emoji; after ASCII they only hide something.
        '\u{200c}' | '\u{200d}' => before.is_none_or(|before| before.is_ascii()),
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' => {
            true
        }
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' => true,
        '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}' | '\u{e000}'..='\u{f8ff}' => true,
        c => c.is_control(),
    }
}

/// Appends `text` for the inside of an element, at most `room` bytes of HTML. Returns how many bytes of the text that was.
pub(super) fn text(out: &mut String, text: &str, room: usize) -> usize {
    let end = out.len().saturating_add(room);
    let mut before = None;
    for (at, c) in text.char_indices() {
        let length = out.len();
        if is_hidden(c, before) {
            // An element, so that it is told apart from a text that only says so.
            let _ = write!(out, "<i class=\"c\">U+{:04X}</i>", u32::from(c));
        } else {
            plain(out, c);
        }
        if out.len() > end {
            out.truncate(length);
            return at;
        }
        before = Some(c);
    }
    text.len()
}

/// The same for the value of an attribute in double quotes, or for a text in which no element may be, all of it.
pub(super) fn attribute(out: &mut String, text: &str) {
    let mut before = None;
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(' '),
            c if is_hidden(c, before) => {
                let _ = write!(out, "[U+{:04X}]", u32::from(c));
            }
            c => plain(out, c),
        }
        before = Some(c);
    }
}

fn plain(out: &mut String, c: char) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        // Templates of scripts, should anybody put a piece of the page into one.
        '`' => out.push_str("&#96;"),
        c => out.push(c),
    }
}

/// The beginning of `text`, at most `characters` of it on one line.
pub(super) fn line(text: &str, characters: usize) -> String {
    let mut out = String::new();
    let mut last_is_space = false;
    let mut count = 0;
    for c in text.chars() {
        if count == characters {
            out.push('…');
            break;
        }
        let is_space = matches!(c, '\n' | '\t' | ' ');
        if is_space && last_is_space {
            continue;
        }
        last_is_space = is_space;
        out.push(if is_space { ' ' } else { c });
        count += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(source: &str) -> String {
        let mut out = String::new();
        assert_eq!(text(&mut out, source, usize::MAX), source.len());
        out
    }

    #[test]
    fn markup_is_text() {
        assert_eq!(
            html("</script><img src=x onerror=\"a('`')\">&amp;"),
            "&lt;/script&gt;&lt;img src=x onerror=&quot;a(&#39;&#96;&#39;)&quot;&gt;&amp;amp;"
        );
        let mut value = String::new();
        attribute(&mut value, "\" onload='x\n\u{202e}<");
        assert_eq!(value, "&quot; onload=&#39;x [U+202E]&lt;");
    }

    #[test]
    fn what_would_not_be_seen_is_shown_by_its_number() {
        for c in [
            '\0',
            '\u{7}',
            '\u{1b}',
            '\r',
            '\u{7f}',
            '\u{85}',
            '\u{200b}',
            '\u{202e}',
            '\u{2066}',
            '\u{2028}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            assert_eq!(html(&format!("a{c}b")), format!("a<i class=\"c\">U+{:04X}</i>b", u32::from(c)));
        }
        // What has a look of its own stays.
        for text in ["é 😀 漢字 שלום\n\t", "👨\u{200d}👩\u{200d}👧", "❤\u{fe0f}"] {
            assert_eq!(html(text), text);
        }
        assert_eq!(html("a\u{200d}b"), "a<i class=\"c\">U+200D</i>b");
    }

    #[test]
    fn what_has_no_room_is_left_out_whole() {
        let mut out = String::new();
        assert_eq!(text(&mut out, "ab<cd", 5), 2);
        assert_eq!(out, "ab");
        assert_eq!(text(&mut out, "é", 1), 0);
        assert_eq!(line("a \n\t b  c", 4), "a b …");
    }
}
