//! Notes: what rendering had to change, so that a ledger can say so.

use threadkeep_core::sort;

/// Something in the payload that is not as it was in the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// The message's place in the list that came in, from 0; for what is put at the end, the list's length.
    pub index: usize,
    /// What was done, and why.
    pub rule: NoteRule,
}

/// What rendering did to make a payload that the provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NoteRule {
    /// A call without a result got one that says so.
    UnansweredCall,
    /// A result that answers no call became text of the user's.
    OrphanResult,
    /// A further result of a call that has one was left out.
    RepeatedResult,
    /// A result was moved to its call, over messages between them.
    MovedResult,
    /// A message that says nothing was left out.
    EmptyMessage,
    /// A message of a role that the provider does not know became text of the user's.
    UnknownRole,
    /// Instructions inside the conversation became text of the user's, in `<system>` tags.
    LateSystem,
    /// A mark follows a reply that was interrupted.
    Interrupted,
    /// A user message was put before a conversation that begins with the assistant, or is empty.
    Opening,
    /// A user message was put after a conversation that ends with the assistant.
    Closing,
    /// A call's id is written in another way: the provider does not take it, or it was taken.
    MappedId,
    /// A tool's name is written in another way: the provider does not take it.
    MappedName,
    /// Arguments that are no JSON object were wrapped in one.
    WrappedArguments,
    /// An image that the provider does not take became text.
    Image,
    /// Images of a tool's result follow in a user message.
    MovedImage,
    /// A file or another part that the provider does not take became text.
    Part,
    /// Reasoning was left out: without a signature of the provider's own it takes none.
    Reasoning,
    /// An item that only another provider understands was left out: a server-side tool's call and result, say.
    ForeignItem,
    /// The provider's own items beside the message do not fit what it says, and were left out.
    StaleItems,
    /// The speaker's name was left out: the provider has no place for it.
    Name,
    /// Gemini wants a signature with the call, and there is none: a placeholder stands for it, or it is missing.
    MissingSignature,
    /// Keywords of a tool's schema that the provider does not know were left out.
    ReducedSchema,
    /// A second tool of the same name was left out.
    RepeatedTool,
}

impl NoteRule {
    /// The rule's stable name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnansweredCall => "unanswered-call",
            Self::OrphanResult => "orphan-result",
            Self::RepeatedResult => "repeated-result",
            Self::MovedResult => "moved-result",
            Self::EmptyMessage => "empty-message",
            Self::UnknownRole => "unknown-role",
            Self::LateSystem => "late-system",
            Self::Interrupted => "interrupted",
            Self::Opening => "opening",
            Self::Closing => "closing",
            Self::MappedId => "mapped-id",
            Self::MappedName => "mapped-name",
            Self::WrappedArguments => "wrapped-arguments",
            Self::Image => "image",
            Self::MovedImage => "moved-image",
            Self::Part => "part",
            Self::Reasoning => "reasoning",
            Self::ForeignItem => "foreign-item",
            Self::StaleItems => "stale-items",
            Self::Name => "name",
            Self::MissingSignature => "missing-signature",
            Self::ReducedSchema => "reduced-schema",
            Self::RepeatedTool => "repeated-tool",
        }
    }

    /// What was done, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::UnansweredCall => "a call without a result got one that says that there is none",
            Self::OrphanResult => "a tool result that answers no call is sent as text of the user's",
            Self::RepeatedResult => "a second result of the same call is left out",
            Self::MovedResult => "a tool result is moved to right behind its call",
            Self::EmptyMessage => "a message that says nothing is left out",
            Self::UnknownRole => "a message of a role that the provider does not know is sent as text of the user's",
            Self::LateSystem => "instructions inside the conversation are sent as text of the user's, in <system> tags",
            Self::Interrupted => "a mark follows a reply that was interrupted",
            Self::Opening => "the provider wants the user to begin: a user message is put first",
            Self::Closing => "the provider wants the user to speak last: a user message is put at the end",
            Self::MappedId => "a call's id is written in a form that the provider takes",
            Self::MappedName => "a tool's name is written in a form that the provider takes",
            Self::WrappedArguments => "arguments that are no JSON object are wrapped in one",
            Self::Image => "an image that the provider cannot take is named in text",
            Self::MovedImage => "images of a tool's result follow in a user message",
            Self::Part => "a part that the provider cannot take is named in text",
            Self::Reasoning => "reasoning is left out: the provider takes only what it signed itself",
            Self::ForeignItem => "an item that only another provider understands is left out",
            Self::StaleItems => "the provider's own items do not fit the message and are left out",
            Self::Name => "the speaker's name is left out",
            Self::MissingSignature => "Gemini wants a thought signature with this call, and there is none",
            Self::ReducedSchema => "keywords of a tool's schema that the provider does not know are left out",
            Self::RepeatedTool => "a second tool of the same name is left out",
        }
    }
}

/// Notes as they gather.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<Note>);

impl Notes {
    /// Adds a note.
    pub fn add(&mut self, index: usize, rule: NoteRule) {
        let note = Note { index, rule };
        if self.0.last() != Some(&note) {
            self.0.push(note);
        }
    }

    /// The notes in the order of the messages, each once for a message and rule.
    pub fn sorted(mut self) -> Vec<Note> {
        sort::sort_by_key(&mut self.0, |note| (note.index, note.rule));
        self.0.dedup();
        self.0
    }
}
