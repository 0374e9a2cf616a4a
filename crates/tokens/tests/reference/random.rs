//! Property tests: any text counts as it does by the reference.

use proptest::prelude::*;

use crate::check;
use crate::texts;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mixed_text(text in texts::mixed()) {
        check(&text);
    }

    #[test]
    fn repeated_characters(text in texts::repeated()) {
        check(&text);
    }

    #[test]
    fn letters_whose_merges_compete(text in texts::dense()) {
        check(&text);
    }

    #[test]
    fn any_characters_at_all(text in any::<String>()) {
        check(&text);
    }
}
