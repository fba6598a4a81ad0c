//! Settling on a revision.

use crate::error::{Error, Result};
use crate::protocol::ProtocolVersion;

/// The revisions an application speaks: at least one, all known, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offered(Vec<ProtocolVersion>);

impl Offered {
    /// Those of `versions`, in any order.
    ///
    /// # Errors
    /// When there is none, or one that this crate does not know.
    pub(crate) fn new(versions: &[ProtocolVersion]) -> Result<Self> {
        if let Some(unknown) = versions.iter().find(|version| matches!(version, ProtocolVersion::Unknown(_)))
        {
            return Err(Error::InvalidUse(format!("unknown protocol version: {unknown}")));
        }
        let known = ProtocolVersion::ALL.into_iter().filter(|version| versions.contains(version));
        Self::non_empty(known).ok_or_else(|| Error::InvalidUse("no protocol version to offer".into()))
    }

    /// The Legacy ones; `None` if there is none.
    pub(crate) fn legacy(&self) -> Option<Self> {
        Self::non_empty(self.0.iter().filter(|version| version.is_legacy()).cloned())
    }

    fn non_empty(versions: impl Iterator<Item = ProtocolVersion>) -> Option<Self> {
        let versions: Vec<_> = versions.collect();
        (!versions.is_empty()).then_some(Self(versions))
    }

    pub(crate) fn contains(&self, version: &ProtocolVersion) -> bool {
        self.0.contains(version)
    }

    /// The newest.
    pub(crate) fn latest(&self) -> &ProtocolVersion {
        self.0.last().expect("never empty")
    }

    /// The newest Legacy one.
    pub(crate) fn latest_legacy(&self) -> Option<&ProtocolVersion> {
        self.newest_first().find(|version| version.is_legacy())
    }

    /// Newest first, as it is written on the wire.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &ProtocolVersion> {
        self.0.iter().rev()
    }
}

impl Default for Offered {
    /// Every revision.
    fn default() -> Self {
        Self(ProtocolVersion::ALL.to_vec())
    }
}

/// What a server answers to an `initialize` that asks for `requested`. `None`: it speaks no Legacy revision.
pub(crate) fn negotiate(requested: &ProtocolVersion, offered: &Offered) -> Option<ProtocolVersion> {
    // spec: 2025-11-25 basic/lifecycle#version-negotiation
    if requested.is_legacy() && offered.contains(requested) {
        return Some(requested.clone());
    }
    // Also for a request that asks for a Modern revision: those have no handshake.
    offered.latest_legacy().cloned()
}

/// The newest revision that a client can speak with a server that speaks `supported`.
pub(crate) fn choose(supported: &[ProtocolVersion], offered: &Offered) -> Option<ProtocolVersion> {
    // spec: 2026-07-28 basic/versioning#protocol-version-negotiation
    offered.newest_first().find(|version| supported.contains(version)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(versions: &[&str]) -> Offered {
        let versions: Vec<_> = versions.iter().map(|text| ProtocolVersion::from(*text)).collect();
        Offered::new(&versions).expect("known versions")
    }

    #[test]
    fn servers_answer_the_same_or_their_newest_legacy_revision() {
        let all = Offered::default();
        let some = offered(&["2026-07-28", "2025-03-26", "2024-11-05"]);
        let modern = offered(&["2026-07-28"]);
        for (asked, of, want) in [
            ("2025-06-18", &all, Some("2025-06-18")),
            ("2024-11-05", &all, Some("2024-11-05")),
            ("2026-07-28", &all, Some("2025-11-25")),
            ("1999-01-01", &all, Some("2025-11-25")),
            ("2025-06-18", &some, Some("2025-03-26")),
            ("2024-11-05", &some, Some("2024-11-05")),
            ("2025-06-18", &modern, None),
            ("2026-07-28", &modern, None),
        ] {
            let got = negotiate(&asked.into(), of);
            assert_eq!(got.as_ref().map(ProtocolVersion::as_str), want, "{asked} of {of:?}");
        }
    }

    #[test]
    fn clients_choose_the_newest_common_revision() {
        let supported = ["2031-01-01", "2025-06-18", "2026-07-28"].map(ProtocolVersion::from);
        assert_eq!(choose(&supported, &Offered::default()), Some(ProtocolVersion::V2026_07_28));
        let legacy = Offered::default().legacy().expect("some");
        assert_eq!(choose(&supported, &legacy), Some(ProtocolVersion::V2025_06_18));
        assert_eq!(choose(&supported, &offered(&["2024-11-05"])), None);
    }

    #[test]
    fn offers_are_sorted_known_and_never_empty() {
        let versions = offered(&["2025-11-25", "2024-11-05", "2025-11-25"]);
        assert_eq!(
            versions.newest_first().map(ProtocolVersion::as_str).collect::<Vec<_>>(),
            ["2025-11-25", "2024-11-05"]
        );
        assert!(Offered::new(&[]).is_err());
        assert!(Offered::new(&["2031-01-01".into()]).is_err());
        assert_eq!(offered(&["2026-07-28"]).legacy(), None);
        assert_eq!(versions.latest(), &ProtocolVersion::V2025_11_25);
    }
}
