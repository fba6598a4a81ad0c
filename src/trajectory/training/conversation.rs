//! A trajectory as a conversation, before it has a form.

use super::super::event::{EventKind, Speaker, ToolCallRecord, TurnEvent};
use super::super::model::Trajectory;
use super::options::SftOptions;

pub(super) struct Conversation<'a> {
    pub(super) system: Option<String>,
    pub(super) task: &'a str,
    pub(super) turns: Vec<Turn<'a>>,
}

/// What is kept or left out as a whole.
pub(super) enum Turn<'a> {
    User(&'a str),
    Assistant(Said<'a>),
}

/// One message of the model, and the results of its calls.
#[derive(Default)]
pub(super) struct Said<'a> {
    pub(super) reasoning: Option<&'a str>,
    pub(super) text: Option<&'a str>,
    pub(super) calls: Vec<Call<'a>>,
    /// It is the last one, which is written even if it is empty.
    pub(super) is_final: bool,
}

pub(super) struct Call<'a> {
    pub(super) id: String,
    pub(super) record: &'a ToolCallRecord,
    at_ns: u64,
}

impl Said<'_> {
    fn is_empty(&self) -> bool {
        self.text.is_none() && self.calls.is_empty()
    }
}

impl<'a> Conversation<'a> {
    pub(super) fn of(trajectory: &'a Trajectory, options: &SftOptions) -> Self {
        let mut gathered = Gathered { turns: Vec::new(), said: None, number: None, calls: 0 };
        let mut system = None;
        for event in trajectory.events() {
            match &event.kind {
                EventKind::Turn(turn) => gathered.begin(turn, event.turn),
                EventKind::Call(record) => {
                    let is_one = options.is_parallel && event.turn > 0;
                    gathered.call(record, event.turn, event.at_ns, is_one);
                }
                EventKind::Message(message) => match message.role {
                    Speaker::System => system = Some(message.text.clone()),
                    Speaker::Assistant => {
                        gathered.whole(Turn::Assistant(Said { text: Some(&message.text), ..Said::default() }))
                    }
                    _ => gathered.whole(Turn::User(&message.text)),
                },
                _ => {}
            }
        }
        gathered.flush();
        let mut turns = gathered.turns;
        // One that only thought says nothing, unless thoughts are wanted.
        let is_silent = |said: &Said<'_>| said.is_empty() && options.reasoning.is_none();
        turns.retain(|turn| !matches!(turn, Turn::Assistant(said) if is_silent(said)));
        let answer = trajectory.final_answer();
        // The model may have said it in its last turn already.
        let is_said = match turns.last() {
            Some(Turn::Assistant(said)) => {
                said.calls.is_empty() && said.text.is_some() && said.text == answer
            }
            _ => false,
        };
        if !is_said && (answer.is_some_and(|answer| !answer.is_empty()) || options.has_empty_answer) {
            let text = Some(answer.unwrap_or_default());
            turns.push(Turn::Assistant(Said { text, is_final: true, ..Said::default() }));
        }
        Self { system: system.or_else(|| options.system.clone()), task: trajectory.task_description(), turns }
    }

    /// How many calls there are.
    pub(super) fn calls(&self) -> usize {
        self.turns.iter().map(Turn::calls).sum()
    }
}

impl Turn<'_> {
    fn calls(&self) -> usize {
        match self {
            Self::Assistant(said) => said.calls.len(),
            Self::User(_) => 0,
        }
    }
}

struct Gathered<'a> {
    turns: Vec<Turn<'a>>,
    /// The message that is under way, and the turn it is of.
    said: Option<Said<'a>>,
    number: Option<u64>,
    calls: usize,
}

impl<'a> Gathered<'a> {
    fn begin(&mut self, turn: &'a TurnEvent, number: u64) {
        self.flush();
        let text = turn.text.as_deref().filter(|text| !text.is_empty());
        self.said = Some(Said { reasoning: turn.reasoning.as_deref(), text, ..Said::default() });
        self.number = Some(number);
    }

    fn call(&mut self, record: &'a ToolCallRecord, turn: u64, at_ns: u64, is_one: bool) {
        let id = format!("call_{:04}", self.calls);
        self.calls += 1;
        let is_further = self.said.as_ref().is_some_and(|said| !said.calls.is_empty());
        if self.number != Some(turn) || is_further && !is_one {
            self.flush();
        }
        self.number = Some(turn);
        self.said.get_or_insert_default().calls.push(Call { id, record, at_ns });
    }

    fn whole(&mut self, turn: Turn<'a>) {
        self.flush();
        self.turns.push(turn);
    }

    fn flush(&mut self) {
        let Some(mut said) = self.said.take() else { return };
        said.calls.sort_by_key(|call| call.at_ns);
        if !said.is_empty() || said.reasoning.is_some() {
            self.turns.push(Turn::Assistant(said));
        }
    }
}
