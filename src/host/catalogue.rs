//! The catalogue of a host: which tool is which server's.
//!
//! **Invariants:** a name belongs to the tool that had it first, as long as that is there; what the registry shows has been made
//! harmless, and what consent is asked for is as the server has it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::events::HostEvent;
use super::filter::ResultFilter;
use super::member::Member;
use super::names::tool_name;
use crate::client::{Caller, RemoteTool};
use crate::json::canonical;
use crate::protocol::ToolDefinition;
use crate::registry::RegistryError;
use crate::tool::ToolRegistry;

/// More tools of one server than this are not offered.
const MAX_TOOLS: usize = 10_000;

/// A tool that can be called.
pub(super) struct Route {
    pub(super) member: Arc<Member>,
    /// As the server has it.
    pub(super) definition: ToolDefinition,
    /// As the model sees it, under the name that the host has for it.
    pub(super) shown: ToolDefinition,
}

/// What a listing has changed.
#[derive(Default)]
pub(super) struct Refreshed {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
    pub(super) changed: Vec<String>,
    pub(super) refused: Vec<HostEvent>,
    /// A name was another's.
    pub(super) has_clash: bool,
}

/// A route that is new, or describes its tool in another way.
struct Fresh {
    name: String,
    route: Arc<Route>,
    is_new: bool,
}

/// Owner: the host. Bound: the tools of its servers. The lock is held for a look or a change.
#[derive(Default)]
pub(super) struct Catalogue {
    pub(super) tools: ToolRegistry,
    routes: RwLock<BTreeMap<String, Arc<Route>>>,
}

impl Catalogue {
    pub(super) fn route(&self, name: &str) -> Option<Arc<Route>> {
        self.routes.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Whether a call by this route is one of the tool as it is now.
    pub(super) fn has(&self, route: &Arc<Route>) -> bool {
        self.route(&route.shown.name).is_some_and(|current| Arc::ptr_eq(&current, route))
    }

    pub(super) fn routes(&self) -> Vec<Arc<Route>> {
        self.routes.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Puts `definitions` in place of the tools of `member` so far.
    pub(super) fn refresh(
        &self,
        member: &Arc<Member>,
        definitions: &[ToolDefinition],
        filter: &ResultFilter,
        caller: &Arc<dyn Caller>,
    ) -> Refreshed {
        let mut refreshed = Refreshed::default();
        let mut wanted = BTreeMap::new();
        if definitions.len() > MAX_TOOLS {
            let problem = format!("{} tools, only {MAX_TOOLS} of them are offered", definitions.len());
            refreshed.refused.push(HostEvent::Trouble { server: Arc::clone(&member.name), problem });
        }
        for definition in definitions.iter().take(MAX_TOOLS) {
            let name = tool_name(&member.name, &definition.name);
            let mut shown = match filter.apply_definition(&member.name, definition.clone()) {
                Ok(shown) => shown,
                Err(error) => {
                    refreshed.refused.push(HostEvent::ToolRefused {
                        server: Arc::clone(&member.name),
                        tool: definition.name.clone(),
                        problem: error.to_string(),
                    });
                    continue;
                }
            };
            shown.name.clone_from(&name);
            let route = Arc::new(Route { member: Arc::clone(member), definition: definition.clone(), shown });
            if let Some(other) = wanted.insert(name.clone(), Arc::clone(&route)) {
                refreshed.refused.push(clash(&name, &route, &other));
                refreshed.has_clash = true;
                wanted.insert(name, other);
            }
        }
        let (gone, fresh) = self.exchange(member, wanted, &mut refreshed);
        for name in gone {
            self.tools.remove(&name);
            refreshed.removed.push(name);
        }
        for Fresh { name, route, is_new } in fresh {
            match self.show(&name, &route, is_new, caller) {
                Ok(()) if is_new => refreshed.added.push(name),
                Ok(()) => refreshed.changed.push(name),
                Err(error) => {
                    self.forget(&name, &route);
                    refreshed.refused.push(refused(&route, error));
                }
            }
        }
        refreshed
    }

    /// Puts the tool of a route into the registry. If there is another route by then, that of whoever made it comes last.
    fn show(
        &self,
        name: &str,
        route: &Arc<Route>,
        is_new: bool,
        caller: &Arc<dyn Caller>,
    ) -> Result<(), RegistryError> {
        let tool = |route: &Route| RemoteTool::new(route.shown.clone(), Arc::clone(caller));
        match is_new {
            true => self.tools.register(tool(route))?,
            false => drop(self.tools.replace(tool(route))?),
        }
        let mut shown = Some(Arc::clone(route));
        loop {
            let current = self.route(name);
            match (&shown, &current) {
                (Some(shown), Some(current)) if Arc::ptr_eq(shown, current) => return Ok(()),
                (_, Some(current)) => drop(self.tools.replace(tool(current))?),
                (_, None) => {
                    self.tools.remove(name);
                    return Ok(());
                }
            }
            shown = current;
        }
    }

    /// Changes the routes alone; returns the names that are gone, and the fresh ones.
    fn exchange(
        &self,
        member: &Arc<Member>,
        wanted: BTreeMap<String, Arc<Route>>,
        refreshed: &mut Refreshed,
    ) -> (Vec<String>, Vec<Fresh>) {
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        let is_gone = |name: &String, route: &Route| is_of(route, member) && !wanted.contains_key(name);
        let gone: Vec<_> = routes
            .iter()
            .filter(|(name, route)| is_gone(name, route))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &gone {
            routes.remove(name);
        }
        let mut fresh = Vec::new();
        for (name, route) in wanted {
            match routes.get(&name) {
                Some(old) if !is_of(old, member) => {
                    refreshed.refused.push(clash(&name, &route, old));
                    refreshed.has_clash = true;
                }
                Some(old) if same(&old.definition, &route.definition) => {}
                old => {
                    let is_new = old.is_none();
                    fresh.push(Fresh { name: name.clone(), route: Arc::clone(&route), is_new });
                    routes.insert(name, route);
                }
            }
        }
        (gone, fresh)
    }

    fn forget(&self, name: &str, route: &Arc<Route>) {
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        if routes.get(name).is_some_and(|kept| Arc::ptr_eq(kept, route)) {
            routes.remove(name);
        }
    }

    /// Takes the tools of `member` out; returns their names.
    pub(super) fn remove(&self, member: &Arc<Member>) -> Vec<String> {
        let (gone, _) = self.exchange(member, BTreeMap::new(), &mut Refreshed::default());
        for name in &gone {
            self.tools.remove(name);
        }
        gone
    }
}

fn is_of(route: &Route, member: &Arc<Member>) -> bool {
    Arc::ptr_eq(&route.member, member)
}

/// Whether they say the same, however it is written.
fn same(a: &ToolDefinition, b: &ToolDefinition) -> bool {
    let text = |definition| crate::json::Json::new(definition).map(|json| canonical(json.as_raw()));
    a == b || matches!((text(a), text(b)), (Ok(a), Ok(b)) if a == b)
}

fn clash(name: &str, route: &Route, other: &Route) -> HostEvent {
    let whose = |route: &Route| format!("{:?} of server {}", route.definition.name, route.member.name);
    refused(
        route,
        format!("its name would be {name}, which is that of {}; this one is {}", whose(other), whose(route)),
    )
}

fn refused(route: &Route, problem: impl fmt::Display) -> HostEvent {
    HostEvent::ToolRefused {
        server: Arc::clone(&route.member.name),
        tool: route.definition.name.clone(),
        problem: problem.to_string(),
    }
}
