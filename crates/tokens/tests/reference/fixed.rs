//! Cases by name.

use threadkeep_tokens::Encoding;

use crate::{PAIRS, check};

#[test]
fn special_tokens_are_the_letters_they_are() {
    for name in ["<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>", "<|im_start|>", "<|return|>"] {
        check(name);
        check(&format!("before{name}after {name}"));
        for pair in PAIRS.iter() {
            let special = pair.ours.encode(name).into_iter().find(|rank| *rank as usize >= pair.ours.encoding().len());
            assert_eq!(special, None, "{name}");
        }
    }
}

#[test]
fn known_counts() {
    let counts = |text: &str| PAIRS.each_ref().map(|pair| pair.ours.count(text));
    assert_eq!(counts(""), [0, 0]);
    assert_eq!(counts("hello world"), [2, 2]);
    assert_eq!(counts("<|endoftext|>"), [7, 7]);
    assert_eq!(counts("antidisestablishmentarianism"), [6, 6]);
    assert_eq!(counts("お誕生日おめでとう"), [8, 9]);
}

#[test]
fn white_space_at_every_place() {
    for text in [
        " ",
        "  ",
        "\n",
        "\r\n",
        " \n",
        "\n ",
        "\n  ",
        "  \n  ",
        "a ",
        "a  ",
        "a\n",
        "a\n ",
        "a  b",
        "a \n b",
        "a\t\tb",
        "a\u{a0}b",
        "a\u{a0}\u{a0}b",
        "\u{3000}\u{3000}",
        "\u{85}\n\u{85}",
        "x\u{2028}y",
        " \u{a0} ",
        "! \n",
        "!\n\n/",
        "?\r\n/x",
        "\u{b}a",
        "\u{c} b",
        "\n\u{a0}",
        "1 2",
        "1  2",
        " 1",
        "\t1",
        "\t!",
        " !",
        "\u{a0}!",
    ] {
        check(text);
    }
}

#[test]
fn contractions_in_every_case() {
    for text in [
        "it's",
        "IT'S",
        "it'ſ",
        "'s",
        "'sound",
        "'re're",
        "we'll've",
        "d'",
        "'",
        "''s",
        " 's",
        "1's",
        "!'s",
        "é's",
        "日's",
        "x'lL",
        "x'l",
        "x'v",
        "x'vE",
        "o'clock",
        "'t\u{301}",
        "a'm",
        "A'M\u{301}",
    ] {
        check(text);
    }
}

#[test]
fn cases_marks_and_prefixes() {
    for text in [
        "HTMLParser",
        "iPhone",
        "ABCdef",
        "aB",
        "ǅungla",
        "ʰA",
        "Aʰ",
        "日A",
        "A日",
        "A日b",
        "日AB",
        "字AB。",
        "e\u{301}A",
        "\u{301}A",
        "\u{301}a",
        " \u{301}",
        "\u{301}\u{301}A",
        "!\u{301}a",
        "!!\u{301}a",
        "$\u{301}$",
        "٣٤٥٦",
        "1²3½",
        "12٣4",
        "-日本",
        "\u{200d}a",
        "\u{378}a",
        "\u{10ffff}",
        "\0a\0",
        "ＡＢｃ",
        "ſ",
        "İI",
        "..\u{301}",
        "\u{903}",
    ] {
        check(text);
    }
}

/// Every token, as text where it is text, and all in one where it is not: no entry of a table is lost or mistaken.
#[test]
fn every_token_is_found() {
    for pair in PAIRS.iter() {
        for rank in 0..u32::try_from(pair.ours.encoding().len()).unwrap() {
            let bytes = pair.theirs.decode_bytes(&[rank]).unwrap();
            let Ok(text) = std::str::from_utf8(&bytes) else { continue };
            let split = pair.theirs.encode_ordinary(text);
            assert_eq!(pair.ours.encode(text), split, "{rank} {text:?}");
        }
    }
}

/// The classes are Unicode's, code point by code point: alone, between letters and between spaces.
#[test]
fn every_character_counts_alike() {
    let mut text = String::new();
    for character in '\0'..=char::MAX {
        text.push(character);
        if character as u32 % 64 == 63 {
            check(&text);
            text.clear();
        }
    }
    for character in ('\0'..='\u{33ff}').chain('\u{a000}'..='\u{abff}').chain('\u{10000}'..='\u{11fff}') {
        check(&format!("a{character}B {character}c{character}1{character}"));
    }
}

#[test]
fn bytes_that_are_no_utf8_give_some_count() {
    for pair in PAIRS.iter() {
        for bytes in
            [&b"\xff"[..], b"\xe6\x97", b"a\xf0\x9f", b"\x80\x80\x80", b" \xc0 ", b"\xf8\x88\x80\x80\x80x", b"\xc3"]
        {
            assert!(pair.ours.count_bytes(bytes) as usize <= bytes.len());
            assert!(pair.ours.count_bytes(bytes) > 0);
        }
    }
}

#[test]
fn threads_count_alike() {
    let pair = &PAIRS[0];
    assert_eq!(pair.ours.encoding(), Encoding::O200k);
    let text = "Some text that several threads count at a time, again and again. ".repeat(200);
    let expected = pair.theirs.encode_ordinary(&text).len() as u32;
    std::thread::scope(|scope| {
        let counts: Vec<_> = (0..4).map(|_| scope.spawn(|| pair.ours.count(&text))).collect();
        counts.into_iter().for_each(|count| assert_eq!(count.join().unwrap(), expected));
    });
}
