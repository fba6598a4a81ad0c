//! Expansion as RFC 6570 section 3 describes it.

use super::parse::{Modifier, Operator, Part, Variable};
use super::{TemplateValue, UriTemplateError, is_reserved, is_unreserved, percent_encoded};

/// What an operator does: RFC 6570 appendix A.
struct Rules {
    /// Before the first value.
    first: &'static str,
    /// Before each further one.
    separator: &'static str,
    /// Values have their names before them.
    named: bool,
    /// After the name of an empty value.
    if_empty: &'static str,
    /// Reserved characters stay as they are.
    reserved: bool,
}

fn rules(operator: Operator) -> Rules {
    let rules = |first, separator| Rules { first, separator, named: false, if_empty: "", reserved: false };
    match operator {
        Operator::Simple => rules("", ","),
        Operator::Reserved => Rules { reserved: true, ..rules("", ",") },
        Operator::Fragment => Rules { reserved: true, ..rules("#", ",") },
        Operator::Label => rules(".", "."),
        Operator::Path => rules("/", "/"),
        Operator::Parameters => Rules { named: true, ..rules(";", ";") },
        Operator::Query => Rules { named: true, if_empty: "=", ..rules("?", "&") },
        Operator::Continuation => Rules { named: true, if_empty: "=", ..rules("&", "&") },
    }
}

pub(super) fn expand(parts: &[Part], values: &[(&str, TemplateValue)]) -> Result<String, UriTemplateError> {
    let mut uri = String::new();
    for part in parts {
        match part {
            Part::Literal(text) => push(&mut uri, text, true),
            Part::Expression { operator, variables } => {
                let rules = rules(*operator);
                let mut before = rules.first;
                for variable in variables {
                    let value = values.iter().find(|(name, _)| *name == variable.name);
                    if let Some((_, value)) = value.filter(|(_, value)| is_defined(value)) {
                        uri.push_str(before);
                        before = rules.separator;
                        push_value(&mut uri, &rules, variable, value)?;
                    }
                }
            }
        }
    }
    Ok(uri)
}

/// A list without items is like none.
fn is_defined(value: &TemplateValue) -> bool {
    match value {
        TemplateValue::Text(_) => true,
        TemplateValue::List(list) => !list.is_empty(),
        TemplateValue::Pairs(pairs) => !pairs.is_empty(),
    }
}

fn push_value(
    uri: &mut String,
    rules: &Rules,
    variable: &Variable,
    value: &TemplateValue,
) -> Result<(), UriTemplateError> {
    let name = variable.name.as_str();
    let named = |uri: &mut String, name: &str, text: &str| {
        uri.push_str(name);
        uri.push_str(if text.is_empty() { rules.if_empty } else { "=" });
        push(uri, text, rules.reserved);
    };
    match (value, variable.modifier) {
        (TemplateValue::Text(text), modifier) => {
            let text = if let Modifier::Prefix(length) = modifier { prefix(text, length) } else { text };
            if rules.named { named(uri, name, text) } else { push(uri, text, rules.reserved) }
        }
        (_, Modifier::Prefix(_)) => {
            return Err(UriTemplateError::new(format!("{name}: a list has no first characters")));
        }
        (TemplateValue::List(list), Modifier::Explode) => {
            for (at, item) in list.iter().enumerate() {
                uri.push_str(if at > 0 { rules.separator } else { "" });
                if rules.named { named(uri, name, item) } else { push(uri, item, rules.reserved) }
            }
        }
        (TemplateValue::Pairs(pairs), Modifier::Explode) => {
            for (at, (key, text)) in pairs.iter().enumerate() {
                uri.push_str(if at > 0 { rules.separator } else { "" });
                push(uri, key, rules.reserved);
                uri.push_str(if rules.named && text.is_empty() { rules.if_empty } else { "=" });
                push(uri, text, rules.reserved);
            }
        }
        (TemplateValue::List(list), Modifier::None) => {
            push_list(uri, rules, name, &list.iter().map(String::as_str).collect::<Vec<_>>());
        }
        (TemplateValue::Pairs(pairs), Modifier::None) => {
            let flat: Vec<_> = pairs.iter().flat_map(|(key, text)| [key.as_str(), text.as_str()]).collect();
            push_list(uri, rules, name, &flat);
        }
    }
    Ok(())
}

/// Items with commas between them, as one value.
fn push_list(uri: &mut String, rules: &Rules, name: &str, items: &[&str]) {
    if rules.named {
        uri.push_str(name);
        uri.push_str(if items == [""] { rules.if_empty } else { "=" });
    }
    for (at, item) in items.iter().enumerate() {
        uri.push_str(if at > 0 { "," } else { "" });
        push(uri, item, rules.reserved);
    }
}

fn prefix(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// Appends `text`, percent-encoded as far as it must be. With `reserved`, reserved characters and what is percent-encoded
/// already stay as they are.
fn push(uri: &mut String, text: &str, reserved: bool) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        let encoded = || byte == b'%' && percent_encoded(&text.as_bytes()[at..]).is_some();
        if is_unreserved(byte) || reserved && (is_reserved(byte) || encoded()) {
            uri.push(char::from(byte));
        } else {
            uri.push('%');
            uri.push(char::from(DIGITS[usize::from(byte >> 4)]));
            uri.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::UriTemplate;
    use super::*;

    /// The variables of RFC 6570 section 3.2, and some more.
    fn values() -> Vec<(&'static str, TemplateValue)> {
        let list = |items: &[&str]| TemplateValue::List(items.iter().map(|&item| item.to_owned()).collect());
        let pairs = |pairs: &[(&str, &str)]| {
            TemplateValue::Pairs(pairs.iter().map(|&(key, text)| (key.to_owned(), text.to_owned())).collect())
        };
        vec![
            ("count", list(&["one", "two", "three"])),
            ("dom", list(&["example", "com"])),
            ("dub", "me/too".into()),
            ("hello", "Hello World!".into()),
            ("half", "50%".into()),
            ("var", "value".into()),
            ("who", "fred".into()),
            ("base", "http://example.com/home/".into()),
            ("path", "/foo/bar".into()),
            ("list", list(&["red", "green", "blue"])),
            ("keys", pairs(&[("semi", ";"), ("dot", "."), ("comma", ",")])),
            ("v", "6".into()),
            ("x", "1024".into()),
            ("y", "768".into()),
            ("empty", "".into()),
            ("empty_list", list(&[])),
            ("empty_keys", pairs(&[])),
            ("nothing", list(&[""])),
            ("encoded", "a%2Fb%zz".into()),
            ("greek", "\u{3b1}\u{3b2}\u{3b3}".into()),
            ("clef", "\u{1d11e}x".into()),
            ("last.name", "Doe".into()),
            ("Stra%C3%9Fe", "Gr\u{fc}n".into()),
            ("holes", pairs(&[("a", ""), ("\u{e9}", "b c")])),
        ]
    }

    /// The examples of RFC 6570, sections 1.2 and 3.2, and what they leave out.
    const EXPANSIONS: &[(&str, &str)] = &[
        // 2.1
        ("'{count}'", "'one,two,three'"),
        ("caf\u{e9}/x%20y/{var}", "caf%C3%A9/x%20y/value"),
        // 3.2.1
        ("{count}", "one,two,three"),
        ("{count*}", "one,two,three"),
        ("{/count}", "/one,two,three"),
        ("{/count*}", "/one/two/three"),
        ("{;count}", ";count=one,two,three"),
        ("{;count*}", ";count=one;count=two;count=three"),
        ("{?count}", "?count=one,two,three"),
        ("{?count*}", "?count=one&count=two&count=three"),
        ("{&count*}", "&count=one&count=two&count=three"),
        // 3.2.2
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("?{undef,y}", "?768"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{list}", "red,green,blue"),
        ("{list*}", "red,green,blue"),
        ("{keys}", "semi,%3B,dot,.,comma,%2C"),
        ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
        // 3.2.3
        ("{+var}", "value"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("O{+empty}X", "OX"),
        ("O{+undef}X", "OX"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{+path,x}/here", "/foo/bar,1024/here"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{+list}", "red,green,blue"),
        ("{+list*}", "red,green,blue"),
        ("{+keys}", "semi,;,dot,.,comma,,"),
        ("{+keys*}", "semi=;,dot=.,comma=,"),
        ("{+encoded}", "a%2Fb%25zz"),
        ("{encoded}", "a%252Fb%25zz"),
        // 3.2.4
        ("{#var}", "#value"),
        ("{#hello}", "#Hello%20World!"),
        ("{#half}", "#50%25"),
        ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("{#path:6}/here", "#/foo/b/here"),
        ("{#list}", "#red,green,blue"),
        ("{#list*}", "#red,green,blue"),
        ("{#keys}", "#semi,;,dot,.,comma,,"),
        ("{#keys*}", "#semi=;,dot=.,comma=,"),
        // 3.2.5
        ("{.who}", ".fred"),
        ("{.who,who}", ".fred.fred"),
        ("{.half,who}", ".50%25.fred"),
        ("www{.dom*}", "www.example.com"),
        ("X{.var}", "X.value"),
        ("X{.empty}", "X."),
        ("X{.undef}", "X"),
        ("X{.var:3}", "X.val"),
        ("X{.x,y}", "X.1024.768"),
        ("X{.list}", "X.red,green,blue"),
        ("X{.list*}", "X.red.green.blue"),
        ("X{.keys}", "X.semi,%3B,dot,.,comma,%2C"),
        ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
        ("X{.empty_keys}", "X"),
        ("X{.empty_keys*}", "X"),
        // 3.2.6
        ("{/who}", "/fred"),
        ("{/who,who}", "/fred/fred"),
        ("{/half,who}", "/50%25/fred"),
        ("{/who,dub}", "/fred/me%2Ftoo"),
        ("{/var}", "/value"),
        ("{/var,empty}", "/value/"),
        ("{/var,undef}", "/value"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{/var:1,var}", "/v/value"),
        ("{/list}", "/red,green,blue"),
        ("{/list*}", "/red/green/blue"),
        ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
        ("{/keys}", "/semi,%3B,dot,.,comma,%2C"),
        ("{/keys*}", "/semi=%3B/dot=./comma=%2C"),
        ("{/var*}", "/value"),
        // 3.2.7
        ("{;who}", ";who=fred"),
        ("{;half}", ";half=50%25"),
        ("{;empty}", ";empty"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"),
        ("{;v,bar,who}", ";v=6;who=fred"),
        ("{;x,y}", ";x=1024;y=768"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{;x,y,undef}", ";x=1024;y=768"),
        ("{;hello:5}", ";hello=Hello"),
        ("{;list}", ";list=red,green,blue"),
        ("{;list*}", ";list=red;list=green;list=blue"),
        ("{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"),
        ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
        // 3.2.8
        ("{?who}", "?who=fred"),
        ("{?half}", "?half=50%25"),
        ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("{?var:3}", "?var=val"),
        ("{?list}", "?list=red,green,blue"),
        ("{?list*}", "?list=red&list=green&list=blue"),
        ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
        ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
        // 3.2.9
        ("{&who}", "&who=fred"),
        ("{&half}", "&half=50%25"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&x,y,empty}", "&x=1024&y=768&empty="),
        ("{&x,y,undef}", "&x=1024&y=768"),
        ("{&var:3}", "&var=val"),
        ("{&list}", "&list=red,green,blue"),
        ("{&list*}", "&list=red&list=green&list=blue"),
        ("{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"),
        ("{&keys*}", "&semi=%3B&dot=.&comma=%2C"),
        // Not in the text.
        ("", ""),
        ("{/empty_list}{/empty_list*}{?empty_list,empty_keys*}", ""),
        ("{?nothing}{;nothing}{;nothing*}", "?nothing=;nothing;nothing"),
        ("{?holes*}{;holes*}", "?a=&%C3%A9=b%20c;a;%C3%A9=b%20c"),
        ("{greek:1}{+greek:2}{clef:1}", "%CE%B1%CE%B1%CE%B2%F0%9D%84%9E"),
        ("{var:9999}{?last.name,Stra%C3%9Fe}", "value?last.name=Doe&Stra%C3%9Fe=Gr%C3%BCn"),
    ];

    #[test]
    fn expansions_are_those_of_the_rfc() {
        for (text, uri) in EXPANSIONS {
            assert_eq!(
                UriTemplate::parse(text).and_then(|template| template.expand(&values())).as_deref(),
                Ok(*uri),
                "{text}"
            );
        }
        let template = UriTemplate::parse("{keys:1}").expect("a template");
        let error = template.expand(&values()).expect_err("a part of a list");
        assert_eq!(error.to_string(), "keys: a list has no first characters");
    }
}
