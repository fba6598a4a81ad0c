//! Lists: one page of tools, prompts, resources or resource templates, which all have the same form.
//!
//! **Invariant:** an item that cannot be used never hides the others.

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{FromJson, Json, JsonError, Members, Object, wire};

use super::{CacheScope, ResultType};

/// What a server can list, page by page.
pub trait Listed: FromJson + Serialize {
    /// The member of a page that holds the items.
    const MEMBER: &'static str;
    /// The member of an item that tells it from the others.
    const KEY: &'static str;

    /// The value of that member.
    fn key(&self) -> &str;

    /// Looks for what makes a well-formed item useless.
    ///
    /// # Errors
    /// When it cannot be used.
    fn check(&self) -> Result<(), JsonError> {
        Ok(())
    }
}

/// Result of a list request: one page of it, as it is written and as it is read.
///
/// ```
/// use tinymcp::protocol::ListToolsResult;
///
/// let page: ListToolsResult = serde_json::from_str(
///     r#"{"tools": [{"name": "a", "inputSchema": {}}, {"title": "Without a name"}], "nextCursor": "p2"}"#,
/// )?;
/// assert_eq!((page.items.len(), page.next_cursor.as_deref()), (1, Some("p2")));
/// assert_eq!(page.rejected[0].problem, "name: missing");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items that can be used, in the server's order.
    pub items: Vec<T>,
    /// What was read and cannot be used. Never written.
    pub rejected: Vec<Rejected>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
    /// How long the page may be cached, in milliseconds. From 2026-07-28 on.
    pub ttl_ms: Option<u64>,
    /// Who may cache it. From 2026-07-28 on.
    pub cache_scope: Option<CacheScope>,
    /// That it is complete. From 2026-07-28 on.
    pub result_type: Option<ResultType>,
    /// Metadata.
    pub meta: Option<Object>,
    /// Members this version of the crate does not know, kept as they came.
    pub extra: Object,
}

/// An item of a list that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// Its address, if it is a resource and has one, or else its name.
    pub name: Option<String>,
    /// What is wrong with it.
    pub problem: String,
}

impl<T> Page<T> {
    /// The only page.
    #[must_use]
    pub fn new(items: Vec<T>) -> Self {
        Self {
            items,
            rejected: Vec::new(),
            next_cursor: None,
            ttl_ms: None,
            cache_scope: None,
            result_type: None,
            meta: None,
            extra: Object::new(),
        }
    }
}

wire::builders!(Page<T> {
    /// Says where the next page begins.
    with_next_cursor => next_cursor: String,
    /// Sets how long the page may be cached, in milliseconds.
    with_ttl_ms => ttl_ms: u64,
    /// Sets who may cache it.
    with_cache_scope => cache_scope: CacheScope,
    /// Sets the metadata.
    with_meta => meta: Object,
});

impl<T: Listed> FromJson for Page<T> {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let mut members = Members::of(raw)?;
        let list: Vec<Json> = members.required(T::MEMBER)?;
        let mut page = Self::new(Vec::with_capacity(list.len()));
        for item in &list {
            match read::<T>(item.as_raw()) {
                Ok(item) => page.items.push(item),
                Err(problem) => page.rejected.push(rejected(item.as_raw(), T::KEY, &problem)),
            }
        }
        page.next_cursor = members.lenient("nextCursor");
        page.ttl_ms = members.lenient("ttlMs");
        page.cache_scope = members.lenient("cacheScope");
        page.result_type = members.lenient("resultType");
        page.meta = members.lenient("_meta");
        page.extra = members.rest();
        Ok(page)
    }
}

fn read<T: Listed>(raw: &RawValue) -> Result<T, JsonError> {
    let item = T::from_json(raw)?;
    if item.key().is_empty() {
        return Err(JsonError::new("empty").inside(T::KEY));
    }
    item.check()?;
    Ok(item)
}

fn rejected(raw: &RawValue, key: &str, problem: &JsonError) -> Rejected {
    let text = |key: &str| String::from_json(Members::of(raw).ok()?.take(key)?).ok();
    let name = [key, "name"].into_iter().filter_map(text).find(|name| !name.is_empty());
    Rejected { name, problem: problem.to_string() }
}

impl<T: Listed> Serialize for Page<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn member<M: SerializeMap, V: Serialize>(
            map: &mut M,
            name: &str,
            value: Option<&V>,
        ) -> Result<(), M::Error> {
            value.map_or(Ok(()), |value| map.serialize_entry(name, value))
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(T::MEMBER, &self.items)?;
        member(&mut map, "nextCursor", self.next_cursor.as_ref())?;
        member(&mut map, "ttlMs", self.ttl_ms.as_ref())?;
        member(&mut map, "cacheScope", self.cache_scope.as_ref())?;
        member(&mut map, "resultType", self.result_type.as_ref())?;
        member(&mut map, "_meta", self.meta.as_ref())?;
        for (name, value) in self.extra.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de, T: Listed> Deserialize<'de> for Page<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        Self::from_json(json.as_raw()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Prompt, Resource, ResourceTemplate, ToolDefinition};

    fn read<T: FromJson>(text: &str) -> T {
        T::from_json(Json::parse(text).expect("JSON").as_raw()).expect(text)
    }

    fn names<T: Listed>(page: &Page<T>) -> (Vec<&str>, Vec<(&str, &str)>) {
        let rejected = page.rejected.iter();
        let rejected = rejected.map(|r| (r.name.as_deref().unwrap_or("-"), r.problem.as_str()));
        (page.items.iter().map(T::key).collect(), rejected.collect())
    }

    #[test]
    fn one_bad_item_does_not_hide_the_others() {
        let prompts: Page<Prompt> = read(
            r#"{"prompts":[{"name":"a","title":7,"arguments":null},5,{"title":"b"},{"name":""},{"name":"c","icons":{}}]}"#,
        );
        let (good, bad) = names(&prompts);
        assert_eq!(good, ["a", "c"]);
        assert_eq!(bad, [("-", "expected an object, found 5"), ("-", "name: missing"), ("-", "name: empty")]);
        let resources: Page<Resource> = read(
            r#"{"resources":[{"uri":"a:b","name":"b","size":-1},{"uri":"a:c"},{"name":"d"},{"uri":"","name":"e"}]}"#,
        );
        let (good, bad) = names(&resources);
        assert_eq!(good, ["a:b"]);
        assert_eq!(bad, [("a:c", "name: missing"), ("d", "uri: missing"), ("e", "uri: empty")]);
        let templates: Page<ResourceTemplate> =
            read(r#"{"resourceTemplates":[{"uri":"a:b","name":"b"},{"uriTemplate":"a:{b}","name":"b"}]}"#);
        let (good, bad) = names(&templates);
        assert_eq!(good, ["a:{b}"]);
        assert_eq!(bad, [("b", "uriTemplate: missing")]);
    }

    #[test]
    fn what_is_no_page_is_an_error() {
        for (text, problem) in [
            ("5", "expected an object, found 5"),
            ("{}", "tools: missing"),
            (r#"{"tools":{}}"#, "tools: expected a list, found {}"),
        ] {
            let json = Json::parse(text).expect("JSON");
            let error = Page::<ToolDefinition>::from_json(json.as_raw()).expect_err(text);
            assert_eq!(error.to_string(), problem);
        }
    }

    #[test]
    fn odd_members_around_the_list_cost_themselves_only() {
        let page: Page<Prompt> =
            read(r#"{"prompts":[],"nextCursor":5,"ttlMs":-1,"cacheScope":[],"_meta":7,"later":[1]}"#);
        assert_eq!((page.next_cursor.as_deref(), page.ttl_ms, &page.cache_scope), (None, None, &None));
        assert_eq!(serde_json::to_string(&page).expect("JSON"), r#"{"prompts":[],"later":[1]}"#);
    }
}
