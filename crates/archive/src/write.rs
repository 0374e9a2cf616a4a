//! Conversations as others read them: OpenAI chat messages (JSON Lines), ShareGPT (a JSON array) and Markdown. A tree comes
//! in, pieces of text go out; our own format, which keeps everything, is [`own`](super::own).
//!
//! Each writes the chosen branch, or all of them. A branch is a conversation of its own in the first two, under the same id, so
//! that reading them back makes one tree again; the chosen one comes last there and counts. In Markdown the other branches follow
//! the chosen one, each from where it leaves what was written already.

mod markdown;
mod memory;

use std::collections::HashSet;

use serde_json::{Map, Value};
use threadkeep_core::transcript::Placed;
use threadkeep_core::{Content, Message, MessageId, Role, Transcript};
use threadkeep_json::own_text;

pub use memory::memory_files;

/// A format that is written for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `{"id", "title", "messages"}` a line. Messages are as they are kept, with our own fields where they say something.
    OpenAiMessages,
    /// A list of `{"id", "conversations"}`. It knows words, and calls by name and arguments; what only people see, reasoning
    /// and images do not come along.
    ShareGpt,
    /// A transcript to read, with what tools did folded.
    Markdown,
}

impl Target {
    /// The stable name, such as `sharegpt`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiMessages => "openai-messages",
            Self::ShareGpt => "sharegpt",
            Self::Markdown => "markdown",
        }
    }

    /// The target of a stable name.
    ///
    /// ```
    /// use threadkeep_archive::write::Target;
    /// assert_eq!(Target::from_name("markdown"), Some(Target::Markdown));
    /// assert_eq!(Target::from_name("fax"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::OpenAiMessages, Self::ShareGpt, Self::Markdown].into_iter().find(|target| target.name() == name)
    }
}

/// About how long a piece is, in bytes.
const PIECE: usize = 64 * 1024;

/// Writes conversations one after another into one file.
///
/// ```
/// use threadkeep_archive::write::{Target, Writer};
/// use threadkeep_core::{Entry, Message, MessageId, Node, Transcript};
/// let id = MessageId::new("t1")?;
/// let mut tree = Transcript::new(id.clone());
/// tree.apply(Entry::Node(Box::new(Node::new(id, None, vec![Message::user("Hello")])))).unwrap();
/// let mut text = String::new();
/// let mut writer = Writer::new(Target::Markdown, false);
/// writer.transcript(&tree, &mut |piece| text.push_str(&piece));
/// writer.finish(&mut |piece| text.push_str(&piece));
/// assert!(text.contains("Hello"));
/// # Ok::<(), threadkeep_core::IdError>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    target: Target,
    branches: bool,
    begun: bool,
    piece: String,
}

impl Writer {
    /// For a file of this format; `branches` writes all of them, not only the chosen ones.
    pub fn new(target: Target, branches: bool) -> Self {
        Self { target, branches, begun: false, piece: String::new() }
    }

    /// Writes a conversation. One that says nothing is left out.
    pub fn transcript(&mut self, tree: &Transcript, sink: &mut dyn FnMut(String)) {
        let info = tree.info();
        let chosen = info.leaf.as_ref().and_then(|leaf| tree.resolve(leaf)).cloned();
        let Some(chosen) = chosen.filter(|_| info.messages > 0) else { return };
        let mut others = Vec::new();
        if self.branches {
            let leaves = tree.nodes().filter(|placed| placed.is_leaf() && placed.node.id != chosen);
            others.extend(leaves.map(|placed| placed.node.id.clone()));
        }
        match self.target {
            Target::Markdown => {
                if self.begun {
                    self.piece.push_str("\n---\n\n");
                }
                self.begun = true;
                markdown::head(&info, &mut self.piece);
                let mut written: HashSet<MessageId> = HashSet::new();
                self.markdown(tree, &chosen, &mut written, sink);
                for leaf in others {
                    self.markdown(tree, &leaf, &mut written, sink);
                }
            }
            _ => {
                for leaf in others.into_iter().chain([chosen]) {
                    self.list(tree, &leaf, &info.title, sink);
                }
            }
        }
        self.flush(0, sink);
    }

    /// Ends the file.
    pub fn finish(mut self, sink: &mut dyn FnMut(String)) {
        if self.target == Target::ShareGpt {
            self.piece.push_str(if self.begun { "\n]\n" } else { "[]\n" });
        }
        self.flush(0, sink);
    }

    fn flush(&mut self, over: usize, sink: &mut dyn FnMut(String)) {
        if self.piece.len() > over {
            sink(std::mem::take(&mut self.piece));
        }
    }

    /// A branch as a list of messages.
    fn list(&mut self, tree: &Transcript, leaf: &MessageId, title: &str, sink: &mut dyn FnMut(String)) {
        // The tree's own leaves have chains.
        let chain = tree.chain(leaf).unwrap_or_default();
        let open = match self.target {
            Target::ShareGpt => {
                self.piece.push_str(if self.begun { ",\n" } else { "[\n" });
                "conversations"
            }
            _ => "messages",
        };
        self.begun = true;
        let (id, title) = (own_text(tree.id()), own_text(&title));
        self.piece.push_str(&["{\"id\":", &id, ",\"title\":", &title, ",\"", open, "\":["].concat());
        let mut first = true;
        for message in chain.into_iter().flat_map(|placed| &placed.node.messages) {
            let values = match self.target {
                Target::ShareGpt => turns(message),
                _ => vec![message.to_json()],
            };
            for value in values {
                if !std::mem::take(&mut first) {
                    self.piece.push(',');
                }
                self.piece.push_str(&own_text(&value));
                self.flush(PIECE, sink);
            }
        }
        self.piece.push_str(if self.target == Target::ShareGpt { "]}" } else { "]}\n" });
    }

    /// What of a branch is not written yet.
    fn markdown(
        &mut self,
        tree: &Transcript,
        leaf: &MessageId,
        written: &mut HashSet<MessageId>,
        sink: &mut dyn FnMut(String),
    ) {
        let chain = tree.chain(leaf).unwrap_or_default();
        let mut above: Option<&Placed> = None;
        let mut fresh = false;
        for placed in chain {
            if !written.insert(placed.node.id.clone()) {
                above = Some(placed);
                continue;
            }
            if let (false, Some(above)) = (std::mem::replace(&mut fresh, true), above) {
                markdown::branch(above, &mut self.piece);
            }
            for message in &placed.node.messages {
                markdown::message(&placed.node, message, &mut self.piece);
                self.flush(PIECE, sink);
            }
        }
    }
}

/// A message as ShareGPT's turns: its words, then its calls. What only people see is none.
fn turns(message: &Message) -> Vec<Value> {
    let mut turns = Vec::new();
    if !message.include_in_context {
        return turns;
    }
    let from = match &message.role {
        Role::System | Role::Developer => "system",
        Role::User => "human",
        Role::Assistant => "gpt",
        Role::Tool => "observation",
        Role::Other(role) => role,
    };
    let mut turn = |from: &str, value: String| {
        let fields = [("from", from.into()), ("value", value.into())];
        let fields = fields.map(|(name, value): (&str, Value)| (name.to_owned(), value));
        turns.push(Value::Object(Map::from_iter(fields)));
    };
    let words = words(message);
    if !words.is_empty() || message.tool_calls.is_empty() {
        turn(from, words);
    }
    for call in &message.tool_calls {
        let arguments = serde_json::from_str(call.arguments()).unwrap_or_else(|_| call.arguments().into());
        let fields = [("name".to_owned(), call.name().into()), ("arguments".to_owned(), arguments)];
        turn("function_call", own_text(&Value::Object(Map::from_iter(fields))));
    }
    turns
}

/// What a message says in words; a part that is no text is named.
fn words(message: &Message) -> String {
    match &message.content {
        Content::Parts(parts) => {
            let part = |part: &threadkeep_core::Part| {
                part.as_text().map_or_else(|| ["[", part.kind(), "]"].concat(), str::to_owned)
            };
            parts.iter().map(part).collect::<Vec<_>>().join("\n")
        }
        content => content.text().into_owned(),
    }
}
