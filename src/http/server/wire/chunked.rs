//! [`Chunked`]: takes the chunks of a body apart, in whatever pieces they come.

use super::parse::Refusal;

/// Bytes of a chunk's first line, and of all trailers.
const MAX_LINE: usize = 256;
const MAX_TRAILERS: usize = 8 * 1024;

/// Where in a chunked body its reader is.
#[derive(Debug, Default)]
pub(super) struct Chunked {
    part: Part,
    /// Of the chunk's size while it is read, then of its bytes that are still to come.
    left: u64,
    /// Bytes of the line, or of the trailers, so far.
    seen: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Size,
    /// What may follow the size, and is skipped.
    Extension,
    SizeEnd,
    Data,
    DataReturn,
    DataEnd,
    /// At the beginning of a line after the last chunk.
    Trailer,
    TrailerRest,
    TrailerEnd,
    /// In the empty line that ends it all.
    LastEnd,
}

impl Chunked {
    /// Takes what belongs to the body off `input`; `true`: that was all of it. The body is at most `limit` bytes.
    pub(super) fn take(
        &mut self,
        input: &mut &[u8],
        body: &mut Vec<u8>,
        limit: usize,
    ) -> Result<bool, Refusal> {
        while let Some((&byte, rest)) = input.split_first() {
            if self.part == Part::Data {
                let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len());
                let (data, rest) = input.split_at(length);
                body.extend_from_slice(data);
                self.left -= length as u64;
                *input = rest;
                if self.left == 0 {
                    self.part = Part::DataReturn;
                }
                continue;
            }
            *input = rest;
            self.seen += 1;
            self.part = match (self.part, byte) {
                (Part::Size, b'\r') if self.seen > 1 => Part::SizeEnd,
                (Part::Size, b';') if self.seen > 1 => Part::Extension,
                (Part::Size, _) => {
                    let digit = (byte as char).to_digit(16).ok_or_else(|| bad("size"))?;
                    // 15 digits are more than any limit; more would not fit.
                    if self.seen > 15 {
                        return Err(bad("size"));
                    }
                    self.left = self.left * 16 + u64::from(digit);
                    Part::Size
                }
                (Part::Extension, b'\r') => Part::SizeEnd,
                (Part::Extension, _) if byte == b'\n' || self.seen > MAX_LINE => {
                    return Err(bad("extension"));
                }
                (Part::Extension, _) => Part::Extension,
                (Part::SizeEnd, b'\n') => self.size_is_known(body.len(), limit)?,
                (Part::DataReturn, b'\r') => Part::DataEnd,
                (Part::DataEnd, b'\n') => self.next(Part::Size),
                (Part::Trailer, b'\r') => Part::LastEnd,
                (Part::TrailerRest, b'\r') => Part::TrailerEnd,
                (Part::TrailerEnd, b'\n') => Part::Trailer,
                (Part::LastEnd, b'\n') => return Ok(true),
                (Part::Trailer | Part::TrailerRest, _) if byte == b'\n' || byte == 0 => {
                    return Err(bad("trailer"));
                }
                (Part::Trailer | Part::TrailerRest, _) if self.seen > MAX_TRAILERS => {
                    return Err(Refusal::new(431, format!("the trailers exceed {MAX_TRAILERS} bytes")));
                }
                (Part::Trailer | Part::TrailerRest, _) => Part::TrailerRest,
                _ => return Err(bad("line end")),
            };
        }
        Ok(false)
    }

    fn size_is_known(&mut self, body: usize, limit: usize) -> Result<Part, Refusal> {
        if self.left > limit.saturating_sub(body) as u64 {
            return Err(too_large(limit));
        }
        let part = if self.left == 0 { Part::Trailer } else { Part::Data };
        let left = self.left;
        self.next(part);
        self.left = left;
        Ok(part)
    }

    fn next(&mut self, part: Part) -> Part {
        self.seen = 0;
        self.left = 0;
        part
    }
}

fn bad(part: &str) -> Refusal {
    Refusal::new(400, format!("a chunk has a bad {part}"))
}

pub(super) fn too_large(limit: usize) -> Refusal {
    Refusal::new(413, format!("the body exceeds {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Result<Option<(Vec<u8>, usize)>, u16> {
        let (mut chunked, mut body) = (Chunked::default(), Vec::new());
        for (n, piece) in pieces.iter().enumerate() {
            let mut input = *piece;
            if chunked.take(&mut input, &mut body, 64).map_err(|refusal| refusal.status)? {
                let rest = input.len() + pieces[n + 1..].iter().map(|piece| piece.len()).sum::<usize>();
                return Ok(Some((body, rest)));
            }
            assert_eq!(input.len(), 0);
        }
        Ok(None)
    }

    #[test]
    fn chunks_are_put_together_wherever_they_are_cut() {
        let texts: [(&[u8], &[u8], usize); 5] = [
            (b"0\r\n\r\n", b"", 0),
            (b"3\r\nabc\r\n0\r\n\r\nGET", b"abc", 3),
            (b"00A\r\n0123456789\r\n1;x=\"y\"\r\nZ\r\n000\r\n\r\n", b"0123456789Z", 0),
            (b"2\r\n\r\n\r\n0\r\nTrailer: x\r\nb:\r\n\r\n", b"\r\n", 0),
            (b"3c\r\n012345678901234567890123456789012345678901234567890123456789\r\n4\r\nabcd\r\n0\r\n\r\n",
             b"012345678901234567890123456789012345678901234567890123456789abcd", 0),
        ];
        for (text, body, rest) in texts {
            assert_eq!(decode(&[text]), Ok(Some((body.to_vec(), rest))));
            for at in 0..text.len() {
                let (a, b) = text.split_at(at);
                assert_eq!(decode(&[a, b]), Ok(Some((body.to_vec(), rest))), "cut at {at}");
            }
            let single: Vec<_> = text.chunks(1).collect();
            assert_eq!(decode(&single), Ok(Some((body.to_vec(), rest))));
            for length in 0..text.len() - rest {
                assert_eq!(decode(&[&text[..length]]), Ok(None));
            }
        }
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        let long_extension = format!("1;{}\r\n", "x".repeat(300));
        let long_trailers = format!("0\r\n{}", "a: b\r\n".repeat(2000));
        let texts: [(&[u8], u16); 18] = [
            (b"\r\n", 400),
            (b";\r\n", 400),
            (b"+1\r\n", 400),
            (b"0x1\r\n", 400),
            (b" 1\r\n", 400),
            (b"1 \r\n", 400),
            (b"g\r\n", 400),
            (b"1\nZ", 400),
            (b"1\r\rZ", 400),
            (b"1;\nZ", 400),
            (b"1\r\nZZ", 400),
            (b"1\r\nZ\n", 400),
            (b"0\r\na: b\n", 400),
            (b"1000000000000000\r\n", 400),
            (b"fffffffffffffff\r\n", 413),
            (b"41\r\n", 413),
            (long_extension.as_bytes(), 400),
            (long_trailers.as_bytes(), 431),
        ];
        for (text, status) in texts {
            assert_eq!(decode(&[text]), Err(status), "{}", String::from_utf8_lossy(text));
        }
    }
}
