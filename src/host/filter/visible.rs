//! [`visible`]: characters that hide, reorder or command, written out.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with every character written out that is not seen as it is, such as `\u{202e}`.
///
/// Written out are control characters (with them the escape that terminal commands begin with) but for line breaks and tabs;
/// marks that change the direction of text; characters without width, tags and variation selectors, unless emoji or a script
/// need them: families and flags, and the joiners of Arabic and Indic writing stay as they are. What has none of them is not
/// copied, and doing it twice changes nothing.
///
/// ```
/// use tinymcp::host::filter::visible;
///
/// assert_eq!(visible("red: \u{1b}[31m"), "red: \\u{1b}[31m");
/// assert_eq!(visible("ab\u{202e}cd"), "ab\\u{202e}cd");
/// assert_eq!(visible("👩\u{200d}🚀 and\ttwo\nlines"), "👩\u{200d}🚀 and\ttwo\nlines");
/// ```
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    written(text, false)
}

/// The same for what is one line, such as a name: line breaks and tabs are written out as well.
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    written(text, true)
}

fn written(text: &str, is_line: bool) -> Cow<'_, str> {
    let Some(start) = text.bytes().position(|b| is_suspect(b, is_line)) else { return Cow::Borrowed(text) };
    let mut out = String::new();
    let (mut copied, mut at) = (0, start);
    let mut before = text[..start].chars().next_back();
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at + c.len_utf8()..];
        let flag = if c == '\u{1f3f4}' { tags_of_flag(rest) } else { 0 };
        let is_out = is_written(c, before, rest, is_line);
        if is_out {
            out.reserve(text.len() - copied + 8);
            out.push_str(&text[copied..at]);
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            copied = at + c.len_utf8();
        }
        // What is written out ends so: seen once more, it has the same neighbours.
        before = Some(if is_out { '}' } else { c });
        at += c.len_utf8() + flag;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Whether a byte may be a part of what is written out.
fn is_suspect(b: u8, is_line: bool) -> bool {
    b >= 0x7f || b < 0x20 && (is_line || !matches!(b, b'\n' | b'\t'))
}

/// `c` stands between `before` and `rest`.
fn is_written(c: char, before: Option<char>, rest: &str, is_line: bool) -> bool {
    match c {
        '\n' | '\t' => is_line,
        // The line break of other systems; alone it would write over the line.
        '\r' => is_line || !rest.starts_with('\n'),
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        '\u{200d}' => !before.is_some_and(|before| {
            let is_picture = is_emoji(before) || matches!(before, '\u{fe0f}' | '\u{20e3}');
            needs_joiners(before) || is_picture && rest.chars().next().is_some_and(is_emoji)
        }),
        '\u{200c}' => !before.is_some_and(needs_joiners),
        '\u{fe0e}' | '\u{fe0f}' => !before.is_some_and(has_two_looks),
        '\u{fe00}'..='\u{fe0d}' => !before.is_some_and(|before| before >= '\u{2200}' && !is_unseen(before)),
        '\u{e0100}'..='\u{e01ef}' => !before.is_some_and(is_ideograph),
        _ => is_unseen(c),
    }
}

/// What is never seen, or changes what is seen around it.
fn is_unseen(c: char) -> bool {
    matches!(c,
        // Soft hyphen, grapheme joiner, Arabic letter mark, fillers of Hangul and Khmer.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        // Mongolian separators.
        | '\u{180b}'..='\u{180f}'
        // Without width, marks of direction.
        | '\u{200b}'..='\u{200f}'
        // Separators of lines and paragraphs, embeddings and overrides of direction.
        | '\u{2028}'..='\u{202e}'
        // Joiner, invisible operators, isolates of direction, deprecated formats.
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        // Shorthand and musical formats.
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Tags, selectors.
        | '\u{e0000}'..='\u{e0fff}')
}

/// How many bytes of `rest` are the tags of a flag that is in use: England, Scotland, Wales.
fn tags_of_flag(rest: &str) -> usize {
    ["gbeng", "gbsct", "gbwls"]
        .into_iter()
        .find_map(|name| {
            let mut left = rest.chars();
            let tags =
                name.chars().map(|c| char::from_u32(0xe_0000 + u32::from(c))).chain([Some('\u{e007f}')]);
            tags.into_iter().all(|tag| left.next() == tag).then(|| rest.len() - left.as_str().len())
        })
        .unwrap_or(0)
}

/// What a joiner may stand between.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}'
        | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// What is a sign or a picture, as a selector says.
fn has_two_looks(c: char) -> bool {
    matches!(c,
        '#' | '*' | '0'..='9' | '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2100}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Scripts in which joiners and non-joiners change the shape of letters: Arabic and its neighbours, those of India, Tibet, Burma,
/// Cambodia and Mongolia.
fn needs_joiners(c: char) -> bool {
    matches!(c,
        '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
        | '\u{a840}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
        && !is_unseen(c)
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Takes what is not seen by itself off the end, where a text is cut: a joiner that joins nothing would be written out.
pub(super) fn trim_joiners(text: &str) -> &str {
    text.trim_end_matches(|c| is_unseen(c) || c == '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_written_out() {
        for (text, want) in [
            ("", ""),
            ("plain text, 5 < 6 & \\u{1b}", "plain text, 5 < 6 & \\u{1b}"),
            ("tab\there\nand\r\nthere", "tab\there\nand\r\nthere"),
            ("good\rEVIL", "good\\u{d}EVIL"),
            ("\0\u{7}\u{8}\u{7f}\u{9b}31m", "\\u{0}\\u{7}\\u{8}\\u{7f}\\u{9b}31m"),
            ("\u{1b}]8;;http://x\u{7}y\u{1b}\\", "\\u{1b}]8;;http://x\\u{7}y\\u{1b}\\"),
            ("a\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}", "a\\u{202a}\\u{202b}\\u{202c}\\u{202d}\\u{202e}"),
            ("\u{2066}\u{2067}\u{2068}\u{2069}", "\\u{2066}\\u{2067}\\u{2068}\\u{2069}"),
            ("\u{200e}\u{200f}\u{61c}", "\\u{200e}\\u{200f}\\u{61c}"),
            ("pay\u{200b}pal\u{feff}\u{2060}\u{ad}", "pay\\u{200b}pal\\u{feff}\\u{2060}\\u{ad}"),
            ("a\u{200d}b\u{200c}c", "a\\u{200d}b\\u{200c}c"),
            ("hi\u{e0069}\u{e0067}", "hi\\u{e0069}\\u{e0067}"),
            ("a\u{fe0f}b\u{fe01}", "a\\u{fe0f}b\\u{fe01}"),
            ("x\u{e0100}", "x\\u{e0100}"),
            ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
        ] {
            assert_eq!(visible(text), want);
            assert_eq!(visible(want), want);
        }
        assert_eq!(visible_line("a\nb\tc\r\n"), "a\\u{a}b\\u{9}c\\u{d}\\u{a}");
    }

    #[test]
    fn what_people_write_stays() {
        for text in [
            "👨‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 ❤️‍🔥 🧑‍⚕️ 1️⃣ ©️ ☺︎ 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
            "می‌خواهم",
            "क्‍ष and ശ്രീ and ක්‍ෂ",
            "葛\u{e0100}城 ∩\u{fe00}",
            "naïve café – “quotes” … €",
            "שלום عليكم",
            "日本語 한국어 ไทย",
        ] {
            assert!(matches!(visible(text), Cow::Borrowed(_)), "{}", text.escape_unicode());
            assert_eq!(visible(text), text);
        }
        // But not what imitates them.
        assert_eq!(visible("🏴\u{e0067}\u{e0062}"), "🏴\\u{e0067}\\u{e0062}");
        assert_eq!(visible("👩\u{200d}\u{200d}🚀"), "👩\\u{200d}\\u{200d}🚀");
        assert_eq!(visible("می\u{200c}\u{200c}خ"), "می\u{200c}\\u{200c}خ");
        assert_eq!(visible("❤\u{fe0f}\u{fe0f}"), "❤\u{fe0f}\\u{fe0f}");
    }

    #[test]
    fn twice_is_as_once_and_nothing_bad_is_left() {
        let pieces = [
            "a",
            "\u{200d}",
            "👩",
            "\u{fe0f}",
            "\r",
            "\n",
            "\u{202e}",
            "م",
            "\u{200c}",
            "\u{e0067}",
            "🏴",
            "क",
            "\u{fe01}",
            "葛",
            "\u{e0100}",
            "\u{1b}",
            "#",
        ];
        let mut seed = 7_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..8 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[usize::try_from(seed >> 33).expect("fits") % pieces.len()]);
            }
            let once = visible(&text);
            assert_eq!(visible(&once), once, "{}", text.escape_unicode());
            assert!(!once.contains(['\u{202e}', '\u{1b}', '\u{e0067}']), "{}", text.escape_unicode());
            let line = visible_line(&text);
            assert_eq!(visible_line(&line), line);
            assert!(!line.contains(['\n', '\r']));
            let trimmed = format!("{}\n", trim_joiners(&once));
            assert_eq!(visible(&trimmed), trimmed, "{}", text.escape_unicode());
        }
    }
}
