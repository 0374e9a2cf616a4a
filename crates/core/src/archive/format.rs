//! The kinds of archive, and how one is told from another: by the keys of its first object, never by its file's name.

/// A kind of archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// ChatGPT's data export.
    ChatGpt,
    /// Claude.ai's data export.
    ClaudeAi,
    /// Claude Code's session files.
    ClaudeCode,
    /// OpenAI chat messages: `{"messages":[…]}` a line, or JSON arrays of messages.
    OpenAiMessages,
    /// Our own.
    Threadkeep,
    /// Codex rollouts.
    Codex,
    /// Gemini in Google Takeout's activity log.
    GeminiActivity,
    /// Google AI Studio prompts.
    AiStudio,
    /// Gemini CLI sessions.
    GeminiCli,
    /// LibreChat's export.
    LibreChat,
    /// Open WebUI's export.
    OpenWebUi,
    /// SillyTavern chats.
    SillyTavern,
    /// pi's session files.
    Pi,
    /// ShareGPT data sets.
    ShareGpt,
    /// Open Assistant message trees.
    Oasst,
    /// Chatbot UI's history export.
    ChatbotUi,
}

/// Every format with its stable name, what people call it, and whether it can be imported.
const FORMATS: [(Format, &str, &str, bool); 16] = [
    (Format::ChatGpt, "chatgpt", "a ChatGPT export", true),
    (Format::ClaudeAi, "claude-ai", "a Claude.ai export", true),
    (Format::ClaudeCode, "claude-code", "a Claude Code session", true),
    (Format::OpenAiMessages, "openai-messages", "OpenAI chat messages", true),
    (Format::Threadkeep, "threadkeep", "a Threadkeep archive", true),
    (Format::Codex, "codex", "a Codex rollout", false),
    (Format::GeminiActivity, "gemini-takeout", "a Gemini activity log from Google Takeout", false),
    (Format::AiStudio, "ai-studio", "a Google AI Studio prompt", false),
    (Format::GeminiCli, "gemini-cli", "a Gemini CLI session", false),
    (Format::LibreChat, "librechat", "a LibreChat export", false),
    (Format::OpenWebUi, "open-webui", "an Open WebUI export", false),
    (Format::SillyTavern, "sillytavern", "a SillyTavern chat", false),
    (Format::Pi, "pi", "a pi session", false),
    (Format::ShareGpt, "sharegpt", "ShareGPT data", false),
    (Format::Oasst, "oasst", "Open Assistant message trees", false),
    (Format::ChatbotUi, "chatbot-ui", "a Chatbot UI export", false),
];

impl Format {
    fn row(self) -> &'static (Format, &'static str, &'static str, bool) {
        // Every variant has its row: `formats_have_rows` proves it.
        FORMATS.iter().find(|row| row.0 == self).unwrap_or(&FORMATS[0])
    }

    /// The stable name, such as `claude-ai`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// What it is in words, such as `a Claude.ai export`.
    pub fn title(self) -> &'static str {
        self.row().2
    }

    /// Whether this release imports it; the others are recognised, and named in the report.
    pub fn is_importable(self) -> bool {
        self.row().3
    }

    /// The format of a stable name.
    ///
    /// ```
    /// use threadkeep_core::archive::Format;
    /// assert_eq!(Format::from_name("chatgpt"), Some(Format::ChatGpt));
    /// assert_eq!(Format::from_name("fax"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        FORMATS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// All formats, importable ones first.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().map(|row| row.0)
    }
}
