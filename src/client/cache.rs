//! [`Cache`]: results that a Modern server said may be used again.
//!
//! What is kept: pages of lists, read resources and what the server says of itself, each by its method and parameters,
//! for the time the server gave, from the moment of receipt on. It belongs to one connection and ends with it.
//!
//! **Invariants:** a result is served for exactly the request that brought it; one that was asked for before the server said
//! that it changed is not kept after that; the lock is held for a look at a few hundred entries, never while anybody waits, so that the reading
//! thread may take it.
//!
//! spec: 2026-07-28 server/utilities/caching

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use super::{CallOptions, ClientBuilder};
use crate::json::{FromJson, Json, Members, Object, write_members};
use crate::method::Method;
use crate::protocol::ResourceUpdatedParams;
use crate::sync::{Mutex, lock};

/// So many results are kept; the oldest makes room.
const ENTRIES: usize = 256;

/// So many bytes of them.
const ALL_BYTES: usize = 16 * 1024 * 1024;

/// A result of more bytes is not kept: it would put out all others.
const ENTRY_BYTES: usize = 1024 * 1024;

/// What a request is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    method: Method,
    /// In their canonical form.
    params: String,
    /// Of the resource that is read.
    uri: Option<String>,
}

impl Key {
    /// The request of `method` with these members; `own` is what the application adds to its metadata. Nobody knows what a
    /// server makes of that, so it counts.
    pub(super) fn new(method: Method, params: &[(&str, Json)], own: &Object) -> Self {
        let mut all: Object =
            params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        if !own.is_empty() {
            all.insert("_meta", own);
        }
        let (all, mut text) = (Json::from(all), Vec::new());
        write_members(&mut text, &Members::of(all.as_raw()).unwrap_or_default());
        let uri = params.iter().find(|(name, _)| *name == "uri");
        Self {
            method,
            params: String::from_utf8_lossy(&text).into_owned(),
            uri: uri.and_then(|(_, uri)| String::from_json(uri.as_raw()).ok()),
        }
    }

    fn bytes(&self) -> usize {
        self.params.len() + self.uri.as_ref().map_or(0, String::len)
    }

    fn is_concerned(&self, change: &Change) -> bool {
        match (change, &self.uri) {
            (Change::Lists(methods), _) => methods.contains(&self.method),
            // A folder changes with what is in it, and the other way round.
            // spec: 2026-07-28 schema#resourceupdatednotificationparams (it may be a sub-resource)
            (Change::Resource(changed), Some(uri)) => uri.starts_with(changed) || changed.starts_with(uri),
            (Change::Resource(_), None) => false,
        }
    }
}

/// What a notice says.
enum Change {
    Lists(&'static [Method]),
    /// The address is empty if it could not be read: any may have changed.
    Resource(String),
}

impl Change {
    fn read(method: &str, params: Option<&RawValue>) -> Option<Self> {
        Some(match Method::from_name(method)? {
            Method::ToolsListChanged => Self::Lists(&[Method::ToolsList]),
            Method::PromptsListChanged => Self::Lists(&[Method::PromptsList]),
            Method::ResourcesListChanged => {
                Self::Lists(&[Method::ResourcesList, Method::ResourceTemplatesList])
            }
            Method::ResourcesUpdated => {
                let read = params.and_then(|params| ResourceUpdatedParams::from_json(params).ok());
                Self::Resource(read.map(|params| params.uri).unwrap_or_default())
            }
            _ => return None,
        })
    }
}

struct Entry {
    key: Key,
    result: Arc<Json>,
    received: Instant,
    ttl: Duration,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.key.bytes() + self.result.as_str().len()
    }
}

#[derive(Default)]
struct Kept {
    /// In the order of receipt. Bound: [`ENTRIES`] and [`ALL_BYTES`].
    entries: VecDeque<Entry>,
    bytes: usize,
    /// What is being asked for. Bound: the threads that wait for it. End of each: its [`Fetch`]'s.
    fetches: Vec<(u64, Key)>,
    next: u64,
}

impl Kept {
    fn remove(&mut self, is_out: impl Fn(&Entry) -> bool) {
        let bytes = &mut self.bytes;
        self.entries.retain(|entry| {
            let is_out = is_out(entry);
            if is_out {
                *bytes -= entry.bytes();
            }
            !is_out
        });
    }

    fn remove_concerned(&mut self, is_concerned: impl Fn(&Key) -> bool) {
        self.remove(|entry| is_concerned(&entry.key));
        self.fetches.retain(|(_, key)| !is_concerned(key));
    }
}

/// The results of one connection.
#[derive(Default)]
pub(super) struct Cache {
    kept: Mutex<Kept>,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("entries", &lock(&self.kept).entries.len()).finish_non_exhaustive()
    }
}

impl Cache {
    /// The result of `key`, if it is here and fresh.
    pub(super) fn find(&self, key: &Key, now: Instant) -> Option<Arc<Json>> {
        let kept = lock(&self.kept);
        let entry = kept.entries.iter().find(|entry| entry.key == *key)?;
        // spec: 2026-07-28 server/utilities/caching#freshness-calculation
        (now.saturating_duration_since(entry.received) < entry.ttl).then(|| Arc::clone(&entry.result))
    }

    /// Before `key` is asked for.
    pub(super) fn fetch(self: &Arc<Self>, key: Key) -> Fetch {
        let mut kept = lock(&self.kept);
        let id = kept.next;
        kept.next += 1;
        kept.fetches.push((id, key));
        Fetch { cache: Arc::clone(self), id }
    }

    /// A notice of the server. From the reading thread: never blocks.
    pub(super) fn heard(&self, method: &str, params: Option<&RawValue>) {
        if let Some(change) = Change::read(method, params) {
            lock(&self.kept).remove_concerned(|key| key.is_concerned(&change));
        }
    }

    /// Forgets every page of a list.
    pub(super) fn discard(&self, method: Method) {
        lock(&self.kept).remove_concerned(|key| key.method == method);
    }
}

/// A request whose result may be kept, from before it is sent.
pub(super) struct Fetch {
    cache: Arc<Cache>,
    id: u64,
}

impl Fetch {
    /// Keeps its result, which was received `now`, if that may be kept, and the server has not said meanwhile that it changed.
    pub(super) fn keep(self, result: &Arc<Json>, now: Instant) {
        // Absent, negative and zero mean the same.
        let ttl = Members::of(result.as_raw()).ok().and_then(|mut members| members.take("ttlMs"));
        let ttl = ttl.and_then(|raw| u64::from_json(raw).ok()).map_or(Duration::ZERO, Duration::from_millis);
        let mut kept = lock(&self.cache.kept);
        let Some(at) = kept.fetches.iter().position(|(id, _)| *id == self.id) else { return };
        let (_, key) = kept.fetches.swap_remove(at);
        kept.remove(|entry| entry.key == key);
        let entry = Entry { key, result: Arc::clone(result), received: now, ttl };
        if ttl.is_zero() || entry.bytes() > ENTRY_BYTES {
            return;
        }
        kept.remove(|entry| now.saturating_duration_since(entry.received) >= entry.ttl);
        kept.bytes += entry.bytes();
        kept.entries.push_back(entry);
        while kept.entries.len() > ENTRIES || kept.bytes > ALL_BYTES {
            let oldest = kept.entries.pop_front().map_or(0, |entry| entry.bytes());
            kept.bytes -= oldest;
        }
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        lock(&self.cache.kept).fetches.retain(|(id, _)| *id != self.id);
    }
}

impl ClientBuilder {
    /// Asks the server each time. Without this, what a Modern server says may be used again is used again as long as it
    /// says: pages of lists, resources and [`discover`](super::ClientHandle::discover).
    ///
    /// A notice that something changed, a reconnect, other parameters and other members of `_meta` from
    /// [`CallOptions::with_meta`] all lead to the server. Nothing is kept of servers of the Legacy era.
    #[must_use]
    pub fn no_cache(mut self) -> Self {
        self.is_caching = false;
        self
    }
}

impl CallOptions {
    /// Asks the server, also if an earlier result may still be used. What it answers may be used by later calls.
    ///
    /// ```no_run
    /// # fn main() -> tinymcp::Result<()> {
    /// use tinymcp::client::CallOptions;
    ///
    /// let client = tinymcp::Client::connect("python3", &["notes_server.py"])?;
    /// let now = client.read_resource_with("notes://plan", &CallOptions::default().with_fresh())?;
    /// # drop(now); Ok(()) }
    /// ```
    #[must_use]
    pub fn with_fresh(mut self) -> Self {
        self.is_fresh = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(uri: &str) -> Key {
        Key::new(Method::ResourcesRead, &[("uri", Json::from(uri))], &Object::new())
    }

    fn page(method: Method, cursor: Option<&str>) -> Key {
        let params: Vec<_> = cursor.iter().map(|cursor| ("cursor", Json::from(*cursor))).collect();
        Key::new(method, &params, &Object::new())
    }

    fn result(ttl: &str, bytes: usize) -> Arc<Json> {
        let text = format!(r#"{{"ttlMs":{ttl},"contents":[],"x":"{}"}}"#, "a".repeat(bytes));
        Arc::new(Json::parse(&text).expect("JSON"))
    }

    fn keep(cache: &Arc<Cache>, key: &Key, result: &Arc<Json>, now: Instant) {
        cache.fetch(key.clone()).keep(result, now);
    }

    fn has(cache: &Cache, key: &Key, now: Instant) -> bool {
        cache.find(key, now).is_some()
    }

    #[test]
    fn results_are_fresh_for_the_time_the_server_gave() {
        let start = Instant::now();
        let after = |ms: u64| start + Duration::from_millis(ms);
        for (ttl, fresh, stale) in [
            ("100", Some(99), Some(100)),
            ("1", Some(0), Some(1)),
            ("18446744073709551615", Some(1_000_000_000), None),
            ("0", None, Some(0)),
            ("-5", None, Some(0)),
            ("null", None, Some(0)),
            ("\"soon\"", None, Some(0)),
            ("1e30", None, Some(0)),
        ] {
            let cache = Arc::<Cache>::default();
            keep(&cache, &key("a:b"), &result(ttl, 0), start);
            assert!(fresh.is_none_or(|ms| has(&cache, &key("a:b"), after(ms))), "{ttl}");
            assert!(stale.is_none_or(|ms| !has(&cache, &key("a:b"), after(ms))), "{ttl}");
        }
        // A later result takes the place of the earlier, also if it is not to be kept.
        let cache = Arc::<Cache>::default();
        keep(&cache, &key("a:b"), &result("1000", 0), start);
        keep(&cache, &key("a:b"), &result("0", 0), start);
        assert!(!has(&cache, &key("a:b"), start));
    }

    #[test]
    fn requests_are_told_apart_by_all_that_may_matter() {
        let list = |params: &[(&str, Json)]| Key::new(Method::ToolsList, params, &Object::new());
        let mut tenant = Object::new();
        tenant.insert("com.example/tenant", &1);
        let keys = [
            list(&[]),
            list(&[("cursor", Json::from(""))]),
            list(&[("cursor", Json::from("a"))]),
            Key::new(Method::ToolsList, &[], &tenant),
            page(Method::PromptsList, None),
            page(Method::ResourcesList, None),
            key("a"),
            key("A"),
        ];
        for (i, one) in keys.iter().enumerate() {
            for (j, other) in keys.iter().enumerate() {
                assert_eq!(one == other, i == j, "{one:?} {other:?}");
            }
        }
        let spelled = |text: &str| [("uri", Json::parse(text).expect("JSON"))];
        assert_eq!(
            Key::new(Method::ResourcesRead, &spelled(r#""a:\u0062""#), &Object::new()),
            Key::new(Method::ResourcesRead, &spelled(r#""a:b""#), &Object::new())
        );
    }

    #[test]
    fn notices_put_out_what_they_concern() {
        let now = Instant::now();
        let keys = [
            page(Method::ToolsList, None),
            page(Method::ToolsList, Some("2")),
            page(Method::PromptsList, None),
            page(Method::ResourcesList, None),
            page(Method::ResourceTemplatesList, None),
            key("file:///a/"),
            key("file:///a/b"),
            key("file:///c"),
            page(Method::Discover, None),
        ];
        for (method, params, gone) in [
            ("notifications/tools/list_changed", "{}", vec![0, 1]),
            ("notifications/prompts/list_changed", "{}", vec![2]),
            ("notifications/resources/list_changed", "{}", vec![3, 4]),
            ("notifications/resources/updated", r#"{"uri":"file:///a/b"}"#, vec![5, 6]),
            ("notifications/resources/updated", r#"{"uri":"file:///a/"}"#, vec![5, 6]),
            ("notifications/resources/updated", r#"{"uri":"file:///c"}"#, vec![7]),
            ("notifications/resources/updated", r#"{"uri":5}"#, vec![5, 6, 7]),
            ("notifications/progress", "{}", vec![]),
            ("x/y", "{}", vec![]),
        ] {
            let params = Json::parse(params).expect("JSON");
            let (kept, asked) = (Arc::<Cache>::default(), Arc::<Cache>::default());
            for key in &keys {
                keep(&kept, key, &result("1000", 0), now);
            }
            // And what is being asked for.
            let fetches: Vec<_> = keys.iter().map(|key| asked.fetch(key.clone())).collect();
            for cache in [&kept, &asked] {
                cache.heard(method, Some(params.as_raw()));
            }
            fetches.into_iter().for_each(|fetch| fetch.keep(&result("1000", 0), now));
            for cache in [&kept, &asked] {
                let lost: Vec<_> = (0..keys.len()).filter(|&i| !has(cache, &keys[i], now)).collect();
                assert_eq!(lost, gone, "{method} {params}");
            }
        }
    }

    #[test]
    fn the_oldest_make_room_and_the_largest_are_not_kept() {
        let now = Instant::now();
        let cache = Arc::<Cache>::default();
        let nth = |n: usize| key(&format!("a:{n}"));
        for n in 0..=ENTRIES {
            keep(&cache, &nth(n), &result("1000", 0), now);
        }
        assert!(!has(&cache, &nth(0), now) && has(&cache, &nth(1), now) && has(&cache, &nth(ENTRIES), now));
        let big = result("1000", ENTRY_BYTES - 1000);
        for n in 0..20 {
            keep(&cache, &nth(n), &big, now);
        }
        let kept = (0..20).filter(|&n| has(&cache, &nth(n), now)).count();
        assert_eq!(kept, 16);
        assert!(has(&cache, &nth(19), now));
        {
            let kept = lock(&cache.kept);
            assert_eq!(kept.bytes, kept.entries.iter().map(Entry::bytes).sum::<usize>());
            assert!(kept.bytes <= ALL_BYTES && kept.fetches.is_empty());
        }
        keep(&cache, &nth(19), &result("1000", ENTRY_BYTES), now);
        assert!(!has(&cache, &nth(19), now), "neither the new one nor the old");
        drop(cache.fetch(nth(1)));
        assert!(lock(&cache.kept).fetches.is_empty());
    }
}
