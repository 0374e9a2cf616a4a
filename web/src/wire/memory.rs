//! What the page asks of compaction and memory, and what it shows of the answers.

use threadkeep_core::compaction::Checkpoint;
use threadkeep_core::memory::Source;
use threadkeep_core::{MessageId, TranscriptId};

use super::pack::{Pack, pack_enum, pack_struct};

/// What is asked. Answered by a part of the module that is loaded with the first of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recall {
    /// All episodes and facts. → [`Reply::Memories`](super::Reply::Memories)
    List,
    /// Other words and tags. → [`Reply::Done`](super::Reply::Done)
    Edit {
        /// Which.
        id: String,
        /// Whether it is an episode.
        episode: bool,
        /// What it says.
        text: String,
        /// Words to find it by.
        tags: Vec<String>,
    },
    /// Into every bundle, or no longer. → [`Reply::Done`](super::Reply::Done)
    Pin {
        /// Which.
        id: String,
        /// Whether it is pinned.
        pinned: bool,
    },
    /// Delete one. → [`Reply::Done`](super::Reply::Done)
    Forget(String),
    /// A fact in the reader's words. → [`Reply::Done`](super::Reply::Done)
    Remember(String),
    /// Compact the branch that ends here. → [`Reply::Compacted`](super::Reply::Compacted)
    Compact {
        /// The branch's end.
        leaf: MessageId,
        /// Whether to say only what it would do.
        preview: bool,
    },
}

/// An episode or a fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Its id.
    pub id: String,
    /// Whether it is an episode.
    pub episode: bool,
    /// What kind of fact; empty for episodes.
    pub kind: String,
    /// What it says.
    pub text: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The thread that it came from.
    pub transcript: Option<TranscriptId>,
    /// The nodes that it came from.
    pub sources: Vec<MessageId>,
    /// Whether it is in every bundle.
    pub pinned: bool,
    /// Whether a newer fact contradicts it.
    pub superseded: bool,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
}

/// One thing that a summary says.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// What.
    pub text: String,
    /// The nodes that it came from.
    pub sources: Vec<MessageId>,
}

/// A checkpoint as a thread shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// Its id.
    pub id: String,
    /// The last node that it covers.
    pub anchor: MessageId,
    /// How many messages it covers, from the first on.
    pub messages: u32,
    /// What it stands in for, in tokens.
    pub before: u64,
    /// What stands there now.
    pub after: u64,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// What stands in.
    pub statements: Vec<Said>,
}

/// What a compaction did, or would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Compacted {
    /// The checkpoint; `None` where nothing is to be done.
    pub card: Option<Card>,
    /// The tokens of the whole history before.
    pub before: u64,
    /// The same now.
    pub after: u64,
    /// How many episodes and facts come with it.
    pub memories: u32,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// The nodes of sources, each once.
pub fn nodes(sources: Vec<Source>) -> Vec<MessageId> {
    let mut nodes: Vec<MessageId> = Vec::new();
    for source in sources {
        if !nodes.contains(&source.node) {
            nodes.push(source.node);
        }
    }
    nodes
}

impl From<Checkpoint> for Card {
    fn from(checkpoint: Checkpoint) -> Self {
        let statements = checkpoint.statements.into_iter();
        Self {
            statements: statements.map(|one| Said { text: one.text, sources: nodes(one.sources) }).collect(),
            id: checkpoint.id,
            anchor: checkpoint.anchor,
            messages: checkpoint.covers.messages,
            before: checkpoint.tokens_before,
            after: checkpoint.tokens_after,
            created_at: checkpoint.created_at,
        }
    }
}

pack_enum!(Recall {
    0 List {},
    1 Edit { id: id, episode: episode, text: text, tags: tags },
    2 Pin { id: id, pinned: pinned },
    3 Forget { 0: id },
    4 Remember { 0: text },
    5 Compact { leaf: leaf, preview: preview },
});
pack_struct!(Memory { id, episode, kind, text, tags, transcript, sources, pinned, superseded, created_at });
pack_struct!(Said { text, sources });
pack_struct!(Card { id, anchor, messages, before, after, created_at, statements });
pack_struct!(Compacted { card, before, after, memories, warnings });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{from_bytes, to_bytes};

    #[test]
    fn what_is_asked_and_answered_is_heard() {
        let id = MessageId::new("m").unwrap();
        for asked in [
            Recall::List,
            Recall::Edit { id: "e".into(), episode: true, text: "t".into(), tags: vec!["a".into()] },
            Recall::Pin { id: "f".into(), pinned: true },
            Recall::Forget("f".into()),
            Recall::Remember("x".into()),
            Recall::Compact { leaf: id.clone(), preview: true },
        ] {
            assert_eq!(from_bytes(&to_bytes(&asked)), Some(asked));
        }
        let card = Card {
            id: "cp".into(),
            anchor: id.clone(),
            messages: 9,
            before: 900,
            after: 90,
            created_at: 3,
            statements: vec![Said { text: "s".into(), sources: vec![id.clone()] }],
        };
        let done = Compacted { card: Some(card), before: 1000, after: 190, memories: 2, warnings: vec!["w".into()] };
        assert_eq!(from_bytes(&to_bytes(&done)), Some(done));
        let memory = Memory {
            id: "f".into(),
            episode: false,
            kind: "decision".into(),
            text: "t".into(),
            tags: Vec::new(),
            transcript: Some(id.clone()),
            sources: vec![id],
            pinned: false,
            superseded: true,
            created_at: -1,
        };
        assert_eq!(from_bytes(&to_bytes(&memory)), Some(memory));
    }
}
