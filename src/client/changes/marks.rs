//! [`Marks`]: what somebody has not been told yet. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::filter::{Change, Filter};
use super::heard::{List, News};

/// Of a longer URI nobody asks what it lies in: each of its parts is looked up.
const MAX_NESTED_BYTES: usize = 8 * 1024;

/// What is due for one listener: each thing once, in the order of its first mark.
///
/// **Invariant:** never longer than what is listened to and the interruption, whatever comes.
#[derive(Debug, Default)]
pub(super) struct Marks {
    lists: [Option<bool>; 3],
    /// Whether each is due.
    uris: BTreeMap<Arc<str>, bool>,
    is_interrupted: bool,
    due: VecDeque<Due>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Due {
    List(List),
    Resource(Arc<str>),
    Interrupted,
}

const LISTS: [List; 3] = [List::Tools, List::Prompts, List::Resources];

impl Marks {
    /// Nothing is due of what `filter` asks for.
    pub(super) fn new(filter: &Filter) -> Self {
        Self {
            lists: filter.lists.map(|listens| listens.then_some(false)),
            uris: filter.uris.iter().map(|uri| (Arc::clone(uri), false)).collect(),
            ..Self::default()
        }
    }

    /// Marks what `news` is about; whether that is listened to.
    pub(super) fn mark(&mut self, news: &News) -> bool {
        match news {
            News::List(list) => self.mark_list(*list),
            News::Resource(uri) => self.mark_resource(uri),
            News::Acknowledged(_) => false,
        }
    }

    /// Marks everything of `filter` that is listened to.
    pub(super) fn mark_all(&mut self, filter: &Filter) {
        LISTS.into_iter().filter(|list| filter.lists[*list as usize]).for_each(|list| {
            self.mark_list(list);
        });
        filter.uris.iter().for_each(|uri| {
            self.mark_uri(uri);
        });
    }

    fn mark_list(&mut self, list: List) -> bool {
        let Some(is_due) = &mut self.lists[list as usize] else { return false };
        if !std::mem::replace(is_due, true) {
            self.due.push_back(Due::List(list));
        }
        true
    }

    /// spec: 2026-07-28 schema#resourceupdatednotificationparams (it may lie below the one subscribed to)
    fn mark_resource(&mut self, uri: &str) -> bool {
        let mut is_wanted = self.mark_uri(uri);
        if self.uris.is_empty() || uri.len() > MAX_NESTED_BYTES {
            return is_wanted;
        }
        for (at, _) in uri.match_indices(['/', '?', '#']) {
            // Both spellings of what it may lie in.
            is_wanted |= self.mark_uri(&uri[..at]);
            is_wanted |= at + 1 < uri.len() && self.mark_uri(&uri[..=at]);
        }
        is_wanted
    }

    fn mark_uri(&mut self, uri: &str) -> bool {
        // With its key, so that nothing need be copied.
        let known = self.uris.range_mut::<str, _>((Bound::Included(uri), Bound::Included(uri))).next();
        let Some((known, is_due)) = known else { return false };
        if !std::mem::replace(is_due, true) {
            self.due.push_back(Due::Resource(Arc::clone(known)));
        }
        true
    }

    /// Changes may be missed from now on.
    pub(super) fn interrupt(&mut self) {
        if !std::mem::replace(&mut self.is_interrupted, true) {
            self.due.push_back(Due::Interrupted);
        }
    }

    /// They are not any more: whoever has not been told need not be.
    pub(super) fn resume(&mut self) {
        if std::mem::take(&mut self.is_interrupted) {
            self.due.retain(|due| *due != Due::Interrupted);
        }
    }

    /// How much is due.
    pub(super) fn len(&self) -> usize {
        self.due.len()
    }

    /// Takes out what is due next.
    pub(super) fn take(&mut self) -> Option<Change> {
        Some(match self.due.pop_front()? {
            Due::Interrupted => {
                self.is_interrupted = false;
                Change::Interrupted
            }
            Due::List(list) => {
                self.lists[list as usize] = Some(false);
                match list {
                    List::Tools => Change::ToolsChanged,
                    List::Prompts => Change::PromptsChanged,
                    List::Resources => Change::ResourcesChanged,
                }
            }
            Due::Resource(uri) => {
                if let Some(is_due) = self.uris.get_mut(&uri) {
                    *is_due = false;
                }
                Change::ResourceUpdated(uri.to_string())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(marks: &mut Marks) -> Vec<Change> {
        std::iter::from_fn(|| marks.take()).collect()
    }

    fn updated(uri: &str) -> Change {
        Change::ResourceUpdated(uri.to_owned())
    }

    #[test]
    fn each_change_is_due_once_in_the_order_of_its_first_mark() {
        let mut marks = Marks::new(&Filter::new().tools().resource("a:1").resource("a:2"));
        for _ in 0..1000 {
            assert!(marks.mark(&News::Resource("a:2".into())) && marks.mark(&News::List(List::Tools)));
            assert!(marks.mark(&News::Resource("a:1".into())));
            assert!(!marks.mark(&News::Resource("a:3".into())) && !marks.mark(&News::List(List::Prompts)));
        }
        assert_eq!(marks.len(), 3);
        // What changes all the time does not keep the others waiting.
        assert_eq!(marks.take(), Some(updated("a:2")));
        assert!(marks.mark(&News::Resource("a:2".into())));
        assert_eq!(taken(&mut marks), [Change::ToolsChanged, updated("a:1"), updated("a:2")]);
    }

    #[test]
    fn what_lies_below_a_resource_is_of_it() {
        for (watched, changed, is_of) in [
            ("file:///a", "file:///a", true),
            ("file:///a", "file:///a/b/c", true),
            ("file:///a/", "file:///a/b", true),
            ("file:///a/", "file:///a/", true),
            ("db://x", "db://x?row=1", true),
            ("db://x", "db://x#part", true),
            ("file:///a", "file:///ab", false),
            ("file:///a/b", "file:///a", false),
            ("file:///a/", "file:///a", false),
            ("file:///a/b", "file:///a/", false),
        ] {
            let mut marks = Marks::new(&Filter::new().resource(watched));
            assert_eq!(marks.mark(&News::Resource(changed.into())), is_of, "{watched} {changed}");
            assert_eq!(taken(&mut marks), if is_of { vec![updated(watched)] } else { Vec::new() });
        }
        let mut marks = Marks::new(&Filter::new().resource("a:/x").resource("a:/x/y"));
        assert!(marks.mark(&News::Resource("a:/x/y/z".into())));
        assert_eq!(marks.len(), 2);
    }

    #[test]
    fn an_interruption_is_told_unless_it_is_over() {
        let mut marks = Marks::new(&Filter::new().tools());
        marks.interrupt();
        marks.interrupt();
        assert_eq!(taken(&mut marks), [Change::Interrupted]);
        marks.interrupt();
        marks.resume();
        marks.mark_all(&Filter::new().tools().prompts().resource("a:b"));
        assert_eq!(taken(&mut marks), [Change::ToolsChanged]);
    }
}
