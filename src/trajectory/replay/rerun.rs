//! [`rerun`]: the requests of a trajectory, made again.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::difference::{Difference, difference, differences};
use super::ignored::Ignored;
use super::rerun_report::{MAX_DIFFERENCES, Rerun, RerunOutcome, RerunReport, ToolsThen};
use super::script::{Answer, Kind, Recorded, Script};
use crate::client::{Address, CallOptions, Caller};
use crate::error::Error;
use crate::json::{Json, Object};
use crate::protocol::ToolDefinition;
use crate::tool::Arguments;
use crate::trajectory::failure::{ErrorKind, RecordedError};
use crate::trajectory::model::Trajectory;
use crate::trajectory::redaction::Redaction;

type FillIn = dyn Fn(&str, &Json) -> Option<Json> + Send + Sync;
type Only = dyn Fn(&str, &Json) -> bool + Send + Sync;

/// How a trajectory is run again, and what may be different then.
///
/// By default every request is made, one after the other in the order in which they began, and everything in their results counts
/// but `_meta` and what the protocol itself puts there (`resultType`, `ttlMs`, `cacheScope`).
#[derive(Clone, Default)]
pub struct RerunOptions {
    ignored: Ignored,
    redaction: Redaction,
    fill_in: Option<Arc<FillIn>>,
    only: Option<Arc<Only>>,
    call_options: CallOptions,
    compares_meta: bool,
    stops: bool,
}

impl RerunOptions {
    /// Everything is run and compared.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ignores what stands at this JSON pointer of a result, and what is below it; `*` is any one part and `**` any number of
    /// them. `/structuredContent/time` is also ignored where a text repeats the structured content, and `/error/message` is the
    /// text of an error.
    ///
    /// ```
    /// use tinymcp::trajectory::RerunOptions;
    ///
    /// let options = RerunOptions::new().ignore("/structuredContent/took_ms").ignore("/**/created");
    /// # let _ = options;
    /// ```
    #[must_use]
    pub fn ignore(mut self, pointer: &str) -> Self {
        self.ignored.add_pattern(pointer);
        self
    }

    /// Ignores the differences for which `check` returns true, given the tool, prompt or address.
    #[must_use]
    pub fn ignore_if(mut self, check: impl Fn(&str, &Difference) -> bool + Send + Sync + 'static) -> Self {
        self.ignored.add_check(check);
        self
    }

    /// Compares results after `redaction`, with which the trajectory was recorded.
    #[must_use]
    pub fn with_redaction(mut self, redaction: Redaction) -> Self {
        self.redaction = redaction;
        self
    }

    /// Sends what `fill_in` gives for a tool or prompt and its recorded arguments; `None` is as they were. Without it requests
    /// from which a redaction took something are not made.
    #[must_use]
    pub fn fill_in(mut self, fill_in: impl Fn(&str, &Json) -> Option<Json> + Send + Sync + 'static) -> Self {
        self.fill_in = Some(Arc::new(fill_in));
        self
    }

    /// Makes only the requests for which `only` returns true, given the tool, prompt or address, and the recorded arguments: those
    /// that change nothing, for example.
    #[must_use]
    pub fn only(mut self, only: impl Fn(&str, &Json) -> bool + Send + Sync + 'static) -> Self {
        self.only = Some(Arc::new(only));
        self
    }

    /// Makes the requests with these options.
    #[must_use]
    pub fn with_call_options(mut self, options: CallOptions) -> Self {
        self.call_options = options;
        self
    }

    /// Compares `_meta` and what the protocol puts beside it as well.
    #[must_use]
    pub fn compare_meta(mut self) -> Self {
        self.compares_meta = true;
        self
    }

    /// Makes no further request after the first that came out differently.
    #[must_use]
    pub fn stop_at_first(mut self) -> Self {
        self.stops = true;
        self
    }
}

impl fmt::Debug for RerunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RerunOptions")
            .field("ignored", &self.ignored)
            .field("redaction", &self.redaction)
            .field("compares_meta", &self.compares_meta)
            .field("stops", &self.stops)
            .finish_non_exhaustive()
    }
}

/// Makes the requests of a trajectory again, and reports what comes out differently.
///
/// **The tools do their work once more**, with all its effects. Calls that were denied then are not made, nor those from which a
/// redaction took something, unless [`fill_in`](RerunOptions::fill_in) puts it back.
///
/// ```
/// use serde_json::json;
/// use tinymcp::protocol::CallToolResult;
/// use tinymcp::trajectory::{RerunOptions, ToolCallRecord, Trajectory, rerun};
/// use tinymcp::{Server, ToolRegistry, testing, tool};
///
/// let mut recorded = Trajectory::new("add up");
/// for (b, sum) in [(2, "3"), (3, "4")] {
///     recorded.push(ToolCallRecord::new("add", json!({"a": 1, "b": b})).with_result(CallToolResult::text(sum)));
/// }
///
/// let wrong = ToolRegistry::new().with(tool! { fn add(a: i64, b: i64) -> i64 { a + b / 2 * 2 } })?;
/// let live = testing::pair(&Server::builder("calculator", "2.0.0").tools(wrong).build()?)?;
/// let report = rerun(&recorded, &live.handle(), &RerunOptions::new());
/// assert_eq!((report.equal(), report.different()), (1, 1));
/// assert!(report.to_string().contains(r#"add: /content/0/text: recorded "4", now "3""#), "{report}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn rerun(trajectory: &Trajectory, caller: &dyn Caller, options: &RerunOptions) -> RerunReport {
    let mut script = Script::default();
    script.add(trajectory.events(), |key| trajectory.definitions(key));
    let mut report = RerunReport { tools: tools(trajectory, caller, options), ..RerunReport::default() };
    let mut is_over = false;
    for recorded in &script.requests {
        let one = match not_run(recorded, options, is_over) {
            Some(why) => Rerun::new(recorded, RerunOutcome::NotRun(why)),
            None => run(recorded, caller, options),
        };
        is_over |= options.stops && one.outcome.is_different();
        report.requests.push(one);
    }
    report
}

/// Why a request is not made again.
fn not_run(recorded: &Recorded, options: &RerunOptions, is_over: bool) -> Option<String> {
    if is_over {
        return Some("an earlier one came out differently".to_owned());
    }
    if options.only.as_ref().is_some_and(|only| !only(&recorded.name, &recorded.arguments)) {
        return Some("left out".to_owned());
    }
    if let Answer::Failed(RecordedError { kind: ErrorKind::Denied, message, .. }) = &*recorded.answer {
        return Some(format!("it was denied: {message}"));
    }
    let is_redacted =
        recorded.arguments.as_str().contains("[redacted]") || recorded.name.contains("[redacted]");
    let is_filled_in =
        || options.fill_in.as_ref().is_some_and(|fill| fill(&recorded.name, &recorded.arguments).is_some());
    (is_redacted && !is_filled_in()).then(|| "something was kept out of its recording".to_owned())
}

fn run(recorded: &Recorded, caller: &dyn Caller, options: &RerunOptions) -> Rerun {
    let filled = options.fill_in.as_ref().and_then(|fill| fill(&recorded.name, &recorded.arguments));
    let arguments = filled.as_ref().unwrap_or(&recorded.arguments);
    let started = Instant::now();
    let now = ask(recorded, arguments, caller, &options.call_options);
    let took = started.elapsed();
    let outcome = match (&*recorded.answer, &now) {
        (Answer::Failed(then), Err(error)) => compare_errors(recorded, then, error, options),
        (Answer::Failed(then), Ok(_)) => RerunOutcome::WorksNow(then.clone()),
        (_, Err(error)) => RerunOutcome::FailsNow(RecordedError::from(error)),
        (then, Ok(now)) => compare(recorded, &answer_json(then), now, options),
    };
    Rerun { took: Some(took), ..Rerun::new(recorded, outcome) }
}

fn ask(
    recorded: &Recorded,
    arguments: &Json,
    caller: &dyn Caller,
    options: &CallOptions,
) -> Result<Json, Error> {
    let name = recorded.name.as_str();
    // A server's name is a matter of who calls it: one with a single server does not look at it.
    let address = Address { server: recorded.server.as_deref(), ..Address::from(name) };
    match recorded.kind {
        Kind::Call => {
            let arguments =
                Arguments::from_raw(arguments.as_raw()).map_err(|e| Error::InvalidUse(e.to_string()))?;
            caller.call(name, arguments, options).map(|result| json(&result))
        }
        Kind::Read => caller.read_resource(address, options).map(|result| json(&result)),
        Kind::Prompt => caller.get_prompt(address, arguments, options).map(|result| json(&result)),
    }
}

fn answer_json(answer: &Answer) -> Json {
    match answer {
        Answer::Call(result) => json(result),
        Answer::Read(result) => json(result),
        Answer::Prompt(result) => json(result),
        Answer::Failed(error) => json(error),
    }
}

fn json<T: Serialize>(value: &T) -> Json {
    // Wire types are JSON.
    Json::new(value).unwrap_or_else(|_| Json::null())
}

/// Where results differ.
fn compare(recorded: &Recorded, then: &Json, now: &Json, options: &RerunOptions) -> RerunOutcome {
    let redacted = |json: &Json| {
        let json = match options.redaction.is_empty() {
            true => json.clone(),
            false => options.redaction.apply("result", json),
        };
        if options.compares_meta { json } else { without_meta(json) }
    };
    outcome(recorded, &redacted(then), &redacted(now), options)
}

fn compare_errors(
    recorded: &Recorded,
    then: &RecordedError,
    now: &Error,
    options: &RerunOptions,
) -> RerunOutcome {
    let of = |error: &RecordedError| {
        let json = match options.redaction.is_empty() {
            true => json(error),
            false => options.redaction.apply("error", &json(error)),
        };
        let mut whole = Object::new();
        whole.insert("error", &json);
        Json::from(whole)
    };
    outcome(recorded, &of(then), &of(&RecordedError::from(now)), options)
}

fn outcome(recorded: &Recorded, then: &Json, now: &Json, options: &RerunOptions) -> RerunOutcome {
    let mut found = Vec::new();
    differences(then.as_raw(), now.as_raw(), &mut |pointer, one, other| {
        let one = difference(pointer, one, other);
        if !options.ignored.takes(&recorded.name, &one) {
            found.push(one);
        }
        found.len() < MAX_DIFFERENCES
    });
    if found.is_empty() { RerunOutcome::Equal } else { RerunOutcome::Different(found) }
}

/// What a result says beside what the protocol has to say.
fn without_meta(result: Json) -> Json {
    let Ok(mut members) = result.to::<Object>() else { return result };
    for name in ["_meta", "resultType", "ttlMs", "cacheScope"] {
        members.remove(name);
    }
    members.into()
}

/// How the tools that are offered differ.
fn tools(trajectory: &Trajectory, caller: &dyn Caller, options: &RerunOptions) -> ToolsThen {
    let Some(then) = trajectory.tools() else { return ToolsThen::default() };
    let now = match caller.list_tools(&options.call_options) {
        Ok(list) => list.items,
        Err(error) => {
            return ToolsThen { error: Some(RecordedError::from(&error)), ..ToolsThen::default() };
        }
    };
    let by_name = |tools: &[ToolDefinition]| -> BTreeMap<String, Json> {
        tools.iter().map(|tool| (tool.name.clone(), without_meta(json(tool)))).collect()
    };
    let redacted = |tools| match options.redaction.definitions(tools) {
        Some(tools) => by_name(&tools),
        None => BTreeMap::new(),
    };
    let (then, now) = (redacted(then), redacted(&now));
    let mut tools = ToolsThen::default();
    for (name, definition) in &then {
        match now.get(name) {
            None => tools.only_recorded.push(name.clone()),
            Some(other) => {
                let (found, _) =
                    super::difference::collect(definition.as_raw(), other.as_raw(), MAX_DIFFERENCES);
                if !found.is_empty() {
                    tools.changed.insert(name.clone(), found);
                }
            }
        }
    }
    tools.only_now = now.into_keys().filter(|name| !then.contains_key(name)).collect();
    tools
}
