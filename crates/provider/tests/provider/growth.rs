//! Work of this crate takes time in proportion to a history's length, whatever its shape.

use std::hint::black_box;

use threadkeep_core::Message;
use threadkeep_provider::{Provider, RenderOptions, render, validate_messages, validate_payload};

use crate::shapes::{SHAPES, grows};

#[test]
fn rendering_and_validating_take_time_in_proportion() {
    for shape in &SHAPES {
        for provider in Provider::ALL {
            grows(&format!("rendering for {provider:?}"), shape, &|messages| {
                let messages: Vec<&Message> = messages.iter().collect();
                let rendered = render(&messages, provider, &RenderOptions::default());
                black_box(validate_payload(&rendered.payload, provider));
                black_box(validate_messages(&messages, provider));
            });
        }
    }
}
