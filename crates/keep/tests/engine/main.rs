//! The engine over a store in memory, as its users drive it. One file a behaviour.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../core/tests/support/chat.rs"]
mod chat;
#[path = "../../../core/tests/support/folder.rs"]
mod folder;

mod agent;
mod agent_memory;
mod agent_support;
mod archive_settings;
mod archives;
mod bin;
mod branches;
mod case_file;
mod collect;
mod compaction;
mod compaction_rules;
mod context;
mod conversations;
mod damage;
mod epochs;
mod expire;
mod far_away;
mod growth;
mod growth_of_imports;
mod imported_compactions;
mod imports;
mod interrupted;
mod journal;
mod kernel;
mod mailbox;
mod memory;
mod memory_owners;
mod memory_poison;
mod mending;
mod message_store;
mod model;
mod models;
mod next_request;
mod passages;
mod real;
mod real_compaction;
mod removal;
mod reply_chain_agents;
mod reply_chains;
mod request_diff;
mod scopes;
mod search;
mod settings;
mod share;
mod side_by_side;
mod simulate;
mod spending;
mod store_surface;
mod summarisers;
mod two_writers;
mod undo;
mod undo_compaction;
mod unified_log;
mod what_if;

use std::cell::Cell;
use std::rc::Rc;

use threadkeep::protocol::Inbound;
use threadkeep::{Host, Keep, KeepError, Options};
use threadkeep_core::{Message, MessageId};
use threadkeep_store::MemoryStore;

/// A clock that ticks and randomness that counts, shared by the engines of one test so that their ids differ.
#[derive(Clone, Default)]
struct TestHost(Rc<Cell<u64>>);

impl TestHost {
    /// Lets so many milliseconds pass.
    fn pass(&self, millis: u64) {
        self.0.set(self.0.get() + millis);
    }
}

impl Host for TestHost {
    fn now(&self) -> i64 {
        self.0.set(self.0.get() + 1);
        1_700_000_000_000 + self.0.get() as i64
    }

    fn random(&self) -> [u8; 32] {
        self.0.set(self.0.get() + 1);
        let mut bytes = [0; 32];
        for (at, chunk) in bytes.chunks_mut(8).enumerate() {
            let mixed = (self.0.get() * 4 + at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            chunk.copy_from_slice(&mixed.to_le_bytes());
        }
        bytes
    }
}

/// A store and the engines over it.
#[derive(Clone, Default)]
struct World {
    store: MemoryStore,
    host: TestHost,
}

impl World {
    /// Another engine over the same store, as another tab has one.
    fn tab(&self) -> Keep<MemoryStore> {
        self.tab_with(Options::default())
    }

    fn tab_with(&self, options: Options) -> Keep<MemoryStore> {
        run(Keep::open(self.store.clone(), self.host.clone(), options)).unwrap()
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    pollster::block_on(future)
}

fn id(text: &str) -> MessageId {
    MessageId::new(text).unwrap()
}

fn inbound(message: &str, reply_to: Option<&str>, text: &str) -> Inbound {
    Inbound { message_id: Some(id(message)), reply_to: reply_to.map(id), ..Inbound::new(text) }
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.text().into_owned()).collect()
}

fn code<T: std::fmt::Debug>(result: Result<T, KeepError>) -> String {
    result.unwrap_err().reply().code
}

fn users(count: usize) -> Vec<Message> {
    (0..count).map(|at| Message::user(format!("m{at}"))).collect()
}
