//! What clients and servers say they can do.
//!
//! Everything is absent by default. Reading is lenient: a capability that is oddly written is still declared, and
//! what cannot be read never costs the handshake.

use crate::json::{FromJson, Json, Object, wire};
use crate::jsonrpc::{ErrorCode, ErrorObject};

use super::task::legacy::TasksCapability;

wire::wire! {
    /// What a client can do for servers.
    #[derive(Default)]
    pub struct ClientCapabilities {
        /// Non-standard features, by name.
        pub experimental: Option<Object> = "experimental" or present,
        /// It has a list of root folders.
        pub roots: Option<RootsCapability> = "roots" or present,
        /// It can ask its language model.
        pub sampling: Option<SamplingCapability> = "sampling" or present,
        /// It can ask its user. From 2025-06-18 on.
        pub elicitation: Option<ElicitationCapability> = "elicitation" or present,
        /// It runs requests as tasks. Revision 2025-11-25 only.
        pub tasks: Option<TasksCapability> = "tasks" or present,
        /// Extensions with their settings, by identifier. From 2026-07-28 on.
        pub extensions: Option<Object> = "extensions" or present,
    }

    /// About a client's root folders.
    #[derive(Default)]
    pub struct RootsCapability {
        /// It tells when the list changes. Up to 2025-11-25.
        pub list_changed: Option<bool> = "listChanged",
    }

    /// About a client's language model. The members are from 2025-11-25 on.
    #[derive(Default)]
    pub struct SamplingCapability {
        /// It can add context of other servers to a request.
        pub context: Option<Object> = "context" or present,
        /// The model may be given tools.
        pub tools: Option<Object> = "tools" or present,
    }

    /// How a client can ask its user. The members are from 2025-11-25 on.
    #[derive(Default)]
    pub struct ElicitationCapability {
        /// With a form.
        pub form: Option<Object> = "form" or present,
        /// By sending the user to a URL.
        pub url: Option<Object> = "url" or present,
    }

    /// What a server offers.
    #[derive(Default)]
    pub struct ServerCapabilities {
        /// Non-standard features, by name.
        pub experimental: Option<Object> = "experimental" or present,
        /// It sends log messages.
        pub logging: Option<Object> = "logging" or present,
        /// It completes arguments. From 2025-03-26 on.
        pub completions: Option<Object> = "completions" or present,
        /// It has prompts.
        pub prompts: Option<PromptsCapability> = "prompts" or present,
        /// It has resources.
        pub resources: Option<ResourcesCapability> = "resources" or present,
        /// It has tools.
        pub tools: Option<ToolsCapability> = "tools" or present,
        /// It runs requests as tasks. Revision 2025-11-25 only.
        pub tasks: Option<TasksCapability> = "tasks" or present,
        /// Extensions with their settings, by identifier. From 2026-07-28 on.
        pub extensions: Option<Object> = "extensions" or present,
    }

    /// About a server's prompts.
    #[derive(Default)]
    pub struct PromptsCapability {
        /// It tells when the list changes.
        pub list_changed: Option<bool> = "listChanged",
    }

    /// About a server's resources.
    #[derive(Default)]
    pub struct ResourcesCapability {
        /// It tells when a resource changes that a client subscribed to.
        pub subscribe: Option<bool> = "subscribe",
        /// It tells when the list changes.
        pub list_changed: Option<bool> = "listChanged",
    }

    /// About a server's tools.
    #[derive(Default)]
    pub struct ToolsCapability {
        /// It tells when the list changes.
        pub list_changed: Option<bool> = "listChanged",
    }

    /// The data of error [`MISSING_REQUIRED_CLIENT_CAPABILITY`](ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY). From
    /// 2026-07-28 on.
    ///
    /// ```
    /// use tinymcp::ErrorObject;
    /// use tinymcp::protocol::{ClientCapabilities, MissingRequiredClientCapability, RootsCapability};
    ///
    /// let roots = ClientCapabilities::default().with_roots(RootsCapability::default());
    /// let missing = MissingRequiredClientCapability::new(roots);
    /// let error = ErrorObject::from(missing.clone());
    /// assert_eq!(error.to_string(), "the client lacks a required capability: roots (-32021)");
    /// assert_eq!(MissingRequiredClientCapability::of(&error), Some(missing));
    /// ```
    pub struct MissingRequiredClientCapability {
        /// What the client must be able to do.
        pub required_capabilities: ClientCapabilities = "requiredCapabilities",
    }
}

impl MissingRequiredClientCapability {
    /// The client must be able to do all of `required_capabilities`.
    #[must_use]
    pub fn new(required_capabilities: ClientCapabilities) -> Self {
        Self { required_capabilities, extra: Object::new() }
    }

    /// What `error` finds missing; `None` if it is another error, or does not say it.
    #[must_use]
    pub fn of(error: &ErrorObject) -> Option<Self> {
        let data =
            error.data.as_ref().filter(|_| error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY)?;
        Self::from_json(data.as_raw())
            .map_err(|e| log::warn!("ignored the data of error {}: {e}", error.code))
            .ok()
    }
}

impl From<MissingRequiredClientCapability> for ErrorObject {
    fn from(missing: MissingRequiredClientCapability) -> Self {
        let mut data = Object::new();
        data.insert("requiredCapabilities", &missing.required_capabilities);
        let named: Object = data.get("requiredCapabilities").unwrap_or_default();
        let names: Vec<_> = named.iter().map(|(name, _)| name).collect();
        let message = format!("the client lacks a required capability: {}", names.join(", "));
        for (name, value) in missing.extra.iter() {
            data.insert(name, value);
        }
        Self::new(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, message).with_data(Json::from(data))
    }
}

impl ElicitationCapability {
    /// Whether forms are possible. They are also what a client means that names no way at all.
    #[must_use]
    pub fn allows_form(&self) -> bool {
        // spec: 2026-07-28 client/elicitation#capabilities
        self.form.is_some() || self.url.is_none()
    }

    /// Whether the user can be sent to a URL.
    #[must_use]
    pub fn allows_url(&self) -> bool {
        self.url.is_some()
    }
}

macro_rules! list_changed {
    ($($name:ident)*) => {$(
        impl $name {
            /// The capability of telling when the list changes, or of not telling.
            #[must_use]
            pub fn new(list_changed: bool) -> Self {
                Self { list_changed: list_changed.then_some(true), ..Self::default() }
            }

            /// Whether it tells when the list changes.
            #[must_use]
            pub fn list_changed(&self) -> bool {
                self.list_changed == Some(true)
            }
        }
    )*};
}
macro_rules! extensions {
    ($($name:ident)*) => {$(
        impl $name {
            /// Adds the extension `identifier` with its `settings`; most have none.
            #[must_use]
            pub fn with_extension(mut self, identifier: &str, settings: &Object) -> Self {
                self.extensions.get_or_insert_default().insert(identifier, settings);
                self
            }

            /// Whether the extension `identifier` is declared, with whatever settings.
            #[must_use]
            pub fn has_extension(&self, identifier: &str) -> bool {
                let settings = self.extensions.as_ref().and_then(|all| all.json(identifier));
                settings.is_some_and(|settings| !matches!(settings.as_str(), "null" | "false"))
            }
        }
    )*};
}
extensions!(ClientCapabilities ServerCapabilities);

list_changed!(RootsCapability PromptsCapability ResourcesCapability ToolsCapability);

wire::builders!(ClientCapabilities {
    /// Adds non-standard features.
    with_experimental => experimental: Object,
    /// Adds root folders.
    with_roots => roots: RootsCapability,
    /// Adds sampling.
    with_sampling => sampling: SamplingCapability,
    /// Adds elicitation.
    with_elicitation => elicitation: ElicitationCapability,
    /// Adds tasks.
    with_tasks => tasks: TasksCapability,
    /// Adds extensions.
    with_extensions => extensions: Object,
});

wire::builders!(SamplingCapability {
    /// Adds context of other servers.
    with_context => context: Object,
    /// Adds tools for the model.
    with_tools => tools: Object,
});

wire::builders!(ElicitationCapability {
    /// Adds forms.
    with_form => form: Object,
    /// Adds URLs.
    with_url => url: Object,
});

wire::builders!(ServerCapabilities {
    /// Adds non-standard features.
    with_experimental => experimental: Object,
    /// Adds log messages.
    with_logging => logging: Object,
    /// Adds completions.
    with_completions => completions: Object,
    /// Adds prompts.
    with_prompts => prompts: PromptsCapability,
    /// Adds resources.
    with_resources => resources: ResourcesCapability,
    /// Adds tools.
    with_tools => tools: ToolsCapability,
    /// Adds tasks.
    with_tasks => tasks: TasksCapability,
    /// Adds extensions.
    with_extensions => extensions: Object,
});

wire::builders!(ResourcesCapability {
    /// Adds subscriptions to single resources.
    with_subscribe => subscribe: bool,
});

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> ServerCapabilities {
        ServerCapabilities::from_json(Json::parse(text).expect("JSON").as_raw()).expect("capabilities")
    }

    #[test]
    fn odd_spellings_still_declare_a_capability() {
        for tools in ["{}", "[]", "true", r#"{"listChanged":null}"#, r#"{"listChanged":"maybe"}"#] {
            let read = server(&format!(r#"{{"tools":{tools}}}"#));
            assert_eq!(read.tools, Some(ToolsCapability::default()), "{tools}");
        }
        assert!(server(r#"{"tools":{"listChanged":true}}"#).tools.expect("declared").list_changed());
        for tools in ["null", "false"] {
            assert_eq!(server(&format!(r#"{{"tools":{tools}}}"#)).tools, None, "{tools}");
        }
    }

    #[test]
    fn extensions_are_declared_by_any_settings() {
        for (settings, declared) in
            [("{}", true), ("[]", true), (r#"{"a":1}"#, true), ("null", false), ("false", false)]
        {
            let read = server(&format!(r#"{{"extensions":{{"com.example/x":{settings}}}}}"#));
            assert_eq!(read.has_extension("com.example/x"), declared, "{settings}");
            assert!(!read.has_extension("com.example/y"));
        }
        let two = ServerCapabilities::default()
            .with_extension("com.example/x", &Object::new())
            .with_extension("com.example/y", &Object::new());
        assert!(two.has_extension("com.example/x") && two.has_extension("com.example/y"));
    }

    #[test]
    fn elicitation_without_a_mode_means_forms() {
        let read = |text: &str| {
            let json = Json::parse(&format!(r#"{{"elicitation":{text}}}"#)).expect("JSON");
            let read = ClientCapabilities::from_json(json.as_raw()).expect("capabilities").elicitation;
            read.map(|e| (e.allows_form(), e.allows_url()))
        };
        assert_eq!(read("{}"), Some((true, false)));
        assert_eq!(read(r#"{"form":{}}"#), Some((true, false)));
        assert_eq!(read(r#"{"url":{}}"#), Some((false, true)));
        assert_eq!(read(r#"{"url":{},"form":{}}"#), Some((true, true)));
    }
}
