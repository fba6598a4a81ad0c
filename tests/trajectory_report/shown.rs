//! What the page says of what was recorded.

use std::fmt::Write as _;

use tinymcp::trajectory::{Report, ReportSummary};

use crate::markup::Page;

fn page(recording: &str) -> (Page, ReportSummary) {
    let mut html = Vec::new();
    let summary = Report::new().write(recording.as_bytes(), &mut html).expect("a page");
    assert_eq!(summary.page_bytes, html.len() as u64);
    (Page::read(&String::from_utf8(html).expect("UTF-8")), summary)
}

fn begin(id: &str) -> String {
    format!(r#"{{"event":"begin","trajectory":"{id}","seq":0,"task":"Task of {id}"}}"#) + "\n"
}

fn call(id: &str, rest: &str) -> String {
    format!(r#"{{"event":"call","trajectory":"{id}","seq":1,"tool":"t","is_error":false,{rest}}}"#) + "\n"
}

#[test]
fn an_empty_recording_is_a_page() {
    for recording in ["", "{\"format\":\"tinymcp-trajectory\",\"version\":1}\n"] {
        let (page, summary) = page(recording);
        assert_eq!((summary.trajectories, summary.events, summary.is_torn), (0, 0, false));
        assert!(page.text.contains("0 trajectories in a recording of") && !page.text.contains("leaves out"));
        assert_eq!(page.count("svg", "class", "chart"), 0);
    }
}

#[test]
fn a_torn_line_and_a_broken_one_are_said() {
    let (page, summary) =
        page(&(begin("a") + "{\"event\":\"call\",\"traj\n" + &begin("b") + "{\"event\":\"ca"));
    assert_eq!((summary.trajectories, summary.broken_lines, summary.is_torn), (2, 1, true));
    assert!(page.text.contains("1 line of the recording could not be read."));
    assert!(page.text.contains("The last line of the recording is torn"));
    assert!(page.text.contains("Task of a") && page.text.contains("Task of b"));
    // Neither has come to its end.
    assert_eq!(page.text.matches("no end").count(), 2);
}

#[test]
fn numbers_and_escapes_stay_as_they_were_written() {
    let numbers = "[9007199254740993,-9007199254740993,123456789012345678901234567890,1e400,-0.0,1.10,18446744073709551616]";
    let strings = r#"["\ud800","\udfff\ud83d","\u2028\u202e\u0000","😀 é 漢字","\u003cscript\u003e"]"#;
    let result = format!(
        r#"{{"content":[{{"type":"text","text":"😀\u0000\u001b[31m\u202eevil\u2028\u200b<b>"}}],"structuredContent":{{"n":{numbers},"s":{strings}}}}}"#
    );
    let arguments = format!(r#""arguments":{{"n":{numbers},"s":{strings}}},"result":{result}"#);
    let (page, summary) = page(&(begin("a") + &call("a", &arguments)));
    assert_eq!((summary.events, summary.broken_lines), (2, 0));
    for value in
        numbers.trim_matches(['[', ']']).split(',').chain(strings.trim_matches(['[', ']']).split(','))
    {
        // In the arguments and in the structured content, on a line of its own.
        let lines = page.text.lines().filter(|line| line.trim().trim_end_matches(',') == value).count();
        assert_eq!(lines, 2, "{value}");
    }
    assert!(page.text.contains("😀U+0000U+001B[31mU+202EevilU+2028U+200B<b>"));
    assert!(page.count("i", "class", "c") >= 5);
}

#[test]
fn durations_are_told_from_none_to_days() {
    let times = [
        (0, "0 s"),
        (1, "1 ns"),
        (4_560_000, "4.56 ms"),
        (90_000_000_000, "90.0 s"),
        (259_200_000_000_000, "72 h 0 min"),
        (u64::MAX, "5,124,095 h 34 min"),
    ];
    let mut recording = begin("a");
    for (ns, _) in times {
        recording +=
            &call("a", &format!(r#""arguments":{{}},"duration_ns":{ns},"at_ns":{ns},"time_us":{ns}"#));
    }
    let (page, _) = page(&recording);
    for (_, said) in times {
        assert!(page.text.contains(&format!(" {said} ")), "{said}");
    }
    let places = page.attributes.iter().filter(|(element, name, _)| element == "rect" && name != "class");
    for (_, name, value) in places {
        let value: f64 = value.parse().expect("a number");
        assert!((0.0..=1000.0).contains(&value), "{name}={value}");
    }
}

#[test]
fn errors_are_marked_and_counted() {
    let failed = r#"{"event":"call","trajectory":"a","seq":2,"tool":"bad","server":"s","arguments":{},"is_error":true,"error":{"kind":"timeout","message":"too late"}}"#;
    let (page, _) = page(&(begin("a") + &call("a", r#""arguments":{}"#) + failed + "\n"));
    assert_eq!(page.count("details", "class", "ev err"), 1);
    // In the timeline of all and in that of the trajectory.
    assert_eq!(page.count("rect", "class", "f"), 2);
    assert_eq!(page.count("rect", "class", "g"), 2);
    for said in ["too late", "2 calls, 1 error", "1 50.0 %", "s bad error"] {
        assert!(page.text.contains(said), "{said}");
    }
}

/// Episodes with these rewards; every third one failed.
fn episodes(rewards: impl Iterator<Item = f64>) -> String {
    let mut recording = String::new();
    for (n, reward) in rewards.enumerate() {
        let success = n % 3 != 0;
        let _ = writeln!(
            recording,
            r#"{{"event":"end","trajectory":"{n}","seq":0,"success":{success},"reward":{reward:e},"calls":0}}"#
        );
    }
    recording
}

/// Every number of the plot of rewards.
fn plotted(page: &Page) -> Vec<f64> {
    let places = page.attributes.iter().filter(|(element, name, _)| {
        ["circle", "path", "line"].contains(&element.as_str()) && name != "class"
    });
    let numbers = places
        .flat_map(|(_, _, value)| value.split(|c: char| c == ' ' || c.is_ascii_alphabetic() || c == '-'));
    numbers.filter(|number| !number.is_empty()).map(|number| number.parse().expect("a number")).collect()
}

#[test]
fn rewards_of_any_number_of_episodes_are_a_plot() {
    let (none, _) = page(&begin("a"));
    assert!(!none.text.contains("Reward per episode"));
    for (count, points) in [(1, 1..=1), (2, 2..=2), (499, 499..=499), (100_000_u32, 250..=500)] {
        let (page, summary) = page(&episodes((0..count).map(|n| f64::from(n % 7) / 4.0 - 0.5)));
        assert_eq!(summary.trajectories, u64::from(count));
        let drawn = page.count("circle", "class", "") + page.count("path", "class", "cross");
        assert!(points.contains(&drawn), "{count} episodes are {drawn} points");
        assert_eq!(page.count("path", "class", "line"), u64::from(count > 1));
        let said =
            if count == 1 { "1 episode".to_owned() } else { format!("{} episodes", with_comma(count)) };
        assert!(page.text.contains(&format!("Rewards of {said} in the order")), "{said}");
        let plotted = plotted(&page);
        assert!(plotted.iter().all(|place| (0.0..=1010.0).contains(place)), "{plotted:?}");
    }
}

fn with_comma(count: u32) -> String {
    if count < 1000 { count.to_string() } else { format!("{},{:03}", count / 1000, count % 1000) }
}

#[test]
fn no_reward_is_too_great_or_too_small_for_the_plot() {
    for rewards in [vec![0.0], vec![-1.0, -1.0], vec![f64::MAX, f64::MIN, f64::MAX], vec![5e-324, 1e-300]] {
        let (page, _) = page(&episodes(rewards.iter().copied()));
        let plotted = plotted(&page);
        assert!(plotted.iter().all(|place| (0.0..=1010.0).contains(place)), "{rewards:?}: {plotted:?}");
        assert!(!page.text.contains("NaN") && !page.text.contains("inf "), "{rewards:?}");
    }
    let step = r#"{"event":"reward","trajectory":"a","seq":1,"value":1.7e308}"#.to_owned() + "\n";
    let (page, _) = page(&(begin("a") + &step.repeat(1000)));
    assert!(page.text.contains("reward 1.798e308"), "the sum stays a number");
}

#[test]
fn a_trajectory_that_begins_anew_or_is_told_in_pieces_is_all_there() {
    let ids: Vec<_> = (0..5000).map(|n| format!("t{n}")).collect();
    // More than are followed at a time, each in two pieces.
    let mut recording: String = ids.iter().map(|id| begin(id)).collect();
    recording.extend(ids.iter().map(|id| call(id, r#""arguments":{}"#)));
    recording += &begin("t4999");
    recording += &(begin(&"long".repeat(1000)) + &call(&"long".repeat(1000), r#""arguments":{}"#));
    let (page, summary) = page(&recording);
    assert_eq!(summary.events, 10_003);
    assert!(summary.trajectories > 5001, "{summary:?}");
    assert_eq!(page.count("details", "id", "e") + summary.left_out_events, summary.events);
    assert_eq!(page.count("details", "id", "t") + summary.left_out_trajectories, summary.trajectories);
}
