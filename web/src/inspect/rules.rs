//! The ledger's rules in plain words.

/// Why a message is in the prompt as it is, or is not in it; a rule that is not known here is said by its name.
pub fn words(rule: &str) -> String {
    threadkeep_context::rule::words(rule).map_or_else(|| rule.replace('-', " "), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_context::rule;

    #[test]
    fn every_rule_of_a_ledger_has_words() {
        for rule in rule::ALL {
            assert_ne!(words(rule), rule.replace('-', " "), "{rule}");
        }
        assert_eq!(words("some-new-rule"), "some new rule");
    }
}
