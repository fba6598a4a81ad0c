//! [`ClientHandler`]: who answers what a server asks, and the closures of a builder that do.

use std::sync::Arc;

use super::Asked;
use crate::context::Ability;
use crate::error::{Error, Result};
use crate::jsonrpc::ErrorObject;
use crate::protocol::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult,
    ElicitUrlParams, ListRootsParams, Root, RootsCapability,
};
use crate::sync::{Mutex, lock};

/// Answers what servers ask, in both eras alike. For most clients the closures of
/// [`ClientBuilder`](super::ClientBuilder) do: [`on_elicit`](super::ClientBuilder::on_elicit) and the others.
///
/// What it [`can`](Self::can) do is declared to servers, and nothing else is asked of it.
///
/// **Where it runs:** a Legacy server asks by a request, which is answered on a thread of the client's pool, at most
/// 16 at a time. A Modern server asks by ending a call, and the answers are given on the thread that waits for that
/// call, one after another. So a handler must be ready for several threads, and may use the client. A panic in it is
/// an error for who asked.
///
/// ```
/// use tinymcp::client::{Asked, ClientHandler};
/// use tinymcp::context::Ability;
/// use tinymcp::protocol::{ElicitFormParams, ElicitResult, ListRootsParams, Root};
/// use tinymcp::{Client, ErrorObject};
///
/// /// Answers without asking anybody.
/// struct Unattended;
///
/// impl ClientHandler for Unattended {
///     fn can(&self, ability: Ability) -> bool {
///         matches!(ability, Ability::Form | Ability::Roots)
///     }
///
///     fn elicit(&self, form: &Asked<ElicitFormParams>) -> Result<ElicitResult, ErrorObject> {
///         let answer = form.defaults();
///         match form.requested_schema.check(&answer) {
///             Ok(()) => Ok(ElicitResult::accept(answer)),
///             Err(_) => Ok(ElicitResult::cancel()),
///         }
///     }
///
///     fn roots(&self, _: &Asked<ListRootsParams>) -> Result<Vec<Root>, ErrorObject> {
///         Ok(vec![Root::new("file:///srv/data")])
///     }
/// }
///
/// let builder = Client::builder().handler(Unattended);
/// # let _ = builder;
/// ```
pub trait ClientHandler: Send + Sync {
    /// Whether it can do this. Always the same, as it is declared when the client is opened.
    fn can(&self, ability: Ability) -> bool;

    /// Asks the user with a form, if it can [`Form`](Ability::Form). The user must see which server asks, and be able
    /// to decline. An accepted answer must fit the form's schema; one that does not is never sent, and the server
    /// gets the error -32603.
    ///
    /// # Errors
    /// What to answer, if there is neither an answer nor a refusal by the user.
    fn elicit(&self, form: &Asked<ElicitFormParams>) -> Result<ElicitResult, ErrorObject> {
        Err(without(form))
    }

    /// Sends the user to a URL, if it can do [`Url`](Ability::Url). Nothing here opens or fetches it. The user must
    /// see the whole URL and its [host](Asked::host) and agree before it is opened; addresses that are not of the
    /// web, or about whose host one could be mistaken, are refused before. Accepted means that the user agreed; a
    /// call that could not go on without it is made again as soon as this returns, so a handler may wait until the
    /// user says that everything is done there.
    ///
    /// # Errors
    /// As [`elicit`](Self::elicit).
    fn elicit_url(&self, url: &Asked<ElicitUrlParams>) -> Result<ElicitResult, ErrorObject> {
        Err(without(url))
    }

    /// Asks the language model, if it can do [`Sampling`](Ability::Sampling). Tools, and context of servers, are only
    /// asked of one that can do that.
    ///
    /// # Errors
    /// What to answer if there is no answer; code -1 is for a user who refused.
    fn sample(&self, request: &Asked<CreateMessageParams>) -> Result<CreateMessageResult, ErrorObject> {
        Err(without(request))
    }

    /// Tells the root folders, if it can do [`Roots`](Ability::Roots). Their addresses begin with `file://`.
    ///
    /// # Errors
    /// What to answer if they cannot be told.
    fn roots(&self, request: &Asked<ListRootsParams>) -> Result<Vec<Root>, ErrorObject> {
        Err(without(request))
    }
}

/// It said that it can, and cannot.
fn without<P>(asked: &Asked<P>) -> ErrorObject {
    ErrorObject::internal(format!("nobody answers {}", asked.key()))
}

type Answering<P, A> = Arc<dyn Fn(&Asked<P>) -> Result<A, ErrorObject> + Send + Sync>;

/// What was given to a builder: closures, and one object for what has no closure.
#[derive(Clone, Default)]
pub(super) struct Handlers {
    pub(super) form: Option<Answering<ElicitFormParams, ElicitResult>>,
    pub(super) url: Option<Answering<ElicitUrlParams, ElicitResult>>,
    pub(super) sample: Option<Answering<CreateMessageParams, CreateMessageResult>>,
    pub(super) with_tools: bool,
    pub(super) with_context: bool,
    pub(super) roots: Option<Roots>,
    pub(super) other: Option<Arc<dyn ClientHandler>>,
}

/// Where the roots come from.
#[derive(Clone)]
pub(super) enum Roots {
    /// A list, which can be changed while the client lives. Locked for a copy or an exchange.
    Listed(Arc<Mutex<Vec<Root>>>),
    Asked(Answering<ListRootsParams, Vec<Root>>),
}

impl Roots {
    pub(super) fn listed(roots: Vec<Root>) -> Self {
        Self::Listed(Arc::new(Mutex::new(roots)))
    }
}

impl Handlers {
    /// For one client: no other client of the same builder shares what can be changed.
    ///
    /// # Errors
    /// When a root is no file.
    pub(super) fn for_one_client(&mut self) -> Result<()> {
        if let Some(Roots::Listed(roots)) = &self.roots {
            let roots = lock(roots).clone();
            must_be_files(&roots).map_err(Error::InvalidUse)?;
            self.roots = Some(Roots::listed(roots));
        }
        Ok(())
    }

    /// Changes the list of roots.
    ///
    /// # Errors
    /// When there is no such list, or a root is no file.
    pub(super) fn set_roots(&self, roots: Vec<Root>) -> Result<()> {
        must_be_files(&roots).map_err(Error::InvalidUse)?;
        let Some(Roots::Listed(listed)) = &self.roots else {
            return Err(Error::InvalidUse("the client was not built with a list of roots".to_owned()));
        };
        let before = std::mem::replace(&mut *lock(listed), roots);
        drop(before);
        Ok(())
    }

    /// What is declared: all it can do.
    pub(super) fn capabilities(&self) -> ClientCapabilities {
        let all = [
            Ability::Form,
            Ability::Url,
            Ability::Sampling,
            Ability::SamplingTools,
            Ability::SamplingContext,
            Ability::Roots,
        ];
        let mut declared = ClientCapabilities::default();
        for ability in all.into_iter().filter(|ability| self.can(*ability)) {
            ability.declare(&mut declared);
        }
        if declared.roots.is_some() {
            declared.roots = Some(RootsCapability::new(true));
        }
        declared
    }

    fn other(&self, ability: Ability) -> Option<&dyn ClientHandler> {
        self.other.as_deref().filter(|other| other.can(ability))
    }
}

/// What is wrong with the roots, if anything.
///
/// spec: 2026-07-28 client/roots#root (a root MUST be a `file://` URI)
pub(super) fn must_be_files(roots: &[Root]) -> Result<(), String> {
    for root in roots {
        let problem = match (root.is_file(), leads_up(&root.uri)) {
            (true, false) => continue,
            (true, true) => "has .. in its path",
            (false, _) => "does not begin with file://",
        };
        return Err(format!("root {} {problem}", root.uri));
    }
    Ok(())
}

/// Whether a path goes up, so that it leads elsewhere than it looks.
///
/// spec: 2026-07-28 client/roots#security-considerations (clients MUST validate roots to prevent path traversal)
fn leads_up(uri: &str) -> bool {
    let mut path = uri.to_ascii_lowercase();
    for (escaped, plain) in [("%2e", "."), ("%2f", "/"), ("%5c", "\\")] {
        path = path.replace(escaped, plain);
    }
    path.split(['/', '\\']).any(|part| part == "..")
}

impl ClientHandler for Handlers {
    fn can(&self, ability: Ability) -> bool {
        let by_closure = match ability {
            Ability::Form => self.form.is_some(),
            Ability::Url => self.url.is_some(),
            Ability::Sampling => self.sample.is_some(),
            Ability::SamplingTools => self.sample.is_some() && self.with_tools,
            Ability::SamplingContext => self.sample.is_some() && self.with_context,
            Ability::Roots => self.roots.is_some(),
        };
        // Whoever samples says what it can do with that.
        let is_for_closure =
            matches!(ability, Ability::SamplingTools | Ability::SamplingContext) && self.sample.is_some();
        by_closure || !is_for_closure && self.other(ability).is_some()
    }

    fn elicit(&self, form: &Asked<ElicitFormParams>) -> Result<ElicitResult, ErrorObject> {
        match (&self.form, self.other(Ability::Form)) {
            (Some(answer), _) => answer(form),
            (None, Some(other)) => other.elicit(form),
            (None, None) => Err(without(form)),
        }
    }

    fn elicit_url(&self, url: &Asked<ElicitUrlParams>) -> Result<ElicitResult, ErrorObject> {
        match (&self.url, self.other(Ability::Url)) {
            (Some(answer), _) => answer(url),
            (None, Some(other)) => other.elicit_url(url),
            (None, None) => Err(without(url)),
        }
    }

    fn sample(&self, request: &Asked<CreateMessageParams>) -> Result<CreateMessageResult, ErrorObject> {
        match (&self.sample, self.other(Ability::Sampling)) {
            (Some(answer), _) => answer(request),
            (None, Some(other)) => other.sample(request),
            (None, None) => Err(without(request)),
        }
    }

    fn roots(&self, request: &Asked<ListRootsParams>) -> Result<Vec<Root>, ErrorObject> {
        match (&self.roots, self.other(Ability::Roots)) {
            (Some(Roots::Listed(roots)), _) => Ok(lock(roots).clone()),
            (Some(Roots::Asked(answer)), _) => answer(request),
            (None, Some(other)) => other.roots(request),
            (None, None) => Err(without(request)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_files_and_lead_where_they_look() {
        for (uri, problem) in [
            ("file:///a/b", None),
            ("file:///a/..b/c..", None),
            ("file:///C:/a%20b", None),
            ("https://a", Some("does not begin with file://")),
            ("file:///a/../b", Some("has .. in its path")),
            ("file:///a/%2E%2e/b", Some("has .. in its path")),
            ("file:///a%2F..%5Cb", Some("has .. in its path")),
            ("file:///a/..", Some("has .. in its path")),
        ] {
            let want = problem.map_or(Ok(()), |problem| Err(format!("root {uri} {problem}")));
            assert_eq!(must_be_files(&[Root::new(uri)]), want);
        }
    }
}
