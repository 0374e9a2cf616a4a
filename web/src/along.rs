//! What comes along with the reader's words in the next request, in a few of ours.

use crate::format;
use crate::inspect::{KINDS, Settings};
use crate::wire::Fitted;

/// A prompt's tokens, its pins and the tokens of its memory, each as a text. Pins and memory are left out where there are none.
pub fn along(fitted: &Fitted, settings: &Settings) -> Vec<String> {
    let Some(side) = fitted.sides.get(usize::from(settings.stable())) else { return Vec::new() };
    let limit = settings.tokens().map(|limit| [" of ", &format::short(limit)].concat()).unwrap_or_default();
    let mut along = vec![[&format::short(side.tokens), &limit[..], " tokens"].concat()];
    if !fitted.pins.is_empty() {
        along.push(format::plural(fitted.pins.len() as u64, "pin"));
    }
    let memory = KINDS.iter().position(|(kind, _)| *kind == "memory").and_then(|at| side.kinds.get(at));
    if let Some(tokens) = memory.filter(|tokens| **tokens > 0) {
        along.push(["memory ", &format::short(*tokens)].concat());
    }
    along
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Side;
    use threadkeep_core::MessageId;

    #[test]
    fn tokens_pins_and_memory_are_named_where_there_are_some() {
        let side = |tokens, memory| {
            let kinds = KINDS.iter().map(|(kind, _)| if *kind == "memory" { memory } else { 0 }).collect();
            Side { kinds, tokens, ..Side::default() }
        };
        let mut fitted = Fitted { sides: vec![side(999, 0), side(12_900, 1_204)], ..Fitted::default() };
        let newest = Settings::default().with("policy", Some(1)).with("tokens", None);
        let stable = newest.with("policy", Some(0)).with("tokens", Some(20_000));
        assert_eq!(along(&fitted, &newest), ["999 tokens"]);
        fitted.pins = vec![MessageId::new("a").unwrap(), MessageId::new("b").unwrap()];
        assert_eq!(along(&fitted, &stable), ["13k of 20k tokens", "2 pins", "memory 1.2k"]);
    }
}
