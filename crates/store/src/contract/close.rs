//! What a closed handle answers, and that it is the handle that is closed and not the place.

use super::handle::{Handle, Outcome};
use super::place::Place;
use super::step::Ask::{Close, Get, Put, Scan};
use super::step::Due::{Closed, Done, Gives};
use super::step::{ALL, CLOSING};

pub(super) async fn a_closed_store_says_so(place: &Place<'_>, store: &Handle, _: &Handle) -> Outcome {
    let steps = [
        ("filling", Put(&[("a", b"1")]), Done),
        CLOSING,
        ("get", Get("a"), Closed),
        ("scan", Scan(ALL), Closed),
        ("scan of nothing", Scan(ALL.limit(0)), Closed),
        ("commit", Put(&[("b", b"2")]), Closed),
        ("closing twice", Close, Done),
    ];
    place.steps(store, &steps).await?;
    place.alone(&[("what is there", Scan(ALL), Gives(&[("a", b"1")]))]).await
}

pub(super) async fn closing_one_handle_leaves_the_others(
    place: &Place<'_>,
    first: &Handle,
    second: &Handle,
) -> Outcome {
    place.steps(first, &[("filling", Put(&[("a", b"1")]), Done), CLOSING]).await?;
    let steps =
        [("the other's reading", Get("a"), Gives(&[("a", b"1")])), ("the other's writing", Put(&[("b", b"2")]), Done)];
    place.steps(second, &steps).await
}
