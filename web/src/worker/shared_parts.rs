//! The parts of the module that other parts load: the agent needs prompts and the search, and a summariser needs a model.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use threadkeep::agent::{Memory, MemoryQuery, Own, ToolAnswer, found};
use threadkeep::model::Model;
use threadkeep::protocol::ErrorReply;
use threadkeep_parts::part;

use super::{Engine, connected, inspect};
use crate::wire::Secret;

part! {
    /// Prompts and memory for the agent, and whether tokens can be counted exactly.
    prompts: pub fn memory(engine: Rc<Engine>) -> Pin<Box<dyn Future<Output = (Rc<dyn Memory>, bool)>>> {
        Box::pin(async move {
            let exact = inspect::fetch(&engine, 0).await.is_ok();
            let keep = (*engine).clone();
            let search = move |wanted| -> ToolAnswer<'static> {
                let keep = keep.clone();
                Box::pin(async move {
                    let found = recalled(keep, wanted).await;
                    found.map_err(|_| "the search could not be loaded".to_owned())?.await
                })
            };
            let memory: Rc<dyn Memory> = Rc::new(Own::searching((*engine).clone(), Rc::new(search)));
            (memory, exact)
        })
    }
}

part! {
    /// What the agent finds with its tool.
    search: pub fn recalled(engine: Engine, wanted: MemoryQuery) -> ToolAnswer<'static> {
        found(engine, wanted)
    }
}

part! {
    /// The model of a connection, to summarise with.
    agent: pub fn model(connection: Secret) -> Result<Rc<dyn Model>, ErrorReply> {
        connected::ready(&connection).map(|ready| ready.model)
    }
}
