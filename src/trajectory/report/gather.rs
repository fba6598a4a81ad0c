//! [`Gathered`]: what the page needs of a recording, gathered event by event.
//!
//! **Invariant:** what is held is no more than the page may have, whatever the length of the recording.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::activity::Activity;
use super::chart::Bar;
use super::episode::{BAR_BYTES, Episode, FRAME_BYTES};
use super::fields::Place;
use super::item;
use super::rewards::Rewards;
use super::words;
use super::{OVERVIEW_BYTES, ReportSummary};
use crate::trajectory::event::{Event, EventKind};
use crate::trajectory::statistics::Statistics;

/// So many trajectories may be under way at a time; see [`Trajectories`](crate::trajectory::Trajectories).
const MAX_OPEN: usize = 4096;

/// Where there is less room, no event is tried: few have it.
const EVENT_BYTES: usize = 1000;

/// Of a longer id, which no recorder makes, a number is kept.
const MAX_ID_BYTES: usize = 256;

/// What is known of a recording by now.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) summary: ReportSummary,
    pub(super) statistics: Statistics,
    pub(super) activity: Activity,
    pub(super) rewards: Rewards,
    pub(super) successes: u64,
    pub(super) failures: u64,
    pub(super) tool_ns: u64,
    /// Of the recording.
    pub(super) bytes: u64,
    /// The first and the last time.
    pub(super) times: Option<(u64, u64)>,
    /// The trajectories that are shown, in the order of their beginnings; `None` as long as one is not over.
    pub(super) shown: Vec<Option<String>>,
    /// The trajectories that are not over. Bound: [`MAX_OPEN`].
    open: HashMap<String, Open>,
    /// Which of them was touched when, to find the one that was silent for longest.
    touched: BTreeMap<u64, String>,
    /// Bytes of HTML that are left for trajectories.
    left: usize,
    /// How many there were.
    all: usize,
    value_bytes: usize,
    /// The number of the next event on the page.
    number: u64,
}

#[derive(Debug)]
struct Open {
    episode: Episode,
    /// Its place among the shown ones; `None` if it is only counted.
    place: Option<usize>,
    touched: u64,
    /// What was taken of the room for it.
    used: usize,
}

impl Gathered {
    pub(super) fn new(max_bytes: usize, value_bytes: usize) -> Self {
        let all = max_bytes.saturating_sub(OVERVIEW_BYTES);
        Self {
            summary: ReportSummary::default(),
            statistics: Statistics::new(),
            activity: Activity::default(),
            rewards: Rewards::default(),
            successes: 0,
            failures: 0,
            tool_ns: 0,
            bytes: 0,
            times: None,
            shown: Vec::new(),
            open: HashMap::new(),
            touched: BTreeMap::new(),
            left: all,
            all,
            value_bytes,
            number: 0,
        }
    }

    pub(super) fn take(&mut self, event: &Event, place: Place) {
        self.summary.events += 1;
        if event.time_us > 0 {
            let (first, last) = self.times.unwrap_or((event.time_us, event.time_us));
            self.times = Some((first.min(event.time_us), last.max(event.time_us)));
        }
        let id = key(&event.trajectory);
        if matches!(event.kind, EventKind::Begin(_)) {
            // Whoever wrote the one before did not come to its end.
            self.close(&id);
        }
        let mut open = match self.open.remove(&id) {
            Some(open) => {
                self.touched.remove(&open.touched);
                open
            }
            None => self.begin(&event.trajectory),
        };
        open.episode.count(event);
        let number = self.show(&mut open, event, place);
        if let EventKind::Call(call) = &event.kind {
            self.statistics.add_call(call);
            self.tool_ns = self.tool_ns.saturating_add(call.duration_ns);
            let (time_us, duration_ns) = (event.time_us, call.duration_ns);
            self.activity.add(call.server.as_deref(), time_us, duration_ns, call.is_error, number);
        }
        open.touched = self.summary.events;
        self.touched.insert(open.touched, id.clone());
        self.open.insert(id.clone(), open);
        if matches!(event.kind, EventKind::End(_)) {
            self.close(&id);
        }
    }

    fn begin(&mut self, id: &str) -> Open {
        if self.open.len() >= MAX_OPEN {
            self.close_most_silent();
        }
        self.summary.trajectories += 1;
        let place = self.left.checked_sub(FRAME_BYTES).map(|left| {
            self.left = left;
            self.shown.push(None);
            self.shown.len() - 1
        });
        self.summary.left_out_trajectories += u64::from(place.is_none());
        Open { episode: Episode::new(id), place, touched: 0, used: FRAME_BYTES }
    }

    /// Tells an event on the page, if there is room; the number it has there.
    fn show(&mut self, open: &mut Open, event: &Event, place: Place) -> Option<u64> {
        // One alone does not fill the page: there may be others after it, of which something is to be seen as well.
        let share = if self.shown.len() > 1 { self.all / 4 } else { self.all / 2 };
        let room = open.place.map_or(0, |_| self.room_of_events().min(share.saturating_sub(open.used)));
        let mut told = None;
        if room >= EVENT_BYTES {
            // Without its values, if it has no room with them.
            told = [self.room_of_values(), 0]
                .into_iter()
                .map(|values| item::tell(event, self.number, place, values))
                .find(|told| told.html.len() + BAR_BYTES <= room);
        }
        let Some(told) = told else {
            self.summary.left_out_events += 1;
            open.episode.leave_out(place.offset);
            return None;
        };
        let mut cost = told.html.len();
        let number = self.number;
        self.number += 1;
        self.summary.cut_values += told.cut;
        open.episode.html.push_str(&told.html);
        if let EventKind::Call(call) = &event.kind {
            if open.episode.has_room() {
                open.episode.bars.push(Bar {
                    lane: open.episode.lanes.of(call.server.as_deref()),
                    start: event.at_ns,
                    length: call.duration_ns,
                    is_error: call.is_error,
                    number: Some(number),
                });
                cost += BAR_BYTES;
            }
        }
        self.left -= cost;
        open.used += cost;
        Some(number)
    }

    /// A part is kept for trajectories to come: of those at least the line that says what they were is shown.
    fn room_of_events(&self) -> usize {
        self.left.saturating_sub(self.all / 4)
    }

    /// As the page fills, values are shown by less of their beginning.
    fn room_of_values(&self) -> usize {
        match self.room_of_events().saturating_mul(100) / self.all.max(1) {
            40.. => self.value_bytes,
            20..40 => self.value_bytes / 4,
            10..20 => self.value_bytes / 16,
            _ => 0,
        }
    }

    /// A trajectory is over, or nothing more is heard of it.
    fn close(&mut self, id: &str) {
        let Some(Open { episode, place, touched, used }) = self.open.remove(id) else { return };
        self.touched.remove(&touched);
        self.successes += u64::from(episode.success == Some(true));
        self.failures += u64::from(episode.success == Some(false));
        if let Some(reward) = episode.total_reward() {
            self.rewards.add(reward, episode.success);
        }
        if let Some(place) = place {
            let html = episode.write(place);
            debug_assert!(html.len() <= used, "{} bytes were {}", used, html.len());
            // Its frame is rarely as large as it may be.
            self.left += used.saturating_sub(html.len());
            self.shown[place] = Some(html);
        }
    }

    fn close_most_silent(&mut self) -> bool {
        let silent = self.touched.first_key_value().map(|(_, id)| id.clone());
        silent.inspect(|id| self.close(id)).is_some()
    }

    /// The recording is over.
    pub(super) fn finish(&mut self) {
        while self.close_most_silent() {}
    }

    /// What is to be said about what is not on the page.
    pub(super) fn limits(&self) -> Vec<String> {
        let summary = &self.summary;
        let mut limits = Vec::new();
        let mut say = |number: u64, one: &str, rest: &str| {
            if number > 0 {
                limits.push(format!("{} {rest}", words::several(number, one)));
            }
        };
        say(
            summary.left_out_trajectories,
            "trajectory",
            "counted in the figures but not shown, as the page is limited.",
        );
        say(
            summary.left_out_events,
            "event",
            "counted in the figures but not shown, as the page is limited; a trajectory that is shown says where in the recording its others are.",
        );
        say(
            summary.cut_values,
            "value",
            "shown by the beginning alone, with the length and the place of the record in the recording.",
        );
        say(summary.broken_lines, "line", "of the recording could not be read.");
        if summary.is_torn {
            limits.push(
                "The last line of the recording is torn, as a program leaves it that was killed.".to_owned(),
            );
        }
        limits
    }
}

/// What tells trajectories apart.
fn key(id: &str) -> String {
    if id.len() <= MAX_ID_BYTES {
        return id.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    format!("{} bytes, {:x}", id.len(), hasher.finish())
}
