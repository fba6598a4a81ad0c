//! [`SealedStates`]: what a call learned in earlier rounds, carried by its client.
//!
//! **Invariant:** nothing is kept between rounds but keys, so that any process with the same key serves any round.
//!
//! spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow (MUST protect the integrity of the state)

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::context::{StateError, StateStore};
use crate::protocol::base64;

/// Of this form of a sealed state.
const VERSION: u8 = 1;
const KEY_ID_BYTES: usize = 4;
/// Version, key and expiry, before the state.
const HEAD_BYTES: usize = 1 + KEY_ID_BYTES + 8;
/// After the state.
const TAG_BYTES: usize = 32;
/// The shortest key, which is as strong as the tag.
const MIN_KEY_BYTES: usize = 32;
/// The largest state: it travels twice in every round.
const MAX_STATE_BYTES: usize = 64 * 1024;
/// No sealed state is longer, in characters of Base64.
const MAX_CHARS: usize = (HEAD_BYTES + MAX_STATE_BYTES + TAG_BYTES).div_ceil(3) * 4;

/// States that travel: the client carries them, under a seal that only the keys of this store can make.
///
/// The server keeps nothing, and with the same key any number of servers behind a load balancer serve any round of a call. It
/// works over every transport. A state has at most 64 KiB. Servers that share a key need clocks that agree to about a second,
/// and servers that offer different things need different keys.
///
/// The seal is an HMAC-SHA-256 over the state, its expiry and the call it belongs to. So a client can neither change a state
/// nor use it for another call or after its time. Two things it does not do:
///
/// - **It hides nothing.** Whoever sees the request state can read the answers and the values of
///   [`Context::step`](crate::Context::step) in it. What a client must not see has no place there.
/// - **It does not count.** A client that sends the same request state twice has that round carried out twice. Where that does
///   harm, let the effect be idempotent (by a key that is made in a step, for example), or implement
///   [`StateStore`] over a database that your servers share and that tells each state once.
///
/// ```
/// use std::time::Duration;
/// use tinymcp::Server;
/// use tinymcp::context::{StateError, StateStore};
/// use tinymcp::http::SealedStates;
///
/// let key = [7; 32]; // from a file or the environment: 32 random bytes that all replicas share
/// let (one, other) = (SealedStates::with_key(&key)?, SealedStates::with_key(&key)?);
/// let sealed = one.keep(b"call a", b"what was learned".to_vec(), Duration::from_secs(600))?;
/// assert_eq!(other.take(b"call a", &sealed)?, b"what was learned");
/// assert_eq!(other.take(b"call b", &sealed), Err(StateError::Unknown));
///
/// let server = Server::builder("s", "1").state_store(one).build();
/// # let _ = server;
/// # Ok::<(), StateError>(())
/// ```
pub struct SealedStates {
    /// The first one seals, all are accepted. Bound: what the program gives it.
    keys: Vec<Key>,
}

struct Key {
    /// Tells keys apart, and nothing else.
    id: [u8; KEY_ID_BYTES],
    /// What every tag begins with.
    hmac: Hmac<Sha256>,
}

impl SealedStates {
    /// With a random key that lives as long as this process: for one server, whose open calls end with it.
    ///
    /// # Errors
    /// When the operating system has no random bytes.
    pub fn new() -> Result<Self, StateError> {
        let mut key = [0; MIN_KEY_BYTES];
        getrandom::fill(&mut key).map_err(|e| StateError::Failed(format!("no random bytes: {e}")))?;
        Self::with_key(&key)
    }

    /// With this key, of at least 32 bytes that nobody can guess: random ones, and no password.
    ///
    /// # Errors
    /// When the key is shorter.
    pub fn with_key(key: &[u8]) -> Result<Self, StateError> {
        Ok(Self { keys: vec![Key::new(key)?] })
    }

    /// Accepts what was sealed with `key` as well. To change keys, first let every server accept the new one, then let them
    /// seal with it and accept the old one, for as long as a state may be waited for.
    ///
    /// # Errors
    /// When the key has fewer than 32 bytes.
    pub fn also_accept(mut self, key: &[u8]) -> Result<Self, StateError> {
        self.keys.push(Key::new(key)?);
        Ok(self)
    }

    fn seal(&self, binding: &[u8], state: &[u8], until: u64) -> Result<String, StateError> {
        if state.len() > MAX_STATE_BYTES {
            return Err(StateError::TooLarge { size: state.len(), limit: MAX_STATE_BYTES });
        }
        let key = &self.keys[0]; // there is one from the beginning
        let mut sealed = Vec::with_capacity(HEAD_BYTES + state.len() + TAG_BYTES);
        sealed.push(VERSION);
        sealed.extend(key.id);
        sealed.extend(until.to_be_bytes());
        sealed.extend(state);
        let tag = key.tag(binding, &sealed).finalize().into_bytes();
        sealed.extend(tag);
        Ok(url_safe(&sealed))
    }

    fn open(&self, binding: &[u8], sealed: &str, now: u64) -> Result<Vec<u8>, StateError> {
        // Whatever is wrong with a seal, the answer is the same. Only who holds a good one learns that its time is over.
        self.verified(binding, sealed)
            .ok_or(StateError::Unknown)
            .and_then(|(until, state)| if now < until { Ok(state) } else { Err(StateError::Expired) })
    }

    /// The expiry and the state, if the seal is one of ours and of this binding.
    fn verified(&self, binding: &[u8], sealed: &str) -> Option<(u64, Vec<u8>)> {
        if sealed.len() > MAX_CHARS {
            return None;
        }
        // Other spellings of the same bytes are no seals of ours.
        let mut bytes = base64::decode(sealed).ok().filter(|bytes| url_safe(bytes) == sealed)?;
        let tag = bytes.split_off(bytes.len().checked_sub(TAG_BYTES)?);
        let (version, rest) = bytes.split_first()?;
        let (id, rest) = rest.split_first_chunk::<KEY_ID_BYTES>()?;
        let (until, _) = rest.split_first_chunk()?;
        let until = u64::from_be_bytes(*until);
        let mut keys = self.keys.iter().filter(|key| *version == VERSION && key.id == *id);
        // Compares in constant time.
        keys.any(|key| key.tag(binding, &bytes).verify_slice(&tag).is_ok())
            .then(|| (until, bytes.split_off(HEAD_BYTES)))
    }
}

impl StateStore for SealedStates {
    fn keep(&self, binding: &[u8], state: Vec<u8>, time: Duration) -> Result<String, StateError> {
        let whole_seconds = time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0));
        self.seal(binding, &state, now()?.saturating_add(whole_seconds))
    }

    fn take(&self, binding: &[u8], request_state: &str) -> Result<Vec<u8>, StateError> {
        self.open(binding, request_state, now()?)
    }
}

impl fmt::Debug for SealedStates {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedStates").field("keys", &self.keys.len()).finish()
    }
}

impl Key {
    fn new(key: &[u8]) -> Result<Self, StateError> {
        if key.len() < MIN_KEY_BYTES {
            let problem = format!("the key has {} bytes, fewer than {MIN_KEY_BYTES}", key.len());
            return Err(StateError::Failed(problem));
        }
        let hmac = Hmac::<Sha256>::new_from_slice(key).map_err(|e| StateError::Failed(e.to_string()))?;
        // Begins with something else than a version, so that it is no tag.
        let id = hmac.clone().chain_update(b"id of a tinymcp key").finalize().into_bytes();
        let mut key = Self { id: [0; KEY_ID_BYTES], hmac };
        key.id.copy_from_slice(&id[..KEY_ID_BYTES]);
        Ok(key)
    }

    /// The tag of `content`, which is a head and a state, in the call of `binding`.
    fn tag(&self, binding: &[u8], content: &[u8]) -> Hmac<Sha256> {
        let (head, state) = content.split_at(HEAD_BYTES);
        // With its length, so that no byte of the binding can be moved into the state.
        let length = (binding.len() as u64).to_be_bytes();
        [head, &length, binding, state].iter().fold(self.hmac.clone(), Mac::chain_update)
    }
}

/// Seconds since 1970: what all servers have in common.
fn now() -> Result<u64, StateError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map(|since| since.as_secs()).map_err(|_| StateError::Failed("the clock is before 1970".into()))
}

/// `bytes` in Base64 for URLs, without padding.
fn url_safe(bytes: &[u8]) -> String {
    let mut text = base64::encode(bytes).replace('+', "-").replace('/', "_");
    text.truncate(text.trim_end_matches('=').len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: [u8; 32] = [1; 32];
    const NEW: [u8; 40] = [2; 40];

    fn with(key: &[u8]) -> SealedStates {
        SealedStates::with_key(key).expect("long enough")
    }

    fn sealed() -> String {
        with(&OLD).seal(b"a call", b"learned", 1000).expect("small")
    }

    #[test]
    fn a_state_is_told_unchanged_in_time_and_in_its_own_call() {
        let states = with(&OLD);
        for now in [0, 999] {
            assert_eq!(states.open(b"a call", &sealed(), now), Ok(b"learned".to_vec()));
        }
        for now in [1000, 1001, u64::MAX] {
            assert_eq!(states.open(b"a call", &sealed(), now), Err(StateError::Expired));
            // That it has expired is told to its own call only.
            assert_eq!(states.open(b"another", &sealed(), now), Err(StateError::Unknown));
        }
        for binding in [&b""[..], b"a cal", b"a callx", b"A call", b"a calllearned"] {
            assert_eq!(states.open(binding, &sealed(), 0), Err(StateError::Unknown));
        }
        let empty = states.seal(b"", b"", 1000).expect("small");
        assert_eq!(states.open(b"", &empty, 0), Ok(Vec::new()));
        // The clock and the time are used.
        let long = states.keep(b"a", vec![1], Duration::from_secs(600)).expect("kept");
        assert_eq!(states.take(b"a", &long), Ok(vec![1]));
        let never = states.keep(b"a", vec![1], Duration::MAX).expect("kept");
        assert_eq!(states.take(b"a", &never), Ok(vec![1]));
        let over = states.keep(b"a", vec![1], Duration::ZERO).expect("kept");
        assert_eq!(states.take(b"a", &over), Err(StateError::Expired));
    }

    #[test]
    fn no_byte_can_be_moved_between_the_binding_and_the_state() {
        let states = with(&OLD);
        let tags: std::collections::BTreeSet<_> = (0..=6)
            .map(|cut| b"abcdef".split_at(cut))
            .map(|(binding, state)| states.seal(binding, state, 1000).expect("small"))
            .map(|sealed| base64::decode(&sealed).expect("base64"))
            .map(|bytes| bytes[bytes.len() - TAG_BYTES..].to_vec())
            .collect();
        assert_eq!(tags.len(), 7);
    }

    #[test]
    fn every_change_is_refused() {
        let (states, sealed) = (with(&OLD), sealed());
        let refused = |text: &str| {
            assert_eq!(states.open(b"a call", text, 0), Err(StateError::Unknown), "{text}");
        };
        let bytes = base64::decode(&sealed).expect("base64");
        assert_eq!(url_safe(&bytes), sealed);
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            refused(&url_safe(&changed));
        }
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone().into_bytes();
            changed[bit / 8] ^= 1 << (bit % 8);
            if let Ok(changed) = String::from_utf8(changed) {
                refused(&changed);
            }
        }
        for cut in 0..bytes.len() {
            refused(&url_safe(&bytes[..cut]));
            refused(&url_safe(&bytes[cut + 1..]));
        }
        for cut in 0..sealed.len() {
            refused(&sealed[..cut]);
        }
        for text in ["*", "=", "é", "not Base64", " ", &base64::encode(&bytes), &"A".repeat(MAX_CHARS + 4)] {
            refused(text);
        }
        // The same bytes, spelled otherwise.
        for text in [format!("{sealed}="), format!(" {sealed}"), format!("{sealed}\n"), format!("{sealed}A")]
        {
            refused(&text);
        }
    }

    #[test]
    fn keys_are_rotated() {
        let (old, new) = (with(&OLD), with(&NEW));
        let by_old = sealed();
        let by_new = new.seal(b"a call", b"learned", 1000).expect("small");
        assert_eq!(new.open(b"a call", &by_old, 0), Err(StateError::Unknown));
        assert_eq!(old.open(b"a call", &by_new, 0), Err(StateError::Unknown));
        let both = with(&NEW).also_accept(&OLD).expect("long enough");
        for sealed in [&by_old, &by_new] {
            assert_eq!(both.open(b"a call", sealed, 0), Ok(b"learned".to_vec()));
        }
        assert_eq!(both.seal(b"a call", b"learned", 1000).as_ref(), Ok(&by_new));
        // Each process has a random key of its own.
        let [one, other] =
            [SealedStates::new(), SealedStates::new()].map(|states| states.expect("random bytes"));
        let mine = one.seal(b"a call", b"learned", 1000).expect("small");
        assert_eq!(one.open(b"a call", &mine, 0), Ok(b"learned".to_vec()));
        assert_eq!(other.open(b"a call", &mine, 0), Err(StateError::Unknown));
    }

    #[test]
    fn short_keys_and_large_states_are_refused_and_secrets_not_shown() {
        let short = StateError::Failed("the key has 31 bytes, fewer than 32".into());
        assert_eq!(SealedStates::with_key(&[0; 31]).map(|_| ()), Err(short.clone()));
        assert_eq!(with(&OLD).also_accept(&[0; 31]).map(|_| ()), Err(short));
        let largest = vec![b'x'; MAX_STATE_BYTES];
        let sealed = with(&OLD).seal(b"a call", &largest, 1000).expect("not too large");
        assert!(sealed.len() <= MAX_CHARS);
        assert_eq!(with(&OLD).open(b"a call", &sealed, 0).as_ref(), Ok(&largest));
        let too_large = StateError::TooLarge { size: MAX_STATE_BYTES + 1, limit: MAX_STATE_BYTES };
        assert_eq!(with(&OLD).seal(b"a", &[0; MAX_STATE_BYTES + 1], 1000), Err(too_large));
        assert_eq!(format!("{:?}", with(&OLD)), "SealedStates { keys: 1 }");
    }
}
