//! The frame of the page: what it may do, its head, the overview, its end.

use std::fmt::Write as _;

use super::chart;
use super::escape;
use super::gather::Gathered;
use super::words::{self, count, several};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The SHA-256 of the two in base64. A test compares them.
const STYLE_HASH: &str = "XqytjxyBPU3uCRIL5atNm8Q1r0w1vHZppIqYlSmMQzQ=";
const SCRIPT_HASH: &str = "eF0VVfb3Sd9mW4cev6DFYdFxCP6d++gub5vLfF6X9BA=";

/// So many rows has the table of tools.
const MAX_ROWS: usize = 200;

/// All before the episodes.
pub(super) fn head(gathered: &Gathered, title: &str, limits: &[String]) -> String {
    let mut out = String::with_capacity(64 << 10);
    // Nothing may be loaded from anywhere, and nothing runs but the script below.
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-{SCRIPT_HASH}'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>"
    );
    escape::attribute(&mut out, title);
    let _ = write!(
        out,
        "</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#episodes\">Skip to the trajectories</a>\n<header>\n<h1>"
    );
    escape::text(&mut out, title, 4000);
    out.push_str("</h1>\n<p class=\"sub\">");
    let _ = write!(
        out,
        "{} in a recording of {}",
        several(gathered.summary.trajectories, "trajectory"),
        several(gathered.bytes, "byte")
    );
    if let Some((first, last)) = gathered.times {
        let _ = write!(out, ", {} to {}", words::time(first), words::time(last));
    }
    out.push_str(".</p>\n");
    cards(&mut out, gathered);
    if !limits.is_empty() {
        out.push_str("<section class=\"limits\" aria-label=\"What this page leaves out\"><p>What this page leaves out</p><ul>");
        for limit in limits {
            out.push_str("<li>");
            escape::text(&mut out, limit, 2000);
            out.push_str("</li>");
        }
        out.push_str("</ul></section>\n");
    }
    out.push_str("</header>\n");
    out.push_str(BAR);
    out.push_str("<main>\n");
    timeline(&mut out, gathered);
    rewards(&mut out, gathered);
    tools(&mut out, gathered);
    out.push_str("<section id=\"episodes\">\n<h2>Trajectories</h2>\n");
    out
}

/// What only a script can do; without one it is not shown.
const BAR: &str = "<div class=\"bar\"><form id=\"find\" role=\"search\"><input type=\"search\" id=\"q\" placeholder=\"Search tasks, arguments, results ( / )\" aria-label=\"Search\" autocomplete=\"off\" spellcheck=\"false\"> <button type=\"button\" id=\"previous\">Previous</button> <button type=\"button\" id=\"next\">Next</button> <label><input type=\"checkbox\" id=\"errors\"> errors only</label> <button type=\"button\" id=\"open\">Unfold</button> <button type=\"button\" id=\"close\">Fold</button> <output id=\"said\" for=\"q\" aria-live=\"polite\"></output></form></div>\n";

/// All after the episodes.
pub(super) fn foot() -> String {
    format!(
        "</section>\n</main>\n<footer>Times are UTC, durations by a clock that is never set. Characters that control the display are shown by their numbers, like <i class=\"c\">U+202E</i>. Made by tinymcp {}.</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[expect(clippy::cast_precision_loss, reason = "a share in percent")]
fn percent(part: u64, all: u64) -> String {
    if all == 0 { "–".to_owned() } else { format!("{:.1} %", part as f64 / all as f64 * 100.0) }
}

fn cards(out: &mut String, gathered: &Gathered) {
    let mut cards = vec![
        ("Trajectories", count(gathered.summary.trajectories)),
        ("Calls", count(gathered.statistics.calls())),
        (
            "Errors",
            format!(
                "{} <small>{}</small>",
                count(gathered.statistics.errors()),
                percent(gathered.statistics.errors(), gathered.statistics.calls())
            ),
        ),
    ];
    let judged = gathered.successes + gathered.failures;
    if judged > 0 {
        cards.push(("Success", percent(gathered.successes, judged)));
    }
    if gathered.rewards.number() > 0 {
        cards.push(("Mean reward", words::number(gathered.rewards.mean())));
    }
    if gathered.tool_ns > 0 {
        cards.push(("Time in tools", words::duration(gathered.tool_ns)));
    }
    out.push_str("<dl class=\"cards\">");
    for (name, value) in cards {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    out.push_str("</dl>\n");
}

fn timeline(out: &mut String, gathered: &Gathered) {
    if gathered.activity.calls() == 0 {
        return;
    }
    let (svg, label) = gathered.activity.draw();
    let _ = write!(
        out,
        "<section id=\"servers\">\n<h2>Calls over time, per server</h2>\n<p class=\"note\">{label}.</p>{svg}<ul class=\"legend\"><li><span class=\"key\"></span>calls</li><li><span class=\"key f\"></span>errors</li></ul>\n</section>\n"
    );
}

fn rewards(out: &mut String, gathered: &Gathered) {
    let points = gathered.rewards.points();
    if points.is_empty() {
        return;
    }
    let episodes = several(gathered.rewards.number(), "episode");
    let label = format!(
        "Rewards of {episodes} in the order in which they ended: mean {}",
        words::number(gathered.rewards.mean())
    );
    let _ = write!(out, "<section id=\"rewards\">\n<h2>Reward per episode</h2>\n<p class=\"note\">{label}.");
    if gathered.rewards.each() > 1 {
        let _ = write!(
            out,
            " Each point is the mean of {} after each other, and the line through it reaches from the least to the greatest.",
            gathered.rewards.each()
        );
    }
    let _ = write!(
        out,
        "</p>{}<ul class=\"legend\"><li><span class=\"key s\"></span>success</li><li><span class=\"key f\"></span>failure, a cross</li><li><span class=\"key\"></span>not judged, or both</li></ul>\n</section>\n",
        chart::rewards(points, &label)
    );
}

fn tools(out: &mut String, gathered: &Gathered) {
    let tools = gathered.statistics.tools();
    if tools.is_empty() {
        return;
    }
    out.push_str("<section id=\"tools\">\n<h2>Tools</h2>\n<div class=\"wide\"><table><thead><tr><th scope=\"col\">Tool</th><th scope=\"col\">Calls</th><th scope=\"col\">Errors</th><th scope=\"col\">Share</th><th scope=\"col\">Mean</th><th scope=\"col\">Median</th><th scope=\"col\">95 %</th><th scope=\"col\">99 %</th><th scope=\"col\">Longest</th></tr></thead><tbody>");
    let mut most: Vec<_> = tools.iter().collect();
    most.sort_by_key(|(_, one)| std::cmp::Reverse(one.calls()));
    for (name, one) in most.iter().take(MAX_ROWS) {
        out.push_str("<tr><th scope=\"row\">");
        escape::text(out, &escape::line(name, 120), 1200);
        let class = if one.errors() > 0 { " class=\"bad\"" } else { "" };
        let _ = write!(
            out,
            "</th><td>{}</td><td{class}>{}</td><td>{}</td>",
            count(one.calls()),
            count(one.errors()),
            percent(one.errors(), one.calls())
        );
        let durations = one.durations();
        for time in [
            durations.mean(),
            durations.percentile(50.0),
            durations.percentile(95.0),
            durations.percentile(99.0),
            durations.max(),
        ] {
            let ns = time.map(crate::trajectory::request_event::nanoseconds);
            let _ = write!(out, "<td>{}</td>", ns.map_or_else(|| "–".to_owned(), words::duration));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>\n");
    if tools.len() > MAX_ROWS {
        let _ = write!(
            out,
            "<p class=\"cut\">{} more tools, with fewer calls, are not shown.</p>",
            count((tools.len() - MAX_ROWS) as u64)
        );
    }
    out.push_str("</section>\n");
}
