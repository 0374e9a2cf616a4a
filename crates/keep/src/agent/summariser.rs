//! Who summarises an agent's histories.

use std::rc::Rc;

use crate::compact::{self, Extractive, ModelSummariser, Summariser};
use crate::model::{Model, Summarising};

/// Who summarises. Rules take over where a model fails.
#[derive(Clone)]
pub enum By {
    /// The built-in rules, which ask no model.
    Rules,
    /// A model that answers, such as the agent's own.
    Model(Rc<dyn Model>),
    /// A model that is asked for summaries alone.
    Asked(Rc<dyn compact::Model>),
}

impl By {
    /// The summariser.
    pub(super) fn summariser(self) -> Box<dyn Summariser> {
        match self {
            Self::Rules => Box::new(Extractive),
            Self::Model(model) => Box::new(ModelSummariser::new(Rc::new(Summarising(model)))),
            Self::Asked(model) => Box::new(ModelSummariser::new(model)),
        }
    }
}
