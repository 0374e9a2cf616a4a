//! The vocabularies by name, and which models use them.

/// A vocabulary with its way of splitting text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Encoding {
    /// `o200k_base`: GPT-4o, GPT-4.1, GPT-5, the o series.
    #[default]
    O200k,
    /// `cl100k_base`: GPT-4, GPT-3.5, the third generation of embeddings.
    Cl100k,
}

/// Beginnings of model names, those that are longer before those that they begin with.
const MODELS: [(&str, Encoding); 14] = [
    ("gpt-4o", Encoding::O200k),
    ("gpt-4.", Encoding::O200k),
    ("gpt-4", Encoding::Cl100k),
    ("gpt-3.5", Encoding::Cl100k),
    ("gpt-35", Encoding::Cl100k),
    ("gpt-", Encoding::O200k),
    ("chatgpt-", Encoding::O200k),
    ("codex-", Encoding::O200k),
    ("o1", Encoding::O200k),
    ("o3", Encoding::O200k),
    ("o4", Encoding::O200k),
    ("text-embedding-3", Encoding::Cl100k),
    ("text-embedding-ada-002", Encoding::Cl100k),
    ("computer-use-", Encoding::O200k),
];

impl Encoding {
    /// Both, the newer first.
    pub const ALL: [Self; 2] = [Self::O200k, Self::Cl100k];

    /// `o200k_base` or `cl100k_base`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        }
    }

    /// The encoding of that [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == name)
    }

    /// The encoding that OpenAI's model of that name counts by, with or without `openai/` before it and a date behind;
    /// `None` for models of others and for names that nothing is known of.
    ///
    /// ```
    /// use threadkeep_tokens::Encoding;
    /// assert_eq!(Encoding::of_model("gpt-4o-mini-2024-07-18"), Some(Encoding::O200k));
    /// assert_eq!(Encoding::of_model("gpt-4-turbo"), Some(Encoding::Cl100k));
    /// assert_eq!(Encoding::of_model("claude-sonnet-4-5"), None);
    /// ```
    pub fn of_model(model: &str) -> Option<Self> {
        let model = model.strip_prefix("openai/").unwrap_or(model);
        MODELS.iter().find(|(beginning, _)| model.starts_with(beginning)).map(|(_, encoding)| *encoding)
    }

    /// How many tokens it has, special ones aside. Their ranks run from 0 without gaps.
    #[expect(clippy::len_without_is_empty, reason = "a vocabulary is never empty")]
    pub const fn len(self) -> usize {
        match self {
            Self::O200k => 199_998,
            Self::Cl100k => 100_256,
        }
    }

    /// The asset's checksum. It changes only with the form of the asset, or with Unicode's classes.
    pub(crate) const fn checksum(self) -> u64 {
        match self {
            Self::O200k => 0x807c_1e59_c615_37b5,
            Self::Cl100k => 0x7b36_039a_c14e_0fa5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_by_name() {
        let check = |model, encoding| assert_eq!(Encoding::of_model(model), encoding, "{model}");
        for model in ["gpt-4o", "gpt-4.1-nano", "gpt-4.5-preview", "gpt-5", "gpt-5.2-codex", "o3-mini", "gpt-oss-120b"]
        {
            check(model, Some(Encoding::O200k));
        }
        for model in ["gpt-4", "gpt-4-0613", "gpt-3.5-turbo", "openai/gpt-4", "text-embedding-3-small"] {
            check(model, Some(Encoding::Cl100k));
        }
        for model in ["", "llama3", "gemini-2.5-pro"] {
            check(model, None);
        }
    }

    #[test]
    fn names_come_back() {
        for encoding in Encoding::ALL {
            assert_eq!(Encoding::from_name(encoding.name()), Some(encoding));
        }
        assert_eq!(Encoding::from_name("p50k_base"), None);
    }
}
