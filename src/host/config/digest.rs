//! SHA-256 (FIPS 180-4), so that a text can be compared later without being kept. No crate, as `host` has none.

const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The fractions of the cube roots of the first 64 primes.
const ROUNDS: [u32; 64] = {
    let mut found = [0; 64];
    let (mut candidate, mut count) = (2_u128, 0);
    while count < 64 {
        let mut divisor = 2;
        while candidate % divisor != 0 {
            divisor += 1;
        }
        if divisor == candidate {
            found[count] = cube_root_fraction(candidate);
            count += 1;
        }
        candidate += 1;
    }
    found
};

/// The first 32 bits of the fraction of the cube root of `n`: by bisection of the root of `n * 2^96`.
const fn cube_root_fraction(n: u128) -> u32 {
    let (mut low, mut high) = (0_u128, 1 << 36);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if middle * middle * middle <= n << 96 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low & 0xffff_ffff) as u32
}

/// The digest of `text` in hexadecimal.
pub(super) fn sha256(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let bits = (bytes.len() as u64).wrapping_mul(8);
    bytes.push(0x80);
    while bytes.len() % 64 != 56 {
        bytes.push(0);
    }
    bytes.extend_from_slice(&bits.to_be_bytes());
    let mut state = START;
    for block in bytes.chunks_exact(64) {
        take_in(&mut state, block);
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

fn take_in(state: &mut [u32; 8], block: &[u8]) {
    let mut words = [0_u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for i in 16..64 {
        let (early, late) = (words[i - 15], words[i - 2]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
        words[i] = words[i - 16].wrapping_add(early).wrapping_add(words[i - 7]).wrapping_add(late);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, round) in words.iter().zip(ROUNDS) {
        let upper = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let one = h.wrapping_add(upper).wrapping_add(choice).wrapping_add(round).wrapping_add(*word);
        let lower = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        (h, g, f, e, d, c, b, a) =
            (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(lower.wrapping_add(majority)));
    }
    for (sum, part) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *sum = sum.wrapping_add(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        let cases = [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ];
        for (text, digest) in cases {
            assert_eq!(sha256(text), digest, "{text}");
        }
        let long = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(sha256(&"a".repeat(1_000_000)), long);
    }
}
