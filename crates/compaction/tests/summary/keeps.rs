//! What the built-in summariser keeps, a kind of thing a test: each stands once in a long chat about nothing.

use threadkeep_compaction::memory::FactKind;
use threadkeep_core::{Kind, Message};

use super::common::{among_talk, summarise, texts};

/// Asserts that a sentence of a message outlives a compaction to a small part.
#[track_caller]
fn keeps(user: bool, message: &str, sentence: &str) {
    let messages = among_talk(user, message);
    let whole: usize = messages.iter().map(|message| message.text().len() / 4).sum();
    let summary = summarise(&messages, whole as u32 / 12);
    let texts = texts(&summary);
    assert!(texts.iter().any(|text| text.contains(sentence)), "{sentence:?} is not in {texts:#?}");
}

#[test]
fn keeps_user_instructions() {
    for sentence in [
        "Always answer in one short paragraph.",
        "Never touch the generated files.",
        "Please use tabs in Makefiles.",
        "Don't mention the price to anyone.",
        "Verwende immer die metrischen Einheiten.",
        "N'utilise jamais de tableaux.",
        "Usa siempre el formato corto.",
        "请总是用中文回答。",
    ] {
        keeps(true, &format!("It rained here today. {sentence} The garden is wet."), sentence);
    }
}

#[test]
fn keeps_user_preferences() {
    for sentence in ["I prefer Postgres to MySQL for this.", "Ich mag lieber kurze Antworten.", "我喜欢简短的回答。"]
    {
        keeps(true, &format!("It was a long day. {sentence} The train was late."), sentence);
    }
}

#[test]
fn keeps_decisions() {
    let sentence = "We decided to store sessions in Redis.";
    keeps(true, &format!("The meeting was long. {sentence} Everybody went home."), sentence);
    keeps(false, &format!("Thanks for the notes. {sentence} That is all for now."), sentence);
}

#[test]
fn keeps_errors() {
    let sentence = "The import failed with OutOfMemoryError in worker 7.";
    keeps(false, &format!("It ran for a while. {sentence} It was then tried again."), sentence);
    let mut messages = among_talk(false, "Half an ans");
    messages[40].kind = Kind::Error { code: "LLM_ERROR".into(), reason: "upstream timed out after 90 s".into() };
    assert!(texts(&summarise(&messages, 250)).contains(&"upstream timed out after 90 s"));
}

#[test]
fn keeps_paths_and_numbers() {
    let sentence = "The limit of 4096 lies in src/config/limits.toml beside MAX_UPLOAD.";
    keeps(false, &format!("There are several places. {sentence} It is read at the start."), sentence);
    keeps(false, "We talked. The release is on 2026-03-14 at 10:30. Fine.", "The release is on 2026-03-14 at 10:30.");
    keeps(false, "See here. The text is at https://example.org/a/b. Fine.", "The text is at https://example.org/a/b.");
}

#[test]
fn keeps_open_questions() {
    let sentence = "Open question: who rotates the signing keys?";
    keeps(false, &format!("That was that. {sentence} It was a long day."), sentence);
    keeps(true, "Good. Which of the two vendors do we take, Hadron or Muon? It is late.", "Hadron or Muon?");
}

#[test]
fn keeps_names() {
    keeps(true, "It was nice. My sister Marit lives in Tromsø. We met.", "My sister Marit lives in Tromsø.");
}

#[test]
fn keeps_what_began_it_all() {
    let mut messages = among_talk(true, "It is late.");
    messages.insert(0, Message::user("Migrate the billing service from Perl to Rust."));
    let summary = summarise(&messages, 200);
    assert_eq!(summary.statements[0].text, "Migrate the billing service from Perl to Rust.");
    assert!(summary.episode.starts_with("Migrate the billing service"), "{}", summary.episode);
}

#[test]
fn says_nothing_twice() {
    let messages: Vec<Message> =
        (0..30).map(|at| Message::user(format!("{}Deploy to the staging cluster.", " ".repeat(at)))).collect();
    let summary = summarise(&messages, 500);
    assert_eq!(texts(&summary), ["Deploy to the staging cluster."]);
    assert!(summary.statements[0].sources.len() > 1, "who said it again is a source");
}

#[test]
fn a_contradiction_is_not_a_repetition() {
    let messages = [
        Message::user("I have used Flask routes in this project."),
        Message::user("I have never used Flask routes in this project."),
    ];
    assert_eq!(summarise(&messages, 500).statements.len(), 2);
    let messages =
        [Message::user("The quota of bucket alpha is 12."), Message::user("The quota of bucket alpha is 15.")];
    assert_eq!(summarise(&messages, 500).statements.len(), 2);
}

#[test]
fn keeps_code_whole_or_in_blocks() {
    let code = "fn area(side: u32) -> u32 {\n    side * side\n}";
    let messages = [Message::user(format!("This is it:\n```rust\n{code}\n```"))];
    assert!(texts(&summarise(&messages, 500)).contains(&code));
}

#[test]
fn turns_keep_their_order() {
    let messages: Vec<Message> =
        (0..50).map(|at| Message::user(format!("Step {at} concerns module number{at} of the plan."))).collect();
    let summary = summarise(&messages, 300);
    let places: Vec<usize> =
        summary.statements.iter().map(|statement| statement.sources[0].node.as_str()[1..].parse().unwrap()).collect();
    assert!(places.len() > 5 && places.is_sorted(), "{places:?}");
}

#[test]
fn what_is_not_for_prompts_is_not_summarised() {
    let hidden = Message { include_in_context: false, ..Message::user("Always whisper the secret word.") };
    assert!(summarise(&[hidden], 500).statements.is_empty());
}

#[test]
fn facts_are_found_with_their_kinds() {
    let messages = [
        Message::user("My name is Ada Brandt and I build looms. I prefer dark themes in the editor. It rained."),
        Message::assistant("Noted! I prefer nothing."),
        Message::user("Never deploy on a Friday. We decided to go with Kafka for the events. Do you prefer tea?"),
    ];
    let summary = summarise(&messages, 500);
    let facts: Vec<(FactKind, &str)> = summary.facts.iter().map(|fact| (fact.kind, fact.fact.as_str())).collect();
    assert_eq!(
        facts,
        [
            (FactKind::Other, "My name is Ada Brandt and I build looms."),
            (FactKind::Preference, "I prefer dark themes in the editor."),
            (FactKind::Constraint, "Never deploy on a Friday."),
            (FactKind::Decision, "We decided to go with Kafka for the events."),
        ]
    );
    for fact in &summary.facts {
        assert!(!fact.sources.is_empty() && !fact.tags.is_empty());
        assert!(fact.confidence.thousandths() > 0 && fact.salience.thousandths() > 0);
    }
}

#[test]
fn an_episode_is_a_few_sentences_with_tags() {
    let mut messages =
        among_talk(true, "We decided to move the Harbour project to Oslo. The Harbour budget is 40,000 kroner.");
    messages.push(Message::user("The Harbour project starts in May."));
    let summary = summarise(&messages, 400);
    assert!(summary.episode.contains("Harbour") && summary.episode.len() < 1_000, "{}", summary.episode);
    assert!(summary.tags.len() > 2 && summary.tags.len() <= 8, "{:?}", summary.tags);
    assert!(summary.salience > summarise(&among_talk(true, "It is late."), 400).salience);
}
