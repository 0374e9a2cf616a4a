//! Providers: the wire forms that model endpoints speak.
//!
//! [`render`] makes a request's body of messages; [`validate_payload`] and [`validate_messages`] say what a provider would
//! refuse. They know nothing of each other, so that one can catch the other. Goes in: messages, or any JSON. Comes out: JSON, and
//! notes or findings. Left to others: which messages are sent (`threadkeep-context`), counting, and sending. Which
//! fields of [`Message::extra`](threadkeep_core::Message::extra) reach a provider is said in [`items`], and only there. [`Connection`] and
//! [`request()`] say where a payload is sent and how, and a [`Reader`] reads what comes back; the sending is others'.

mod cache;
mod completion;
mod error;
mod http;
mod ids;
mod interrupted;
pub mod items;
mod json;
mod limits;
mod note;
mod options;
mod part;
mod plain;
mod plan;
mod price;
mod render;
mod stream;
mod tools;
mod validate;

pub use cache::CacheRule;
pub use completion::{Completion, Delta, Finish, Usage};
pub use error::ProviderError;
pub use http::{
    Backoff, Connection, Dialect, Fault, HttpRequest, Key, Listed, PRESETS, Preset, http_date, models_request,
    read_models, request,
};
pub use interrupted::{INTERRUPTED, Partial, interruption, partial};
pub use limits::AnswerLimits;
pub use note::{Note, NoteRule};
pub use options::{RenderOptions, ToolSchema};
pub use plain::{RenderNote, RenderReply, Validation, render_json, validate_json};
pub use plan::is_blank;
pub use price::{PRICES_OF, Price};
pub use render::{CLOSING, OPENING, Rendered, render};
pub use stream::{Frame, Frames, Piece, Reader, ReaderOptions, Spoken, lift};
pub use validate::{Finding, validate_messages, validate_payload};

/// Whose wire form a payload has. `openai-chat` is OpenAI Chat Completions and everything that is compatible with it, `openai-responses`
/// OpenAI Responses, `anthropic` Anthropic Messages, `gemini` Google's `generateContent`, `ollama` its `/api/chat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Provider {
    /// OpenAI Chat Completions, and everything that is compatible with it.
    #[default]
    #[cfg_attr(feature = "ts", ts(rename = "openai-chat"))]
    OpenAiChat,
    /// OpenAI Responses.
    #[cfg_attr(feature = "ts", ts(rename = "openai-responses"))]
    OpenAiResponses,
    /// Anthropic Messages.
    #[cfg_attr(feature = "ts", ts(rename = "anthropic"))]
    Anthropic,
    /// Google Gemini `generateContent`.
    #[cfg_attr(feature = "ts", ts(rename = "gemini"))]
    Gemini,
    /// Ollama `/api/chat`.
    #[cfg_attr(feature = "ts", ts(rename = "ollama"))]
    Ollama,
}

impl Provider {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// Its name in options and on the page: `openai-chat`, `openai-responses`, `anthropic`, `gemini` or `ollama`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The provider of that [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }
}

threadkeep_core::read_by_name!(
    Provider,
    Provider::from_name,
    "openai-chat, openai-responses, anthropic, gemini or ollama"
);
threadkeep_core::write_by_name!(Provider);
