//! The tools that every agent has, as models are told of them.

use serde_json::{Map, Value, json};
use threadkeep_provider::ToolSchema;

use crate::protocol::BUILT_IN;

/// What an agent with a mailbox is told of it, below its own system prompt.
pub(super) const ABOUT_MAIL: &str = "You have a mailbox. Each message in it has a number. What you say at the end of a turn is \
sent as the reply to the message that you are answering. To respond to a received message yourself, or to say something before \
you are done, use reply() with the message's number (listMessages() shows them; without a number it is the message that you are \
answering), not send(). Use send() only to begin a new conversation. Other agents get only what you reply() or send() to them. Do not \
repeat at the end what you have replied already.";

/// The schemas of those built-in tools that are wanted.
pub(super) fn schemas(wanted: &[String]) -> Vec<ToolSchema> {
    let strings = |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    let message_number = json!({
        "type": "string",
        "description": "The message number (BigInt). SmallCaps: \"+5\".",
    });
    let parts = [
        ("strings", strings("The texts of the message. Mostly there is just one.")),
        (
            "edgeNames",
            strings("What the texts call the things that go along: one stands between each two texts. Mostly empty."),
        ),
        ("petNames", strings("What you call these things; as many as edgeNames.")),
    ];
    let said = |first: &str, schema: Value| {
        let mut properties = Map::new();
        properties.insert(first.to_owned(), schema);
        properties.extend(parts.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())));
        let required: Vec<&String> = properties.keys().collect();
        json!({ "type": "object", "required": required, "properties": properties })
    };
    let all = [
        (
            "reply",
            "Reply to a message in your inbox, threading the response to the original message. Use this instead of send() \
             when responding to a received message.",
            said("messageNumber", message_number.clone()),
        ),
        (
            "send",
            "Send a message that begins a new conversation. To respond to a message, use reply().",
            said("recipientName", json!({ "type": "string", "description": "To whom." })),
        ),
        (
            "listMessages",
            "List the messages of your mailbox, your own as well, with number, messageId, replyTo, from, to and text.",
            json!({ "type": "object", "properties": {
                "limit": { "type": "integer", "description": "The newest so many; 50 without it." },
                "dismissed": { "type": "boolean", "description": "Whether dismissed messages are listed too." },
            } }),
        ),
        (
            "dismiss",
            "Mark a message as done with.",
            json!({ "type": "object", "required": ["messageNumber"], "properties": { "messageNumber": message_number } }),
        ),
        (
            "searchMemory",
            "Search everything that was ever said or remembered, in all conversations.",
            json!({ "type": "object", "required": ["query"], "properties": {
                "query": { "type": "string", "description": "Words to look for; \"quotes\" for phrases." },
                "limit": { "type": "integer", "description": "How many hits at most; 10 without it." },
            } }),
        ),
        (
            "readToolResult",
            "Read the whole of a tool's result of which your prompt shows only the beginning.",
            json!({ "type": "object", "required": ["path"], "properties": {
                "path": { "type": "string", "description": "The path that stands where the result was cut." },
                "offset": { "type": "integer", "description": "The first character; 0 without it." },
                "length": { "type": "integer", "description": "How many characters; 20000 without it." },
            } }),
        ),
        (
            "remember",
            "Remember a fact for later conversations: a preference, a decision, a constraint.",
            json!({ "type": "object", "required": ["fact"], "properties": {
                "fact": { "type": "string", "description": "The fact, in one sentence that can be understood by itself." },
            } }),
        ),
    ];
    let wanted = all.into_iter().filter(|(name, ..)| wanted.iter().any(|wanted| wanted == name));
    let schema = |(name, description, parameters): (&str, &str, Value)| ToolSchema {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        parameters,
        strict: None,
    };
    wanted.map(schema).collect()
}

/// Whether calling it twice comes to the same: replies and messages have an id of their turn's own.
pub(super) fn repeatable(name: &str) -> bool {
    BUILT_IN.contains(&name)
}
