//! [`Episode`]: one trajectory, as it is put together for the page.

use std::fmt::Write as _;

use super::activity::Lanes;
use super::chart::{self, Bar};
use super::escape;
use super::words::{self, several};
use crate::trajectory::event::{Event, EventKind};

/// So many calls of one trajectory are drawn.
const MAX_BARS: usize = 1000;
/// What a bar costs of the page.
pub(super) const BAR_BYTES: usize = 170;
/// What the frame of an episode costs at most: its line, its figures, its lanes.
pub(super) const FRAME_BYTES: usize = 20_000;

#[derive(Debug, Default)]
pub(super) struct Episode {
    id: String,
    task: String,
    /// Its events, as far as they are shown.
    pub(super) html: String,
    pub(super) lanes: Lanes,
    pub(super) bars: Vec<Bar>,
    began_us: u64,
    last_ns: u64,
    events: u64,
    calls: u64,
    errors: u64,
    /// Events that are not shown, and where the first and the last of them are.
    left_out: u64,
    left_out_at: Option<(u64, u64)>,
    /// The rewards on the way, and what is said of all of them in the end.
    sum: Option<f64>,
    total: Option<f64>,
    pub(super) success: Option<bool>,
    answer: Option<String>,
    has_end: bool,
    lost: u64,
}

impl Episode {
    pub(super) fn new(id: &str) -> Self {
        Self { id: escape::line(id, 80), ..Self::default() }
    }

    /// Counts an event.
    pub(super) fn count(&mut self, event: &Event) {
        if self.events == 0 {
            self.began_us = event.time_us;
        }
        self.events += 1;
        let mut took = 0;
        match &event.kind {
            EventKind::Begin(begin) => self.task = escape::line(&begin.task, 300),
            EventKind::Call(call) => {
                self.calls += 1;
                self.errors += u64::from(call.is_error);
                took = call.duration_ns;
            }
            EventKind::Read(read) => took = read.duration_ns,
            EventKind::List(list) => took = list.duration_ns,
            EventKind::Prompt(prompt) => took = prompt.duration_ns,
            EventKind::Step(step) => self.reward(step.reward),
            EventKind::Reward(reward) => self.reward(Some(reward.value)),
            EventKind::Done(done) => self.total = done.total_reward,
            EventKind::End(end) => {
                self.has_end = true;
                self.total = end.reward.or(self.total);
                self.success = end.success;
                self.answer = end.answer.as_deref().map(|answer| escape::line(answer, 300));
                self.lost = end.lost;
            }
            _ => {}
        }
        self.last_ns = self.last_ns.max(event.at_ns.saturating_add(took));
    }

    fn reward(&mut self, reward: Option<f64>) {
        if let Some(reward) = reward {
            // It stays a number however great they are.
            self.sum = Some((self.sum.unwrap_or(0.0) + reward).clamp(f64::MIN, f64::MAX));
        }
    }

    /// The reward for all of it.
    pub(super) fn total_reward(&self) -> Option<f64> {
        self.total.or(self.sum)
    }

    /// Whether a call can be drawn.
    pub(super) fn has_room(&self) -> bool {
        self.bars.len() < MAX_BARS
    }

    /// Leaves an event out that is at this place.
    pub(super) fn leave_out(&mut self, offset: u64) {
        self.left_out += 1;
        let first = self.left_out_at.map_or(offset, |(first, _)| first);
        self.left_out_at = Some((first, offset));
    }

    /// All of it, under the number `number`.
    pub(super) fn write(&self, number: usize) -> String {
        let mut html = String::with_capacity(self.html.len() + self.bars.len() * BAR_BYTES + 4096);
        let out = &mut html;
        let _ = write!(out, "<details class=\"ep\" id=\"t{number}\"><summary><h3>");
        escape::text(out, if self.task.is_empty() { "(no task)" } else { &self.task }, 2500);
        out.push_str("</h3> ");
        match self.success {
            Some(true) => out.push_str("<span class=\"good\">success</span> "),
            Some(false) => out.push_str("<span class=\"bad\">failure</span> "),
            None => {}
        }
        if !self.has_end {
            out.push_str("<span class=\"warn\">no end</span> ");
        }
        let _ = write!(out, "<span class=\"m\">{}", several(self.calls, "call"));
        if self.errors > 0 {
            let _ = write!(out, ", <span class=\"bad\">{}</span>", several(self.errors, "error"));
        }
        let _ = write!(out, ", {}", words::duration(self.last_ns));
        if let Some(reward) = self.total_reward() {
            let _ = write!(out, ", reward {}", words::number(reward));
        }
        out.push_str("</span></summary><div class=\"in\"><p class=\"src\">Trajectory <code>");
        escape::text(out, &self.id, 600);
        let _ = write!(out, "</code>, begun {}.", words::time(self.began_us));
        if self.lost > 0 {
            let _ = write!(out, " {} could not be recorded.", several(self.lost, "event"));
        }
        out.push_str("</p>");
        if let Some(answer) = &self.answer {
            out.push_str("<p class=\"an\"><b>Answer</b> ");
            escape::text(out, answer, 2500);
            out.push_str("</p>");
        }
        if !self.bars.is_empty() {
            let label = format!(
                "The calls of this trajectory over time, on {}",
                several(self.lanes.names().len() as u64, "server")
            );
            out.push_str(&chart::timeline(self.lanes.names(), &self.bars, 1, &label));
        }
        out.push_str(&self.html);
        if let Some((first, last)) = self.left_out_at {
            let _ = write!(
                out,
                "<p class=\"cut\">{} of this trajectory not shown, as the page is limited: the records from byte {} to the one at byte {}.</p>",
                several(self.left_out, "event"),
                first,
                last,
            );
        }
        out.push_str("</div></details>\n");
        html
    }
}
