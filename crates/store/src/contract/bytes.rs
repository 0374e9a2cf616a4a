//! Keys and values come back byte for byte.

use super::handle::{Handle, Outcome};
use super::place::Place;
use super::step::Ask::{Get, Put, Scan};
use super::step::Due::{Done, Gives};
use super::step::{ALL, Pair, Steps, mirrored, named};

/// Every byte, up and down.
const EVERY: [u8; 512] = {
    let mut every = [0; 512];
    let mut at = 0;
    while at < 256 {
        every[at] = at as u8;
        every[511 - at] = at as u8;
        at += 1;
    }
    every
};
const NOT_UTF8: &[u8] = &[0xff, 0xfe, 0x00, 0xc3, 0x28, 0xed, 0xa0, 0x80];

pub(super) const every_byte_value_survives: Steps<'_> = &[
    ("writing", Put(&[("every", &EVERY), ("odd", NOT_UTF8)]), Done),
    ("all 256", Get("every"), Gives(&[("every", &EVERY)])),
    ("scanned", Scan(ALL), Gives(&[("every", &EVERY), ("odd", NOT_UTF8)])),
];

pub(super) const empty_values_are_values: Steps<'_> = &[
    ("writing", Put(&[("empty", b"")]), Done),
    ("an empty value", Get("empty"), Gives(&[("empty", b"")])),
    ("no value", Get("none"), Gives(&[])),
    ("scanned", Scan(ALL), Gives(&[("empty", b"")])),
];

/// As large as a record of Threadkeep may become: a page with an embedded image.
const LARGE: usize = 8 * 1024 * 1024;

pub(super) async fn large_values_survive(place: &Place<'_>, store: &Handle, _: &Handle) -> Outcome {
    // Not constant and not compressible to nothing: a cheap generator with a period far above the size.
    let mut state = 0x9e37_79b9_u32;
    let mut large = vec![0; LARGE];
    for byte in &mut large {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        *byte = state as u8;
    }
    let records: &[Pair<'_>] = &[("large", &large)];
    let steps = [
        ("writing", Put(records), Done),
        ("8 MB", Get("large"), Gives(&[("large", &large)])),
        ("scanned", Scan(ALL), Gives(records)),
    ];
    place.steps(store, &steps).await
}

/// Keys that some stores take for something else, in the order of their bytes.
const ODD: [Pair<'_>; 12] =
    named(["", "\"'`\\", "$[0].x", "%2f", "-1", "1", "1e3", "__proto__", "a b", "constructor", LONG, "null"]);

/// 1,500 times `k`.
const LONG: &str = match std::str::from_utf8(&[b'k'; 1_500]) {
    Ok(long) => long,
    Err(_) => panic!("`k` is a letter"),
};

pub(super) async fn odd_keys_survive(place: &Place<'_>, store: &Handle, _: &Handle) -> Outcome {
    place.step(store, ("writing", Put(&const { mirrored(ODD) }), Done)).await?;
    for record in &ODD {
        place.step(store, ("getting", Get(record.0), Gives(std::slice::from_ref(record)))).await?;
    }
    place.step(store, ("their order", Scan(ALL), Gives(&ODD))).await
}
