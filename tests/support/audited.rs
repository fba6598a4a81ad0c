//! A folder for a test's audit log, and what is in it.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use serde_json::Value;
use tinymcp::host::audit::{Account, AuditLog};
use tinymcp::json::Json;

/// A folder of its own, gone at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

pub(crate) fn folder() -> Folder {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let number = FOLDERS.fetch_add(1, SeqCst);
    let path = std::env::temp_dir().join(format!("tinymcp-audit-{}-{number}", std::process::id()));
    fs::create_dir_all(&path).expect("a folder");
    Folder(path)
}

impl Folder {
    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("audit.jsonl")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("text");
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is torn: {text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

pub(crate) fn accounts(path: &Path) -> Vec<Account> {
    AuditLog::read_all(path).expect("opens").explain().collect::<io::Result<_>>().expect("reads")
}

pub(crate) fn parsed(value: &Value) -> Json {
    Json::from(value)
}
