//! The built-in tools, as models are told of them: in few and plain words, since each request pays for them.

use serde_json::{Map, Value, json};
use threadkeep_provider::ToolSchema;

/// What an agent that has the tool `reply` is told of its mailbox, below its own system prompt.
pub(super) const ABOUT_MAIL: &str = "You have a mailbox. Its messages have numbers. Your last words of a turn are sent as the reply to \
the message you are answering. To answer earlier, or another message, use reply(). Use send() only to begin a new conversation. Other agents \
get only what you reply() or send(). Do not say at the end what you have replied already.";

/// The tool that reads a result of which a prompt shows only the beginning.
pub(super) const READ: &str = "readToolResult";

/// The schemas of those built-in tools that are wanted.
pub(super) fn schemas(wanted: &dyn Fn(&str) -> bool) -> Vec<ToolSchema> {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let number = |what: &str| json!({ "type": "integer", "description": what });
    let list = |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    let message_number = || text("The message's number, such as 5.");
    let said = |first: &str, schema: Value| {
        let mut properties = Map::new();
        properties.insert(first.to_owned(), schema);
        properties.insert("strings".to_owned(), list("The texts, mostly one."));
        properties
            .insert("edgeNames".to_owned(), list("Names of attached things, one between two texts. Mostly empty."));
        properties.insert("petNames".to_owned(), list("Your names of these things, as many as edgeNames."));
        let required: Vec<&String> = properties.keys().collect();
        json!({ "type": "object", "required": required, "properties": properties })
    };
    let object = |required: &[&str], properties: Value| match required {
        [] => json!({ "type": "object", "properties": properties }),
        required => json!({ "type": "object", "required": required, "properties": properties }),
    };
    let all = [
        ("reply", "Reply to a message of your mailbox.", said("messageNumber", message_number())),
        ("send", "Send a message that begins a new conversation.", said("recipientName", text("To whom."))),
        (
            "listMessages",
            "List the messages of your mailbox, your own too.",
            object(
                &[],
                json!({
                    "limit": number("Only the newest so many; 50 by default."),
                    "dismissed": { "type": "boolean", "description": "Dismissed ones too." },
                }),
            ),
        ),
        (
            "dismiss",
            "Mark a message as done.",
            object(&["messageNumber"], json!({ "messageNumber": message_number() })),
        ),
        (
            "searchMemory",
            "Search all that was said or remembered before.",
            object(&["query"], json!({ "query": text("Words, or \"a phrase\"."), "limit": number("10 by default.") })),
        ),
        (
            READ,
            "Read a tool result of which you see only the beginning.",
            object(
                &["path"],
                json!({
                    "path": text("The path that stands in the preview."),
                    "offset": number("The first character; 0 by default."),
                    "length": number("How many characters; 20000 by default."),
                }),
            ),
        ),
        (
            "remember",
            "Remember a fact for later conversations.",
            object(&["fact"], json!({ "fact": text("One sentence that can be understood by itself.") })),
        ),
    ];
    let schema = |(name, description, parameters): (&str, &str, Value)| ToolSchema {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        parameters,
        strict: None,
    };
    all.into_iter().filter(|(name, ..)| wanted(name)).map(schema).collect()
}
