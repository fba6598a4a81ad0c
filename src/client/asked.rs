//! [`Asked`]: a question of a server, as whoever answers it sees it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use super::urls::host;
use super::{ClientHandle, ServerIdentity};
use crate::json::Object;
use crate::protocol::{ElicitFormParams, ElicitUrlParams};
use crate::sync::CancelToken;

/// A question of a server: its parameters, which it dereferences to, and where it comes from.
///
/// ```
/// use tinymcp::ErrorObject;
/// use tinymcp::client::Asked;
/// use tinymcp::protocol::{ElicitFormParams, ElicitResult};
///
/// fn ask_the_user(form: &Asked<ElicitFormParams>) -> Result<ElicitResult, ErrorObject> {
///     println!("{} asks: {}", form.origin(), form.message);
///     for (name, field) in &form.requested_schema.properties {
///         println!("{name}: {field:?}");
///     }
///     Ok(ElicitResult::accept(form.defaults())) // of course the user may change them first
/// }
/// # let _ = ask_the_user;
/// ```
#[derive(Clone)]
pub struct Asked<P> {
    params: P,
    about: About,
}

/// Where a question comes from.
#[derive(Clone)]
pub(super) struct About {
    pub(super) client: ClientHandle,
    pub(super) server: Option<Arc<ServerIdentity>>,
    pub(super) key: String,
    pub(super) call: Option<RelatedCall>,
    pub(super) cancel: CancelToken,
    pub(super) deadline: Option<Instant>,
}

/// The call of this client that a server cannot finish without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelatedCall {
    /// `tools/call`, `prompts/get` or `resources/read`.
    pub method: String,
    /// The name of the tool or prompt, or the URI of the resource.
    pub name: String,
}

impl RelatedCall {
    pub(super) fn new(method: &str, name: &str) -> Self {
        Self { method: method.to_owned(), name: name.to_owned() }
    }
}

impl<P> Asked<P> {
    pub(super) fn new(params: P, about: About) -> Self {
        Self { params, about }
    }

    /// The same question in other words.
    #[cfg(feature = "host")]
    pub(crate) fn with_params(&self, params: P) -> Self {
        Self { params, about: self.about.clone() }
    }

    /// The server that asks, as the transport knows it: a command line or an address. A user must be able to tell
    /// which server wants something, and this is not self-reported.
    #[must_use]
    pub fn origin(&self) -> String {
        self.about.client.session.origin()
    }

    /// What the server says of itself; `None` if it asks before it has said so.
    #[must_use]
    pub fn server(&self) -> Option<&ServerIdentity> {
        self.about.server.as_deref()
    }

    /// What tells this question from the others that are open: the server's key, its id for a URL that a call
    /// required, or the id of its request.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.about.key
    }

    /// The call that needs the answer. A Legacy server asks by a request, which does not say for which call it is.
    #[must_use]
    pub fn call(&self) -> Option<&RelatedCall> {
        self.about.call.as_ref()
    }

    /// Fires when the answer is no longer wanted: the server withdrew the question, or the call was given up here.
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        &self.about.cancel
    }

    /// When the call is given up whatever the answer; `None` is never. A Legacy server has a patience of its own,
    /// which it does not tell.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.about.deadline
    }

    /// The client that was asked. It may be used meanwhile.
    #[must_use]
    pub fn client(&self) -> &ClientHandle {
        &self.about.client
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &P {
        &self.params
    }
}

impl Asked<ElicitFormParams> {
    /// The values that the form begins with: those of the fields that have a default.
    #[must_use]
    pub fn defaults(&self) -> Object {
        let mut content = Object::new();
        self.requested_schema.fill_defaults(&mut content);
        content
    }
}

impl Asked<ElicitUrlParams> {
    /// The host of the URL, in lower case and without the port, to be shown to the user beside the whole URL. The
    /// browser will go to this host and no other: a URL about which one could be mistaken is refused before anybody
    /// sees it.
    #[must_use]
    pub fn host(&self) -> String {
        // Looked at before.
        host(&self.params.url).map(str::to_ascii_lowercase).unwrap_or_default()
    }

    /// Whether the host's name is not the one that a browser shows: letters of other alphabets in disguise, which can
    /// look like those of a well-known name. Worth a warning.
    #[must_use]
    pub fn has_punycode(&self) -> bool {
        // spec: 2026-07-28 client/elicitation#safe-url-handling
        self.host().split('.').any(|label| label.starts_with("xn--"))
    }
}

impl<P> Deref for Asked<P> {
    type Target = P;
    fn deref(&self) -> &P {
        &self.params
    }
}

impl<P: fmt::Debug> fmt::Debug for Asked<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked")
            .field("key", &self.about.key)
            .field("call", &self.about.call)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}
