//! JSON text that stays text until somebody knows its type.
//!
//! Every wire type and every tool argument is read the same way: one pass splits an object into
//! its members ([`Members`]), then each member is read as what it should be ([`FromJson`]). That gives
//! errors that name the exact place (``tags[1]: expected a string, found 5``), keeps numbers
//! exact (`10^30` survives), and needs no untagged guessing.
//!
//! **Invariant:** nothing here knows JSON-RPC or MCP.

mod canonical;
mod object;
mod read;
mod text;
#[cfg(feature = "validation")]
mod validation;
#[macro_use]
pub(crate) mod wire;

pub(crate) use canonical::{canonical, write_members};
pub(crate) use object::InOrder;
pub use object::{Members, Object};
#[cfg(any(feature = "validation", feature = "http-server", feature = "http-client"))]
pub(crate) use read::shortened;
pub use read::{FromJson, JsonError};
pub(crate) use read::{nested, nested_object, string};
pub use text::Json;
#[cfg(any(feature = "http-client", feature = "trajectory"))]
pub(crate) use text::compact;
#[cfg(any(feature = "http-server", feature = "trajectory"))]
pub(crate) use text::one_line;
pub(crate) use text::{is_blank, repair_surrogates};
#[cfg(feature = "validation")]
pub use validation::{SchemaError, Validator};
