//! A replay as a server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::run::{Asked, Offer, Run, Taken};
use super::script::{Answer, Kind, ListKindOf, Shift};
use super::{Replay, Settings};
use crate::client::Change;
use crate::context::Context;
use crate::error::Result;
use crate::json::Json;
use crate::jsonrpc::{ErrorCode, ErrorObject};
use crate::prompt::{FnPrompt, PromptRegistry};
use crate::protocol::{CallToolResult, Prompt, Resource, ToolDefinition};
use crate::resource::{FnResource, ResourceRegistry};
use crate::server::{Server, ServerBuilder, ServerHandle};
use crate::sync::{Mutex, lock};
#[cfg(feature = "validation")]
use crate::tool::Validation;
use crate::tool::{Arguments, Tool, ToolError, ToolRegistry};
use crate::trajectory::failure::{ErrorKind, RecordedError};

/// So many servers hear of notices.
const MAX_SERVERS: usize = 64;

/// What the servers of a replay list. Their handles to the registries answer by the replay; what is in these is only listed.
#[derive(Debug)]
pub(super) struct Served {
    tools: ToolRegistry,
    resources: ResourceRegistry,
    prompts: PromptRegistry,
    /// Locked to add one or to copy them. Bound: [`MAX_SERVERS`].
    servers: Mutex<Vec<ServerHandle>>,
    run: Weak<Run>,
}

impl Served {
    pub(super) fn new(run: &Arc<Run>) -> Self {
        let served = Self {
            tools: ToolRegistry::new(),
            resources: ResourceRegistry::new(),
            prompts: PromptRegistry::new(),
            servers: Mutex::new(Vec::new()),
            run: Arc::downgrade(run),
        };
        served.list();
        served
    }

    /// Lists what is offered now. No lock is held over it, as others may listen to the registries: whoever finds that something
    /// else is offered by the time it is done begins again, so that the last one leaves what is right.
    fn list(&self) {
        let Some(run) = self.run.upgrade() else { return };
        loop {
            let offer = run.offer();
            self.list_offer(&offer);
            if run.offer().is(&offer) {
                return;
            }
        }
    }

    /// Only what differs is touched, so that clients hear of real changes alone.
    fn list_offer(&self, offer: &Offer) {
        let listed: BTreeMap<_, _> =
            self.tools.definitions().into_iter().map(|one| (one.name.clone(), one)).collect();
        let names: BTreeSet<_> = offer.tools.iter().map(|one| one.name.as_str()).collect();
        for gone in listed.keys().filter(|name| !names.contains(name.as_str())) {
            self.tools.remove(gone);
        }
        for definition in offer.tools.iter() {
            // A server that runs no tasks does not say that it does.
            let shown = ToolDefinition { execution: None, ..definition.clone() };
            if listed.get(&shown.name) != Some(&shown) {
                let name = shown.name.clone();
                warn("tool", &name, self.tools.replace(Listed(shown)));
            }
        }
        self.list_resources(offer.resources.iter().map(|placed| &placed.item));
        self.list_prompts(offer.prompts.iter().map(|placed| &placed.item));
    }

    fn list_resources<'a>(&self, offered: impl Iterator<Item = &'a Resource>) {
        // Of several servers with one address, the first.
        let mut wanted = BTreeMap::new();
        for resource in offered {
            wanted.entry(resource.uri.as_str()).or_insert(resource);
        }
        for gone in self.resources.uris().iter().filter(|uri| !wanted.contains_key(uri.as_str())) {
            self.resources.remove(gone);
        }
        for (uri, resource) in wanted {
            if self.resources.get(uri).as_ref().is_none_or(|known| known.definition() != resource) {
                // It is never read: the replay answers.
                let listed = FnResource::new(resource.clone(), |_: &Context| None::<String>);
                warn("resource", uri, self.resources.replace(listed));
            }
        }
    }

    fn list_prompts<'a>(&self, offered: impl Iterator<Item = &'a Prompt>) {
        let mut wanted = BTreeMap::new();
        for prompt in offered {
            wanted.entry(prompt.name.as_str()).or_insert(prompt);
        }
        for gone in self.prompts.names().iter().filter(|name| !wanted.contains_key(name.as_str())) {
            self.prompts.remove(gone);
        }
        for (name, prompt) in wanted {
            if self.prompts.get(name).as_ref().is_none_or(|known| known.definition() != prompt) {
                let listed = FnPrompt::new(prompt.clone(), |_: &_, _: &Context| String::new());
                warn("prompt", name, self.prompts.replace(listed));
            }
        }
    }

    /// Does what happened at this place of the session.
    pub(super) fn shift(&self, shifts: &[Shift]) {
        if shifts.iter().any(|shift| !matches!(shift, Shift::Notice(_))) {
            self.list();
        }
        let updated = |shift: &Shift| match shift {
            Shift::Notice(notice) => match &notice.change {
                Change::ResourceUpdated(uri) => Some(uri.clone()),
                // Lists tell of their changes by themselves.
                _ => None,
            },
            _ => None,
        };
        let updated: Vec<_> = shifts.iter().filter_map(updated).collect();
        if !updated.is_empty() {
            let servers = lock(&self.servers).clone();
            for uri in &updated {
                servers.iter().for_each(|server| server.resource_updated(uri));
            }
        }
    }

    fn add(&self, server: ServerHandle) {
        let mut servers = lock(&self.servers);
        if servers.len() >= MAX_SERVERS {
            servers.remove(0);
        }
        servers.push(server);
    }
}

fn warn<T>(what: &str, name: &str, replaced: std::result::Result<T, crate::tool::RegistryError>) {
    if let Err(e) = replaced {
        log::warn!("a recorded {what} is answered but not listed, as no server can: {name}: {e}");
    }
}

/// A tool that is only listed.
struct Listed(ToolDefinition);

impl Tool for Listed {
    fn name(&self) -> &str {
        &self.0.name
    }
    fn description(&self) -> &str {
        self.0.description.as_deref().unwrap_or_default()
    }
    fn parameters(&self) -> &Json {
        &self.0.input_schema
    }
    fn definition(&self) -> ToolDefinition {
        self.0.clone()
    }
    fn execute(&self, _: Arguments<'_>, _: &Context) -> std::result::Result<CallToolResult, ToolError> {
        Err(ToolError::unknown_tool(self.name()))
    }
    #[cfg(feature = "validation")]
    fn validation(&self) -> Validation {
        Validation::default().without_arguments().without_results().of_others()
    }
}

/// What answers a call in place of the tool.
struct Answering {
    name: String,
    parameters: Json,
    replay: Replay,
}

impl Tool for Answering {
    fn name(&self) -> &str {
        &self.name
    }
    fn description(&self) -> &str {
        ""
    }
    fn parameters(&self) -> &Json {
        &self.parameters
    }
    fn execute(
        &self,
        arguments: Arguments<'_>,
        cx: &Context,
    ) -> std::result::Result<CallToolResult, ToolError> {
        match self.replay.answer_server(Kind::Call, &self.name, &arguments.to_json(), cx)? {
            Answer::Call(result) => Ok(result),
            _ => Err(ToolError::unknown_tool(&self.name)),
        }
    }
}

impl Replay {
    /// A server that answers as was recorded. It calls itself by the name of the recorded server, if there is one, or else
    /// `replay`.
    ///
    /// # Errors
    /// As [`ServerBuilder::build`].
    pub fn server(&self) -> Result<Server> {
        let servers: BTreeSet<_> =
            self.run.script().requests.iter().filter_map(|one| one.server.as_deref()).collect();
        let mut names = servers.into_iter();
        let name = names.next().filter(|_| names.next().is_none()).unwrap_or("replay");
        self.server_with(Server::builder(name, env!("CARGO_PKG_VERSION")))
    }

    /// The same with other settings: a name and a version, instructions, revisions. What `builder` has of tools is replaced by
    /// those of the recording, and resources and prompts are added if there are some.
    ///
    /// # Errors
    /// As [`ServerBuilder::build`].
    pub fn server_with(&self, builder: ServerBuilder) -> Result<Server> {
        let replay = self.clone();
        let mut builder = builder.tools(self.served.tools.answered_by(Arc::new(move |name| {
            Arc::new(Answering {
                name: name.to_owned(),
                parameters: Json::empty_object(),
                replay: replay.clone(),
            })
        })));
        let has = &self.run.script().has;
        if has.contains(&ListKindOf::Resources) {
            let replay = self.clone();
            builder = builder.resources(self.served.resources.answered_by(Arc::new(move |uri, cx| {
                match replay.answer_server(Kind::Read, uri, &Json::empty_object(), cx)? {
                    Answer::Read(result) => Ok(result),
                    _ => Err(crate::resource::NotFound::at(uri).into()),
                }
            })));
        }
        if has.contains(&ListKindOf::Prompts) {
            let replay = self.clone();
            builder =
                builder.prompts(self.served.prompts.answered_by(Arc::new(move |name, arguments, cx| {
                    let arguments = Json::new(arguments.as_map())?;
                    match replay.answer_server(Kind::Prompt, name, &arguments, cx)? {
                        Answer::Prompt(result) => Ok(result),
                        _ => Err(ToolError::new("no prompt")),
                    }
                })));
        }
        let server = builder.build()?;
        self.served.add(server.handle());
        Ok(server)
    }

    fn answer_server(
        &self,
        kind: Kind,
        name: &str,
        arguments: &Json,
        cx: &Context,
    ) -> std::result::Result<Answer, ToolError> {
        let asked = Asked { kind, name, server: None, arguments };
        let taken = self.run.take(&asked).map_err(|miss| ToolError::protocol(miss.to_error()))?;
        self.served.shift(&taken.shifts);
        let wait = taken.wait(&self.settings);
        if !wait.is_zero() && cx.cancel_token().wait_timeout(wait) {
            return Err(ToolError::new("cancelled"));
        }
        match &*taken.answer {
            Answer::Failed(error) => Err(ToolError::protocol(object(error))),
            answer => Ok(answer.clone()),
        }
    }
}

impl Taken {
    /// How long it is before the answer is given.
    pub(super) fn wait(&self, settings: &Settings) -> Duration {
        Duration::try_from_secs_f64(self.duration.as_secs_f64() * settings.durations).unwrap_or(Duration::MAX)
    }
}

/// An error as a server can answer it: its own as it was, others by name.
fn object(error: &RecordedError) -> ErrorObject {
    if matches!(error.kind, ErrorKind::Peer | ErrorKind::Refused) {
        return ErrorObject {
            code: error.code.unwrap_or(ErrorCode::INTERNAL_ERROR),
            message: error.message.clone(),
            data: error.data.clone(),
        };
    }
    let told = ErrorObject::new(
        error.code.unwrap_or(ErrorCode::INTERNAL_ERROR),
        format!("recorded {}: {}", error.kind, error.message),
    );
    told.with_data(Json::new(error).unwrap_or_else(|_| Json::null()))
}
