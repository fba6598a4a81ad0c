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
    /// It is done without asking, unless the user has agreed to a tool of this name that was described in another way: what somebody
    /// has looked at must not turn into something else without being seen. For what servers say of themselves.
    AllowUnlessChanged(String),
    /// It is not done.
    Deny(String),
    /// The user is asked, unless the answer is known.
    Ask(String),
}

/// Decides about everything that is done in the name of the user. Asked before each call, on the thread that makes it; must not wait.
/// A panic in it denies. Where a question had to wait for its turn, it is asked once more before that is shown.
///
/// A closure is one:
///
/// ```
/// use tinymcp::host::consent::{Decision, Policy, Rules, Subject};
///
/// let rules = Rules::new().allow("files", "*");
/// let policy = move |subject: &Subject<'_>| match subject {
///     Subject::Call { arguments, .. } if arguments.as_str().contains("/etc/") => {
///         Decision::Deny("system files are nobody's business".into())
///     }
///     other => rules.decide(other),
/// };
/// # let _ = tinymcp::host::Host::builder().policy(policy);
/// ```
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
/// Servers and tools are named by a [`Pattern`]: in a text `*` is any text and `?` any character. A tool's name is the one that its server
/// gave it. If several rules match, **deny wins over ask, and ask over allow**, in whatever order they were given. What is to be asked
/// is done without asking where the user has agreed to it before, for the session or for always.
///
/// | without a rule | |
/// |---|---|
/// | a tool of a server that is not [trusted](Self::trust) | is asked about, whatever it says of itself |
/// | of a trusted one, with `readOnlyHint: true` | runs, unless it says `openWorldHint: true`, or the user has agreed to it as it was before |
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

const SAMPLING: [QuestionKind; 2] = [QuestionKind::Sample, QuestionKind::SampleAnswer];
const ELICITATION: [QuestionKind; 2] = [QuestionKind::Elicit, QuestionKind::ElicitUrl];

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

    fn rule(mut self, effect: Effect, kind: QuestionKind, server: Pattern, tool: Pattern) -> Self {
        self.rules.push(Rule { effect, kind, server, tool });
        self
    }

    /// Of everything else than calls.
    fn rules(self, effect: Effect, kinds: &[QuestionKind], server: &Pattern) -> Self {
        kinds.iter().fold(self, |rules, kind| rules.rule(effect, *kind, server.clone(), "*".into()))
    }

    /// Believes what these servers say of their tools.
    #[must_use]
    pub fn trust(mut self, server: impl Into<Pattern>) -> Self {
        self.trusted.push(server.into());
        self
    }

    /// Runs these tools without asking, whatever becomes of them: a server may describe a tool of this name in another way later.
    #[must_use]
    pub fn allow(self, server: impl Into<Pattern>, tool: impl Into<Pattern>) -> Self {
        self.rule(Effect::Allow, QuestionKind::Call, server.into(), tool.into())
    }

    /// Asks about these tools, also where another rule allows them.
    #[must_use]
    pub fn ask(self, server: impl Into<Pattern>, tool: impl Into<Pattern>) -> Self {
        self.rule(Effect::Ask, QuestionKind::Call, server.into(), tool.into())
    }

    /// Never runs these tools.
    #[must_use]
    pub fn deny(self, server: impl Into<Pattern>, tool: impl Into<Pattern>) -> Self {
        self.rule(Effect::Deny, QuestionKind::Call, server.into(), tool.into())
    }

    /// Has nothing to do with these servers: none is started, called or answered.
    #[must_use]
    pub fn deny_server(self, server: impl Into<Pattern>) -> Self {
        self.rules(Effect::Deny, &QuestionKind::ALL, &server.into())
    }

    /// Starts these servers of a configuration without asking. What they run is then what whoever writes the file wants.
    #[must_use]
    pub fn allow_start(self, server: impl Into<Pattern>) -> Self {
        self.rules(Effect::Allow, &[QuestionKind::Start], &server.into())
    }

    /// Never starts these servers of a configuration.
    #[must_use]
    pub fn deny_start(self, server: impl Into<Pattern>) -> Self {
        self.rules(Effect::Deny, &[QuestionKind::Start], &server.into())
    }

    /// Lets these servers have the language model's answers without asking.
    #[must_use]
    pub fn allow_sampling(self, server: impl Into<Pattern>) -> Self {
        self.rules(Effect::Allow, &SAMPLING, &server.into())
    }

    /// Never lets these servers have the language model's answers.
    #[must_use]
    pub fn deny_sampling(self, server: impl Into<Pattern>) -> Self {
        self.rules(Effect::Deny, &SAMPLING, &server.into())
    }

    /// Lets these servers ask the user, by form or by address, without asking whether they may.
    #[must_use]
    pub fn allow_elicitation(self, server: impl Into<Pattern>) -> Self {
        self.rules(Effect::Allow, &ELICITATION, &server.into())
    }

    /// Never lets these servers ask the user.
    #[must_use]
    pub fn deny_elicitation(self, server: impl Into<Pattern>) -> Self {
        self.rules(Effect::Deny, &ELICITATION, &server.into())
    }

    fn by_hints(&self, subject: &Subject<'_>) -> Decision {
        let server = subject.server();
        let Some(tool) = subject.tool() else {
            return Decision::Ask(format!("no rule says whether to allow {}", subject.kind()));
        };
        if !self.trusted.iter().any(|trusted| trusted.matches(server)) {
            return Decision::Ask("the server is not trusted".to_owned());
        }
        let hints = tool.annotations.as_ref();
        let reads = hints.is_some_and(|hints| hints.read_only_hint == Some(true));
        let is_open = hints.is_some_and(|hints| hints.open_world_hint == Some(true));
        match (reads, is_open) {
            (true, false) => {
                Decision::AllowUnlessChanged("a trusted server says that it only reads".to_owned())
            }
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
    use crate::host::config::ServerEntry;
    use crate::json::Json;
    use crate::protocol::{
        CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitUrlParams, RequestedSchema,
        ToolAnnotations, ToolDefinition,
    };

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
            Decision::AllowUnlessChanged(_) => "hint",
            Decision::Ask(_) => "ask",
            Decision::Deny(_) => "deny",
        }
    }

    #[test]
    fn other_kinds_have_rules_of_their_own() {
        let rules = Rules::new()
            .allow("*", "*")
            .trust("*")
            .allow_start("a*")
            .deny_start("ab")
            .allow_sampling("a")
            .allow_elicitation("b")
            .deny_server("bad");
        let tool = tool("look", None, None);
        let arguments = Json::empty_object();
        let params = CreateMessageParams::new(1).with_user("?");
        let result = CreateMessageResult::text("m", "!");
        let form = ElicitFormParams::new("?", RequestedSchema::new());
        let url = ElicitUrlParams::new("?", "https://a.example");
        for (server, wanted) in [
            ("a", ["allow", "allow", "allow", "allow", "ask", "ask"]),
            ("ab", ["deny", "allow", "ask", "ask", "ask", "ask"]),
            ("b", ["ask", "allow", "ask", "ask", "allow", "allow"]),
            ("bad", ["deny"; 6]),
        ] {
            let entry = ServerEntry::command(server, "x", [""; 0]);
            let subjects = [
                Subject::start(&entry, "{}"),
                Subject::call(server, "", &tool, &arguments),
                Subject::sample(server, "", &params),
                Subject::sample_answer(server, "", &result),
                Subject::elicit(server, "", &form),
                Subject::elicit_url(server, "", &url),
            ];
            assert_eq!(subjects.map(|subject| word(&rules.decide(&subject))), wanted, "{server}");
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
            ("trusted", "look", yes, None, "hint"),
            ("trusted", "look", yes, no, "hint"),
            ("trusted", "look", None, no, "ask"),
            ("trusted", "look", None, yes, "ask"),
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
