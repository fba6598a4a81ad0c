//! [`Trajectories`]: the lines of a recording, put together by what they belong to.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use super::event::{Event, EventKind};
use super::format::{Definitions, Line};
use super::lines::Lines;
use super::model::Trajectory;
use super::selection::Selection;
use super::sink::KNOWN_DEFINITIONS;

/// So many trajectories are put together at a time.
const MAX_OPEN: usize = 4096;

/// So many events of one are kept.
const MAX_EVENTS: usize = 1_000_000;

/// The trajectories of a recording, one after the other as they end, whatever the length of the file.
///
/// Those that came to no end follow when the file does, in the order of their beginnings. As many may be under way at a time as
/// [`max_open`](Self::max_open) says; beyond that the one that was silent for longest counts as over, and if it goes on after all,
/// what follows is another trajectory of the same id, without a beginning.
///
/// ```no_run
/// use tinymcp::trajectory::{Selection, Trajectories};
///
/// let good = Selection::new().success(true).min_reward(0.5);
/// for trajectory in Trajectories::open("episodes.jsonl")?.select(good) {
///     let trajectory = trajectory?;
///     println!("{}: {} calls", trajectory.task_description(), trajectory.tool_calls().count());
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// As [`Lines`]; what was read before is lost then, as far as it was not over.
#[derive(Debug)]
pub struct Trajectories<R> {
    lines: Lines<R>,
    /// Bound: `max_open`.
    open: HashMap<String, Gathering>,
    /// The last of them. Bound: [`KNOWN_DEFINITIONS`].
    definitions: VecDeque<Arc<Definitions>>,
    max_open: usize,
    max_events: usize,
    selection: Selection,
    line: u64,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Gathering {
    events: Vec<Event>,
    definitions: BTreeMap<String, Arc<Definitions>>,
    omitted: u64,
    began: u64,
    touched: u64,
}

impl Trajectories<BufReader<File>> {
    /// The trajectories of a file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Lines::open(path).map(Self::of)
    }
}

impl<R: BufRead> Trajectories<R> {
    /// The trajectories of anything that can be read.
    pub fn new(reader: R) -> Self {
        Self::of(Lines::new(reader))
    }

    fn of(lines: Lines<R>) -> Self {
        Self {
            lines,
            open: HashMap::new(),
            definitions: VecDeque::new(),
            max_open: MAX_OPEN,
            max_events: MAX_EVENTS,
            selection: Selection::new(),
            line: 0,
            is_over: false,
        }
    }

    /// So many may be under way at a time; 4,096 by default, and at least one.
    #[must_use]
    pub fn max_open(mut self, trajectories: usize) -> Self {
        self.max_open = trajectories.max(1);
        self
    }

    /// So many events of one trajectory are kept, 1,000,000 by default; others are passed over and
    /// [counted](Trajectory::omitted). Its end is always kept.
    #[must_use]
    pub fn max_events(mut self, events: usize) -> Self {
        self.max_events = events;
        self
    }

    /// Only those that `selection` takes.
    #[must_use]
    pub fn select(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// How many lines were passed over so far, besides a torn last one.
    #[must_use]
    pub fn broken(&self) -> u64 {
        self.lines.broken()
    }

    /// Whether the end was reached, and the last line there is torn.
    #[must_use]
    pub fn is_torn(&self) -> bool {
        self.lines.is_torn()
    }

    /// Takes an event; a trajectory that is over by it.
    fn take(&mut self, event: Event) -> Option<Trajectory> {
        self.line += 1;
        let is_end = matches!(event.kind, EventKind::End(_));
        let before = match event.kind {
            // Whoever wrote the one before did not come to its end.
            EventKind::Begin(_) => self.finish(&event.trajectory.clone()),
            _ => None,
        };
        let evicted = match before {
            None if !self.open.contains_key(&event.trajectory) && self.open.len() >= self.max_open => {
                self.most_silent().and_then(|id| self.finish(&id))
            }
            before => before,
        };
        let id = event.trajectory.clone();
        let key = match &event.kind {
            EventKind::Begin(begin) => begin.definitions.as_deref(),
            EventKind::List(list) => list.definitions.as_deref(),
            _ => None,
        };
        let known = key.and_then(|key| self.definitions.iter().rev().find(|one| one.key == key)).cloned();
        let line = self.line;
        let gathering =
            self.open.entry(id).or_insert_with(|| Gathering { began: line, ..Gathering::default() });
        gathering.touched = line;
        if let Some(known) = known {
            gathering.definitions.insert(known.key.clone(), known);
        }
        if gathering.events.len() >= self.max_events && !is_end {
            gathering.omitted += 1;
            return evicted;
        }
        let id = is_end.then(|| event.trajectory.clone());
        gathering.events.push(event);
        // One that ends was there before, so that nothing was evicted for it; or it is all there is of itself.
        match (evicted, id) {
            (Some(evicted), _) => Some(evicted),
            (None, Some(id)) => self.finish(&id),
            (None, None) => None,
        }
    }

    fn finish(&mut self, id: &str) -> Option<Trajectory> {
        let (id, gathered) = self.open.remove_entry(id)?;
        Some(Trajectory::of(id, gathered.events, gathered.definitions, gathered.omitted))
    }

    fn most_silent(&self) -> Option<String> {
        self.open.iter().min_by_key(|(_, gathering)| gathering.touched).map(|(id, _)| id.clone())
    }

    fn first_begun(&self) -> Option<String> {
        self.open.iter().min_by_key(|(_, gathering)| gathering.began).map(|(id, _)| id.clone())
    }

    fn define(&mut self, definitions: Definitions) {
        if self.definitions.iter().any(|known| known.key == definitions.key) {
            return;
        }
        self.definitions.push_back(Arc::new(definitions));
        if self.definitions.len() > KNOWN_DEFINITIONS {
            self.definitions.pop_front();
        }
    }

    fn any(&mut self) -> Option<io::Result<Trajectory>> {
        while !self.is_over {
            match self.lines.next() {
                Some(Ok(read)) => match read.line {
                    Line::Header(_) => {}
                    Line::Definitions(definitions) => self.define(definitions),
                    Line::Event(event) => {
                        if let Some(over) = self.take(*event) {
                            return Some(Ok(over));
                        }
                    }
                },
                Some(Err(e)) => {
                    self.is_over = true;
                    self.open.clear();
                    return Some(Err(e));
                }
                None => self.is_over = true,
            }
        }
        self.first_begun().and_then(|id| self.finish(&id)).map(Ok)
    }
}

impl<R: BufRead> Iterator for Trajectories<R> {
    type Item = io::Result<Trajectory>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.any()? {
                Ok(trajectory) if !self.selection.takes(&trajectory) => {}
                next => return Some(next),
            }
        }
    }
}
