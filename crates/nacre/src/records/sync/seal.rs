//! The keys of a synced memory: one secret that all its devices share, and one signing key for each device.
//!
//! Texts are sealed with XChaCha20-Poly1305. The cipher and the signatures come from `ring`, which the TLS client needs anyway.
//! `ring` has the 96-bit nonces of RFC 8439; the 192-bit nonces of XChaCha20, which may be random, need one more step, HChaCha20
//! (draft-irtf-cfrg-xchacha-03). It is written here, and checked against the vectors of the draft. When the secret is replaced, the
//! machines that stay get the new one sealed to their own X25519 key, which `ring` does not keep beyond one use.

use std::fmt;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use x25519_dalek::{PublicKey, StaticSecret};

use crate::base::{Error, Result};

/// The length of a nonce of XChaCha20.
pub(super) const NONCE_LEN: usize = 24;
/// The length of an authentication tag.
#[cfg(test)]
pub(super) const TAG_LEN: usize = 16;
/// The length of a public key.
pub(super) const PUBLIC_LEN: usize = 32;
/// The length of a signature.
pub(super) const SIGNATURE_LEN: usize = 64;
/// The length of the secret that an invitation carries.
const SECRET_LEN: usize = 16;

/// The digits of a phrase: Crockford's Base32, which has no letters that look like digits.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The digits of a phrase that check the others.
const CHECK_DIGITS: usize = 4;

/// The id of a memory. A new secret gives it a new one.
pub(super) type MemoryId = [u8; 16];

/// The secret of a memory, which every device that joined has, and the keys made from it.
#[derive(Clone)]
pub(super) struct MemoryKey {
    secret: [u8; SECRET_LEN],
    sealing: [u8; 32],
    /// Names records. It is that of the first secret of the memory, so that records keep their names when the secret is replaced.
    hashing: [u8; 32],
    id: MemoryId,
    /// The ids that the memory had with earlier secrets.
    earlier: Vec<MemoryId>,
}

impl fmt::Debug for MemoryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryKey({})", hex(&self.id))
    }
}

impl MemoryKey {
    /// Creates the key of a new memory.
    pub(super) fn generate() -> Result<MemoryKey> {
        Ok(MemoryKey::from_secret(random()?))
    }

    fn from_secret(secret: [u8; SECRET_LEN]) -> MemoryKey {
        let id = blake3::derive_key("nacre sync 2026 memory id", &secret);
        MemoryKey {
            secret,
            sealing: blake3::derive_key("nacre sync 2026 sealing", &secret),
            hashing: blake3::derive_key("nacre sync 2026 hashing", &secret),
            id: id[..16].try_into().expect("16 of 32 bytes"),
            earlier: Vec::new(),
        }
    }

    /// Returns the same memory with a new secret.
    pub(super) fn replaced(&self) -> Result<MemoryKey> {
        let mut earlier = self.earlier.clone();
        earlier.push(self.id);
        Ok(MemoryKey { hashing: self.hashing, earlier, ..MemoryKey::generate()? })
    }

    /// Returns what a device that knows only the new secret needs beside it.
    pub(super) fn sealed_past(&self) -> Result<Vec<u8>> {
        let past: Vec<u8> = self.hashing.iter().chain(self.earlier.as_flattened()).copied().collect();
        self.seal(&past, PAST_CONTEXT)
    }

    /// Adds it; `None` if it was not sealed with this secret.
    pub(super) fn with_past(self, sealed: &[u8]) -> Option<MemoryKey> {
        let past = self.open(sealed, PAST_CONTEXT)?;
        let (hashing, ids) = past.split_first_chunk::<32>()?;
        let earlier = ids.chunks(16).map(|id| id.try_into().ok()).collect::<Option<Vec<MemoryId>>>()?;
        Some(MemoryKey { hashing: *hashing, earlier, ..self })
    }

    /// Tells whether the memory had this id with an earlier secret.
    pub(super) fn had_id(&self, id: &[u8]) -> bool {
        self.earlier.iter().any(|earlier| earlier == id)
    }

    /// Seals the secret for one device, which has the secret before it.
    pub(super) fn invitation(&self, before: &MemoryKey, device: &[u8; 32]) -> Result<Vec<u8>> {
        let own = StaticSecret::from(random::<32>()?);
        let public = PublicKey::from(&own).to_bytes();
        let shared = own.diffie_hellman(&PublicKey::from(*device));
        let mut sealed = public.to_vec();
        sealed.extend(seal(&agreed_key(shared.as_bytes(), &public, device), &self.secret, &self.id)?);
        before.seal(&sealed, &self.id)
    }

    /// Reads an invitation for this device to the secret of the memory with this id.
    pub(super) fn accept(&self, sealed: &[u8], id: &[u8], device: &DeviceKey) -> Option<MemoryKey> {
        let opened = self.open(sealed, id)?;
        let (public, sealed) = opened.split_first_chunk::<32>()?;
        let own = device.agreement();
        let shared = own.diffie_hellman(&PublicKey::from(*public));
        let key = agreed_key(shared.as_bytes(), public, PublicKey::from(&own).as_bytes());
        let secret = open(&key, sealed, id)?;
        let next = MemoryKey::from_secret(secret.try_into().ok()?);
        (next.id == id).then_some(next)
    }

    /// Returns the phrase of an invitation.
    pub(super) fn phrase(&self) -> String {
        let mut digits = base32(&self.secret);
        digits.push_str(&check_digits(&self.secret));
        let groups: Vec<&str> =
            digits.as_bytes().chunks(5).map(|chunk| std::str::from_utf8(chunk).expect("ASCII")).collect();
        groups.join("-")
    }

    /// Reads a phrase. Case, spaces and hyphens do not matter.
    pub(super) fn from_phrase(phrase: &str) -> Result<MemoryKey> {
        let bad = |problem: &'static str| Error::BadPhrase { problem };
        let digits: String = phrase
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '-')
            .map(|c| match c.to_ascii_lowercase() {
                'o' => '0',
                'i' | 'l' => '1',
                c => c,
            })
            .collect();
        let length = (SECRET_LEN * 8).div_ceil(5);
        if !digits.is_ascii() || digits.len() != length + CHECK_DIGITS {
            return Err(bad("does not have 30 letters and digits"));
        }
        let bytes = from_base32(&digits[..length]).ok_or(bad("has a letter that no phrase has"))?;
        let secret: [u8; SECRET_LEN] = bytes.try_into().map_err(|_| bad("has a wrong length"))?;
        if digits[length..] != check_digits(&secret) {
            return Err(bad("has a typing error"));
        }
        Ok(MemoryKey::from_secret(secret))
    }

    /// Returns the id of the memory. It is made from the secret, so a wrong phrase is noticed before anything is written.
    pub(super) fn id(&self) -> &[u8; 16] {
        &self.id
    }

    /// Returns a hash that only devices of this memory can compute.
    pub(super) fn hash(&self, parts: &[&str]) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.hashing);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hex(&hasher.finalize().as_bytes()[..16])
    }

    /// Seals a text. `context` has to be the same to open it.
    pub(super) fn seal(&self, text: &[u8], context: &[u8]) -> Result<Vec<u8>> {
        seal(&self.sealing, text, context)
    }

    /// Opens a sealed text; `None` if it was changed, or sealed with another key or in another context.
    pub(super) fn open(&self, sealed: &[u8], context: &[u8]) -> Option<Vec<u8>> {
        open(&self.sealing, sealed, context)
    }
}

/// The context in which the past of a memory is sealed.
const PAST_CONTEXT: &[u8] = b"past";

fn seal(key: &[u8; 32], text: &[u8], context: &[u8]) -> Result<Vec<u8>> {
    let nonce: [u8; NONCE_LEN] = random()?;
    let mut body = text.to_vec();
    let (key, short) = x_key(key, &nonce);
    key.seal_in_place_append_tag(short, Aad::from(context), &mut body).map_err(|_| broken("sealing"))?;
    let mut sealed = Vec::with_capacity(NONCE_LEN + body.len());
    sealed.extend_from_slice(&nonce);
    sealed.append(&mut body);
    Ok(sealed)
}

fn open(key: &[u8; 32], sealed: &[u8], context: &[u8]) -> Option<Vec<u8>> {
    let (nonce, body) = sealed.split_first_chunk::<NONCE_LEN>()?;
    let mut body = body.to_vec();
    let (key, short) = x_key(key, nonce);
    let length = key.open_in_place(short, Aad::from(context), &mut body).ok()?.len();
    body.truncate(length);
    Some(body)
}

/// Returns the key on which two sides of an invitation agree.
fn agreed_key(shared: &[u8; 32], sender: &[u8; 32], device: &[u8; 32]) -> [u8; 32] {
    blake3::derive_key("nacre sync 2026 invitation", &[*shared, *sender, *device].concat())
}

/// The signing key of one device.
pub(super) struct DeviceKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
    id: DeviceId,
}

impl fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceKey({})", self.id)
    }
}

impl DeviceKey {
    /// Creates the key of a new device.
    pub(super) fn generate() -> Result<DeviceKey> {
        DeviceKey::from_seed(random()?)
    }

    pub(super) fn from_seed(seed: [u8; 32]) -> Result<DeviceKey> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| broken("the device key"))?;
        let id = DeviceId::of(pair.public_key().as_ref());
        Ok(DeviceKey { seed, pair, id })
    }

    pub(super) fn seed(&self) -> &[u8; 32] {
        &self.seed
    }

    pub(super) fn id(&self) -> &DeviceId {
        &self.id
    }

    pub(super) fn public(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// The key to which an invitation is sealed.
    fn agreement(&self) -> StaticSecret {
        StaticSecret::from(blake3::derive_key("nacre sync 2026 agreement", &self.seed))
    }

    /// The public part of it.
    pub(super) fn agreement_public(&self) -> [u8; 32] {
        PublicKey::from(&self.agreement()).to_bytes()
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_LEN] {
        self.pair.sign(message).as_ref().try_into().expect("64 bytes")
    }
}

/// Tells whether a device signed a message.
pub(super) fn is_signed(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, public).verify(message, signature).is_ok()
}

/// The id of a device: a hash of its public key, so nobody can sign for another device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct DeviceId(String);

impl DeviceId {
    pub(super) const LEN: usize = 16;

    pub(super) fn of(public: &[u8]) -> DeviceId {
        DeviceId(hex(&blake3::hash(public).as_bytes()[..DeviceId::LEN / 2]))
    }

    /// Returns the id with this name, if it is one.
    pub(super) fn named(name: &str) -> Option<DeviceId> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (name.len() == DeviceId::LEN && name.bytes().all(is_digit)).then(|| DeviceId(name.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns random bytes of the operating system.
fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| broken("the system's random numbers"))?;
    Ok(bytes)
}

fn broken(what: &'static str) -> Error {
    Error::CryptoFailed { what }
}

/// Returns the key and the short nonce under which RFC 8439 does what XChaCha20-Poly1305 does with a long nonce.
fn x_key(key: &[u8; 32], nonce: &[u8; NONCE_LEN]) -> (LessSafeKey, Nonce) {
    let (start, end) = nonce.split_first_chunk::<16>().expect("16 of 24 bytes");
    let key = UnboundKey::new(&CHACHA20_POLY1305, &hchacha20(key, start)).expect("32 bytes");
    let mut short = [0; 12];
    short[4..].copy_from_slice(end);
    (LessSafeKey::new(key), Nonce::assume_unique_for_key(short))
}

/// HChaCha20: a key for one nonce.
fn hchacha20(key: &[u8; 32], nonce: &[u8; 16]) -> [u8; 32] {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
    let mut state = [0u32; 16];
    state[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
    for (place, bytes) in key.chunks_exact(4).chain(nonce.chunks_exact(4)).enumerate() {
        state[4 + place] = word(bytes);
    }
    for _ in 0..10 {
        for column in 0..4 {
            quarter(&mut state, [column, column + 4, column + 8, column + 12]);
        }
        for [a, b, c, d] in [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]] {
            quarter(&mut state, [a, b, c, d]);
        }
    }
    let mut derived = [0; 32];
    let words = state[..4].iter().chain(&state[12..]);
    for (bytes, word) in derived.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    derived
}

fn quarter(state: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
    let mut step = |x: usize, y: usize, z: usize, turn: u32| {
        state[x] = state[x].wrapping_add(state[y]);
        state[z] = (state[z] ^ state[x]).rotate_left(turn);
    };
    step(a, b, d, 16);
    step(c, d, b, 12);
    step(a, b, d, 8);
    step(c, d, b, 7);
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads hexadecimal digits.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    text.as_bytes().chunks(2).map(pair).collect()
}

fn base32(bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut held, mut bits) = (0u32, 0);
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(DIGITS[(held >> bits & 31) as usize]));
        }
    }
    if bits > 0 {
        text.push(char::from(DIGITS[(held << (5 - bits) & 31) as usize]));
    }
    text
}

fn from_base32(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut held, mut bits) = (0u32, 0);
    for c in text.bytes() {
        let digit = DIGITS.iter().position(|digit| *digit == c)?;
        held = held << 5 | u32::try_from(digit).expect("below 32");
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 255).expect("one byte"));
        }
    }
    Some(bytes)
}

fn check_digits(secret: &[u8]) -> String {
    let mut text = base32(&blake3::hash(secret).as_bytes()[..4]);
    text.truncate(CHECK_DIGITS);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        from_hex(&hex.replace([' ', '\n'], "")).unwrap().try_into().unwrap()
    }

    #[test]
    fn hchacha20_gives_the_vector_of_the_draft() {
        // draft-irtf-cfrg-xchacha-03, section 2.2.1.
        let key = bytes("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
        let nonce = bytes("000000090000004a0000000031415927");
        let derived = "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc";
        assert_eq!(hex(&hchacha20(&key, &nonce)), derived);
    }

    #[test]
    fn xchacha20_poly1305_gives_the_vector_of_the_draft() {
        // draft-irtf-cfrg-xchacha-03, appendix A.3.1.
        let text = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
        let key: [u8; 32] = bytes("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
        let nonce: [u8; 24] = bytes("404142434445464748494a4b4c4d4e4f5051525354555657");
        let aad: [u8; 12] = bytes("50515253c0c1c2c3c4c5c6c7");
        let mut body = text.to_vec();
        let (key, short) = x_key(&key, &nonce);
        key.seal_in_place_append_tag(short, Aad::from(aad), &mut body).unwrap();
        assert_eq!(hex(&body[..16]), "bd6d179d3e83d43b9576579493c0e939");
        assert_eq!(hex(&body[body.len() - TAG_LEN..]), "c0875924c1c7987947deafd8780acf49");
    }

    #[test]
    fn a_phrase_gives_its_key_back_and_a_wrong_one_says_so() {
        let key = MemoryKey::generate().unwrap();
        let phrase = key.phrase();
        for spelled in
            [phrase.clone(), phrase.to_uppercase(), phrase.replace('-', " "), format!(" {phrase}\n")]
        {
            assert_eq!(MemoryKey::from_phrase(&spelled).unwrap().id(), key.id(), "{spelled}");
        }
        for place in 0..phrase.len() {
            let mut wrong = phrase.clone().into_bytes();
            if wrong[place] == b'-' {
                continue;
            }
            wrong[place] = if wrong[place] == b'7' { b'8' } else { b'7' };
            let read = MemoryKey::from_phrase(std::str::from_utf8(&wrong).unwrap());
            // The last digit of the secret has two bits that carry nothing.
            assert!(read.is_err() || read.unwrap().id() == key.id(), "{place}");
        }
        for bad in ["", "7", &phrase[1..], "ü", &format!("{phrase}7"), &"ü".repeat(30)] {
            assert!(MemoryKey::from_phrase(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_new_secret_reaches_those_who_are_invited_and_nobody_else() {
        let before = MemoryKey::generate().unwrap();
        let after = before.replaced().unwrap();
        assert_ne!(after.id(), before.id());
        assert!(after.had_id(before.id()) && !before.had_id(after.id()));
        assert_eq!(after.hash(&["x"]), before.hash(&["x"]), "records keep their names");
        let (invited, other) = (DeviceKey::generate().unwrap(), DeviceKey::generate().unwrap());
        let sealed = after.invitation(&before, &invited.agreement_public()).unwrap();
        let read = before.accept(&sealed, after.id(), &invited).unwrap();
        assert_eq!(read.phrase(), after.phrase());
        assert!(before.accept(&sealed, after.id(), &other).is_none(), "another device of the memory");
        assert!(before.accept(&sealed, before.id(), &invited).is_none(), "another memory");
        assert!(MemoryKey::generate().unwrap().accept(&sealed, after.id(), &invited).is_none(), "a stranger");
        for place in 0..sealed.len() {
            let mut flipped = sealed.clone();
            flipped[place] ^= 1;
            assert!(before.accept(&flipped, after.id(), &invited).is_none(), "{place}");
        }
        let joined = MemoryKey::from_phrase(&after.phrase()).unwrap();
        let joined = joined.with_past(&after.sealed_past().unwrap()).unwrap();
        assert_eq!(joined.hash(&["x"]), before.hash(&["x"]));
        assert!(joined.had_id(before.id()));
    }

    #[test]
    fn only_the_same_key_and_context_open_what_was_sealed() {
        let (key, other) = (MemoryKey::generate().unwrap(), MemoryKey::generate().unwrap());
        let sealed = key.seal(b"the boat", b"1").unwrap();
        assert_eq!(key.open(&sealed, b"1").unwrap(), b"the boat");
        assert!(key.open(&sealed, b"2").is_none());
        assert!(other.open(&sealed, b"1").is_none());
        for place in 0..sealed.len() {
            let mut flipped = sealed.clone();
            flipped[place] ^= 1;
            assert!(key.open(&flipped, b"1").is_none(), "{place}");
        }
        assert!(key.open(&[], b"1").is_none());
    }
}
