//! Connections as models that can be asked: the page's [`Secret`] in, a model with its limits and tools out.

use std::rc::Rc;

use serde_json::Value;
use threadkeep::model::{Connected, Model};
use threadkeep::protocol::ErrorReply;
use threadkeep_fetch::Fetch;
use threadkeep_provider::Connection;

use super::{chrome, demo};
use crate::connections::{CHROME, DEMO_MODEL, Tools};
use crate::wire::Secret;

/// How many tokens the browser's own model is trusted with: its models are small, and it does not say before it is made.
const CHROME_TOKENS: u64 = 6_000;

/// A connection that can be asked.
pub struct Ready {
    /// The model.
    pub model: Rc<dyn Model>,
    /// The endpoint; none for what has none.
    pub connected: Option<Connected>,
    /// The tools that it is offered.
    pub tools: Tools,
    /// The tokens of its context, where they are known.
    pub max_context_tokens: Option<u64>,
    /// The most tokens of an answer, where they are known.
    pub max_output_tokens: Option<u64>,
}

/// The connection of a secret, with its model.
///
/// # Errors
/// The connection is not complete.
pub fn ready(secret: &Secret) -> Result<Ready, ErrorReply> {
    // What is wrong is said without the text: it holds a key.
    let bad = |message: String| ErrorReply { code: "bad-connection".to_owned(), message, details: Value::Null };
    let mut value: Value = serde_json::from_str(&secret.0).map_err(|_| bad("it cannot be read".to_owned()))?;
    let tools = value.as_object_mut().and_then(|fields| fields.remove("tools"));
    let tools = Tools::named(tools.as_ref().and_then(Value::as_str).unwrap_or_default());
    if value.get("provider").and_then(Value::as_str) == Some(DEMO_MODEL) {
        let model = Rc::new(demo::model(Rc::new(Fetch)));
        return Ok(Ready {
            model,
            connected: None,
            tools: Tools::Memory,
            max_context_tokens: None,
            max_output_tokens: None,
        });
    }
    if value.get("provider").and_then(Value::as_str) == Some(CHROME) {
        return Ok(Ready {
            model: Rc::new(chrome::Chrome),
            connected: None,
            tools: Tools::None,
            max_context_tokens: Some(CHROME_TOKENS),
            max_output_tokens: Some(CHROME_TOKENS / 4),
        });
    }
    let connection = Connection::from_json(&value).map_err(|error| bad(error.to_string()))?;
    let (max_context_tokens, max_output_tokens) = (connection.max_context_tokens, connection.max_output_tokens);
    let connected = Connected::new(connection, Rc::new(Fetch));
    let model = Rc::new(connected.clone());
    Ok(Ready { model, connected: Some(connected), tools, max_context_tokens, max_output_tokens })
}
