//! [`Caller`]: what a client has in common with what stands before one or several: a pool, a host, a recorder.
//!
//! **Invariant:** a program that is written for a `Caller` does not see which it is, but for the names of servers, which only
//! those with several servers tell.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{CallOptions, Change, Changes, ClientHandle, Filter, List};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::protocol::{
    CallToolResult, GetPromptResult, Prompt, ReadResourceResult, Resource, ToolDefinition,
};
use crate::tool::Arguments;

/// Whatever can use the tools, resources and prompts of one server or of several.
///
/// [`ClientHandle`] is one. With the feature `host` so are a pool of connections and a host of many servers. Tools have one
/// name each, by which they are listed and called; resources and prompts keep the addresses their servers gave them, and so may
/// need the server's name beside it, see [`Address`].
///
/// One of your own needs [`call`](Self::call) and [`list_tools`](Self::list_tools); what it does not have is
/// [`Error::Unsupported`].
///
/// ```
/// use serde_json::json;
/// use tinymcp::client::{CallOptions, Caller};
/// use tinymcp::{Arguments, Server, ToolRegistry, testing, tool};
///
/// fn greet(caller: &dyn Caller) -> tinymcp::Result<String> {
///     let arguments = json!({"name": "Ada"});
///     let arguments = Arguments::new(&arguments).map_err(|e| tinymcp::Error::InvalidUse(e.to_string()))?;
///     Ok(caller.call("greet", arguments, &CallOptions::default())?.text_content())
/// }
///
/// let tools = ToolRegistry::new().with(tool! { fn greet(name: String) -> String { format!("Hello, {name}") } })?;
/// let client = testing::pair(&Server::builder("greeter", "1.0.0").tools(tools).build()?)?;
/// assert_eq!(greet(&client.handle())?, "Hello, Ada");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Caller: Send + Sync {
    /// Calls a tool by the name under which it is listed, and waits for its result.
    ///
    /// # Errors
    /// As [`ClientHandle::call_tool`].
    fn call(&self, name: &str, arguments: Arguments<'_>, options: &CallOptions) -> Result<CallToolResult>;

    /// The tools there are now, by the names that [`call`](Self::call) takes.
    ///
    /// # Errors
    /// As [`ClientHandle::list_tools`].
    fn list_tools(&self, options: &CallOptions) -> Result<List<ToolDefinition>>;

    /// The resources there are now.
    ///
    /// # Errors
    /// As [`ClientHandle::list_resources`].
    fn list_resources(&self, options: &CallOptions) -> Result<List<Placed<Resource>>> {
        let _ = options;
        Err(lacks("resources"))
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// As [`ClientHandle::read_resource`]; [`Error::InvalidUse`] when there are several servers and none is named.
    fn read_resource(&self, address: Address<'_>, options: &CallOptions) -> Result<ReadResourceResult> {
        let _ = (address, options);
        Err(lacks("resources"))
    }

    /// The prompts there are now.
    ///
    /// # Errors
    /// As [`ClientHandle::list_prompts`].
    fn list_prompts(&self, options: &CallOptions) -> Result<List<Placed<Prompt>>> {
        let _ = options;
        Err(lacks("prompts"))
    }

    /// Fills in a prompt; `arguments` is a JSON object of strings.
    ///
    /// # Errors
    /// As [`ClientHandle::get_prompt`]; [`Error::InvalidUse`] when there are several servers and none is named.
    fn get_prompt(
        &self,
        address: Address<'_>,
        arguments: &Json,
        options: &CallOptions,
    ) -> Result<GetPromptResult> {
        let _ = (address, arguments, options);
        Err(lacks("prompts"))
    }

    /// Listens to what `filter` asks for, on every server that tells of it.
    ///
    /// # Errors
    /// As [`ClientHandle::listen`].
    fn events(&self, filter: Filter) -> Result<Events> {
        let _ = filter;
        Err(lacks("events"))
    }
}

fn lacks(what: &str) -> Error {
    Error::Unsupported(format!("this caller has no {what}"))
}

/// Where a resource or a prompt is: its URI or name, and its server where there are several. A `&str` is one without a server.
///
/// ```
/// use tinymcp::client::Address;
///
/// let address = Address::of("notes", "notes://plan");
/// assert_eq!((address.server, address.name), (Some("notes"), "notes://plan"));
/// assert_eq!(Address::from("notes://plan").server, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Address<'a> {
    /// The server's name with who calls it. A caller with one server does not look at it.
    pub server: Option<&'a str>,
    /// The URI of a resource, the name of a prompt.
    pub name: &'a str,
}

impl<'a> Address<'a> {
    /// `name` on the server `server`.
    #[must_use]
    pub fn of(server: &'a str, name: &'a str) -> Self {
        Self { server: Some(server), name }
    }
}

impl<'a> From<&'a str> for Address<'a> {
    fn from(name: &'a str) -> Self {
        Self { server: None, name }
    }
}

/// Something of a server, and of which where there are several.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Placed<T> {
    /// The server's name with who calls it; `None` with a single server.
    pub server: Option<Arc<str>>,
    /// As the server has it.
    pub item: T,
}

impl<T> Placed<T> {
    /// `item` of the server of this name.
    pub fn new(server: Option<Arc<str>>, item: T) -> Self {
        Self { server, item }
    }
}

/// A change on a server, and on which where there are several.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The server's name with who calls it; `None` with a single server.
    pub server: Option<Arc<str>>,
    /// What has changed.
    pub change: Change,
}

impl Event {
    /// A change on the server of this name.
    #[must_use]
    pub fn new(server: Option<Arc<str>>, change: Change) -> Self {
        Self { server, change }
    }
}

/// Where [`Events`] come from.
pub trait EventSource: Send {
    /// The next event, if there is one within `time`; `None` is for ever. Also `None` if there will be no more.
    fn next(&mut self, time: Option<Duration>) -> Option<Event>;
}

/// Changes, one after the other: what [`Caller::events`] returns.
///
/// An iterator whose [`next`](Iterator::next) waits for a change, and which ends when there will be no more. Dropping it ends
/// the subscription.
pub struct Events(Box<dyn EventSource>);

impl Events {
    /// The events of `source`, for a [`Caller`] of your own.
    pub fn new(source: impl EventSource + 'static) -> Self {
        Self(Box::new(source))
    }

    /// The next event, if there is one within `time`; `None` as well if there will be no more.
    #[must_use = "an event is told once"]
    pub fn next_timeout(&mut self, time: Duration) -> Option<Event> {
        self.0.next(Some(time))
    }
}

impl Iterator for Events {
    type Item = Event;
    fn next(&mut self) -> Option<Event> {
        self.0.next(None)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

/// The changes of a client, which has one server.
impl EventSource for Changes {
    fn next(&mut self, time: Option<Duration>) -> Option<Event> {
        let change = match time {
            Some(time) => self.next_timeout(time),
            None => Iterator::next(self),
        };
        change.map(|change| Event::new(None, change))
    }
}

/// A list of the only server.
pub(super) fn placed<T>(list: List<T>) -> List<Placed<T>> {
    let items = list.items.into_iter().map(|item| Placed::new(None, item)).collect();
    List { items, rejected: list.rejected }
}

impl ClientHandle {
    /// Makes a request, and notes which way it went if anybody wants to know.
    fn noting<T>(&self, options: &CallOptions, request: impl FnOnce() -> Result<T>) -> Result<T> {
        let result = request();
        if let Some((notes, identity)) =
            options.notes().and_then(|notes| Some((notes, self.session.identity()?)))
        {
            notes.set_identity(identity);
        }
        result
    }
}

impl Caller for ClientHandle {
    fn call(&self, name: &str, arguments: Arguments<'_>, options: &CallOptions) -> Result<CallToolResult> {
        self.noting(options, || self.call_tool_with(name, arguments.as_raw(), options))
    }

    fn list_tools(&self, options: &CallOptions) -> Result<List<ToolDefinition>> {
        self.noting(options, || self.list_tools_with(options))
    }

    fn list_resources(&self, options: &CallOptions) -> Result<List<Placed<Resource>>> {
        self.noting(options, || self.list_resources_with(options)).map(placed)
    }

    fn read_resource(&self, address: Address<'_>, options: &CallOptions) -> Result<ReadResourceResult> {
        self.noting(options, || self.read_resource_with(address.name, options))
    }

    fn list_prompts(&self, options: &CallOptions) -> Result<List<Placed<Prompt>>> {
        self.noting(options, || self.list_prompts_with(options)).map(placed)
    }

    fn get_prompt(
        &self,
        address: Address<'_>,
        arguments: &Json,
        options: &CallOptions,
    ) -> Result<GetPromptResult> {
        self.noting(options, || self.get_prompt_with(address.name, arguments, options))
    }

    fn events(&self, filter: Filter) -> Result<Events> {
        self.listen(filter).map(Events::new)
    }
}
