//! Texts at random, of the kinds that split patterns and merges trip over.

use proptest::prelude::*;

/// Single characters that decide something in the patterns: letters of every case, letters without one, marks, modifiers,
/// digits in and beyond ASCII, white space of every kind, apostrophes, symbols, what is unassigned.
const TELLING: &str = "aAzZsStTdDmMlLrRvVeE019 \t\n\r\u{b}\u{c}\u{85}\u{a0}\u{1680}\u{2003}\u{2028}\u{3000}'’`\"/.,!?-_{}[]<>|\\#$%&*+=@^~:;()\
\0\u{7}\u{1b}\u{7f}éÉßſKıİǅǄǆªºʰˈ\u{301}\u{20dd}\u{903}\u{200d}\u{fe0f}\u{200b}\u{feff}²½Ⅷ൪٣日本語한글あアーกำहिन्दीעבריתعربΑαςЖж😀👩🏽🇩€№\u{378}\u{e000}\u{10ffff}";

/// Strings that mean something to tokenizers, or that make long pieces.
const SPELLINGS: &[&str] = &[
    "<|endoftext|>",
    "<|im_start|>",
    "<|endofprompt|>",
    "<|fim_prefix|>",
    "<|start|>assistant",
    "<|channel|>",
    "'s",
    "'S",
    "'ll",
    "'RE",
    "'ſ",
    "'d've",
    "don't",
    "I'm",
    "it’s",
    "HTMLParser",
    "camelCase",
    "snake_case",
    "McDONALD'S",
    "\r\n",
    "\n\n\n",
    " \n ",
    "    ",
    "\t\t",
    "...",
    "-----",
    "://",
    "/*",
    "*/",
    "===",
    "0x1F600",
    "1234567",
    "3.14",
    "日本語",
    "中文测试",
    "Привет",
    "สวัสดี",
    "👨‍👩‍👧‍👦",
    "e\u{301}",
    "क्षि",
    "\u{3000}",
    "ﬁ",
    "Ǆ",
    "AaAaAa",
    "ÀÉ",
];

/// Any text: what tells, what is spelled, ordinary words and any character at all, mixed.
pub(crate) fn mixed() -> impl Strategy<Value = String> {
    let telling: Vec<char> = TELLING.chars().collect();
    let bit = prop_oneof![
        4 => proptest::collection::vec(proptest::sample::select(telling), 1..6).prop_map(String::from_iter),
        2 => proptest::sample::select(SPELLINGS).prop_map(str::to_owned),
        2 => " ?[a-zA-Z]{1,12}[ ,.'\n]?",
        1 => " {1,20}",
        1 => "[ \t\n\r]{1,8}",
        1 => "[0-9]{1,9}",
        1 => any::<char>().prop_map(String::from),
        1 => "[\u{4e00}-\u{4fff}\u{3041}-\u{30ff}]{1,12}",
        1 => "[!-/:-@\\[-`{-~]{1,10}",
        1 => "[a-z]{1,40}",
        1 => "\\PC{1,6}",
    ];
    proptest::collection::vec(bit, 0..14).prop_map(|bits| bits.concat())
}

/// One character of a few, many times: long pieces with no natural cut.
pub(crate) fn repeated() -> impl Strategy<Value = String> {
    let characters = proptest::sample::select(TELLING.chars().collect::<Vec<_>>());
    proptest::collection::vec((characters, 1_usize..70), 1..5).prop_map(|runs| {
        runs.into_iter().flat_map(|(character, times)| std::iter::repeat_n(character, times)).collect()
    })
}

/// Letters of a small alphabet, so that merges compete.
pub(crate) fn dense() -> impl Strategy<Value = String> {
    prop_oneof![
        "[aeinrst]{1,200}",
        "[ab]{1,200}",
        "[A-Za-z0-9+/]{1,200}",
        "[的一是不了人我在有他]{1,60}",
        "[-=_*# ]{1,150}"
    ]
}
