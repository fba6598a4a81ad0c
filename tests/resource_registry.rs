//! The registry of resources on its own: which one an address leads to, what is refused, who hears of changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tinymcp::protocol::{Resource, ResourceContents, ResourceTemplate};
use tinymcp::resource::{NotFound, RegistryError};
use tinymcp::{Context, FnResource, FnTemplate, ResourceRegistry};

fn plain(uri: &str) -> FnResource {
    FnResource::text(Resource::new(uri, "plain"), format!("text of {uri}"))
}

#[test]
fn the_most_literal_match_decides() {
    let resources = ResourceRegistry::new().with(plain("f:/a/fixed.txt")).expect("registered");
    for template in ["f:/{+path}", "f:/{folder}/{name}", "f:/a/{name}", "f:/{x}/{y}", "f:/a/{name}.txt"] {
        let named = FnTemplate::new(ResourceTemplate::new(template, template), move |variables, _| {
            let values: Vec<_> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
            (values.join(" ") != "name=none").then(|| format!("{template} {}", values.join(" ")))
        });
        resources.register_template(named).expect("registered");
    }
    for (uri, text) in [
        ("f:/a/fixed.txt", Some("text of f:/a/fixed.txt")),
        ("f:/a/b.txt", Some("f:/a/{name}.txt name=b")),
        ("f:/a/b", Some("f:/a/{name} name=b")),
        ("f:/b/c", Some("f:/{folder}/{name} folder=b name=c")),
        ("f:/b", Some("f:/{+path} path=b")),
        ("f:/b/c/d", Some("f:/{+path} path=b/c/d")),
        // The template that decides says that there is none.
        ("f:/a/none", None),
    ] {
        let read = resources.read(uri, &Context::detached());
        let found = read.as_ref().ok().map(|read| match &read.contents[0] {
            ResourceContents::Text(text) => text.text.as_str(),
            other => panic!("{other:?}"),
        });
        assert_eq!(found, text, "{uri}");
        if let Err(error) = &read {
            assert!(error.downcast_ref::<NotFound>().is_some());
        }
    }
    resources.remove_template("f:/a/{name}.txt").expect("was there");
    assert!(
        resources.get_template("f:/a/{name}.txt").is_none() && resources.get("f:/%61/fixed.txt").is_some()
    );
}

#[test]
fn registries_refuse_what_clients_would() {
    let resources = ResourceRegistry::new().with(plain("a:é")).expect("registered");
    for (uri, problem) in [
        ("a:%C3%a9", "duplicate resource: a:%C3%A9"),
        ("", "invalid resource uri \"\": no scheme"),
        ("/etc", "invalid resource uri \"/etc\": no scheme"),
        ("1a:b", "invalid resource uri \"1a:b\": no scheme"),
        ("a b:c", "invalid resource uri \"a b:c\": no scheme"),
        ("a:b c", "invalid resource uri \"a:b c\": has ' '"),
        ("a:{b}", "invalid resource uri \"a:{b}\": has '{'"),
        ("a:\n", "invalid resource uri \"a:\\n\": has '\\n'"),
        ("a:%4", "invalid resource uri \"a:%4\": % without two digits after it"),
    ] {
        assert_eq!(resources.register(plain(uri)).expect_err(uri).to_string(), problem);
    }
    let long = format!("a:{}", "b".repeat(8191));
    assert!(matches!(resources.register(plain(&long)), Err(RegistryError::InvalidName { .. })));
    let template = |text: &str| FnTemplate::new(ResourceTemplate::new(text, "t"), |_, _| "x");
    resources.register_template(template("b:{c}")).expect("registered");
    for (text, problem) in [
        ("b:{c}", "duplicate resource template: b:{c}"),
        ("b:{c}{d}", "invalid resource template \"b:{c}{d}\": cannot be matched: nothing between c and d"),
    ] {
        assert_eq!(resources.register_template(template(text)).expect_err(text).to_string(), problem);
    }
    assert!(resources.register_template(template("b:{c")).is_err());
    let old = resources.replace(plain("a:%c3%a9")).expect("replaced").expect("the old one");
    assert_eq!((old.definition().uri.as_str(), resources.uris()), ("a:é", vec!["a:%c3%a9".to_owned()]));
}

#[test]
fn listeners_hear_of_every_change() {
    let resources = ResourceRegistry::new();
    let heard = Arc::new(AtomicUsize::new(0));
    let (count, handle) = (heard.clone(), resources.clone());
    let listener = resources.on_change(move || {
        assert!(handle.generation() > 0);
        count.fetch_add(1, Ordering::SeqCst);
    });
    resources.register(plain("a:a")).expect("registered");
    resources.register(plain("a:a")).expect_err("taken");
    resources.replace(plain("a:a")).expect("replaced");
    resources
        .register_template(FnTemplate::new(ResourceTemplate::new("b:{c}", "t"), |_, _| "x"))
        .expect("registered");
    assert!(resources.remove("a:b").is_none() && resources.remove_template("b:{d}").is_none());
    assert!(resources.remove("a:a").is_some() && resources.remove_template("b:{c}").is_some());
    assert_eq!((heard.load(Ordering::SeqCst), resources.generation(), resources.is_empty()), (5, 5, true));
    drop(listener);
    resources.register(plain("a:a")).expect("registered");
    assert_eq!(heard.load(Ordering::SeqCst), 5);
}
