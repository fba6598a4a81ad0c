//! [`Script`]: what a recording says, in the order in which it is replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::difference::same;
use crate::client::{Change, Event as ChangeEvent, Placed};
use crate::json::{FromJson, Json, Members};
use crate::protocol::{
    CallToolResult, GetPromptResult, Prompt, PromptArgument, ReadResourceResult, Resource, ToolDefinition,
};
use crate::trajectory::event::{Event, EventKind, NoticeEvent, NoticeKind};
use crate::trajectory::failure::RecordedError;
use crate::trajectory::format::{Definitions, Line};
use crate::trajectory::request_event::{ListEvent, ListKind};

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Call,
    Read,
    Prompt,
}

impl Kind {
    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Call => "tools/call",
            Self::Read => "resources/read",
            Self::Prompt => "prompts/get",
        }
    }

    /// What a redaction calls the part of the event that says what was asked for.
    pub(super) fn member(self) -> &'static str {
        if self == Self::Read { "uri" } else { "arguments" }
    }
}

/// What a request was answered with.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Call(CallToolResult),
    Read(ReadResourceResult),
    Prompt(GetPromptResult),
    Failed(RecordedError),
}

/// A request that was recorded.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) kind: Kind,
    /// The tool or prompt; of a resource its address.
    pub(super) name: String,
    pub(super) server: Option<String>,
    /// Without the `_meta` that may be among them.
    pub(super) arguments: Json,
    pub(super) seq: u64,
    pub(super) began_ns: u64,
    pub(super) duration_ns: u64,
    pub(super) answer: Arc<Answer>,
}

impl Recorded {
    /// Whether it was under way when `later` began.
    pub(super) fn overlaps(&self, later: &Self) -> bool {
        self.began_ns < later.began_ns && self.began_ns.saturating_add(self.duration_ns) > later.began_ns
    }
}

/// What changes beside the answers, once so many requests have been made.
#[derive(Clone, Debug)]
pub(super) enum Shift {
    Tools(Arc<Vec<ToolDefinition>>),
    Resources(Arc<Vec<Placed<Resource>>>),
    Prompts(Arc<Vec<Placed<Prompt>>>),
    Notice(ChangeEvent),
}

/// What a recording says.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    pub(super) requests: Vec<Recorded>,
    /// Each with the number of requests that began before it.
    pub(super) shifts: Vec<(usize, Shift)>,
    /// Something of this kind was offered, listed or asked for.
    pub(super) has: BTreeSet<ListKindOf>,
}

/// [`ListKind`], in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ListKindOf {
    Tools,
    Resources,
    Prompts,
}

impl Script {
    /// Of the lines of a recording, those of one trajectory after those of another.
    pub(super) fn of_lines(lines: impl IntoIterator<Item = Line>) -> Self {
        let mut definitions = BTreeMap::new();
        let mut order = Vec::new();
        let mut events: BTreeMap<String, Vec<Event>> = BTreeMap::new();
        for line in lines {
            match line {
                Line::Header(_) => {}
                Line::Definitions(one) => {
                    definitions.insert(one.key.clone(), one);
                }
                Line::Event(event) => {
                    let of_one = events.entry(event.trajectory.clone()).or_insert_with(|| {
                        order.push(event.trajectory.clone());
                        Vec::new()
                    });
                    of_one.push(*event);
                }
            }
        }
        let mut script = Self::default();
        for id in order {
            let events = events.remove(&id).unwrap_or_default();
            script.add(&events, |key| definitions.get(key));
        }
        script.complete();
        script
    }

    /// Adds what happened in one trajectory.
    pub(super) fn add<'a>(
        &mut self,
        events: &[Event],
        definitions: impl Fn(&str) -> Option<&'a Definitions>,
    ) {
        // Requests are recorded when they end, and asked for when they begin.
        let mut sorted: Vec<&Event> = events.iter().collect();
        sorted.sort_by_key(|event| (event.at_ns, event.seq));
        let base = self.end_ns();
        for event in sorted {
            let began_ns = base.saturating_add(event.at_ns);
            match &event.kind {
                EventKind::Begin(begin) => {
                    if let Some(known) = begin.definitions.as_deref().and_then(&definitions) {
                        self.offer(&known.tools);
                    }
                }
                EventKind::List(list) => self.list(list, &definitions),
                EventKind::Notice(notice) => {
                    self.shifts.push((self.requests.len(), Shift::Notice(change(notice))));
                }
                kind => self.requests.extend(recorded(kind, event.seq, began_ns)),
            }
        }
    }

    fn offer(&mut self, tools: &[ToolDefinition]) {
        self.shifts.push((self.requests.len(), Shift::Tools(Arc::new(tools.to_vec()))));
    }

    fn list<'a>(&mut self, list: &ListEvent, definitions: impl Fn(&str) -> Option<&'a Definitions>) {
        if list.error.is_some() {
            return;
        }
        let at = self.requests.len();
        match list.what {
            ListKind::Tools => {
                if let Some(known) = list.definitions.as_deref().and_then(definitions) {
                    self.offer(&known.tools);
                }
            }
            ListKind::Resources => self.shifts.push((at, Shift::Resources(Arc::new(placed(list))))),
            ListKind::Prompts => self.shifts.push((at, Shift::Prompts(Arc::new(placed(list))))),
            ListKind::Unknown(_) => {}
        }
    }

    fn end_ns(&self) -> u64 {
        let ends = self.requests.iter().map(|one| one.began_ns.saturating_add(one.duration_ns));
        ends.max().map_or(0, |end| end.saturating_add(1))
    }

    /// Makes up what nobody listed from what was asked for, and offers from the beginning what is offered first.
    pub(super) fn complete(&mut self) {
        let has =
            |shifts: &[(usize, Shift)], want: fn(&Shift) -> bool| shifts.iter().any(|(_, shift)| want(shift));
        let mut made_up = Vec::new();
        if !has(&self.shifts, |shift| matches!(shift, Shift::Tools(_))) {
            let tools = self.names(Kind::Call).into_keys().map(any_tool).collect::<Vec<_>>();
            made_up.extend((!tools.is_empty()).then(|| (0, Shift::Tools(Arc::new(tools)))));
        }
        if !has(&self.shifts, |shift| matches!(shift, Shift::Resources(_))) {
            let found = self.names(Kind::Read);
            let resource = |(uri, server): (&str, Option<&str>)| placed_at(server, Resource::new(uri, uri));
            let resources = found.into_iter().map(|(uri, one)| resource((uri, one.server.as_deref())));
            let resources = resources.collect::<Vec<_>>();
            made_up.extend((!resources.is_empty()).then(|| (0, Shift::Resources(Arc::new(resources)))));
        }
        if !has(&self.shifts, |shift| matches!(shift, Shift::Prompts(_))) {
            let found = self.names(Kind::Prompt);
            let prompts = found.into_values().map(|one| placed_at(one.server.as_deref(), any_prompt(one)));
            let prompts = prompts.collect::<Vec<_>>();
            made_up.extend((!prompts.is_empty()).then(|| (0, Shift::Prompts(Arc::new(prompts)))));
        }
        self.shifts.splice(0..0, made_up);
        for (_, shift) in &self.shifts {
            self.has.extend(shift.kind());
        }
        self.has.extend(self.requests.iter().map(|one| match one.kind {
            Kind::Call => ListKindOf::Tools,
            Kind::Read => ListKindOf::Resources,
            Kind::Prompt => ListKindOf::Prompts,
        }));
        // A list is known only from when it was asked for, but it was there before.
        for kind in [ListKindOf::Tools, ListKindOf::Resources, ListKindOf::Prompts] {
            if let Some(first) = self.shifts.iter_mut().find(|(_, shift)| shift.kind() == Some(kind)) {
                first.0 = 0;
            }
        }
        self.shifts.sort_by_key(|(at, _)| *at);
    }

    /// What was asked for with success, by name, and the first time it was.
    fn names(&self, kind: Kind) -> BTreeMap<&str, &Recorded> {
        let mut names = BTreeMap::new();
        for one in &self.requests {
            if one.kind == kind && !matches!(*one.answer, Answer::Failed(_)) {
                names.entry(one.name.as_str()).or_insert(one);
            }
        }
        names
    }
}

impl Shift {
    fn kind(&self) -> Option<ListKindOf> {
        match self {
            Self::Tools(_) => Some(ListKindOf::Tools),
            Self::Resources(_) => Some(ListKindOf::Resources),
            Self::Prompts(_) => Some(ListKindOf::Prompts),
            Self::Notice(_) => None,
        }
    }
}

fn any_tool(name: &str) -> ToolDefinition {
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap_or_else(|_| Json::empty_object());
    ToolDefinition::new(name, schema)
}

fn any_prompt(one: &Recorded) -> Prompt {
    let mut prompt = Prompt::new(one.name.as_str());
    let members = Members::of(one.arguments.as_raw()).unwrap_or_default();
    let arguments: Vec<_> = members.names().map(PromptArgument::new).collect();
    prompt.arguments = Some(arguments).filter(|arguments| !arguments.is_empty());
    prompt
}

fn placed_at<T>(server: Option<&str>, item: T) -> Placed<T> {
    Placed::new(server.map(Into::into), item)
}

fn placed<T: FromJson>(list: &ListEvent) -> Vec<Placed<T>> {
    let items = list.items.iter().flatten();
    items
        .filter_map(|listed| match T::from_json(listed.item.as_raw()) {
            Ok(item) => Some(placed_at(listed.server.as_deref(), item)),
            Err(e) => {
                log::warn!("not replayed: an item of a list: {e}");
                None
            }
        })
        .collect()
}

fn change(notice: &NoticeEvent) -> ChangeEvent {
    let change = match notice.change {
        NoticeKind::Tools => Change::ToolsChanged,
        NoticeKind::Prompts => Change::PromptsChanged,
        NoticeKind::Resources => Change::ResourcesChanged,
        NoticeKind::Resource => Change::ResourceUpdated(notice.uri.clone().unwrap_or_default()),
        // What this version does not know may have been anything.
        NoticeKind::Interrupted | NoticeKind::Unknown(_) => Change::Interrupted,
    };
    ChangeEvent::new(notice.server.as_deref().map(Into::into), change)
}

/// The request that an event tells of, if it does and says how that ended.
fn recorded(kind: &EventKind, seq: u64, began_ns: u64) -> Option<Recorded> {
    let failed = |error: &Option<RecordedError>| error.clone().map(Answer::Failed);
    let (kind, name, server, arguments, answer, duration_ns) = match kind {
        EventKind::Call(one) => {
            let answer = one.result.clone().map(Answer::Call).or_else(|| failed(&one.error));
            (Kind::Call, &one.tool, &one.server, &one.arguments, answer, one.duration_ns)
        }
        EventKind::Read(one) => {
            let answer = one.result.clone().map(Answer::Read).or_else(|| failed(&one.error));
            (Kind::Read, &one.uri, &one.server, &Json::empty_object(), answer, one.duration_ns)
        }
        EventKind::Prompt(one) => {
            let answer = one.result.clone().map(Answer::Prompt).or_else(|| failed(&one.error));
            (Kind::Prompt, &one.name, &one.server, &one.arguments, answer, one.duration_ns)
        }
        _ => return None,
    };
    let Some(answer) = answer else {
        log::warn!("not replayed: event {seq} has neither a result nor an error");
        return None;
    };
    Some(Recorded {
        kind,
        name: name.clone(),
        server: server.clone(),
        arguments: plain(arguments),
        seq,
        began_ns,
        duration_ns,
        answer: Arc::new(answer),
    })
}

/// Arguments as they are compared: `null` is none, and the `_meta` that some clients put among them does not count.
pub(super) fn plain(arguments: &Json) -> Json {
    match Members::of(arguments.as_raw()) {
        Ok(members) if members.names().any(|name| name == "_meta") => {
            let mut rest = members.rest();
            rest.remove("_meta");
            rest.into()
        }
        Err(_) if arguments.as_str() == "null" => Json::empty_object(),
        _ => arguments.clone(),
    }
}

/// Whether two requests ask for the same with the same arguments.
pub(super) fn asks_the_same(one: &Json, other: &Json) -> bool {
    same(one.as_raw(), other.as_raw())
}
