//! A replay as a caller.

use std::sync::Arc;
use std::time::Duration;

use super::Replay;
use super::run::{Asked, Run};
use super::script::{Answer, Kind};
use crate::client::{Address, CallOptions, Caller, Event, EventSource, Events, Filter, List, Placed};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::protocol::{
    CallToolResult, GetPromptResult, Prompt, ReadResourceResult, Resource, ToolDefinition,
};
use crate::tool::Arguments;

impl Replay {
    fn answer(
        &self,
        kind: Kind,
        address: Address<'_>,
        arguments: &Json,
        options: &CallOptions,
    ) -> Result<Answer> {
        let Address { name, server, .. } = address;
        let cancelled = |reason: Option<&str>| Error::Cancelled(reason.unwrap_or("cancelled").to_owned());
        if let Some(token) = options.cancel().filter(|token| token.is_cancelled()) {
            return Err(cancelled(token.reason()));
        }
        let taken = self.run.take(&Asked { kind, name, server, arguments });
        let taken = taken.map_err(|miss| Error::Peer(miss.to_error()))?;
        self.served.shift(&taken.shifts);
        let wait = taken.wait(&self.settings);
        match options.cancel() {
            _ if wait.is_zero() => {}
            Some(token) if token.wait_timeout(wait) => return Err(cancelled(token.reason())),
            Some(_) => {}
            None => std::thread::sleep(wait),
        }
        match &*taken.answer {
            Answer::Failed(error) => Err(error.to_error()),
            answer => Ok(answer.clone()),
        }
    }
}

fn other(kind: Kind) -> Error {
    Error::Protocol(format!("the recorded answer is not one to {}", kind.method()))
}

fn list<T: Clone>(items: &[T]) -> List<T> {
    List { items: items.to_vec(), rejected: Vec::new() }
}

/// Answers what was recorded; what was not is [`Error::Peer`] with the code [`REPLAY_MISS`](super::REPLAY_MISS).
impl Caller for Replay {
    fn call(&self, name: &str, arguments: Arguments<'_>, options: &CallOptions) -> Result<CallToolResult> {
        match self.answer(Kind::Call, name.into(), &arguments.to_json(), options)? {
            Answer::Call(result) => Ok(result),
            _ => Err(other(Kind::Call)),
        }
    }

    fn list_tools(&self, _: &CallOptions) -> Result<List<ToolDefinition>> {
        Ok(list(&self.run.offer().tools))
    }

    fn list_resources(&self, _: &CallOptions) -> Result<List<Placed<Resource>>> {
        Ok(list(&self.run.offer().resources))
    }

    fn read_resource(&self, address: Address<'_>, options: &CallOptions) -> Result<ReadResourceResult> {
        match self.answer(Kind::Read, address, &Json::empty_object(), options)? {
            Answer::Read(result) => Ok(result),
            _ => Err(other(Kind::Read)),
        }
    }

    fn list_prompts(&self, _: &CallOptions) -> Result<List<Placed<Prompt>>> {
        Ok(list(&self.run.offer().prompts))
    }

    fn get_prompt(
        &self,
        address: Address<'_>,
        arguments: &Json,
        options: &CallOptions,
    ) -> Result<GetPromptResult> {
        match self.answer(Kind::Prompt, address, arguments, options)? {
            Answer::Prompt(result) => Ok(result),
            _ => Err(other(Kind::Prompt)),
        }
    }

    /// The recorded notices, each once all requests before it have been made. In another order than the strict one there are none.
    fn events(&self, filter: Filter) -> Result<Events> {
        Ok(Events::new(Notices { run: Arc::clone(&self.run), filter, number: 0 }))
    }
}

struct Notices {
    run: Arc<Run>,
    filter: Filter,
    number: usize,
}

impl EventSource for Notices {
    fn next(&mut self, time: Option<Duration>) -> Option<Event> {
        let (number, notice) =
            self.run.notice(self.number, time, |notice| self.filter.includes(&notice.change));
        self.number = number;
        notice
    }
}
