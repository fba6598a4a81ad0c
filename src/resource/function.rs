//! [`FnResource`] and [`FnTemplate`]: what is behind an address.

use std::fmt;
use std::time::Duration;

use super::output::ResourceOutput;
use crate::completion::{Completers, CompletionOutput};
use crate::context::Context;
use crate::protocol::{
    BlobResourceContents, CacheScope, CompletionContext, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, TextResourceContents, UriTemplate, UriTemplateError, Variables,
};
use crate::tool::{ToolError, caught};

/// What was read; `None` if there is no such resource.
pub(super) type Read = Result<Option<ReadResourceResult>, ToolError>;

/// One resource: a fixed text, fixed bytes, or a function.
///
/// What clients are told of it is a [`Resource`], made with its own `with_…` methods.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::protocol::{CacheScope, Resource};
/// use tinymcp::{Context, FnResource};
///
/// let logo = Resource::new("brand://logo", "logo").with_mime_type("image/svg+xml").with_title("Our logo");
/// let logo = FnResource::bytes(logo, b"<svg/>").cache(Duration::from_secs(3600), CacheScope::Public);
/// assert_eq!(logo.definition().size, Some(6));
///
/// let load = FnResource::new(Resource::new("system://load", "load"), |cx: &Context| {
///     log::debug!("read by {:?}", cx.client_info());
///     std::fs::read_to_string("/proc/loadavg")
/// });
/// assert_eq!(load.definition().name, "load");
/// ```
pub struct FnResource {
    definition: Resource,
    hints: Hints,
    source: Source,
}

enum Source {
    Fixed(ResourceContents),
    Run(Box<dyn Fn(&Context) -> Read + Send + Sync>),
}

impl FnResource {
    /// A resource that `run` reads, on a thread that may block.
    pub fn new<R: ResourceOutput>(
        definition: Resource,
        run: impl Fn(&Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let run = move |cx: &Context| run(cx).into_read();
        Self { definition, hints: Hints::NONE, source: Source::Run(Box::new(run)) }
    }

    /// A fixed text, whose size is filled in.
    #[must_use]
    pub fn text(definition: Resource, text: impl Into<String>) -> Self {
        let text = text.into();
        let size = text.len();
        Self::fixed(definition, size, TextResourceContents::new("", text).into())
    }

    /// Fixed bytes, whose number is filled in.
    #[must_use]
    pub fn bytes(definition: Resource, bytes: &[u8]) -> Self {
        Self::fixed(definition, bytes.len(), BlobResourceContents::from_bytes("", bytes).into())
    }

    fn fixed(mut definition: Resource, size: usize, contents: ResourceContents) -> Self {
        definition.size.get_or_insert(size as u64);
        Self { definition, hints: Hints::NONE, source: Source::Fixed(contents) }
    }

    /// How long Modern clients may keep what they read, and for whom. Default: not at all, for the one client.
    #[must_use]
    pub fn cache(mut self, time: Duration, scope: CacheScope) -> Self {
        self.hints = Hints::new(time, scope);
        self
    }

    /// What clients are told of it.
    #[must_use]
    pub fn definition(&self) -> &Resource {
        &self.definition
    }

    /// Whether reading it runs nobody's code.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self.source, Source::Fixed(_))
    }

    pub(super) fn read(&self, uri: &str, cx: &Context) -> Read {
        let read = match &self.source {
            Source::Fixed(contents) => contents.clone().into_read(),
            Source::Run(run) => caught("resource", uri, || run(cx)),
        };
        self.hints.complete(read, uri, self.definition.mime_type.as_ref())
    }
}

impl fmt::Debug for FnResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnResource").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// A kind of resource: an address with variables, and a function that reads what they stand for.
///
/// The variables are decoded, and safe to use as names of files: the [rules of matching](crate::protocol::UriTemplate) keep
/// out whatever leads out of a folder.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
/// use tinymcp::protocol::{Resource, ResourceTemplate};
/// use tinymcp::{Context, FnTemplate, ResourceRegistry};
///
/// let notes = Arc::new(BTreeMap::from([("milk", "2 l"), ("to do", "nothing")]));
/// let listed = notes.clone();
/// let note = FnTemplate::new(ResourceTemplate::new("notes://{title}", "note"), move |variables, _| {
///     notes.get(variables.get("title")?).copied()
/// })
/// .list(move |_| Ok(listed.keys().map(|title| Resource::new(format!("notes://{title}"), *title)).collect()));
///
/// let (resources, cx) = (ResourceRegistry::new().with_template(note)?, Context::detached());
/// assert_eq!(resources.list(None, 10, &cx)?.items[0].uri, "notes://milk");
/// assert_eq!(resources.read("notes://milk", &cx)?.contents[0].uri(), "notes://milk");
/// assert!(resources.read("notes://..%2Fmilk", &cx).is_err());
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
pub struct FnTemplate {
    definition: ResourceTemplate,
    template: Result<UriTemplate, UriTemplateError>,
    hints: Hints,
    run: Box<Reader>,
    list: Option<Box<Lister>>,
    completers: Completers,
    /// Its place among the templates of its registry.
    pub(super) number: u64,
}

type Reader = dyn Fn(&Variables, &Context) -> Read + Send + Sync;

type Lister = dyn Fn(&Context) -> Result<Vec<Resource>, ToolError> + Send + Sync;

impl FnTemplate {
    /// Resources that `run` reads, on a thread that may block. Registering it fails if the template is not valid.
    pub fn new<R: ResourceOutput>(
        definition: ResourceTemplate,
        run: impl Fn(&Variables, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let template = UriTemplate::parse(&definition.uri_template);
        let template = template.and_then(|template| template.check_matchable().map(|()| template));
        let run = move |variables: &Variables, cx: &Context| run(variables, cx).into_read();
        Self {
            definition,
            template,
            hints: Hints::NONE,
            run: Box::new(run),
            list: None,
            completers: Completers::default(),
            number: 0,
        }
    }

    /// Which of these resources there are at the moment, for `resources/list`. What has no MIME type gets the template's. It is
    /// asked for every page, and should answer soon.
    #[must_use]
    pub fn list(
        mut self,
        list: impl Fn(&Context) -> Result<Vec<Resource>, ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.list = Some(Box::new(list));
        self
    }

    /// Has `complete` propose values for a variable while a user types: see [`Completers::set`].
    #[must_use]
    pub fn complete<R: CompletionOutput>(
        mut self,
        variable: impl Into<String>,
        complete: impl Fn(&str, &CompletionContext, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        self.completers.set(variable, complete);
        self
    }

    /// Proposes those of `values` for a variable that begin with what the user typed: see [`Completers::set_list`].
    #[must_use]
    pub fn complete_from<T: Into<String>>(
        mut self,
        variable: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.completers.set_list(variable, values);
        self
    }

    /// How long Modern clients may keep what they read, and for whom. Default: not at all, for the one client.
    #[must_use]
    pub fn cache(mut self, time: Duration, scope: CacheScope) -> Self {
        self.hints = Hints::new(time, scope);
        self
    }

    /// What clients are told of it.
    #[must_use]
    pub fn definition(&self) -> &ResourceTemplate {
        &self.definition
    }

    /// What completes its variables.
    pub(crate) fn completers(&self) -> &Completers {
        &self.completers
    }

    pub(super) fn template(&self) -> Result<&UriTemplate, &UriTemplateError> {
        self.template.as_ref()
    }

    /// How much of the template stands outside of its variables.
    pub(super) fn literal_bytes(&self) -> usize {
        let mut inside = false;
        let literal = self.definition.uri_template.bytes().filter(|byte| {
            inside = *byte == b'{' || inside && *byte != b'}';
            !inside && *byte != b'}'
        });
        literal.count()
    }

    pub(super) fn lists(&self) -> bool {
        self.list.is_some()
    }

    pub(super) fn listed(&self, cx: &Context) -> Result<Vec<Resource>, ToolError> {
        let Some(list) = &self.list else { return Ok(Vec::new()) };
        let mut listed = caught("the list of", &self.definition.uri_template, || list(cx))?;
        for resource in &mut listed {
            if resource.mime_type.is_none() {
                resource.mime_type.clone_from(&self.definition.mime_type);
            }
        }
        Ok(listed)
    }

    pub(super) fn read(&self, uri: &str, variables: &Variables, cx: &Context) -> Read {
        let read = caught("resource", &self.definition.uri_template, || (self.run)(variables, cx));
        self.hints.complete(read, uri, self.definition.mime_type.as_ref())
    }
}

impl fmt::Debug for FnTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTemplate").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// What caches may do with what is read.
struct Hints {
    ttl_ms: u64,
    scope: CacheScope,
}

impl Hints {
    const NONE: Self = Self { ttl_ms: 0, scope: CacheScope::Private };

    fn new(time: Duration, scope: CacheScope) -> Self {
        Self { ttl_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX), scope }
    }

    /// Fills in what the function left out.
    fn complete(&self, read: Read, uri: &str, mime_type: Option<&String>) -> Read {
        let Some(mut read) = read? else { return Ok(None) };
        for contents in &mut read.contents {
            let (address, kind) = match contents {
                ResourceContents::Text(text) => (&mut text.uri, &mut text.mime_type),
                ResourceContents::Blob(blob) => (&mut blob.uri, &mut blob.mime_type),
            };
            if address.is_empty() {
                uri.clone_into(address);
            }
            if kind.is_none() {
                *kind = mime_type.cloned();
            }
        }
        // spec: 2026-07-28 server/utilities/caching#cacheable-results
        read.ttl_ms.get_or_insert(self.ttl_ms);
        read.cache_scope.get_or_insert_with(|| self.scope.clone());
        Ok(Some(read))
    }
}
