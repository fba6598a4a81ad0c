//! Values of headers that mirror the body: as they are if a header can carry them, in Base64 if not.
//!
//! spec: 2026-07-28 basic/transports/streamable-http#value-encoding

use std::borrow::Cow;

use crate::protocol::base64;

/// What stands around a value in Base64. Compared with case.
const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// `value` as the value of a header.
#[cfg(feature = "http-client")]
pub(super) fn encode(value: &str) -> Cow<'_, str> {
    // A tab would do as well, but to some it is a control character like others. In Base64 it is right for all.
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && !value.starts_with(' ')
        && !value.ends_with(' ');
    let is_marked = value.starts_with(PREFIX) && value.ends_with(SUFFIX);
    if is_plain && !is_marked {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(format!("{PREFIX}{}{SUFFIX}", base64::encode(value.as_bytes())))
    }
}

/// What the value of a header stands for.
///
/// # Errors
/// When it holds what no header may, or says that it is Base64 and is not, or not that of UTF-8; the text says which.
#[cfg(feature = "http-server")]
pub(super) fn decode(value: &str) -> Result<Cow<'_, str>, String> {
    let Some(encoded) = value.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) else {
        // spec: 2026-07-28 basic/transports/streamable-http#server-behavior-for-custom-headers (MUST reject invalid characters)
        return match value.bytes().find(|byte| !matches!(byte, b' '..=b'~' | b'\t')) {
            Some(byte) => Err(format!("byte {byte:#04x} is not allowed in a header")),
            None => Ok(Cow::Borrowed(value)),
        };
    };
    // Read leniently, written strictly: what comes out otherwise lacks padding, or was no canonical Base64 at all. Two
    // spellings of one value are one too many where others compare them as text.
    let bytes = base64::decode(encoded).ok().filter(|bytes| base64::encode(bytes) == encoded);
    let bytes = bytes.ok_or("what is between =?base64? and ?= is not Base64 with its padding")?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| "what is encoded in Base64 is not UTF-8".to_owned())
}

#[cfg(all(test, feature = "http-server", feature = "http-client"))]
mod tests {
    use super::*;

    #[test]
    fn what_a_header_cannot_carry_is_encoded() {
        for (value, header) in [
            // Those of the specification.
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            // And others.
            ("", ""),
            ("a b", "a b"),
            ("~!\"#:,;=", "~!\"#:,;="),
            (" a", "=?base64?IGE=?="),
            ("a ", "=?base64?YSA=?="),
            (" ", "=?base64?IA==?="),
            ("\ta", "=?base64?CWE=?="),
            ("a\tb", "=?base64?YQli?="),
            ("a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="),
            ("\0", "=?base64?AA==?="),
            ("\x7f", "=?base64?fw==?="),
            ("=?base64?open", "=?base64?open"),
            ("closed?=", "closed?="),
            ("=?BASE64?x?=", "=?BASE64?x?="),
            // Both ends are there, though they overlap.
            ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ] {
            assert_eq!(encode(value), header, "{value:?}");
            assert_eq!(decode(header).as_deref(), Ok(value), "{header}");
        }
    }

    #[test]
    fn what_is_not_marked_in_full_is_literal() {
        for literal in [
            "=?base64?SGVsbG8=",
            "SGVsbG8=?=",
            "=?Base64?SGVsbG8=?=",
            "=?BASE64?SGVsbG8=?=",
            "=?base64?=",
            "x=?base64?SGVsbG8=?=",
            "=?utf-8?B?SGVsbG8=?=",
            "a\tb",
        ] {
            assert_eq!(decode(literal).as_deref(), Ok(literal));
        }
        assert_eq!(decode("=?base64??=").as_deref(), Ok(""));
    }

    #[test]
    fn what_is_neither_is_refused() {
        let not_base64 = "what is between =?base64? and ?= is not Base64 with its padding";
        for (header, problem) in [
            ("=?base64?SGVsbG8?=", not_base64),     // no padding
            ("=?base64?SGVsbG8==?=", not_base64),   // too much
            ("=?base64?SGVs!!!bG8=?=", not_base64), // not of the alphabet
            ("=?base64?SGVs bG8=?=", not_base64),   // white space
            ("=?base64?-_-_?=", not_base64),        // the other alphabet
            ("=?base64?Zh==?=", not_base64),        // bits after the end
            ("=?base64?=?=", not_base64),           // padding alone
            ("=?base64?SGVsbG8=?=?=", not_base64),  // closed twice
            ("=?base64?é?=", not_base64),
            ("=?base64?/w==?=", "what is encoded in Base64 is not UTF-8"),
            ("a\nb", "byte 0x0a is not allowed in a header"),
            ("\0", "byte 0x00 is not allowed in a header"),
            ("a\x7f", "byte 0x7f is not allowed in a header"),
            ("é", "byte 0xc3 is not allowed in a header"),
        ] {
            assert_eq!(decode(header).as_deref(), Err(&problem.to_owned()), "{header:?}");
        }
    }
}
