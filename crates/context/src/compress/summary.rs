//! The summary that stands for an old code turn in a prompt.
//!
//! Goes in: what the turn defined and printed. Comes out: text in the form
//!
//! ```text
//! ; Function: fetch-users - "Fetches users by category"
//! ; Defined: users - "Active users" = list[5], sample: %{name: "Alice", email: "..."}
//! ; Output:
//! Found 5 users
//! ```
//!
//! Functions come first, then data, both in the order of the program. A sample or the output is shown, never both.

use super::definitions::Definition;
use super::line::one_line;
use super::sample::quote;

/// What stands for a turn of which nothing is left to show, since a message must not be empty.
pub(super) const NOTHING: &str = "; Nothing defined, nothing printed";

/// The summary. `samples` says whether definitions show one; `output` is what is shown of the printed texts.
pub(super) fn summary(definitions: &[Definition], samples: bool, output: &[&str]) -> String {
    let mut text = String::new();
    for is_function in [true, false] {
        for definition in definitions.iter().filter(|definition| definition.is_function == is_function) {
            text.push_str(if is_function { "; Function: " } else { "; Defined: " });
            define(definition, samples, &mut text);
            text.push('\n');
        }
    }
    if !output.is_empty() {
        text.push_str("; Output:\n");
        for printed in output {
            text.push_str(printed);
            text.push('\n');
        }
    }
    if text.is_empty() {
        text.push_str(NOTHING);
    } else {
        text.pop();
    }
    text
}

fn define(definition: &Definition, samples: bool, text: &mut String) {
    text.push_str(&one_line(&definition.name));
    if let Some(docstring) = definition.docstring.as_deref().map(one_line).filter(|docstring| !docstring.is_empty()) {
        text.push_str(" - ");
        quote(&docstring, text);
    }
    if definition.is_function {
        return;
    }
    if let Some(word) = &definition.type_word {
        text.push_str(" = ");
        text.push_str(word);
    }
    if let Some(sample) = definition.sample.as_deref().filter(|_| samples) {
        text.push_str(", sample: ");
        text.push_str(sample);
    }
}
