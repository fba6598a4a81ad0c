//! [`ResourceOutput`]: what the function behind a resource may return, and [`NotFound`].

use std::fmt;

use crate::protocol::{BlobResourceContents, ReadResourceResult, ResourceContents, TextResourceContents};
use crate::tool::ToolError;

/// What the function behind a resource may return.
///
/// | type | contents |
/// |---|---|
/// | `String`, `&str` | one text |
/// | `Vec<u8>`, `&[u8]` | bytes |
/// | [`ResourceContents`] and its two kinds | as it is |
/// | `Vec<ResourceContents>` | several, such as the files of a folder |
/// | [`ReadResourceResult`] | the whole result, with metadata and hints for caches |
/// | `Option<T>` | `T`, or there is no such resource |
/// | `Result<T, E>` | `T`, or an error of the request, which may be [`NotFound`] |
///
/// Contents whose address is empty get the one that was asked for, and those without a MIME type that of the definition.
///
/// ```
/// use tinymcp::protocol::{Resource, ResourceContents};
/// use tinymcp::{Context, FnResource, ResourceRegistry};
///
/// let folder = FnResource::new(Resource::new("files://inbox", "inbox").with_mime_type("text/plain"), |_| {
///     vec![ResourceContents::text("files://inbox/a", "first"), ResourceContents::text("files://inbox/b", "second")]
/// });
/// let read = ResourceRegistry::new().with(folder)?.read("files://inbox", &Context::detached())?;
/// assert_eq!((read.contents.len(), read.contents[1].mime_type()), (2, Some("text/plain")));
/// # Ok::<(), tinymcp::ToolError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the contents of a resource",
    label = "not a `ResourceOutput`",
    note = "return text, bytes, `ResourceContents`, a `Vec` of them, `ReadResourceResult`, an `Option` of those, or a `Result` whose error is `ToolError` or any `std::error::Error`"
)]
pub trait ResourceOutput {
    /// The result as it goes to the client; `None` if there is no such resource.
    ///
    /// # Errors
    /// When it could not be read.
    fn into_read(self) -> Result<Option<ReadResourceResult>, ToolError>;
}

impl ResourceOutput for ReadResourceResult {
    fn into_read(self) -> Result<Option<ReadResourceResult>, ToolError> {
        Ok(Some(self))
    }
}

impl ResourceOutput for Vec<ResourceContents> {
    fn into_read(self) -> Result<Option<ReadResourceResult>, ToolError> {
        ReadResourceResult::new(self).into_read()
    }
}

macro_rules! outputs {
    ($($ty:ty: $value:ident => $contents:expr;)*) => {$(
        impl ResourceOutput for $ty {
            fn into_read(self) -> Result<Option<ReadResourceResult>, ToolError> {
                let $value = self;
                vec![ResourceContents::from($contents)].into_read()
            }
        }
    )*};
}
outputs! {
    ResourceContents: contents => contents;
    TextResourceContents: contents => contents;
    BlobResourceContents: contents => contents;
    String: text => TextResourceContents::new("", text);
    &str: text => TextResourceContents::new("", text);
    Vec<u8>: bytes => BlobResourceContents::from_bytes("", &bytes);
    &[u8]: bytes => BlobResourceContents::from_bytes("", bytes);
}

impl<T: ResourceOutput> ResourceOutput for Option<T> {
    fn into_read(self) -> Result<Option<ReadResourceResult>, ToolError> {
        self.map_or(Ok(None), T::into_read)
    }
}

impl<T: ResourceOutput, E: Into<ToolError>> ResourceOutput for Result<T, E> {
    fn into_read(self) -> Result<Option<ReadResourceResult>, ToolError> {
        self.map_err(Into::into)?.into_read()
    }
}

/// There is no such resource: the error that clients know by its code. Pass it on with `?`.
///
/// ```
/// use tinymcp::ToolError;
/// use tinymcp::resource::NotFound;
///
/// fn page(number: usize) -> Result<String, ToolError> {
///     let pages = ["one", "two"];
///     let page = pages.get(number).ok_or_else(|| NotFound::new(format_args!("no page {number}")))?;
///     Ok((*page).to_owned())
/// }
/// assert!(page(7).unwrap_err().downcast_ref::<NotFound>().is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound(String);

impl NotFound {
    /// With a text that says what is missing. The client gets the address besides.
    pub fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }

    /// Nothing is known but the address.
    pub(crate) fn at(uri: &str) -> Self {
        Self(format!("resource not found: {uri}"))
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotFound {}
