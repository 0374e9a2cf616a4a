//! The texts that stand before each prompt of the keep, as the reader sets them: the system prompt, and the persona of a mode.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use threadkeep::protocol::{BadRequest, ContextSettings};
use threadkeep_context::Mode;

/// The modes: the name in options, and in words. The first is none.
pub const MODES: [(&str, &str); 4] = [("", "None"), ("chat", "Chat"), ("agent", "Agent"), ("run", "Run")];

/// What stands before each prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Instructions {
    /// The system prompt; empty for that of each thread.
    pub system_prompt: String,
    /// Who the model is to be, in the modes agent and run.
    pub persona: String,
    /// The place in [`MODES`].
    pub mode: u32,
}

impl Instructions {
    /// What the settings of a keep say.
    pub fn of(stored: &ContextSettings) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let name = stored.context.mode.map_or("", Mode::name);
        Self {
            system_prompt: text(&stored.context.system_prompt),
            persona: text(&stored.context.persona),
            mode: MODES.iter().position(|(mode, _)| *mode == name).unwrap_or_default() as u32,
        }
    }

    /// The settings of a keep with these, over what was stored `before`.
    ///
    /// # Errors
    /// None: each of them is an option of the engine.
    pub fn stored(&self, before: &ContextSettings) -> Result<ContextSettings, BadRequest> {
        let mut all = before.to_json();
        let mode = MODES.get(self.mode as usize).map_or("", |(mode, _)| *mode);
        for (name, text) in [("systemPrompt", &*self.system_prompt), ("persona", &*self.persona), ("mode", mode)] {
            all[name] = if text.trim().is_empty() { Value::Null } else { text.into() };
        }
        ContextSettings::from_json(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_stored_and_come_back_and_blank_ones_go() {
        let before = ContextSettings::read(r#"{"budget": {"maxTokens": 9}, "systemPrompt": "old"}"#).unwrap();
        let old = Instructions { system_prompt: "old".to_owned(), ..Instructions::default() };
        assert_eq!(Instructions::of(&before), old);
        for (mode, _) in MODES.iter().enumerate() {
            let new = Instructions {
                system_prompt: "Be brief.".to_owned(),
                persona: "You are a pirate.".to_owned(),
                mode: mode as u32,
            };
            let stored = new.stored(&before).unwrap();
            assert_eq!(Instructions::of(&stored), new);
            assert_eq!(stored.context.budget, before.context.budget, "the rest stays");
            let blank = Instructions { system_prompt: " ".to_owned(), ..Instructions::default() };
            let cleared = blank.stored(&stored).unwrap();
            assert_eq!(Instructions::of(&cleared), Instructions::default());
            assert_eq!((cleared.context.system_prompt, cleared.context.mode), (None, None));
        }
    }
}
