use std::time::{Duration, Instant};

use super::*;

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn what_is_no_template_is_refused() {
    let wrong = "{/id* /id*} {/?id} {var:prefix} {hello:2*} {??hello} {!hello} {=path} {$var} {|var*} {*keys?} \
        {?empty=default,var} {var}{-prefix|/-/|var} x{?empty|foo=none} /h{#hello+} /h#{hello+} {;keys:1*} {} {+} {a,} {,a} \
        /people/{~thing} /{default-graph-uri} /sparql{?query){&graph*} {var:0} {var:01} {var:10000} {var:} {var:+1} \
        {x.} {x..y} {.x.} {%2x} {%} % %2 %zz a} {a{b}} a|b a\\b a<b a>b a^b a`b a\"b {\u{e9}}";
    for text in wrong.split(' ').chain(["a b", "{with space}", "{ a}", "{x, y}", "a\u{7}", "\u{85}"]) {
        assert!(UriTemplate::parse(text).is_err(), "{text:?}");
    }
    for (text, error) in [
        ("ab{c", "an expression without an end at byte 2"),
        ("a%2", "'%' outside of an expression at byte 1"),
        ("a{b-c}", "\"b-c\" is not the name of a variable, at byte 1"),
        ("{a:x}", "\"a:x\": a length that is not between 1 and 9999 at byte 0"),
    ] {
        assert_eq!(UriTemplate::parse(text).map_err(|e| e.to_string()), Err(error.to_owned()));
    }
}

#[test]
fn templates_are_bounded() {
    assert!(UriTemplate::parse(&"a".repeat(8192)).is_ok());
    let error = UriTemplate::parse(&"a".repeat(8193)).expect_err("long").to_string();
    assert_eq!(error, "a uri template of more than 8192 bytes");
    let names = |count: usize| (0..count).map(|n| format!("v{n}")).collect::<Vec<_>>().join(",");
    assert!(UriTemplate::parse(&format!("{{{}}}", names(64))).is_ok());
    let error = UriTemplate::parse(&format!("{{{}}}{{a}}", names(64))).expect_err("many").to_string();
    assert_eq!(error, "a uri template with more than 64 variables");
}

/// The values as `name=value`, or `-`.
fn found(text: &str, uri: &str) -> String {
    let template = template(text);
    assert_eq!(template.check_matchable(), Ok(()), "{text}");
    let Some(found) = template.matches(uri) else { return "-".to_owned() };
    assert!(found.iter().all(|(name, value)| found.get(name) == Some(value)));
    found.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn uris_are_matched_by_the_documented_rules() {
    for (text, uri, values) in [
        ("", "", ""),
        ("a:b", "a:b", ""),
        ("a:b", "a:bc", "-"),
        ("a:b", "a:", "-"),
        // {a}
        ("n://{a}", "n://x", "a=x"),
        ("n://{a}", "n://", "-"),
        ("n://{a}", "n://x/", "-"),
        ("n://{a}", "n://x/y", "-"),
        ("n://{a}", "n://x?y", "-"),
        ("n://{a}", "n://x#y", "-"),
        ("n://{a}", "N://x", "-"),
        ("n://{a}", "n://x:y,z;w=@v", "a=x:y,z;w=@v"),
        ("n://{a}", "n://a%20b%3F%C3%A9", "a=a b?\u{e9}"),
        ("n://{a}", "n://a b\u{e9}", "a=a b\u{e9}"),
        ("n://{a}", "n://100%", "-"),
        ("n://{a}", "n://%zz", "-"),
        ("n://{a}", "n://%FF", "-"),
        ("n://{a}", "n://%C3", "-"),
        ("n://{a}", "n://%ED%A0%80", "-"),
        ("n://{a}", "n://%252e%252E", "a=%2e%2E"),
        ("n://{a}/{b}", "n://x/y", "a=x b=y"),
        ("n://{a}/{b}", "n://x//y", "-"),
        ("{a}.{b}", "a.tar.gz", "a=a.tar b=gz"),
        ("{a}-{b}-c", "1-2-c-c", "a=1-2 b=c"),
        ("{a}%25{b}", "1%252%25%253", "a=1%2% b=3"),
        ("n://{a,b}", "n://x,y", "a=x b=y"),
        ("n://{a,b}", "n://x", "-"),
        ("n://{a,b}", "n://x,y,z", "-"),
        ("n://{a,b}", "n://x%2Cy,z", "a=x,y b=z"),
        // Normal forms.
        ("n://%41~{a}", "n://A%7ex", "a=x"),
        ("n://%2f{a}", "n://%2Fx", "a=x"),
        ("n://%2f{a}", "n:///x", "-"),
        ("n://\u{e9}/{a}", "n://%c3%A9/x", "a=x"),
        // {.a} {/a} {/a*}
        ("n{.a,b}", "n.x.y", "a=x b=y"),
        ("n{.a}", "n.x.y", "-"),
        ("{n}{.a}", "n.x.y", "n=n.x a=y"),
        ("n:{/a,b}", "n:/x/y", "a=x b=y"),
        ("n:{/a}", "n:", "-"),
        ("n:{/a*}", "n:/x/y%20z/w", "a=x/y z/w"),
        ("n:{/a*}/{b}", "n:/x/y/z", "a=x/y b=z"),
        ("n:{/a*}", "n:/x//y", "-"),
        ("n:{/a*}", "n:/x/", "-"),
        ("n:{/a*}", "n://x", "-"),
        ("n:{/a*}", "n:/x?y", "-"),
        // {+a}
        ("n:///{+a}", "n:///x/y/", "a=x/y/"),
        ("n:///{+a}.md", "n:///x/y.md.md", "a=x/y.md"),
        ("n:///{+a}", "n:///", "-"),
        ("p:{+a}", "p:https://h/x?q=1#f", "a=https://h/x?q=1#f"),
        ("p:{+a}/meta{?v}", "p:/x/meta?v=2", "a=/x v=2"),
        // {?a} {&a} {#a}
        ("s:x{?a,b}", "s:x", ""),
        ("s:x{?a,b}", "s:x?", ""),
        ("s:x{?a,b}", "s:x?b=2&a=1", "a=1 b=2"),
        ("s:x{?a,b}", "s:x?b=a=b", "b=a=b"),
        ("s:x{?a,b}", "s:x?a=&b", "a= b="),
        ("s:x{?a,b}", "s:x?%61=1+2%26", "a=1+2&"),
        ("s:x{?a,b}", "s:x?a=1&a=2", "-"),
        ("s:x{?a,b}", "s:x?c=1", "-"),
        ("s:x{?a,b}", "s:x?a=1&", "-"),
        ("s:x{?a,b}", "s:x?a=1#f", "-"),
        ("s:x{?a,b}", "s:y?a=1", "-"),
        ("s:{x}{?Stra%C3%9Fe}", "s:1?Stra\u{df}e=2", "x=1 Stra%C3%9Fe=2"),
        ("s:x{?a}{&b}{#c}", "s:x?b=1&a=2#/p/q", "a=2 b=1 c=/p/q"),
        ("s:x{?a}{#c}", "s:x#?a=1", "c=?a=1"),
        ("s:x{#c}", "s:x#", "c="),
        ("s:x{#c}", "s:x", ""),
        ("s:x?f=1&g=2{&a}", "s:x?f=1&g=2&a=3", "a=3"),
        ("s:x?f=1{&a}", "s:x?f=1", ""),
        ("s:x?f={f}{&a}", "s:x?f=1&a=3", "f=1 a=3"),
    ] {
        assert_eq!(found(text, uri), values, "{text} {uri}");
    }
}

#[test]
fn no_value_leads_out_of_its_place() {
    let climbing = [
        "..",
        ".",
        "%2e%2e",
        "%2E.",
        ".%2e",
        "%2e",
        "a%2Fb",
        "a%2fb",
        "..%2Fa",
        "..%5Ca",
        "a%5cb",
        "a\\b",
        "%2F",
        "%5C",
        "a%00",
        "%00",
        "a%0Ab",
        "a%7F",
        "a%C2%85",
        "a\u{0}",
        "a\nb",
        "%2e%2e%2f",
        "..%2f",
    ];
    let safe = ["a", "...", "..a", "a..", "a.b", "%2e%2ea", "~", "C:", "a%25b"];
    for text in
        ["n:{a}", "n:{a}/x", "n:{a,b}", "n:{/a}", "n:{/a*}", "n:{+a}", "n:{?a}", "n:x?y{&a}", "n:{#a}"]
    {
        let template = template(text);
        let uri = |value: &str| {
            let filled = [
                ("{a}", ""),
                ("{a,b}", ""),
                ("{/a}", "/"),
                ("{/a*}", "/"),
                ("{+a}", ""),
                ("{?a}", "?a="),
                ("{&a}", "&a="),
                ("{#a}", "#"),
            ];
            let (place, before) = filled.into_iter().find(|(place, _)| text.contains(place)).expect("one");
            let after = if place == "{a,b}" { ",y" } else { "" };
            text.replace(place, &format!("{before}{value}{after}"))
        };
        for value in climbing {
            assert_eq!(template.matches(&uri(value)), None, "{text} {value:?}");
        }
        for value in safe {
            assert!(template.matches(&uri(value)).is_some(), "{text} {value:?}");
        }
    }
    for (text, uri) in [
        ("f:///{+p}", "f:///a/../b"),
        ("f:///{+p}", "f:///../b"),
        ("f:///{+p}", "f:///a/.."),
        ("f:///{+p}", "f:///a/%2e%2E/b"),
        ("f:///{+p}", "f:///a/./b"),
        ("f:///{+p}", "f:////etc/passwd"),
        ("f://{+p}", "f:///etc/passwd"),
        ("f:///{+p}", "f:///a%2F..%2Fb"),
        ("f:///{+p}", "f:///a/..%5C..%5Cb"),
        ("f:///{+p}", "f:///a/..?x"),
        ("f:///{+p}.txt", "f:///a/...txt"),
        ("f:///.{+p}", "f:///../x"),
        ("f://{/p*}", "f:///a/../b"),
        ("f://{/p*}", "f:///a/%2e%2e"),
        ("f://{/p*}", "f:///a%2Fb"),
        ("f://{/p*}", "f:////etc"),
        ("f:x{#p}", "f:x#a/../b"),
    ] {
        assert_eq!(found(text, uri), "-", "{text} {uri}");
    }
}

#[test]
fn what_cannot_be_told_apart_is_not_matched() {
    for (text, why) in [
        ("{a}{b}", "nothing between a and b"),
        ("{a}{+b}", "nothing between a and b"),
        ("{a}/{a}", "a comes twice"),
        ("{a}{?a}", "a comes twice"),
        ("{a:3}", "a part of a"),
        ("{a*}", "the list a*"),
        ("{?a*}", "the list a*"),
        ("{+a*}", "the list a*"),
        ("{;a}", ";a"),
        ("{+a,b}", "a and b in one expression"),
        ("{#a,b}", "a and b in one expression"),
        ("x{?a}&b={b}", "\"&b=\" after a query or fragment"),
        ("x{?a}{b}", "b after a query or fragment"),
        ("x{?a}{?b}", "b after a query or fragment"),
        ("x{#a}{?b}", "b after a query or fragment"),
        ("x{#a}{#b}", "b after a query or fragment"),
        ("x?y{?a}", "a second '?'"),
        ("x#y{#a}", "a second '#'"),
    ] {
        let template = template(text);
        let error = template.check_matchable().map_err(|e| e.to_string());
        assert_eq!(error, Err(format!("cannot be matched: {why}")), "{text}");
        assert_eq!(template.matches("x1"), None);
    }
}

/// Every URI of up to six characters: what is found makes the URI again, and what makes a URI is found.
#[test]
fn small_uris_are_matched_soundly_and_completely() {
    const LETTERS: [&str; 4] = ["a", "-", ".", "/"];
    let mut uris = vec![String::new()];
    let mut last = 0..1;
    for _ in 0..6 {
        let longer = uris[last.clone()].iter().flat_map(|uri| LETTERS.map(|letter| format!("{uri}{letter}")));
        let longer: Vec<_> = longer.collect();
        last = uris.len()..uris.len() + longer.len();
        uris.extend(longer);
    }
    let texts = [
        "{x}",
        "{+x}",
        "{x}-{y}",
        "{x}a{y}",
        "{+x}a{y}",
        "{x}-{+y}.",
        "{x}{/y}",
        "{+x}{/y,z}",
        "a{.x,y}",
        "{+x}-{+y}-{+z}",
    ];
    for template in texts.map(template) {
        let mut matched = 0;
        for uri in &uris {
            let Some(found) = template.matches(uri) else { continue };
            let values: Vec<_> = found.iter().map(|(name, value)| (name, value.into())).collect();
            assert_eq!(template.expand(&values).as_ref(), Ok(uri), "{template}");
            matched += 1;
        }
        assert!(matched > 0, "{template}");
        // The other way round, with short values that are safe wherever they stand.
        let names = template.variables();
        let words = ["b", "bb", "b-b", "ba", "b.b"];
        for n in 0..words.len().pow(u32::try_from(names.len()).expect("few")) {
            let word =
                |place: usize| words[n / words.len().pow(u32::try_from(place).expect("few")) % words.len()];
            let values: Vec<_> =
                names.iter().enumerate().map(|(at, name)| (*name, word(at).into())).collect();
            let uri = template.expand(&values).expect("texts");
            let is_label = template.as_str().contains("{.") && uri.matches('.').count() > 2;
            assert_eq!(template.matches(&uri).is_some(), !is_label, "{template} {uri}");
        }
    }
}

#[test]
fn hostile_uris_cost_no_more_than_their_length() {
    let started = Instant::now();
    let many = |between: &str, operator: &str| {
        (0..64).map(|n| format!("{{{operator}v{n}}}")).collect::<Vec<_>>().join(between)
    };
    let templates = [
        many("a", ""),
        many("a", "+"),
        many("aa", "+") + "b",
        many("-", "+"),
        many("", "/"),
        format!("{{x}}{}{{y}}", "a".repeat(4000)),
        format!("{{+x}}{}b{{y}}", "a".repeat(4000)),
        "x{?".to_owned() + &(0..64).map(|n| format!("v{n}")).collect::<Vec<_>>().join(",") + "}",
    ];
    let uris = ["a", "a-", "/a", "aa/", "-", "%61", "x?", "&v0=", "?v0=&v1="];
    let mut matched = 0;
    for template in templates.iter().map(|text| template(text)) {
        for piece in uris {
            for end in ["", "b", "%00"] {
                let uri = piece.repeat((8192 - end.len()) / piece.len()) + end;
                matched += usize::from(template.matches(&uri).is_some());
            }
        }
    }
    assert!(matched > 10, "only {matched} matched");
    // Two hundred of the longest matches there are; in exponential time not one of them would end.
    assert!(started.elapsed() < Duration::from_secs(20), "took {:?}", started.elapsed());
    assert_eq!(template("{+a}").matches(&"a".repeat(8193)), None);
    assert!(template("{+a}").matches(&"a".repeat(8192)).is_some());
}

#[test]
fn a_template_is_its_text() {
    let text = "n://{a}{?b}";
    let template: UriTemplate = text.parse().expect("a template");
    assert_eq!((template.to_string().as_str(), template.as_str()), (text, text));
    assert_eq!(format!("{template:?}"), format!("UriTemplate({text:?})"));
    assert!(template == template.clone());
    let found = template.matches("n://1").expect("without a query");
    assert_eq!((found.len(), found.is_empty(), found.get("b")), (1, false, None));
}
