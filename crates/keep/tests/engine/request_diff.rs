//! What changed from one request to another: the pieces make the second of the first, and the prefix is what both bodies begin with.

use std::rc::Rc;

use serde_json::{Value, json};
use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::protocol::{
    ContextSettings, MessageChange, MessageForm as Form, PrefixBreak as Break, RequestDiff, context_params,
};
use threadkeep::{Diff, Keep, NewFact, Piece, Rebuilt, Start, apply, diff};
use threadkeep_context::tokens::{Counter, Estimate, cost};
use threadkeep_core::Message;
use threadkeep_provider::{Provider, RenderOptions, render};
use threadkeep_store::MemoryStore;
use threadkeep_tokens::{Bpe, Encoding};

use crate::{World, code, run};

/// Numbers of a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

async fn ask(keep: &Keep<MemoryStore>, at: &str, own: Value) -> String {
    let mut own = own;
    own["record"] = true.into();
    let reply = keep.context_of(at, context_params(own).unwrap()).await.unwrap();
    reply.request.unwrap_or_default()
}

async fn settle(keep: &Keep<MemoryStore>, json: Value) {
    keep.set_context_options(Some("c"), &ContextSettings::from_json(json).unwrap()).await.unwrap();
}

fn message(json: Value) -> Message {
    Message::from_json(json).unwrap()
}

/// A call and its result, of so many words.
fn tools(at: u64, words: usize) -> Vec<Message> {
    let id = format!("call-{at}");
    let call =
        json!([{"id": id, "type": "function", "function": {"name": "look", "arguments": "{\"room\":\"cellar\"}"}}]);
    vec![
        message(json!({"role": "assistant", "content": null, "tool_calls": call})),
        message(
            json!({"role": "tool", "tool_call_id": id, "content": format!("Room {at}: {}", "sixty degrees. ".repeat(words))}),
        ),
    ]
}

/// An answer with reasoning that Anthropic and endpoints of OpenAI's form see again.
fn thought(text: &str) -> Message {
    let signed = json!({"thinking": [{"type": "thinking", "thinking": text, "signature": "c2ln"}]});
    message(
        json!({"role": "assistant", "content": text, "claude": signed, "openai-chat": {"reasoning_content": "Hm."}}),
    )
}

/// Settings that act on prompts.
fn settings(dice: &mut Dice) -> Value {
    let look = json!([{"name": "look", "description": "Looks at a room.", "parameters": {"type": "object"}}]);
    match dice.roll(12) {
        0 => json!({}),
        1 => json!({"budget": {"maxTokens": 300 + dice.roll(900)}}),
        2 => json!({"budget": {"maxTokens": 300 + dice.roll(900)}, "policy": "newest"}),
        3 => json!({"budget": {"maxMessages": 4 + dice.roll(9)}}),
        4 => json!({"systemPrompt": format!("Look after the boilers of house {}.", dice.roll(3))}),
        5 => json!({"mode": "agent", "persona": "You are a pirate."}),
        6 => json!({"toolPreview": {"over": 40 + dice.roll(99), "keep": dice.roll(2)}}),
        7 => json!({"memory": {"facts": 1 + dice.roll(3)}}),
        8 => json!({"tools": look}),
        9 => json!({"includeToolResultsInContext": false}),
        10 => json!({"render": {"reasoning": false}}),
        _ => json!({"toolPreview": false, "budget": {"maxChars": 1000 + dice.roll(5000)}}),
    }
}

/// One step of a random program at the thread `c`.
async fn step(keep: &Keep<MemoryStore>, dice: &mut Dice, at: u64) {
    let question =
        || Message::user(format!("What of house {at}, and of the boiler there? {}", "Quick! ".repeat(at as usize % 9)));
    match dice.roll(12) {
        0..=3 => {
            let answer = thought(&format!("House {at} is warm."));
            keep.append("c", vec![question(), answer, question()]).await.unwrap();
        }
        4..=5 => {
            let words = dice.roll(120) as usize;
            keep.append("c", tools(at, words)).await.unwrap();
        }
        6 => {
            // The user writes an earlier message anew: a branch, on which the thread goes on.
            let end = keep.head("c").await.unwrap().unwrap().id;
            let chain = keep.chain(&end).await.unwrap();
            let earlier = &chain[chain.len() - 1 - (dice.roll(5) as usize).min(chain.len() - 1)];
            let start = Start { after: Some(earlier.id.clone()), expect: None };
            keep.append_from("c", vec![question()], &start).await.unwrap();
        }
        7 => {
            let end = keep.head("c").await.unwrap().unwrap().id;
            let chain = keep.chain(&end).await.unwrap();
            let node = &chain[dice.roll(chain.len() as u64) as usize].id;
            keep.pin_node(node, dice.roll(2) == 0).await.unwrap();
        }
        8 => {
            let options = CompactOptions { tail_turns: Some(1 + dice.roll(3) as u32), ..CompactOptions::default() };
            // A chain that is too short for one stays as it is.
            let _ = keep.compact("c", &options, &Extractive).await;
        }
        9 => drop(keep.remember(NewFact::new(format!("The boiler of house {at} was sold."))).await.unwrap()),
        _ => settle(keep, settings(dice)).await,
    }
}

/// The messages of a body, as its provider names them.
fn list(rebuilt: &Rebuilt) -> &[Value] {
    let name = match rebuilt.record.provider {
        Provider::OpenAiChat | Provider::Anthropic | Provider::Ollama => "messages",
        Provider::Gemini => "contents",
        Provider::OpenAiResponses => "input",
    };
    rebuilt.body[name].as_array().unwrap()
}

/// What a list of messages is made of: roles and blocks, one after the other.
fn units(list: &[Value]) -> Vec<String> {
    let mut units = Vec::new();
    for entry in list {
        match entry.get("content").or_else(|| entry.get("parts")) {
            Some(Value::Array(blocks)) => units.extend(blocks.iter().map(|it| format!("{} {it}", entry["role"]))),
            _ => units.push(entry.to_string()),
        }
    }
    units
}

/// Checks a diff against what both requests are, and gives it.
fn checked(first: &Rebuilt, second: &Rebuilt, counter: &dyn Counter) -> Diff {
    let found = diff(first, second, &|text| u64::from(counter.count(text)));
    let (messages, ledger) = apply(first, &found).unwrap();
    assert_eq!(messages, second.context.messages);
    assert_eq!(ledger, *second.context.ledger);
    let new = found.messages.iter().filter_map(|piece| if let Piece::New(it) = piece { Some(&**it) } else { None });
    new.for_each(|new| assert!(!first.context.messages.contains(new), "what is there is not sent along"));

    let report = &found.report;
    lists_are_complete(first, second, report);
    let (ours, theirs) = (list(first), list(second));
    let differs = (0..ours.len().max(theirs.len())).find(|at| ours.get(*at) != theirs.get(*at));
    assert_eq!(report.prefix.payload, differs);
    let same = first.context.messages == second.context.messages && first.body["tools"] == second.body["tools"];
    assert_eq!(report.prefix.end.is_none(), same && differs.is_none(), "{:?}", report.prefix);
    if first.record.provider != second.record.provider || first.body["tools"] != second.body["tools"] {
        assert_eq!((report.prefix.tokens, report.prefix.messages), (0, 0));
        return found;
    }
    prefix_is_shared(first, second, report, counter);
    found
}

/// The prefix is what both bodies begin with, to the block, and its tokens are those of its messages.
fn prefix_is_shared(first: &Rebuilt, second: &Rebuilt, report: &RequestDiff, counter: &dyn Counter) {
    let provider = second.record.provider;
    let (shared, common) = (report.prefix.messages, &second.context.messages[..report.prefix.messages]);
    assert_eq!(common, &first.context.messages[..shared]);
    let (one, other) = (first.context.messages.get(shared), second.context.messages.get(shared));
    let same_form = first.options["render"] == second.options["render"];
    assert!(one != other || one.is_none() || !same_form, "it ends where they differ");
    let reasoning = second.options["render"]["reasoning"].as_bool().unwrap_or(true);
    let options = RenderOptions { prefill: true, reasoning, ..RenderOptions::default() };
    let alone = render(&common.iter().collect::<Vec<_>>(), provider, &options).payload;
    let alone = Rebuilt { body: alone, ..second.clone() };
    let instructed = |it: &Rebuilt| ["system", "systemInstruction", "instructions"].map(|name| it.body[name].clone());
    // Without a user's message yet, the renderer opens with one of its own.
    let says = common.iter().any(|it| it.role.as_str() == "user");
    if says {
        assert_eq!((instructed(first), instructed(second)), (instructed(&alone), instructed(&alone)));
        let (ours, theirs, mut alone) = (units(list(first)), units(list(second)), units(list(&alone)));
        // A call at the end, alone, gets a result that it does not have here.
        alone.truncate(alone.len() - usize::from(alone.last().is_some_and(|it| it.contains("The call was cancelled"))));
        assert!(ours.starts_with(&alone) && theirs.starts_with(&alone), "{:?}", report.prefix);
        if same_form {
            let alike = ours.iter().zip(&theirs).take_while(|(one, other)| one == other).count();
            // Calls of other ids are written alike where a form has no ids.
            let no_ids = matches!(provider, Provider::Ollama | Provider::Gemini);
            assert!(alike == alone.len() || no_ids && alike > alone.len(), "no more is shared: {:?}", report.prefix);
        }
    }
    let whole: u64 = common.iter().map(|it| u64::from(cost(it, provider, counter).total())).sum();
    let part = report.prefix.tokens.checked_sub(whole + second.context.kinds.tools).unwrap();
    let text = |it: Option<&Message>| it.map(|it| it.text().into_owned()).unwrap_or_default();
    let (ours, theirs) = (text(one), text(other));
    let alike = ours.chars().zip(theirs.chars()).take_while(|(one, other)| one == other).count();
    let begins: String = ours.chars().take(alike).collect();
    let most = u64::from(counter.count(&begins));
    assert!(part == 0 || part == most, "{part} of {most}: {:?}", report.prefix);
    let plain = one.zip(other).is_some_and(|(one, other)| {
        one.role == other.role && one.reasoning.is_none() && other.reasoning.is_none() && same_form
    });
    assert!(!plain || part == most, "{part} of {most}");
}

/// Every message that only one has is named once, and what is not named stands in both in the same order and with the same words.
fn lists_are_complete(first: &Rebuilt, second: &Rebuilt, report: &RequestDiff) {
    let before = |it: &MessageChange| it.before.as_ref().and_then(|state| state.place);
    let after = |it: &MessageChange| it.after.as_ref().and_then(|state| state.place);
    let all = [&report.entered, &report.left, &report.changed, &report.moved];
    let named = |place: &dyn Fn(&MessageChange) -> Option<usize>| -> Vec<usize> {
        let mut places: Vec<usize> = all.iter().flat_map(|list| list.iter()).filter_map(place).collect();
        places.sort_unstable();
        places.dedup();
        places
    };
    let rest = |messages: &[Message], named: Vec<usize>| -> Vec<Message> {
        let kept = (0..messages.len()).filter(|at| named.binary_search(at).is_err());
        kept.map(|at| messages[at].clone()).collect()
    };
    let (ours, theirs) = (&first.context.messages, &second.context.messages);
    assert_eq!(rest(ours, named(&before)), rest(theirs, named(&after)), "what is not named is the same");
    for change in &report.entered {
        assert!(after(change).is_some() || change.after.as_ref().is_some_and(|it| it.form == Form::Compressed));
        assert!(before(change).is_none());
    }
    assert!(report.left.iter().all(|change| after(change).is_none()));
    assert!(report.moved.iter().all(|change| before(change).is_some() && after(change).is_some()));
}

fn exact() -> Rc<Bpe> {
    Rc::new(Bpe::embedded(Encoding::O200k))
}

#[test]
fn diffs_of_1000_neighbouring_requests_lead_from_the_first_to_the_second() {
    let mut pairs = 0;
    let mut seen = [0; 5];
    let mut whys: Vec<Break> = Vec::new();
    let mut forms: Vec<(Form, Form)> = Vec::new();
    for seed in 0..20 {
        let provider = Provider::ALL[seed as usize % Provider::ALL.len()];
        let counter: Rc<dyn Counter> = if seed < 2 { exact() } else { Rc::new(Estimate) };
        let encoding = if seed < 2 { "o200k_base" } else { "estimate" };
        run(async {
            let world = World::default();
            let keep = world.tab();
            keep.add_vocabulary(exact());
            let mut dice = Dice(seed + 7);
            keep.append("c", vec![Message::system("Be brief."), Message::user("Hello.")]).await.unwrap();
            let mut ids: Vec<String> = Vec::new();
            let mut at = 0;
            while ids.len() < 51 {
                at += 1;
                step(&keep, &mut dice, at).await;
                let id = ask(&keep, "c", json!({"encoding": encoding, "provider": provider.name()})).await;
                // One over its budget is not noted.
                ids.extend(Some(id).filter(|id| !id.is_empty()));
            }
            for pair in ids.windows(2) {
                let (first, second) = (keep.request(&pair[0]).await.unwrap(), keep.request(&pair[1]).await.unwrap());
                let found = checked(&first, &second, &*counter);
                let again = keep.diff_requests(&pair[0], &pair[1]).await.unwrap();
                assert_eq!(again, found);
                let report = &found.report;
                for (seen, list) in seen.iter_mut().zip([&report.entered, &report.left, &report.moved, &report.changed])
                {
                    *seen += list.len();
                }
                seen[4] += report.options.len();
                whys.extend(report.prefix.end.as_ref().map(|end| end.why));
                forms.extend(
                    report.changed.iter().filter_map(|it| Some((it.before.as_ref()?.form, it.after.as_ref()?.form))),
                );
                pairs += 1;
            }
            // The first and the last are far apart.
            let (first, last) = (keep.request(&ids[0]).await.unwrap(), keep.request(&ids[50]).await.unwrap());
            checked(&first, &last, &*counter);
            checked(&last, &first, &*counter);
            let none = checked(&last, &last, &*counter).report;
            assert_eq!((none.prefix.messages, none.options.len()), (last.context.messages.len(), 0));
            let tokens: u32 = last.context.ledger.iter().filter(|it| !beside(it.rule)).map(|it| it.tokens_after).sum();
            assert_eq!(none.prefix.tokens, u64::from(tokens), "all but what only the payload has");
        });
    }
    assert_eq!(pairs, 1000);
    assert!(seen.iter().all(|count| *count > 20), "every list is tried: {seen:?}");
    for why in [Break::Entered, Break::Left, Break::Moved, Break::Changed, Break::Tools, Break::Rendering] {
        assert!(whys.contains(&why), "{why:?} is tried");
    }
    for form in [
        (Form::Whole, Form::Preview),
        (Form::Preview, Form::Whole),
        (Form::Whole, Form::Summarised),
        (Form::Summary, Form::Summary),
    ] {
        assert!(forms.contains(&form), "{form:?} is tried");
    }
}

fn beside(rule: &str) -> bool {
    ["reply", "opening", "closing"].contains(&rule)
}

#[test]
fn a_diff_says_what_changed_and_which_option_did_it() {
    run(async {
        let keep = World::default().tab();
        keep.add_vocabulary(exact());
        for at in 0..8 {
            let said = [Message::user(format!("Question {at}")), Message::assistant(format!("Answer {at}"))];
            keep.append("c", said.into()).await.unwrap();
        }
        keep.append("c", tools(1, 400)).await.unwrap();
        let base = json!({"encoding": "estimate", "systemPrompt": "Be brief."});
        let with = |more: Value| {
            let mut own = base.clone();
            own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            own
        };
        let whole = ask(&keep, "c", base.clone()).await;
        let of = async |first: &str, second: &str| keep.diff_requests(first, second).await.unwrap().report;

        let preview = ask(&keep, "c", with(json!({"toolPreview": {"over": 100, "keep": 0}}))).await;
        let found = of(&whole, &preview).await;
        let [changed] = &found.changed[..] else { panic!("{found:?}") };
        let form = |state: &Option<threadkeep::protocol::MessageState>| state.as_ref().unwrap().form;
        assert_eq!((form(&changed.before), form(&changed.after)), (Form::Whole, Form::Preview));
        let end = found.prefix.end.unwrap();
        assert_eq!(
            (end.why, end.option.as_deref(), end.message.as_ref()),
            (Break::Changed, Some("toolPreview"), Some(changed))
        );
        assert_eq!((found.prefix.messages, found.prefix.payload), (18, Some(18)));
        assert_eq!((found.entered.len(), found.left.len(), found.options), (0, 0, vec!["toolPreview".to_owned()]));

        let prompt = ask(&keep, "c", with(json!({"systemPrompt": "Be brief. Now."}))).await;
        let end = of(&whole, &prompt).await.prefix;
        assert_eq!((end.tokens, end.messages, end.payload), (3, 0, Some(0)), "the text that both begin with counts");
        assert_eq!(end.end.unwrap().option.as_deref(), Some("systemPrompt"));

        let few = ask(&keep, "c", with(json!({"budget": {"maxMessages": 6}}))).await;
        let found = of(&whole, &few).await;
        let end = found.prefix.end.as_ref().unwrap();
        assert_eq!((end.why, end.option.as_deref(), found.left.len()), (Break::Left, Some("budget"), 13));
        assert_eq!(found.left[0].after.as_ref().unwrap().rule, "over-max-messages");
        assert_eq!(of(&few, &whole).await.entered.len(), 13);

        let tools = json!([{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}]);
        let end = of(&whole, &ask(&keep, "c", with(json!({"tools": tools}))).await).await.prefix;
        let why = end.end.unwrap();
        assert_eq!((end.tokens, why.why, why.option.as_deref()), (0, Break::Tools, Some("tools")));

        let render = |reasoning: bool| with(json!({"provider": "anthropic", "render": {"reasoning": reasoning}}));
        keep.append("d", vec![Message::user("One"), thought("Yes."), Message::user("Two")]).await.unwrap();
        let (with_it, without) = (ask(&keep, "d", render(true)).await, ask(&keep, "d", render(false)).await);
        let end = of(&with_it, &without).await.prefix;
        assert_eq!((end.messages, end.payload), (2, Some(1)), "{end:?}");
        let why = end.end.unwrap();
        assert_eq!((why.why, why.option.as_deref()), (Break::Rendering, Some("render")));

        keep.append("c", vec![Message::assistant("It is warm."), Message::user("Thanks")]).await.unwrap();
        let more = ask(&keep, "c", base.clone()).await;
        let found = of(&whole, &more).await;
        assert_eq!((found.entered.len(), found.prefix.messages, found.prefix.payload), (2, 19, Some(19)));
        assert_eq!(found.prefix.end.unwrap().option, None, "the thread grew");

        let options = CompactOptions { tail_turns: Some(2), ..CompactOptions::default() };
        keep.compact("c", &options, &Extractive).await.unwrap().checkpoint.unwrap();
        let found = of(&more, &ask(&keep, "c", base.clone()).await).await;
        let end = found.prefix.end.unwrap();
        assert_eq!((end.why, end.option, found.left.len()), (Break::Changed, None, 0));
        assert_eq!(end.message.unwrap().after.unwrap().form, Form::Summarised);
        assert_eq!(found.entered[0].after.as_ref().unwrap().form, Form::Summary);
        assert_eq!(code(keep.diff_requests(&more, "x").await), "bad-request");
    });
}

#[test]
fn requests_of_two_threads_are_compared_by_what_they_say() {
    run(async {
        let keep = World::default().tab();
        let begin = || vec![Message::system("Be brief."), Message::user("Hello."), Message::assistant("Yes?")];
        for (name, text) in [("a", "The boiler."), ("b", "The cat.")] {
            keep.append(name, begin()).await.unwrap();
            keep.append(name, vec![Message::user(text)]).await.unwrap();
        }
        let own = json!({"encoding": "estimate"});
        let (first, second) = (ask(&keep, "a", own.clone()).await, ask(&keep, "b", own).await);
        let (first, second) = (keep.request(&first).await.unwrap(), keep.request(&second).await.unwrap());
        let found = checked(&first, &second, &Estimate).report;
        assert_eq!((found.prefix.messages, found.entered.len(), found.left.len()), (3, 1, 1));
        assert_eq!((found.moved.len(), found.changed.len()), (0, 0));
        let empty = Rebuilt {
            context: threadkeep::protocol::ContextReply { messages: Vec::new(), ..first.context.clone() },
            ..first.clone()
        };
        assert_eq!(
            apply(&empty, &diff(&first, &second, &|_| 0)),
            None,
            "a diff of another request is none of this one"
        );
    });
}

#[test]
fn diffs_of_real_sessions_lead_from_each_request_to_the_next() {
    let Some(data) = crate::folder::data() else { return };
    run(async {
        let mut pairs = 0;
        for folder in ["claude-code-sessions", "codex-rollouts", "pi-sessions"] {
            for entry in std::fs::read_dir(data.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|it| it != "jsonl") || path.metadata().unwrap().len() > 3_000_000 {
                    continue;
                }
                let keep = World::default().tab();
                let name = path.display().to_string();
                keep.import(vec![(name, std::fs::read(&path).unwrap())], None, |_| {}).await.unwrap();
                for thread in keep.transcripts().await.unwrap() {
                    // What another program sent is not known. The same places are asked again from here.
                    let told = keep.requests(thread.id.as_str(), Some(12)).await.unwrap();
                    let mut ids = Vec::new();
                    for record in told {
                        let own = json!({"encoding": "estimate", "provider": record.provider.name(), "budget": {"maxTokens": 20_000}});
                        ids.push(ask(&keep, record.node.as_str(), own).await);
                    }
                    ids.retain(|id| !id.is_empty());
                    for pair in ids.windows(2) {
                        let (first, second) =
                            (keep.request(&pair[0]).await.unwrap(), keep.request(&pair[1]).await.unwrap());
                        let found = diff(&first, &second, &|text| u64::from(Estimate.count(text)));
                        let (messages, ledger) = apply(&first, &found).unwrap();
                        assert!(messages == second.context.messages && ledger == *second.context.ledger);
                        lists_are_complete(&first, &second, &found.report);
                        let (ours, theirs) = (list(&first), list(&second));
                        let differs = (0..ours.len().max(theirs.len())).find(|at| ours.get(*at) != theirs.get(*at));
                        assert_eq!(found.report.prefix.payload, differs);
                        pairs += 1;
                    }
                }
            }
        }
        eprintln!("{pairs} pairs of real requests");
        assert!(pairs > 50, "{pairs}");
    });
}
