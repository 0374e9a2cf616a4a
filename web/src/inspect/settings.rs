//! What the reader has set in the inspector: the settings of the whole keep, but for how tokens are counted, which each browser keeps
//! beside the database.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use threadkeep::protocol::{BadRequest, ContextParams, ContextSettings, Counting, Wanted};
use threadkeep_context::{Budget, Policy};
use threadkeep_core::MessageId;
use threadkeep_core::read::Off;
use threadkeep_provider::Provider;

/// The name of the page's agent, under which it has its mailbox and its memory.
pub const AGENT: &str = "agent";

/// The providers: the name in options, and in words; in the order of [`Provider::ALL`](threadkeep_provider::Provider::ALL).
pub const PROVIDERS: [(&str, &str); 5] = [
    ("openai-chat", "OpenAI Chat"),
    ("openai-responses", "OpenAI Responses"),
    ("anthropic", "Anthropic"),
    ("gemini", "Gemini"),
    ("ollama", "Ollama"),
];

/// The ways to count: the name in options, and in words.
pub const ENCODINGS: [(&str, &str); 3] =
    [("o200k_base", "o200k_base"), ("cl100k_base", "cl100k_base"), ("estimate", "Estimate, 4 characters each")];

/// A setting of the inspector.
pub struct Setting {
    /// Its name in markup and storage.
    pub name: &'static str,
    /// Its label.
    pub label: &'static str,
    /// How it is set, and what it sets.
    pub control: Control,
}

/// The control of a setting, with what the setting does to the engine's options.
pub enum Control {
    /// A number; nothing for no limit.
    Limit(fn(&mut Budget) -> &mut Option<u64>),
    /// One of a list: the name in storage, and in words. The first is the usual one.
    Choice(&'static [(&'static str, &'static str)], fn(&mut ContextParams, usize)),
    /// On or off.
    Check {
        /// Whether it is usually on.
        usual: bool,
        /// What it does.
        set: fn(&mut ContextParams, bool),
    },
}

/// The settings, in the order in which they are stored: new ones come last. The pane, what is stored and what the worker tells the
/// engine are made from these rows.
pub static SETTINGS: [Setting; 9] = [
    Setting {
        name: "provider",
        label: "Provider",
        control: Control::Choice(&PROVIDERS, |options, at| {
            options.provider = Provider::ALL.get(at).copied();
        }),
    },
    Setting {
        name: "encoding",
        label: "Counted by",
        control: Control::Choice(&ENCODINGS, |options, at| options.encoding = Some(counting(at as u32))),
    },
    Setting {
        name: "policy",
        label: "Policy",
        control: Control::Choice(&[("stable", "stable"), ("newest", "newest")], |options, at| {
            options.policy = Some(if at == 1 { Policy::Newest } else { Policy::Stable });
        }),
    },
    Setting {
        name: "preview",
        label: "Preview large tool results",
        control: Control::Check { usual: true, set: |options, on| options.tool_preview = (!on).then_some(Off::Off) },
    },
    Setting {
        name: "compress",
        label: "Compress code turns",
        control: Control::Check { usual: false, set: |options, on| options.compress_history = Some(on) },
    },
    Setting { name: "tokens", label: "Budget, tokens", control: Control::Limit(|budget| &mut budget.max_tokens) },
    Setting { name: "messages", label: "Limit, messages", control: Control::Limit(|budget| &mut budget.max_messages) },
    Setting { name: "chars", label: "Limit, characters", control: Control::Limit(|budget| &mut budget.max_chars) },
    Setting {
        name: "memories",
        label: "Memory",
        control: Control::Check {
            usual: true,
            set: |options, on| {
                let own = || Wanted { agent: Some(AGENT.to_owned()), ..Wanted::default() };
                options.memory = Some(if on { Off::On(own()) } else { Off::Off });
            },
        },
    },
];

/// The way to count at this place of [`ENCODINGS`].
pub fn counting(at: u32) -> Counting {
    ENCODINGS.get(at as usize).and_then(|(name, _)| Counting::from_name(name)).unwrap_or_default()
}

/// What the reader has set: a value for each of [`SETTINGS`]. A limit is itself, a choice its place in the list, a check 1 or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings([Option<u64>; SETTINGS.len()]);

impl Default for Settings {
    fn default() -> Self {
        Self(std::array::from_fn(|at| SETTINGS[at].control.usual()))
    }
}

/// A limit as it is typed: a whole number, or nothing for none. Signs between the digits are passed over.
pub fn read_limit(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    // More than a browser's whole numbers hold is as good as none.
    digits.parse().ok().filter(|number| *number < 1 << 53)
}

impl Control {
    fn usual(&self) -> Option<u64> {
        match self {
            Self::Limit(_) => None,
            Self::Choice(..) => Some(0),
            Self::Check { usual, .. } => Some((*usual).into()),
        }
    }

    fn set(&self, options: &mut ContextParams, value: Option<u64>) {
        match self {
            Self::Limit(limit) => *limit(options.budget.get_or_insert_default()) = value,
            Self::Choice(_, set) => set(options, value.unwrap_or_default() as usize),
            Self::Check { set, .. } => set(options, value == Some(1)),
        }
    }
}

impl Setting {
    /// Whether its value is a limit.
    pub fn is_limit(&self) -> bool {
        matches!(self.control, Control::Limit(_))
    }

    fn read(&self, word: &str) -> Option<u64> {
        match self.control {
            Control::Limit(_) => read_limit(word),
            Control::Choice(list, _) => list.iter().position(|(name, _)| *name == word).map(|at| at as u64).or(Some(0)),
            Control::Check { .. } => Some((word == self.name).into()),
        }
    }
}

impl Settings {
    fn at(name: &str) -> Option<usize> {
        SETTINGS.iter().position(|setting| setting.name == name)
    }

    /// The value of the setting of that name; none for a limit that is not set.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0[Self::at(name)?]
    }

    /// The same with another value; as it is if no setting has that name.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<u64>) -> Self {
        if let Some(at) = Self::at(name) {
            self.0[at] = value;
        }
        self
    }

    /// The place in [`PROVIDERS`].
    pub fn provider(&self) -> u32 {
        self.get("provider").unwrap_or_default() as u32
    }

    /// The place in [`ENCODINGS`].
    pub fn encoding(&self) -> u32 {
        self.get("encoding").unwrap_or_default() as u32
    }

    /// Whether the policy is `stable`; else it is `newest`.
    pub fn stable(&self) -> bool {
        self.get("policy") == Some(0)
    }

    /// The most tokens; none for no limit.
    pub fn tokens(&self) -> Option<u64> {
        self.get("tokens")
    }

    /// Whether prompts quote what is remembered.
    pub fn memory(&self) -> bool {
        self.get("memories") == Some(1)
    }

    /// The engine's options for what is set.
    pub fn options(&self) -> ContextParams {
        let mut options = ContextParams::default();
        for (setting, value) in SETTINGS.iter().zip(self.0) {
            setting.control.set(&mut options, value);
        }
        options
    }

    /// What the settings of a keep say, as far as the inspector shows it.
    pub fn of(stored: &ContextSettings) -> Self {
        let ContextParams { provider, policy, tool_preview, compress_history, memory, budget, .. } = &stored.context;
        let at = |provider: &Provider| Provider::ALL.iter().position(|one| one == provider);
        let budget = budget.unwrap_or_default();
        let check = |on: bool| Some(on.into());
        let choice = |at: usize| Some(at as u64);
        Self::default()
            .with("provider", choice(provider.as_ref().and_then(at).unwrap_or_default()))
            .with("policy", choice(usize::from(*policy == Some(Policy::Newest))))
            .with("preview", check(*tool_preview != Some(Off::Off)))
            .with("compress", check(*compress_history == Some(true)))
            .with("memories", check(*memory != Some(Off::Off)))
            .with("tokens", budget.max_tokens)
            .with("messages", budget.max_messages)
            .with("chars", budget.max_chars)
    }

    /// The settings of a keep with what is set here, over what was stored `before`. What the inspector does not show stays.
    ///
    /// # Errors
    /// None: each of them is an option of the engine.
    pub fn stored(&self, before: &ContextSettings) -> Result<ContextSettings, BadRequest> {
        let mut all = match before.to_json() {
            Value::Object(all) => all,
            other => return ContextSettings::from_json(other),
        };
        let mut say = |name: &str, value: Value| {
            all.insert(name.to_owned(), value);
        };
        say("provider", PROVIDERS.get(self.provider() as usize).map_or("", |(name, _)| *name).into());
        say("policy", if self.stable() { "stable" } else { "newest" }.into());
        say("toolPreview", if self.get("preview") == Some(1) { Value::Null } else { false.into() });
        say("compressHistory", (self.get("compress") == Some(1)).into());
        if !self.memory() {
            say("memory", false.into());
        } else if all.get("memory") == Some(&false.into()) {
            all.shift_remove("memory");
        }
        let budget = all.entry("budget").or_insert_with(|| Map::new().into());
        for (name, limit) in [("tokens", "maxTokens"), ("messages", "maxMessages"), ("chars", "maxChars")] {
            budget[limit] = self.get(name).into();
        }
        ContextSettings::from_json(all.into())
    }

    /// Reads a short text, `openai-chat o200k_base newest preview - 8000 - - memories`, as browsers kept it before keeps had settings.
    /// Whatever is not understood is as at the beginning.
    pub fn read(text: &str) -> Self {
        let mut read = Self::default();
        // Text of an older version has fewer words.
        let words = text.split(' ').filter(|word| !word.is_empty());
        for ((setting, value), word) in SETTINGS.iter().zip(&mut read.0).zip(words) {
            *value = setting.read(word);
        }
        read
    }
}

/// Reads pins as browsers kept them before they were in the log: an id a line, as a JSON string. Lines that are no ids are passed over.
pub fn read_pins(text: &str) -> Vec<MessageId> {
    let read = |line: &str| match serde_json::from_str(line) {
        Ok(serde_json::Value::String(id)) => MessageId::new(id).ok(),
        _ => None,
    };
    text.lines().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(json: &str) -> ContextSettings {
        ContextSettings::read(json).unwrap()
    }

    #[test]
    fn every_setting_changes_the_engines_options_and_is_stored() {
        let usual = Settings::default();
        for setting in &SETTINGS {
            let other = match setting.control {
                Control::Limit(_) => Some(7),
                Control::Choice(..) => Some(1),
                Control::Check { usual, .. } => Some((!usual).into()),
            };
            let changed = usual.with(setting.name, other);
            assert_ne!(changed.options(), usual.options(), "{}", setting.name);
            let stored = changed.stored(&ContextSettings::default()).unwrap();
            let expected = if setting.name == "encoding" { usual } else { changed };
            assert_eq!(Settings::of(&stored), expected, "{}", setting.name);
        }
    }

    #[test]
    fn what_is_stored_is_what_is_shown_and_the_rest_stays() {
        let before =
            kept(r#"{"systemPrompt": "s", "budget": {"maxTokens": 9, "maxOutputTokens": 5}, "memory": false}"#);
        let set = Settings::of(&before).with("tokens", Some(8000)).with("memories", Some(1)).with("chars", Some(0));
        let stored = set.stored(&before).unwrap();
        let budget =
            Budget { max_tokens: Some(8000), max_chars: Some(0), max_output_tokens: Some(5), ..Budget::default() };
        assert_eq!(stored.context.budget, Some(budget));
        assert_eq!((stored.context.system_prompt.as_deref(), &stored.context.memory), (Some("s"), &None));
        assert_eq!(Settings::of(&stored), set);
    }

    #[test]
    fn a_keep_without_settings_shows_what_its_agent_does() {
        let usual = Settings::of(&ContextSettings::default());
        assert_eq!(usual, Settings::default());
        assert!(usual.stable() && usual.memory() && usual.tokens().is_none());
    }

    #[test]
    fn the_text_of_an_older_version_is_read() {
        let set = Settings::read("anthropic cl100k_base stable - compress 8000 0 - -");
        let all =
            [("provider", 2), ("encoding", 1), ("preview", 0), ("compress", 1), ("tokens", 8000), ("messages", 0)];
        let all = all.into_iter().fold(Settings::default(), |set, (name, value)| set.with(name, Some(value)));
        assert_eq!(set, all.with("memories", Some(0)));
        assert!(!Settings::read("gemini estimate newest").stable());
        assert_eq!(Settings::read("x y z a b c d e").tokens(), None);
        // What was stored before there was memory has it on.
        assert!(Settings::read("anthropic estimate stable - compress 8000 0 9").memory());
    }

    #[test]
    fn names_are_the_engines() {
        for (provider, (name, _)) in threadkeep_provider::Provider::ALL.iter().zip(PROVIDERS) {
            assert_eq!(provider.name(), name);
        }
    }

    #[test]
    fn limits_as_people_type_them() {
        assert_eq!(read_limit("12,000"), Some(12_000));
        assert_eq!(read_limit("0"), Some(0));
        assert_eq!(read_limit(""), None);
        assert_eq!(read_limit("99999999999999999999999"), None);
    }

    #[test]
    fn pins_of_an_older_version_are_read() {
        let pins = ["a", "two\nlines", "\"quoted\""].map(|id| MessageId::new(id).unwrap());
        let text = pins.iter().map(|pin| Value::from(pin.as_str()).to_string()).collect::<Vec<_>>().join("\n");
        assert_eq!(read_pins(&text), pins);
        assert_eq!(read_pins("nonsense\n\"b\"").len(), 1);
    }
}
