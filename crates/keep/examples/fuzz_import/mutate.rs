//! How a file is damaged. Every damage is drawn from the same numbers, so that a case can be had again.

use crate::random::Random;
use crate::samples::Sample;

/// Numbers that files do not have.
const NUMBERS: [&str; 14] = [
    "-1",
    "0",
    "1.5",
    "-0.25",
    "1e999",
    "255",
    "4294967295",
    "4294967296",
    "500000000",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "99999999999999999999999999",
];

/// A damaged copy of a sample, and what was done to it, in words.
pub fn mutated(random: &mut Random, sample: &Sample, all: &[Sample]) -> (Vec<u8>, Vec<String>) {
    let mut file = sample.bytes.clone();
    let mut how = Vec::new();
    for _ in 0..1 + random.below(3) {
        how.push(once(random, &mut file, all).to_owned());
        if file.is_empty() {
            break;
        }
    }
    if random.once_in(16) {
        file = zip(&sample.name, &file);
        how.push("zipped".to_owned());
        for _ in 0..random.below(4) {
            flip(random, &mut file);
        }
        if random.once_in(4) {
            file.truncate(random.below(file.len()));
        }
    }
    (file, how)
}

fn once(random: &mut Random, file: &mut Vec<u8>, all: &[Sample]) -> &'static str {
    match random.below(16) {
        0..=3 => {
            flip(random, file);
            "bit"
        }
        4 => {
            let at = random.below(file.len());
            file[at] = random.next() as u8;
            "byte"
        }
        5 => {
            file.truncate(random.below(file.len()));
            "cut"
        }
        6 => {
            let (start, end) = range(random, file.len());
            file.drain(start..end);
            "hole"
        }
        7 => {
            let (start, end) = range(random, file.len());
            let piece = file[start..end].to_vec();
            file.splice(end..end, piece);
            "doubled"
        }
        8..=10 => lines(random, file),
        11 | 12 => {
            number(random, file);
            "number"
        }
        13 => {
            string(random, file);
            "string of another place"
        }
        14 => {
            nest(random, file);
            "nested"
        }
        _ => {
            let other = &all[random.below(all.len())].bytes;
            let (start, end) = range(random, other.len());
            let at = random.below(file.len());
            file.splice(at..at, other[start..end].iter().copied());
            "spliced"
        }
    }
}

fn flip(random: &mut Random, file: &mut [u8]) {
    let at = random.below(file.len());
    file[at] ^= 1 << random.below(8);
}

fn range(random: &mut Random, len: usize) -> (usize, usize) {
    let start = random.below(len);
    (start, (start + 1 + random.below(400)).min(len))
}

fn lines(random: &mut Random, file: &mut Vec<u8>) -> &'static str {
    let mut lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    let how = match random.below(4) {
        0 => {
            lines.remove(one);
            "line removed"
        }
        1 => {
            lines.insert(other, lines[one]);
            "line doubled"
        }
        2 => {
            lines.swap(one, other);
            "lines swapped"
        }
        _ => {
            let line = lines.remove(one);
            lines.insert(other.min(lines.len()), line);
            "line moved"
        }
    };
    *file = lines.concat();
    how
}

/// Where pieces begin and end that `starts` and `goes_on` say, from a random place on.
fn piece(random: &mut Random, file: &[u8], is: fn(u8) -> bool) -> Option<(usize, usize)> {
    let from = random.below(file.len());
    let start = from + file[from..].iter().position(|byte| is(*byte))?;
    let end = start + file[start..].iter().position(|byte| !is(*byte)).unwrap_or(file.len() - start);
    Some((start, end))
}

fn number(random: &mut Random, file: &mut Vec<u8>) {
    if let Some((start, end)) = piece(random, file, |byte| byte.is_ascii_digit()) {
        let new = random.pick(&NUMBERS);
        file.splice(start..end, new.bytes());
    }
}

/// Puts one string in the place of another.
fn string(random: &mut Random, file: &mut Vec<u8>) {
    let found = |random: &mut Random, file: &[u8]| -> Option<(usize, usize)> {
        let from = random.below(file.len());
        let start = from + memchr::memchr(b'"', &file[from..])? + 1;
        let end = start + memchr::memchr(b'"', &file[start..])?;
        Some((start, end))
    };
    if let (Some(one), Some(other)) = (found(random, file), found(random, file)) {
        let text = file[one.0..one.1].to_vec();
        file.splice(other.0..other.1, text);
    }
}

fn nest(random: &mut Random, file: &mut Vec<u8>) {
    let levels = random.pick(&[50, 99, 101, 127, 128, 500, 20_000]);
    let (open, close) = random.pick(&[("[", "]"), ("{\"a\":", "}")]);
    let at = random.below(file.len());
    let deep = [open.repeat(levels), "1".to_owned(), close.repeat(levels)].concat();
    let start = memchr::memchr(b':', &file[at..]).map_or(at, |ahead| at + ahead + 1);
    file.splice(start..start, deep.into_bytes());
}

/// A zip with one member, stored.
fn zip(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    let (crc, size, name) = ((!crc).to_le_bytes(), (bytes.len() as u32).to_le_bytes(), name.as_bytes());
    let length = (name.len() as u16).to_le_bytes();
    let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &crc, &size, &size, &length, &[0, 0]].concat();
    let mut zip = [b"PK\x03\x04", &common[..], name, bytes].concat();
    let start = zip.len() as u32;
    zip.extend([b"PK\x01\x02", &[20, 0][..], &common, &[0; 14], name].concat());
    let central = (zip.len() as u32 - start).to_le_bytes();
    zip.extend([b"PK\x05\x06", &[0, 0, 0, 0, 1, 0, 1, 0][..], &central, &start.to_le_bytes(), &[0, 0]].concat());
    zip
}
