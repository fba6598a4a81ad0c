//! [`ProtocolVersion`]: the revisions of the protocol, in order.

use std::cmp::Ordering;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{FromJson, JsonError, wire};

/// A revision of the protocol.
///
/// Known revisions are ordered by age. One that this crate does not know compares to nothing, so that no
/// decision is ever made on the letters of a peer's string.
///
/// ```
/// use tinymcp::protocol::ProtocolVersion;
///
/// assert!(ProtocolVersion::V2025_03_26 < ProtocolVersion::V2025_06_18);
/// let future = ProtocolVersion::from("2031-01-01");
/// assert!(!(future > ProtocolVersion::LATEST) && !(future < ProtocolVersion::LATEST));
/// assert_eq!(future.as_str(), "2031-01-01");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// The first revision.
    V2024_11_05,
    /// Tool annotations, audio, completions capability, batches.
    V2025_03_26,
    /// Structured tool output, resource links, elicitation; no more batches.
    V2025_06_18,
    /// Icons, URL elicitation, tools in sampling, tasks.
    V2025_11_25,
    /// Stateless requests, multi round-trip requests, subscriptions.
    V2026_07_28,
    /// A revision this version of the crate does not know.
    Unknown(String),
}

impl ProtocolVersion {
    /// Every known revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The newest revision that begins with an `initialize` handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The revision as it is written on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
            Self::Unknown(text) => text,
        }
    }

    /// Whether every request carries its own metadata, as from 2026-07-28 on. False for an unknown revision.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        self.rank() >= Self::V2026_07_28.rank()
    }

    /// Whether a connection begins with an `initialize` handshake, as up to 2025-11-25. False for an unknown
    /// revision.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.rank().is_some() && !self.is_modern()
    }

    /// The place in [`ALL`](Self::ALL).
    pub(crate) const fn rank(&self) -> Option<u8> {
        match self {
            Self::V2024_11_05 => Some(0),
            Self::V2025_03_26 => Some(1),
            Self::V2025_06_18 => Some(2),
            Self::V2025_11_25 => Some(3),
            Self::V2026_07_28 => Some(4),
            Self::Unknown(_) => None,
        }
    }
}

impl PartialOrd for ProtocolVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.rank(), other.rank()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => (self == other).then_some(Ordering::Equal),
        }
    }
}

impl From<&str> for ProtocolVersion {
    fn from(text: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == text)
            .unwrap_or_else(|| Self::Unknown(text.to_owned()))
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromJson for ProtocolVersion {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        String::from_json(raw).map(|text| Self::from(text.as_str()))
    }
}

impl Serialize for ProtocolVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

wire::deserialize_through_json!(ProtocolVersion);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_revisions_are_ordered_and_unknown_ones_are_not() {
        assert!(ProtocolVersion::ALL.windows(2).all(|pair| pair[0] < pair[1]));
        for version in ProtocolVersion::ALL {
            assert_eq!(ProtocolVersion::from(version.as_str()), version);
            assert_ne!(version.is_modern(), version.is_legacy(), "{version}");
        }
        let unknown = ProtocolVersion::from("2025-06-19");
        assert_eq!(unknown.partial_cmp(&ProtocolVersion::V2025_06_18), None);
        assert_eq!(unknown.partial_cmp(&"2025-06-20".into()), None);
        assert_eq!(unknown.partial_cmp(&unknown.clone()), Some(Ordering::Equal));
        assert!(!unknown.is_modern() && !unknown.is_legacy());
    }
}
