//! [`report`]: one page that shows a recording.
//!
//! The page is a file of its own that needs nothing else: no network, no server, and no script either but for searching. What was
//! recorded came from servers and models and is not trusted: all of it is text on the page, the page may load nothing, and nothing
//! in it leads anywhere.
//!
//! **Invariant:** the recording is read once, line by line, and what is held of it is no more than the page may have.

mod activity;
mod chart;
mod episode;
mod escape;
mod fields;
mod item;
mod page;
mod pretty;
mod rewards;
mod words;

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Write};
use std::path::Path;

use self::activity::Activity;
use self::chart::Bar;
use self::episode::{BAR_BYTES, Episode, FRAME_BYTES};
use self::fields::Place;
use self::rewards::Rewards;
use super::event::{Event, EventKind};
use super::format::Line;
use super::lines::Lines;
use super::statistics::Statistics;

/// The page has no more bytes.
const MAX_PAGE_BYTES: usize = 20_000_000;

/// Less is no page.
const MIN_PAGE_BYTES: usize = 250_000;

/// Style, script, overview: the table of tools, the drawings.
const OVERVIEW_BYTES: usize = 2_000_000;

/// So many bytes of HTML are shown of a value, as long as there is much room.
const VALUE_BYTES: usize = 4096;

/// So many trajectories may be under way at a time; see [`Trajectories`](super::Trajectories).
const MAX_OPEN: usize = 4096;

/// Writes a page that shows `recording` to the file `page`, which is replaced. See [`Report`].
///
/// # Errors
/// As [`Report::write`], or when the file cannot be written.
pub fn report(recording: impl AsRef<Path>, page: impl AsRef<Path>) -> io::Result<ReportSummary> {
    Report::new().write_file(recording, page)
}

/// How a recording is shown as a page, for people to look at in a browser.
///
/// It has the calls of each server over time, the reward of each episode, figures per tool, and every trajectory with its events:
/// when, on which server, how long, arguments and results to unfold, and a search. Large values are shown by their beginning, with
/// their length and the place of their record in the file. The page has at most 20 MB; what is left out because of that is said on
/// it, and how much it was is returned.
///
/// ```
/// use serde_json::json;
/// use tinymcp::protocol::CallToolResult;
/// use tinymcp::trajectory::{Report, Sink, ToolCallRecord, Trajectory};
///
/// let mut trajectory = Trajectory::new("Greet <Ada>");
/// trajectory.push(ToolCallRecord::new("greet", json!({"name": "Ada"})).with_result(CallToolResult::text("Hello!")));
/// let sink = Sink::memory();
/// trajectory.append_to(&sink)?;
///
/// let mut page = Vec::new();
/// let summary = Report::new().with_title("Greetings").write(&sink.contents()[..], &mut page)?;
/// let page = String::from_utf8(page)?;
/// assert!(page.contains("Greet &lt;Ada&gt;") && page.contains("Hello!"));
/// assert_eq!((summary.trajectories, summary.left_out_events), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    title: Option<String>,
    max_bytes: usize,
    value_bytes: usize,
}

/// What is on a page, and what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportSummary {
    /// How many trajectories the recording has.
    pub trajectories: u64,
    /// How many events they have.
    pub events: u64,
    /// How many bytes the page has.
    pub page_bytes: u64,
    /// How many trajectories are counted but not shown.
    pub left_out_trajectories: u64,
    /// How many events are counted but not shown, those of such trajectories included.
    pub left_out_events: u64,
    /// How many values are shown by their beginning alone.
    pub cut_values: u64,
    /// How many lines of the recording could not be read, and were passed over.
    pub broken_lines: u64,
    /// Whether its last line is torn.
    pub is_torn: bool,
}

impl Default for Report {
    fn default() -> Self {
        Self { title: None, max_bytes: MAX_PAGE_BYTES, value_bytes: VALUE_BYTES }
    }
}

impl Report {
    /// A page of at most 20 MB.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What stands at its top. Default: the name of the file, or "Recording".
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The page has no more bytes than this, which counts as at least 250,000 and at most 20,000,000.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes.clamp(MIN_PAGE_BYTES, MAX_PAGE_BYTES);
        self
    }

    /// So many bytes of a value are shown, counted as HTML; 4,096 by default. As the page fills, it is less.
    #[must_use]
    pub fn with_value_bytes(mut self, bytes: usize) -> Self {
        self.value_bytes = bytes;
        self
    }

    /// Writes the page of a file to a file, which is replaced.
    ///
    /// # Errors
    /// When the recording cannot be read, as [`Lines`], or the page cannot be written.
    pub fn write_file(
        &self,
        recording: impl AsRef<Path>,
        page: impl AsRef<Path>,
    ) -> io::Result<ReportSummary> {
        let recording = recording.as_ref();
        let mut lines = Lines::open(recording)?;
        let named = recording.file_name().map(|name| name.to_string_lossy().into_owned());
        let title = self.title.clone().or(named);
        // Read first: a recording that is none does not cost the page that was there.
        let gathered = self.gather(&mut lines)?;
        let mut out = BufWriter::new(File::create(page)?);
        let summary = self.put(gathered, title.as_deref(), &mut out)?;
        out.flush()?;
        Ok(summary)
    }

    /// Writes the page of anything that can be read.
    ///
    /// # Errors
    /// When the recording cannot be read, as [`Lines`], or the page cannot be written.
    pub fn write(&self, recording: impl BufRead, mut page: impl Write) -> io::Result<ReportSummary> {
        let gathered = self.gather(&mut Lines::new(recording))?;
        self.put(gathered, self.title.as_deref(), &mut page)
    }

    fn gather(&self, lines: &mut Lines<impl BufRead>) -> io::Result<Gathered> {
        let mut gathered = Gathered::new(self.max_bytes, self.value_bytes);
        for read in &mut *lines {
            let read = read?;
            gathered.bytes = read.offset + read.length + 1;
            if let Line::Event(event) = read.line {
                gathered.take(&event, Place { offset: read.offset, length: read.length });
            }
        }
        gathered.finish();
        gathered.summary.broken_lines = lines.broken();
        gathered.summary.is_torn = lines.is_torn();
        Ok(gathered)
    }

    fn put(&self, gathered: Gathered, title: Option<&str>, out: &mut dyn Write) -> io::Result<ReportSummary> {
        let title = escape::line(title.unwrap_or("Recording"), 200);
        let mut summary = gathered.summary.clone();
        let mut write = |text: &str| {
            summary.page_bytes += text.len() as u64;
            out.write_all(text.as_bytes())
        };
        write(&page::head(&gathered, &title, &gathered.limits()))?;
        for html in gathered.shown.iter().flatten() {
            write(html)?;
        }
        write(&page::foot())?;
        Ok(summary)
    }
}

/// What is known of a recording by now.
#[derive(Debug)]
struct Gathered {
    summary: ReportSummary,
    statistics: Statistics,
    activity: Activity,
    rewards: Rewards,
    trajectories: u64,
    successes: u64,
    failures: u64,
    tool_ns: u64,
    bytes: u64,
    times: Option<(u64, u64)>,
    /// The trajectories that are not over. Bound: [`MAX_OPEN`].
    open: HashMap<String, Open>,
    /// When each of them was touched last, to find the one that was silent for longest.
    touched: BTreeSet<(u64, String)>,
    /// The trajectories that are shown, in the order of their beginnings; `None` as long as one is not over.
    shown: Vec<Option<String>>,
    /// Bytes of HTML that are left for trajectories.
    left: usize,
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
    used: usize,
}

impl Gathered {
    fn new(max_bytes: usize, value_bytes: usize) -> Self {
        let left = max_bytes - OVERVIEW_BYTES.min(max_bytes / 2);
        Self {
            summary: ReportSummary::default(),
            statistics: Statistics::new(),
            activity: Activity::default(),
            rewards: Rewards::default(),
            trajectories: 0,
            successes: 0,
            failures: 0,
            tool_ns: 0,
            bytes: 0,
            times: None,
            open: HashMap::new(),
            touched: BTreeSet::new(),
            shown: Vec::new(),
            left,
            all: left,
            value_bytes,
            number: 0,
        }
    }

    fn take(&mut self, event: &Event, place: Place) {
        self.summary.events += 1;
        if event.time_us > 0 {
            let (first, last) = self.times.unwrap_or((event.time_us, event.time_us));
            self.times = Some((first.min(event.time_us), last.max(event.time_us)));
        }
        if matches!(event.kind, EventKind::Begin(_)) {
            // Whoever wrote the one before did not come to its end.
            self.close(&event.trajectory);
        }
        let mut open = match self.open.remove(&event.trajectory) {
            Some(open) => {
                self.touched.remove(&(open.touched, event.trajectory.clone()));
                open
            }
            None => self.open(&event.trajectory),
        };
        open.episode.count(event);
        let number = self.show(&mut open, event, place);
        if let EventKind::Call(call) = &event.kind {
            self.statistics.add_call(call);
            self.tool_ns = self.tool_ns.saturating_add(call.duration_ns);
            self.activity.add(call.server.as_deref(), event.time_us, call.duration_ns, call.is_error, number);
        }
        open.touched = self.summary.events;
        self.touched.insert((open.touched, event.trajectory.clone()));
        self.open.insert(event.trajectory.clone(), open);
        if matches!(event.kind, EventKind::End(_)) {
            self.close(&event.trajectory);
        }
    }

    fn open(&mut self, id: &str) -> Open {
        if self.open.len() >= MAX_OPEN {
            if let Some((_, silent)) = self.touched.first().cloned() {
                self.close(&silent);
            }
        }
        self.trajectories += 1;
        let place = self.left.checked_sub(FRAME_BYTES).map(|left| {
            self.left = left;
            self.shown.push(None);
            self.shown.len() - 1
        });
        self.summary.left_out_trajectories += u64::from(place.is_none());
        Open { episode: Episode::new(id), place, touched: 0, used: 0 }
    }

    /// Tells an event on the page, if there is room; the number it has there.
    fn show(&mut self, open: &mut Open, event: &Event, place: Place) -> Option<u64> {
        // One trajectory alone does not fill the page, unless it is the only one that is known by half of it.
        let share = if self.shown.len() > 1 { self.all / 4 } else { self.all / 2 };
        let room = match (open.place, self.left.min(share.saturating_sub(open.used))) {
            (None, _) => 0,
            (Some(_), room) => room,
        };
        let values = self.room_of_values();
        let told = [values, 0].into_iter().map(|values| item::tell(event, self.number, place, values));
        let Some(told) =
            told.take(if room == 0 { 0 } else { 2 }).find(|told| told.html.len() + BAR_BYTES <= room)
        else {
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
                let lane = open.episode.lanes.of(call.server.as_deref());
                let bar = Bar {
                    lane,
                    start: event.at_ns,
                    length: call.duration_ns,
                    is_error: call.is_error,
                    number: Some(number),
                };
                open.episode.bars.push(bar);
                cost += BAR_BYTES;
            }
        }
        self.left -= cost;
        open.used += cost;
        Some(number)
    }

    /// As the page fills, values are shown by less of their beginning.
    fn room_of_values(&self) -> usize {
        let percent = self.left.saturating_mul(100) / self.all.max(1);
        match percent {
            50.. => self.value_bytes,
            25..50 => self.value_bytes / 4,
            10..25 => self.value_bytes / 16,
            _ => 0,
        }
    }

    /// A trajectory is over, or nothing more is heard of it.
    fn close(&mut self, id: &str) {
        let Some(open) = self.open.remove(id) else { return };
        self.touched.remove(&(open.touched, id.to_owned()));
        let episode = open.episode;
        self.successes += u64::from(episode.success == Some(true));
        self.failures += u64::from(episode.success == Some(false));
        match episode.done.as_slice() {
            // A trajectory of several episodes; what is said at its end is of all of them.
            [_, _, ..] => episode.done.iter().for_each(|reward| self.rewards.add(*reward, None)),
            _ => {
                if let Some(reward) = episode.total_reward() {
                    self.rewards.add(reward, episode.success);
                }
            }
        }
        if let Some(place) = open.place {
            let mut html = String::with_capacity(episode.html.len() + FRAME_BYTES);
            episode.write(&mut html, place);
            self.shown[place] = Some(html);
        }
    }

    fn finish(&mut self) {
        while let Some((_, id)) = self.touched.first().cloned() {
            self.close(&id);
        }
        self.summary.trajectories = self.trajectories;
    }

    /// What is to be said about what is not on the page.
    fn limits(&self) -> Vec<String> {
        let summary = &self.summary;
        let mut limits = Vec::new();
        let mut say = |number: u64, one: &str, rest: &str| {
            if number > 0 {
                limits.push(format!(
                    "{}{rest}",
                    words::several(number, one).replace("trajectorys", "trajectories")
                ));
            }
        };
        say(
            summary.left_out_trajectories,
            "trajectory",
            " counted in the figures but not shown, as the page is limited",
        );
        say(
            summary.left_out_events,
            "event",
            " counted in the figures but not shown, as the page is limited; the places of their records are said in their trajectories",
        );
        say(
            summary.cut_values,
            "value",
            " shown by the beginning alone, with the length and the place of the record in the recording",
        );
        say(summary.broken_lines, "line", " of the recording could not be read");
        if summary.is_torn {
            limits.push(
                "The last line of the recording is torn, as a program leaves it that was killed".to_owned(),
            );
        }
        limits
    }
}
