//! [`Caps`]: how much of everything is passed on.

use super::visible::trim_joiners;

/// How much is passed on of what a server sends. Beyond it a text says what was cut, and how much there was.
///
/// ```
/// use tinymcp::host::filter::{Caps, ResultFilter, Source};
/// use tinymcp::protocol::CallToolResult;
///
/// let filter = ResultFilter::new().with_caps(Caps::default().with_text_bytes(1024));
/// let result = filter.apply_call(&Source::tool("logs", "tail"), CallToolResult::text("x".repeat(5000)))?;
/// let text = result.text_content();
/// assert_eq!(text.len(), 1024);
/// assert!(text.ends_with("x\n[cut here: there are 5000 bytes, and at most 1024 are passed on]"));
/// # Ok::<(), tinymcp::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Caps {
    /// Bytes of one text, and of each string of a structured result.
    pub text_bytes: usize,
    /// Bytes of all texts of one result.
    pub result_bytes: usize,
    /// Bytes of the structured result.
    pub structured_bytes: usize,
    /// Bytes of a picture, a sound or a file, as base64.
    pub blob_bytes: usize,
    /// Blocks of one result, parts of a resource, messages of a prompt.
    pub blocks: usize,
    /// Bytes of a name, a title or an address.
    pub name_bytes: usize,
    /// Bytes of a description, and of each string of a schema.
    pub description_bytes: usize,
    /// Bytes of a schema. A tool with a larger one is refused, as it cannot be called without.
    pub schema_bytes: usize,
    /// Bytes of `_meta` and of members that are not known, each.
    pub extra_bytes: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            text_bytes: 256 * 1024,
            result_bytes: 1024 * 1024,
            structured_bytes: 1024 * 1024,
            blob_bytes: 8 * 1024 * 1024,
            blocks: 256,
            name_bytes: 1024,
            description_bytes: 16 * 1024,
            schema_bytes: 256 * 1024,
            extra_bytes: 64 * 1024,
        }
    }
}

/// A text that was cut is no shorter, as it must have room to say so.
const LEAST: usize = 256;

macro_rules! setters {
    ($( $(#[$meta:meta])* $with:ident => $field:ident at least $least:expr ),* $(,)?) => {
        impl Caps {
            $(
                $(#[$meta])*
                #[must_use]
                pub fn $with(mut self, most: usize) -> Self {
                    self.$field = most.max($least);
                    self
                }
            )*
        }
    };
}

setters! {
    /// Sets how many bytes one text may have; 256 at least.
    with_text_bytes => text_bytes at least LEAST,
    /// Sets how many bytes all texts of a result may have; 256 at least.
    with_result_bytes => result_bytes at least LEAST,
    /// Sets how many bytes a structured result may have.
    with_structured_bytes => structured_bytes at least 0,
    /// Sets how many bytes a picture, a sound or a file may have as base64.
    with_blob_bytes => blob_bytes at least 0,
    /// Sets how many blocks a result may have; two at least.
    with_blocks => blocks at least 2,
    /// Sets how many bytes a name may have; 256 at least.
    with_name_bytes => name_bytes at least LEAST,
    /// Sets how many bytes a description may have; 256 at least.
    with_description_bytes => description_bytes at least LEAST,
    /// Sets how many bytes a schema may have.
    with_schema_bytes => schema_bytes at least 0,
    /// Sets how many bytes `_meta` and unknown members may have.
    with_extra_bytes => extra_bytes at least 0,
}

/// Cuts `text`, which had `bytes` bytes, to `most` with what is said about it; in whole characters.
pub(super) fn cut(text: &mut String, bytes: usize, most: usize, is_line: bool) {
    let note = if is_line {
        format!("… [cut: {bytes} bytes]")
    } else {
        format!("\n[cut here: there are {bytes} bytes, and at most {most} are passed on]")
    };
    let shown = trim_joiners(head(text, most.saturating_sub(note.len()))).len();
    text.truncate(shown);
    text.push_str(&note);
}

/// At most so many bytes, in whole characters.
pub(super) fn head(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
