//! Two handles at once, as two tabs have them: nobody's write is lost, doubled or seen in half.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::Poll;

use super::handle::{Handle, Later, Outcome};
use super::place::Place;
use super::step::Ask::{Commit, Get, Put, Scan};
use super::step::Due::{Conflict, Done, Gives};
use super::step::{ALL, NOTHING, Pair, Plan, prefix};
use crate::{Record, StoreError};

pub(super) async fn a_second_handle_sees_what_is_acknowledged(
    place: &Place<'_>,
    writer: &Handle,
    reader: &Handle,
) -> Outcome {
    for number in 0..10u8 {
        place.step(writer, ("writing", Put(&[("a", &[number])]), Done)).await?;
        place.step(reader, ("the other's reading", Get("a"), Gives(&[("a", &[number])]))).await?;
    }
    Ok(())
}

pub(super) async fn one_of_two_rivals_wins(place: &Place<'_>, first: &Handle, second: &Handle) -> Outcome {
    for round in 0..10u8 {
        let name = &format!("page/{round}")[..];
        let winners = RefCell::new(Vec::new());
        let rival = async |store: &Handle, who: &'static [u8]| {
            let plan = Plan { absent: &[name], puts: &[(name, who)], ..NOTHING };
            match place.ask(store, Commit(&plan)).await {
                Ok(_) => winners.borrow_mut().push(who),
                lost => place.judge("the loser", lost, Conflict(&[name]))?,
            }
            Ok(())
        };
        together(vec![Box::pin(rival(first, b"first")), Box::pin(rival(second, b"second"))]).await?;
        let [winner] = winners.borrow()[..] else {
            return Err(format!("how many won: expected 1, found {}", winners.borrow().len()));
        };
        place.step(first, ("what is there", Get(name), Gives(&[(name, winner)]))).await?;
    }
    Ok(())
}

pub(super) async fn overlapping_commits_all_land(place: &Place<'_>, first: &Handle, second: &Handle) -> Outcome {
    let commits = (0..50u8).map(|number| -> Later<'_, Outcome> {
        let store = if number % 2 == 0 { first } else { second };
        Box::pin(async move {
            place.step(store, ("committing", Put(&[(&format!("{number:02}"), b"v"), ("last", &[number])]), Done)).await
        })
    });
    together(commits.collect()).await?;
    let found = all(place, first).await?.len();
    if found == 51 { Ok(()) } else { Err(format!("how many landed: expected 51, found {found}")) }
}

/// Everything of the behaviour, for a look that no step takes.
async fn all(place: &Place<'_>, store: &Handle) -> Result<Vec<Record>, String> {
    place.ask(store, Scan(ALL)).await.map_err(|error| format!("scanning: {error}"))
}

/// How many entries each of two writers appends.
const EACH: u32 = 60;

/// A writer's entry, as bytes.
fn entry(writer: u8, number: u32) -> [u8; 5] {
    let [a, b, c, d] = number.to_le_bytes();
    [writer, a, b, c, d]
}

/// Appends as the engine does: read the greatest number, claim the next with `absent`, and on a conflict read again.
async fn append(place: &Place<'_>, store: &Handle, writer: u8) -> Outcome {
    let stem = place.key("p/");
    for number in 0..EACH {
        // Two writers lose at most to each other's entries, so this many tries can only be used up by a store that
        // answers with conflicts which are none.
        let mut tries = 0;
        loop {
            let tail = Scan(prefix("p/").reversed().limit(1));
            let last = place.ask(store, tail).await.map_err(|error| format!("reading the tail: {error}"))?;
            let next = match last.first().and_then(|(key, _)| u64::from_str_radix(key.strip_prefix(&stem)?, 16).ok()) {
                Some(last) => last + 1,
                None => 0,
            };
            pause().await;
            let name = &format!("p/{next:016x}")[..];
            let plan = Plan { absent: &[name], puts: &[(name, &entry(writer, number))], ..NOTHING };
            match place.ask(store, Commit(&plan)).await {
                Ok(_) => break,
                Err(StoreError::Conflict { .. }) if tries <= EACH => tries += 1,
                Err(error) => return Err(format!("writer {writer}, entry {number}: {error}")),
            }
        }
    }
    Ok(())
}

pub(super) async fn sequence_numbers_hold_with_two_writers(
    place: &Place<'_>,
    first: &Handle,
    second: &Handle,
) -> Outcome {
    together(vec![Box::pin(append(place, first, 1)), Box::pin(append(place, second, 2))]).await?;
    let found = all(place, first).await?;
    // Numbers without a gap, and the entries of each writer once and in its order.
    let mut next = [0; 2];
    for (number, record) in found.iter().enumerate() {
        let writer = if record.1.first() == Some(&1) { 0 } else { 1 };
        let due: &[Pair<'_>] = &[(&format!("p/{number:016x}"), &entry(writer as u8 + 1, next[writer]))];
        place.same("the next entry of a writer", std::slice::from_ref(record), due)?;
        next[writer] += 1;
    }
    if next == [EACH; 2] { Ok(()) } else { Err(format!("how many numbers: expected {EACH} of each, found {next:?}")) }
}

pub(super) async fn scans_see_no_half_commit(place: &Place<'_>, writer: &Handle, reader: &Handle) -> Outcome {
    fn records(value: &[u8]) -> [Pair<'_>; 3] {
        ["a", "m", "z"].map(|name| (name, value))
    }
    place.step(writer, ("filling", Put(&records(&[0])), Done)).await?;
    let writing = async {
        for number in 1..=30u8 {
            place.step(writer, ("writing", Put(&records(&[number])), Done)).await?;
            pause().await;
        }
        Ok(())
    };
    let reading = async {
        for _ in 0..30 {
            let found = all(place, reader).await?;
            let value = found.first().map_or(&[][..], |(_, value)| value);
            place.same("the records of one commit", &found, &records(value))?;
            pause().await;
        }
        Ok(())
    };
    together(vec![Box::pin(writing), Box::pin(reading)]).await
}

/// Runs futures side by side until all are done; answers with the first failure.
fn together(mut futures: Vec<Later<'_, Outcome>>) -> Later<'_, Outcome> {
    let mut outcome = Ok(());
    Box::pin(poll_fn(move |context| {
        futures.retain_mut(|future| match future.as_mut().poll(context) {
            Poll::Ready(Err(message)) if outcome.is_ok() => {
                outcome = Err(message);
                false
            }
            result => result.is_pending(),
        });
        if futures.is_empty() { Poll::Ready(std::mem::replace(&mut outcome, Ok(()))) } else { Poll::Pending }
    }))
}

/// Lets every other future have its turn once.
fn pause() -> Later<'static, ()> {
    let mut paused = false;
    Box::pin(poll_fn(move |context| {
        if paused {
            return Poll::Ready(());
        }
        paused = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }))
}
