//! [`Policy`]: what is allowed, denied, or to be asked. [`Rules`]: one made of patterns and hints.

use std::fmt;

use super::pattern::Pattern;
use super::question::QuestionKind;
use super::subject::Subject;

/// What a policy says. Each with why: a few words for the audit log, and for who is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// It is done without asking.
    Allow(String),
    /// It is not done.
    Deny(String),
    /// The user is asked, unless the answer is known.
    Ask(String),
}

/// Decides about everything that is done in the name of the user. Asked before each call, on the thread that makes it; must not wait.
/// A panic in it denies.
pub trait Policy: Send + Sync {
    /// What may be done about `subject`.
    fn decide(&self, subject: &Subject<'_>) -> Decision;
}

impl<F: Fn(&Subject<'_>) -> Decision + Send + Sync> Policy for F {
    fn decide(&self, subject: &Subject<'_>) -> Decision {
        self(subject)
    }
}

/// Rules by the names of servers and tools, and, where there is none, hints.
///
/// In a pattern `*` is any text and `?` any character; it is compared with the name as a whole. A tool's is the name that its server
/// gave it. If several rules match, **deny wins over ask, and ask over allow**, in whatever order they were given.
///
/// | without a rule | |
/// |---|---|
/// | a tool of a server that is not [trusted](Self::trust) | is asked about, whatever it says of itself |
/// | of a trusted one, with `readOnlyHint: true` | runs, unless it says `openWorldHint: true` |
/// | of a trusted one, any other | is asked about |
/// | starting a server of a configuration; sampling; elicitation | is asked about |
///
/// ```
/// use tinymcp::host::consent::Rules;
///
/// let rules = Rules::new()
///     .trust("notes")
///     .allow("files", "read_*")
///     .ask("*", "*_password")
///     .deny("*", "delete_*")
///     .allow_start("notes");
/// # let _ = rules;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    trusted: Vec<Pattern>,
}

#[derive(Clone, Debug)]
struct Rule {
    effect: Effect,
    kind: QuestionKind,
    server: Pattern,
    /// Of calls alone.
    tool: Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    Allow,
    Ask,
    Deny,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            QuestionKind::Call => write!(f, "rule {} {}/{}", self.effect, self.server, self.tool),
            kind => write!(f, "rule {} {kind} {}", self.effect, self.server),
        }
    }
}

impl Rules {
    /// No rules, and no server is trusted: everything is asked about.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn rule(mut self, effect: Effect, kind: QuestionKind, server: &str, tool: &str) -> Self {
        self.rules.push(Rule { effect, kind, server: Pattern::new(server), tool: Pattern::new(tool) });
        self
    }

    /// Believes what these servers say of their tools.
    #[must_use]
    pub fn trust(mut self, server: &str) -> Self {
        self.trusted.push(Pattern::new(server));
        self
    }

    /// Runs these tools without asking.
    #[must_use]
    pub fn allow(self, server: &str, tool: &str) -> Self {
        self.rule(Effect::Allow, QuestionKind::Call, server, tool)
    }

    /// Asks about these tools, whatever else is said.
    #[must_use]
    pub fn ask(self, server: &str, tool: &str) -> Self {
        self.rule(Effect::Ask, QuestionKind::Call, server, tool)
    }

    /// Never runs these tools.
    #[must_use]
    pub fn deny(self, server: &str, tool: &str) -> Self {
        self.rule(Effect::Deny, QuestionKind::Call, server, tool)
    }

    /// Starts these servers of a configuration without asking. What they run is then what whoever writes the file wants.
    #[must_use]
    pub fn allow_start(self, server: &str) -> Self {
        self.rule(Effect::Allow, QuestionKind::Start, server, "*")
    }

    /// Never starts these servers of a configuration.
    #[must_use]
    pub fn deny_start(self, server: &str) -> Self {
        self.rule(Effect::Deny, QuestionKind::Start, server, "*")
    }

    /// Lets these servers have the language model's answers without asking.
    #[must_use]
    pub fn allow_sampling(self, server: &str) -> Self {
        let kinds = [QuestionKind::Sample, QuestionKind::SampleAnswer];
        kinds.into_iter().fold(self, |rules, kind| rules.rule(Effect::Allow, kind, server, "*"))
    }

    /// Never lets these servers have the language model's answers.
    #[must_use]
    pub fn deny_sampling(self, server: &str) -> Self {
        self.rule(Effect::Deny, QuestionKind::Sample, server, "*")
    }

    /// Lets these servers ask the user, without asking whether they may.
    #[must_use]
    pub fn allow_elicitation(self, server: &str) -> Self {
        self.rule(Effect::Allow, QuestionKind::Elicit, server, "*")
    }

    /// Never lets these servers ask the user.
    #[must_use]
    pub fn deny_elicitation(self, server: &str) -> Self {
        self.rule(Effect::Deny, QuestionKind::Elicit, server, "*")
    }

    fn by_hints(&self, subject: &Subject<'_>) -> Decision {
        let server = subject.server();
        let Some(tool) = subject.tool() else {
            return Decision::Ask(format!("{} is asked about", subject.kind()));
        };
        if !self.trusted.iter().any(|trusted| trusted.matches(server)) {
            return Decision::Ask("the server is not trusted".to_owned());
        }
        let hints = tool.annotations.as_ref();
        let reads = hints.is_some_and(|hints| hints.read_only_hint == Some(true));
        let is_open = hints.is_some_and(|hints| hints.open_world_hint == Some(true));
        match (reads, is_open) {
            (true, false) => Decision::Allow("a trusted server says that it only reads".to_owned()),
            (true, true) => Decision::Ask("it reaches the world outside".to_owned()),
            (false, _) => Decision::Ask("it does not say that it only reads".to_owned()),
        }
    }
}

impl Policy for Rules {
    fn decide(&self, subject: &Subject<'_>) -> Decision {
        let (kind, server) = (subject.kind(), subject.server());
        let tool = subject.tool().map_or("", |tool| tool.name.as_str());
        let matches =
            |rule: &&Rule| rule.kind == kind && rule.server.matches(server) && rule.tool.matches(tool);
        match self.rules.iter().filter(matches).max_by_key(|rule| rule.effect) {
            None => self.by_hints(subject),
            Some(rule) => match rule.effect {
                Effect::Allow => Decision::Allow(rule.to_string()),
                Effect::Ask => Decision::Ask(rule.to_string()),
                Effect::Deny => Decision::Deny(rule.to_string()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::protocol::{ToolAnnotations, ToolDefinition};

    fn tool(name: &str, read_only: Option<bool>, open_world: Option<bool>) -> ToolDefinition {
        let mut tool = ToolDefinition::new(name, Json::empty_object());
        let mut hints = ToolAnnotations::default();
        (hints.read_only_hint, hints.open_world_hint) = (read_only, open_world);
        tool.annotations = Some(hints);
        tool
    }

    fn word(decision: &Decision) -> &'static str {
        match decision {
            Decision::Allow(_) => "allow",
            Decision::Ask(_) => "ask",
            Decision::Deny(_) => "deny",
        }
    }

    #[test]
    fn deny_wins_and_hints_come_last() {
        let rules = Rules::new()
            .deny("*", "delete_*")
            .allow("files", "*")
            .ask("files", "write_*")
            .trust("t*")
            .deny_sampling("files");
        let (yes, no) = (Some(true), Some(false));
        for (server, name, reads, open, wanted) in [
            ("files", "read", None, None, "allow"),
            ("files", "write_all", yes, None, "ask"),
            ("files", "delete_all", yes, None, "deny"),
            ("trusted", "delete_all", yes, None, "deny"),
            ("trusted", "look", yes, None, "allow"),
            ("trusted", "look", yes, no, "allow"),
            ("trusted", "look", yes, yes, "ask"),
            ("trusted", "look", no, None, "ask"),
            ("trusted", "look", None, None, "ask"),
            ("other", "look", yes, no, "ask"),
        ] {
            let tool = tool(name, reads, open);
            let arguments = Json::empty_object();
            let decision = rules.decide(&Subject::call(server, "", &tool, &arguments));
            assert_eq!(word(&decision), wanted, "{server}/{name} {reads:?} {open:?}: {decision:?}");
        }
    }
}
