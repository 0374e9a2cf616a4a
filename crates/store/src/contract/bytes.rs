//! Keys and values come back byte for byte.

use super::{Outcome, Place, ok, put, same};

/// As large as a record of Threadkeep may become: a page with an embedded image.
const LARGE: usize = 8 * 1024 * 1024;

pub(super) async fn every_byte_value_survives(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    let every: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
    let not_utf8 = vec![0xff, 0xfe, 0x00, 0xc3, 0x28, 0xed, 0xa0, 0x80];
    ok(
        "writing",
        store.commit(put(vec![(place.key("every"), every.clone()), (place.key("odd"), not_utf8.clone())])).await,
    )?;
    same("all 256", ok("getting", store.get(&place.key("every")).await)?, Some(every.clone()))?;
    let scanned = ok("scanning", store.scan(&place.all()).await)?;
    same("scanned", scanned, vec![(place.key("every"), every), (place.key("odd"), not_utf8)])?;
    ok("closing", store.close().await)
}

pub(super) async fn empty_values_are_values(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    ok("writing", store.commit(put(vec![place.record("empty", b"")])).await)?;
    same("an empty value", ok("getting", store.get(&place.key("empty")).await)?, Some(Vec::new()))?;
    same("no value", ok("getting", store.get(&place.key("none")).await)?, None)?;
    let scanned = ok("scanning", store.scan(&place.all()).await)?;
    same("scanned", scanned, vec![place.record("empty", b"")])?;
    ok("closing", store.close().await)
}

pub(super) async fn large_values_survive(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    // Not constant and not compressible to nothing: a cheap generator with a period far above the size.
    let mut state = 0x9e37_79b9_u32;
    let large: Vec<u8> = (0..LARGE)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state.to_le_bytes()[0]
        })
        .collect();
    ok("writing", store.commit(put(vec![(place.key("large"), large.clone())])).await)?;
    let found = ok("getting", store.get(&place.key("large")).await)?;
    // Not `same`: nobody wants 8 MB in a message.
    if found.as_ref() != Some(&large) {
        return Err(format!("8 MB came back as {:?} bytes, or with others", found.map(|value| value.len())));
    }
    let scanned = ok("scanning", store.scan(&place.all()).await)?;
    same("scanned", scanned.first().map(|(_, value)| value == &large), Some(true))?;
    ok("closing", store.close().await)
}

pub(super) async fn odd_keys_survive(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    let long = "k".repeat(1_500);
    let mut names =
        vec!["__proto__", "constructor", "%2f", "a b", "\"'`\\", "1", "-1", "1e3", "null", "", &long, "$[0].x"];
    ok("writing", store.commit(put(names.iter().map(|name| place.record(name, name.as_bytes())).collect())).await)?;
    for name in &names {
        same(name, ok("getting", store.get(&place.key(name)).await)?, Some(name.as_bytes().to_vec()))?;
    }
    names.sort_unstable();
    let scanned = ok("scanning", store.scan(&place.all()).await)?;
    same("their order", place.names(&scanned), names.into_iter().map(str::to_owned).collect())?;
    ok("closing", store.close().await)
}
