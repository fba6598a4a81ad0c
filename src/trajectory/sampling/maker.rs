//! [`Maker`]: values for schemas in which there is nothing that is not understood.

use serde_json::{Map, Value};

use super::height::Heights;
use super::schema::{Problem, Schemas};
use super::shape::{count, is_of, is_same};
use super::{Random, format, number};

/// Deeper than this nothing is made that need not be.
const DEEP: usize = 6;

/// Deeper than this nothing is made at all.
pub(super) const TOO_DEEP: usize = 64;

/// So many values, and so many characters of texts, are made at most, those included that came to nothing.
const MOST_VALUES: u64 = 50_000;
const MOST_CHARACTERS: u64 = 1_000_000;

/// So many items or members that a schema asks for are made at most.
const MOST_OF_ONE: u64 = 1_000;

pub(super) struct Maker<'a> {
    schemas: &'a Schemas<'a>,
    heights: Heights,
    random: &'a mut Random,
    values: u64,
    characters: u64,
}

type Made = Result<Value, Problem>;

impl<'a> Maker<'a> {
    pub(super) fn new(schemas: &'a Schemas<'a>, random: &'a mut Random) -> Self {
        Self {
            schemas,
            heights: Heights::of(schemas),
            random,
            values: MOST_VALUES,
            characters: MOST_CHARACTERS,
        }
    }

    /// The root is of an object, whether it says so or not.
    pub(super) fn arguments(mut self) -> Made {
        match self.schemas.root() {
            // It says nothing of what there may be.
            Value::Object(members) if members.is_empty() => Ok(Value::Object(Map::new())),
            Value::Bool(_) => Ok(Value::Object(Map::new())),
            root => self.value(root, &["object"], 0),
        }
    }

    /// A value of one of `kinds`, or of any if there are none.
    fn value(&mut self, schema: &'a Value, kinds: &[&'a str], depth: usize) -> Made {
        if depth > TOO_DEEP {
            return Err(Problem::new("it needs more than 64 levels"));
        }
        self.values = self.values.checked_sub(1).ok_or_else(|| Problem::new("it needs too many values"))?;
        // `true` says nothing; `false` is a problem that was found before.
        let members = self.schemas.resolved(schema)?.as_object().unwrap_or(self.schemas.none());
        let kinds = kinds_of(members, kinds)?;
        let allows = |value: &&Value| kinds.is_empty() || kinds.iter().any(|kind| is_of(kind, value));
        if let Some(constant) = members.get("const") {
            let listed = members.get("enum").and_then(Value::as_array);
            let is_listed = listed.is_none_or(|all| all.iter().any(|one| is_same(one, constant)));
            return match is_listed && allows(&constant) {
                true => Ok(constant.clone()),
                false => Err(Problem::new("const is not allowed by what is beside it")),
            };
        }
        if let Some(Value::Array(all)) = members.get("enum") {
            let allowed: Vec<_> = all.iter().filter(allows).collect();
            let picked = self.random.pick(&allowed).map(|value| (*value).clone());
            return picked.ok_or_else(|| Problem::new("no value of enum is of the type"));
        }
        if let Some(Value::Array(ways)) = members.get("anyOf") {
            return self.one_of(ways, &kinds, depth);
        }
        let kind = match self.flattest(members, &kinds, depth) {
            Some(kind) => kind,
            None => match implied(members) {
                Some(kind) => kind,
                None => return self.text(members),
            },
        };
        match kind {
            "object" => self.members(members, depth).map(Value::Object),
            "array" => self.items(members, depth),
            "string" => self.text(members),
            "integer" => number::integer(members, self.random),
            "number" => number::number(members, self.random),
            "boolean" => Ok(Value::Bool(self.random.flip())),
            _ => Ok(Value::Null),
        }
    }

    fn text(&mut self, members: &Map<String, Value>) -> Made {
        let text = format::string(members, self.characters, self.random)?;
        self.characters -= text.chars().count() as u64;
        Ok(Value::String(text))
    }

    /// One of several ways that come to an end; where it is deep, the one that needs least. One that cannot be made gives way to
    /// another.
    fn one_of(&mut self, ways: &'a [Value], kinds: &[&'a str], depth: usize) -> Made {
        let mut left: Vec<&Value> = ways.iter().filter(|way| self.heights.get(way).is_some()).collect();
        let mut first = None;
        while !left.is_empty() {
            let at = match depth < DEEP {
                true => usize::try_from(self.random.below(left.len() as u64)).unwrap_or_default(),
                false => {
                    let heights = left.iter().enumerate().map(|(at, way)| (self.heights.get(way), at));
                    heights.min().map_or(0, |(_, at)| at)
                }
            };
            match self.value(left.remove(at), kinds, depth + 1) {
                Ok(value) => return Ok(value),
                Err(problem) => drop(first.get_or_insert(problem)),
            }
        }
        Err(first.unwrap_or_else(|| Problem::new("no way of anyOf comes to an end within 64 levels")))
    }

    /// The kind to make, of several; where it is deep, one that needs least.
    fn flattest(&mut self, members: &Map<String, Value>, kinds: &[&'a str], depth: usize) -> Option<&'a str> {
        let height = |kind: &&str| self.heights.of_kind(self.schemas, members, kind);
        let least = if depth < DEEP { None } else { kinds.iter().filter_map(height).min() };
        let is_good =
            |kind: &&&str| height(kind).is_some_and(|height| least.is_none_or(|least| height == least));
        let good: Vec<&str> = kinds.iter().filter(is_good).copied().collect();
        // Where none comes to an end, the error is to come from where that is.
        self.random.pick(if good.is_empty() { kinds } else { &good }).copied()
    }

    fn members(
        &mut self,
        members: &'a Map<String, Value>,
        depth: usize,
    ) -> Result<Map<String, Value>, Problem> {
        let properties = members.get("properties").and_then(Value::as_object).unwrap_or(self.schemas.none());
        let required: Vec<&str> = names(members.get("required"));
        let mut made = Map::new();
        // In order, whatever order the map is in: the same seed gives the same.
        let mut all: Vec<_> = properties.iter().collect();
        all.sort_by_key(|(name, _)| *name);
        for (name, property) in &all {
            let is_required = required.contains(&name.as_str());
            if is_required || depth < DEEP && self.random.flip() {
                match self.value(property, &[], depth + 1) {
                    Ok(value) => drop(made.insert((*name).clone(), value)),
                    // It can be left out.
                    Err(_) if !is_required => {}
                    Err(problem) => return Err(problem.inside(name)),
                }
            }
        }
        for name in required {
            if !properties.contains_key(name) && !made.contains_key(name) {
                let value = self.unnamed(members, depth).map_err(|problem| problem.inside(name))?;
                made.insert(name.to_owned(), value);
            }
        }
        let least = members.get("minProperties").and_then(count).unwrap_or_default();
        for (name, property) in &all {
            if (made.len() as u64) < least && !made.contains_key(*name) {
                if let Ok(value) = self.value(property, &[], depth + 1) {
                    made.insert((*name).clone(), value);
                }
            }
        }
        let missing = least.saturating_sub(made.len() as u64);
        if missing > MOST_OF_ONE {
            return Err(Problem::new("minProperties above what is made, 1,000"));
        }
        let names = (1..).map(|number| format!("member{number}"));
        let names: Vec<_> = names
            .filter(|name| !properties.contains_key(name) && !made.contains_key(name))
            .take(usize::try_from(missing).unwrap_or_default())
            .collect();
        for name in names {
            let value = self.unnamed(members, depth).map_err(|problem| problem.inside("minProperties"))?;
            made.insert(name, value);
        }
        Ok(made)
    }

    /// A member of which only `additionalProperties` says something.
    fn unnamed(&mut self, members: &'a Map<String, Value>, depth: usize) -> Made {
        match members.get("additionalProperties") {
            Some(Value::Bool(false)) => Err(Problem::new("additionalProperties forbids it")),
            Some(rest) => self.value(rest, &[], depth + 1),
            None => self.text(self.schemas.none()),
        }
    }

    fn items(&mut self, members: &'a Map<String, Value>, depth: usize) -> Made {
        let least = members.get("minItems").and_then(count).unwrap_or_default();
        let usual = least.saturating_add(3);
        let most = members.get("maxItems").and_then(count).unwrap_or(usual).min(usual);
        if most < least {
            return Err(Problem::new("minItems above maxItems"));
        }
        if least > MOST_OF_ONE {
            return Err(Problem::new("minItems above what is made, 1,000"));
        }
        let number = if depth < DEEP { least + self.random.below(most - least + 1) } else { least };
        let is_unique = members.get("uniqueItems") == Some(&Value::Bool(true));
        let mut made: Vec<Value> = Vec::new();
        let mut tries = 0;
        while (made.len() as u64) < number {
            let is_enough = made.len() as u64 >= least;
            let item = match members.get("items") {
                Some(schema) => self.value(schema, &[], depth + 1),
                None => self.text(self.schemas.none()),
            };
            match item {
                Ok(item) if is_unique && made.iter().any(|other| is_same(other, &item)) => {}
                Ok(item) => {
                    made.push(item);
                    continue;
                }
                Err(_) if is_enough => break,
                Err(problem) => return Err(problem.inside("items")),
            }
            tries += 1;
            if tries > 1_000 {
                match is_enough {
                    true => break,
                    false => {
                        return Err(Problem::new("too few different items for minItems with uniqueItems"));
                    }
                }
            }
        }
        Ok(Value::Array(made))
    }
}

/// The strings of an array.
pub(super) fn names(value: Option<&Value>) -> Vec<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Those of the `type` of a schema that are also among `kinds`; none stand for all.
fn kinds_of<'a>(members: &'a Map<String, Value>, kinds: &[&'a str]) -> Result<Vec<&'a str>, Problem> {
    let own = match members.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        several @ Some(_) => names(several),
        None => return Ok(kinds.to_vec()),
    };
    if kinds.is_empty() {
        return Ok(own);
    }
    let both = own.iter().filter_map(|kind| match *kind {
        kind if kinds.contains(&kind) => Some(kind),
        "integer" if kinds.contains(&"number") => Some("integer"),
        "number" if kinds.contains(&"integer") => Some("integer"),
        _ => None,
    });
    let both: Vec<_> = both.collect();
    match both.is_empty() {
        true => Err(Problem::new(format!(
            "type {}, where only {} is allowed",
            own.join(" or "),
            kinds.join(" or ")
        ))),
        false => Ok(both),
    }
}

/// What a schema without a type speaks of. A value of this kind needs to heed nothing that is said of others.
pub(super) fn implied(members: &Map<String, Value>) -> Option<&'static str> {
    const OF: [(&str, &[&str]); 4] = [
        ("object", &["properties", "required", "additionalProperties", "minProperties"]),
        ("array", &["items", "minItems", "maxItems", "uniqueItems"]),
        ("string", &["minLength", "maxLength", "format"]),
        ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    ];
    let speaks = |keywords: &[&str]| keywords.iter().any(|keyword| members.contains_key(*keyword));
    OF.iter().find(|(_, keywords)| speaks(keywords)).map(|(kind, _)| *kind)
}
