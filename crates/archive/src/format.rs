//! The kinds of archive, and how one is told from another: by the keys of its first object, never by its file's name.

use super::raw::Fields;

/// What the file of a format is, which decides the sentence that names it in [`Format::readable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// A program's export of conversations.
    Export,
    /// An agent's session.
    Session,
    /// A data set.
    Data,
    /// Our own.
    Own,
}

macro_rules! formats {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $label:literal, $title:literal, $group:ident;)+) => {
        /// A kind of archive.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Format { $($(#[doc = $doc])+ $variant,)+ }

        impl Format {
            /// All formats.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$variant),+].into_iter()
            }

            /// The stable name, such as `claude-ai`. The sources of transcripts have these names.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What people call the program, such as `Claude`.
            pub fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)+ }
            }

            /// What a file of it is, such as `a Claude.ai export`.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            fn group(self) -> Group {
                match self { $(Self::$variant => Group::$group,)+ }
            }
        }
    };
}

// The one table of formats: name, label, title and group. The page, the TypeScript types, the docs and the tests are made from it.
formats! {
    /// ChatGPT's data export.
    ChatGpt = "chatgpt", "ChatGPT", "a ChatGPT export", Export;
    /// Claude.ai's data export.
    ClaudeAi = "claude-ai", "Claude", "a Claude.ai export", Export;
    /// Claude Code's session files.
    ClaudeCode = "claude-code", "Claude Code", "a Claude Code session", Session;
    /// OpenAI chat messages: `{"messages":[…]}` a line, or JSON arrays of messages.
    OpenAiMessages = "openai-messages", "OpenAI messages", "OpenAI chat messages", Data;
    /// Our own.
    Threadkeep = "threadkeep", "Threadkeep", "a Threadkeep archive", Own;
    /// Codex rollouts.
    Codex = "codex", "Codex", "a Codex rollout", Session;
    /// Gemini in Google Takeout's activity log.
    GeminiActivity = "gemini-takeout", "Gemini", "a Gemini activity log from Google Takeout", Export;
    /// Google AI Studio prompts.
    AiStudio = "ai-studio", "AI Studio", "a Google AI Studio prompt", Export;
    /// Gemini CLI sessions.
    GeminiCli = "gemini-cli", "Gemini CLI", "a Gemini CLI session", Session;
    /// LibreChat's export.
    LibreChat = "librechat", "LibreChat", "a LibreChat export", Export;
    /// Open WebUI's export.
    OpenWebUi = "open-webui", "Open WebUI", "an Open WebUI export", Export;
    /// SillyTavern chats.
    SillyTavern = "sillytavern", "SillyTavern", "a SillyTavern chat", Export;
    /// pi's session files.
    Pi = "pi", "pi", "a pi session", Session;
    /// ShareGPT data sets.
    ShareGpt = "sharegpt", "ShareGPT", "ShareGPT data", Data;
    /// Open Assistant message trees.
    Oasst = "oasst", "Open Assistant", "Open Assistant message trees", Data;
    /// Chatbot UI's history export.
    ChatbotUi = "chatbot-ui", "Chatbot UI", "a Chatbot UI export", Export;
    /// The files of an agent's memory: raw traces, episodes, facts, working context.
    Memory = "memory", "Agent memory", "an agent's memory as JSON Lines", Own;
}

impl Format {
    /// The format of a stable name.
    ///
    /// ```
    /// use threadkeep_archive::Format;
    /// assert_eq!(Format::from_name("chatgpt"), Some(Format::ChatGpt));
    /// assert_eq!(Format::from_name("fax"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|format| format.name() == name)
    }

    /// What can be imported, in sentences for people who import.
    ///
    /// ```
    /// use threadkeep_archive::Format;
    /// assert!(Format::readable().starts_with("Threadkeep reads exports of ChatGPT, Claude, "));
    /// ```
    pub fn readable() -> String {
        let named = |group: Group| {
            let names: Vec<&str> = Self::all().filter(|format| format.group() == group).map(Self::label).collect();
            match names.split_last() {
                Some((last, [])) => (*last).to_owned(),
                Some((last, rest)) => [&rest.join(", "), " and ", last].concat(),
                None => String::new(),
            }
        };
        [
            "Threadkeep reads exports of ",
            &named(Group::Export),
            ". It reads sessions of ",
            &named(Group::Session),
            ". It also reads data as ",
            &named(Group::Data),
            ", and its own files.",
        ]
        .concat()
    }
}

#[cfg(feature = "ts")]
impl ts_rs::TS for Format {
    type WithoutGenerics = Self;
    type OptionInnerType = Self;

    fn docs() -> Option<String> {
        Some("A format that can be imported. Without one it is found from the content.".to_owned())
    }

    fn name(_: &ts_rs::Config) -> String {
        "ImportFormat".to_owned()
    }

    fn inline(_: &ts_rs::Config) -> String {
        let mut names: Vec<_> = Self::all().map(|format| format!("{:?}", format.name())).collect();
        names.sort_unstable();
        names.join(" | ")
    }
}

/// What a JSON object turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A conversation of this format, or a line of one.
    Of(Format),
    /// One chat message: the array or file of them is the conversation.
    Message,
    /// A member of an export that holds no conversation; what it is, in words.
    Other(&'static str),
    /// ChatGPT's list of the files of an export.
    Manifest,
    /// Not known.
    Unknown,
}

/// Tells an object by its keys. What other formats share comes last.
pub(super) fn detect(fields: &Fields) -> Kind {
    let has = |name: &str| fields.has(name);
    let all = |names: &[&str]| names.iter().all(|name| fields.has(name));
    if has("threadkeep") || super::own::is_line(fields) {
        return Kind::Of(Format::Threadkeep);
    }
    if has("logical_files") || all(&["export_files", "version"]) {
        return Kind::Manifest;
    }
    if super::agent::is_line(fields) {
        return Kind::Of(Format::Memory);
    }
    if let Some(other) = not_a_conversation(fields) {
        return Kind::Other(other);
    }
    if has("mapping") {
        return Kind::Of(Format::ChatGpt);
    }
    if has("chat_messages") || (all(&["uuid", "messages"]) && !has("chats")) {
        return Kind::Of(Format::ClaudeAi);
    }
    if is_codex(fields) {
        return Kind::Of(Format::Codex);
    }
    if all(&["sessionId", "projectHash"]) {
        return Kind::Of(Format::GeminiCli);
    }
    if is_claude_code(fields) {
        return Kind::Of(Format::ClaudeCode);
    }
    if fields.string("type").as_deref() == Some("session")
        && ["cwd", "version", "timestamp"].iter().any(|name| has(name))
    {
        return Kind::Of(Format::Pi);
    }
    if all(&["sessionId", "messages"]) {
        return Kind::Of(Format::GeminiCli);
    }
    if has("chunkedPrompt") {
        return Kind::Of(Format::AiStudio);
    }
    if all(&["conversationId", "messages"]) {
        return Kind::Of(Format::LibreChat);
    }
    if all(&["header", "time"]) && (has("title") || has("products")) {
        if !super::reader::gemini::activity::is_gemini(fields) {
            return Kind::Other("the activity log of another Google product");
        }
        return Kind::Of(Format::GeminiActivity);
    }
    if all(&["history", "folders"]) && has("version") {
        return Kind::Of(Format::ChatbotUi);
    }
    let holds_chat = |chat: Fields| chat.has("history") || chat.has("messages");
    if fields.object("chat").is_some_and(holds_chat) || fields.object("history").is_some_and(|h| h.has("messages")) {
        return Kind::Of(Format::OpenWebUi);
    }
    if has("user_name") && has("character_name") || all(&["is_user", "mes"]) {
        return Kind::Of(Format::SillyTavern);
    }
    if all(&["message_tree_id", "prompt"]) {
        return Kind::Of(Format::Oasst);
    }
    if fields.first_of("conversations").is_some_and(|turn| turn.has("from") || turn.has("value")) {
        return Kind::Of(Format::ShareGpt);
    }
    if messages_field(fields).is_some() {
        return Kind::Of(Format::OpenAiMessages);
    }
    if has("role") && ["content", "tool_calls", "function_call"].iter().any(|name| has(name)) {
        return Kind::Message;
    }
    // Damaged entries, which lack what is most telling: good enough to say whose they are.
    if has("create_time") && (has("conversation_id") || has("current_node")) {
        return Kind::Of(Format::ChatGpt);
    }
    if all(&["uuid", "name"]) && (has("account") || has("summary")) {
        return Kind::Of(Format::ClaudeAi);
    }
    Kind::Unknown
}

/// The field of an object that holds OpenAI chat messages.
pub(super) fn messages_field(fields: &Fields) -> Option<&'static str> {
    let holds = |name: &&&str| {
        let empty = **name == "messages" && fields.array("messages").is_some_and(|messages| messages.is_empty());
        empty || fields.first_of(name).is_some_and(|message| message.has("role"))
    };
    ["messages", "traj", "history", "trajectory", "conversation"].iter().find(holds).copied()
}

fn is_codex(fields: &Fields) -> bool {
    let all = |names: &[&str]| names.iter().all(|name| fields.has(name));
    // The older form begins with a line about the session that has no type.
    let older = all(&["id", "timestamp", "instructions"]) && !fields.has("type") && !fields.has("messages");
    all(&["type", "payload"]) || fields.has("record_type") || older
}

fn is_claude_code(fields: &Fields) -> bool {
    let has = |name: &str| fields.has(name);
    if !has("type") || has("messages") {
        return false;
    }
    if has("parentUuid") || (has("uuid") && has("sessionId")) || has("leafUuid") {
        return true;
    }
    let kind = fields.string("type").unwrap_or_default();
    match kind.as_str() {
        "file-history-snapshot" => has("snapshot"),
        "summary" => has("summary"),
        _ => has("sessionId"),
    }
}

/// The members of exports that hold no conversations.
fn not_a_conversation(fields: &Fields) -> Option<&'static str> {
    let has = |name: &str| fields.has(name);
    let all = |names: &[&str]| names.iter().all(|name| fields.has(name));
    if has("is_anonymous") && has("conversation_id") {
        return Some("a list of shared links");
    }
    if fields.0.len() == 1 && fields.array("chats").is_some_and(|chats| chats.is_empty()) {
        return Some("an empty list of chats");
    }
    if has("rating") && (has("conversation_id") || has("evaluation_name")) {
        return Some("feedback on answers");
    }
    if has("chatgpt_plus_user") || all(&["email", "phone_number"]) || all(&["full_name", "email_address"]) {
        return Some("account data");
    }
    if has("conversations_memory") || has("memory_files") || has("project_memories") {
        return Some("memories, not conversations");
    }
    if has("docs") && all(&["uuid", "name"]) || all(&["uuid", "is_private"]) || has("prompt_template") {
        return Some("a project's description and files");
    }
    if all(&["uuid", "description"]) && has("name") && !has("chat_messages") {
        return Some("a project's description");
    }
    if all(&["uuid", "title", "content"]) && !has("chat_messages") && !has("messages") {
        return Some("memories, not conversations");
    }
    if !fields.0.is_empty() && fields.0.iter().all(|(key, value)| key.ends_with(".dat") && value.get().starts_with('"'))
    {
        return Some("the names of attached files");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_are_all_different() {
        for format in Format::all() {
            let same =
                |text: fn(Format) -> &'static str| Format::all().filter(|other| text(*other) == text(format)).count();
            assert_eq!((same(Format::name), same(Format::label), same(Format::title)), (1, 1, 1), "{format:?}");
            assert_eq!(Format::from_name(format.name()), Some(format));
        }
    }

    #[test]
    fn every_format_is_named_to_people_who_import() {
        let said = Format::readable();
        for format in Format::all().filter(|format| format.group() != Group::Own) {
            assert!(said.contains(format.label()), "{format:?}: {said}");
        }
        assert!(said.contains("AI Studio, LibreChat"), "{said}");
        assert!(said.contains("sessions of Claude Code, Codex, Gemini CLI and pi."), "{said}");
    }

    #[test]
    fn objects_are_told_by_their_keys() {
        for (text, kind) in [
            (r#"{"title":"t","mapping":{}}"#, Kind::Of(Format::ChatGpt)),
            (r#"{"title":"t","create_time":1,"conversation_id":"c","id":"c"}"#, Kind::Of(Format::ChatGpt)),
            (r#"{"uuid":"u","chat_messages":[]}"#, Kind::Of(Format::ClaudeAi)),
            (r#"{"uuid":"u","name":"n","account":{}}"#, Kind::Of(Format::ClaudeAi)),
            (r#"{"uuid":"u","title":"n","messages":[{"role":"user","content":{}}]}"#, Kind::Of(Format::ClaudeAi)),
            (r#"{"parentUuid":null,"type":"user","uuid":"x","sessionId":"s"}"#, Kind::Of(Format::ClaudeCode)),
            (r#"{"type":"summary","summary":"s","leafUuid":"l"}"#, Kind::Of(Format::ClaudeCode)),
            (r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#, Kind::Of(Format::ClaudeCode)),
            (r#"{"messages":[{"role":"user","content":"x"}]}"#, Kind::Of(Format::OpenAiMessages)),
            (r#"{"task_id":1,"traj":[{"role":"system","content":"x"}]}"#, Kind::Of(Format::OpenAiMessages)),
            (r#"{"role":"user","content":"x"}"#, Kind::Message),
            (r#"{"threadkeep":1}"#, Kind::Of(Format::Threadkeep)),
            (r#"{"timestamp":"t","type":"session_meta","payload":{}}"#, Kind::Of(Format::Codex)),
            (r#"{"sessionId":"s","projectHash":"h","messages":[]}"#, Kind::Of(Format::GeminiCli)),
            (r#"{"conversationId":"c","messages":[]}"#, Kind::Of(Format::LibreChat)),
            (r#"{"id":"x","chat":{"history":{}}}"#, Kind::Of(Format::OpenWebUi)),
            (r#"{"id":"x","conversations":[{"from":"human","value":"x"}]}"#, Kind::Of(Format::ShareGpt)),
            (r#"{"message_tree_id":"x","prompt":{}}"#, Kind::Of(Format::Oasst)),
            (r#"{"runSettings":{},"chunkedPrompt":{}}"#, Kind::Of(Format::AiStudio)),
            (r#"{"header":"Gemini Apps","title":"x","time":"t"}"#, Kind::Of(Format::GeminiActivity)),
            (r#"{"type":"session","id":"x","cwd":"/"}"#, Kind::Of(Format::Pi)),
            (r#"{"id":"r","ts":1.0,"turn_id":"turn_0001","seq":1,"trace_type":"user"}"#, Kind::Of(Format::Memory)),
            (r#"{"id":"e","ts":1.0,"turn_ids":[],"summary":"s"}"#, Kind::Of(Format::Memory)),
            (r#"{"id":"f","ts":1.0,"fact":"f","confidence":0.5}"#, Kind::Of(Format::Memory)),
            (r#"{"messages":[{"role":"user","content":"x","toolPayload":null}]}"#, Kind::Of(Format::Memory)),
            (r#"{"logical_files":{}}"#, Kind::Manifest),
            (r#"{"file-1.dat":"a.png"}"#, Kind::Other("the names of attached files")),
            (
                r#"{"id":"s","conversation_id":"c","title":"t","is_anonymous":true}"#,
                Kind::Other("a list of shared links"),
            ),
            (r#"{"a":1}"#, Kind::Unknown),
            ("{}", Kind::Unknown),
        ] {
            assert_eq!(detect(&Fields::parse(text).unwrap()), kind, "{text}");
        }
    }
}
