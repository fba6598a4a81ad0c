//! [`Principal`]: who makes a request, where a transport knows.

use std::fmt;
use std::sync::Arc;

use crate::json::Object;

/// Who makes a request, as the guard of an HTTP server found out. States, tasks and sessions of one are no other's.
///
/// ```
/// use tinymcp::context::Principal;
///
/// let principal = Principal::new("alice").with("team", "blue");
/// assert_eq!(principal.id(), "alice");
/// assert_eq!(principal.about().get::<String>("team").as_deref(), Some("blue"));
/// ```
#[derive(Clone, PartialEq)]
pub struct Principal(Arc<Inner>);

#[derive(Clone, PartialEq)]
struct Inner {
    id: String,
    about: Object,
}

impl Principal {
    /// The one whom `id` names, among all that the server knows.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(Arc::new(Inner { id: id.into(), about: Object::new() }))
    }

    /// Adds something that handlers should know, such as a tenant or scopes.
    #[must_use]
    pub fn with<T: serde::Serialize + ?Sized>(mut self, name: impl Into<String>, value: &T) -> Self {
        Arc::make_mut(&mut self.0).about.insert(name, value);
        self
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// What else is known.
    #[must_use]
    pub fn about(&self) -> &Object {
        &self.0.about
    }
}

impl fmt::Debug for Principal {
    /// The name alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Principal({:?})", self.0.id)
    }
}
