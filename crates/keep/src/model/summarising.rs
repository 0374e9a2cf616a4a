//! Any model as the one that a summariser asks.

use std::rc::Rc;

use threadkeep_core::Message;
use threadkeep_provider::{RenderOptions, render};

use super::{Call, Model};
use crate::compact::{self, ModelRequest, Reply};

/// Makes a [`compact::Model`] of a [`Model`]: `ModelSummariser::new(Rc::new(Summarising(model)))`.
#[derive(Clone)]
pub struct Summarising(pub Rc<dyn Model>);

impl compact::Model for Summarising {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn ask(&self, request: ModelRequest) -> Reply<'_> {
        Box::pin(async move {
            let options =
                RenderOptions { model: Some(self.name().to_owned()), stream: Some(true), ..RenderOptions::default() };
            let messages: Vec<&Message> = request.messages.iter().collect();
            let payload = render(&messages, self.0.provider(), &options).payload;
            let call = Call { messages: &request.messages, payload: &payload, tools: &[] };
            match self.0.call(call, &|_| {}).await {
                Ok(completion) => Ok(completion.message),
                Err(failure) => Err(failure.message),
            }
        })
    }
}
