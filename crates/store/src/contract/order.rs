//! The order in which records come back.

use super::handle::Handle;
use super::{Outcome, Place, ok, put, same};
use crate::Scan;

/// Written shuffled: what comes back must be in the order of the bytes, which is not that of the alphabet.
const SHUFFLED: [&str; 12] = ["b", "a/2", "Z", "a", "a!", "0010", "~", "a/10", " ", "0009", "ab", "_"];
const SORTED: [&str; 12] = [" ", "0009", "0010", "Z", "_", "a", "a!", "a/10", "a/2", "ab", "b", "~"];

async fn filled(place: &Place<'_>) -> Result<Handle, String> {
    let store = place.open().await;
    // In three commits, so that the order cannot be that of one list.
    for part in SHUFFLED.chunks(5) {
        let puts = part.iter().map(|name| place.record(name, name.as_bytes())).collect();
        ok("filling", store.commit(put(puts)).await)?;
    }
    Ok(store)
}

pub(super) async fn keys_come_back_in_byte_order(place: &Place<'_>) -> Outcome {
    let store = filled(place).await?;
    let records = ok("scanning", store.scan(&place.all()).await)?;
    same("the keys", place.names(&records), SORTED.map(str::to_owned).to_vec())?;
    for (key, value) in &records {
        same("the value that belongs to its key", place.key(&String::from_utf8_lossy(value)), key.clone())?;
    }
    ok("closing", store.close().await)
}

pub(super) async fn reversed_is_the_mirror(place: &Place<'_>) -> Outcome {
    let store = filled(place).await?;
    let mut forward = ok("scanning", store.scan(&place.all()).await)?;
    forward.reverse();
    same("the mirror", ok("scanning back", store.scan(&place.all().reversed()).await)?, forward)?;
    ok("closing", store.close().await)
}

pub(super) async fn limits_cut_at_the_right_end(place: &Place<'_>) -> Outcome {
    let store = filled(place).await?;
    for limit in [0, 1, 5, SORTED.len(), SORTED.len() + 1, usize::MAX] {
        let first = ok("scanning", store.scan(&place.all().limit(limit)).await)?;
        let expected: Vec<_> = SORTED.iter().take(limit).map(|name| (*name).to_owned()).collect();
        same(&format!("the first {limit}"), place.names(&first), expected)?;

        let last = ok("scanning back", store.scan(&place.all().reversed().limit(limit)).await)?;
        let expected: Vec<_> = SORTED.iter().rev().take(limit).map(|name| (*name).to_owned()).collect();
        same(&format!("the last {limit}"), place.names(&last), expected)?;
    }
    let middle = Scan::range(place.key("a"), place.key("b")).reversed().limit(2);
    let found = ok("scanning back", store.scan(&middle).await)?;
    same("the last two of a range", place.names(&found), vec!["ab".to_owned(), "a/2".to_owned()])?;
    ok("closing", store.close().await)
}
