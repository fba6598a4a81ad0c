//! [`Environment`]: which variables a child gets.

use std::ffi::OsString;

/// Which of this process's environment variables a child gets. [`ChildProcess::env`](super::ChildProcess::env) adds to any of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Environment {
    /// What programs need to find themselves and the user, and no secrets.
    ///
    /// On Unix: `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `USER`, `LANG`, `LC_ALL`, `TZ`, `TMPDIR`. On Windows:
    /// `APPDATA`, `COMSPEC`, `HOMEDRIVE`, `HOMEPATH`, `LOCALAPPDATA`, `PATH`, `PATHEXT`, `PROCESSOR_ARCHITECTURE`,
    /// `PROGRAMDATA`, `PROGRAMFILES`, `SYSTEMDRIVE`, `SYSTEMROOT`, `TEMP`, `TMP`, `USERNAME`, `USERPROFILE`, `WINDIR`.
    #[default]
    Base,
    /// All of them. Every secret in this process's environment is then the server's too.
    All,
    /// None of them.
    None,
}

impl Environment {
    /// The variables of [`Environment::Base`] on this platform.
    #[must_use]
    pub fn base_names() -> &'static [&'static str] {
        if cfg!(windows) {
            &[
                "APPDATA",
                "COMSPEC",
                "HOMEDRIVE",
                "HOMEPATH",
                "LOCALAPPDATA",
                "PATH",
                "PATHEXT",
                "PROCESSOR_ARCHITECTURE",
                "PROGRAMDATA",
                "PROGRAMFILES",
                "SYSTEMDRIVE",
                "SYSTEMROOT",
                "TEMP",
                "TMP",
                "USERNAME",
                "USERPROFILE",
                "WINDIR",
            ]
        } else {
            &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"]
        }
    }

    /// What it is now: names and values.
    ///
    /// ```
    /// use tinymcp::transport::Environment;
    ///
    /// assert!(Environment::Base.variables().iter().all(|(name, _)| name != "API_KEY"));
    /// assert!(Environment::None.variables().is_empty());
    /// ```
    #[must_use]
    pub fn variables(self) -> Vec<(OsString, OsString)> {
        let kept = |name: &&'static str| Some(((*name).into(), std::env::var_os(name)?));
        match self {
            Self::Base => Self::base_names().iter().filter_map(kept).collect(),
            Self::All => std::env::vars_os().collect(),
            Self::None => Vec::new(),
        }
    }
}
