//! Bytes as text, by RFC 4648.

use crate::json::JsonError;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `bytes` in base64, padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

/// The bytes that `text` stands for. Accepts the URL-safe digits, missing padding and white space as well, since there
/// are servers that write them.
///
/// # Errors
/// When there is another character, or the end is missing.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, JsonError> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut digits, mut ended) = (0_u32, 0_u32, false);
    for (at, c) in text.bytes().enumerate() {
        let digit = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => {
                ended = true;
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\n' => continue,
            _ => return Err(JsonError::new(format!("byte {at} is not base64"))),
        };
        if ended {
            return Err(JsonError::new(format!("base64 goes on after its padding, at byte {at}")));
        }
        bits = bits << 6 | u32::from(digit);
        digits += 1;
        if digits == 4 {
            bytes.extend(&bits.to_be_bytes()[1..]);
            (bits, digits) = (0, 0);
        }
    }
    match digits {
        0 => {}
        1 => return Err(JsonError::new("base64 is cut off")),
        // Two digits are 12 bits, that is one byte; three are 18, two bytes.
        left => bytes.extend(&(bits << (32 - 6 * left)).to_be_bytes()[..left as usize - 1]),
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_stand_for_each_other() {
        // The vectors of RFC 4648, section 10, and the last two digits.
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (b"fooba", "Zm9vYmE="),
            (b"foobar", "Zm9vYmFy"),
            (b"\xfb\xff\xbf", "+/+/"),
        ] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Ok(bytes), "{text}");
            assert_eq!(decode(text.trim_end_matches('=')).as_deref(), Ok(bytes), "{text} without padding");
        }
        let all: Vec<u8> = (0..=255).collect();
        for from in 0..3 {
            assert_eq!(decode(&encode(&all[from..])).as_deref(), Ok(&all[from..]));
        }
    }

    #[test]
    fn other_spellings_are_read_and_garbage_is_not() {
        assert_eq!(decode("-_-_").as_deref(), Ok(&b"\xfb\xff\xbf"[..]));
        assert_eq!(decode("Zm9v\r\nYmFy\n").as_deref(), Ok(&b"foobar"[..]));
        for (text, problem) in [
            ("Zm9*", "byte 3 is not base64"),
            ("Zm9é", "byte 3 is not base64"),
            ("Zg==Zg==", "base64 goes on after its padding, at byte 4"),
            ("Zm9vY", "base64 is cut off"),
        ] {
            assert_eq!(decode(text).map_err(|e| e.to_string()), Err(problem.to_owned()));
        }
    }
}
