//! A checkpoint: what stands in for everything up to a node, for every chain on which that node is. It is an entry of the log
//! like any other, so it is durable and atomic with what comes with it, and goes with its transcript.

use serde::{Deserialize, Serialize};

use crate::text::lines;
use crate::{Kind, Message, MessageId};

/// A message that something came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "MemorySource"))]
pub struct Source {
    /// Its node.
    pub node: MessageId,
    /// Its place in the node, from 0.
    #[serde(default)]
    pub index: u32,
}

/// One thing that a summary says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "SummaryStatement"))]
pub struct Statement {
    /// What it says: one sentence or line.
    pub text: String,
    /// The messages that it came from.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// How often it was summarised: 0 for what was said of messages, one more for what was said of statements.
    #[serde(default)]
    pub level: u8,
}

/// How the old part of a history is compacted; the originals stay with each. `summarize`: one summary stands in for all of it.
/// `sliding-window`: it leaves the prompt. `hierarchical`: statements in levels, the older ones summarised again as they age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "CompactionStrategy"))]
pub enum Strategy {
    /// What is old leaves the prompt, and nothing stands in for it but what a checkpoint before said. No summariser is asked.
    SlidingWindow,
    /// One summary stands in for all of it; the summary before is summarised along.
    #[default]
    Summarize,
    /// Statements in levels: what a summary said before stays word for word until its level outgrows its share; then the older
    /// statements of that level are summarised in turn, and become statements of the next.
    Hierarchical,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 3] = [Self::SlidingWindow, Self::Summarize, Self::Hierarchical];

    /// All their names, as a sentence has them.
    pub const NAMES: &str = "sliding-window, summarize or hierarchical";

    /// Its name in options: `sliding-window`, `summarize` or `hierarchical`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlidingWindow => "sliding-window",
            Self::Summarize => "summarize",
            Self::Hierarchical => "hierarchical",
        }
    }

    /// The strategy of that [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name)
    }
}

crate::read_by_name!(Strategy, Strategy::from_name, Strategy::NAMES);

/// What a checkpoint covers: the chain from its root to the anchor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Covers {
    /// The first node that it covers.
    pub from: MessageId,
    /// How many nodes, from the root to the anchor.
    pub nodes: u32,
    /// How many messages they hold, instructions and pinned ones included: prompts go on with the message of this place.
    pub messages: u32,
    /// The first turn in it; zero where it has none.
    #[serde(default)]
    pub first_turn: u32,
    /// The last.
    #[serde(default)]
    pub last_turn: u32,
}

/// By which figures a window was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Chosen {
    /// How many turns were to stay raw.
    pub tail_turns: u32,
    /// How many messages were to stay raw, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_recent: Option<u32>,
    /// How many tokens the history was to have at most, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_tokens: Option<u64>,
}

/// What a compaction took: how often the summariser was asked, with how many tokens, and how many came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "CompactionCost"))]
pub struct Spent {
    /// How often the summariser was asked.
    pub calls: u32,
    /// The tokens of what it was given.
    pub input_tokens: u64,
    /// The tokens of what came back.
    pub output_tokens: u64,
}

impl Spent {
    /// Adds what more was taken.
    pub fn add(&mut self, more: Self) {
        self.calls += more.calls;
        self.input_tokens += more.input_tokens;
        self.output_tokens += more.output_tokens;
    }
}

/// What stands in for everything up to a node, for every chain on which that node is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Checkpoint {
    /// Its id: `cp_` and 16 hex digits.
    pub id: String,
    /// The last node that it covers.
    pub anchor: MessageId,
    /// What it covers.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub covers: Covers,
    /// What it says, in order; empty where nothing stands in for the messages.
    #[serde(default)]
    pub statements: Vec<Statement>,
    /// The episodes that were stored with it.
    #[serde(default)]
    pub episodes: Vec<String>,
    /// The facts that were stored with it.
    #[serde(default)]
    pub facts: Vec<String>,
    /// How it was made.
    pub strategy: Strategy,
    /// Who made it: `extractive` (built in), a model's name, or `sliding-window`.
    #[serde(default)]
    pub summariser: String,
    /// By which figures it was chosen.
    #[cfg_attr(feature = "ts", ts(inline))]
    #[serde(default)]
    pub policy: Chosen,
    /// What stood there before, in tokens: the summary before this one, and the messages that are newly covered.
    #[serde(default)]
    pub tokens_before: u64,
    /// What stands there now.
    #[serde(default)]
    pub tokens_after: u64,
    /// When it was made, in milliseconds since 1970 (UTC).
    #[serde(default)]
    pub created_at: i64,
    /// The checkpoint whose content it carries on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The tool results whose content left prompts, in sessions that came in from programs that do this between two compactions. Such a
    /// checkpoint covers what the one before it covers, with the same statements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub cleared: Vec<Source>,
    /// What it took to make it; left out where nobody noted it: for an archive's, and those made before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Spent>,
    /// What `Compaction.warnings` said, without the queries of addresses; left out where it said nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub warnings: Vec<String>,
}

impl Checkpoint {
    /// How many nodes of a chain it covers on which its anchor is at `place`.
    pub fn end(&self, place: usize) -> usize {
        if self.cleared.is_empty() { place + 1 } else { (self.covers.nodes as usize).min(place + 1) }
    }

    /// The message that stands in prompts for what it covers; `None` where there is nothing to say.
    ///
    /// Its role is `user`: every provider takes it everywhere, it survives a frame that replaces instructions, and words that
    /// came from tools and strangers gain no authority by being summarised. Its kind is a summary, so that it is
    /// neither taken for the user's newest message nor for the beginning of a turn.
    ///
    /// ```
    /// use threadkeep_core::checkpoint::summary_message;
    /// # use threadkeep_core::checkpoint::{Covers, Statement};
    /// # use threadkeep_core::MessageId;
    /// # let covers = Covers { from: MessageId::new("a")?, nodes: 2, messages: 2, first_turn: 1, last_turn: 1 };
    /// let said = [Statement { text: "The parser was written.".to_owned(), sources: vec![], level: 0 }];
    /// let message = summary_message(&said, &covers, &MessageId::new("b")?).unwrap();
    /// assert!(message.text().ends_with("\n- The parser was written."));
    /// # Ok::<(), threadkeep_core::IdError>(())
    /// ```
    pub fn message(&self) -> Option<Message> {
        summary_message(&self.statements, &self.covers, &self.anchor)
    }

    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        let statement = |statement: &Statement| 64 + statement.text.len() + 96 * statement.sources.len();
        let warnings = self.warnings.iter().map(|warning| 24 + warning.len()).sum::<usize>();
        512 + 96 * self.cleared.len() + warnings + self.statements.iter().map(statement).sum::<usize>()
    }
}

/// The message that [`Checkpoint::message`] gives.
pub fn summary_message(statements: &[Statement], covers: &Covers, anchor: &MessageId) -> Option<Message> {
    if statements.is_empty() {
        return None;
    }
    let (messages, first, last) =
        (covers.messages.to_string(), covers.first_turn.to_string(), covers.last_turn.to_string());
    let mut text = ["Previous conversation summary (", &messages, " messages"].concat();
    if covers.last_turn > 0 {
        text = [&text, ", turns ", &first, " to ", &last].concat();
    }
    text.push_str("). It stands in for them and is not the user's words:");
    for statement in statements {
        // Wherever a reader could see a line begin, it begins inside the statement.
        for (at, line) in lines(statement.text.trim()).enumerate() {
            text.push_str(if at == 0 { "\n- " } else { "\n  " });
            text.push_str(line);
        }
    }
    let mut message = Message::user(text);
    message.kind = Kind::Summary { from: Some(covers.from.clone()), to: Some(anchor.clone()) };
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_statement_stands_inside_it_once_however_it_ends() {
        let id = MessageId::new("n").unwrap();
        let covers = Covers { from: id.clone(), nodes: 1, messages: 1, first_turn: 0, last_turn: 0 };
        let said = |text: &str| {
            let statement = Statement { text: text.to_owned(), sources: Vec::new(), level: 0 };
            summary_message(&[statement], &covers, &id).unwrap().text().into_owned()
        };
        for end in ["\n", "\r", "\r\n", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"] {
            let text = said(&["One.", end, "Two.", end].concat());
            assert!(text.ends_with(":\n- One.\n  Two."), "{text:?}");
        }
    }
}
