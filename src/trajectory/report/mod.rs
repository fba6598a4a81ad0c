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
mod gather;
mod item;
mod page;
mod pretty;
mod rewards;
mod words;

use std::fs::{self, File};
use std::io::{self, BufRead, BufWriter, Write};
use std::path::Path;

use self::fields::Place;
use self::gather::Gathered;
use super::format::Line;
use super::lines::{Lines, invalid};

/// The page has no more bytes.
const MAX_PAGE_BYTES: usize = 20_000_000;

/// Less is no page: the overview alone may have most of it.
const MIN_PAGE_BYTES: usize = 3_000_000;

/// At most for style, script, and the overview: figures, drawings, the table of tools.
const OVERVIEW_BYTES: usize = 2_000_000;

/// So many bytes of HTML are shown of a value, as long as there is much room.
const VALUE_BYTES: usize = 4096;

/// Fewer show nothing.
const MIN_VALUE_BYTES: usize = 256;

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

    /// The page has no more bytes than this, which counts as at least 3,000,000 and at most 20,000,000.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes.clamp(MIN_PAGE_BYTES, MAX_PAGE_BYTES);
        self
    }

    /// So many bytes of a value are shown, counted as HTML; 4,096 by default, and at least 256. As the page fills, it is less.
    #[must_use]
    pub fn with_value_bytes(mut self, bytes: usize) -> Self {
        self.value_bytes = bytes.max(MIN_VALUE_BYTES);
        self
    }

    /// Writes the page of a file to a file, which is replaced.
    ///
    /// # Errors
    /// When the recording cannot be read, as [`Lines`], or the page cannot be written, or they are the same file. The page that
    /// was there is kept if the recording is none.
    pub fn write_file(
        &self,
        recording: impl AsRef<Path>,
        page: impl AsRef<Path>,
    ) -> io::Result<ReportSummary> {
        let (recording, page) = (recording.as_ref(), page.as_ref());
        let of = |path: &Path, e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        let mut lines = Lines::open(recording).map_err(|e| of(recording, e))?;
        let real = fs::canonicalize(recording).map_err(|e| of(recording, e))?;
        if fs::canonicalize(page).is_ok_and(|page| page == real) {
            return Err(of(page, invalid("the page would replace its recording")));
        }
        let gathered = self.gather(&mut lines).map_err(|e| of(recording, e))?;
        let name = recording.file_name().map(|name| name.to_string_lossy().into_owned());
        let title = self.title.clone().or(name);
        let write = || {
            let mut out = BufWriter::new(File::create(page)?);
            let summary = put(&gathered, title.as_deref(), &mut out)?;
            out.flush()?;
            Ok(summary)
        };
        write().map_err(|e| of(page, e))
    }

    /// Writes the page of anything that can be read.
    ///
    /// # Errors
    /// When the recording cannot be read, as [`Lines`], or the page cannot be written.
    pub fn write(&self, recording: impl BufRead, mut page: impl Write) -> io::Result<ReportSummary> {
        let gathered = self.gather(&mut Lines::new(recording))?;
        put(&gathered, self.title.as_deref(), &mut page)
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
}

fn put(gathered: &Gathered, title: Option<&str>, out: &mut dyn Write) -> io::Result<ReportSummary> {
    let title = escape::line(title.unwrap_or("Recording"), 200);
    let mut summary = gathered.summary.clone();
    let mut write = |text: &str| {
        summary.page_bytes += text.len() as u64;
        out.write_all(text.as_bytes())
    };
    write(&page::head(gathered, &title, &gathered.limits()))?;
    for html in gathered.shown.iter().flatten() {
        write(html)?;
    }
    write(&page::foot())?;
    Ok(summary)
}
