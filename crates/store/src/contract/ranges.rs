//! What lies in a range, for reading and for deleting.

use super::handle::Handle;
use super::{Outcome, Place, ok, put, same};
use crate::{Commit, Scan};

async fn filled(place: &Place<'_>, names: &[&str]) -> Result<Handle, String> {
    let store = place.open().await;
    ok("filling", store.commit(put(names.iter().map(|name| place.record(name, b"v")).collect())).await)?;
    Ok(store)
}

pub(super) async fn start_is_in_and_end_is_out(place: &Place<'_>) -> Outcome {
    let store = filled(place, &["a", "b", "c", "d"]).await?;
    let records = ok("scanning", store.scan(&Scan::range(place.key("b"), place.key("d"))).await)?;
    same("b..d", place.names(&records), vec!["b".to_owned(), "c".to_owned()])?;
    let between = ok("scanning", store.scan(&Scan::range(place.key("b0"), place.key("c0"))).await)?;
    same("bounds that are no keys", place.names(&between), vec!["c".to_owned()])?;
    let single = ok("scanning", store.scan(&Scan::range(place.key("b"), place.key("b!"))).await)?;
    same("a range of one key", place.names(&single), vec!["b".to_owned()])?;
    ok("closing", store.close().await)
}

/// Who reads on from the last key of a piece asks for what lies behind it: that is the key and U+0000, which no key has.
pub(super) async fn bounds_may_lie_right_behind_a_key(place: &Place<'_>) -> Outcome {
    let store = filled(place, &["a", "a/", "b", "b0", "c"]).await?;
    let behind = |name: &str| format!("{}\0", place.key(name));
    let records = ok("scanning", store.scan(&Scan::range(behind("a"), behind("b"))).await)?;
    same("behind a to behind b", place.names(&records), vec!["a/".to_owned(), "b".to_owned()])?;
    let delete = Commit { delete_ranges: vec![(behind("a"), behind("b"))], ..Commit::default() };
    ok("deleting", store.commit(delete).await)?;
    let left = ok("scanning", store.scan(&place.all()).await)?;
    same("what is left", place.names(&left), ["a", "b0", "c"].map(str::to_owned).to_vec())?;
    ok("closing", store.close().await)
}

pub(super) async fn empty_and_backward_ranges_give_nothing(place: &Place<'_>) -> Outcome {
    let store = filled(place, &["a", "b", "c"]).await?;
    for (start, end) in [("b", "b"), ("c", "a"), ("x", "y")] {
        for scan in
            [Scan::range(place.key(start), place.key(end)), Scan::range(place.key(start), place.key(end)).reversed()]
        {
            let found = ok("scanning", store.scan(&scan).await)?;
            same(&format!("{start}..{end}"), place.names(&found), Vec::new())?;
        }
    }
    let delete = Commit {
        delete_ranges: vec![(place.key("b"), place.key("b")), (place.key("c"), place.key("a"))],
        ..Commit::default()
    };
    ok("deleting empty ranges", store.commit(delete).await)?;
    same("what is left", ok("scanning", store.scan(&place.all()).await)?.len(), 3)?;
    ok("closing", store.close().await)
}

pub(super) async fn prefixes_do_not_spill(place: &Place<'_>) -> Outcome {
    let store = filled(place, &["p/1", "p/1/x", "p/10", "p/2", "p", "p0", "q/1"]).await?;
    let records = ok("scanning", store.scan(&Scan::prefix(&place.key("p/1/"))).await)?;
    same("p/1/…", place.names(&records), vec!["p/1/x".to_owned()])?;
    let records = ok("scanning", store.scan(&Scan::prefix(&place.key("p/"))).await)?;
    same("p/…", place.names(&records), ["p/1", "p/1/x", "p/10", "p/2"].map(str::to_owned).to_vec())?;
    ok("closing", store.close().await)
}

pub(super) async fn range_deletes_leave_their_neighbours(place: &Place<'_>) -> Outcome {
    let store = filled(place, &["a", "b", "b/1", "b/2", "c", "d", "e"]).await?;
    let commit = Commit {
        delete_ranges: vec![(place.key("b/"), place.key("b/~")), (place.key("d"), place.key("e"))],
        ..Commit::default()
    };
    ok("deleting", store.commit(commit).await)?;
    let left = ok("scanning", store.scan(&place.all()).await)?;
    same("what is left", place.names(&left), ["a", "b", "c", "e"].map(str::to_owned).to_vec())?;
    same("a deleted key", ok("getting", store.get(&place.key("b/1")).await)?, None)?;
    ok("closing", store.close().await)
}

pub(super) async fn many_records_come_in_one_scan(place: &Place<'_>) -> Outcome {
    const MANY: usize = 3_000;
    let names: Vec<_> = (0..MANY).map(|number| format!("{number:016x}")).collect();
    let store = filled(place, &names.iter().map(String::as_str).collect::<Vec<_>>()).await?;
    let found = ok("scanning", store.scan(&place.all()).await)?;
    same("how many", found.len(), MANY)?;
    same("their order", place.names(&found), names)?;
    ok("closing", store.close().await)
}
