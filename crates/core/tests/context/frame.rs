//! Frame, previews and recorded failures: what a prompt shows that the history does not have, or has otherwise.

use serde_json::json;
use threadkeep_core::context::{
    Action, Budget, FrameOptions, Mode, Options, Preview, Run, banner, build, items, preview, rule,
};
use threadkeep_core::tokens::Estimate;
use threadkeep_core::{Content, Kind, Message, Part};

use crate::common::{check, context, history, rules, shown};

fn frame(mode: Mode) -> FrameOptions {
    FrameOptions {
        mode: Some(mode),
        system_prompt: Some("Help.".into()),
        persona: Some("You are Ada.".into()),
        run: Some(Run {
            directive: "Do step two.".into(),
            node_brief: Some("Checks the plan.".into()),
            step: Some("2 of 3".into()),
        }),
        memory: vec![Message::system("The user likes tea.")],
        tools: vec![json!({"name": "look"})],
    }
}

fn of(mode: Mode) -> Options {
    Options { frame: frame(mode), ..Options::default() }
}

#[test]
fn chat_omits_the_persona() {
    let history = history("u hi");
    let context = context(&items(&history), &of(Mode::Chat));
    let texts: Vec<String> = context.messages.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(texts, ["Help.", &banner(Mode::Chat), "The user likes tea.", "hi"]);
    assert_eq!(context.warnings.len(), 2);
}

#[test]
fn agent_has_persona_and_banner() {
    let history = history("u hi");
    let context = context(&items(&history), &of(Mode::Agent));
    let injected: Vec<_> = rules(&context.ledger, Action::Injected).into_iter().map(|(_, rule)| rule).collect();
    let expected =
        [rule::SYSTEM_PROMPT, rule::PERSONA, rule::MODE_BANNER, rule::TOOL_SCHEMAS, rule::MEMORY, rule::REPLY];
    assert_eq!(injected, expected);
}

#[test]
fn run_has_directive_brief_and_step() {
    let history = history("u hi");
    let context = context(&items(&history), &of(Mode::Run));
    let text = shown(context.messages.iter().map(|message| &**message));
    for wanted in
        ["You are Ada.", "active: run", "RUN_DIRECTIVE Do step two.", "NODE_BRIEF Checks", "STEP_CONTEXT 2 of 3"]
    {
        assert!(text.contains(wanted), "{text}");
    }
    assert!(context.warnings.is_empty());
}

#[test]
fn switching_the_mode_changes_only_the_frame() {
    let history = history("s old rules\nu one\na two (c1)\nt c1 x\nu three");
    let items = items(&history);
    let [chat, agent, run] = [Mode::Chat, Mode::Agent, Mode::Run].map(|mode| context(&items, &of(mode)));
    let rest = |context: &threadkeep_core::context::Context| {
        let lines = context.ledger.iter().filter(|line| line.action != Action::Injected);
        lines.cloned().collect::<Vec<_>>()
    };
    assert_eq!(rest(&chat), rest(&agent));
    assert_eq!(rest(&chat), rest(&run));
    assert_eq!(history, crate::common::history("s old rules\nu one\na two (c1)\nt c1 x\nu three"));
}

#[test]
fn the_frames_system_prompt_stands_in_place_of_the_historys_first() {
    let options = Options {
        frame: FrameOptions { system_prompt: Some("new".into()), ..FrameOptions::default() },
        ..Options::default()
    };
    let ledger = check("s old\nu one\ns note\nu two", &options, "s new\nu one\ns note\nu two");
    assert_eq!(rules(&ledger, Action::Dropped), [(0, rule::REPLACED_BY_FRAME)]);
    // Without one, what is stored holds.
    check("s old\nu one", &Options::default(), "s old\nu one");
}

#[test]
fn the_frame_is_inside_the_budget() {
    let history = history("u one\na two\nu three");
    let items = items(&history);
    let frame = threadkeep_core::context::Frame::new(&frame(Mode::Run), Default::default(), &crate::common::Letters);
    let all = context(&items, &of(Mode::Run)).figures;
    assert_eq!(all.tokens, frame.figures().tokens + 4 * 3 + 11);
    for tokens in 0..all.tokens + 5 {
        let context = context(&items, &Options { budget: Budget::tokens(tokens), ..of(Mode::Run) });
        assert_eq!(context.over_budget, context.figures.tokens > tokens);
        assert!(context.figures.tokens >= frame.figures().tokens);
    }
    let limit = |messages: u64| {
        let budget = Budget { max_messages: Some(messages), ..Budget::default() };
        context(&items, &Options { budget, ..of(Mode::Chat) })
    };
    assert_eq!(limit(5).messages.len(), 5);
    assert!(limit(3).over_budget);
}

fn tool(text: String) -> Vec<Message> {
    let mut history = history("u go\na (call/1)\nt call/1 x\na done");
    history[2].content = text.into();
    history
}

#[test]
fn a_large_tool_result_becomes_a_preview() {
    let big = tool("é".repeat(4_001));
    let context = context(&items(&big), &Options::default());
    let text = context.messages[2].text();
    let expected = format!(
        "TOOL_RESULT_PREVIEW (500 of 4001 characters)\n{}\nFull output: @state/logs/tool-results/call%2F1.json",
        "é".repeat(500)
    );
    assert_eq!(text, expected);
    assert_eq!(rules(&context.ledger, Action::Previewed), [(2, rule::TOOL_RESULT_PREVIEW)]);
    let line = &context.ledger[2];
    assert!(line.tokens_before > 4_000 && line.tokens_after < 700);
    // The stored message is the full output, and the path leads to it.
    let found = preview::find("@state/logs/tool-results/call%2F1.json", big.iter()).unwrap();
    assert_eq!(found.text().chars().count(), 4_001);
    // The limit itself is not over it.
    let fits = tool("é".repeat(4_000));
    assert_eq!(build(&items(&fits), &Options::default(), &Estimate).messages[2].text().chars().count(), 4_000);
    let off = Options { preview: None, ..Options::default() };
    assert_eq!(*build(&items(&big), &off, &Estimate).messages[2], big[2]);
}

#[test]
fn previews_cut_no_character_in_two_and_keep_pictures() {
    let mut big = tool(String::new());
    let picture = Part(json!({"type": "image_url", "image_url": {"url": "data:,"}}).as_object().unwrap().clone());
    big[2].content = Content::Parts(vec![Part::text("🙂".repeat(20)), picture.clone()]);
    let options = Options { preview: Some(Preview { over: 10, keep: 5 }), ..Options::default() };
    let context = context(&items(&big), &options);
    let Content::Parts(parts) = &context.messages[2].content else { panic!() };
    assert!(parts[0].as_text().unwrap().starts_with("TOOL_RESULT_PREVIEW (4 of 40 characters)\n🙂🙂\nFull output: "));
    assert_eq!(parts[1], picture);
}

#[test]
fn pinned_results_and_what_was_read_back_stay_whole() {
    let mut pinned = tool("x".repeat(5_000));
    pinned[2].pinned = true;
    assert_eq!(*context(&items(&pinned), &Options::default()).messages[2], pinned[2]);
    // Otherwise a model that reads a full output would be given its preview, for ever.
    let mut back = tool("x".repeat(5_000));
    let path = json!({"path": preview::path("call/0")}).to_string();
    back[1].tool_calls[0] = threadkeep_core::ToolCall::function("call/1", "read", path);
    assert_eq!(*context(&items(&back), &Options::default()).messages[2], back[2]);
}

#[test]
fn paths_lead_back_to_their_call() {
    for id in ["call_1", "../../etc/passwd", "a b", "%2F", "é", "toolu.01-x", ".."] {
        let path = preview::path(id);
        assert_eq!(preview::call_id(&path).as_deref(), Some(id));
        let name = path.strip_prefix("@state/logs/tool-results/").unwrap();
        assert!(!name.contains('/') && !name.contains(' '));
    }
    for wrong in [
        "",
        "@state/logs/tool-results/x",
        "@state/logs/tool-results/%zz.json",
        "/etc/x.json",
        "@state/logs/tool-results/%2f.json",
        "@state/logs/tool-results/a/b.json",
        "@state/logs/tool-results/%.json",
    ] {
        assert_eq!(preview::call_id(wrong), None, "{wrong}");
    }
}

#[test]
fn a_failure_is_in_context_with_its_partial_output() {
    let mut history = history("u write a poem\na Roses are\nu continue");
    history[1].kind = Kind::Error { code: "LLM_ERROR".into(), reason: "timeout".into() };
    let context = context(&items(&history), &Options::default());
    let text = context.messages[1].text();
    assert!(text.starts_with("Roses are\n\nLLM_ERROR\n- reason: timeout"), "{text}");
    assert_eq!(context.ledger[1].rule, rule::LLM_ERROR);
    assert_eq!(context.messages[1].kind, Kind::Plain);
    // A failure before the first word is not an empty message.
    history[1].content = Content::Null;
    assert_eq!(crate::common::context(&items(&history), &Options::default()).messages.len(), 3);
    // And trimming can drop it like any other.
    let options = Options { budget: Budget::tokens(15), ..Options::default() };
    assert_eq!(crate::common::context(&items(&history), &options).messages.len(), 1);
}

#[test]
fn compressed_code_turns_are_in_the_ledger() {
    use threadkeep_core::context::compress::CompressOptions;
    let mut history = history("u double it\na\nu Turn 2 of 5\na");
    history[1].content = "```lisp\n(def limit \"How many\" 5)\n(defn double [x] (* 2 x))\n```".into();
    history[3].content = "```lisp\n(println (double limit))\n```".into();
    let whole = context(&items(&history), &Options::default());
    assert_eq!(*whole.messages[1], history[1]);
    let options = Options { compress: Some(CompressOptions::default()), ..Options::default() };
    let context = context(&items(&history), &options);
    assert!(context.messages[1].text().starts_with("; Function: double\n; Defined: limit"));
    assert_eq!(rules(&context.ledger, Action::Compressed), [(1, "compressed-turn")]);
    assert_eq!(*context.messages[3], history[3]);
}
