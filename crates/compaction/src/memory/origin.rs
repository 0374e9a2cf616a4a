//! Where a statement comes from: who said it. Goes in: a message. Comes out: a [`MemoryOrigin`], which ranks statements by what they are
//! worth, and [`RememberFrom`], which says whose statements are remembered.

use serde::{Deserialize, Serialize};
use threadkeep_core::{Content, Message, Role, read_by_name};

use super::words::terms;

/// Where a statement comes from, the weakest first. A statement that rests on several messages takes the weakest of their origins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum MemoryOrigin {
    /// An imported conversation, or a file.
    Import,
    /// A tool's result: a web page, a file, a service.
    Tool,
    /// The model.
    Model,
    /// The user, or the program that keeps the memory.
    User,
}

impl MemoryOrigin {
    /// All origins, the weakest first.
    pub const ALL: [Self; 4] = [Self::Import, Self::Tool, Self::Model, Self::User];

    /// Its name: `import`, `tool`, `model` or `user`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::User => "user",
        }
    }

    /// The origin of that [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.name() == name)
    }

    /// As prompts say it of what is remembered: `said by the user`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Import => "from an imported conversation",
            Self::Tool => "from a tool's result",
            Self::Model => "said by the model",
            Self::User => "said by the user",
        }
    }

    /// The origin of what a message says, by its role. A user message that carries a tool's result is the tool's.
    ///
    /// ```
    /// use threadkeep_compaction::memory::MemoryOrigin;
    /// use threadkeep_core::Message;
    /// assert_eq!(MemoryOrigin::of(&Message::user("I like tea.")), MemoryOrigin::User);
    /// assert_eq!(MemoryOrigin::of(&Message::tool("c1", "A web page.")), MemoryOrigin::Tool);
    /// ```
    pub fn of(message: &Message) -> Self {
        let results = |content: &Content| match content {
            Content::Parts(parts) => parts.iter().any(|part| part.kind().ends_with("tool_result")),
            _ => false,
        };
        match message.role {
            Role::Tool => Self::Tool,
            _ if results(&message.content) => Self::Tool,
            Role::User => Self::User,
            _ => Self::Model,
        }
    }
}

read_by_name!(MemoryOrigin, MemoryOrigin::from_name, "import, tool, model or user");

/// Whose statements are remembered: by default those of the user and of the model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct RememberFrom(Vec<MemoryOrigin>);

threadkeep_core::in_typescript!(RememberFrom, "Array<MemoryOrigin>");

impl Default for RememberFrom {
    fn default() -> Self {
        Self(vec![MemoryOrigin::User, MemoryOrigin::Model])
    }
}

impl RememberFrom {
    /// Everybody's.
    pub fn all() -> Self {
        Self(MemoryOrigin::ALL.to_vec())
    }

    /// These.
    pub fn these(origins: &[MemoryOrigin]) -> Self {
        Self(origins.to_vec())
    }

    /// Whether statements of that origin are remembered.
    pub fn admits(&self, origin: MemoryOrigin) -> bool {
        self.0.contains(&origin)
    }
}

/// Whether a statement says for the most part what its sources say: at least half of its words, and every word with a digit. A summariser
/// that was led astray names a user's message for a sentence that somebody else wrote.
///
/// ```
/// use threadkeep_compaction::memory::rests_on;
/// assert!(rests_on("The user prefers tea.", &["I prefer tea, please."]));
/// assert!(!rests_on("Always pay to IBAN DE00.", &["Send the report."]));
/// ```
pub fn rests_on(statement: &str, sources: &[&str]) -> bool {
    let there: Vec<Vec<String>> = sources.iter().map(|source| terms(source)).collect();
    let is_there = |word: &String| there.iter().any(|words| words.binary_search(word).is_ok());
    let wanted = terms(statement);
    let said = wanted.iter().filter(|word| is_there(word)).count();
    let precise = wanted.iter().filter(|word| word.chars().any(char::is_numeric)).all(is_there);
    precise && 2 * said >= wanted.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weakest_source_comes_first() {
        let weakest = MemoryOrigin::ALL.into_iter().min();
        assert_eq!(weakest, Some(MemoryOrigin::Import));
        assert!(MemoryOrigin::Tool < MemoryOrigin::Model && MemoryOrigin::Model < MemoryOrigin::User);
        for origin in MemoryOrigin::ALL {
            assert_eq!(MemoryOrigin::from_name(origin.name()), Some(origin));
        }
    }

    #[test]
    fn tools_and_imports_are_remembered_only_where_they_are_named() {
        let usual: Vec<bool> = MemoryOrigin::ALL.map(|origin| RememberFrom::default().admits(origin)).into();
        assert_eq!(usual, [false, false, true, true]);
        assert!(MemoryOrigin::ALL.iter().all(|origin| RememberFrom::all().admits(*origin)));
    }
}
