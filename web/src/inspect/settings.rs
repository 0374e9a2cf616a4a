//! What the reader has set in the inspector, and how it is kept as a short text beside the database.

use serde::{Deserialize, Serialize};
use threadkeep::protocol::{ContextOptions, Counting, Wanted};
use threadkeep_context::compress::CompressOptions;
use threadkeep_context::{Policy, Previews};
use threadkeep_core::MessageId;
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
    Limit(fn(&mut ContextOptions) -> &mut Option<u64>),
    /// One of a list: the name in storage, and in words. The first is the usual one.
    Choice(&'static [(&'static str, &'static str)], fn(&mut ContextOptions, usize)),
    /// On or off.
    Check {
        /// Whether it is usually on.
        usual: bool,
        /// What it does.
        set: fn(&mut ContextOptions, bool),
    },
}

/// The settings, in the order in which they are stored: new ones come last. The pane, what is stored and what the worker tells the
/// engine are made from these rows.
pub static SETTINGS: [Setting; 9] = [
    Setting {
        name: "provider",
        label: "Provider",
        control: Control::Choice(&PROVIDERS, |options, at| {
            options.build.provider = Provider::ALL.get(at).copied().unwrap_or_default();
        }),
    },
    Setting {
        name: "encoding",
        label: "Counted by",
        control: Control::Choice(&ENCODINGS, |options, at| options.encoding = counting(at as u32)),
    },
    Setting {
        name: "policy",
        label: "Policy",
        control: Control::Choice(&[("newest", "newest"), ("stable", "stable")], |options, at| {
            options.build.policy = if at == 1 { Policy::Stable } else { Policy::Newest };
        }),
    },
    Setting {
        name: "preview",
        label: "Preview large tool results",
        control: Control::Check {
            usual: true,
            set: |options, on| options.build.previews = if on { Previews::WhenNeeded } else { Previews::Never },
        },
    },
    Setting {
        name: "compress",
        label: "Compress code turns",
        control: Control::Check {
            usual: false,
            set: |options, on| options.build.compress = on.then(CompressOptions::default),
        },
    },
    Setting {
        name: "tokens",
        label: "Budget, tokens",
        control: Control::Limit(|options| &mut options.build.budget.max_tokens),
    },
    Setting {
        name: "messages",
        label: "Limit, messages",
        control: Control::Limit(|options| &mut options.build.budget.max_messages),
    },
    Setting {
        name: "chars",
        label: "Limit, characters",
        control: Control::Limit(|options| &mut options.build.budget.max_chars),
    },
    Setting {
        name: "memories",
        label: "Memory",
        control: Control::Check {
            usual: true,
            set: |options, on| {
                options.memory = on.then(|| Wanted { agent: Some(AGENT.to_owned()), ..Wanted::default() });
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

    fn set(&self, options: &mut ContextOptions, value: Option<u64>) {
        match self {
            Self::Limit(limit) => *limit(options) = value,
            Self::Choice(_, set) => set(options, value.unwrap_or_default() as usize),
            Self::Check { set, .. } => set(options, value == Some(1)),
        }
    }
}

impl Setting {
    /// A value as a word without spaces; `-` for no limit, and for what is off.
    fn write(&self, value: Option<u64>) -> String {
        let none = || "-".to_owned();
        match self.control {
            Control::Limit(_) => value.map_or_else(none, |limit| limit.to_string()),
            Control::Choice(list, _) => name(list, value.unwrap_or_default()).to_owned(),
            Control::Check { .. } if value == Some(1) => self.name.to_owned(),
            Control::Check { .. } => none(),
        }
    }

    fn read(&self, word: &str) -> Option<u64> {
        match self.control {
            Control::Limit(_) => read_limit(word),
            Control::Choice(list, _) => list.iter().position(|(name, _)| *name == word).map(|at| at as u64).or(Some(0)),
            Control::Check { .. } => Some((word == self.name).into()),
        }
    }
}

fn name(list: &[(&'static str, &'static str)], at: u64) -> &'static str {
    list.get(at as usize).map_or("", |(name, _)| name)
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
        self.get("policy") == Some(1)
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
    pub fn options(&self) -> ContextOptions {
        let mut options = ContextOptions::default();
        for (setting, value) in SETTINGS.iter().zip(self.0) {
            setting.control.set(&mut options, value);
        }
        options
    }

    /// As a short text: `openai-chat o200k_base newest preview - 8000 - - memories`.
    pub fn write(&self) -> String {
        let words: Vec<String> = SETTINGS.iter().zip(self.0).map(|(setting, value)| setting.write(value)).collect();
        words.join(" ")
    }

    /// Reads [what was written](Self::write); whatever is not understood is as at the beginning.
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

/// Pins as a text: the ids, one JSON string a line, since an id may hold anything.
pub fn write_pins(pins: &[MessageId]) -> String {
    pins.iter().map(|pin| serde_json::Value::from(pin.as_str()).to_string()).collect::<Vec<_>>().join("\n")
}

/// Reads [what was written](write_pins); lines that are no ids are passed over.
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
    use threadkeep_context::Budget;

    #[test]
    fn settings_come_back() {
        let set = [
            ("provider", 2),
            ("encoding", 1),
            ("policy", 1),
            ("preview", 0),
            ("compress", 1),
            ("tokens", 8000),
            ("messages", 0),
            ("memories", 0),
        ]
        .into_iter()
        .fold(Settings::default(), |set, (name, value)| set.with(name, Some(value)));
        assert_eq!(set.write(), "anthropic cl100k_base stable - compress 8000 0 - -");
        assert_eq!(Settings::read(&set.write()), set);
        assert_eq!(Settings::read(&Settings::default().write()), Settings::default());
        assert_eq!(Settings::read(""), Settings::default());
        assert_eq!(Settings::read("x y z a b c d e").tokens(), None);
        assert_eq!(Settings::read("gemini estimate").write(), "gemini estimate newest preview - - - - memories");
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
            assert_eq!(Settings::read(&changed.write()), changed, "{}", setting.name);
        }
    }

    #[test]
    fn settings_are_the_engines_options() {
        let set = Settings::read("anthropic estimate stable - compress 8000 0 9").options();
        let budget = Budget { max_tokens: Some(8000), max_messages: Some(0), max_chars: Some(9), ..Budget::default() };
        assert_eq!(
            (set.build.provider, set.encoding, set.build.budget),
            (Provider::Anthropic, Counting::Estimate, budget)
        );
        assert_eq!((set.build.policy, set.build.previews), (Policy::Stable, Previews::Never));
        assert_eq!(set.build.compress, Some(CompressOptions::default()));
        assert_eq!(Settings::default().options().build.previews, Previews::WhenNeeded);
        // What was stored before there was memory has it on, and off is one word.
        assert!(set.memory.is_some() && Settings::default().memory());
        assert!(Settings::read("anthropic estimate stable - compress 8000 0 9 -").options().memory.is_none());
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
    fn pins_come_back_whatever_their_ids() {
        let pins: Vec<MessageId> = ["a", "two\nlines", "\"quoted\""].map(|id| MessageId::new(id).unwrap()).into();
        assert_eq!(read_pins(&write_pins(&pins)), pins);
        assert_eq!(read_pins("nonsense\n\"b\"").len(), 1);
    }
}
