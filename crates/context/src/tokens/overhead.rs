//! What a request costs beside its texts: the marks around messages, calls and results, and images.

use threadkeep_provider::Provider;

/// What a provider adds, in tokens.
///
/// | | message | name | call | result | image | reply | tools |
/// |---|---|---|---|---|---|---|---|
/// | `openai-chat`, `openai-responses` | 4 | 1 | 8 | 4 | 1,105 (85 in low detail) | 3 | 12 |
/// | `anthropic` | 4 | 1 | 12 | 8 | 1,600 | 3 | 346 |
/// | `gemini` | 2 | 0 | 4 | 4 | 1,100 | 0 | 0 |
/// | `ollama` | 5 | 0 | 8 | 4 | 768 | 3 | 0 |
///
/// *From OpenAI's cookbook* ("How to count tokens with tiktoken", for GPT-4o and GPT-4): a message takes 3 tokens and its
/// role, which is one; a name one beside itself; the reply is primed with 3; a list of tools ends in 12. *From the
/// providers' documentation*: images (OpenAI: 85, and 170 for each of six tiles, the most that a photo in high detail takes;
/// Anthropic: pixels / 750, at most about 1,600; Gemini: about 1,100 at its usual resolution), and the system prompt that
/// Anthropic adds where there are tools (346 for the models since Claude 4). *Estimated*, since nobody publishes them: all
/// other figures, from the published chat templates where there are some. [`Calibration`](super::Calibration) makes up
/// for what is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overhead {
    /// The marks around a message, with its role.
    pub message: u32,
    /// A speaker's name, beside its own tokens.
    pub name: u32,
    /// A tool call, beside the tool's name and the arguments.
    pub call: u32,
    /// A tool result, beside its content and the message's marks.
    pub result: u32,
    /// An image whose size is not known.
    pub image: u32,
    /// An image that asks for low detail.
    pub small_image: u32,
    /// What the reply begins with: once a request.
    pub reply: u32,
    /// Having tools at all: once a request.
    pub tools: u32,
}

impl Overhead {
    /// What this provider adds.
    pub const fn of(provider: Provider) -> Self {
        let openai =
            Self { message: 4, name: 1, call: 8, result: 4, image: 1105, small_image: 85, reply: 3, tools: 12 };
        match provider {
            Provider::OpenAiChat | Provider::OpenAiResponses => openai,
            Provider::Anthropic => Self { call: 12, result: 8, image: 1600, small_image: 1600, tools: 346, ..openai },
            Provider::Gemini => {
                Self { message: 2, name: 0, call: 4, result: 4, image: 1100, small_image: 1100, reply: 0, tools: 0 }
            }
            Provider::Ollama => Self { message: 5, name: 0, image: 768, small_image: 768, tools: 0, ..openai },
        }
    }
}
