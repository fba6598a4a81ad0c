//! `file:` URIs, as clients name their folders and resources their files.

use std::path::{Path, PathBuf};

use super::{Result, Root, RootErrorKind};

impl Root {
    /// The path in this folder that a `file:` URI means.
    ///
    /// Percent-encoding is taken away, once. The URI must begin with where the folder [is](Self::location), not with a link to it; its
    /// host must be absent or `localhost`.
    ///
    /// # Errors
    /// When it is no such URI, or means something outside.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("tinymcp-doc-uri-{}", std::process::id()));
    /// let root = tinymcp::guard::Root::create(&folder)?;
    /// let uri = root.uri("a b/ü.txt")?;
    /// assert!(uri.ends_with("/a%20b/%C3%BC.txt"));
    /// assert_eq!(root.relative_uri(&uri)?, std::path::Path::new("a b/ü.txt"));
    /// assert!(root.relative_uri("file:///etc/passwd").is_err());
    /// assert!(root.relative_uri(&uri.replace("a%20b", "%2e%2e")).is_err());
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn relative_uri(&self, uri: &str) -> Result<PathBuf> {
        let bad = |problem| self.error(Path::new(uri), RootErrorKind::BadPath, problem);
        let path = decoded(uri).map_err(bad)?;
        let path = if cfg!(windows) { path.trim_start_matches('/').to_owned() } else { path };
        let Ok(beneath) = Path::new(&path).strip_prefix(&self.location) else {
            return Err(bad("the URI is of another folder"));
        };
        let beneath = if beneath.as_os_str().is_empty() { Path::new(".") } else { beneath };
        // The same rules, and an error that names what was given.
        super::clean(beneath, self.names).map_err(bad)
    }

    /// The `file:` URI of a path in this folder, which says where the folder is. Nothing needs to be there.
    ///
    /// # Errors
    /// When `path` is none beneath this folder, or is not UTF-8.
    pub fn uri(&self, path: impl AsRef<Path>) -> Result<String> {
        let path = path.as_ref();
        let cleaned = self.relative(path)?;
        let whole =
            if cleaned == Path::new(".") { self.location.to_path_buf() } else { self.location.join(cleaned) };
        let text = whole.to_str().ok_or_else(|| self.error(path, RootErrorKind::NotText, "not in UTF-8"))?;
        let text = if cfg!(windows) { format!("/{}", text.replace('\\', "/")) } else { text.to_owned() };
        let mut uri = "file://".to_owned();
        for byte in text.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
                uri.push(char::from(byte));
            } else {
                uri += &format!("%{byte:02X}");
            }
        }
        Ok(uri)
    }
}

/// The path of a `file:` URI of this machine.
fn decoded(uri: &str) -> std::result::Result<String, &'static str> {
    let is_file = uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    let rest = uri.get(5..).filter(|_| is_file).ok_or("the URI does not begin with file:")?;
    if rest.contains(['?', '#']) {
        return Err("the URI has a query or a fragment");
    }
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/').ok_or("the URI has no path")?);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err("the URI is of another machine");
            }
            path
        }
    };
    if !path.starts_with('/') {
        return Err("the URI has no absolute path");
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || {
            rest.next().and_then(|digit| char::from(digit).to_digit(16)).and_then(|n| u8::try_from(n).ok())
        };
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err("the URI has a % without two digits");
        };
        match high * 16 + low {
            // It would be another path after decoding than before.
            b'/' | b'\\' => return Err("the URI has an encoded separator"),
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| "the URI is not UTF-8 when decoded")
}
