//! [`Input`]: a value that the user is asked for, as editors' files declare them.

use std::fmt;

use serde::Serialize;

use crate::json::Object;

/// A value that the user is asked for when a server is started: `${input:id}`.
///
/// ```
/// use tinymcp::host::config::{Input, InputKind};
///
/// let input = Input::password("github-token", "A token of GitHub");
/// assert_eq!(input.kind, InputKind::Text { password: true });
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Input {
    /// What `${input:…}` names.
    pub id: String,
    /// What is asked for.
    pub kind: InputKind,
    /// The question.
    pub description: Option<String>,
    /// What counts if no source answers. `Debug` does not show it.
    pub default: Option<String>,
    /// Members that are not known here, kept as they are.
    pub extra: Object,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputKind {
    /// A text (`promptString`).
    Text {
        /// Whether it is hidden while it is typed.
        password: bool,
    },
    /// One of these (`pickString`).
    Pick {
        /// What there is to choose from.
        options: Vec<PickOption>,
    },
    /// A kind that is not known here, such as `command`, which has an editor run something of its own. Sources may know what to do.
    Other(String),
}

/// What can be chosen.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct PickOption {
    /// What is shown, if not the value.
    pub label: Option<String>,
    /// What `${input:…}` becomes.
    pub value: String,
    /// Members that are not known here, kept as they are.
    pub extra: Object,
}

impl PickOption {
    /// An option that is shown as it is.
    pub fn new(value: impl Into<String>) -> Self {
        Self { label: None, value: value.into(), extra: Object::new() }
    }

    /// Shown as `label`.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}

impl Input {
    fn new(id: impl Into<String>, kind: InputKind, description: impl Into<String>) -> Self {
        let description = Some(description.into());
        Self { id: id.into(), kind, description, default: None, extra: Object::new() }
    }

    /// A text that is seen while it is typed.
    pub fn text(id: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(id, InputKind::Text { password: false }, description)
    }

    /// A text that is hidden while it is typed.
    pub fn password(id: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(id, InputKind::Text { password: true }, description)
    }

    /// One of `options`.
    pub fn pick<T: Into<String>>(
        id: impl Into<String>,
        description: impl Into<String>,
        options: impl IntoIterator<Item = T>,
    ) -> Self {
        let options = options.into_iter().map(PickOption::new).collect();
        Self::new(id, InputKind::Pick { options }, description)
    }

    /// What counts if no source answers.
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }

    /// One that a server's entry names and no file declares.
    pub(super) fn undeclared(id: &str) -> Self {
        Self { description: None, ..Self::password(id, "") }
    }

    /// The members, as a file has them.
    pub(super) fn members(&self) -> Object {
        let mut members = self.extra.clone();
        members.insert("id", &self.id);
        match &self.kind {
            InputKind::Text { password } => {
                members.insert("type", "promptString");
                if *password {
                    members.insert("password", &true);
                }
            }
            InputKind::Pick { options } => {
                members.insert("type", "pickString");
                members.insert("options", options);
            }
            InputKind::Other(kind) => members.insert("type", kind),
        }
        if let Some(description) = &self.description {
            members.insert("description", description);
        }
        if let Some(default) = &self.default {
            members.insert("default", default);
        }
        members
    }
}

impl Serialize for PickOption {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.label.is_none() && self.extra.is_empty() {
            return serializer.serialize_str(&self.value);
        }
        let mut members = self.extra.clone();
        members.insert("value", &self.value);
        if let Some(label) = &self.label {
            members.insert("label", label);
        }
        members.serialize(serializer)
    }
}

impl fmt::Debug for PickOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PickOption")
            .field("label", &self.label)
            .field("value", &self.value)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("description", &self.description)
            .field("has_default", &self.default.is_some())
            .finish_non_exhaustive()
    }
}
