//! [`Filter`]: which changes somebody wants to hear of. [`Change`]: one of them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::heard::List;
use crate::protocol::capability::ServerCapabilities;
use crate::protocol::subscription::SubscriptionFilter;

/// Something that has changed on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    ToolsChanged,
    /// The list of prompts.
    PromptsChanged,
    /// The list of resources or of resource templates.
    ResourcesChanged,
    /// What the resource with this URI holds, or something below it. The URI is the one that was asked for.
    ResourceUpdated(String),
    /// The server is gone, or has broken off its notices: changes may be missed from now on. Once notices come again,
    /// everything that was asked for counts as changed. If the server is gone that takes a
    /// [`reconnect`](crate::ClientHandle::reconnect).
    Interrupted,
}

/// Which changes to hear of.
///
/// ```
/// use tinymcp::client::{Change, Filter};
///
/// let filter = Filter::new().tools().resource("file:///notes/today.md");
/// assert!(filter.includes(&Change::ToolsChanged));
/// assert!(!filter.includes(&Change::ResourceUpdated("file:///notes/other.md".into())));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// In the order of [`List`].
    pub(super) lists: [bool; 3],
    pub(super) uris: BTreeSet<Arc<str>>,
}

impl Filter {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes of the list of tools.
    #[must_use]
    pub fn tools(self) -> Self {
        self.list(List::Tools)
    }

    /// Changes of the list of prompts.
    #[must_use]
    pub fn prompts(self) -> Self {
        self.list(List::Prompts)
    }

    /// Changes of the list of resources, and of the list of resource templates.
    #[must_use]
    pub fn resources(self) -> Self {
        self.list(List::Resources)
    }

    /// Changes of what a resource holds, or of what lies below it. The URI is compared as it is written.
    #[must_use]
    pub fn resource(mut self, uri: impl AsRef<str>) -> Self {
        self.uris.insert(Arc::from(uri.as_ref()));
        self
    }

    /// Changes of what any of these resources holds.
    #[must_use]
    pub fn resource_uris<S: AsRef<str>>(mut self, uris: impl IntoIterator<Item = S>) -> Self {
        self.uris.extend(uris.into_iter().map(|uri| Arc::from(uri.as_ref())));
        self
    }

    pub(super) fn list(mut self, list: List) -> Self {
        self.lists[list as usize] = true;
        self
    }

    /// Whether it asks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.lists.contains(&true) && self.uris.is_empty()
    }

    /// Whether it asks for such a change. [`Change::Interrupted`] needs no asking.
    #[must_use]
    pub fn includes(&self, change: &Change) -> bool {
        match change {
            Change::ToolsChanged => self.lists[List::Tools as usize],
            Change::PromptsChanged => self.lists[List::Prompts as usize],
            Change::ResourcesChanged => self.lists[List::Resources as usize],
            Change::ResourceUpdated(uri) => self.uris.contains(uri.as_str()),
            Change::Interrupted => true,
        }
    }

    /// Everything that is asked for, as if it had changed.
    #[cfg(feature = "host")]
    pub(crate) fn all_changes(&self) -> Vec<Change> {
        let lists = [Change::ToolsChanged, Change::PromptsChanged, Change::ResourcesChanged];
        let uris = self.uris.iter().map(|uri| Change::ResourceUpdated(uri.to_string()));
        lists.into_iter().filter(|list| self.includes(list)).chain(uris).collect()
    }

    /// What is asked for by both.
    pub(super) fn both(&self, other: &Self) -> Self {
        Self {
            lists: std::array::from_fn(|at| self.lists[at] && other.lists[at]),
            uris: self.uris.intersection(&other.uris).cloned().collect(),
        }
    }

    /// The part that a server with these capabilities says it tells of.
    pub(super) fn within(&self, capabilities: &ServerCapabilities) -> Self {
        let ServerCapabilities { tools, prompts, resources, .. } = capabilities;
        let lists = [
            tools.as_ref().is_some_and(|tools| tools.list_changed()),
            prompts.as_ref().is_some_and(|prompts| prompts.list_changed()),
            resources.as_ref().is_some_and(|resources| resources.list_changed()),
        ];
        let subscribes = resources.as_ref().is_some_and(|resources| resources.subscribe == Some(true));
        Self {
            lists: std::array::from_fn(|at| self.lists[at] && lists[at]),
            uris: if subscribes { self.uris.clone() } else { BTreeSet::new() },
        }
    }

    pub(super) fn to_wire(&self) -> SubscriptionFilter {
        let flag = |list: List| self.lists[list as usize].then_some(true);
        let uris = self.uris.iter().map(|uri| uri.to_string()).collect();
        SubscriptionFilter {
            tools_list_changed: flag(List::Tools),
            prompts_list_changed: flag(List::Prompts),
            resources_list_changed: flag(List::Resources),
            resource_subscriptions: Some(uris).filter(|uris: &Vec<_>| !uris.is_empty()),
            ..SubscriptionFilter::default()
        }
    }

    pub(super) fn of_wire(wire: &SubscriptionFilter) -> Self {
        let lists = [wire.tools_list_changed, wire.prompts_list_changed, wire.resources_list_changed];
        let uris = wire.resource_subscriptions.iter().flatten();
        Self {
            lists: lists.map(|list| list == Some(true)),
            uris: uris.map(|uri| Arc::from(uri.as_str())).collect(),
        }
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [tools, prompts, resources] = self.lists;
        f.debug_struct("Filter")
            .field("tools", &tools)
            .field("prompts", &prompts)
            .field("resources", &resources)
            .field("resource_uris", &self.uris)
            .finish()
    }
}
