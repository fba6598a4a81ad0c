//! The page of a recording, read more strictly than a browser reads it. What it does in a browser: `tests/report`.

#[path = "../report/hostile.rs"]
mod hostile;
mod markup;
mod sha256;
mod shown;

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use tinymcp::protocol::Content;
use tinymcp::trajectory::{EventKind, Line, Report, report};

use markup::Page;

/// A folder that is gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tinymcp-report-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn hostile_content_is_text_wherever_it_stands() {
    let folder = Folder::new("hostile");
    hostile::write(&folder.file("recording"));
    let summary = report(folder.file("recording"), folder.file("page.html")).expect("a page");
    assert_eq!((summary.broken_lines, summary.left_out_events, summary.is_torn), (0, 0, false));
    assert_eq!(summary.trajectories, hostile::ATTACKS.len() as u64 + hostile::EPISODES);

    // No element and no attribute is there that the report did not write; see `markup`.
    let html = fs::read_to_string(folder.file("page.html")).expect("UTF-8");
    assert_eq!(summary.page_bytes, html.len() as u64);
    let page = Page::read(&html);
    assert_eq!(page.count("details", "id", "e"), summary.events);
    for (element, name, value) in &page.attributes {
        assert!(!value.contains("attack"), "<{element} {name}={value:?}>");
    }
    // And all of it is there to be read, in every place that has it.
    for attack in hostile::ATTACKS {
        let shown = attack.replace('\u{2028}', "U+2028").replace('\u{2029}', "U+2029");
        let in_json = serde_json::to_string(attack).expect("a string").replace(['\u{2028}', '\u{2029}'], "");
        let count = page.text.matches(&shown).count() + page.text.matches(in_json.trim_matches('"')).count();
        assert!(count >= 60, "{attack} is there {count} times");
    }
}

#[test]
fn the_page_may_load_nothing_and_run_nothing_but_its_own_script() {
    let mut html = Vec::new();
    Report::new().write(&b""[..], &mut html).expect("a page");
    let page = Page::read(std::str::from_utf8(&html).expect("UTF-8"));
    let wanted = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        sha256::base64(&page.script),
        sha256::base64(&page.style)
    );
    let policy = page.attributes.iter().find(|(_, _, value)| value.starts_with("default-src"));
    assert_eq!(
        policy.expect("a policy").2,
        wanted,
        "the digests in page.rs are those of page.js and page.css"
    );
    for beyond in ["://", "url(", "@import", "src=", "innerHTML", "eval(", "fetch("] {
        assert!(!String::from_utf8_lossy(&html).contains(beyond), "{beyond} is on the page");
    }
    for (element, name, _) in &page.attributes {
        assert!(!name.starts_with("on") && name != "style", "<{element} {name}>");
    }
}

#[test]
fn a_large_value_is_its_beginning_its_length_and_where_its_record_is() {
    let folder = Folder::new("large");
    hostile::write(&folder.file("recording"));
    let summary = report(folder.file("recording"), folder.file("page.html")).expect("a page");
    // And what stands for bytes in each of the attacks, where it is long.
    let blobs = 3 * hostile::ATTACKS.iter().filter(|attack| attack.chars().count() > 64).count() as u64;
    assert_eq!(summary.cut_values, 2 + blobs);
    assert!(summary.page_bytes < 2_000_000, "{summary:?}");
    let page = Page::read(&fs::read_to_string(folder.file("page.html")).expect("UTF-8"));
    assert!(page.text.contains("6,291,456 bytes in 8,388,608 characters of base64, in the record at byte "));
    assert!(page.text.contains(" values shown by the beginning alone"));
    let (_, said) = page
        .text
        .split_once(" of 8,500,000 bytes. The whole is in the recording, in the record at byte ")
        .expect("said");
    let (offset, rest) = said.split_once(" (").expect("an offset");
    let (length, _) = rest.split_once(" bytes long).").expect("a length");
    let length: usize = length.replace(',', "").parse().expect("a number");

    let mut recording = File::open(folder.file("recording")).expect("it is there");
    recording.seek(SeekFrom::Start(offset.parse().expect("a number"))).expect("a place in it");
    let mut line = vec![0; length];
    recording.read_exact(&mut line).expect("as long as that");
    let Ok(Line::Event(event)) = Line::parse(std::str::from_utf8(&line).expect("UTF-8")) else {
        panic!("no event")
    };
    let EventKind::Call(call) = event.kind else { panic!("no call") };
    let content = call.result.expect("a result").content;
    assert!(
        matches!(&content[..], [Content::Image(image), Content::Text(text)] if image.data.len() == 8 << 20 && text.text.len() == 8_500_000)
    );
}

#[test]
fn what_cannot_be_read_or_written_is_named_and_costs_nothing() {
    let folder = Folder::new("failing");
    let (recording, page) = (folder.file("recording"), folder.file("page.html"));
    let fails = |from: &PathBuf, to: &PathBuf| report(from, to).expect_err("an error");

    let error = fails(&recording, &page);
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("recording") && !page.exists(), "{error}");

    fs::write(&recording, "").expect("written");
    let error = fails(&recording, &folder.file("missing/page.html"));
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("page.html"), "{error}");
    // A folder is no file.
    let error = fails(&recording, &folder.0);
    assert!(error.to_string().contains(&folder.0.display().to_string()), "{error}");

    fs::write(&page, "the page before").expect("written");
    for (text, why) in [
        ("no recording\n", "not a recording"),
        ("{\"format\":\"tinymcp-trajectory\",\"version\":99}\n", "version 99"),
    ] {
        fs::write(&recording, text).expect("written");
        let error = fails(&recording, &page);
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains(why) && error.to_string().contains("recording"), "{error}");
        assert_eq!(fs::read_to_string(&page).expect("kept"), "the page before");
    }

    let line = "{\"event\":\"begin\",\"trajectory\":\"7\",\"seq\":0,\"task\":\"x\"}\n";
    fs::write(&recording, line).expect("written");
    let error =
        fails(&recording, &folder.file("../").join(folder.0.file_name().expect("a name")).join("recording"));
    assert!(error.to_string().contains("would replace its recording"), "{error}");
    assert_eq!(fs::read_to_string(&recording).expect("kept"), line);
    // What is there otherwise is replaced.
    report(&recording, &page).expect("a page");
    assert!(fs::read_to_string(&page).expect("it is there").starts_with("<!DOCTYPE html>"));
}
