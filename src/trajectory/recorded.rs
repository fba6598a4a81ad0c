//! What a [`Recording`] does as a [`Caller`]: passes each request on and records it.

use std::time::Duration;

use super::format::Fields;
use super::notices::notice;
use super::recording::{Moment, Recording, write_after};
use super::request_event::{ListKind, ListedItem, RejectedItem};
use crate::client::{
    Address, CallNotes, CallOptions, Caller, Event, EventSource, Events, Filter, List, Placed,
};
use crate::error::Result;
use crate::json::{Json, Object};
use crate::protocol::{
    CallToolResult, GetPromptResult, Prompt, ReadResourceResult, Rejected, Resource, ToolDefinition,
};
use crate::tool::Arguments;

impl Recording {
    /// [`call`](Caller::call), and the place of the call in the trajectory, if it is recorded.
    pub fn call_at(
        &self,
        name: &str,
        arguments: Arguments<'_>,
        options: &CallOptions,
    ) -> (Result<CallToolResult>, Option<u64>) {
        // Borrowed once more: it is wanted after the call. What is an object stays one.
        let again = Arguments::from_raw(arguments.as_raw()).unwrap_or_else(|_| Arguments::empty());
        let request = |options: &CallOptions| self.0.core.caller.call(name, again, options);
        self.passing("call", options, request, |fields, result| {
            self.0.count_call();
            fields.value("tool", name);
            fields.raw("arguments", arguments.as_raw());
            fields.optional("result", result.as_ref().ok());
            fields.value("is_error", &result.as_ref().map_or(true, CallToolResult::is_error));
        })
    }

    /// Makes a request and records it.
    fn passing<T>(
        &self,
        kind: &str,
        options: &CallOptions,
        request: impl FnOnce(&CallOptions) -> Result<T>,
        fill: impl FnOnce(&mut Fields<'_>, &Result<T>),
    ) -> (Result<T>, Option<u64>) {
        let open = &self.0;
        let Some(writing) = open.write() else { return (request(options), None) };
        open.hear();
        let at = Moment::now();
        let (notes, result);
        if let Some(wanted) = options.notes() {
            notes = wanted.clone();
            result = open.inside(|| request(options));
        } else {
            notes = CallNotes::new();
            let noting = options.clone().with_notes(&notes);
            result = open.inside(|| request(&noting));
        }
        let took = at.elapsed_ns();
        let seq = open.event(&writing, at, kind, |fields| {
            open.write_notes(fields, &notes);
            fill(fields, &result);
            write_after(fields, result.as_ref().err(), took, &notes);
        });
        open.hear();
        (result, Some(seq))
    }

    /// A list of resources or prompts.
    fn listing<T: serde::Serialize>(
        &self,
        what: &ListKind,
        options: &CallOptions,
        request: impl FnOnce(&CallOptions) -> Result<List<Placed<T>>>,
    ) -> Result<List<Placed<T>>> {
        let fill = |fields: &mut Fields<'_>, result: &Result<List<Placed<T>>>| {
            fields.value("what", what);
            let Ok(list) = result else { return };
            let items: Vec<_> = list.items.iter().map(item).collect();
            fields.value("items", &items);
            write_rejected(fields, &list.rejected);
        };
        self.passing("list", options, request, fill).0
    }
}

fn item<T: serde::Serialize>(placed: &Placed<T>) -> ListedItem {
    ListedItem {
        server: placed.server.as_deref().map(str::to_owned),
        item: Json::new(&placed.item).unwrap_or_else(|_| Json::null()),
        extra: Object::new(),
    }
}

fn write_rejected(fields: &mut Fields<'_>, rejected: &[Rejected]) {
    if rejected.is_empty() {
        return;
    }
    let item = |one: &Rejected| RejectedItem {
        name: one.name.clone(),
        problem: one.problem.clone(),
        extra: Object::new(),
    };
    fields.value("rejected", &rejected.iter().map(item).collect::<Vec<_>>());
}

impl Caller for Recording {
    fn call(&self, name: &str, arguments: Arguments<'_>, options: &CallOptions) -> Result<CallToolResult> {
        self.call_at(name, arguments, options).0
    }

    fn list_tools(&self, options: &CallOptions) -> Result<List<ToolDefinition>> {
        let core = &self.0.core;
        let fill = |fields: &mut Fields<'_>, result: &Result<List<ToolDefinition>>| {
            fields.value("what", &ListKind::Tools);
            let Ok(list) = result else { return };
            if let Some(tools) = core.settings.redaction.definitions(&list.items) {
                let key = core.sink.define(&tools);
                core.shared.offer(&key);
                fields.value("definitions", key.as_ref());
            } else {
                log::error!("a redaction made something else of tools, and they are not recorded");
            }
            write_rejected(fields, &list.rejected);
        };
        self.passing("list", options, |options| core.caller.list_tools(options), fill).0
    }

    fn list_resources(&self, options: &CallOptions) -> Result<List<Placed<Resource>>> {
        self.listing(&ListKind::Resources, options, |options| self.0.core.caller.list_resources(options))
    }

    fn read_resource(&self, address: Address<'_>, options: &CallOptions) -> Result<ReadResourceResult> {
        let noting = self.of_server(address, options);
        let request = |options: &CallOptions| self.0.core.caller.read_resource(address, options);
        let fill = |fields: &mut Fields<'_>, result: &Result<ReadResourceResult>| {
            fields.value("uri", address.name);
            fields.optional("result", result.as_ref().ok());
        };
        self.passing("read", noting.as_ref().unwrap_or(options), request, fill).0
    }

    fn list_prompts(&self, options: &CallOptions) -> Result<List<Placed<Prompt>>> {
        self.listing(&ListKind::Prompts, options, |options| self.0.core.caller.list_prompts(options))
    }

    fn get_prompt(
        &self,
        address: Address<'_>,
        arguments: &Json,
        options: &CallOptions,
    ) -> Result<GetPromptResult> {
        let noting = self.of_server(address, options);
        let request = |options: &CallOptions| self.0.core.caller.get_prompt(address, arguments, options);
        let fill = |fields: &mut Fields<'_>, result: &Result<GetPromptResult>| {
            fields.value("name", address.name);
            fields.raw("arguments", arguments.as_raw());
            fields.optional("result", result.as_ref().ok());
        };
        self.passing("prompt", noting.as_ref().unwrap_or(options), request, fill).0
    }

    fn events(&self, filter: Filter) -> Result<Events> {
        let events = self.0.core.caller.events(filter)?;
        Ok(Events::new(Noticed { events, recording: self.clone() }))
    }
}

impl Recording {
    /// Options in which the server that was asked for is noted; `None` if none was.
    fn of_server(&self, address: Address<'_>, options: &CallOptions) -> Option<CallOptions> {
        let server = address.server?;
        let notes = options.notes().cloned().unwrap_or_default();
        notes.set_server(server);
        Some(options.clone().with_notes(&notes))
    }
}

/// Changes that are recorded as somebody hears of them.
struct Noticed {
    events: Events,
    recording: Recording,
}

impl EventSource for Noticed {
    fn next(&mut self, time: Option<Duration>) -> Option<Event> {
        let event = match time {
            Some(time) => self.events.next_timeout(time),
            None => self.events.next(),
        }?;
        if !self.recording.0.hears(&event.change) {
            self.recording.record(notice(&event));
        }
        Some(event)
    }
}
