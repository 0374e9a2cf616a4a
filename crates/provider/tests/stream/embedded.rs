//! Thinking and calls in the text.

use proptest::prelude::*;
use threadkeep_core::{Content, Message, ToolCall};
use threadkeep_provider::{Delta, Piece, Spoken, lift};

/// What was said, thought and called, of text that comes in these pieces.
fn read(pieces: &[&str], tools: &[&str]) -> (String, String, Vec<(String, String)>) {
    let mut spoken = Spoken::new(tools.iter().map(|name| (*name).to_owned()).collect());
    let (mut text, mut thought, mut calls) = (String::new(), String::new(), Vec::new());
    let mut take = |piece| match piece {
        Piece::Text(more) => text.push_str(&more),
        Piece::Reasoning(more) => thought.push_str(&more),
        Piece::WasReasoning => thought.push_str(&std::mem::take(&mut text)),
        Piece::Call { name, arguments } => calls.push((name, arguments)),
    };
    for piece in pieces {
        spoken.push(piece, &mut take);
    }
    spoken.finish(&mut take);
    (text, thought, calls)
}

/// Checks a text whole and in pieces of every size.
#[track_caller]
fn check(text: &str, said: &str, thought: &str, calls: &[(&str, &str)]) {
    let tools = ["add", "look"];
    let calls: Vec<_> = calls.iter().map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned())).collect();
    let expected = (said.to_owned(), thought.to_owned(), calls);
    assert_eq!(read(&[text], &tools), expected, "whole: {text}");
    for size in 1..12 {
        let chars: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = chars.chunks(size).map(|chunk| chunk.iter().collect()).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(read(&pieces, &tools), expected, "in pieces of {size}: {text}");
    }
}

#[test]
fn thinking_between_tags() {
    check("<think>\nHm.\n</think>\n\nFour.", "Four.", "\nHm.\n", &[]);
    check("\n<thinking>Hm</thinking>Four.", "Four.", "Hm", &[]);
    check("[THINK]Hm[/THINK]Four.", "Four.", "Hm", &[]);
    check("<thought>Hm</thought>\nFour.", "Four.", "Hm", &[]);
    check("One.\n<think>Hm</think>\nTwo.", "One.\nTwo.", "Hm", &[]);
    check("<think></think>Four.", "Four.", "", &[]);
    check("<think>never ends", "", "never ends", &[]);
    check("<think>ends in </thi", "", "ends in </thi", &[]);
}

#[test]
fn thinking_whose_beginning_was_in_the_prompt() {
    check("First I add.\n</think>\n\nFour.", "Four.", "First I add.\n", &[]);
    check("Hm</think>Four. </think>", "Four. </think>", "Hm", &[]);
}

#[test]
fn tags_that_are_spoken_of_stay_text() {
    check("The tag `<think>` begins, `</think>` ends.", "The tag `<think>` begins, `</think>` ends.", "", &[]);
    check("It says \"</think>\".", "It says \"</think>\".", "", &[]);
    check("```html\n<think>x</think>\n</think>\n```\nSo.", "```html\n<think>x</think>\n</think>\n```\nSo.", "", &[]);
    check("a < b, a <t, <tool", "a < b, a <t, <tool", "", &[]);
    check("A call is `<tool_call>{}</tool_call>`.", "A call is `<tool_call>{}</tool_call>`.", "", &[]);
}

#[test]
fn calls_between_marks() {
    let json = "{\"name\": \"add\", \"arguments\": {\"a\": 1}}";
    let add = ("add", "{\"a\":1}");
    check(&format!("<tool_call>\n{json}\n</tool_call>"), "", "", &[add]);
    check(
        &format!("I add.\n<tool_call>{json}</tool_call>\n<tool_call>{json}</tool_call>"),
        "I add.\n",
        "",
        &[add, add],
    );
    check(&format!("<function_call>{json}</function_call> Done."), "Done.", "", &[add]);
    check(&format!("<|python_tag|>{}", json.replace("arguments", "parameters")), "", "", &[add]);
    check(&format!("<|python_tag|>{json}; {json}<|eom_id|>"), "", "", &[add]);
    check(&format!("[TOOL_CALLS][{json}, {json}]"), "", "", &[add, add]);
    check(
        "[TOOL_CALLS]add[ARGS]{\"a\":1}[TOOL_CALLS]look{\"q\":2}",
        "",
        "",
        &[("add", "{\"a\":1}"), ("look", "{\"q\":2}")],
    );
    check(&format!("<|tool_call|>[{json}]"), "", "", &[add]);
    check("<function=add>{\"a\":1}</function>", "", "", &[add]);
    check(&format!("<think>Hm</think>\n<tool_call>{json}"), "", "Hm", &[add]);
    let xml = "<tool_call>\n<function=look>\n<parameter=q>\ntwo\nlines\n</parameter>\n<parameter=list>[1]</parameter>\n</function>\n</tool_call>";
    check(xml, "", "", &[("look", "{\"q\":\"two\\nlines\",\"list\":[1]}")]);
    let pairs = "<tool_call>look\n<arg_key>q</arg_key>\n<arg_value>north</arg_value>\n</tool_call>";
    check(pairs, "", "", &[("look", "{\"q\":\"north\"}")]);
    let openai = "<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"add\", \"arguments\": \"{\\\"a\\\":1}\"}}</tool_call>";
    check(openai, "", "", &[add]);
    // A tool that was not offered is the agent's to refuse.
    check("<tool_call>{\"name\": \"moon\"}</tool_call>", "", "", &[("moon", "{}")]);
}

#[test]
fn calls_that_are_not_quite_right() {
    check("<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}</tool_call>", "", "", &[("add", "{\"a\":1}")]);
    check("<tool_call>{\"name\": \"add\", \"arguments\": {a: 1}}</tool_call>", "", "", &[("add", "{a: 1}")]);
    let none = "<tool_call>what?</tool_call> So.";
    check(none, none, "", &[]);
    check("<tool_call>{\"q\": 1}</tool_call>", "<tool_call>{\"q\": 1}</tool_call>", "", &[]);
}

#[test]
fn calls_in_fences_and_bare_only_of_offered_tools() {
    let add = ("add", "{\"a\":1}");
    check("I add.\n```json\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n```\n", "I add.\n", "", &[add]);
    check("```\n{\"name\": \"add\", \"parameters\": {\"a\": 1}}\n```", "", "", &[add]);
    check("{\"name\": \"add\", \"parameters\": {\"a\": 1}}", "", "", &[add]);
    check("[{\"name\": \"add\", \"arguments\": {\"a\": 1}}]", "", "", &[add]);
    for text in [
        "```json\n{\"name\": \"Oslo\", \"people\": 7}\n```\nThat is it.",
        "```json\n{\"city\": {\"name\": \"add\"}}\n```",
        "```rust\nfn add() {}\n```\n",
        "```json\n[1, 2]\n```",
        "{\"name\": \"Oslo\"}",
        "{\"city\": 1} is JSON",
        "[1] says so",
        "[a](b)",
        "{",
        "```",
        "```json",
        "~~~\nx\n~~~",
    ] {
        check(text, text, "", &[]);
    }
}

#[test]
fn without_tools_there_are_no_calls() {
    let text = "<tool_call>{\"name\": \"add\"}</tool_call> ```json\n{\"name\": \"add\"}\n```";
    assert_eq!(read(&[text], &[]), (text.to_owned(), String::new(), Vec::new()));
}

#[test]
fn text_streams_on() {
    let spoken = &mut Spoken::new(vec!["add".to_owned()]);
    let mut heard = Vec::new();
    for piece in ["A fence:\n```json\n{\"city\": ", "1, ", "\"b\": 2", "}\n```\n", "and <b>bold</b>", " words"] {
        spoken.push(piece, &mut |piece| heard.push(piece));
        assert!(!heard.is_empty(), "nothing is held that cannot be a call");
    }
    let texts = |heard: &[Piece]| {
        heard.iter().map(|piece| if let Piece::Text(text) = piece { text.as_str() } else { "" }).collect::<String>()
    };
    assert_eq!(texts(&heard), "A fence:\n```json\n{\"city\": 1, \"b\": 2}\n```\nand <b>bold</b> words");
}

#[test]
fn a_finished_message_is_lifted() {
    let mut message =
        Message::assistant("<think>Hm</think>I add.\n<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>");
    let tools = ["add".to_owned()];
    assert!(lift(&mut message, &tools, "seed"));
    assert_eq!((message.text().as_ref(), message.reasoning.as_deref()), ("I add.", Some("Hm")));
    assert_eq!((message.tool_calls[0].name(), message.tool_calls[0].arguments()), ("add", "{}"));
    let again = message.clone();
    assert!(!lift(&mut message, &tools, "seed"), "once is enough");
    assert_eq!(message, again);
    // Calls that came as such as well are not called twice.
    let mut twice = Message::assistant("<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>");
    twice.tool_calls = vec![ToolCall::function("c", "add", "{}")];
    assert!(lift(&mut twice, &tools, "seed"));
    assert_eq!((twice.tool_calls.len(), &twice.content), (1, &Content::Null));
}

#[test]
fn deltas_are_filtered_and_calls_get_places_behind_the_others() {
    let spoken = &mut Spoken::new(vec!["add".to_owned()]);
    let heard = std::cell::RefCell::new(Vec::new());
    let hear = |delta| heard.borrow_mut().push(delta);
    let call = |index: usize| Delta::ToolCall { index, name: "add".to_owned(), arguments: "{}".to_owned() };
    for delta in [
        call(0),
        Delta::Text("<tool_call>{\"name\":\"add\",\"argu".to_owned()),
        Delta::Text("ments\":{}}</tool_call>".to_owned()),
        Delta::Reasoning("Hm".to_owned()),
    ] {
        spoken.delta(delta, &hear);
    }
    spoken.delta(Delta::Text("End".to_owned()), &hear);
    spoken.last_delta(&hear);
    assert_eq!(
        heard.into_inner(),
        [call(0), call(1), Delta::Reasoning("Hm".to_owned()), Delta::Text("End".to_owned())]
    );
}

proptest! {
    #![proptest_config(crate::support::tries(3000))]

    /// However the text was cut, the same is read; and nothing is lost but marks and white space.
    #[test]
    fn any_cut_reads_the_same(
        words in prop::collection::vec(prop::sample::select(vec![
            "<think>", "</think>", "<tool_call>", "</tool_call>", "{\"name\": \"add\", \"arguments\": {}}", "```", "```json\n", "\n", " ", "word ", "[TOOL_CALLS]",
            "<function=add>", "</function>", "<|python_tag|>", "{", "}", "[", "`", "ü", "<", "~~~", "[THINK]", "[/THINK]",
        ]), 0..14),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        offered in any::<bool>(),
    ) {
        let text = words.concat();
        let tools: &[&str] = if offered { &["add"] } else { &[] };
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|at| text.is_char_boundary(*at)).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let pieces: Vec<&str> = places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        let whole = read(&[&text], tools);
        prop_assert_eq!(read(&pieces, tools), whole.clone());
        let single: Vec<String> = text.chars().map(String::from).collect();
        let single: Vec<&str> = single.iter().map(String::as_str).collect();
        prop_assert_eq!(read(&single, tools), whole);
    }
}
