//! git's binary patch: any bytes in ASCII, so that a patch can be applied whatever is in
//! it, and shown wherever it ends up.
//!
//! The format is that of `git diff --binary`: the two object ids, then each content as a
//! zlib stream in base 85. The streams here are stored, not compressed.

use gix::{hash, objs};

/// Whether a text does nothing to a terminal: UTF-8, and no controls but line ends and tabs.
pub(super) fn is_harmless(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else {
        return false;
    };
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let is_fine = match character {
            '\n' | '\t' => true,
            '\r' => rest.peek() == Some(&'\n'),
            character => !character.is_control(),
        };
        if !is_fine {
            return false;
        }
    }
    true
}

/// Puts the contents into a patch whose last line says only that they differ.
pub(super) fn binary(patch: Vec<u8>, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<u8> {
    let mut out = patch;
    let end = out.strip_suffix(b"\n").unwrap_or(&out);
    let head = end.iter().rposition(|byte| *byte == b'\n');
    out.truncate(head.map_or(0, |newline| newline + 1));
    let [old_id, new_id] = [old, new].map(object_id);
    out.extend(format!("index {old_id}..{new_id}\nGIT binary patch\n").bytes());
    for bytes in [new, old].map(Option::unwrap_or_default) {
        out.extend(format!("literal {}\n", bytes.len()).bytes());
        for part in stored(bytes).chunks(52) {
            put_line(&mut out, part);
        }
        out.push(b'\n');
    }
    out
}

/// What git calls a content. Absent: all zeros, as it is where none could be made.
fn object_id(content: Option<&[u8]>) -> hash::ObjectId {
    let none = hash::ObjectId::null(hash::Kind::Sha1);
    content.map_or(none, |bytes| {
        objs::compute_hash(hash::Kind::Sha1, objs::Kind::Blob, bytes).unwrap_or(none)
    })
}

/// A zlib stream of blocks that are stored as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(usize::from(u16::MAX)).peekable();
    if blocks.peek().is_none() {
        stream.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let len = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(len.to_le_bytes());
        stream.extend((!len).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler32(bytes).to_be_bytes());
    stream
}

fn adler32(bytes: &[u8]) -> u32 {
    const PRIME: u32 = 65_521;
    let (mut low, mut high) = (1, 0);
    // So many bytes cannot make the sums overflow.
    for part in bytes.chunks(5552) {
        for byte in part {
            low += u32::from(*byte);
            high += low;
        }
        low %= PRIME;
        high %= PRIME;
    }
    (high << 16) | low
}

/// At most 52 bytes: a letter that says how many, and five digits for each four of them.
fn put_line(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 85] =
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    out.push(match bytes.len() as u8 {
        len @ 0..=26 => b'A' + len.saturating_sub(1),
        len => b'a' + (len - 27),
    });
    for four in bytes.chunks(4) {
        let mut padded = [0; 4];
        padded
            .iter_mut()
            .zip(four)
            .for_each(|(to, from)| *to = *from);
        let mut number = u32::from_be_bytes(padded);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(number % 85) as usize];
            number /= 85;
        }
        out.extend(digits);
    }
    out.push(b'\n');
}
