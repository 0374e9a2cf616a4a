//! A model whose requests for summaries are noted in the journal, with what the provider counted.

use std::rc::Rc;

use threadkeep_core::MessageId;
use threadkeep_provider::{Delta, Dialect, Provider};

use super::{By, Memory};
use crate::journal::SummaryRequest;
use crate::model::{Answer, Call, Failure, Model};
use crate::protocol::Counting;

/// Whose journal has the requests of a summariser, and how.
#[derive(Clone)]
pub struct Noting {
    /// The way to the journal.
    pub memory: Rc<dyn Memory>,
    /// The node at which the chain ends that is compacted.
    pub node: MessageId,
    /// Whose model is asked.
    pub agent: Option<String>,
    /// How tokens are counted.
    pub encoding: Counting,
    /// How many days requests are kept; `None` for as long as their thread.
    pub days: Option<u32>,
}

impl By {
    /// The same with its requests in a journal. Those of [`By::Asked`] are not: only its own function knows what it sends.
    #[must_use]
    pub fn noting(self, noting: Noting) -> Self {
        match self {
            Self::Model(model) => Self::Model(noting.model(model)),
            by @ (Self::Rules | Self::Asked(_)) => by,
        }
    }
}

impl Noting {
    /// The model with its requests in the journal, as requests for summaries.
    pub fn model(self, model: Rc<dyn Model>) -> Rc<dyn Model> {
        Rc::new(Noted { model, noting: self })
    }
}

/// A model whose requests are noted.
struct Noted {
    model: Rc<dyn Model>,
    noting: Noting,
}

impl Model for Noted {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn provider(&self) -> Provider {
        self.model.provider()
    }

    fn dialect(&self) -> Option<Dialect> {
        self.model.dialect()
    }

    fn call<'a>(&'a self, call: Call<'a>, heard: &'a dyn Fn(Delta)) -> Answer<'a> {
        let Noting { memory, node, agent, encoding, days } = &self.noting;
        Box::pin(async move {
            let asked = SummaryRequest {
                node,
                agent: agent.as_deref(),
                model: self.name(),
                provider: self.provider(),
                encoding: *encoding,
                messages: call.messages,
                days: *days,
            };
            let unsent = |error: crate::KeepError| Failure {
                code: error.code().to_owned(),
                message: error.to_string(),
                partial: None,
            };
            let id = memory.note_summary(asked).await.map_err(unsent)?;
            let answer = self.model.call(call, heard).await;
            let (usage, outcome) = match &answer {
                Ok(completion) => (completion.usage, completion.finish.name()),
                Err(failure) => (None, failure.code.as_str()),
            };
            // The summary counts, also if its thread was deleted meanwhile, and its record with it.
            let _ = memory.note_answer(&id, usage, outcome).await;
            answer
        })
    }
}
