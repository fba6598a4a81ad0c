//! [`Heights`]: how many levels a value of a schema needs at least, so that deep ones come to an end.

use std::collections::HashMap;
use std::ptr::from_ref;

use serde_json::{Map, Value};

use super::maker::{TOO_DEEP, implied, names};
use super::schema::Schemas;
use super::shape::count;

/// By the address of each schema, all in one document that outlives this; one that is missing never comes to an end.
pub(super) struct Heights(HashMap<usize, usize>);

fn address(schema: &Value) -> usize {
    from_ref(schema).addr()
}

impl Heights {
    pub(super) fn of(schemas: &Schemas<'_>) -> Self {
        let mut heights = Self(HashMap::new());
        let all = schemas.all();
        // Each round finds those that are one level higher.
        for _ in 0..=TOO_DEEP {
            let found: Vec<_> = all
                .iter()
                .filter(|schema| heights.get(schema).is_none())
                .filter_map(|schema| Some((address(schema), heights.of_schema(schemas, schema)?)))
                .collect();
            if found.is_empty() {
                break;
            }
            heights.0.extend(found);
        }
        heights
    }

    pub(super) fn get(&self, schema: &Value) -> Option<usize> {
        self.0.get(&address(schema)).copied()
    }

    fn of_schema(&self, schemas: &Schemas<'_>, schema: &Value) -> Option<usize> {
        let schema = match schema.get("$ref") {
            Some(_) => return self.get(schemas.resolved(schema).ok()?),
            None => schema,
        };
        let Value::Object(members) = schema else { return Some(0) };
        if members.contains_key("const") || members.contains_key("enum") {
            return Some(0);
        }
        if let Some(Value::Array(ways)) = members.get("anyOf") {
            return ways.iter().filter_map(|way| self.get(way)).min().map(|height| height + 1);
        }
        let kinds = match members.get("type") {
            Some(Value::String(kind)) => vec![kind.as_str()],
            several @ Some(_) => names(several),
            None => vec![implied(members).unwrap_or("string")],
        };
        kinds.into_iter().filter_map(|kind| self.of_kind(schemas, members, kind)).min()
    }

    /// What a value of a kind needs.
    pub(super) fn of_kind(
        &self,
        schemas: &Schemas<'_>,
        members: &Map<String, Value>,
        kind: &str,
    ) -> Option<usize> {
        let inside = |schema: Option<&Value>| match schema {
            Some(schema @ Value::Object(_)) => self.get(schema),
            _ => Some(0),
        };
        match kind {
            "object" => {
                let properties =
                    members.get("properties").and_then(Value::as_object).unwrap_or(schemas.none());
                let rest = members.get("additionalProperties");
                let required = names(members.get("required")).into_iter();
                let mut heights = required.map(|name| inside(properties.get(name).or(rest)));
                heights.try_fold(0, |most, height| Some(most.max(height? + 1)))
            }
            "array" if members.get("minItems").and_then(count).unwrap_or_default() > 0 => {
                inside(members.get("items")).map(|height| height + 1)
            }
            _ => Some(0),
        }
    }
}
