//! The drawings of the page, as SVG that needs no script: timelines, activity, rewards.

use std::fmt::Write as _;

use super::escape;
use super::words;

/// The width of a drawing in its own units; the page makes it as wide as there is room.
const WIDTH: f64 = 1000.0;
/// The names of lanes stand left of this.
const LEFT: f64 = 150.0;
const LANE: f64 = 22.0;
/// Calls side by side on one server: so many rows, beyond which they overlap.
const MAX_ROWS: usize = 4;

/// A call, as it is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    pub(super) lane: usize,
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) is_error: bool,
    /// The number of its event on the page, if it is there.
    pub(super) number: Option<u64>,
}

impl Bar {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.length)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a place in a drawing")]
fn place(value: u64, from: u64, span: u64) -> f64 {
    LEFT + (WIDTH - LEFT - 4.0) * (value.saturating_sub(from) as f64 / span.max(1) as f64)
}

/// Calls over time, a lane for each server. `ns_per_unit` is what a unit of the bars' times is.
pub(super) fn timeline(lanes: &[String], bars: &[Bar], ns_per_unit: u64, label: &str) -> String {
    let from = bars.iter().map(|bar| bar.start).min().unwrap_or(0);
    let span = bars.iter().map(Bar::end).max().unwrap_or(0).saturating_sub(from).max(1);
    // Rows within a lane, so that calls side by side are seen.
    let mut ends: Vec<Vec<u64>> = vec![Vec::new(); lanes.len()];
    let mut sorted: Vec<&Bar> = bars.iter().collect();
    sorted.sort_by_key(|bar| (bar.start, bar.number));
    let rows: Vec<usize> = sorted
        .iter()
        .map(|bar| {
            let Some(rows) = ends.get_mut(bar.lane) else { return 0 };
            let free = rows.iter().position(|end| *end <= bar.start);
            let row = match free {
                Some(row) => row,
                None if rows.len() < MAX_ROWS => {
                    rows.push(0);
                    rows.len() - 1
                }
                None => MAX_ROWS - 1,
            };
            rows[row] = rows[row].max(bar.end());
            row
        })
        .collect();
    let mut tops = Vec::with_capacity(lanes.len());
    let mut height = 4.0;
    for rows in &ends {
        tops.push(height);
        height += LANE * fraction(rows.len().max(1));
    }
    let mut svg = begin(height + 22.0, label);
    for (lane, (name, top)) in lanes.iter().zip(&tops).enumerate() {
        lane_name(&mut svg, name, *top, LANE * fraction(ends[lane].len().max(1)), lane);
    }
    for (bar, row) in sorted.iter().zip(rows) {
        let Some(top) = tops.get(bar.lane) else { continue };
        let (x, end) = (place(bar.start, from, span), place(bar.end(), from, span));
        let (class, height) = if bar.is_error { ("f", LANE - 4.0) } else { ("g", LANE - 8.0) };
        let y = top + LANE * fraction(row) + (LANE - height) / 2.0;
        let width = (end - x).max(2.0);
        if let Some(number) = bar.number {
            // The list below has the same for those who use keys.
            let _ = write!(svg, "<a href=\"#e{number}\" tabindex=\"-1\">");
        }
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\"/>{}",
            if bar.number.is_some() { "</a>" } else { "" },
        );
    }
    axis(&mut svg, height, span.saturating_mul(ns_per_unit));
    svg.push_str("</svg>");
    svg
}

/// How busy each server was, in parts of the time: the number of calls and of errors of each part.
pub(super) fn activity(lanes: &[String], parts: &[Vec<(u64, u64)>], span_ns: u64, label: &str) -> String {
    let most = parts.iter().flatten().map(|(calls, _)| *calls).max().unwrap_or(0).max(1);
    let height = 4.0 + 40.0 * fraction(lanes.len());
    let mut svg = begin(height + 22.0, label);
    for (lane, name) in lanes.iter().enumerate() {
        let top = 4.0 + 40.0 * fraction(lane);
        lane_name(&mut svg, name, top, 40.0, lane);
        let Some(parts) = parts.get(lane) else { continue };
        let width = (WIDTH - LEFT - 4.0) / fraction(parts.len().max(1));
        for (i, (calls, errors)) in parts.iter().enumerate().filter(|(_, (calls, _))| *calls > 0) {
            let x = LEFT + width * fraction(i);
            for (class, number) in [("g", *calls), ("f", *errors)] {
                if number > 0 {
                    let tall = (34.0 * ratio(number, most)).max(1.5);
                    let _ = write!(
                        svg,
                        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{tall:.1}\"/>",
                        top + 38.0 - tall,
                        (width - 0.3).max(0.5),
                    );
                }
            }
        }
    }
    axis(&mut svg, height, span_ns);
    svg.push_str("</svg>");
    svg
}

/// The reward of an episode, or of several next to each other: their mean, and the least and greatest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reward {
    pub(super) number: u64,
    pub(super) sum: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) successes: u64,
    pub(super) failures: u64,
}

impl Reward {
    pub(super) fn mean(&self) -> f64 {
        self.sum / whole(self.number.max(1))
    }
}

/// The rewards of episodes, in the order in which they ended.
pub(super) fn rewards(points: &[Reward], label: &str) -> String {
    const HEIGHT: f64 = 180.0;
    let left = 70.0;
    let all = |pick: fn(&Reward) -> f64| points.iter().map(pick);
    let mut least = all(|point| point.min).fold(f64::INFINITY, f64::min).min(0.0);
    let mut most = all(|point| point.max).fold(f64::NEG_INFINITY, f64::max).max(0.0);
    if !(least.is_finite() && most.is_finite() && most - least > 0.0) {
        (least, most) = (least.clamp(-1.0, 0.0), most.clamp(0.0, 1.0).max(1.0));
    }
    // Of very great ones the difference may be none that a number can hold.
    let span = (most - least).min(f64::MAX);
    let y = |value: f64| 8.0 + (HEIGHT - 16.0) * (1.0 - ((value - least) / span).clamp(0.0, 1.0));
    let step = (WIDTH - left - 12.0) / fraction(points.len().max(2) - 1);
    let x = |i: usize| left + 4.0 + step * fraction(i);
    let mut svg = begin(HEIGHT + 20.0, label);
    for value in [least, 0.0, most] {
        let y = y(value);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            y + 4.0,
            words::number(value),
        );
    }
    if points.len() > 1 {
        svg.push_str("<path class=\"line\" d=\"");
        for (i, point) in points.iter().enumerate() {
            let _ = write!(svg, "{}{:.1} {:.1}", if i == 0 { "M" } else { "L" }, x(i), y(point.mean()));
        }
        svg.push_str("\"/>");
    }
    for (i, point) in points.iter().enumerate() {
        let (x, top, bottom) = (x(i), y(point.max), y(point.min));
        if bottom - top > 1.0 {
            let _ = write!(
                svg,
                "<line class=\"range\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top:.1}\" y2=\"{bottom:.1}\"/>"
            );
        }
        let class = match (point.successes, point.failures) {
            (0, 0) => "n",
            (0, _) => "f",
            (_, 0) => "s",
            _ => "n",
        };
        let y = y(point.mean());
        // Told apart by their form too.
        if class == "f" {
            let _ = write!(svg, "<path class=\"cross\" d=\"M{:.1} {:.1}l7 7m0-7l-7 7\"/>", x - 3.5, y - 3.5);
        } else {
            let _ = write!(svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>");
        }
    }
    svg.push_str("</svg>");
    svg
}

fn begin(height: f64, label: &str) -> String {
    let mut svg =
        format!("<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"");
    escape::attribute(&mut svg, label);
    svg.push_str("\">");
    svg
}

fn lane_name(svg: &mut String, name: &str, top: f64, height: f64, lane: usize) {
    if lane % 2 == 0 {
        let _ = write!(
            svg,
            "<rect class=\"lane\" x=\"0\" y=\"{top:.1}\" width=\"{WIDTH}\" height=\"{height:.1}\"/>"
        );
    }
    // A drawing of its own, which a wide name does not leave.
    let _ = write!(
        svg,
        "<svg y=\"{top:.1}\" width=\"{}\" height=\"{height:.1}\"><text x=\"4\" y=\"{:.1}\">",
        LEFT - 4.0,
        height / 2.0 + 4.0
    );
    escape::attribute(svg, &escape::line(name, 24));
    svg.push_str("</text></svg>");
}

fn axis(svg: &mut String, top: f64, span_ns: u64) {
    let _ = write!(
        svg,
        "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{top:.1}\" y2=\"{top:.1}\"/><text class=\"tick\" x=\"{LEFT}\" y=\"{:.1}\">0</text><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        top + 16.0,
        WIDTH - 4.0,
        top + 16.0,
        words::duration(span_ns),
    );
}

#[expect(clippy::cast_precision_loss, reason = "a place in a drawing")]
fn fraction(number: usize) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "a place in a drawing")]
fn whole(number: u64) -> f64 {
    number as f64
}

fn ratio(part: u64, all: u64) -> f64 {
    whole(part) / whole(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_numbers_leave_no_holes_in_a_drawing() {
        let point =
            |value: f64| Reward { number: 1, sum: value, min: value, max: value, successes: 0, failures: 1 };
        for values in [&[0.0][..], &[f64::MAX, -f64::MAX], &[f64::INFINITY, 1.0], &[f64::NAN], &[]] {
            let svg = rewards(&values.iter().map(|value| point(*value)).collect::<Vec<_>>(), "\"<>");
            assert!(
                !svg.contains("NaN\"") && !svg.contains("inf") && !svg.contains("\"<>"),
                "{values:?} {svg}"
            );
        }
        let bar = Bar { lane: 0, start: u64::MAX, length: u64::MAX, is_error: true, number: Some(1) };
        let svg = timeline(&["a".into()], &[bar, Bar { start: 0, lane: 9, ..bar }], 1000, "x");
        assert!(svg.ends_with("</svg>") && !svg.contains("NaN"));
    }

    #[test]
    fn calls_side_by_side_are_drawn_in_rows() {
        let bar = |start, length| Bar { lane: 0, start, length, is_error: false, number: Some(start) };
        let rows = |bars: &[Bar]| {
            let svg = timeline(&["a".into()], bars, 1, "x");
            let mut places: Vec<_> = svg
                .split("class=\"g\"")
                .skip(1)
                .map(|rect| rect.split('"').nth(3).map(str::to_owned))
                .collect();
            places.sort();
            places.dedup();
            places.len()
        };
        assert_eq!((rows(&[bar(0, 10), bar(10, 10)]), rows(&[bar(0, 10), bar(5, 10)])), (1, 2));
        assert_eq!(rows(&(0..20).map(|at| bar(at, 100)).collect::<Vec<_>>()), MAX_ROWS);
    }
}
