//! [`ResourceRegistry`]: resources and their templates, found by address.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::function::{FnResource, FnTemplate};
use super::output::NotFound;
use crate::context::Context;
use crate::jsonrpc::ErrorObject;
use crate::protocol::{
    ListResourceTemplatesResult, ListResourcesResult, MAX_URI_BYTES, ReadResourceResult, Variables,
    normal_uri,
};
use crate::registry::{ChangeListener, Changes, Keyed, RegistryError, decode_cursor, encode_cursor};
use crate::tool::ToolError;

/// Resources and their templates, found by address.
///
/// A clone is another handle to the same registry. Resources may come and go while requests are served.
///
/// An address is looked for among the resources first, and then tried with the templates: those with more text outside of
/// their variables first, else in the order in which they were registered. The first that matches decides. Addresses that
/// differ only in how they are written are the same: `%41` is `A`, and `é` is `%C3%A9`.
///
/// ```
/// use tinymcp::protocol::Resource;
/// use tinymcp::{Context, FnResource, ResourceRegistry};
///
/// let resources = ResourceRegistry::new();
/// resources.register(FnResource::text(Resource::new("help://start", "start"), "Begin here."))?;
/// let read = resources.read("help://start", &Context::detached())?;
/// assert_eq!(read.contents[0].uri(), "help://start");
/// let error = resources.read("help://end", &Context::detached()).unwrap_err();
/// assert_eq!(error.to_string(), "resource not found: help://end");
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
#[derive(Clone, Default)]
pub struct ResourceRegistry {
    /// By normal form.
    resources: Arc<Keyed<FnResource>>,
    templates: Arc<Templates>,
    changes: Changes,
    /// Of this handle alone.
    #[cfg(feature = "trajectory")]
    instead: Option<Arc<Instead>>,
}

/// Reads in place of the resources, which are only listed.
#[cfg(feature = "trajectory")]
pub(crate) type Instead = dyn Fn(&str, &Context) -> Result<ReadResourceResult, ToolError> + Send + Sync;

#[derive(Default)]
struct Templates {
    all: Keyed<FnTemplate>,
    next: AtomicU64,
}

/// What an address leads to.
pub(crate) enum Found {
    Resource(Arc<FnResource>),
    Template(Arc<FnTemplate>, Variables),
    #[cfg(feature = "trajectory")]
    Instead(Arc<Instead>),
}

impl ResourceRegistry {
    /// Without resources.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `resource`.
    ///
    /// # Errors
    /// When its address is taken, or is none by RFC 3986: without a scheme, with spaces, or longer than 8 KiB.
    pub fn register(&self, resource: FnResource) -> Result<(), RegistryError> {
        let key = key(&resource.definition().uri)?;
        self.resources.add("resource", key, Arc::new(resource))?;
        self.changes.happened();
        Ok(())
    }

    /// Adds `resource`, in a chain.
    ///
    /// # Errors
    /// Those of [`register`](Self::register).
    pub fn with(self, resource: FnResource) -> Result<Self, RegistryError> {
        self.register(resource)?;
        Ok(self)
    }

    /// Adds `resource` in place of the one that has its address, which is returned.
    ///
    /// # Errors
    /// When its address is none by RFC 3986.
    pub fn replace(&self, resource: FnResource) -> Result<Option<Arc<FnResource>>, RegistryError> {
        let old = self.resources.replace(key(&resource.definition().uri)?, Arc::new(resource));
        self.changes.happened();
        Ok(old)
    }

    /// Takes the resource at `uri` out. Running requests go on.
    pub fn remove(&self, uri: &str) -> Option<Arc<FnResource>> {
        self.told(self.resources.remove(&normal(uri)))
    }

    /// Adds `template`.
    ///
    /// # Errors
    /// When there is one with the same text, or its text is no URI template that addresses can be matched with.
    pub fn register_template(&self, mut template: FnTemplate) -> Result<(), RegistryError> {
        let text = template.definition().uri_template.clone();
        if let Err(problem) = template.template() {
            return Err(RegistryError::invalid_name("resource template", &text, problem));
        }
        template.number = self.templates.next.fetch_add(1, Ordering::Relaxed);
        self.templates.all.add("resource template", text, Arc::new(template))?;
        self.changes.happened();
        Ok(())
    }

    /// Adds `template`, in a chain.
    ///
    /// # Errors
    /// Those of [`register_template`](Self::register_template).
    pub fn with_template(self, template: FnTemplate) -> Result<Self, RegistryError> {
        self.register_template(template)?;
        Ok(self)
    }

    /// Takes the template with this text out. Running requests go on.
    pub fn remove_template(&self, uri_template: &str) -> Option<Arc<FnTemplate>> {
        self.told(self.templates.all.remove(uri_template))
    }

    /// The resource at `uri`, if it is not one of a template.
    #[must_use]
    pub fn get(&self, uri: &str) -> Option<Arc<FnResource>> {
        self.resources.get(&normal(uri))
    }

    /// The template with this text.
    #[must_use]
    pub fn get_template(&self, uri_template: &str) -> Option<Arc<FnTemplate>> {
        self.templates.all.get(uri_template)
    }

    /// The addresses of all resources that are not of a template, in order.
    #[must_use]
    pub fn uris(&self) -> Vec<String> {
        self.resources.items().iter().map(|resource| resource.definition().uri.clone()).collect()
    }

    /// The texts of all templates, in order.
    #[must_use]
    pub fn uri_templates(&self) -> Vec<String> {
        self.templates.all.keys()
    }

    /// Whether there is neither a resource nor a template.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.resources.len() + self.templates.all.len() == 0
    }

    /// At most `page_size` resources, in the order of their addresses: those registered, and those that templates
    /// [list](FnTemplate::list). A cursor stays good when resources come and go in between.
    ///
    /// # Errors
    /// When the cursor is none that a registry gave out, or a template cannot say which resources it has.
    pub fn list(
        &self,
        cursor: Option<&str>,
        page_size: usize,
        cx: &Context,
    ) -> Result<ListResourcesResult, ToolError> {
        let after = cursor.map(decode_cursor).transpose();
        // spec: 2026-07-28 server/utilities/pagination (an invalid cursor is -32602)
        let after = after.map_err(|e| ToolError::protocol(ErrorObject::invalid_params(e)))?;
        let size = page_size.max(1);
        let mut page = BTreeMap::new();
        for template in self.templates.all.items().iter().filter(|template| template.lists()) {
            for resource in template.listed(cx)? {
                match key(&resource.uri) {
                    Ok(key) if after.as_ref().is_none_or(|after| key > *after) => {
                        page.entry(key).or_insert(resource);
                    }
                    Ok(_) => {}
                    // A client may refuse the whole page for it.
                    Err(e) => log::warn!("not listed: {e}"),
                }
            }
        }
        for (key, resource) in self.resources.after(after.as_deref(), size.saturating_add(1)) {
            page.insert(key, resource.definition().clone());
        }
        let more = page.len() > size;
        let mut last = None;
        let mut items = Vec::with_capacity(page.len().min(size));
        for (key, resource) in page.into_iter().take(size) {
            items.push(resource);
            last = Some(key);
        }
        let mut result = ListResourcesResult::new(items);
        result.next_cursor = last.filter(|_| more).map(|key| encode_cursor(&key));
        Ok(result)
    }

    /// At most `page_size` templates, in the order of their texts. A cursor stays good when templates come and go in between.
    ///
    /// # Errors
    /// When the cursor is none that a registry gave out.
    pub fn list_templates(
        &self,
        cursor: Option<&str>,
        page_size: usize,
    ) -> Result<ListResourceTemplatesResult, RegistryError> {
        let (page, next) = self.templates.all.page(cursor, page_size)?;
        let items = page.iter().map(|template| template.definition().clone()).collect();
        let mut result = ListResourceTemplatesResult::new(items);
        result.next_cursor = next;
        Ok(result)
    }

    /// Reads what is at `uri`. A panic in its function is an error.
    ///
    /// # Errors
    /// [`NotFound`] if nothing is there; else whatever kept it from being read. An address longer than 8 KiB is an error of
    /// the protocol.
    pub fn read(&self, uri: &str, cx: &Context) -> Result<ReadResourceResult, ToolError> {
        self.find(uri)?.read(uri, cx)
    }

    /// What `uri` leads to.
    ///
    /// # Errors
    /// [`NotFound`] if nothing does, an error of the protocol if it is too long.
    pub(crate) fn find(&self, uri: &str) -> Result<Found, ToolError> {
        #[cfg(feature = "trajectory")]
        if let Some(instead) = &self.instead {
            return Ok(Found::Instead(Arc::clone(instead)));
        }
        // spec: 2026-07-28 server/resources#security-considerations (servers MUST validate all URIs): besides its length, it
        // must lead to something registered. Comparing costs as much as the address is long.
        if uri.len() > MAX_URI_BYTES {
            let problem = format!("params.uri: {} bytes, at most {MAX_URI_BYTES} are allowed", uri.len());
            return Err(ToolError::protocol(ErrorObject::invalid_params(problem)));
        }
        if let Some(resource) = self.get(uri) {
            return Ok(Found::Resource(resource));
        }
        let mut templates = self.templates.all.items();
        templates.sort_by_key(|template| (Reverse(template.literal_bytes()), template.number));
        let found = templates.into_iter().find_map(|template| {
            let variables = template.template().ok()?.matches(uri)?;
            Some(Found::Template(template, variables))
        });
        found.ok_or_else(|| NotFound::at(uri).into())
    }

    /// A handle to the same registry which reads by `instead`, also what is not listed.
    #[cfg(feature = "trajectory")]
    pub(crate) fn answered_by(&self, instead: Arc<Instead>) -> Self {
        Self { instead: Some(instead), ..self.clone() }
    }

    /// Whether listing the resources runs somebody's code.
    pub(crate) fn has_listers(&self) -> bool {
        self.templates.all.items().iter().any(|template| template.lists())
    }

    /// Whether a variable of any template can be completed.
    #[must_use]
    pub fn has_completers(&self) -> bool {
        self.templates.all.items().iter().any(|template| !template.completers().is_empty())
    }

    /// Runs `callback` after every change of the resources or templates, on the thread that made it, until the listener is
    /// dropped. It may use the registry.
    pub fn on_change(&self, callback: impl Fn() + Send + Sync + 'static) -> ChangeListener {
        self.changes.listen(Arc::new(callback))
    }

    /// How often the resources and templates have changed.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.changes.generation()
    }

    fn told<T>(&self, removed: Option<T>) -> Option<T> {
        if removed.is_some() {
            self.changes.happened();
        }
        removed
    }
}

impl Found {
    /// Whether reading it runs nobody's code.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self, Self::Resource(resource) if resource.is_fixed())
    }

    pub(crate) fn read(&self, uri: &str, cx: &Context) -> Result<ReadResourceResult, ToolError> {
        let read = match self {
            Self::Resource(resource) => resource.read(uri, cx),
            Self::Template(template, variables) => template.read(uri, variables, cx),
            #[cfg(feature = "trajectory")]
            Self::Instead(read) => return crate::tool::caught("resource", uri, || read(uri, cx)),
        };
        // spec: 2026-07-28 server/resources#error-handling (MUST NOT be an empty list of contents)
        read?.ok_or_else(|| NotFound::at(uri).into())
    }
}

impl fmt::Debug for ResourceRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceRegistry")
            .field("resources", &self.uris())
            .field("templates", &self.uri_templates())
            .finish()
    }
}

/// Written in another way it is still the same address. One with a stray `%` can only be compared as it is.
fn normal(uri: &str) -> String {
    normal_uri(uri).unwrap_or_else(|| uri.to_owned())
}

/// The key of an address that clients accept: many of them refuse a whole page for one that is none.
// spec: 2026-07-28 server/resources#custom-uri-schemes (MUST be in accordance with RFC 3986)
fn key(uri: &str) -> Result<String, RegistryError> {
    let invalid = |problem: String| Err(RegistryError::invalid_name("resource uri", uri, problem));
    if uri.len() > MAX_URI_BYTES {
        return invalid(format!("{} bytes, at most {MAX_URI_BYTES} are allowed", uri.len()));
    }
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !is_scheme {
        return invalid("no scheme".to_owned());
    }
    // Letters outside of ASCII are accepted, as browsers do.
    if let Some(odd) = uri.chars().find(|c| c.is_control() || " \"<>\\^`{|}".contains(*c)) {
        return invalid(format!("has {odd:?}"));
    }
    normal_uri(uri).map_or_else(|| invalid("% without two digits after it".to_owned()), Ok)
}
