//! Two handles at once, as two tabs have them: nobody's write is lost, doubled or seen in half.

use super::handle::Handle;
use super::{Outcome, Place, conflict, ok, pause, put, same, together};
use crate::{Commit, Scan, StoreError};

pub(super) async fn a_second_handle_sees_what_is_acknowledged(place: &Place<'_>) -> Outcome {
    let (writer, reader) = (place.open().await, place.open().await);
    for number in 0..10u8 {
        ok("writing", writer.commit(put(vec![place.record("a", &[number])])).await)?;
        same("the other's reading", ok("getting", reader.get(&place.key("a")).await)?, Some(vec![number]))?;
    }
    ok("closing", writer.close().await)?;
    ok("closing", reader.close().await)
}

pub(super) async fn one_of_two_rivals_wins(place: &Place<'_>) -> Outcome {
    let (first, second) = (place.open().await, place.open().await);
    for round in 0..10u8 {
        let name = format!("page/{round}");
        let commit = |who: &[u8]| Commit { absent: vec![place.key(&name)], ..put(vec![place.record(&name, who)]) };
        let results =
            together(vec![Box::pin(first.commit(commit(b"first"))), Box::pin(second.commit(commit(b"second")))]).await;
        let winners: Vec<_> = [b"first".to_vec(), b"second".to_vec()]
            .into_iter()
            .zip(&results)
            .filter_map(|(who, result)| result.is_ok().then_some(who))
            .collect();
        same("how many won", winners.len(), 1)?;
        for loser in results.into_iter().filter(Result::is_err) {
            conflict("the loser", loser, &[place.key(&name)])?;
        }
        let found = ok("getting", first.get(&place.key(&name)).await)?;
        same("what is there", found.as_ref(), winners.first())?;
    }
    ok("closing", first.close().await)?;
    ok("closing", second.close().await)
}

pub(super) async fn overlapping_commits_all_land(place: &Place<'_>) -> Outcome {
    let (first, second) = (place.open().await, place.open().await);
    let commits = (0..50).map(|number| {
        let store = if number % 2 == 0 { &first } else { &second };
        let records = vec![place.record(&format!("{number:02}"), b"v"), place.record("last", &[number])];
        let commit: std::pin::Pin<Box<dyn Future<Output = _>>> = Box::pin(store.commit(put(records)));
        commit
    });
    for result in together(commits.collect()).await {
        ok("committing", result)?;
    }
    let found = ok("scanning", first.scan(&place.all()).await)?;
    same("how many landed", found.len(), 51)?;
    ok("closing", first.close().await)?;
    ok("closing", second.close().await)
}

/// How many entries each of two writers appends.
const EACH: u32 = 60;

/// Appends as the engine does: read the greatest number, claim the next with `absent`, and on a conflict read again.
async fn append(place: &Place<'_>, store: &Handle, writer: u8) -> Outcome {
    for entry in 0..EACH {
        // Two writers lose at most to each other's entries, so this many tries can only be used up by a store that
        // answers with conflicts which are none.
        let mut tries = 0;
        loop {
            let tail = Scan::prefix(&place.key("p/")).reversed().limit(1);
            let last = ok("reading the tail", store.scan(&tail).await)?;
            let next = match last.first().and_then(|(key, _)| u64::from_str_radix(key.rsplit('/').next()?, 16).ok()) {
                Some(last) => last + 1,
                None => 0,
            };
            pause().await;
            let key = place.key(&format!("p/{next:016x}"));
            let value = [&[writer][..], &entry.to_le_bytes()].concat();
            let commit = Commit { absent: vec![key.clone()], ..put(vec![(key.clone(), value)]) };
            match store.commit(commit).await {
                Ok(()) => break,
                Err(StoreError::Conflict { .. }) if tries <= EACH => tries += 1,
                Err(error) => return Err(format!("writer {writer}, entry {entry}: {error}")),
            }
        }
    }
    Ok(())
}

pub(super) async fn sequence_numbers_hold_with_two_writers(place: &Place<'_>) -> Outcome {
    let (first, second) = (place.open().await, place.open().await);
    for result in together(vec![Box::pin(append(place, &first, 1)), Box::pin(append(place, &second, 2))]).await {
        result?;
    }
    let found = ok("scanning", first.scan(&place.all()).await)?;
    same("how many numbers", found.len(), 2 * EACH as usize)?;
    for (number, (key, _)) in found.iter().enumerate() {
        same("numbers without a gap", key.clone(), place.key(&format!("p/{number:016x}")))?;
    }
    for writer in [1, 2] {
        let own: Vec<_> = found
            .iter()
            .filter(|(_, value)| value.first() == Some(&writer))
            .map(|(_, value)| value[1..].to_vec())
            .collect();
        let expected: Vec<_> = (0..EACH).map(|entry| entry.to_le_bytes().to_vec()).collect();
        same("a writer's entries, each once and in its order", own, expected)?;
    }
    ok("closing", first.close().await)?;
    ok("closing", second.close().await)
}

pub(super) async fn scans_see_no_half_commit(place: &Place<'_>) -> Outcome {
    let (writer, reader) = (place.open().await, place.open().await);
    let names = ["a", "m", "z"];
    let write = |number: u8| put(names.iter().map(|name| place.record(name, &[number])).collect());
    ok("filling", writer.commit(write(0)).await)?;
    let writing = async {
        for number in 1..=30 {
            ok("writing", writer.commit(write(number)).await)?;
            pause().await;
        }
        Ok(())
    };
    let reading = async {
        for _ in 0..30 {
            let found = ok("scanning", reader.scan(&place.all()).await)?;
            same("the records of one commit", place.names(&found), names.map(str::to_owned).to_vec())?;
            if found.iter().any(|(_, value)| Some(value) != found.first().map(|(_, value)| value)) {
                return Err(format!("a scan shows two commits at once: {found:?}"));
            }
            pause().await;
        }
        Ok(())
    };
    for result in
        together(vec![Box::pin(writing) as std::pin::Pin<Box<dyn Future<Output = Outcome>>>, Box::pin(reading)]).await
    {
        result?;
    }
    ok("closing", writer.close().await)?;
    ok("closing", reader.close().await)
}
