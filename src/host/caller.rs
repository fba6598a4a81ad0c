//! A host as a [`Caller`]: which server a thing is of, and the way of every use of it through the gate.

use std::cell::Cell;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use super::ending::closed;
use super::filter::Source;
use super::gate::Use;
use super::handle::HostHandle;
use super::inner::Inner;
use super::member::Member;
use crate::client::{
    Address, CallOptions, Caller, ClientHandle, Events, Filter, List, Placed, is_repeatable,
};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::protocol::{
    CallToolResult, GetPromptResult, Prompt, ReadResourceResult, Resource, ToolDefinition,
};
use crate::tool::Arguments;

/// So often the user is asked about one call whose tool changes meanwhile.
const MAX_CHANGES: usize = 3;

/// So many servers are asked for a list side by side.
const SIDE_BY_SIDE: usize = 16;

impl Inner {
    fn call(&self, name: &str, arguments: &Arguments<'_>, options: &CallOptions) -> Result<CallToolResult> {
        let json = arguments.to_json();
        let spent = Cell::new(Duration::ZERO);
        for _ in 0..MAX_CHANGES {
            let route = self.catalogue.route(name).ok_or_else(|| self.no_tool(name))?;
            let is_stale = Cell::new(false);
            let usage = Use::Call { route: &route, arguments: &json, is_stale: &is_stale, spent: &spent };
            let result = self.pass(
                &usage,
                &route.member,
                is_repeatable(&route.definition),
                options,
                &mut |handle, options| {
                    Caller::call(handle, &route.definition.name, arguments.clone(), options)
                },
            );
            if !is_stale.get() || matches!(result, Err(Error::OutcomeUnknown(_))) {
                let source = Source::tool(&route.member.name, &route.definition.name);
                return self.settings.filter.apply_call(&source, result?);
            }
        }
        Err(Error::Denied(format!("tool {name} changed again and again while it was asked about")))
    }

    /// Why there is no tool of this name: its server may not be ready.
    fn no_tool(&self, name: &str) -> Error {
        let members = self.members();
        let whose =
            members.iter().find(|member| name.starts_with(&*super::names::tool_name(&member.name, "")));
        match whose {
            Some(member) => Error::InvalidUse(format!(
                "there is no tool {name}: server {} is {}",
                member.name,
                member.state()
            )),
            None => Error::InvalidUse(format!("there is no tool {name}")),
        }
    }

    fn read(&self, address: Address<'_>, options: &CallOptions) -> Result<ReadResourceResult> {
        let member = self.whose(address)?;
        let usage = Use::Read { uri: address.name };
        let result = self.pass(&usage, &member, true, options, &mut |handle, options| {
            Caller::read_resource(handle, address, options)
        })?;
        self.settings.filter.apply_read(&Source::resource(&member.name, address.name), result)
    }

    fn prompt(
        &self,
        address: Address<'_>,
        arguments: &Json,
        options: &CallOptions,
    ) -> Result<GetPromptResult> {
        let member = self.whose(address)?;
        let usage = Use::Prompt { name: address.name, arguments };
        let result = self.pass(&usage, &member, true, options, &mut |handle, options| {
            Caller::get_prompt(handle, address, arguments, options)
        })?;
        self.settings.filter.apply_prompt(&Source::prompt(&member.name, address.name), result)
    }

    /// The server of an address; the only one if none is named.
    fn whose(&self, address: Address<'_>) -> Result<Arc<Member>> {
        if let Some(server) = address.server {
            return self.member(server);
        }
        let mut members = self.members();
        match (members.pop(), members.is_empty()) {
            (Some(member), true) => Ok(member),
            (None, _) => Err(Error::InvalidUse("the host has no servers".into())),
            (Some(last), false) => {
                members.push(last);
                let names: Vec<_> = members.iter().map(|member| &*member.name).collect();
                let problem = format!("{} needs a server, one of: {}", address.name, names.join(", "));
                Err(Error::InvalidUse(problem))
            }
        }
    }

    /// Lists something of every server that runs, side by side. One that does not tell hides no other; if none does, its error is
    /// that of the whole.
    fn list_all<T: Send>(
        &self,
        list: impl Fn(&ClientHandle) -> Result<List<Placed<T>>> + Sync,
    ) -> Result<List<Placed<T>>> {
        let running: Vec<_> =
            self.members().into_iter().filter_map(|member| Some((member.handle()?, member))).collect();
        let mut all = List { items: Vec::new(), rejected: Vec::new() };
        let (mut told, mut failure) = (running.is_empty(), None);
        for some in running.chunks(SIDE_BY_SIDE) {
            let lists: Vec<_> = thread::scope(|scope| {
                let asked: Vec<_> = some.iter().map(|(handle, _)| scope.spawn(|| list(handle))).collect();
                asked.into_iter().map(|asked| asked.join().unwrap_or_else(|_| Err(closed()))).collect()
            });
            for ((_, member), listed) in some.iter().zip(lists) {
                match listed {
                    Ok(listed) => {
                        told = true;
                        let server = Some(Arc::clone(&member.name));
                        let items = listed.items.into_iter();
                        all.items.extend(items.map(|placed| Placed::new(server.clone(), placed.item)));
                        all.rejected.extend(listed.rejected);
                    }
                    // It has none.
                    Err(Error::Unsupported(_)) => told = true,
                    Err(error) => {
                        let error = member.harmless_error(error);
                        log::warn!("server {} is missing in a list: {error}", member.name);
                        failure = Some(error);
                    }
                }
            }
        }
        match failure {
            Some(error) if !told => Err(error),
            _ => Ok(all),
        }
    }
}

/// Makes what was listed harmless. What the program's own check refuses is not listed.
fn filtered<T>(list: &mut List<Placed<T>>, apply: impl Fn(&str, T) -> Result<T>) {
    let items = std::mem::take(&mut list.items);
    list.items.extend(items.into_iter().filter_map(|placed| {
        let applied = apply(placed.server.as_deref().unwrap_or_default(), placed.item);
        let item = applied.inspect_err(|error| log::warn!("not listed: {error}")).ok()?;
        Some(Placed::new(placed.server, item))
    }));
}

impl Caller for Inner {
    fn call(&self, name: &str, arguments: Arguments<'_>, options: &CallOptions) -> Result<CallToolResult> {
        Self::call(self, name, &arguments, options)
    }

    /// As they were listed last; servers tell of changes.
    fn list_tools(&self, _: &CallOptions) -> Result<List<ToolDefinition>> {
        let items = self.catalogue.routes().iter().map(|route| route.shown.clone()).collect();
        Ok(List { items, rejected: Vec::new() })
    }

    fn list_resources(&self, options: &CallOptions) -> Result<List<Placed<Resource>>> {
        let filter = &self.settings.filter;
        let mut all = self.list_all(|handle| Caller::list_resources(handle, options))?;
        filtered(&mut all, |server, item| filter.apply_resource(server, item));
        Ok(all)
    }

    fn read_resource(&self, address: Address<'_>, options: &CallOptions) -> Result<ReadResourceResult> {
        self.read(address, options)
    }

    fn list_prompts(&self, options: &CallOptions) -> Result<List<Placed<Prompt>>> {
        let filter = &self.settings.filter;
        let mut all = self.list_all(|handle| Caller::list_prompts(handle, options))?;
        filtered(&mut all, |server, item| filter.apply_prompt_definition(server, item));
        Ok(all)
    }

    fn get_prompt(
        &self,
        address: Address<'_>,
        arguments: &Json,
        options: &CallOptions,
    ) -> Result<GetPromptResult> {
        self.prompt(address, arguments, options)
    }

    fn events(&self, filter: Filter) -> Result<Events> {
        self.subscriptions.open(filter, &self.members(), &self.closed)
    }
}

impl Caller for HostHandle {
    fn call(&self, name: &str, arguments: Arguments<'_>, options: &CallOptions) -> Result<CallToolResult> {
        Caller::call(&*self.inner, name, arguments, options)
    }

    fn list_tools(&self, options: &CallOptions) -> Result<List<ToolDefinition>> {
        self.inner.list_tools(options)
    }

    fn list_resources(&self, options: &CallOptions) -> Result<List<Placed<Resource>>> {
        self.inner.list_resources(options)
    }

    fn read_resource(&self, address: Address<'_>, options: &CallOptions) -> Result<ReadResourceResult> {
        self.inner.read_resource(address, options)
    }

    fn list_prompts(&self, options: &CallOptions) -> Result<List<Placed<Prompt>>> {
        self.inner.list_prompts(options)
    }

    fn get_prompt(
        &self,
        address: Address<'_>,
        arguments: &Json,
        options: &CallOptions,
    ) -> Result<GetPromptResult> {
        self.inner.get_prompt(address, arguments, options)
    }

    fn events(&self, filter: Filter) -> Result<Events> {
        self.inner.events(filter)
    }
}

/// What the tools of the registry call: the registry is the host's own, which it must not keep alive.
pub(super) struct WeakCaller(pub(super) Weak<Inner>);

impl Caller for WeakCaller {
    fn call(&self, name: &str, arguments: Arguments<'_>, options: &CallOptions) -> Result<CallToolResult> {
        let inner = self.0.upgrade().ok_or_else(closed)?;
        Caller::call(&*inner, name, arguments, options)
    }

    fn list_tools(&self, options: &CallOptions) -> Result<List<ToolDefinition>> {
        self.0.upgrade().ok_or_else(closed)?.list_tools(options)
    }
}
