//! A growing text has the whole text's count at every step.

use proptest::prelude::*;
use threadkeep_tokens::Growing;

use crate::PAIRS;
use crate::texts;

fn check(text: &str, steps: &[usize]) {
    for pair in PAIRS.iter() {
        let (mut growing, mut at) = (Growing::new(), 0);
        let mut steps = steps.iter().cycle();
        while at < text.len() {
            let step = steps.next().unwrap().max(&1);
            let end = (at + step..text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
            let count = growing.push(&pair.ours, &text[at..end]);
            assert_eq!(count, pair.ours.count(&text[..end]), "{:?} of {:?}", pair.ours, &text[..end]);
            at = end;
        }
        assert_eq!(growing.count(), pair.ours.count(text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_step_is_exact(text in texts::mixed(), steps in proptest::collection::vec(1_usize..9, 1..5)) {
        check(&text, &steps);
    }

    #[test]
    fn long_pieces_too(text in texts::repeated(), steps in proptest::collection::vec(1_usize..30, 1..5)) {
        check(&text, &steps);
    }
}

#[test]
fn borders_that_look_safe_and_are_not() {
    for text in [
        "it's",
        "a ' s",
        "x  y",
        "x \n y",
        "!\n\n",
        "! \n",
        "12 345",
        "é\u{301}!",
        "a/\n/",
        "字AB。字",
        "a'\u{301}",
        "1\u{301}",
    ] {
        check(text, &[1]);
    }
}
