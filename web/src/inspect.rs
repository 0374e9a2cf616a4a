//! The context inspector without its looks: what the reader has set, the slider's scale, the marks of messages and the
//! words of rules. Settings and answers of the engine in, numbers and short English text out.

mod instructions;
mod marks;
mod rules;
mod scale;
mod settings;

pub use instructions::{Instructions, MODES};
pub use marks::{Mark, Marked, Marks};
pub use rules::words;
pub use scale::{STEPS, position, tokens};
pub use settings::{
    AGENT, Control, ENCODINGS, PROVIDERS, SETTINGS, Setting, Settings, counting, read_limit, read_pins,
};

/// The kinds of tokens, in the order of `Side::kinds`: the name in markup, and in words.
pub const KINDS: [(&str, &str); 9] = [
    ("system", "Instructions"),
    ("user", "User"),
    ("assistant", "Assistant"),
    ("reasoning", "Reasoning"),
    ("calls", "Tool calls"),
    ("results", "Tool results"),
    ("injected", "Injected"),
    ("tools", "Tool schemas"),
    ("memory", "Memory"),
];
