//! [`UriTemplate`]: RFC 6570, in both directions. A client makes a URI of a resource template; a server asks which values
//! a URI was made of.
//!
//! # Expansion
//!
//! All of RFC 6570, levels 1 to 4.
//!
//! # Matching
//!
//! RFC 6570 does not define the way back, and in general there is none. These rules make it safe and unambiguous; a
//! template that they cannot serve is for expansion alone, which [`UriTemplate::check_matchable`] says.
//!
//! | expression | as written in the URI | the value |
//! |---|---|---|
//! | `{a}` | one or more characters, none of `/ ? #` | plain |
//! | `{a,b}` | the same, parted by commas and without one inside | each plain |
//! | `{.a}`, `{.a,b}` | a `.` before each, and none inside | each plain |
//! | `{/a}`, `{/a,b}` | a `/` before each | each plain |
//! | `{/a*}` | one or more segments, none of them empty, with a `/` before each | the segments with `/` between, each of them plain |
//! | `{+a}` | one or more characters | a path |
//! | `{?a,b}`, `{&a,b}` | the rest of the query: each name once or never, in any order, and no other; `a` alone is `a=` | each plain, or empty |
//! | `{#a}` | the rest of the URI, which may be missing | a path, or empty |
//!
//! - Values are percent-decoded once and are valid UTF-8 without control characters. Decoding them again is a mistake.
//! - A *plain* value holds neither `/` nor `\`, however it was written, and is neither `.` nor `..`.
//! - A *path* may hold `/`, but none that was written `%2F`, and no `\`; none of what stands between its `/`, `?` and `#` is `.` or
//!   `..`; and where the template has a `/` before it, it does not begin with another one (so write `file:///{+a}`, not `file://{+a}`). So it stays below the folder it is
//!   joined to on systems whose paths are parted by `/`. Links, and the drive letters of Windows, are the file system's
//!   matter.
//! - Text outside of expressions is compared after normalisation: `%41` is `A`, `%2f` is `%2F`, and `é` is `%C3%A9`, but
//!   `%2F` is not `/`. Upper and lower case differ.
//! - If there is more than one way, an earlier value is as long as it can be: `{name}.{ext}` finds `a.tar` and `gz`.
//! - A query that a template ends with begins at the first `?`, a fragment at the first `#`.
//!
//! Not for matching: prefixes (`{a:3}`), `*` in other places, `{;a}`, more than one variable after `+` or `#`, a variable twice,
//! expressions with nothing between them, and anything but a fragment after a query.
//!
//! **Invariant:** the cost of a match is bounded by the length of the URI times that of the template, and both are bounded.

mod expand;
mod matching;
mod parse;

use std::fmt;
use std::str::FromStr;

use matching::Plan;
pub(crate) use matching::normal_uri;
use parse::Part;

/// The longest template, and the longest URI that matches one. Servers on the web commonly accept about as much
/// (RFC 9110 section 4.1 asks for 8,000 bytes at least).
pub(crate) const MAX_BYTES: usize = 8 * 1024;

/// The most variables of a template.
const MAX_VARIABLES: usize = 64;

/// A URI with places for variables.
///
/// ```
/// use tinymcp::protocol::UriTemplate;
///
/// let template = UriTemplate::parse("notes://{folder}/{note}")?;
/// let uri = template.expand(&[("folder", "to do".into()), ("note", "7".into())])?;
/// assert_eq!(uri, "notes://to%20do/7");
/// let found = template.matches(&uri).expect("made of it");
/// assert_eq!((found.get("folder"), found.get("note")), (Some("to do"), Some("7")));
/// assert_eq!(template.matches("notes://to%20do/..%2F..%2Fpasswords"), None);
/// # Ok::<(), tinymcp::protocol::UriTemplateError>(())
/// ```
#[derive(Clone)]
pub struct UriTemplate {
    text: String,
    parts: Vec<Part>,
    plan: Result<Plan, UriTemplateError>,
}

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// When `text` is not a template of RFC 6570, is longer than 8 KiB or has more than 64 variables.
    pub fn parse(text: &str) -> Result<Self, UriTemplateError> {
        let parts = parse::parse(text)?;
        let plan = Plan::new(&parts);
        Ok(Self { text: text.to_owned(), parts, plan })
    }

    /// The template as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of its variables in the order of their first places.
    ///
    /// ```
    /// use tinymcp::protocol::UriTemplate;
    ///
    /// let template = UriTemplate::parse("search://{index}{?q,limit}#{index}")?;
    /// assert_eq!(template.variables(), ["index", "q", "limit"]);
    /// # Ok::<(), tinymcp::protocol::UriTemplateError>(())
    /// ```
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for variable in self.parts.iter().flat_map(Part::variables) {
            if !names.contains(&variable.name.as_str()) {
                names.push(&variable.name);
            }
        }
        names
    }

    /// The URI with these values. A variable without a value is left out as RFC 6570 says, and so is one whose list is
    /// empty; values that the template does not name are not used.
    ///
    /// # Errors
    /// When the template wants the beginning of a value (`{a:3}`) that is not a text.
    pub fn expand(&self, values: &[(&str, TemplateValue)]) -> Result<String, UriTemplateError> {
        expand::expand(&self.parts, values)
    }

    /// The values that make this template `uri`, by the rules of the [module](self). A URI longer than 8 KiB matches
    /// nothing.
    ///
    /// ```
    /// use tinymcp::protocol::UriTemplate;
    ///
    /// let files = UriTemplate::parse("file:///srv/{+path}")?;
    /// let found = files.matches("file:///srv/a/b%20c.txt").expect("below /srv");
    /// assert_eq!(found.get("path"), Some("a/b c.txt"));
    /// assert_eq!(files.matches("file:///srv/a/../../etc/passwd"), None);
    /// # Ok::<(), tinymcp::protocol::UriTemplateError>(())
    /// ```
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Variables> {
        self.plan.as_ref().ok()?.matches(uri)
    }

    /// Whether URIs can be matched with this template at all. If not, [`matches`](Self::matches) finds nothing.
    ///
    /// # Errors
    /// What in the template makes it impossible.
    ///
    /// ```
    /// use tinymcp::protocol::UriTemplate;
    ///
    /// let template = UriTemplate::parse("notes://{folder}{note}")?;
    /// let error = template.check_matchable().expect_err("where does the folder end?");
    /// assert_eq!(error.to_string(), "cannot be matched: nothing between folder and note");
    /// # Ok::<(), tinymcp::protocol::UriTemplateError>(())
    /// ```
    pub fn check_matchable(&self) -> Result<(), UriTemplateError> {
        self.plan.as_ref().map(|_| ()).map_err(Clone::clone)
    }
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UriTemplate").field(&self.text).finish()
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for UriTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for UriTemplate {}

impl FromStr for UriTemplate {
    type Err = UriTemplateError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

/// What is wrong with a template, or with the values for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplateError(String);

impl UriTemplateError {
    fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl fmt::Display for UriTemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UriTemplateError {}

/// The value of a variable for expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateValue {
    /// A text.
    Text(String),
    /// Texts.
    List(Vec<String>),
    /// Texts with names.
    Pairs(Vec<(String, String)>),
}

impl From<&str> for TemplateValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for TemplateValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for TemplateValue {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}

impl From<Vec<(String, String)>> for TemplateValue {
    fn from(pairs: Vec<(String, String)>) -> Self {
        Self::Pairs(pairs)
    }
}

/// What a URI gave for the variables of a template, in the template's order. A variable of a query or fragment that the URI
/// lacks is not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables(Vec<(String, String)>);

impl Variables {
    /// The value of `name`, decoded.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// RFC 3986 section 2.3: means the same written as itself or percent-encoded.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// RFC 3986 section 2.2: means something else when percent-encoded.
fn is_reserved(byte: u8) -> bool {
    b":/?#[]@!$&'()*+,;=".contains(&byte)
}

/// The byte that `%` and two digits at the start of `text` stand for.
fn percent_encoded(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

#[cfg(test)]
mod tests;
