//! SHA-256 in base64, as a Content-Security-Policy writes it (FIPS 180-4).

/// The first bits of the fractions of the square or cube roots of primes.
fn roots(count: usize, root: impl Fn(f64) -> f64) -> Vec<u32> {
    let is_prime = |n: &u32| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    let primes = (2..).filter(is_prime).take(count);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "of a fraction, 32 bits")]
    primes.map(|prime| (root(f64::from(prime)).fract() * 4_294_967_296.0) as u32).collect()
}

fn digest(bytes: &[u8]) -> Vec<u8> {
    let keys = roots(64, f64::cbrt);
    let mut state = roots(8, f64::sqrt);
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((bytes.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut w: Vec<_> =
            block.chunks_exact(4).map(|four| u32::from_be_bytes(four.try_into().expect("four"))).collect();
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ w[i - 15] >> 3;
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ w[i - 2] >> 10;
            w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
        }
        let mut v = state.clone();
        for (key, word) in keys.iter().zip(&w) {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = v[4] & v[5] ^ !v[4] & v[6];
            let one = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(*key).wrapping_add(*word);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = v[0] & v[1] ^ v[0] & v[2] ^ v[1] & v[2];
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(one);
            v[0] = one.wrapping_add(s0).wrapping_add(majority);
        }
        for (sum, value) in state.iter_mut().zip(v) {
            *sum = sum.wrapping_add(value);
        }
    }
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// The digest of `text` in base64.
pub(crate) fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in digest(text.as_bytes()).chunks(3) {
        let bits =
            three.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..4 {
            let digit = DIGITS[bits >> (18 - 6 * at) & 63];
            out.push(if at > three.len() { '=' } else { char::from(digit) });
        }
    }
    out
}

#[test]
fn the_digest_of_abc_is_the_known_one() {
    assert_eq!(base64("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}
