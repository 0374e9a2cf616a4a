//! How the bytes are cut changes nothing, and no bytes at all make a reader panic.

use proptest::prelude::*;
use threadkeep_archive::Reader;

use crate::common::{Outcome, fixture, fixtures, tree};

/// What is put into a fixture to damage it.
const EDITS: [&[u8]; 16] = [
    b"{", b"}", b"[", b"]", b"\"", b"\\", b",", b":", b"\n", b"null", b"\xff", b"\\ud800", b"1e999", b"{\"a\":", b"",
    b"\0",
];

fn pushed(name: &str, bytes: &[u8], cuts: &[usize]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut sink = |item| outcome.take(item);
    let mut reader = Reader::new(name, None);
    let mut from = 0;
    for cut in cuts {
        let to = (from + cut).min(bytes.len());
        reader.push(&bytes[from..to], &mut sink);
        from = to;
    }
    reader.push(&bytes[from..], &mut sink);
    reader.finish(&mut sink);
    reader.push(b"{}", &mut sink);
    reader.finish(&mut sink);
    outcome
}

#[test]
fn byte_by_byte() {
    for name in &fixtures() {
        let bytes = fixture(name);
        assert_eq!(pushed(name, &bytes, &vec![1; bytes.len()]), pushed(name, &bytes, &[]), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn any_cuts_of_any_mutation(
        name in prop::sample::select(fixtures()),
        cuts in prop::collection::vec(0usize..3000, 0..12),
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&EDITS[..]), 0usize..20), 0..6),
        cut_off in prop::option::of(any::<prop::sample::Index>()),
        wrapped in any::<bool>(),
    ) {
        let mut bytes = fixture(&name);
        if wrapped {
            bytes = [b"{\"v\": [1], \"conversations\": ", bytes.as_slice(), b", \"rest\": {}}"].concat();
        }
        for (at, with, remove) in edits {
            let at = at.index(bytes.len() + 1);
            let end = (at + remove).min(bytes.len());
            bytes.splice(at..end, with.iter().copied());
        }
        if let Some(at) = cut_off {
            bytes.truncate(at.index(bytes.len() + 1));
        }
        let whole = pushed("f", &bytes, &[]);
        prop_assert_eq!(&pushed("f", &bytes, &cuts), &whole);
        whole.conversations.iter().for_each(|conversation| drop(tree(conversation)));
        prop_assert!(!whole.conversations.is_empty() || !whole.skipped.is_empty(), "a file without a word");
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), cuts in prop::collection::vec(0usize..50, 0..8)) {
        prop_assert_eq!(pushed("f", &bytes, &cuts), pushed("f", &bytes, &[]));
    }

    #[test]
    fn any_text_of_json_signs(text in "[\\[\\]{}\",:\\\\a1 \n]{0,200}", lines in any::<bool>(), cuts in prop::collection::vec(0usize..50, 0..8)) {
        let name = if lines { "f.jsonl" } else { "f" };
        prop_assert_eq!(pushed(name, text.as_bytes(), &cuts), pushed(name, text.as_bytes(), &[]));
    }
}
