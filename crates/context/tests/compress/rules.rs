//! The rules of history compression: tables, scenarios and decisions of its specification, by their names.

use super::*;

/// The usual options, but that no turn stays whole for an error after it.
const DEFAULT: CompressOptions = CompressOptions { println_history_limit: 15, error_window: 0 };

fn alice() -> Value {
    json!([{"name": "Alice", "email": "alice@example.com"}, 2, 3, 4, 5])
}

// The summary's components.

#[test]
fn compressed_turn_format() {
    let given = summary(
        "…",
        json!({"definitions": [
            {"name": "fetch-users", "kind": "function", "docstring": "Fetches users by category, returns list of user maps"},
            {"name": "users", "kind": "data", "docstring": "Active users from API", "value": alice()}]}),
    );
    let expected = r#"; Function: fetch-users - "Fetches users by category, returns list of user maps"
; Defined: users - "Active users from API" = list[5], sample: %{name: "Alice", email: "..."}"#;
    assert_eq!(given, expected);
}

#[test]
fn compressed_turn_format_with_output() {
    let given = summary(
        "…",
        json!({"definitions": [{"name": "users", "docstring": "Active users from API", "value": alice()},
                {"name": "fetch-users", "kind": "function", "docstring": "Fetches users"}],
            "output": ["Found 5 users", "Processing complete"]}),
    );
    let expected = r#"; Function: fetch-users - "Fetches users"
; Defined: users - "Active users from API" = list[5]
; Output:
Found 5 users
Processing complete"#;
    assert_eq!(given, expected);
}

#[test]
fn without_docstrings() {
    let given = summary(
        "…",
        json!({"definitions": [{"name": "helper-fn", "kind": "function"}, {"name": "users", "value": alice()}]}),
    );
    let expected = r#"; Function: helper-fn
; Defined: users = list[5], sample: %{name: "Alice", email: "..."}"#;
    assert_eq!(given, expected);
}

#[test]
fn functions_and_data_are_read_from_the_program_when_the_host_gives_none() {
    let program = r#"(defn fetch-users "Fetches users by category" [category] (tool/get category))
(def users "Active users from API" (fetch-users "admin"))"#;
    let expected =
        "; Function: fetch-users - \"Fetches users by category\"\n; Defined: users - \"Active users from API\"";
    assert_eq!(summary(program, json!({})), expected);
    assert_eq!(summary(program, json!({"definitions": null})), expected);
    assert_eq!(summary(program, json!({"definitions": []})), "; Nothing defined, nothing printed");
}

#[test]
fn status_is_implicit() {
    assert_eq!(summary("(f)", json!({"status": "ok"})), summary("(f)", json!({"status": null})));
}

#[test]
fn a_turn_without_println_shows_samples() {
    let given = summary(
        "(def reviews (tool/search-reviews \"Electronics\"))\n(def inventory (tool/get-inventory))",
        json!({"definitions": [{"name": "reviews", "value": "Customer Review Summary for Electronics:\n- Laptop: 4.5/5"},
            {"name": "inventory", "value": "Warehouse Inventory Report:\nLaptop - 23 units in stock"}], "output": []}),
    );
    let expected = r#"; Defined: reviews = string, sample: "Customer Review Summary for Elec..."
; Defined: inventory = string, sample: "Warehouse Inventory Report:...""#;
    assert_eq!(given, expected);
}

#[test]
fn a_turn_with_println_shows_output_and_no_samples() {
    let given = summary(
        "…",
        json!({"definitions": [{"name": "reviews", "value": "Customer Review Summary for Electronics"},
            {"name": "inventory", "type": "string", "sample": "\"Warehouse\""}],
            "output": ["Reviews: Customer Review Summary for Electronics...", "Inventory: Warehouse Inventory Report..."]}),
    );
    let expected = "; Defined: reviews = string
; Defined: inventory = string
; Output:
Reviews: Customer Review Summary for Electronics...
Inventory: Warehouse Inventory Report...";
    assert_eq!(given, expected);
}

#[test]
fn data_samples_show_the_structure() {
    let laptop = json!({"name": "Laptop", "price": 1200, "category": "Electronics"});
    let products = json!([laptop, laptop, laptop, laptop, laptop, laptop, laptop]);
    assert_eq!(
        summary("…", json!({"definitions": [{"name": "products", "value": products}]})),
        r#"; Defined: products = list[7], sample: %{name: "Laptop", price: 1200, category: "Electronics"}"#
    );
}

#[test]
fn a_host_of_another_language_gives_type_and_sample_itself() {
    let given = summary(
        "df = load()",
        json!({"definitions": [{"name": "df", "type": "DataFrame[3x2]", "sample": "a  b\n1  2", "value": [1]},
            {"name": "long", "type": "t", "sample": "x".repeat(200)}, {"name": "bare"}]}),
    );
    let long = "x".repeat(160);
    assert_eq!(
        given,
        format!(
            "; Defined: df = DataFrame[3x2], sample: a b 1 2\n; Defined: long = t, sample: {long}...\n; Defined: bare"
        )
    );
}

#[test]
fn names_and_docstrings_cannot_break_the_lines() {
    let given =
        summary("…", json!({"definitions": [{"name": "a\nb", "docstring": "one\n; Output: \"two\"", "value": null}]}));
    assert_eq!(given, r#"; Defined: a b - "one ; Output: \"two\"" = nil"#);
}

// The message array, before and after.

#[test]
fn message_array_transformation() {
    let turn = json!({"definitions": [{"name": "electronics", "value": [{}, {}, {}, {}]},
            {"name": "reviews", "value": "Customer Review Summary for Electronics"},
            {"name": "inventory", "value": "Warehouse Inventory Report"}],
        "output": ["Reviews: Customer Review Summary for Electronics:\n- Laptop: Average rating 4.5/5...",
            "Inventory: Warehouse Inventory Report:\nLaptop - 23 units in stock..."]});
    let history = [
        json!({"role": "system", "content": "System prompt..."}),
        user("Find well-reviewed products in stock"),
        code("(def electronics (filter …))", turn),
        user(
            "Reviews: Customer Review Summary for Electronics:\n- Laptop: Average rating 4.5/5...\n\
             Inventory: Warehouse Inventory Report:\nLaptop - 23 units in stock...\nTurn 2 of 5",
        ),
        // The model repeats itself; the latest turn stays, and the summary too.
        code("(def electronics (filter …)) (def well-reviewed [\"Laptop\"])", json!({})),
    ];
    let after = [
        "system: System prompt...",
        "user: Find well-reviewed products in stock",
        "assistant: ; Defined: electronics = list[4]
; Defined: reviews = string
; Defined: inventory = string
; Output:
Reviews: Customer Review Summary for Electronics:
- Laptop: Average rating 4.5/5...
Inventory: Warehouse Inventory Report:
Laptop - 23 units in stock...",
        "user: Turn 2 of 5",
        "whole",
    ];
    assert_eq!(prompt(&history, DEFAULT), after);
    assert_eq!(rules(&history, DEFAULT), ["compressed-turn", "moved-output", "latest-turn"]);
}

// What gets compressed.

#[test]
fn an_old_successful_assistant_is_compressed() {
    assert_eq!(rules(&[defines("a"), defines("b")], DEFAULT), ["compressed-turn", "latest-turn"]);
}

#[test]
fn an_assistant_with_an_error_is_not() {
    let history = [defines("a"), fails(), defines("b")];
    assert_eq!(rules(&history, DEFAULT), ["compressed-turn", "error-turn", "latest-turn"]);
}

#[test]
fn the_latest_assistant_is_not() {
    let history =
        [defines("a"), fails(), user("and now something else"), json!({"role": "assistant", "content": "Sure."})];
    assert_eq!(rules(&history, DEFAULT), ["compressed-turn", "latest-turn"]);
}

#[test]
fn user_feedback_is_not_compressed() {
    for feedback in ["Turn 2 of 5", "Found 5 users", "We found 5 users\nTurn 2 of 5", "Found 5 users too\nTurn 2", ""] {
        let printed = code("…", json!({"output": ["Found 5 users"]}));
        let history = [printed, user(feedback), defines("b")];
        assert_eq!(prompt(&history, DEFAULT)[1], format!("user: {feedback}"));
        assert_eq!(rules(&history, DEFAULT), ["compressed-turn", "latest-turn"]);
    }
}

#[test]
fn what_the_summary_shows_is_not_said_twice() {
    let printed = || code("…", json!({"output": ["Found 5 users\n", "", "Done"]}));
    let history = [printed(), user("\nFound 5 users\n\nDone\n\nTurn 2 of 5\nGo on"), defines("b")];
    assert_eq!(prompt(&history, DEFAULT)[1], "user: Turn 2 of 5\nGo on");
    let mut pinned = history.clone();
    pinned[1]["pinned"] = json!(true);
    assert_eq!(rules(&pinned, DEFAULT), ["compressed-turn", "latest-turn"]);
    let kept_whole = [printed(), user("Found 5 users\n\nDone\nTurn 2"), fails(), defines("b")];
    let options = CompressOptions { error_window: 1, ..DEFAULT };
    assert_eq!(rules(&kept_whole, options), ["before-error", "error-turn", "latest-turn"]);
}

#[test]
fn system_and_first_user_message_are_untouched() {
    let history = [
        json!({"role": "system", "content": "```lisp\n(def a 1)\n```"}),
        user("```lisp\n(def a 1)\n```"),
        defines("a"),
        defines("b"),
    ];
    let verdicts = verdicts(&history, DEFAULT);
    assert_eq!((&verdicts[0], &verdicts[1]), (&Verdict::default(), &Verdict::default()));
}

#[test]
fn pinned_turns_and_turns_with_tool_calls_stay_whole() {
    let mut pinned = defines("a");
    pinned["pinned"] = json!(true);
    let mut calls = defines("b");
    calls["tool_calls"] = json!([{"id": "1", "type": "function", "function": {"name": "run", "arguments": "{}"}}]);
    let history = [pinned, calls, json!({"role": "tool", "tool_call_id": "1", "content": "x"}), defines("c")];
    assert_eq!(rules(&history, DEFAULT), ["pinned", "tool-calls", "latest-turn"]);
}

#[test]
fn what_is_not_in_the_context_is_no_turn() {
    let mut hidden = defines("c");
    hidden["include_in_context"] = json!(false);
    assert_eq!(rules(&[defines("a"), defines("b"), hidden], DEFAULT), ["compressed-turn", "latest-turn"]);
}

#[test]
fn reasoning_and_provider_items_go_with_the_code() {
    let mut turn = defines("a");
    for (field, value) in
        [("reasoning", json!("hm")), ("name", json!("coder")), ("items", json!([1])), ("tags", json!(["x"]))]
    {
        turn[field] = value;
    }
    let replaced = verdicts(&[turn, defines("b")], DEFAULT)[0].replacement.as_ref().unwrap().to_json();
    let expected = json!({"role": "assistant", "name": "coder", "tags": ["x", "compressed-turn"],
        "content": "; Defined: a = integer, sample: 1"});
    assert_eq!(replaced, expected);
}

// Messages of which nobody said that they are code turns.

#[test]
fn a_message_of_fenced_lisp_and_nothing_else_is_a_code_turn() {
    let fenced = json!({"role": "assistant", "content": "```clojure\n(def a \"An a\" (f))\n```\n"});
    let prose = json!({"role": "assistant", "content": "Try this:\n```lisp\n(def a 1)\n```"});
    let python = json!({"role": "assistant", "content": "```python\na = 1\n```"});
    let history = [fenced, prose, python, user("go on"), defines("b")];
    let verdicts = verdicts(&history, DEFAULT);
    assert_eq!(verdicts[0].replacement.as_ref().unwrap().text(), "; Defined: a - \"An a\"");
    assert_eq!((verdicts[1].rule, verdicts[2].rule), (None, None));
}

#[test]
fn a_code_turn_without_a_program_field_is_read_from_its_content() {
    let turn = json!({"role": "assistant", "kind": {"type": "code_turn"},
        "content": [{"type": "text", "text": "I define a.\n```lisp\n(defn a [] 1)\n```"}, {"type": "text", "text": "~~~clj\n(def b 2)\n~~~"}]});
    assert_eq!(prompt_text(&[turn, defines("c")]), "; Function: a\n; Defined: b = integer, sample: 2");
}

#[test]
fn a_turn_without_status_failed_when_the_next_message_is_an_error() {
    let fenced = json!({"role": "assistant", "content": "```lisp\n(def a (oops))\n```"});
    let failure = json!({"role": "user", "content": "oops is not defined", "is_error": true});
    assert_eq!(rules(&[fenced, failure.clone(), defines("b")], DEFAULT), ["error-turn", "latest-turn"]);
    assert_eq!(rules(&[defines("a"), failure, defines("b")], DEFAULT), ["compressed-turn", "latest-turn"]);
}

fn prompt_text(history: &[Value]) -> String {
    verdicts(history, DEFAULT)[0].replacement.as_ref().unwrap().text().into_owned()
}

// Scenarios.

#[test]
fn successful_multi_turn() {
    let history = [
        json!({"role": "system", "content": "s"}),
        user("task"),
        defines("a"),
        user("Turn 2 of 5"),
        defines("b"),
        user("Turn 3 of 5"),
        defines("c"),
    ];
    let expected = [
        "system: s",
        "user: task",
        "assistant: ; Defined: a = integer, sample: 1",
        "user: Turn 2 of 5",
        "assistant: ; Defined: b = integer, sample: 1",
        "user: Turn 3 of 5",
        "whole",
    ];
    assert_eq!(prompt(&history, DEFAULT), expected);
}

#[test]
fn error_recovery() {
    let history = [user("task"), defines("a"), user("Turn 2 of 5"), fails(), user("Error: oops"), defines("b")];
    let expected = [
        "user: task",
        "assistant: ; Defined: a = integer, sample: 1",
        "user: Turn 2 of 5",
        "whole",
        "user: Error: oops",
        "whole",
    ];
    assert_eq!(prompt(&history, DEFAULT), expected);
}

#[test]
fn tool_heavy_workflow() {
    let report = "Report:\n".to_owned() + &"a line of a tool result\n".repeat(100);
    let history = [code("(println (tool/report))", json!({"output": [report]})), user("Turn 2 of 5"), defines("a")];
    assert_eq!(prompt_text(&history), format!("; Output:\n{report}"));
}

#[test]
fn single_shot() {
    let history = [user("task"), defines("a"), user("thanks")];
    assert!(verdicts(&history, DEFAULT).iter().all(|verdict| verdict.replacement.is_none()));
    assert!(verdicts(&[], DEFAULT).is_empty());
}

// Resolved decisions.

#[test]
fn error_context_window() {
    let history = [defines("a"), defines("b"), defines("c"), fails(), defines("d"), defines("e")];
    let with = |error_window| rules(&history, CompressOptions { error_window, ..DEFAULT });
    let (old, near) = ("compressed-turn", "before-error");
    assert_eq!(with(0), [old, old, old, "error-turn", old, "latest-turn"]);
    assert_eq!(with(1), [old, old, near, "error-turn", old, "latest-turn"]);
    assert_eq!(with(2), [old, near, near, "error-turn", old, "latest-turn"]);
    assert_eq!(with(usize::MAX), [near, near, near, "error-turn", old, "latest-turn"]);
    assert_eq!(rules(&history, CompressOptions::default()), with(1));
    // The latest turn may be the one that failed.
    let latest = [defines("a"), defines("b"), fails()];
    assert_eq!(rules(&latest, CompressOptions { error_window: 1, ..DEFAULT }), [old, near, "latest-turn"]);
}

#[test]
fn accumulated_definitions() {
    let turn = |names: &[&str]| {
        let definitions: Vec<_> =
            names.iter().map(|name| json!({"name": name, "type": format!("t{}", names.len())})).collect();
        code("…", json!({"definitions": definitions}))
    };
    let history = [turn(&["a", "b"]), turn(&["c", "a", "c"]), fails(), turn(&["a"]), turn(&["b"])];
    let expected = [
        "assistant: ; Defined: b = t2",
        "assistant: ; Defined: c = t3",
        "whole",
        "assistant: ; Defined: a = t1",
        // The latest turn shows its own code; what the summaries say of `b` stays until it is a summary itself.
        "whole",
    ];
    assert_eq!(prompt(&history, DEFAULT), expected);
}

#[test]
fn a_name_that_became_a_function_is_no_data_any_more() {
    let history = [defines("a"), code("(defn a [] 1)", json!({})), defines("b")];
    let expected = ["assistant: ; Nothing defined, nothing printed", "assistant: ; Function: a", "whole"];
    assert_eq!(prompt(&history, DEFAULT), expected);
}

#[test]
fn println_history_limit() {
    let prints = |from: usize, to: usize| {
        code("…", json!({"output": (from..to).map(|number| number.to_string()).collect::<Vec<_>>()}))
    };
    let history = [prints(0, 10), user("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\nTurn 2"), prints(10, 20), prints(20, 22)];
    let limit = |println_history_limit| prompt(&history, CompressOptions { println_history_limit, ..DEFAULT });
    // Of the 22 outputs, the newest 15 are 7 to 21; the last two are in a turn that stays whole.
    let [first, feedback, second, _] = &limit(15)[..] else { panic!("four messages") };
    assert_eq!(first, "assistant: ; Output:\n7\n8\n9");
    assert_eq!(feedback, "user: Turn 2");
    assert_eq!(second, "assistant: ; Output:\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19");
    assert_eq!(limit(3)[2], "assistant: ; Output:\n19");
    assert_eq!(limit(2)[2], "assistant: ; Nothing defined, nothing printed");
    assert_eq!(limit(usize::MAX)[0], "assistant: ; Output:\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9");
    assert_eq!(CompressOptions::default().println_history_limit, DEFAULT.println_history_limit);
}

#[test]
fn a_turn_whose_output_is_too_old_shows_no_samples_either() {
    let printed = code("…", json!({"definitions": [{"name": "a", "value": 1}], "output": ["x"]}));
    let options = CompressOptions { println_history_limit: 0, ..DEFAULT };
    assert_eq!(prompt(&[printed, defines("b")], options)[0], "assistant: ; Defined: a = integer");
}
