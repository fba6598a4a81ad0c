//! The method table against the official schema of every revision.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;
use tinymcp::method::{Direction, Method};
use tinymcp::protocol::{ProtocolVersion, TASKS_EXTENSION};

/// The definitions of a revision's schema.
fn definitions(version: &ProtocolVersion) -> Value {
    let path = format!("{}/tests/spec/{version}/schema.json", env!("CARGO_MANIFEST_DIR"));
    let mut schema: Value = serde_json::from_slice(&fs::read(path).expect("the schema")).expect("JSON");
    ["$defs", "definitions"].iter().find_map(|key| Some(schema.get_mut(key)?.take())).expect("definitions")
}

fn method_of<'a>(definitions: &'a Value, name: &str) -> Option<&'a str> {
    definitions[name]["properties"]["method"]["const"].as_str()
}

fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
    names.into_iter().collect()
}

#[test]
fn every_revision_has_exactly_the_methods_of_its_schema() {
    for version in ProtocolVersion::ALL {
        let definitions = definitions(&version);
        let names = definitions.as_object().expect("an object").keys();
        let schema = set(names.filter_map(|name| method_of(&definitions, name)));
        let table = Method::ALL
            .iter()
            .filter(|method| method.is_in(&version) || version.is_modern() && method.is_input_request())
            .filter(|method| method.extension(&version).is_none());
        assert_eq!(set(table.map(|method| method.name())), schema, "{version}");
    }
}

/// What the extension's own text defines, because no schema does.
#[test]
fn extensions_add_methods_to_the_newest_revision_alone() {
    for version in ProtocolVersion::ALL {
        let added = Method::ALL.iter().filter(|method| method.extension(&version).is_some());
        let added: Vec<_> = added
            .map(|method| {
                assert!(method.is_in(&version), "{method}");
                assert_eq!(method.extension(&version), Some(TASKS_EXTENSION));
                (method.name(), method.direction(&version))
            })
            .collect();
        let expected: &[_] = if version == ProtocolVersion::V2026_07_28 {
            &[
                ("tasks/get", Direction::ToServer),
                ("tasks/update", Direction::ToServer),
                ("tasks/cancel", Direction::ToServer),
                ("notifications/tasks", Direction::ToClient),
            ]
        } else {
            &[]
        };
        assert_eq!(added, expected, "{version}");
    }
}

#[test]
fn methods_go_the_way_of_the_schema() {
    for version in ProtocolVersion::ALL {
        let definitions = definitions(&version);
        let union = |name: &str| -> BTreeSet<&str> {
            // A union of one is written as a reference, or not at all.
            let members = definitions[name]["anyOf"].as_array().cloned().unwrap_or_default();
            let mut names: Vec<String> = members
                .iter()
                .map(|member| member["$ref"].as_str().expect("a reference").to_owned())
                .chain(definitions[name]["$ref"].as_str().map(str::to_owned))
                .collect();
            if names.is_empty() && method_of(&definitions, name).is_some() {
                names.push(name.to_owned());
            }
            let last = |name: &String| name.rsplit('/').next().map(str::to_owned);
            set(names.iter().filter_map(last).filter_map(|name| method_of(&definitions, &name)))
        };
        let table = |requests: bool, way: Direction| -> BTreeSet<&str> {
            let rows = Method::ALL.iter().filter(|m| m.is_in(&version) && m.is_request() == requests);
            let rows = rows.filter(|m| m.extension(&version).is_none());
            set(rows.filter(|m| [way, Direction::Both].contains(&m.direction(&version))).map(|m| m.name()))
        };
        assert_eq!(table(true, Direction::ToServer), union("ClientRequest"), "{version}");
        assert_eq!(table(true, Direction::ToClient), union("ServerRequest"), "{version}");
        assert_eq!(table(false, Direction::ToServer), union("ClientNotification"), "{version}");
        assert_eq!(table(false, Direction::ToClient), union("ServerNotification"), "{version}");
    }
}
