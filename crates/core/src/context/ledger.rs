//! The ledger: what became of each message on its way into a prompt, and why.

use crate::MessageId;

/// What was done to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// It is in the prompt as it is.
    Kept,
    /// It is in the prompt because it was pinned.
    Pinned,
    /// A code turn that became what it defined and printed.
    Compressed,
    /// A large tool result that became its beginning and the path of the whole.
    Previewed,
    /// A summary stands for it.
    Summarised,
    /// It is not in the prompt.
    Dropped,
    /// It is not in the history: the frame put it there.
    Injected,
    /// It is not in the history, or not like this: the provider's protocol needs it.
    Repaired,
}

impl Action {
    /// Its name in ledgers: `kept`, `pinned`, `compressed`, `previewed`, `summarised`, `dropped`, `injected`, `repaired`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Pinned => "pinned",
            Self::Compressed => "compressed",
            Self::Previewed => "previewed",
            Self::Summarised => "summarised",
            Self::Dropped => "dropped",
            Self::Injected => "injected",
            Self::Repaired => "repaired",
        }
    }
}

/// One line of the ledger. Lines stand in the order of the prompt, dropped messages where they would have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The message's node, where it has one.
    pub node: Option<MessageId>,
    /// The message's place in the history that came in, from 0; what is injected has the place of what it precedes.
    pub index: usize,
    /// What was done.
    pub action: Action,
    /// The rule that decided: a short stable word, such as `newest-user` or `over-max-tokens`.
    pub rule: &'static str,
    /// What the message costs as it is, in tokens; zero for what is not in the history.
    pub tokens_before: u32,
    /// What it costs in the prompt, in tokens; zero for what is dropped. The sum over all lines is the prompt's count.
    pub tokens_after: u32,
}
