//! What the page asks of compaction and memory, and what it shows of the answers.

use serde::{Deserialize, Serialize};
use threadkeep_core::checkpoint::{Checkpoint, Source};
use threadkeep_core::{MessageId, TranscriptId};

use super::{Question, Secret};

/// What is asked. Answered by a part of the module that is loaded with the first of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Bring back the one that was deleted last. → [`Reply::Done`](super::Reply::Done)
    Unforget,
    /// A fact in the reader's words. → [`Reply::Done`](super::Reply::Done)
    Remember(String),
    /// Compact the branch that ends here. → [`Reply::Compacted`](super::Reply::Compacted)
    Compact {
        /// The branch's end.
        leaf: MessageId,
        /// Whether to say only what it would do.
        preview: bool,
        /// How.
        way: Way,
        /// The connection whose model summarises; without it that is ours, or the browser's.
        model: Option<Secret>,
    },
    /// Undo a compaction of the branch that ends here. → [`Reply::Done`](super::Reply::Done)
    UndoCompaction {
        /// The branch's end.
        leaf: MessageId,
        /// The checkpoint's id.
        checkpoint: String,
    },
    /// The epochs of the branch that ends here, the original one first. → [`Reply::Epochs`](super::Reply::Epochs)
    Epochs(MessageId),
    /// What changed in the prompt when the epoch of this place began. → [`Reply::Step`](super::Reply::Step)
    Step {
        /// Whose prompt, and for what.
        question: Box<Question>,
        /// The epoch's place among the epochs.
        place: u32,
    },
    /// What stands in prompts for a node's messages. → [`Reply::Carrier`](super::Reply::Carrier)
    Carried {
        /// The branch's end.
        leaf: MessageId,
        /// The node.
        node: MessageId,
    },
    /// How the prompts at the ends of two branches differ. → [`Reply::Compared`](super::Reply::Compared)
    Compare {
        /// The one on the screen, and how its prompt is built.
        question: Box<Question>,
        /// The end of the other one.
        other: MessageId,
    },
    /// What is wrong with the branch that ends here. → [`Reply::Checked`](super::Reply::Checked)
    Check(MessageId),
    /// Mend the branch that ends here, in a branch of its own. → [`Reply::Mended`](super::Reply::Mended)
    Mend(MessageId),
}

/// How two prompts differ: of the branch on the screen, and of the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// How many messages both begin with.
    pub begin_alike: u32,
    /// The messages that only one of them has, a line each.
    pub only: [Vec<String>; 2],
    /// Their tokens.
    pub tokens: [u64; 2],
}

/// One thing that is wrong with a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Where.
    pub node: MessageId,
    /// What, in words.
    pub words: String,
}

/// How a branch is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Way {
    /// The place in [`STRATEGIES`](crate::epochs::STRATEGIES); `None` for that of the compaction before.
    pub strategy: Option<u32>,
    /// How many turns stay raw beside the live one; `None` for the engine's default.
    pub tail: Option<u32>,
    /// How many tokens the browser's own summariser takes at once, where that is to be asked; else it is ours.
    pub browser: Option<u32>,
    /// Whether what tools and imported conversations say is remembered too.
    pub everybody: bool,
}

/// What stands in prompts for a node's messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carrier {
    /// The checkpoint that covers them, where one does.
    pub checkpoint: Option<String>,
    /// How many of the messages stay in prompts as they are although it covers them.
    pub raw: u32,
    /// The episodes and facts that came from them.
    pub memories: Vec<Memory>,
}

/// A stretch of a branch in which the same checkpoint was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// The checkpoint; `None` for the original epoch.
    pub card: Option<Card>,
    /// The place of the first message that its prompts have raw.
    pub start: u32,
    /// The place behind the last message that was there when it ended.
    pub end: u32,
}

/// An episode or a fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The agent whose memory it is; `None` for what all share.
    pub agent: Option<String>,
    /// Who said it: the name of its origin.
    pub origin: String,
}

/// One thing that a summary says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// What.
    pub text: String,
    /// The nodes that it came from.
    pub sources: Vec<MessageId>,
}

/// A checkpoint as a thread shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Its id.
    pub id: String,
    /// The last node that it covers.
    pub anchor: MessageId,
    /// How many messages it covers, from the first on.
    pub messages: u32,
    /// How many tool results it cleared; then it covers no more than the card before it, and says nothing new.
    pub cleared: u32,
    /// What it stands in for, in tokens.
    pub before: u64,
    /// What stands there now.
    pub after: u64,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// The strategy, by its name.
    pub strategy: String,
    /// Who made it, by name.
    pub summariser: String,
    /// What stands in.
    pub statements: Vec<Said>,
}

/// What a compaction did, or would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// What a model would be sent, in a preview of a compaction by one: nothing was sent yet.
    pub sends: Option<Sends>,
}

/// Requests that are not sent yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sends {
    /// How many there are.
    pub requests: u32,
    /// About how many tokens they have together.
    pub tokens: u64,
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
        let cleared = checkpoint.cleared.len() as u32;
        let statements = checkpoint.statements.into_iter().filter(|_| cleared == 0);
        Self {
            cleared,
            statements: statements.map(|one| Said { text: one.text, sources: nodes(one.sources) }).collect(),
            id: checkpoint.id,
            anchor: checkpoint.anchor,
            messages: checkpoint.covers.messages,
            before: checkpoint.tokens_before,
            after: checkpoint.tokens_after,
            created_at: checkpoint.created_at,
            strategy: checkpoint.strategy.name().to_owned(),
            summariser: checkpoint.summariser,
        }
    }
}

#[cfg(test)]
mod tests {
    use threadkeep::epochs::{Fate, Held, Step, StepLine};

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
            Recall::Compact {
                leaf: id.clone(),
                preview: true,
                way: Way { strategy: Some(2), tail: None, browser: Some(4_000), everybody: true },
                model: Some(Secret("{}".into())),
            },
            Recall::Epochs(id.clone()),
            Recall::Carried { leaf: id.clone(), node: id.clone() },
        ] {
            assert_eq!(from_bytes(&to_bytes(&asked)), Some(asked));
        }
        let card = Card {
            id: "cp".into(),
            anchor: id.clone(),
            cleared: 2,
            messages: 9,
            before: 900,
            after: 90,
            created_at: 3,
            strategy: "hierarchical".into(),
            summariser: "extractive".into(),
            statements: vec![Said { text: "s".into(), sources: vec![id.clone()] }],
        };
        let epoch = Epoch { card: Some(card.clone()), start: 9, end: 20 };
        assert_eq!(from_bytes(&to_bytes(&epoch)), Some(epoch));
        let sends = Some(Sends { requests: 2, tokens: 900 });
        let warnings = vec!["w".into()];
        let done = Compacted { card: Some(card), before: 1000, after: 190, memories: 2, warnings, sends };
        assert_eq!(from_bytes(&to_bytes(&done)), Some(done));
        let memory = Memory {
            id: "f".into(),
            episode: false,
            kind: "decision".into(),
            text: "t".into(),
            tags: Vec::new(),
            transcript: Some(id.clone()),
            sources: vec![id.clone()],
            pinned: false,
            superseded: true,
            created_at: -1,
            agent: Some("lal".into()),
            origin: "tool".into(),
        };
        assert_eq!(from_bytes(&to_bytes(&memory)), Some(memory.clone()));
        let carrier = Carrier { checkpoint: Some("cp".into()), raw: 0, memories: vec![memory] };
        assert_eq!(from_bytes(&to_bytes(&carrier)), Some(carrier));
    }

    #[test]
    fn a_step_is_heard_as_it_was_said() {
        let id = MessageId::new("m").unwrap();
        let line = |fate, summary: bool| StepLine {
            fate,
            place: 3,
            node: (!summary).then(|| id.clone()),
            role: "user".into(),
            words: "w".into(),
            summary,
            before: 7,
            after: 0,
        };
        let step = Step {
            leaf: id.clone(),
            before: Some(Held { tokens: 90, messages: 4 }),
            after: Held { tokens: 40, messages: 2 },
            lines: vec![line(Fate::Stayed, false), line(Fate::Came, true), line(Fate::Left, false)],
            absent: 1,
        };
        assert_eq!(from_bytes(&to_bytes(&step)), Some(step));
    }
}
