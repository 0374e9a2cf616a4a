//! Talking to the model in use: sends what is said to the worker, follows the turn, and tells the thread what it must show. One
//! turn at a time. What is written to the screen meanwhile is [`live`](super::live)'s.

use std::rc::Rc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::ErrorReply;
use threadkeep_core::{MessageId, TranscriptId};

use super::engine::Engine;
use super::inspector::Inspector;
use super::keys::{Connections, KeyState};
use super::live::Live;
use crate::wire::{Ask, Ending, Heard, Talk, Turn};

/// The turn that is under way.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Running {
    /// Its thread, once it has begun.
    pub transcript: Option<TranscriptId>,
    /// Its node, once it has begun.
    pub node: Option<MessageId>,
    /// Whether the reader wants it to end.
    pub stopping: bool,
}

/// What the thread must follow.
#[derive(Debug, Clone)]
pub enum Step {
    /// A turn has begun in this node of this thread.
    Began(TranscriptId, MessageId),
    /// Words came.
    Grew,
    /// What was heard is in the node now.
    Stored,
    /// The turn is over.
    Ended(Ending),
}

/// Why nothing can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// No connection is in use.
    Connection,
    /// Its key is locked.
    Locked,
}

type Follow = Rc<dyn Fn(Step)>;

struct Inner {
    live: Live,
    follow: Option<Follow>,
    /// Whoever waits until what they said is stored.
    sent: Option<Box<dyn FnOnce()>>,
}

/// The talk. A handle: copies are the same.
#[derive(Clone, Copy)]
pub struct Talking {
    engine: Engine,
    connections: Connections,
    inspector: Inspector,
    /// The turn that is under way.
    pub running: RwSignal<Option<Running>>,
    inner: StoredValue<Inner, LocalStorage>,
}

impl Talking {
    /// Begins to listen.
    pub fn start(engine: Engine, connections: Connections, inspector: Inspector) -> Self {
        let inner = Inner { live: Live::new(), follow: None, sent: None };
        let talking =
            Self { engine, connections, inspector, running: RwSignal::new(None), inner: StoredValue::new_local(inner) };
        engine.on_heard(move |heard| talking.hear(heard));
        talking
    }

    /// Calls `follow` with what the thread must show.
    pub fn follow(self, follow: impl Fn(Step) + 'static) {
        self.inner.update_value(|inner| inner.follow = Some(Rc::new(follow)));
    }

    /// Does something with the answer that is being given.
    pub fn with_live<T>(self, act: impl FnOnce(&mut Live) -> T) -> Option<T> {
        let mut act = Some(act);
        self.inner.try_update_value(|inner| act.take().map(|act| act(&mut inner.live))).flatten()
    }

    fn tell(self, step: Step) {
        // A copy, since whoever follows may look at the answer.
        if let Some(follow) = self.inner.with_value(|inner| inner.follow.clone()) {
            follow(step);
        }
    }

    /// Whether a turn is under way in this node.
    pub fn is_in(self, node: &MessageId) -> bool {
        self.running
            .with_untracked(|running| running.as_ref().is_some_and(|running| running.node.as_ref() == Some(node)))
    }

    /// What is missing before something can be said; tracks.
    pub fn lack(self) -> Option<Lack> {
        let Some(connection) = self.connections.in_use() else { return Some(Lack::Connection) };
        (self.connections.key_state(&connection) == KeyState::Locked).then_some(Lack::Locked)
    }

    /// The question for the request that these words would bring about; `None` where no model can be asked.
    pub fn foresee(self, content: String, reply_to: Option<MessageId>) -> Option<Talk> {
        if untrack(|| self.lack()).is_some() {
            return None;
        }
        let connection = self.connections.book.with_untracked(|book| book.in_use().cloned())?;
        Some(Talk::Next { connection: self.connections.request(&connection), content, reply_to })
    }

    /// Says something at a place. `stored` is called once it is stored, in its thread; `done` hears how the asking ended, which is after
    /// the turn.
    pub fn say(
        self,
        content: String,
        reply_to: Option<MessageId>,
        stored: impl FnOnce() + 'static,
        done: impl FnOnce(Result<(), ErrorReply>) + 'static,
    ) {
        self.inner.update_value(|inner| inner.sent = Some(Box::new(stored)));
        self.take(Turn::Say { content, reply_to }, done);
    }

    /// Takes a turn. `done` hears how the asking ended, which is after the turn.
    pub fn take(self, turn: Turn, done: impl FnOnce(Result<(), ErrorReply>) + 'static) {
        let Some(connection) = self.connections.book.with_untracked(|book| book.in_use().cloned()) else { return };
        if self.running.with_untracked(Option::is_some) {
            return;
        }
        self.with_live(Live::clear);
        self.running.set(Some(Running::default()));
        let connection = self.connections.request(&connection);
        spawn_local(async move {
            self.inspector.save().await;
            let asked = Ask::Talk(Box::new(Talk::Turn { connection, turn }));
            let result = self.engine.ask(asked).await.map(drop);
            self.inner.update_value(|inner| inner.sent = None);
            self.running.set(None);
            let failed = result.as_ref().err().map(|error| error.code.clone());
            done(result);
            if let Some(code) = failed {
                self.tell(Step::Ended(Ending { node: None, code, words: String::new() }));
            }
        });
    }

    /// Ends the turn that is under way, if one is. What was said until then stays.
    pub fn stop(self) {
        if self.running.with_untracked(Option::is_none) {
            return;
        }
        self.running.update(|running| {
            if let Some(running) = running {
                running.stopping = true;
            }
        });
        self.engine.stop_turn();
    }

    /// These nodes of a thread were deleted, all of it where none is named: an answer that was to go there ends.
    pub fn deleted(self, transcript: &TranscriptId, nodes: &[MessageId]) {
        let there = |running: &Running| {
            let node = running.node.as_ref();
            running.transcript.as_ref() == Some(transcript)
                && (nodes.is_empty() || node.is_some_and(|node| nodes.contains(node)))
        };
        if self.running.with_untracked(|running| running.as_ref().is_some_and(there)) {
            self.stop();
        }
    }

    fn hear(self, all: Vec<Heard>) {
        let mut grew = false;
        for heard in all {
            self.with_live(|live| live.hear(&heard));
            if matches!(heard, Heard::Posted { .. }) {
                let stored = self.inner.try_update_value(|inner| inner.sent.take()).flatten();
                stored.into_iter().for_each(|stored| stored());
            }
            match heard {
                Heard::Posted { transcript, node } | Heard::Began { transcript, node } => {
                    self.running.update(|running| {
                        if let Some(running) = running {
                            running.transcript = Some(transcript.clone());
                            running.node = Some(node.clone());
                        }
                    });
                    self.with_live(Live::clear);
                    self.tell(Step::Began(transcript, node));
                }
                Heard::Stored(_) => self.tell(Step::Stored),
                Heard::Ended(ending) => {
                    // What is still to be stored of it comes as any other change.
                    self.running.update(|running| {
                        if let Some(running) = running {
                            running.node = None;
                        }
                    });
                    self.tell(Step::Ended(ending));
                }
                _ => grew = true,
            }
        }
        if grew {
            self.tell(Step::Grew);
        }
    }
}
