//! [`merge`]: several recordings in one.

use std::fs::File;
use std::io::{self, BufReader, Read, Take};
use std::path::Path;

use super::event::Event;
use super::format::Line;
use super::lines::Lines;
use super::sink::Sink;

/// What [`merge()`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merged {
    /// How many events were copied.
    pub events: u64,
    /// How many lines were passed over as broken, torn last ones included.
    pub broken: u64,
}

/// Copies all events of `files` into `sink` in the order of their times, in memory that does not grow with the files. What stands in
/// one file stays in its order.
///
/// The ids of their trajectories stay apart, also where two files have the same: those of the first file get `1:` before them,
/// those of the second `2:`, and so on. All files are open meanwhile, and read as far as they go when that begins.
///
/// ```no_run
/// use tinymcp::trajectory::{Sink, merge};
///
/// let merged = merge(["monday.jsonl", "tuesday.jsonl"], &Sink::open("both.jsonl")?)?;
/// println!("{} events", merged.events);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// When a file cannot be read or the sink not be written; what was copied before stays.
pub fn merge<P: AsRef<Path>>(files: impl IntoIterator<Item = P>, sink: &Sink) -> io::Result<Merged> {
    let mut sources = Vec::new();
    for (number, file) in (1..).zip(files) {
        sources.push(Source::open(number, file.as_ref(), sink)?);
    }
    let mut merged = Merged::default();
    let mut line = Vec::new();
    // Of equal times that of the first file.
    while let Some(source) =
        sources.iter_mut().filter(|source| source.next.is_some()).min_by_key(|source| source.time_us)
    {
        line.clear();
        let Some(event) = source.next.take() else { break };
        Line::Event(event).write(&mut line);
        sink.write(&line)?;
        merged.events += 1;
        source.advance(sink)?;
    }
    for Source { lines, .. } in &sources {
        merged.broken += lines.broken() + u64::from(lines.is_torn());
    }
    Ok(merged)
}

struct Source {
    number: usize,
    lines: Lines<BufReader<Take<File>>>,
    /// Its next event; `None` at its end.
    next: Option<Box<Event>>,
    /// When that is due: not before what stands before it.
    time_us: u64,
}

impl Source {
    fn open(number: usize, path: &Path, sink: &Sink) -> io::Result<Self> {
        let file = File::open(path)?;
        // As far as it goes now: it may be what is written to.
        let length = file.metadata()?.len();
        let lines = Lines::new(BufReader::with_capacity(64 << 10, file.take(length)));
        let mut source = Self { number, lines, next: None, time_us: 0 };
        source.advance(sink)?;
        Ok(source)
    }

    /// Goes on to the next event; what definitions stand before it are in the sink then.
    fn advance(&mut self, sink: &Sink) -> io::Result<()> {
        for line in &mut self.lines {
            match line?.line {
                Line::Header(_) => {}
                Line::Definitions(definitions) => {
                    sink.keep(&definitions.key.as_str().into(), || definitions.clone())?;
                }
                Line::Event(mut event) => {
                    event.trajectory = format!("{}:{}", self.number, event.trajectory);
                    self.time_us = self.time_us.max(event.time_us);
                    self.next = Some(event);
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
