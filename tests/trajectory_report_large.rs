//! The page of a recording that is far larger than a page may be: alone in its program, as the memory it looks at is that of all its
//! tests.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use tinymcp::trajectory::{Line, Lines, Report, ReportSummary};

const EPISODES: u64 = 600;
/// A recording of 100 MB, or less where all of it is slow.
const CALLS: u64 = if cfg!(debug_assertions) { 40_000 } else { 100_000 };
const LARGE: u64 = 4;

/// Half of the calls are of one trajectory, the others of many; some results have 8 MB.
fn write(path: &Path) {
    let mut file = BufWriter::new(File::create(path).expect("a file"));
    let text = "The loop counts lines, and the last one has no end. ".repeat(10);
    let large = "0123456789abcdef".repeat(512 << 10);
    let begin =
        |id: &str| format!(r#"{{"event":"begin","trajectory":"{id}","seq":0,"task":"Task of {id}"}}"#);
    let call = |id: &str, n: u64, text: &str| {
        format!(
            r#"{{"event":"call","trajectory":"{id}","seq":{n},"time_us":{},"at_ns":{},"server":"s{}","tool":"t{}","arguments":{{"n":9007199254740993}},"result":{{"content":[{{"type":"text","text":"{text}"}}]}},"is_error":{},"duration_ns":{n}}}"#,
            1_785_196_800_000_000 + n,
            n * 1000,
            n % 7,
            n % 30,
            n % 10 == 0
        )
    };
    writeln!(file, "{}", begin("long")).expect("written");
    for n in 1..=CALLS / 2 {
        writeln!(file, "{}", call("long", n, &text)).expect("written");
    }
    for episode in 0..EPISODES {
        let id = format!("e{episode}");
        writeln!(file, "{}", begin(&id)).expect("written");
        for n in 1..=CALLS / 2 / EPISODES + u64::from(episode < CALLS / 2 % EPISODES) {
            writeln!(file, "{}", call(&id, n, &text)).expect("written");
        }
        if episode % (EPISODES / LARGE) == 0 {
            writeln!(file, "{}", call(&id, 999, &large)).expect("written");
        }
        writeln!(file, r#"{{"event":"end","trajectory":"{id}","seq":9999,"success":true,"reward":1.5}}"#)
            .expect("written");
    }
    file.flush().expect("written");
}

/// The most memory this program ever had.
#[cfg(target_os = "linux")]
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("VmHWM");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

#[cfg(not(target_os = "linux"))]
fn peak_kib() -> u64 {
    0
}

fn with_commas(number: u64) -> String {
    if number < 1000 {
        number.to_string()
    } else {
        format!("{},{:03}", with_commas(number / 1000), number % 1000)
    }
}

/// What is not on the page is counted, and the page says it.
fn check(page: &str, summary: &ReportSummary) {
    let count = |what: &str| page.matches(what).count() as u64;
    assert_eq!((summary.page_bytes, summary.broken_lines), (page.len() as u64, 0));
    assert_eq!((summary.trajectories, summary.events), (EPISODES + 1, CALLS + LARGE + 2 * EPISODES + 1));
    assert_eq!(count("<details class=\"ep\"") + summary.left_out_trajectories, summary.trajectories);
    assert_eq!(count("<details class=\"ev") + summary.left_out_events, summary.events);
    assert!(summary.left_out_events > 0, "{summary:?}");
    for (number, what) in [
        (summary.left_out_events, "events counted in the figures but not shown"),
        (summary.left_out_trajectories, "trajectories counted in the figures but not shown"),
        (summary.cut_values, "values shown by the beginning alone"),
    ] {
        assert_eq!(page.contains(&format!("{} {what}", with_commas(number))), number > 0, "{number} {what}");
    }
    // The figures are of all of it.
    for figure in
        [with_commas(CALLS + LARGE), format!("Rewards of {EPISODES} episodes"), "9007199254740993".to_owned()]
    {
        assert!(page.contains(&figure), "{figure}");
    }
    assert!(page.ends_with("</html>\n"));
}

#[test]
fn a_page_has_at_most_20_mb_and_says_what_it_leaves_out() {
    let folder = std::env::temp_dir().join(format!("tinymcp-report-large-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (recording, path) = (folder.join("recording"), folder.join("page.html"));
    write(&recording);
    assert!(fs::metadata(&recording).expect("it is there").len() > 600 * CALLS + LARGE * 8_000_000);
    let before = peak_kib();
    let summary = Report::new().write_file(&recording, &path).expect("a page");
    let grown = peak_kib() - before;
    assert!((10_000_000..=20_000_000).contains(&summary.page_bytes), "{summary:?}");
    // The page and a few copies of one line.
    assert!(grown < 90_000, "{grown} KiB");
    let page = fs::read_to_string(&path).expect("UTF-8");
    check(&page, &summary);
    // The long one has not pushed the others out.
    assert_eq!(summary.left_out_trajectories, 0, "{summary:?}");
    // Those of which something is left out say where it is.
    let (_, said) =
        page.split_once(" not shown, as the page is limited: the records from byte ").expect("said");
    let offset: u64 = said.split(' ').next().and_then(|offset| offset.parse().ok()).expect("an offset");
    let mut file = File::open(&recording).expect("a file");
    file.seek(SeekFrom::Start(offset)).expect("a place in it");
    let line = Lines::new(BufReader::new(file)).next().expect("a line").expect("of a recording");
    assert!(matches!(line.line, Line::Event(event) if event.trajectory == "long"));

    // As small as it may be, and of each value all that has room.
    let mut page = Vec::new();
    let report = Report::new().with_max_bytes(0).with_value_bytes(usize::MAX);
    let lines = BufReader::new(File::open(&recording).expect("a file"));
    let summary = report.write(lines, &mut page).expect("a page");
    assert!(summary.page_bytes <= 3_000_000, "{summary:?}");
    check(&String::from_utf8(page).expect("UTF-8"), &summary);
    fs::remove_dir_all(&folder).expect("removed");
}
