//! One event as HTML: a line that says what it was, and what it holds below it.

use std::fmt::Write as _;

use super::escape;
use super::fields::{Body, Place};
use super::words;
use crate::trajectory::event::{Event, EventKind};
use crate::trajectory::failure::RecordedError;

/// So much of a value is told in the line.
const LINE_CHARS: usize = 120;

/// An event, told.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) html: String,
    /// Values that are not shown whole.
    pub(super) cut: u64,
}

/// What the line of an event says.
struct Told {
    /// The kind, in a word.
    kind: &'static str,
    /// Of what.
    name: String,
    server: Option<String>,
    brief: String,
    duration_ns: Option<u64>,
    is_error: bool,
}

/// Tells an event under the number `number`. `room` is for each value in it; without any, only the line is told.
pub(super) fn tell(event: &Event, number: u64, place: Place, room: usize) -> Item {
    let told = Told::of(event);
    let mut html = String::with_capacity(512);
    let class = if told.is_error { "ev err" } else { "ev" };
    let _ = write!(html, "<details class=\"{class}\" id=\"e{number}\"><summary><span class=\"at\">+");
    html.push_str(&words::duration(event.at_ns));
    let _ = write!(html, "</span> <span class=\"k\">{}</span> ", told.kind);
    html.push_str("<b>");
    if let Some(server) = told.server.as_deref().filter(|_| !told.name.is_empty()) {
        html.push_str("<span class=\"sv\">");
        escape::text(&mut html, &escape::line(server, 60), 400);
        html.push_str("</span> ");
    }
    escape::text(&mut html, &escape::line(&told.name, LINE_CHARS), 1200);
    html.push_str("</b> ");
    if told.is_error {
        html.push_str("<span class=\"bad\">error</span> ");
    }
    if let Some(duration) = told.duration_ns {
        let _ = write!(html, "<span class=\"d\">{}</span> ", words::duration(duration));
    }
    html.push_str("<span class=\"pv\">");
    escape::text(&mut html, &escape::line(&told.brief, LINE_CHARS), 1200);
    html.push_str("</span></summary><div class=\"b\">");
    let mut body = Body::new(room, place);
    if room > 0 {
        fill(&mut body, event);
    }
    html.push_str(&body.html);
    if room == 0 {
        html.push_str("<p class=\"cut\">Not shown, as the page is full.</p>");
    }
    let _ = write!(
        html,
        "<p class=\"src\">Event {} of its trajectory, turn {}, {}. Record at byte {} of the recording, {} long.</p></div></details>",
        words::count(event.seq),
        words::count(event.turn),
        words::time(event.time_us),
        place.offset,
        words::several(place.length, "byte"),
    );
    Item { html, cut: body.cut + u64::from(room == 0) }
}

impl Told {
    fn of(event: &Event) -> Self {
        let plain = |kind, name: &str, brief: &str| Self {
            kind,
            // Enough for what is shown; it may be megabytes.
            name: escape::line(name, LINE_CHARS),
            server: None,
            brief: escape::line(brief, LINE_CHARS),
            duration_ns: None,
            is_error: false,
        };
        let failed = |error: &Option<RecordedError>| {
            error.as_ref().map(|error| error.message.clone()).unwrap_or_default()
        };
        match &event.kind {
            EventKind::Begin(begin) => plain("begin", "", &begin.task),
            EventKind::Turn(turn) => {
                let text = turn.text.as_deref().or(turn.reasoning.as_deref()).unwrap_or_default();
                plain("turn", &event.turn.to_string(), text)
            }
            EventKind::Message(message) => plain("message", message.role.as_str(), &message.text),
            EventKind::Call(call) => Self {
                server: call.server.clone(),
                duration_ns: Some(call.duration_ns),
                is_error: call.is_error,
                ..plain("call", &call.tool, call.arguments.as_str())
            },
            EventKind::List(list) => Self {
                server: list.server.clone(),
                duration_ns: Some(list.duration_ns),
                is_error: list.error.is_some(),
                ..plain("list", list.what.as_str(), &failed(&list.error))
            },
            EventKind::Read(read) => Self {
                server: read.server.clone(),
                duration_ns: Some(read.duration_ns),
                is_error: read.error.is_some(),
                ..plain("read", &read.uri, &failed(&read.error))
            },
            EventKind::Prompt(prompt) => Self {
                server: prompt.server.clone(),
                duration_ns: Some(prompt.duration_ns),
                is_error: prompt.error.is_some(),
                ..plain("prompt", &prompt.name, prompt.arguments.as_str())
            },
            EventKind::Notice(notice) => Self {
                server: notice.server.clone(),
                ..plain("notice", notice.change.as_str(), notice.uri.as_deref().unwrap_or_default())
            },
            EventKind::Input(input) => Self {
                server: input.server.clone(),
                duration_ns: Some(input.duration_ns),
                is_error: input.error.is_some(),
                ..plain("question", &input.method, input.of_name.as_deref().unwrap_or_default())
            },
            EventKind::Reset(reset) => Self {
                duration_ns: Some(reset.duration_ns),
                is_error: reset.error.is_some(),
                ..plain(
                    "reset",
                    &reset.seed.map(|seed| format!("seed {seed}")).unwrap_or_default(),
                    &failed(&reset.error),
                )
            },
            EventKind::Step(step) => Self {
                duration_ns: Some(step.duration_ns),
                is_error: step.error.is_some(),
                ..plain(
                    "step",
                    &format!("{} {}", step.step, escape::line(&step.tool, LINE_CHARS)),
                    &reward(step.reward),
                )
            },
            EventKind::Reward(one) => {
                plain("reward", &words::number(one.value), one.source.as_deref().unwrap_or_default())
            }
            EventKind::Done(done) => {
                let how = match (done.terminated, done.truncated) {
                    (true, _) => "terminated",
                    (_, true) => "truncated",
                    _ => "",
                };
                plain("done", how, &reward(done.total_reward))
            }
            EventKind::End(end) => plain("end", "", end.answer.as_deref().unwrap_or_default()),
            EventKind::Unknown(unknown) => plain("event", &unknown.name, ""),
        }
    }
}

fn reward(reward: Option<f64>) -> String {
    reward.map(|reward| format!("reward {}", words::number(reward))).unwrap_or_default()
}

fn fill(body: &mut Body, event: &Event) {
    match &event.kind {
        EventKind::Begin(begin) => {
            body.text("Task", "", &begin.task);
            body.optional("Metadata", begin.metadata.as_ref());
        }
        EventKind::Turn(turn) => {
            for (label, text) in [("Reasoning", &turn.reasoning), ("Text", &turn.text)] {
                if let Some(text) = text {
                    body.text(label, "", text);
                }
            }
        }
        EventKind::Message(message) => body.text("Text", message.role.as_str(), &message.text),
        EventKind::Call(call) => {
            body.json("Arguments", call.arguments.as_str());
            if let Some(result) = &call.result {
                body.call_result(result);
            }
            after(body, call.error.as_ref(), call.decision.as_ref());
        }
        EventKind::List(list) => {
            if let Some(key) = &list.definitions {
                body.text("Tools", "by their key in the recording", key);
            }
            body.optional("Items", list.items.as_ref());
            body.optional("Not usable", list.rejected.as_ref());
            after(body, list.error.as_ref(), list.decision.as_ref());
        }
        EventKind::Read(read) => {
            body.text("Address", "", &read.uri);
            if let Some(result) = &read.result {
                body.read_result(result);
            }
            after(body, read.error.as_ref(), read.decision.as_ref());
        }
        EventKind::Prompt(prompt) => {
            body.json("Arguments", prompt.arguments.as_str());
            if let Some(result) = &prompt.result {
                body.prompt_result(result);
            }
            after(body, prompt.error.as_ref(), prompt.decision.as_ref());
        }
        EventKind::Notice(notice) => body.value("Notice", notice),
        EventKind::Input(input) => {
            body.optional("Question", input.params.as_ref());
            body.optional("Answer", input.answer.as_ref());
            after(body, input.error.as_ref(), None);
        }
        EventKind::Reset(reset) => {
            body.optional("Observation", reset.observation.as_ref());
            after(body, reset.error.as_ref(), None);
        }
        EventKind::Step(step) => {
            body.optional("Arguments", step.arguments.as_ref());
            body.optional("Observation", step.observation.as_ref());
            body.optional("Info", step.info.as_ref());
            after(body, step.error.as_ref(), None);
        }
        EventKind::Reward(reward) => body.value("Reward", reward),
        EventKind::Done(done) => body.value("End of the episode", done),
        EventKind::End(end) => {
            if let Some(answer) = &end.answer {
                body.text("Answer", "", answer);
            }
            body.optional("Metadata", end.metadata.as_ref());
        }
        EventKind::Unknown(unknown) => body.value("Members", &unknown.members),
    }
}

fn after(
    body: &mut Body,
    error: Option<&RecordedError>,
    decision: Option<&crate::trajectory::request_event::RecordedDecision>,
) {
    if let Some(error) = error {
        body.error(error);
    }
    body.optional("Decision", decision);
}
