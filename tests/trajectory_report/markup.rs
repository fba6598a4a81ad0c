//! Reads a page more strictly than a browser does: what is not exactly as the report writes it is an error.

/// The elements a page may have, and the attributes each may have besides `class` and `id`.
const ELEMENTS: &[(&str, &[&str])] = &[
    ("html", &["lang"]),
    ("head", &[]),
    ("meta", &["charset", "http-equiv", "content", "name"]),
    ("title", &[]),
    ("style", &[]),
    ("script", &[]),
    ("body", &[]),
    ("a", &["href", "tabindex"]),
    ("header", &[]),
    ("main", &[]),
    ("footer", &[]),
    ("section", &["aria-label"]),
    ("div", &[]),
    ("form", &["role"]),
    ("input", &["type", "placeholder", "aria-label", "autocomplete", "spellcheck"]),
    ("button", &["type"]),
    ("label", &[]),
    ("output", &["for", "aria-live"]),
    ("h1", &[]),
    ("h2", &[]),
    ("h3", &[]),
    ("h4", &[]),
    ("p", &[]),
    ("ul", &[]),
    ("li", &[]),
    ("dl", &[]),
    ("dt", &[]),
    ("dd", &[]),
    ("span", &[]),
    ("small", &[]),
    ("b", &[]),
    ("i", &[]),
    ("code", &[]),
    ("pre", &["dir"]),
    ("details", &[]),
    ("summary", &[]),
    ("table", &[]),
    ("thead", &[]),
    ("tbody", &[]),
    ("tr", &[]),
    ("th", &["scope"]),
    ("td", &[]),
    ("svg", &["viewBox", "role", "aria-label", "y", "width", "height"]),
    ("rect", &["x", "y", "width", "height"]),
    ("line", &["x1", "x2", "y1", "y2"]),
    ("circle", &["cx", "cy", "r"]),
    ("path", &["d"]),
    ("text", &["x", "y", "text-anchor"]),
];

/// They have no end.
const EMPTY: &[&str] = &["meta", "input", "rect", "line", "circle", "path"];

/// A page, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// The text of all elements in their order, as a reader sees it.
    pub(crate) text: String,
    /// Every attribute: element, name and value.
    pub(crate) attributes: Vec<(String, String, String)>,
    pub(crate) style: String,
    pub(crate) script: String,
}

impl Page {
    /// # Panics
    /// When anything is not as it must be.
    pub(crate) fn read(html: &str) -> Self {
        for c in html.chars() {
            assert!(c == '\n' || c == '\t' || !c.is_control(), "a character {c:?} is on the page");
            assert!(
                !"\u{2028}\u{2029}\u{202d}\u{202e}\u{2066}\u{2067}\u{feff}".contains(c),
                "{c:?} is on the page"
            );
        }
        let mut page = Self::default();
        let mut rest = html.strip_prefix("<!DOCTYPE html>\n").expect("a page");
        let mut open: Vec<&str> = Vec::new();
        while let Some(at) = rest.find('<') {
            page.text.push_str(&unescaped(&rest[..at]));
            let end = at + rest[at..].find('>').expect("the end of a tag");
            let tag = &rest[at + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name), "before {:?}", rest.get(..80));
                continue;
            }
            let tag = tag.strip_suffix('/').unwrap_or(tag);
            let name = tag.split(' ').next().expect("a name");
            page.attributes_of(name, &tag[name.len()..]);
            if name == "style" || name == "script" {
                let (inside, after) = rest.split_once(&format!("</{name}>")).expect("its end");
                let held = if name == "style" { &mut page.style } else { &mut page.script };
                assert!(held.is_empty(), "a second <{name}>");
                *held = inside.to_owned();
                rest = after;
            } else if !EMPTY.contains(&name) {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "never closed: {open:?}");
        page
    }

    fn attributes_of(&mut self, element: &str, mut rest: &str) {
        let known = ELEMENTS.iter().find(|(name, _)| *name == element);
        let (_, known) = known.unwrap_or_else(|| panic!("<{element}{rest}> is on the page"));
        while let Some(attribute) = rest.strip_prefix(' ') {
            let (name, value) = attribute.split_once("=\"").unwrap_or_else(|| panic!("<{element}{rest}>"));
            let (value, after) = value.split_once('"').expect("its end");
            assert!(known.contains(&name) || name == "class" || name == "id", "<{element} {name}={value:?}>");
            if name == "href" {
                let to = value.strip_prefix('#').expect("a place on the page");
                assert!(to.chars().all(|c| c.is_ascii_alphanumeric()), "{value}");
            }
            self.attributes.push((element.to_owned(), name.to_owned(), unescaped(value)));
            rest = after;
        }
        assert!(rest.is_empty(), "<{element}> goes on with {rest:?}");
    }

    /// How many elements have a value in an attribute that begins like this.
    pub(crate) fn count(&self, element: &str, attribute: &str, beginning: &str) -> u64 {
        let is = |(a, b, c): &&(String, String, String)| {
            a == element && b == attribute && c.starts_with(beginning)
        };
        self.attributes.iter().filter(is).count() as u64
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let (entity, after) = rest[at + 1..].split_once(';').expect("the end of an entity");
        out.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            "#96" => '`',
            other => panic!("&{other}; is on the page"),
        });
        rest = after;
    }
    assert!(!text.contains('>'), "{text}");
    out + rest
}
