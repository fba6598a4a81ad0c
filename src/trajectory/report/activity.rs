//! [`Activity`]: when calls were made, over the whole recording, in a memory that does not grow.

use std::collections::HashMap;

use super::chart::{self, Bar};
use super::words::several;

/// So many servers have a lane of their own.
const MAX_LANES: usize = 24;
/// So many calls are drawn one by one.
const MAX_BARS: usize = 1500;
/// The whole time has so many parts at most, and at least half of it.
const PARTS: usize = 240;

/// The lanes of servers, by name.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl Lanes {
    pub(super) fn of(&mut self, server: Option<&str>) -> usize {
        let name = server.unwrap_or("(no name)");
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let name = if self.names.len() + 1 < MAX_LANES { name } else { "(others)" };
        // A server may have a long name, of which the beginning is shown.
        let name: String = name.chars().take(200).collect();
        *self.places.entry(name.clone()).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}

#[derive(Debug, Default)]
pub(super) struct Activity {
    lanes: Lanes,
    bars: Vec<Bar>,
    is_full: bool,
    from_us: u64,
    /// Of one part; 0 before the first call.
    width_us: u64,
    /// Calls and errors, by lane and part.
    parts: Vec<Vec<(u64, u64)>>,
    calls: u64,
}

impl Activity {
    pub(super) fn add(
        &mut self,
        server: Option<&str>,
        start_us: u64,
        length_ns: u64,
        is_error: bool,
        number: Option<u64>,
    ) {
        let lane = self.lanes.of(server);
        self.calls += 1;
        if self.bars.len() < MAX_BARS && !self.is_full {
            self.bars.push(Bar { lane, start: start_us, length: length_ns.div_ceil(1000), is_error, number });
        } else {
            self.is_full = true;
            self.bars = Vec::new();
        }
        self.reach(start_us);
        if self.parts.len() <= lane {
            self.parts.resize(lane + 1, vec![(0, 0); PARTS]);
        }
        let at = self.part(start_us);
        let (calls, errors) = &mut self.parts[lane][at];
        *calls += 1;
        *errors += u64::from(is_error);
    }

    fn part(&self, us: u64) -> usize {
        let at = us.saturating_sub(self.from_us) / self.width_us.max(1);
        usize::try_from(at).unwrap_or(usize::MAX).min(PARTS - 1)
    }

    /// Makes the parts wide enough that `us` falls into one.
    fn reach(&mut self, us: u64) {
        if self.width_us == 0 {
            (self.from_us, self.width_us) = (us, 1000);
        }
        let parts = PARTS as u64;
        while us < self.from_us || us - self.from_us >= self.width_us.saturating_mul(parts) {
            if us < self.from_us {
                // What is there moves to the right half.
                let moved = self.width_us.saturating_mul(parts);
                let from = self.from_us.saturating_sub(moved);
                let by = usize::try_from((self.from_us - from) / self.width_us).unwrap_or(PARTS).min(PARTS);
                self.from_us = from;
                for lane in &mut self.parts {
                    let mut wide = vec![(0, 0); by];
                    wide.append(lane);
                    wide.resize(2 * PARTS, (0, 0));
                    *lane = halved(&wide);
                }
            } else {
                for lane in &mut self.parts {
                    lane.resize(2 * PARTS, (0, 0));
                    *lane = halved(lane);
                }
            }
            let Some(width) = self.width_us.checked_mul(2) else { break };
            self.width_us = width;
        }
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// The drawing, and what is to be said about it.
    pub(super) fn draw(&self) -> (String, String) {
        let names = self.lanes.names();
        if !self.is_full {
            let label = format!(
                "A timeline of {} on {}; errors are taller",
                several(self.calls, "call"),
                several(names.len() as u64, "server")
            );
            return (chart::timeline(names, &self.bars, 1000, &label), label);
        }
        let used = self.parts.iter().filter_map(|lane| lane.iter().rposition(|(calls, _)| *calls > 0)).max();
        let used = used.map_or(1, |last| last + 1);
        let parts: Vec<_> = self.parts.iter().map(|lane| lane[..used].to_vec()).collect();
        let span_ns = self.width_us.saturating_mul(used as u64).saturating_mul(1000);
        let label = format!(
            "How many of the {} were made when, on {}",
            several(self.calls, "call"),
            several(names.len() as u64, "server")
        );
        (chart::activity(names, &parts, span_ns, &label), label)
    }
}

/// Two parts become one.
fn halved(parts: &[(u64, u64)]) -> Vec<(u64, u64)> {
    parts.chunks(2).map(|two| two.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_lost_however_the_time_is_parted() {
        let mut activity = Activity::default();
        let times = [5_000_000_000, 5_000_000_001, 9_999_999_999_999, 0, 77, u64::MAX, 5_000_000_002];
        for (i, us) in times.iter().cycle().take(3000).enumerate() {
            activity.add(Some("s"), *us, 1, i % 3 == 0, None);
        }
        let sums = activity.parts[0].iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        assert_eq!((sums, activity.parts[0].len()), ((3000, 1000), PARTS));
        assert!(activity.draw().0.contains("</svg>"));
    }

    #[test]
    fn there_are_never_more_lanes_than_can_be_seen() {
        let mut lanes = Lanes::default();
        let places: Vec<_> = (0..1000).map(|n| lanes.of(Some(&format!("server {n}")))).collect();
        assert_eq!((lanes.names().len(), places[999]), (MAX_LANES, MAX_LANES - 1));
        assert_eq!(lanes.of(Some("server 3")), 3);
    }
}
