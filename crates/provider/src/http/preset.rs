//! Presets: the endpoints that many people use, and what each needs, as looked up on 2026-11-22.
//!
//! Sources: Ollama refuses pages that are not on this machine with a 403 unless `OLLAMA_ORIGINS` names them (its FAQ, and 0.40.5
//! itself); LM Studio answers pages once CORS is switched on (`lms server start --cors`, lmstudio.ai/docs/cli/server-start);
//! llama-server lets every page in unless `--cors-origins` says otherwise or its own tools are on (ggml-org/llama.cpp, pull request
//! 25655); vLLM lets every page in unless `--allowed-origins` says otherwise (its `serve` arguments); Anthropic answers pages that
//! send `anthropic-dangerous-direct-browser-access: true`. OpenAI, Gemini and OpenRouter answer pages as they are.

use super::super::Provider;
use super::connection::Connection;

/// A known endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its short name in settings, such as `lm-studio`.
    pub id: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// The wire form that it speaks.
    pub provider: Provider,
    /// Where it is, or usually is; empty for a custom one.
    pub base_url: &'static str,
    /// Whether it wants a key.
    pub key: bool,
    /// What must be set so that a page may call it, with `{origin}` for the page's address; empty where nothing must be.
    pub browser: &'static str,
    /// How it is started or where keys are made, for the settings.
    pub hint: &'static str,
    /// How it is recognised: `.domain` of its host, or `:port`.
    at: &'static str,
}

/// All presets, in the order of the settings. The last one is for everything else.
pub const PRESETS: [Preset; 9] = [
    Preset {
        id: "openai",
        name: "OpenAI",
        provider: Provider::OpenAiChat,
        base_url: "https://api.openai.com/v1",
        key: true,
        browser: "",
        hint: "Keys are made at platform.openai.com/api-keys.",
        at: ".openai.com",
    },
    Preset {
        id: "anthropic",
        name: "Anthropic",
        provider: Provider::Anthropic,
        base_url: "https://api.anthropic.com",
        key: true,
        browser: "Anthropic answers pages only with the header anthropic-dangerous-direct-browser-access: true, which Threadkeep \
                  sends; an organisation may have switched that off.",
        hint: "Keys are made at console.anthropic.com.",
        at: ".anthropic.com",
    },
    Preset {
        id: "gemini",
        name: "Google Gemini",
        provider: Provider::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        key: true,
        browser: "A key that is restricted to certain websites must name {origin}.",
        hint: "Keys are made at aistudio.google.com.",
        at: ".googleapis.com",
    },
    Preset {
        id: "openrouter",
        name: "OpenRouter",
        provider: Provider::OpenAiChat,
        base_url: "https://openrouter.ai/api/v1",
        key: true,
        browser: "",
        hint: "Keys are made at openrouter.ai/keys.",
        at: ".openrouter.ai",
    },
    Preset {
        id: "ollama",
        name: "Ollama",
        provider: Provider::Ollama,
        base_url: "http://localhost:11434",
        key: false,
        browser: "Set OLLAMA_ORIGINS={origin} where Ollama runs and start it anew: `OLLAMA_ORIGINS={origin} ollama serve`; on macOS \
                  `launchctl setenv OLLAMA_ORIGINS \"{origin}\"`; as a Linux service `systemctl edit ollama` with \
                  Environment=\"OLLAMA_ORIGINS={origin}\".",
        hint: "Start it with `ollama serve`. Its context is short unless OLLAMA_CONTEXT_LENGTH says otherwise.",
        at: ":11434",
    },
    Preset {
        id: "lm-studio",
        name: "LM Studio",
        provider: Provider::OpenAiChat,
        base_url: "http://localhost:1234/v1",
        key: false,
        browser: "Switch on \"Enable CORS\" in the server's settings (Developer tab), or start it with `lms server start --cors`.",
        hint: "Start its server in the Developer tab, or with `lms server start`.",
        at: ":1234",
    },
    Preset {
        id: "llama-cpp",
        name: "llama.cpp",
        provider: Provider::OpenAiChat,
        base_url: "http://localhost:8080/v1",
        key: false,
        browser: "llama-server lets every page in by default; where it was started with --cors-origins or with tools, add \
                  `--cors-origins {origin}`.",
        hint: "Start it with `llama-server -m model.gguf --jinja`; without --jinja models cannot call tools.",
        at: ":8080",
    },
    Preset {
        id: "vllm",
        name: "vLLM",
        provider: Provider::OpenAiChat,
        base_url: "http://localhost:8000/v1",
        key: false,
        browser: "vLLM lets every page in by default; where it was started with --allowed-origins, add {origin} there: \
                  `--allowed-origins '[\"{origin}\"]'`.",
        hint: "Start it with `vllm serve <model> --enable-auto-tool-choice --tool-call-parser <parser>`, so that models can call \
               tools.",
        at: ":8000",
    },
    Preset {
        id: "custom",
        name: "Another endpoint",
        provider: Provider::OpenAiChat,
        base_url: "",
        key: false,
        browser: "The server must answer with Access-Control-Allow-Origin: {origin} (or *), and allow the headers content-type and \
                  authorization, also for OPTIONS requests.",
        hint: "Anything that speaks one of the five wire forms.",
        at: "",
    },
];

impl Connection {
    /// What to call it in messages to people: its own name, or its preset's and where it is.
    pub fn label(&self) -> String {
        let preset = Preset::of(self);
        match (&self.name, preset.is_custom()) {
            (Some(name), _) => name.clone(),
            (None, false) if !self.is_local() => preset.name.to_owned(),
            (None, false) => [preset.name, " (", self.authority(), ")"].concat(),
            (None, true) => self.authority().to_owned(),
        }
    }
}

impl Preset {
    /// The preset that a connection looks like: by its host, or by its port on this machine.
    pub fn of(connection: &Connection) -> &'static Self {
        let custom = &PRESETS[PRESETS.len() - 1];
        let Some(address) = connection.address() else { return custom };
        let fits = |preset: &&Self| match preset.at.split_at_checked(1) {
            Some((".", domain)) => address.is_under(domain),
            // 8080 and 8000 are everyone's ports; the wire form must fit as well.
            Some((_, port)) => {
                address.port() == Some(port)
                    && (preset.provider == connection.provider
                        || (preset.id == "ollama" && connection.provider == Provider::OpenAiChat))
            }
            None => false,
        };
        PRESETS.iter().find(fits).unwrap_or(custom)
    }

    /// The preset of this [`id`](Self::id).
    pub fn named(id: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.id == id)
    }

    /// Whether it stands for everything that is not known.
    pub fn is_custom(&self) -> bool {
        self.at.is_empty()
    }

    /// What must be set so that the page at `origin` may call it; empty where nothing must be.
    pub fn browser_help(&self, origin: &str) -> String {
        self.browser.replace("{origin}", origin)
    }
}
