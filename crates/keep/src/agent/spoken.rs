//! What a model has said of an answer that is under way, and storing it as it comes: about once a second, so that a crash leaves what was
//! said until then.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures_util::future::{Either, select};
use threadkeep_core::{Message, MessageId};
use threadkeep_provider::Delta;
use threadkeep_store::Store;
use tokio::sync::Notify;

use crate::Keep;
use crate::draft::Piece;

/// How long what was said waits to be stored, in milliseconds.
const WAITS: u32 = 1000;

/// What was said so far.
#[derive(Default)]
pub(super) struct Spoken {
    said: RefCell<String>,
    thought: RefCell<String>,
    /// Whether what was stored of it holds no longer.
    anew: Cell<bool>,
    more: Notify,
    /// Whether a piece is being stored.
    storing: Cell<bool>,
}

impl Spoken {
    pub(super) fn hear(&self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.said.borrow_mut().push_str(text),
            Delta::Reasoning(text) => self.thought.borrow_mut().push_str(text),
            Delta::WasReasoning => {
                self.thought.borrow_mut().push_str(&self.said.take());
                self.anew.set(true);
            }
            _ => return,
        }
        self.more.notify_one();
    }

    /// It as a message.
    pub(super) fn message(&self) -> Message {
        let reasoning = Some(self.thought.take()).filter(|thought| !thought.is_empty());
        Message { reasoning, ..Message::assistant(self.said.take()) }
    }

    /// What `answer` comes to, while what is heard of it is stored for `node`. A piece that is being stored then is stored before anything else is.
    pub(super) async fn storing<S: Store, T>(
        &self,
        keep: &Keep<S>,
        node: &MessageId,
        answer: impl Future<Output = T>,
    ) -> T {
        let (mut answer, mut storing) = (pin!(answer), pin!(self.store_pieces(keep, node)));
        let mut done = None;
        poll_fn(|context| {
            if done.is_none()
                && let Poll::Ready(answered) = answer.as_mut().poll(context)
            {
                done = Some(answered);
            }
            if done.is_none() || self.storing.get() {
                // It never ends.
                let _ = storing.as_mut().poll(context);
            }
            match done.take() {
                Some(answered) if !self.storing.get() => Poll::Ready(answered),
                waiting => {
                    done = waiting;
                    Poll::Pending
                }
            }
        })
        .await
    }

    async fn store_pieces<S: Store>(&self, keep: &Keep<S>, node: &MessageId) {
        let (mut text, mut reasoning, mut number) = (0, 0, 0);
        loop {
            self.more.notified().await;
            let due = keep.now() + i64::from(WAITS);
            let mut timer = keep.sleep(WAITS);
            while keep.now() < due {
                if let Either::Left(_) = select(&mut timer, pin!(self.more.notified())).await {
                    break;
                }
            }
            if self.anew.replace(false) {
                (text, reasoning, number) = (0, 0, 0);
            }
            let piece = Piece {
                text: self.said.borrow()[text..].to_owned(),
                reasoning: self.thought.borrow()[reasoning..].to_owned(),
                number,
            };
            text += piece.text.len();
            reasoning += piece.reasoning.len();
            number += 1;
            self.storing.set(true);
            let stored = keep.store_piece(node, &piece).await;
            self.storing.set(false);
            if stored.is_err() {
                // What ails the store, the whole message will meet, too, and say.
                std::future::pending::<()>().await;
            }
        }
    }
}
