//! [`Run`]: which recorded answers are left, and which of them a request gets.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Condvar};
use std::time::{Duration, Instant};

use super::ReplayOrder;
use super::miss::{Miss, Side};
use super::script::{Answer, Kind, Recorded, Script, Shift, asks_the_same, plain};
use crate::client::{Event as ChangeEvent, Placed};
use crate::json::{Json, canonical};
use crate::protocol::{Prompt, Resource, ToolDefinition};
use crate::sync::{Mutex, lock};
use crate::trajectory::redaction::Redaction;

/// So many misses are kept in full.
const MAX_MISSES: usize = 100;

/// One replay of a script, shared by all who ask.
#[derive(Debug)]
pub(super) struct Run {
    script: Arc<Script>,
    order: ReplayOrder,
    redaction: Redaction,
    /// Of each request its arguments as they are compared: as they were recorded, and redacted (once more).
    forms: Vec<Forms>,
    /// The requests with such a fingerprint, in order.
    found: HashMap<u64, Vec<usize>>,
    /// Owner: this run. Locked to choose an answer or to look; no code of others runs meanwhile.
    state: Mutex<State>,
    /// Tells those who wait for notices.
    told: Condvar,
}

#[derive(Debug)]
struct Forms {
    name: String,
    recorded: Json,
    redacted: Option<Json>,
    redacted_name: Option<String>,
}

#[derive(Debug, Default)]
struct State {
    used: Vec<bool>,
    /// The first request that is not used.
    first: usize,
    left: usize,
    /// The next shift.
    shift: usize,
    offer: Offer,
    notices: Vec<ChangeEvent>,
    missed: u64,
    misses: VecDeque<String>,
}

/// What is listed at the moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Offer {
    pub(super) tools: Arc<Vec<ToolDefinition>>,
    pub(super) resources: Arc<Vec<Placed<Resource>>>,
    pub(super) prompts: Arc<Vec<Placed<Prompt>>>,
}

impl Offer {
    /// Whether it is the very same.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tools, &other.tools)
            && Arc::ptr_eq(&self.resources, &other.resources)
            && Arc::ptr_eq(&self.prompts, &other.prompts)
    }
}

/// A request that came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) kind: Kind,
    pub(super) name: &'a str,
    /// If the caller named one.
    pub(super) server: Option<&'a str>,
    pub(super) arguments: &'a Json,
}

/// The answer to a request, and what else happens by it.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) answer: Arc<Answer>,
    pub(super) duration: Duration,
    pub(super) shifts: Vec<Shift>,
}

impl Run {
    pub(super) fn new(script: Arc<Script>, order: ReplayOrder, redaction: Redaction) -> Self {
        let forms: Vec<_> = script.requests.iter().map(|one| Forms::of(one, &redaction)).collect();
        let mut found: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, (one, forms)) in script.requests.iter().zip(&forms).enumerate() {
            for fingerprint in forms.fingerprints(one.kind) {
                let places = found.entry(fingerprint).or_default();
                if places.last() != Some(&at) {
                    places.push(at);
                }
            }
        }
        let left = script.requests.len();
        let state = State { used: vec![false; left], left, ..State::default() };
        let run =
            Self { script, order, redaction, forms, found, state: Mutex::new(state), told: Condvar::new() };
        let mut state = lock(&run.state);
        match run.order {
            ReplayOrder::Strict => drop(run.advance(&mut state)),
            // Whatever was offered at any time; of one name the last.
            _ => state.offer = run.everything(),
        }
        drop(state);
        run
    }

    pub(super) fn script(&self) -> &Arc<Script> {
        &self.script
    }

    /// Finds the answer to a request.
    ///
    /// # Errors
    /// When nothing that was recorded answers it.
    pub(super) fn take(&self, asked: &Asked<'_>) -> Result<Taken, Box<Miss>> {
        let came = self.side_of(asked);
        let fingerprint = fingerprint(asked.kind, &came.name, &came.arguments);
        let places = self.found.get(&fingerprint).map_or(&[][..], Vec::as_slice);
        // Only fingerprints were compared so far.
        let answers = |at: &&usize| {
            let of_server = asked.server.zip(self.script.requests[**at].server.as_deref());
            of_server.is_none_or(|(one, other)| one == other) && self.forms[**at].is(&came)
        };
        let places: Vec<usize> = places.iter().filter(answers).copied().collect();
        let mut state = lock(&self.state);
        let chosen = match self.order {
            ReplayOrder::Strict => self.next_of(&state, &places),
            _ => places.iter().find(|at| !state.used[**at]).copied(),
        };
        let again = || places.last().filter(|_| self.order == ReplayOrder::Lookup).copied();
        let Some(at) = chosen.or_else(again) else {
            let expected = self.expected(&state);
            state.missed += 1;
            drop(state);
            let miss = Miss::find(came, places.first().copied(), expected.as_deref(), &self.script, |at| {
                self.side(at)
            });
            self.keep(&miss);
            return Err(Box::new(miss));
        };
        if !std::mem::replace(&mut state.used[at], true) {
            state.left -= 1;
        }
        while state.used.get(state.first) == Some(&true) {
            state.first += 1;
        }
        let shifts = match self.order {
            ReplayOrder::Strict => self.advance(&mut state),
            _ => Vec::new(),
        };
        drop(state);
        self.told.notify_all();
        let one = &self.script.requests[at];
        let duration = Duration::from_nanos(one.duration_ns);
        Ok(Taken { answer: Arc::clone(&one.answer), duration, shifts })
    }

    /// The first of `places` whose turn it is: each that is not used before it was under way when it began.
    fn next_of(&self, state: &State, places: &[usize]) -> Option<usize> {
        self.open(state).find(|at| places.contains(at))
    }

    /// What may come next.
    fn open<'a>(&'a self, state: &'a State) -> impl Iterator<Item = usize> + 'a {
        let requests = &self.script.requests;
        let mut before: Vec<usize> = Vec::new();
        let unused = (state.first..requests.len()).filter(|at| !state.used[*at]);
        unused.take_while(move |at| {
            let is_open = before.iter().all(|earlier| requests[*earlier].overlaps(&requests[*at]));
            before.push(*at);
            is_open
        })
    }

    /// What may come next, where there is an order.
    fn expected(&self, state: &State) -> Option<Vec<usize>> {
        (self.order == ReplayOrder::Strict).then(|| self.open(state).collect())
    }

    /// Makes the shifts that are due.
    fn advance(&self, state: &mut State) -> Vec<Shift> {
        let mut made = Vec::new();
        while let Some((at, shift)) = self.script.shifts.get(state.shift).filter(|(at, _)| *at <= state.first)
        {
            // What was there at the beginning is no news.
            let is_news = *at > 0 || matches!(shift, Shift::Notice(_));
            match shift {
                Shift::Tools(tools) => state.offer.tools = Arc::clone(tools),
                Shift::Resources(resources) => state.offer.resources = Arc::clone(resources),
                Shift::Prompts(prompts) => state.offer.prompts = Arc::clone(prompts),
                Shift::Notice(notice) => state.notices.push(notice.clone()),
            }
            made.extend(is_news.then(|| shift.clone()));
            state.shift += 1;
        }
        made
    }

    fn everything(&self) -> Offer {
        let shifts = || self.script.shifts.iter().map(|(_, shift)| shift);
        let tools =
            shifts().filter_map(|shift| if let Shift::Tools(some) = shift { Some(some) } else { None });
        let resources =
            shifts().filter_map(|shift| if let Shift::Resources(some) = shift { Some(some) } else { None });
        let prompts =
            shifts().filter_map(|shift| if let Shift::Prompts(some) = shift { Some(some) } else { None });
        Offer {
            tools: union(tools, |tool| tool.name.clone()),
            resources: union(resources, |placed| (placed.server.clone(), placed.item.uri.clone())),
            prompts: union(prompts, |placed| (placed.server.clone(), placed.item.name.clone())),
        }
    }

    pub(super) fn offer(&self) -> Offer {
        lock(&self.state).offer.clone()
    }

    pub(super) fn left(&self) -> usize {
        lock(&self.state).left
    }

    pub(super) fn missed(&self) -> u64 {
        lock(&self.state).missed
    }

    pub(super) fn misses(&self) -> Vec<String> {
        lock(&self.state).misses.iter().cloned().collect()
    }

    /// The first request that was not made.
    pub(super) fn first_left(&self) -> Option<String> {
        let state = lock(&self.state);
        let at = (state.first..self.script.requests.len()).find(|at| !state.used[*at])?;
        Some(self.side(at).to_string())
    }

    fn keep(&self, miss: &Miss) {
        let mut state = lock(&self.state);
        if state.misses.len() < MAX_MISSES {
            state.misses.push_back(miss.to_string());
        }
    }

    /// The next notice from the one numbered `number` on that `wanted` takes, and the number after it. `None` if none comes
    /// within `time`, or at all.
    pub(super) fn notice(
        &self,
        mut number: usize,
        time: Option<Duration>,
        wanted: impl Fn(&ChangeEvent) -> bool,
    ) -> (usize, Option<ChangeEvent>) {
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        let mut state = lock(&self.state);
        loop {
            while let Some(notice) = state.notices.get(number) {
                number += 1;
                if wanted(notice) {
                    return (number, Some(notice.clone()));
                }
            }
            let is_over = self.order != ReplayOrder::Strict || state.shift >= self.script.shifts.len();
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if is_over || left.is_some_and(|left| left.is_zero()) {
                return (number, None);
            }
            // Poison is entered, as everywhere.
            state = match left {
                Some(left) => {
                    self.told.wait_timeout(state, left).unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
                None => self.told.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner),
            };
        }
    }

    /// What came in, as it is compared and shown.
    fn side_of(&self, asked: &Asked<'_>) -> Side {
        let arguments = plain(asked.arguments);
        let (name, arguments) = redacted(&self.redaction, asked.kind, asked.name, &arguments)
            .unwrap_or_else(|| (asked.name.to_owned(), arguments));
        Side { kind: asked.kind, name, arguments, seq: None }
    }

    /// A recorded request, as it is shown.
    fn side(&self, at: usize) -> Side {
        let (one, forms) = (&self.script.requests[at], &self.forms[at]);
        let name = forms.redacted_name.clone().unwrap_or_else(|| forms.name.clone());
        let arguments = forms.redacted.clone().unwrap_or_else(|| forms.recorded.clone());
        Side { kind: one.kind, name, arguments, seq: Some(one.seq) }
    }
}

/// The name and the arguments without what `redaction` keeps out; `None` if that is nothing.
fn redacted(redaction: &Redaction, kind: Kind, name: &str, arguments: &Json) -> Option<(String, Json)> {
    if redaction.is_empty() {
        return None;
    }
    match kind {
        Kind::Read => {
            let uri = redaction.apply(kind.member(), &Json::from(name));
            Some((uri.to::<String>().unwrap_or_else(|_| uri.as_str().to_owned()), arguments.clone()))
        }
        Kind::Call | Kind::Prompt => Some((name.to_owned(), redaction.apply(kind.member(), arguments))),
    }
}

impl Forms {
    fn of(one: &Recorded, redaction: &Redaction) -> Self {
        let (redacted_name, redacted) = redacted(redaction, one.kind, &one.name, &one.arguments).unzip();
        Self { name: one.name.clone(), recorded: one.arguments.clone(), redacted, redacted_name }
    }

    fn fingerprints(&self, kind: Kind) -> impl Iterator<Item = u64> + '_ {
        let again = self.redacted_name.as_ref().zip(self.redacted.as_ref());
        let recorded = fingerprint(kind, &self.name, &self.recorded);
        [recorded].into_iter().chain(again.map(|(name, arguments)| fingerprint(kind, name, arguments)))
    }

    /// Whether a request that came in is this one.
    fn is(&self, came: &Side) -> bool {
        let is =
            |name: &str, arguments: &Json| name == came.name && asks_the_same(arguments, &came.arguments);
        let again = self.redacted_name.as_ref().zip(self.redacted.as_ref());
        is(&self.name, &self.recorded) || again.is_some_and(|(name, arguments)| is(name, arguments))
    }
}

fn fingerprint(kind: Kind, name: &str, arguments: &Json) -> u64 {
    let mut hasher = DefaultHasher::new();
    (kind, name, canonical(arguments.as_raw())).hash(&mut hasher);
    hasher.finish()
}

/// All items of all lists; of those with the same key the last, at the place of the first.
fn union<'a, T: Clone + 'a, K: Eq + Hash>(
    lists: impl Iterator<Item = &'a Arc<Vec<T>>>,
    key: impl Fn(&T) -> K,
) -> Arc<Vec<T>> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut all: Vec<T> = Vec::new();
    for item in lists.flat_map(|list| list.iter()) {
        match places.get(&key(item)) {
            Some(at) => all[*at] = item.clone(),
            None => {
                places.insert(key(item), all.len());
                all.push(item.clone());
            }
        }
    }
    Arc::new(all)
}
