//! [`merge`]: several recordings in one.

use std::io;
use std::path::Path;

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

/// Copies all events of `files` into `sink`, one file after the other, in memory that does not grow with them.
///
/// The ids of their trajectories stay apart, also where two files have the same: those of the first file get `1:` before them,
/// those of the second `2:`, and so on.
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
    let mut merged = Merged::default();
    let mut out = Vec::new();
    for (number, file) in (1..).zip(files) {
        let mut lines = Lines::open(file)?;
        for line in &mut lines {
            match line?.line {
                Line::Header(_) => {}
                Line::Definitions(definitions) => {
                    sink.keep(&definitions.key.as_str().into(), || definitions.clone())?;
                }
                Line::Event(mut event) => {
                    event.trajectory = format!("{number}:{}", event.trajectory);
                    out.clear();
                    Line::Event(event).write(&mut out);
                    sink.write(&out)?;
                    merged.events += 1;
                }
            }
        }
        merged.broken += lines.broken() + u64::from(lines.is_torn());
    }
    Ok(merged)
}
