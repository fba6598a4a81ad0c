//! A trajectory as one plain JSON document: task, calls with their texts, answer, success, reward.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::value::RawValue;

use super::event::EventKind;
use super::format::microseconds;
use super::lines::invalid;
use super::model::{ToolCall, Trajectory};
use super::request_event::ToolCallRecord;
use crate::json::{FromJson, Json, Members};
use crate::protocol::{CallToolResult, Content};

#[derive(Serialize)]
struct Document<'a> {
    task_description: &'a str,
    tool_calls: Vec<Call<'a>>,
    final_answer: &'a str,
    success: bool,
    total_reward: f64,
}

#[derive(Serialize)]
struct Call<'a> {
    timestamp: f64,
    tool_name: &'a str,
    arguments: &'a Json,
    result: Texts<'a>,
    duration_ms: f64,
    is_error: bool,
}

/// The result of a call, as far as it is text.
#[derive(Serialize)]
pub(super) struct Texts<'a> {
    content: Vec<&'a str>,
}

impl<'a> Texts<'a> {
    /// The texts of the result; if there is none, why.
    pub(super) fn of(call: &'a ToolCallRecord) -> Self {
        let content = match (&call.result, &call.error) {
            (Some(result), _) => result.content.iter().filter_map(Content::as_text).collect(),
            (None, Some(error)) => vec![error.message.as_str()],
            (None, None) => Vec::new(),
        };
        Self { content }
    }
}

impl<'a> Call<'a> {
    #[expect(clippy::cast_precision_loss, reason = "104 days in nanoseconds are less than 2^53")]
    fn of(call: &ToolCall<'a>) -> Self {
        Self {
            timestamp: call.timestamp(),
            tool_name: &call.record.tool,
            arguments: &call.record.arguments,
            result: Texts::of(call.record),
            duration_ms: call.record.duration_ns as f64 / 1e6,
            is_error: call.record.is_error,
        }
    }
}

impl Trajectory {
    /// Writes it as one JSON document to a file, which is replaced as a whole: `task_description`, `tool_calls` (each with
    /// `timestamp` in seconds since 1970, `tool_name`, `arguments`, `result` as `{"content": [its texts]}`, `duration_ms`,
    /// `is_error`), `final_answer`, `success` and `total_reward`. Simple to read anywhere; pictures, structured content and events
    /// that are no calls are not in it. What is not known is `""`, `false` and `0.0`.
    ///
    /// ```
    /// use tinymcp::trajectory::Trajectory;
    ///
    /// let path = std::env::temp_dir().join(format!("tinymcp-doc-save-{}.json", std::process::id()));
    /// let mut trajectory = Trajectory::new("Tidy up");
    /// trajectory.set_success(true);
    /// trajectory.save_trajectory(&path)?;
    /// let read = Trajectory::load_trajectory(&path)?;
    /// assert_eq!((read.task_description(), read.success()), ("Tidy up", Some(true)));
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save_trajectory(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let document = Document {
            task_description: self.task_description(),
            tool_calls: self.tool_calls().map(|call| Call::of(&call)).collect(),
            final_answer: self.final_answer().unwrap_or_default(),
            success: self.success().unwrap_or_default(),
            total_reward: self.total_reward().unwrap_or_default(),
        };
        let path = path.as_ref();
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let part = path.with_file_name(name);
        let mut text = serde_json::to_vec_pretty(&document)?;
        text.push(b'\n');
        let mut file = fs::File::create(&part)?;
        file.write_all(&text)?;
        drop(file);
        fs::rename(&part, path)
    }

    /// Reads what [`save_trajectory`](Self::save_trajectory) wrote, or another program in the same shape.
    ///
    /// # Errors
    /// When the file cannot be read, or has another shape.
    pub fn load_trajectory(path: impl AsRef<Path>) -> io::Result<Self> {
        let text = fs::read_to_string(&path)?;
        let json = Json::parse(&text)?;
        Self::read_plain(&json).map_err(|e| invalid(format!("{}: {e}", path.as_ref().display())))
    }

    fn read_plain(json: &Json) -> Result<Self, crate::json::JsonError> {
        let mut members = Members::of(json.as_raw())?;
        let mut trajectory = Self::new(members.required::<String>("task_description")?);
        let calls = members.take("tool_calls").filter(|calls| calls.get() != "null");
        let calls: Option<Vec<PlainCall>> =
            calls.map(FromJson::from_json).transpose().map_err(|e| e.inside("tool_calls"))?;
        let calls = calls.unwrap_or_default();
        if let Some(first) = calls.first() {
            trajectory.begin_at(first.began_us());
        }
        for call in calls {
            let time_us = call.began_us();
            trajectory.push_at(time_us, EventKind::Call(call.record()));
        }
        if let Some(answer) = members.lenient::<String>("final_answer") {
            trajectory.set_final_answer(answer);
        }
        if let Some(success) = members.lenient("success") {
            trajectory.set_success(success);
        }
        if let Some(reward) = members.lenient("total_reward") {
            trajectory.set_total_reward(reward);
        }
        Ok(trajectory)
    }
}

struct PlainCall {
    timestamp: f64,
    tool_name: String,
    arguments: Json,
    texts: Vec<String>,
    duration_ms: f64,
    is_error: bool,
}

impl PlainCall {
    fn duration(&self) -> Duration {
        Duration::try_from_secs_f64((self.duration_ms * 1e6).round() / 1e9).unwrap_or_default()
    }

    fn began_us(&self) -> u64 {
        let at = Duration::try_from_secs_f64(self.timestamp).unwrap_or_default();
        let at = SystemTime::UNIX_EPOCH.checked_add(at).unwrap_or(SystemTime::UNIX_EPOCH);
        microseconds(at).saturating_sub(u64::try_from(self.duration().as_micros()).unwrap_or(u64::MAX))
    }

    fn record(self) -> ToolCallRecord {
        let duration = self.duration();
        let mut result = CallToolResult::new(self.texts.into_iter().map(Content::text).collect());
        result.is_error = self.is_error.then_some(true);
        ToolCallRecord::new(self.tool_name, self.arguments).with_result(result).with_duration(duration)
    }
}

impl FromJson for PlainCall {
    fn from_json(raw: &RawValue) -> Result<Self, crate::json::JsonError> {
        let mut members = Members::of(raw)?;
        let texts = members.take("result").map(texts).unwrap_or_default();
        Ok(Self {
            timestamp: members.lenient("timestamp").unwrap_or_default(),
            tool_name: members.required("tool_name")?,
            arguments: members.lenient("arguments").unwrap_or_else(Json::empty_object),
            texts,
            duration_ms: members.lenient("duration_ms").unwrap_or_default(),
            is_error: members.lenient("is_error").unwrap_or_default(),
        })
    }
}

/// The texts of a result: those in its `content`, which other programs may have left as blocks; of any other shape its JSON.
fn texts(result: &RawValue) -> Vec<String> {
    let whole = |json: &RawValue| String::from_json(json).unwrap_or_else(|_| json.get().to_owned());
    let text = |item: Json| {
        let block = Members::of(item.as_raw()).ok().and_then(|mut block| block.lenient("text"));
        block.unwrap_or_else(|| whole(item.as_raw()))
    };
    if result.get() == "null" {
        return Vec::new();
    }
    let content = Members::of(result).ok().and_then(|mut result| result.lenient::<Vec<Json>>("content"));
    content.map_or_else(|| vec![whole(result)], |items| items.into_iter().map(text).collect())
}
