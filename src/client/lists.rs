//! Lists of a server: tools, resources, resource templates and prompts, whole or page by page.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::ClientHandle;
use super::call::{CallOptions, settled};
use super::session::{Session, Settled};
use super::typed::{Answer, ask, read};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::jsonrpc::ErrorCode;
use crate::method::Method;
use crate::protocol::{Icon, Listed, Page, Prompt, Rejected, Resource, ResourceTemplate, ToolDefinition};
use crate::sync::Deadline;
use crate::transport::Link;

/// More pages than this are no list but a loop.
const MAX_PAGES: usize = 1000;

/// More items than this in one list, malformed ones included, are refused.
const MAX_ITEMS: usize = 100_000;

/// An iterator of pages gives no more than this.
const MAX_ITERATED: usize = 100_000;

/// A whole list of a server.
///
/// ```no_run
/// # fn main() -> tinymcp::Result<()> {
/// let client = tinymcp::Client::connect("python3", &["notes_server.py"])?;
/// let resources = client.list_resources()?;
/// for rejected in &resources.rejected {
///     eprintln!("{:?}: {}", rejected.name, rejected.problem);
/// }
/// for resource in resources {
///     println!("{}", resource.uri);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct List<T> {
    /// The well-formed ones, in the server's order.
    pub items: Vec<T>,
    /// The others, and what is wrong with each. One malformed item does not hide the rest.
    pub rejected: Vec<Rejected>,
}

impl<T> List<T> {
    /// A list of these, for a [`Caller`](super::Caller) of your own.
    #[must_use]
    pub fn new(items: Vec<T>) -> Self {
        Self { items, rejected: Vec::new() }
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    /// The well-formed ones.
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    /// The well-formed ones.
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

/// The pages of a list, each asked for when it is needed. For lists too long to be held as a whole, or of which the first
/// items are enough.
///
/// All pages are of one connection. After an error there are no more.
///
/// ```no_run
/// # fn main() -> tinymcp::Result<()> {
/// # use tinymcp::client::CallOptions;
/// let client = tinymcp::Client::connect("python3", &["notes_server.py"])?;
/// for page in client.resource_pages(&CallOptions::default()) {
///     for resource in page?.items {
///         println!("{}", resource.uri);
///     }
/// }
/// # Ok(()) }
/// ```
#[must_use = "nothing is asked for until a page is"]
pub struct Pages<T> {
    walk: Walk,
    read: fn(&Answer) -> Result<Page<T>>,
}

impl<T> Iterator for Pages<T> {
    type Item = Result<Page<T>>;

    fn next(&mut self) -> Option<Self::Item> {
        let answer = self.walk.next()?;
        Some(answer.and_then(|answer| {
            let page = (self.read)(&answer)?;
            answer.keep();
            self.walk.go_on(page.next_cursor.clone())?;
            Ok(page)
        }))
    }
}

impl<T> std::iter::FusedIterator for Pages<T> {}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let walk = &self.walk;
        f.debug_struct("Pages")
            .field("method", &walk.method.name())
            .field("pages", &walk.pages)
            .finish_non_exhaustive()
    }
}

/// What a list is asked for by, and what is taken out of its items.
trait Item: Listed {
    const METHOD: Method;

    fn icons(&mut self) -> &mut Option<Vec<Icon>>;

    /// Why it is of no use over this connection.
    fn refused_by(&self, _link: &dyn Link) -> Option<Rejected> {
        None
    }

    /// All of a server's items have been listed.
    fn listed(_session: &Session, _items: &[Self])
    where
        Self: Sized,
    {
    }
}

impl Item for ToolDefinition {
    const METHOD: Method = Method::ToolsList;

    fn icons(&mut self) -> &mut Option<Vec<Icon>> {
        &mut self.icons
    }

    fn refused_by(&self, link: &dyn Link) -> Option<Rejected> {
        let problem = link.refuses_tool(self.input_schema.as_raw())?;
        Some(Rejected { name: Some(self.name.clone()), problem })
    }

    fn listed(session: &Session, items: &[Self]) {
        session.repeatable.refresh(items);
        #[cfg(feature = "validation")]
        session.results.refresh(items);
    }
}

macro_rules! items {
    ($($name:ident by $method:ident),*) => {$(
        impl Item for $name {
            const METHOD: Method = Method::$method;

            fn icons(&mut self) -> &mut Option<Vec<Icon>> {
                &mut self.icons
            }
        }
    )*};
}
items!(
    Resource by ResourcesList,
    ResourceTemplate by ResourceTemplatesList,
    Prompt by PromptsList
);

fn pages<T: Item>(session: &Arc<Session>, options: &CallOptions) -> Pages<T> {
    Pages { walk: Walk::new(session, T::METHOD, options), read: read_page }
}

fn read_page<T: Item>(answer: &Answer) -> Result<Page<T>> {
    let mut page: Page<T> = read(T::METHOD, &answer.result)?;
    let (link, rejected) = (answer.settled.peer.link(), &mut page.rejected);
    page.items.retain(|item| {
        let refused = item.refused_by(link);
        let is_fit = refused.is_none();
        rejected.extend(refused);
        is_fit
    });
    for rejected in &page.rejected {
        let name = rejected.name.as_deref().unwrap_or("without a name");
        log::warn!("rejected an item of {}, {name}: {}", T::METHOD, rejected.problem);
    }
    for item in &mut page.items {
        without_unsafe(item.icons());
    }
    Ok(page)
}

/// Takes icons out that must not be loaded.
// spec: 2026-07-28 basic/index#icons (consumers MUST reject other schemes than https: and data:)
pub(super) fn without_unsafe(icons: &mut Option<Vec<Icon>>) {
    let Some(all) = icons else { return };
    all.retain(|icon| {
        if !icon.is_safe() {
            log::debug!("left out an icon that is neither https: nor data: {:.80}", icon.src);
        }
        icon.is_safe()
    });
    if all.is_empty() {
        *icons = None;
    }
}

/// From page to page; knows nothing of what is on them.
struct Walk {
    session: Arc<Session>,
    /// From the first page on: a cursor means nothing to a server that was started again.
    settled: Option<Arc<Settled>>,
    method: Method,
    options: CallOptions,
    next: Next,
    /// The cursors there were, as their hashes: a server may make them long. Bound: [`MAX_ITERATED`].
    seen: HashSet<u64>,
    hasher: RandomState,
    pages: usize,
    /// When the whole list must be there.
    until: Deadline,
}

enum Next {
    First,
    After(String),
    /// There is none.
    End,
}

impl Walk {
    fn new(session: &Arc<Session>, method: Method, options: &CallOptions) -> Self {
        Self {
            session: Arc::clone(session),
            settled: None,
            method,
            options: options.clone(),
            next: Next::First,
            seen: HashSet::new(),
            hasher: RandomState::new(),
            pages: 0,
            until: Deadline::after(None),
        }
    }

    /// The next page; there is no other unless [`go_on`](Self::go_on) says where.
    fn next(&mut self) -> Option<Result<Answer>> {
        match std::mem::replace(&mut self.next, Next::End) {
            Next::First => Some(self.page(&[])),
            Next::After(cursor) => Some(self.page(&[("cursor", Json::from(cursor.as_str()))])),
            Next::End => None,
        }
    }

    fn page(&mut self, params: &[(&str, Json)]) -> Result<Answer> {
        let settled = match &self.settled {
            Some(settled) => Arc::clone(settled),
            None => settled(&self.session, &self.options)?,
        };
        if let Some(left) = self.until.remaining() {
            self.options.total = Some(Some(left));
        }
        let page = ask(&self.session, &settled, self.method, params, &self.options).inspect_err(|error| {
            // spec: 2026-07-28 server/utilities/caching#interaction-with-pagination (a refused cursor)
            if let (true, Some(cache)) = (is_bad_params(error) && !params.is_empty(), &settled.cache) {
                cache.discard(self.method);
            }
        })?;
        self.settled = Some(Arc::clone(&page.settled));
        self.options.stays = true;
        self.pages += 1;
        Ok(page)
    }

    fn go_on(&mut self, cursor: Option<String>) -> Result<()> {
        // spec: 2026-07-28 server/utilities/pagination#implementation-guidelines (an empty cursor is one, too)
        let Some(cursor) = cursor else { return Ok(()) };
        if !self.seen.insert(self.hasher.hash_one(&cursor)) {
            return Err(Error::Protocol(format!("{} came back to cursor {cursor:.80?}", self.method)));
        }
        if self.pages >= MAX_ITERATED {
            return Err(Error::Protocol(format!("{} has more than {MAX_ITERATED} pages", self.method)));
        }
        self.next = Next::After(cursor);
        Ok(())
    }
}

fn is_bad_params(error: &Error) -> bool {
    matches!(error, Error::Peer(error) if error.code == ErrorCode::INVALID_PARAMS)
}

/// Whether the server does not know what it said before.
fn means_nothing_to_it(error: &Error) -> bool {
    is_bad_params(error) || matches!(error, Error::SessionEnded(_))
}

fn list<T: Item>(session: &Arc<Session>, options: &CallOptions) -> Result<List<T>> {
    let until = Deadline::after(options.total(session));
    let pages = || {
        let mut pages = pages(session, options);
        pages.walk.until = until;
        pages
    };
    let mut first = pages();
    match collect(&mut first) {
        Err(error) if means_nothing_to_it(&error) && first.walk.pages > 0 => {
            log::debug!("{} is begun again, as the server does not know a cursor: {error}", T::METHOD);
            collect(&mut pages())
        }
        listed => listed,
    }
}

/// Lists the tools for those who learn from what passes.
pub(super) fn list_tools_anew(session: &Arc<Session>, options: &CallOptions) -> Result<()> {
    list::<ToolDefinition>(session, options).map(drop)
}

fn collect<T: Item>(pages: &mut Pages<T>) -> Result<List<T>> {
    let mut list = List { items: Vec::new(), rejected: Vec::new() };
    for page in pages.by_ref().take(MAX_PAGES) {
        let page = page?;
        list.items.extend(page.items);
        list.rejected.extend(page.rejected);
        if list.items.len() + list.rejected.len() > MAX_ITEMS {
            return Err(Error::Protocol(format!("{} has more than {MAX_ITEMS} items", T::METHOD)));
        }
    }
    match pages.walk.next {
        Next::End => {
            T::listed(&pages.walk.session, &list.items);
            Ok(list)
        }
        _ => Err(Error::Protocol(format!("{} has more than {MAX_PAGES} pages", T::METHOD))),
    }
}

macro_rules! lists {
    ($(
        $(#[$doc:meta])*
        $item:ident: $list:ident $list_with:ident $pages:ident, $what:literal;
    )*) => {
        /// Lists.
        ///
        /// Each is whole, page by page to the end, and says which items were malformed. What the server declares is asked for
        /// and nothing else; tools are always, because many servers forget to declare them. Icons with an address
        /// other than `https:` or `data:` are left out. If the server refuses a cursor in the middle of a list, or ends the
        /// session, the list is begun again, once. Tools that cannot be called over the connection are among the rejected.
        impl ClientHandle {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// - [`Error::Unsupported`] when the server does not declare that it has any, except for tools; nothing was sent.
            /// - [`Error::Protocol`] when its pages never end: a cursor that comes again, more than 1,000 pages or 100,000 items.
            /// - As any call.
            pub fn $list(&self) -> Result<List<$item>> {
                self.$list_with(&CallOptions::default())
            }

            #[doc = concat!("All ", $what, ", with a timeout or metadata of its own, which hold for each page, or a total or a cancel token, which hold for all of them.")]
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($list), "`](Self::", stringify!($list), ").")]
            pub fn $list_with(&self, options: &CallOptions) -> Result<List<$item>> {
                list(&self.session, options)
            }

            #[doc = concat!("The ", $what, " page by page, each asked for when it is needed; up to 100,000 pages.")]
            pub fn $pages(&self, options: &CallOptions) -> Pages<$item> {
                pages(&self.session, options)
            }
        )*}
    };
}

lists! {
    /// All tools of the server.
    ToolDefinition: list_tools list_tools_with tool_pages, "tools of the server";
    /// All resources that the server lists. It may have others, which fit one of its
    /// [templates](Self::list_resource_templates).
    Resource: list_resources list_resources_with resource_pages, "resources that the server lists";
    /// The templates of addresses under which the server has resources.
    ResourceTemplate: list_resource_templates list_resource_templates_with resource_template_pages,
        "templates of addresses under which the server has resources";
    /// All prompts of the server.
    Prompt: list_prompts list_prompts_with prompt_pages, "prompts of the server";
}
