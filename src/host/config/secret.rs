//! [`Secret`]: text that is not shown. [`SecretSource`]: where such text comes from.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::BuildHasher;

use super::Input;

/// Text that neither `Debug` nor `Display` show: a token, a header, an argument with either in it.
///
/// It is not wiped from memory when it is dropped.
///
/// ```
/// use tinymcp::host::config::Secret;
///
/// let token = Secret::from("s3cr3t");
/// assert_eq!(format!("{token} {token:?}"), "[secret] [secret]");
/// assert_eq!(token.reveal(), "s3cr3t");
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` out of sight.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The text itself, taken out.
    #[must_use]
    pub fn into_revealed(self) -> String {
        self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Where the values come from that a configuration only names.
///
/// Each method answers `Ok(None)` for a name that this source does not know: the next one is asked then. The methods run on the
/// thread that resolves a server, without any lock; they may wait for the user.
///
/// ```
/// use tinymcp::host::config::{Input, Resolver, Secret, SecretError, SecretSource, ServerEntry};
///
/// /// Asks the user in a terminal.
/// struct Terminal;
///
/// impl SecretSource for Terminal {
///     fn input(&self, input: &Input) -> Result<Option<Secret>, SecretError> {
///         let question = input.description.as_deref().unwrap_or(&input.id);
///         # let read_password = |_: &str| Some("from the user".to_owned());
///         match read_password(question) {
///             Some(text) => Ok(Some(text.into())),
///             None => Err(SecretError::new("the user declined")),
///         }
///     }
/// }
///
/// let entry = ServerEntry::command("notes", "notes-server", ["--token", "${input:token}"]);
/// let launch = Resolver::new().secrets(Terminal).input(Input::password("token", "API token")).resolve(&entry)?;
/// # let _ = launch;
/// # Ok::<(), tinymcp::host::config::ConfigError>(())
/// ```
pub trait SecretSource: Send + Sync {
    /// The variable of `${env:NAME}` or `${NAME}`.
    ///
    /// # Errors
    /// When the source knows the name and cannot give its value.
    fn variable(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        let _ = name;
        Ok(None)
    }

    /// The answer to `${input:id}`. Asked once for each id of a [`Resolver`](super::Resolver).
    ///
    /// # Errors
    /// When it could not be asked, or the user does not answer.
    fn input(&self, input: &Input) -> Result<Option<Secret>, SecretError> {
        let _ = input;
        Ok(None)
    }

    /// The secret of `${secret:name}`: an entry of a keyring, for example. No other program's files have this form.
    ///
    /// # Errors
    /// When the source knows the name and cannot give its value.
    fn secret(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        let _ = name;
        Ok(None)
    }
}

/// Why a source gave no value. The text is shown to the user: it must not have a secret in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SecretError(String);

impl SecretError {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// The environment of this process: what a [`Resolver`](super::Resolver) asks last, unless told not to.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Environment;

impl SecretSource for Environment {
    fn variable(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        // Names that the system cannot have would be a panic on some.
        if name.is_empty() || name.contains(['=', '\0']) {
            return Ok(None);
        }
        match std::env::var_os(name).map(std::ffi::OsString::into_string) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text.into())),
            Some(Err(_)) => Err(SecretError::new("its value is not UTF-8")),
        }
    }
}

/// Variables by their names.
impl SecretSource for BTreeMap<String, String> {
    fn variable(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        Ok(self.get(name).map(|text| text.as_str().into()))
    }
}

/// Variables by their names.
impl<S: BuildHasher + Send + Sync> SecretSource for HashMap<String, String, S> {
    fn variable(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        Ok(self.get(name).map(|text| text.as_str().into()))
    }
}

impl<T: SecretSource + ?Sized> SecretSource for std::sync::Arc<T> {
    fn variable(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        (**self).variable(name)
    }
    fn input(&self, input: &Input) -> Result<Option<Secret>, SecretError> {
        (**self).input(input)
    }
    fn secret(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        (**self).secret(name)
    }
}
