//! What holds for any history.

use super::*;
use proptest::prelude::*;
use threadkeep_context::compress::compress;

/// Text made of what the reader must tell apart.
fn program() -> impl Strategy<Value = String> {
    let pieces = [
        "(def ",
        "(defn ",
        "(do ",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "#{",
        "#(",
        "#_",
        "#",
        "'",
        "^",
        "~@",
        "\"",
        "\\",
        "\\(",
        ";",
        "\n",
        " ",
        "a ",
        "b ",
        "x",
        ":k ",
        "1 ",
        "-2.5 ",
        "\"doc\" ",
        "nil ",
        "é",
        "##Inf ",
        "#\"",
        "```lisp\n",
        "```\n",
        ",",
        "\\u00e9",
    ];
    let piece = prop_oneof![6 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => ".{0,3}"];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((".{0,40}", inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn turn() -> impl Strategy<Value = Value> {
    let definition = ("[a-d]", any::<bool>(), prop::option::of("[a-z\"\n]{0,9}"), value()).prop_map(|(name, function, docstring, value)| {
        json!({"name": name, "kind": if function { "function" } else { "data" }, "docstring": docstring, "value": value})
    });
    let fields = (
        prop::option::of(prop::collection::vec(definition, 0..4)),
        prop::collection::vec("[pq\n]{0,4}", 0..3),
        prop::sample::select(vec![json!("ok"), json!("ok"), json!("error"), Value::Null]),
    );
    let code_turn = (program(), fields).prop_map(|(program, (definitions, output, status))| {
        code(&program, json!({"definitions": definitions, "output": output, "status": status}))
    });
    prop_oneof![
        4 => code_turn,
        1 => program().prop_map(|program| json!({"role": "assistant", "content": format!("```lisp\n{program}\n```")})),
        1 => program().prop_map(|content| json!({"role": "assistant", "content": content})),
        3 => ("[pq\n]{0,4}", ".{0,9}").prop_map(|(printed, rest)| user(&format!("{printed}\n{rest}"))),
    ]
}

fn history() -> impl Strategy<Value = Vec<Message>> {
    let read = |value| Message::from_json(value).unwrap();
    prop::collection::vec(turn().prop_map(read), 0..9)
}

fn options() -> impl Strategy<Value = CompressOptions> {
    (0..6_usize, 0..3_usize)
        .prop_map(|(println_history_limit, error_window)| CompressOptions { println_history_limit, error_window })
}

fn compressed(history: &[Message], options: &CompressOptions) -> Vec<Message> {
    let borrowed: Vec<_> = history.iter().collect();
    let replaced = compress(&borrowed, options);
    replaced.into_iter().zip(history).map(|(new, old)| new.unwrap_or_else(|| old.clone())).collect()
}

/// The names on a summary's lines.
fn names(summary: &str) -> Vec<&str> {
    let lines = summary.lines().take_while(|line| *line != "; Output:");
    let defined = lines.filter_map(|line| line.strip_prefix("; Defined: ").or(line.strip_prefix("; Function: ")));
    defined.filter_map(|line| line.split(' ').next()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_a_program(program in prop_oneof![program(), "\\PC*", ".*"]) {
        let plain = json!({"role": "assistant", "content": program});
        let history = [code(&program, json!({})), plain, defines("latest")];
        let summary = verdicts(&history, CompressOptions::default())[0].replacement.clone().unwrap();
        prop_assert!(!summary.text().is_empty());
        // Every line is a definition: nothing of the program gets out of its line.
        for line in summary.text().lines() {
            prop_assert!(line.starts_with("; "), "{line:?}");
        }
    }

    #[test]
    fn compressing_twice_is_compressing_once(history in history(), options in options()) {
        let once = compressed(&history, &options);
        prop_assert_eq!(&compressed(&once, &options), &once);
    }

    #[test]
    fn the_newest_definition_wins_and_stands_once(history in history(), options in options()) {
        let borrowed: Vec<_> = history.iter().collect();
        let verdicts = decide(&borrowed, &options);
        let mut seen: Vec<String> = Vec::new();
        for (message, verdict) in history.iter().zip(&verdicts).rev().filter(|(_, verdict)| verdict.rule == Some("compressed-turn")) {
            let text = verdict.replacement.as_ref().unwrap().text().into_owned();
            let shown = names(&text);
            prop_assert!(shown.iter().all(|name| !seen.iter().any(|seen| seen == name)), "{shown:?} {seen:?}");
            // Shown alone, the turn shows all that it defines; what is missing here stands in a newer summary.
            let alone = decide(&[message, &Message::assistant("```lisp\n()\n```")], &options);
            let alone = alone[0].replacement.as_ref().unwrap().text().into_owned();
            for name in names(&alone) {
                prop_assert!(shown.contains(&name) || seen.iter().any(|seen| seen == name), "{name}");
                seen.push(name.to_owned());
            }
        }
    }

    #[test]
    fn summaries_are_bounded_by_what_was_learned(history in history(), options in options()) {
        let borrowed: Vec<_> = history.iter().collect();
        let mut printed = 0;
        for verdict in decide(&borrowed, &options).iter().filter(|verdict| verdict.rule == Some("compressed-turn")) {
            let text = verdict.replacement.as_ref().unwrap().text().into_owned();
            for line in text.lines().take_while(|line| *line != "; Output:") {
                let samples = line.find(", sample: ").map_or(0, |at| line.len() - at);
                prop_assert!(line.chars().count() < 400 && samples < 4 * 220, "{line}");
            }
            printed += text.split_once("; Output:\n").map_or(0, |(_, printed)| printed.len() + 1);
        }
        prop_assert!(printed <= options.println_history_limit * 5);
    }

    #[test]
    fn only_code_turns_and_their_feedback_change(history in history(), options in options()) {
        let borrowed: Vec<_> = history.iter().collect();
        let verdicts = decide(&borrowed, &options);
        prop_assert_eq!(verdicts.len(), history.len());
        let last = verdicts.iter().rposition(|verdict| verdict.rule.is_some_and(|rule| rule != "moved-output"));
        for (index, (verdict, message)) in verdicts.iter().zip(&history).enumerate() {
            let changes = matches!(verdict.rule, Some("compressed-turn" | "moved-output"));
            prop_assert_eq!(verdict.replacement.is_some(), changes);
            prop_assert_eq!(verdict.rule == Some("latest-turn"), Some(index) == last);
            if let Some(new) = &verdict.replacement {
                prop_assert_eq!(&new.role, &message.role);
                prop_assert!(!new.content.is_empty());
                prop_assert!(verdict.rule == Some("compressed-turn") || message.text().ends_with(&*new.text()));
            }
        }
    }
}
