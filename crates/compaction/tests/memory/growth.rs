//! Work of this crate takes time in proportion to a history's length, whatever its shape.

use std::hint::black_box;

use threadkeep_compaction::memory::jsonl::traces;
use threadkeep_compaction::memory::{steps, tool_interactions};
use threadkeep_core::{MessageId, Node};

use crate::shapes::{SHAPES, grows};

#[test]
fn traces_take_time_in_proportion() {
    for shape in &SHAPES {
        grows("traces", shape, &|messages| {
            let id = MessageId::new("root").unwrap();
            let node = Node::new(id, None, messages.to_vec());
            let steps = steps([&node]);
            black_box((traces(&steps), tool_interactions(&steps, None)));
        });
    }
}
