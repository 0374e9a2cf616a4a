//! What can be wrong with a request to render or validate.

use threadkeep_core::MessageError;

/// Why nothing was rendered or validated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// There is no provider of that name.
    #[error("there is no provider {0:?}: openai-chat, openai-responses, anthropic, gemini and ollama are known")]
    UnknownProvider(String),
    /// There is no option of that name.
    #[error("there is no option {0:?}")]
    UnknownOption(String),
    /// An option is not what it must be.
    #[error("{option} must be {expected}")]
    Option {
        /// Its name.
        option: String,
        /// What it must be.
        expected: &'static str,
    },
    /// What should be messages is no list.
    #[error("messages must be a list")]
    NotAList,
    /// A message cannot be read.
    #[error("message {index}: {error}")]
    Message {
        /// Its place in the list, from 0.
        index: usize,
        /// What is wrong with it.
        error: MessageError,
    },
}

impl ProviderError {
    /// The argument that it is about: `provider`, `options`, or `messages`.
    pub const fn argument(&self) -> &'static str {
        match self {
            Self::UnknownProvider(_) => "provider",
            Self::UnknownOption(_) | Self::Option { .. } => "options",
            Self::NotAList | Self::Message { .. } => "messages",
        }
    }
}
