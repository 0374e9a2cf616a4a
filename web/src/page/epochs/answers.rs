//! What the epochs dialog asks the engine: the epochs of the branch, one step, one payload. Answers end in the signals of [`Scrub`].

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::MessageId;

use super::scrub::{Scrub, Shown, View};
use crate::page::{copied, inspector};
use crate::wire::{Ask, Inspect, Question, Recall, Reply};
use crate::words;

impl Scrub {
    /// Reads the epochs, and shows that of a checkpoint, or the last.
    pub(super) fn read(self, leaf: MessageId, checkpoint: Option<String>) {
        spawn_local(async move {
            let inspector = self.page.inspector;
            inspector.ready().await;
            let epochs = self.page.engine.ask(Ask::Recall(Box::new(Recall::Epochs(leaf.clone())))).await;
            // The dialog may be closed by now.
            drop(self.question.try_set_value(inspector.question_about(leaf)));
            match epochs {
                Ok(Reply::Epochs(epochs)) => {
                    // Who has closed the dialog meanwhile needs no answer, here and below.
                    if self.at.try_get_untracked().is_none() {
                        return;
                    }
                    let wanted = checkpoint.and_then(|id| {
                        epochs.iter().position(|epoch| epoch.card.as_ref().is_some_and(|card| card.id == id))
                    });
                    self.at.set(wanted.unwrap_or(epochs.len().saturating_sub(1)));
                    self.epochs.set(Some(Arc::new(epochs)));
                    self.ask();
                }
                Ok(_) => {}
                Err(error) => drop(self.shown.try_set(Shown::Failed(words::words(&error).title))),
            }
        });
    }

    /// Asks for what is chosen now. One question at a time: what is chosen meanwhile is asked when the answer has come.
    pub(super) fn ask(self) {
        if self.busy.get_value() {
            return self.again.set_value(true);
        }
        self.busy.set_value(true);
        spawn_local(async move {
            loop {
                let (Some(at), Some(view)) = (self.at.try_get_untracked(), self.view.try_get_untracked()) else {
                    return;
                };
                let shown = self.answer(at, view).await;
                if self.at.try_get_untracked().is_none() {
                    return;
                }
                if self.again.get_value() {
                    self.again.set_value(false);
                    continue;
                }
                self.shown.set(shown);
                return self.busy.set_value(false);
            }
        });
    }

    async fn answer(self, at: usize, view: View) -> Shown {
        // What is asked is taken now: who closes the dialog meanwhile takes it away.
        let question = self.question.with_value(|(question, _)| question.clone());
        let payload = (view != View::Difference).then(|| self.payload_question(at, view));
        let step = match self.step.get_untracked().filter(|(known, _)| *known == at) {
            Some((_, step)) => step,
            None => {
                let ask = Ask::Recall(Box::new(Recall::Step { question: Box::new(question), place: at as u32 }));
                match self.page.engine.ask(ask).await {
                    Ok(Reply::Step(step)) => Arc::new(*step),
                    Ok(_) => return Shown::Reading,
                    Err(error) => return Shown::Failed(words::words(&error).title),
                }
            }
        };
        drop(self.step.try_set(Some((at, Arc::clone(&step)))));
        let Some(question) = payload else { return Shown::Step(at, step) };
        match self.payload(Question { leaf: step.leaf.clone(), ..question }).await {
            Ok((text, warnings)) => {
                let (text, size) = inspector::readable(&text);
                Shown::Payload(text, size, warnings)
            }
            Err(failed) => Shown::Failed(failed),
        }
    }

    /// The question for the payload of one side of a step.
    fn payload_question(self, at: usize, view: View) -> Question {
        let place = if view == View::Before { at.saturating_sub(1) } else { at };
        let card = self.epochs.with_untracked(|epochs| epochs.as_ref()?.get(place)?.card.clone());
        let epoch = Some(card.map_or_else(|| "original".to_owned(), |card| card.id));
        Question { epoch, ..self.question.with_value(|(question, _)| question.clone()) }
    }

    /// The payload, as it would be sent.
    async fn payload(self, question: Question) -> Result<(String, Vec<String>), String> {
        match self.page.engine.ask(Ask::Inspect(Inspect::Payload(Box::new(question)))).await {
            Ok(Reply::Payload(payload)) => Ok((payload.text, payload.warnings)),
            Ok(_) => Err(String::new()),
            Err(error) => Err(words::words(&error).title),
        }
    }

    /// Copies the prompt that is shown.
    pub(super) fn copy(self) {
        let (Some((at, step)), view) = (self.step.get_untracked(), self.view.get_untracked()) else { return };
        let notices = self.page.notices;
        let question = Question { leaf: step.leaf.clone(), ..self.payload_question(at, view) };
        spawn_local(async move {
            match self.payload(question).await {
                Ok((text, _)) => copied::copy(notices, "The prompt, as JSON.", text).await,
                Err(failed) => notices.say("Nothing was copied", &failed),
            }
        });
    }
}
