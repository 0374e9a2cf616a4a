//! What ranks higher: words of messages near a message, sessions, words close together, speakers, times.

use threadkeep_recall::{Builder, Filter, Found, Index, NewDoc, Query, Tuning};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// 2023-05-08.
const START: i64 = 19_485 * DAY;

/// A message: its role, how long after the start it was said, whether it follows the one before, and its text.
type Said<'a> = (u8, i64, bool, &'a str);

fn docs<'a>(said: &'a [Said<'a>]) -> Vec<NewDoc<'a>> {
    let doc = |(seq, (role, after, follows, text)): (u64, &Said<'a>)| {
        let before = seq.checked_sub(1).filter(|_| *follows).map(|seq| (seq, 0));
        NewDoc { owner: "t", seq, index: 0, role: *role, kind: 0, time: START + after, before, text, names: &[] }
    };
    (0u64..).zip(said).map(doc).collect()
}

fn index(docs: &[NewDoc<'_>], tuning: Tuning) -> Index {
    let mut builder = Builder::default();
    docs.iter().for_each(|doc| builder.add(doc));
    Index::tuned(vec![builder.finish().into()], tuning)
}

fn find<'a>(index: &'a Index, query: &str) -> Vec<Found<'a>> {
    index.find(&Query::parse(query), &Filter::default(), 20)
}

fn order(index: &Index, query: &str) -> Vec<u64> {
    find(index, query).iter().map(|found| found.doc.seq).collect()
}

#[test]
fn words_of_neighbours_decide_between_equals() {
    let said = [
        (1, 0, false, "Did you see the concert?"),
        (1, 0, true, "Yes, the violin was wonderful."),
        (1, 0, true, "I am glad."),
        (1, 0, false, "Did you see the film?"),
        (1, 0, true, "Yes, the violin was wonderful."),
    ];
    let docs = docs(&said);
    assert_eq!(order(&index(&docs, Tuning::default()), "violin at the film")[..2], [3, 4]);
    assert_eq!(order(&index(&docs, Tuning::default()), "violin at the concert")[..2], [0, 1]);
}

#[test]
fn neighbours_count_within_a_session_only() {
    let said = |pause: i64| [(1, 0, false, "Where is the passport?"), (1, pause, true, "In the drawer.")];
    assert_eq!(order(&index(&docs(&said(HOUR)), Tuning::default()), "passport"), [0, 1]);
    assert_eq!(
        order(&index(&docs(&said(13 * HOUR)), Tuning::default()), "passport"),
        [0],
        "the next day is another session"
    );
}

#[test]
fn long_messages_give_and_take_little() {
    let long = "weather ".repeat(300);
    let with = |text: &str| {
        let said = [(2, 0, false, text), (1, 0, true, "We met in the garden."), (1, 0, false, "We met in the garden.")];
        let index = index(&docs(&said), Tuning { session: 0.0, user: 1.0, ..Tuning::default() });
        let found = find(&index, "garden drought");
        let score = |seq: u64| found.iter().find(|found| found.doc.seq == seq).map_or(0.0, |found| found.score);
        score(1) / score(2)
    };
    assert!(with("drought again") > 1.2, "a short one gives its word");
    assert!(with(&format!("drought {long}")) < 1.1, "a long one hardly");
}

#[test]
fn a_session_that_has_the_other_words_comes_first() {
    let filler = "Nothing much happened in between.";
    let said = [
        (1, 0, false, "The recipe needs basil."),
        (1, 0, true, filler),
        (1, 0, true, filler),
        (1, 0, true, filler),
        (1, 0, true, "We talked about the market in Lisbon."),
        (1, 2 * DAY, false, "The recipe needs basil."),
    ];
    let docs = docs(&said);
    let first = |tuning| order(&index(&docs, tuning), "basil Lisbon").into_iter().find(|seq| *seq != 4).unwrap();
    assert_eq!(first(Tuning { near: [0.0; 4], ..Tuning::default() }), 0);
    let without = index(&docs, Tuning { near: [0.0; 4], session: 0.0, ..Tuning::default() });
    let found = find(&without, "basil Lisbon");
    let of = |seq| found.iter().find(|found| found.doc.seq == seq).unwrap().score;
    assert_eq!(of(0), of(5), "without sessions both are alike");
}

#[test]
fn words_close_to_each_other_come_first() {
    let said = [
        (1, 0, false, "bridge was closed so we took a long way around with luggage golden"),
        (1, 0, false, "we took a long way around with luggage so golden bridge was closed"),
    ];
    let docs = docs(&said);
    assert_eq!(order(&index(&docs, Tuning::default()), "golden bridge"), [1, 0]);
    let without = index(&docs, Tuning { closeness: 0.0, ..Tuning::default() });
    let found = find(&without, "golden bridge");
    assert_eq!(found[0].score, found[1].score, "without it both are alike");
}

#[test]
fn users_count_more_where_assistants_are_wordy() {
    let answer = |words: usize| format!("Plum jam. {}", "Stir it well and wait. ".repeat(words));
    let ratio = |answer: &str| {
        // What is compared are two short messages; the last only makes the assistant wordy.
        let said = [(1, 0, false, "Plum jam it is."), (2, 0, false, "Plum jam it is."), (2, 0, false, answer)];
        let index = index(&docs(&said), Tuning { session: 0.0, ..Tuning::default() });
        let found = find(&index, "jam");
        let of = |seq: u64| found.iter().find(|found| found.doc.seq == seq).unwrap().score;
        of(0) / of(1)
    };
    assert_eq!(ratio("Fine by me too."), 1.0, "both talk alike");
    let some = ratio(&answer(2));
    assert!(some > 1.2 && some < 2.0, "{some}");
    assert_eq!(ratio(&answer(60)), 2.0, "never more");
}

#[test]
fn what_has_the_words_comes_before_what_only_follows_it() {
    let long = format!("Your luggage is in Oslo. {}", "And further words follow here. ".repeat(20));
    let said = [(1, 0, false, "Where is it?"), (2, 0, true, long.as_str()), (1, 0, true, "Keep it there.")];
    let docs = docs(&said);
    assert_eq!(order(&index(&docs, Tuning::default()), "luggage Oslo"), [1, 2]);
}

#[test]
fn the_time_in_a_question_lifts_messages_of_that_time() {
    let said: Vec<Said<'_>> =
        (0..5).map(|month| (1, 30 * DAY * month, false, "We had dinner at the harbour.")).collect();
    let docs = docs(&said);
    let index = index(&docs, Tuning::default());
    let first = |query: &Query| index.find(query, &Filter::default(), 5).remove(0);
    assert_eq!(order(&index, "dinner")[0], 0, "all are alike");
    let found = first(&Query::parse("Where was the dinner in July 2023?"));
    assert_eq!((found.doc.seq, found.why.time), (2, true));
    // Asked on 2023-09-20, when the last message is ten days old.
    let now = (START + 135 * DAY) / 1000;
    assert_eq!(first(&Query::parse_at("dinner two weeks ago", Some(now))).doc.seq, 4);
    let all = index.find(&Query::parse("dinner in July 2023"), &Filter::default(), 5).len();
    assert_eq!(all, 5, "a time is no filter");
    assert!(!first(&Query::parse("dinner before we moved")).why.time);
}

#[test]
fn forms_that_no_stemmer_joins_are_found() {
    let docs = docs(&[(1, 0, false, "She bought a kettle."), (1, 0, false, "The children went home.")]);
    let index = index(&docs, Tuning::default());
    assert_eq!(order(&index, "what did she buy"), [0]);
    assert_eq!(order(&index, "where did the child go"), [1]);
    assert_eq!(order(&index, "\"go home\""), [0u64; 0], "phrases stay exact");
    assert_eq!(order(&index, "kettle -buy"), [0], "and so does what is excluded");
}

#[test]
fn stop_words_count_in_quotes_and_alone() {
    let docs = docs(&[
        (1, 0, false, "To be or not to be."),
        (1, 0, false, "A kettle of tea."),
        (1, 0, false, "Der Hund ist hier."),
        (1, 0, false, "We watched Die Hard."),
    ]);
    let index = index(&docs, Tuning::default());
    assert_eq!(order(&index, "what is to be"), [0], "a query of stop words alone looks for them");
    assert_eq!(order(&index, "\"to be\" kettle"), [0]);
    assert_eq!(order(&index, "where is the kettle"), [1], "other words come alone");
    assert_eq!(order(&index, "wo ist der Hund"), [2]);
    assert_eq!(Query::parse("die hard").clauses.len(), 2, "one word of another language is a word");
    assert_eq!(Query::parse("Where do I live?").clauses.len(), 1);
}

#[test]
fn a_hit_says_why_it_was_found() {
    let docs =
        docs(&[(1, 0, false, "Where did you put the passport?"), (1, 0, true, "In the blue drawer, of course.")]);
    let index = index(&docs, Tuning::default());
    let found = find(&index, "passport drawer \"blue drawer\" in May 2023");
    assert_eq!(found[0].doc.seq, 1);
    assert_eq!(found[0].why.words, ["drawer", "blue drawer"]);
    assert_eq!(found[0].why.context, ["passport"]);
    assert!(found[0].why.time);
    assert_eq!(found[0].why.meaning, 0.0);
}

#[test]
fn one_more_message_changes_only_those_near_it() {
    let words = ["amber", "birch", "cedar", "dogwood", "elm", "fir", "gorse", "hazel", "ivy", "juniper"];
    let said: Vec<Said<'_>> = words.iter().map(|word| (1, 0, true, *word)).collect();
    let docs = docs(&said);
    let (before, after) = (index(&docs[..9], Tuning::default()), index(&docs, Tuning::default()));
    assert_eq!(order(&before, "dogwood"), order(&after, "dogwood"));
    assert_eq!(order(&before, "ivy"), [8]);
    assert_eq!(order(&after, "ivy"), [8, 9], "the new one answers the last");
}
