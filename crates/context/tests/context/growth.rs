//! Work of this crate takes time in proportion to a history's length, whatever its shape.

use std::hint::black_box;

use threadkeep_context::tokens::Estimate;
use threadkeep_context::{Budget, Options, Prepared, TrimOptions, build, items, trim_messages};
use threadkeep_core::Message;
use threadkeep_provider::Provider;

use crate::shapes::{SHAPES, Shape, grows};

#[test]
fn contexts_and_trimming_take_time_in_proportion() {
    for shape in &SHAPES {
        grows("a context", shape, &|messages| {
            let options = Options { budget: Budget::tokens(500), provider: Provider::Anthropic, ..Options::default() };
            black_box(build(&items(messages), &options, &Estimate).ledger.len());
            black_box(trim_messages(messages, &TrimOptions::default(), &Estimate).ledger.len());
        });
    }
}

#[test]
fn a_turn_costs_what_is_new() {
    // Each message of a growing history is read and grouped once, however long it is: reading all again would be 256 times.
    let shape: Shape = ("a growing history", |n| {
        (0..n).map(|at| if at % 2 == 0 { Message::user("a") } else { Message::assistant("b") }).collect()
    });
    grows("growing", &shape, &|messages| {
        let all = items(messages);
        let mut prepared = Prepared::new(&all[..1], Options::default().preparing(), &Estimate);
        for end in 2..=all.len() {
            prepared.extend(&all[..end], &Estimate);
        }
        black_box(prepared.figures());
    });
}
