//! [`Notices`]: what a trajectory hears of without being asked by the program.
//!
//! **Invariant:** no thread of its own: what came is taken when something is recorded anyway.

use std::time::Duration;

use super::event::{NoticeEvent, NoticeKind};
use super::recorder::Core;
use crate::client::{Change, Event, Events, Filter};
use crate::json::Object;
use crate::sync::{Mutex, lock};

/// So many are taken at a time; a source that never ends keeps nobody from working.
const MOST_AT_ONCE: usize = 1000;

#[derive(Default)]
pub(super) struct Notices {
    /// What is listened to; `None` is nothing.
    filter: Option<Filter>,
    /// Locked to take it out and to put it back: whoever finds it gone leaves it to who has it.
    events: Mutex<Option<Events>>,
}

impl Notices {
    pub(super) fn of(core: &Core) -> Self {
        let Some(filter) = core.settings.notices.clone() else { return Self::default() };
        match core.caller.events(filter.clone()) {
            Ok(events) => Self { filter: Some(filter), events: Mutex::new(Some(events)) },
            Err(e) => {
                log::warn!("notices are not recorded: {e}");
                Self::default()
            }
        }
    }

    pub(super) fn include(&self, change: &Change) -> bool {
        self.filter.as_ref().is_some_and(|filter| filter.includes(change))
    }

    /// Shows `each` what has come.
    pub(super) fn hear(&self, mut each: impl FnMut(Event)) {
        if self.filter.is_none() {
            return;
        }
        let Some(mut events) = lock(&self.events).take() else { return };
        let came = std::iter::from_fn(|| events.next_timeout(Duration::ZERO));
        came.take(MOST_AT_ONCE).for_each(&mut each);
        *lock(&self.events) = Some(events);
    }

    /// Listens no more.
    pub(super) fn end(&self) {
        let events = lock(&self.events).take();
        // Not under the lock: this may tell a server.
        drop(events);
    }
}

pub(super) fn notice(event: &Event) -> NoticeEvent {
    let (change, uri) = match &event.change {
        Change::ToolsChanged => (NoticeKind::Tools, None),
        Change::PromptsChanged => (NoticeKind::Prompts, None),
        Change::ResourcesChanged => (NoticeKind::Resources, None),
        Change::ResourceUpdated(uri) => (NoticeKind::Resource, Some(uri.clone())),
        Change::Interrupted => (NoticeKind::Interrupted, None),
    };
    NoticeEvent { server: event.server.as_deref().map(str::to_owned), change, uri, extra: Object::new() }
}
