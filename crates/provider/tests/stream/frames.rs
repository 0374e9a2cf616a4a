//! Frames: any cut gives the same.

use proptest::prelude::*;
use serde_json::json;
use threadkeep_provider::{Frame, Frames};

fn all(pieces: &[&[u8]]) -> Vec<Frame> {
    let mut frames = Frames::default();
    let mut found: Vec<Frame> = pieces.iter().flat_map(|piece| frames.push(piece)).collect();
    found.extend(frames.finish());
    found
}

fn data(text: &str) -> Vec<String> {
    all(&[text.as_bytes()]).into_iter().map(|frame| frame.data).collect()
}

#[test]
fn events_as_the_standard_has_them() {
    assert_eq!(data("data: a\n\ndata:b\n\ndata:  c\n\n"), ["a", "b", " c"]);
    assert_eq!(data("data: a\ndata: b\ndata\n\n"), ["a\nb\n"]);
    assert_eq!(data(": note\nretry: 10\nid: 4\n\ndata: a\r\rdata: b\r\n\r\n"), ["a", "b"]);
    assert_eq!(data("\u{feff}data: a\n\n"), ["a"]);
    assert_eq!(data("data: a"), ["a"], "the last line end may be missing");
    assert_eq!(data("event: x\n\n\n"), [""; 0], "without data there is no event");
    let named = all(&[b"event: ping\ndata: {}\n\ndata: 1\n\n"]);
    assert_eq!((named[0].name.as_str(), named[1].name.as_str()), ("ping", ""));
}

#[test]
fn objects_in_lines_lists_and_on_many_lines() {
    let objects = [json!({"a": "}\n\\\"{"}), json!({"b": [{}, {"c": [1, {"d": 2}]}]})];
    let lines: String = objects.iter().map(|object| format!("{object}\n")).collect();
    for text in [
        lines,
        json!(objects).to_string(),
        format!("{:#}", json!(objects)),
        format!(" \n{:#}{:#}", objects[0], objects[1]),
    ] {
        let read: Vec<serde_json::Value> = data(&text).iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_eq!(read, objects, "{text}");
    }
}

#[test]
fn what_is_too_long_ends() {
    let mut frames = Frames::default();
    frames.push(b"data: ");
    let piece = vec![b'x'; 1 << 20];
    let mut pushed = 0;
    while !frames.is_too_long() {
        assert!(frames.push(&piece).is_empty());
        pushed += 1;
        assert!(pushed < 70);
    }
    assert!(frames.push(b"\n\n").is_empty());
}

/// Streams that are nearly in order, and some that are not at all.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "data: ",
        "data:",
        "event: x",
        ": note",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "{\"a\":\"ü\u{1f44b}\"}",
        "[DONE]",
        "{",
        "}",
        "[",
        "]",
        ",",
        "\"",
        "\\",
        "a",
        " ",
        "\u{feff}",
        "id: 1",
        "error: {}",
        "\u{2028}",
        "日本",
    ]);
    let text = prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![4 => text, 1 => prop::collection::vec(any::<u8>(), 0..60)]
}

proptest! {
    #![proptest_config(crate::support::tries(2000))]

    #[test]
    fn any_cut_gives_the_same_frames(bytes in streams(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let whole = all(&[&bytes]);
        prop_assert_eq!(all(&pieces), whole.clone());
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(all(&single), whole);
    }
}
