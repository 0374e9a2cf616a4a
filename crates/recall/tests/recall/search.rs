//! What is found by which words, in which order.

use threadkeep_recall::{Builder, Filter, Index, MOST_WORDS, NewDoc, Query};

fn doc<'a>(seq: u64, role: u8, text: &'a str) -> NewDoc<'a> {
    NewDoc { owner: "t", seq, index: 0, role, kind: 0, time: 1000 * seq as i64, before: None, text, names: &[] }
}

fn index(docs: &[NewDoc<'_>]) -> Index {
    let mut builder = Builder::default();
    docs.iter().for_each(|doc| builder.add(doc));
    Index::of(vec![builder.finish()])
}

fn find(index: &Index, query: &str, filter: &Filter<'_>) -> Vec<u64> {
    index.find(&Query::parse(query), filter, 10).iter().map(|found| found.doc.seq).collect()
}

#[test]
fn words_are_found_in_other_forms_and_languages() {
    let index = index(&[
        doc(0, 1, "We are connecting the printers to the network."),
        doc(1, 1, "Die Häuser in der Straße sind nicht mehr zu haben, und das ist schade."),
        doc(2, 1, "Elle préférait les cafés de la ville et du port."),
        doc(3, 1, "我住在东京都，喜欢喝咖啡。"),
        doc(4, 1, "call getUserName in src/user_names/mod.rs, 1,024 times"),
        doc(5, 1, "Книги лежат на столе"),
    ]);
    for (query, expected) in [
        ("connection", 0),
        ("haus", 1),
        ("Strasse", 1),
        ("cafe", 2),
        ("préférer", 2),
        ("东京", 3),
        ("咖", 3),
        ("getusername", 4),
        ("getUserName", 4),
        ("user_names/mod.rs", 4),
        ("1024", 4),
        ("книга", 5),
    ] {
        assert_eq!(find(&index, query, &Filter::default()).first(), Some(&expected), "{query}");
    }
    assert_eq!(find(&index, "zeppelin", &Filter::default()), [0u64; 0]);
    assert_eq!(find(&index, "", &Filter::default()), [0u64; 0]);
}

#[test]
fn phrases_prefixes_and_exclusions() {
    let index = index(&[
        doc(0, 1, "the red car and the blue bus"),
        doc(1, 1, "a blue car"),
        doc(2, 1, "the bus was red, carpets were blue"),
    ]);
    let all = &Filter::default();
    assert_eq!(find(&index, "\"blue car\"", all), [1]);
    assert_eq!(find(&index, "\"the red\"", all), [0]);
    let mut begins = find(&index, "carp*", all);
    assert_eq!(begins, [2]);
    begins = find(&index, "car*", all);
    begins.sort_unstable();
    assert_eq!(begins, [0, 1, 2]);
    assert_eq!(find(&index, "blue -bus", all), [1]);
    assert_eq!(find(&index, "\"unended blue", all), [0u64; 0]);
}

#[test]
fn filters_narrow() {
    let mut docs = [doc(1, 0, "red"), doc(2, 1, "red"), doc(3, 2, "red"), doc(4, 3, "red")];
    docs[3].names = &["search_web"];
    docs[2].owner = "other";
    let index = index(&docs);
    let sorted = |filter: &Filter<'_>| {
        let mut found = find(&index, "red", filter);
        found.sort_unstable();
        found
    };
    assert_eq!(sorted(&Filter { roles: 0b110, ..Filter::default() }), [2, 3]);
    assert_eq!(sorted(&Filter { since: Some(2), until: Some(4), ..Filter::default() }), [2, 3]);
    assert_eq!(sorted(&Filter { name: Some("search_web"), ..Filter::default() }), [4]);
    assert_eq!(sorted(&Filter { name: Some("search"), ..Filter::default() }), [0u64; 0]);
    assert_eq!(sorted(&Filter { owner: Some(&|owner| owner == "t"), ..Filter::default() }), [1, 2, 4]);
    assert_eq!(sorted(&Filter { doc: Some(&|_, doc| doc.seq != 2), ..Filter::default() }), [1, 3, 4]);
    assert_eq!(find(&index, "search_web", &Filter::default()), [0u64; 0], "names are no words");
}

#[test]
fn a_short_message_is_found_by_what_it_answers() {
    let long = "weather ".repeat(80);
    let mut docs = [
        doc(0, 1, "Where did you put the passport?"),
        doc(1, 2, "In the blue drawer."),
        doc(2, 2, &long),
        doc(3, 1, "Nothing else."),
    ];
    docs[1].before = Some((0, 0));
    docs[2].before = Some((1, 0));
    let index = index(&docs);
    assert_eq!(find(&index, "passport", &Filter::default()), [0, 1]);
    assert_eq!(find(&index, "drawer", &Filter::default()), [1], "a long message stands for itself");
    assert_eq!(find(&index, "\"passport\"", &Filter::default()), [0], "a phrase must be there");
}

#[test]
fn context_reaches_across_segments() {
    let (mut first, mut second) = (Builder::default(), Builder::default());
    first.add(&doc(0, 1, "Where did you put the passport?"));
    second.add(&NewDoc { before: Some((0, 0)), ..doc(1, 2, "In the blue drawer.") });
    let apart = Index::of(vec![second.finish(), first.finish()]);
    assert_eq!(find(&apart, "passport", &Filter::default()), [0, 1]);
}

#[test]
fn what_a_query_says_again_is_looked_for_once() {
    for (text, clauses) in
        [("\"lost luggage\" ", 1), ("lost_luggage ", 3), ("lug* ", 1), ("-\"lost luggage\" ", 1), ("我喜欢", 2)]
    {
        let query = Query::parse(&text.repeat(2000));
        // Between two of a run without spaces lies one more pair.
        let between = usize::from(text.starts_with('我'));
        assert_eq!(query.clauses.len(), clauses + between, "{text}");
        assert!(query.words <= 4, "{text}: {} words", query.words);
    }
}

#[test]
fn a_query_has_so_many_words_at_most() {
    let many: String = (0..5000).map(|at| format!("word{at}x ")).collect();
    for text in [many.clone(), format!("\"{many}\""), many.replace(' ', "* "), many.replace(' ', "_")] {
        let query = Query::parse(&text);
        let slots: usize = query.clauses.iter().map(|clause| clause.slots.len()).sum();
        assert!(slots <= MOST_WORDS && slots > MOST_WORDS / 2, "{slots} words are looked for");
        assert!(query.words >= 5000, "{}", query.words);
    }
    // A phrase of which only the beginning is looked for must not hide what only begins so.
    let query = Query::parse(&format!("{} -\"{many}\"", &many[..many.len() / 2]));
    assert!(query.clauses.iter().all(|clause| !clause.excluded));
    assert_eq!(Query::parse("lost luggage").words, 2);
}
