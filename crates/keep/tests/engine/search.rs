//! Search: what is found, that the index follows every change, and that nothing deleted stays in it.

use proptest::prelude::*;
use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::protocol::{Counting, Found, Hit, NewVectors, SearchOptions, SearchReply, Vector};
use threadkeep::{Keep, KeepError, NewFact};
use threadkeep_compaction::memory::FactEdit;
use threadkeep_core::checkpoint::Source;
use threadkeep_core::{Message, MessageId, ToolCall};
use threadkeep_recall::Segment;
use threadkeep_store::{Commit, MemoryStore, Scan, Store};

use super::{World, code, id, inbound, run};

type Engine = Keep<MemoryStore>;

async fn find(keep: &Engine, query: &str) -> Vec<String> {
    let reply = keep.search(query, &SearchOptions { limit: 100, ..SearchOptions::default() }).await.unwrap();
    reply.hits.iter().map(words).collect()
}

fn words(hit: &Hit) -> String {
    hit.message.as_ref().unwrap().text().into_owned()
}

fn node(hit: &Hit) -> &str {
    hit.node.as_ref().unwrap().as_str()
}

fn said(texts: &[&str]) -> Vec<Message> {
    let role = |at| if at % 2 == 0 { Message::user } else { Message::assistant };
    texts.iter().enumerate().map(|(at, text)| role(at)((*text).to_owned())).collect()
}

/// Long enough that neighbours lend it nothing.
fn long(words: &str) -> String {
    format!("{words} {}", "and further words follow here ".repeat(20))
}

/// Everything in the store that belongs to the index, as text.
fn index_bytes(world: &World) -> Vec<Vec<u8>> {
    run(world.store.scan(&Scan::prefix("s/"))).unwrap().into_iter().map(|(_, value)| value).collect()
}

fn in_index(world: &World, word: &str) -> bool {
    index_bytes(world).iter().any(|bytes| bytes.windows(word.len()).any(|window| window == word.as_bytes()))
}

#[test]
fn hits_say_where_they_are() {
    let keep = World::default().tab();
    run(async {
        keep.receive(inbound("q", None, "Where is the lost luggage?")).await.unwrap();
        keep.extend(&id("q"), vec![Message::assistant(long("Your luggage is in Oslo."))]).await.unwrap();
        keep.receive(inbound("a", Some("q"), "Send it on, please.")).await.unwrap();
        keep.receive(inbound("b", Some("q"), "Keep it there.")).await.unwrap();
        let reply = keep.search("luggages Oslo -lost", &SearchOptions::default()).await.unwrap();
        let best = &reply.hits[0];
        assert_eq!((node(best), best.index, best.role.as_str()), ("q", 1, "assistant"));
        assert_eq!(best.leaf.as_ref().unwrap().as_str(), "b", "the newest branch that holds it");
        let marked: Vec<&str> =
            best.snippet.highlights.iter().map(|(from, to)| &best.snippet.text[*from..*to]).collect();
        assert_eq!(marked, ["luggage", "Oslo"]);
        assert_eq!(reply.progress.indexed, reply.progress.messages);
        let json = reply.to_json();
        assert_eq!(json["hits"][0]["message"]["role"], "assistant");
    });
}

#[test]
fn filters_narrow_the_search() {
    let keep = World::default().tab();
    run(async {
        keep.receive(inbound("q", None, "find the amber file")).await.unwrap();
        let call = Message {
            tool_calls: vec![ToolCall::function("c1", "grep", r#"{"word": "amber"}"#)],
            ..Message::assistant("")
        };
        keep.extend(&id("q"), vec![call, Message::tool("c1", "amber.txt: amber light")]).await.unwrap();
        keep.receive(inbound("a", Some("q"), "amber one")).await.unwrap();
        keep.receive(inbound("b", Some("q"), "amber two")).await.unwrap();
        keep.append("other", vec![Message::user("amber elsewhere")]).await.unwrap();
        let found = async |options: SearchOptions| {
            let hits = keep.search("amber", &options).await.unwrap().hits;
            let mut found: Vec<String> = hits.iter().map(|hit| format!("{}{}", &node(hit)[..1], hit.index)).collect();
            found.retain(|place| place.starts_with(['q', 'a', 'b']));
            found.sort();
            (found.join(" "), hits.len())
        };
        let all = SearchOptions::default();
        assert_eq!(found(all.clone()).await.1, 6);
        assert_eq!(found(SearchOptions { tool: Some("grep".into()), ..all.clone() }).await.0, "q1 q2");
        assert_eq!(found(SearchOptions { roles: vec!["tool".into()], ..all.clone() }).await.0, "q2");
        assert_eq!(found(SearchOptions { branch: Some(id("a")), ..all.clone() }).await, ("a0 q0 q1 q2".into(), 4));
        let transcript = keep.node(&id("q")).await.unwrap().unwrap().transcript;
        assert_eq!(found(SearchOptions { transcript: Some(transcript), ..all.clone() }).await.1, 5);
        assert_eq!(found(SearchOptions { since: Some(i64::MAX), ..all.clone() }).await.1, 0);
        assert_eq!(found(SearchOptions { source: Some("chatgpt".into()), ..all.clone() }).await.1, 0);
        assert_eq!(found(SearchOptions { source: Some(String::new()), ..all.clone() }).await.1, 6);
        assert_eq!(found(SearchOptions { limit: 2, ..all.clone() }).await.1, 2);
        assert_eq!(found(SearchOptions { limit: 0, ..all.clone() }).await.1, 0);
        let lost = keep.search("amber", &SearchOptions { branch: Some(id("zz")), ..all }).await;
        assert_eq!(code(lost), "missing-node");
    });
}

#[test]
fn the_index_follows_and_outlives_its_engine() {
    let world = World::default();
    let (keep, other) = (world.tab(), world.tab());
    run(async {
        keep.append("main", said(&["the first kestrel", &long("a heron")])).await.unwrap();
        assert_eq!(find(&keep, "kestrel").await, ["the first kestrel"]);
        // Growth of a node that is indexed already.
        keep.receive(inbound("q", None, "a question about owls")).await.unwrap();
        assert_eq!(find(&keep, "owl").await.len(), 1);
        keep.extend(&id("q"), vec![Message::assistant(long("owls are nocturnal"))]).await.unwrap();
        assert_eq!(find(&keep, "owl").await.len(), 2);
        // Another tab's append, both ways.
        other.append("main", said(&["the second kestrel"])).await.unwrap();
        assert_eq!(find(&keep, "kestrel").await.len(), 2);
        keep.append("main", said(&["the third kestrel"])).await.unwrap();
        assert_eq!(find(&other, "kestrel").await.len(), 3);
        for round in 0..5 {
            let many: Vec<String> = (0..70).map(|at| long(&format!("round {round} message {at} sparrow"))).collect();
            keep.append("many", many.into_iter().map(Message::user).collect()).await.unwrap();
            assert_eq!(find(&keep, &format!("\"round {round}\"")).await.len(), 70);
        }
        let before = keep.search("kestrel sparrow", &SearchOptions::default()).await.unwrap();
        let segments = world.store.scan(&Scan::prefix("s/g/")).await.unwrap();
        assert!((1..=4).contains(&segments.len()), "{}", segments.len());
        let reopened = world.tab();
        assert_eq!(reopened.search("kestrel sparrow", &SearchOptions::default()).await.unwrap(), before);
        // Nothing was indexed twice, and a third engine finds all of it written.
        let docs: usize = segments.iter().map(|(_, bytes)| Segment::read(bytes.clone()).unwrap().docs().len()).sum();
        assert!(docs >= 350 && docs as u64 <= before.progress.messages);
    });
}

#[test]
fn what_is_deleted_leaves_the_index_in_the_same_commit() {
    let world = World::default();
    let (keep, other) = (world.tab(), world.tab());
    run(async {
        let many: Vec<Message> = (0..80).map(|at| Message::user(format!("stays {at}"))).collect();
        keep.append("stays", many).await.unwrap();
        keep.receive(inbound("q", None, "the branch root")).await.unwrap();
        keep.receive(inbound("a", Some("q"), "zyxsecret one")).await.unwrap();
        keep.receive(inbound("b", Some("q"), "harmless two")).await.unwrap();
        assert_eq!(find(&keep, "zyxsecret").await.len(), 1);
        assert_eq!(find(&other, "zyxsecret").await.len(), 1);
        assert!(in_index(&world, "zyxsecret"));
        keep.delete_branch(&id("a")).await.unwrap();
        assert!(!in_index(&world, "zyxsecret"));
        for tab in [&keep, &other, &world.tab()] {
            assert_eq!(find(tab, "zyxsecret").await.len(), 0);
            assert_eq!(find(tab, "harmless").await.len(), 1);
            assert_eq!(find(tab, "stays").await.len(), 80);
        }
        let transcript = keep.node(&id("q")).await.unwrap().unwrap().transcript;
        keep.delete_transcript(&transcript).await.unwrap();
        assert!(!in_index(&world, "harmless") && !in_index(&world, transcript.as_str()));
        assert_eq!(find(&other, "harmless").await.len(), 0);
        keep.clear("stays").await.unwrap();
        assert!(!in_index(&world, "stay"));
        assert_eq!(find(&other, "stays").await.len(), 0);
        keep.append("stays", said(&["stays again"])).await.unwrap();
        assert_eq!(find(&other, "stays").await.len(), 1);
        keep.delete_all().await.unwrap();
        assert!(index_bytes(&world).is_empty());
        assert_eq!(find(&other, "stays").await.len(), 0);
    });
}

#[test]
fn a_damaged_index_is_made_anew() {
    let world = World::default();
    run(async {
        let many: Vec<Message> = (0..80).map(|at| Message::user(format!("finch {at}"))).collect();
        world.tab().append("main", many).await.unwrap();
        assert_eq!(find(&world.tab(), "finch").await.len(), 80);
        let (key, mut bytes) = world.store.scan(&Scan::prefix("s/g/")).await.unwrap().pop().unwrap();
        bytes.truncate(bytes.len() / 2);
        world.store.commit(Commit { puts: vec![(key, bytes)], ..Commit::default() }).await.unwrap();
        assert_eq!(find(&world.tab(), "finch").await.len(), 80);
        // One that vanished too.
        let (key, _) = world.store.scan(&Scan::prefix("s/g/")).await.unwrap().pop().unwrap();
        world.store.commit(Commit { deletes: vec![key], ..Commit::default() }).await.unwrap();
        assert_eq!(find(&world.tab(), "finch").await.len(), 80);
    });
}

#[test]
fn without_waiting_one_batch_is_indexed() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let many: Vec<Message> = (0..5000).map(|at| Message::user(format!("starling {at}"))).collect();
        keep.append("main", many).await.unwrap();
        assert_eq!(keep.index_progress().await.unwrap().indexed, 0);
        let options = SearchOptions { wait: false, ..SearchOptions::default() };
        let progress = |reply: SearchReply| reply.progress.indexed;
        let first = progress(keep.search("starling", &options).await.unwrap());
        assert!(first > 0 && first < 5000, "{first}");
        assert!(
            progress(world.tab().search("starling", &options).await.unwrap()) > first,
            "the next engine goes on from there"
        );
        assert_eq!(progress(keep.search("starling", &SearchOptions::default()).await.unwrap()), 5000);
        assert_eq!(keep.index_progress().await.unwrap().indexed, 5000);
    });
}

async fn found(keep: &Engine, query: &str, kinds: &[Found]) -> Vec<Hit> {
    let options = SearchOptions { kinds: kinds.to_vec(), ..SearchOptions::default() };
    keep.search(query, &options).await.unwrap().hits
}

#[test]
fn summaries_are_found_and_lead_to_their_anchors() {
    let world = World::default();
    let (keep, other) = (world.tab(), world.tab());
    run(async {
        let names =
            ["alfa", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett", "kilo"];
        for name in names {
            let question = format!("Please keep the peregrine away from src/{name}.rs, always.");
            keep.append("chat", said(&[&question, &long("That is done.")])).await.unwrap();
        }
        assert!(found(&keep, "peregrine", &[Found::Summary]).await.is_empty());
        let options = CompactOptions { encoding: Counting::Estimate, ..CompactOptions::default() };
        let made = keep.compact("chat", &options, &Extractive).await.unwrap().checkpoint.unwrap();
        let hits = found(&keep, "delta", &[Found::Summary]).await;
        let [hit] = hits.as_slice() else { panic!("{hits:?}") };
        assert_eq!((hit.found, hit.id.as_deref()), (Found::Summary, Some(made.id.as_str())));
        assert_eq!(hit.node.as_ref(), Some(&made.anchor));
        assert_eq!(hit.leaf, keep.head("chat").await.unwrap().map(|head| head.id));
        assert!(hit.message.as_ref().unwrap().text().contains("delta"));
        assert!(!hit.snippet.highlights.is_empty());
        // Its sources are messages with these words.
        let source = hit.sources.first().expect("a statement that came from a message");
        let message = keep.node(&source.node).await.unwrap().unwrap().messages[source.index as usize].clone();
        assert!(message.text().contains("delta"), "{}", message.text());
        // Another engine, which reads the index, and one that was there before.
        assert_eq!(found(&world.tab(), "delta", &[Found::Summary]).await.len(), 1);
        assert_eq!(found(&other, "delta", &[Found::Summary]).await.len(), 1);
        // A branch from before the anchor does not have it; roles are of messages.
        let early = keep.chain(&made.anchor).await.unwrap()[1].id.clone();
        keep.set_head("early", &early).await.unwrap();
        keep.append("early", said(&["another peregrine"])).await.unwrap();
        let leaf = keep.head("early").await.unwrap().unwrap().id;
        let branch =
            |leaf| SearchOptions { branch: Some(leaf), kinds: vec![Found::Summary], ..SearchOptions::default() };
        assert!(keep.search("peregrine", &branch(leaf)).await.unwrap().hits.is_empty());
        let late = keep.head("chat").await.unwrap().unwrap().id;
        assert_eq!(keep.search("peregrine", &branch(late)).await.unwrap().hits.len(), 1);
        let users = SearchOptions { roles: vec!["user".into()], ..SearchOptions::default() };
        assert!(keep.search("delta", &users).await.unwrap().hits.iter().all(|hit| hit.found == Found::Message));
        // With the transcript the summary goes from the index.
        keep.delete_transcript(&hit.transcript.clone().unwrap()).await.unwrap();
        assert!(!in_index(&world, "peregrin"));
        assert!(found(&keep, "peregrine", &[]).await.is_empty());
    });
}

#[test]
fn what_is_remembered_is_found_as_it_is_now() {
    let world = World::default();
    let (keep, other) = (world.tab(), world.tab());
    run(async {
        keep.append("chat", said(&["I like my tea green", "Noted."])).await.unwrap();
        let head = keep.head("chat").await.unwrap().unwrap();
        let first = keep.chain(&head.id).await.unwrap()[0].clone();
        let told = NewFact {
            tags: vec!["beverage".into()],
            transcript: Some(first.transcript.clone()),
            sources: vec![Source { node: first.id.clone(), index: 0 }],
            ..NewFact::new("The user drinks green tea.")
        };
        let fact = keep.remember(told).await.unwrap();
        let alone = keep.remember(NewFact::new("The office closes on Fridays.")).await.unwrap();
        let hits = found(&keep, "beverages", &[]).await;
        let [hit] = hits.as_slice() else { panic!("{hits:?}") };
        assert_eq!((hit.found, hit.id.as_deref(), hit.role.as_str()), (Found::Fact, Some(fact.id.as_str()), "fact"));
        assert_eq!((hit.node.as_ref(), hit.leaf.as_ref()), (Some(&first.id), Some(&head.id)));
        assert_eq!((&hit.sources, &hit.message), (&fact.sources, &None));
        let hits = found(&other, "friday", &[]).await;
        assert_eq!(
            (hits[0].id.as_deref(), &hits[0].transcript, &hits[0].node),
            (Some(alone.id.as_str()), &None, &None)
        );
        // The short answer is found by what it answers.
        assert_eq!(found(&keep, "tea", &[Found::Message]).await.len(), 2);
        // It is in no stored segment, and an edit is noticed by both.
        assert!(!in_index(&world, "beverag"));
        let edit = FactEdit { fact: Some("The office closes on Mondays.".into()), ..FactEdit::default() };
        keep.edit_fact(&alone.id, edit).await.unwrap();
        for tab in [&keep, &other] {
            assert!(found(tab, "friday", &[]).await.is_empty());
            assert_eq!(found(tab, "monday", &[]).await.len(), 1);
        }
        keep.forget_memory(&alone.id).await.unwrap();
        assert!(found(&other, "monday", &[]).await.is_empty());
        let progress = keep.index_progress().await.unwrap();
        assert_eq!((progress.indexed, progress.messages), (2, 2));
        // What is told anew and contradicts it takes its place.
        assert_eq!(found(&keep, "tea", &[Found::Fact]).await.len(), 1);
    });
}

const TOPICS: [&[&str]; 3] = [&["dog", "puppy", "hound"], &["car", "automobile"], &["tea", "kettle"]];

/// A stand-in for a model: one number for each topic, and one that all texts have.
fn embed(text: &str) -> Vec<i8> {
    let count = |words: &&[&str]| 40 * text.split(' ').filter(|word| words.contains(word)).count().min(3) as i8;
    TOPICS.iter().map(count).chain([5]).collect()
}

/// Makes vectors of all that has none; of how many that was.
async fn embed_all(keep: &Engine) -> usize {
    let mut made = 0;
    loop {
        let asked = keep.to_embed("topics", 2).await.unwrap();
        if asked.texts.is_empty() {
            return made;
        }
        made += asked.texts.len();
        let vectors = asked.texts.iter().map(|text| embed(text)).collect();
        keep.put_vectors(&NewVectors { model: "topics".into(), places: asked.places, vectors }).await.unwrap();
    }
}

async fn like(keep: &Engine, query: &str) -> Vec<String> {
    let vector = Some(Vector { model: "topics".into(), values: embed(query) });
    let options = SearchOptions { vector, limit: 2, ..SearchOptions::default() };
    keep.search(query, &options).await.unwrap().hits.iter().map(words).collect()
}

#[test]
fn vectors_find_what_means_the_same_and_follow_the_messages() {
    let world = World::default();
    let (keep, other) = (world.tab(), world.tab());
    run(async {
        keep.append("a", said(&["a puppy barks", "the automobile stops"])).await.unwrap();
        keep.append("b", said(&["put the kettle on", "the hound and the car"])).await.unwrap();
        // Without vectors, words decide.
        assert!(like(&keep, "dog").await.is_empty());
        assert_eq!(embed_all(&keep).await, 4);
        assert_eq!(like(&keep, "dog").await, ["a puppy barks", "the hound and the car"]);
        assert_eq!(
            like(&keep, "car").await,
            ["the hound and the car", "the automobile stops"],
            "both rankings have the first"
        );
        assert_eq!(like(&keep, "dog -puppy").await[0], "the hound and the car");
        assert_eq!(embed_all(&keep).await, 0);
        // New messages, from another tab, which has read none of it.
        other.append("c", said(&["dog dog dog"])).await.unwrap();
        assert_eq!(embed_all(&other).await, 1);
        assert_eq!(like(&keep, "hound").await[0], "the hound and the car");
        let vector = Some(Vector { model: "topics".into(), values: embed("puppy") });
        let all = keep.search("puppy", &SearchOptions { vector, ..SearchOptions::default() }).await.unwrap().hits;
        assert!(all.iter().any(|hit| words(hit) == "dog dog dog"));
        assert_eq!(embed_all(&world.tab()).await, 0, "they are stored");
        // Another model knows nothing of them.
        assert_eq!(keep.to_embed("other", 9).await.unwrap().texts.len(), 5);
        let long = NewVectors { model: "topics".into(), places: Vec::new(), vectors: vec![vec![1; 9]] };
        assert_eq!(code(keep.put_vectors(&long).await), "bad-request");
    });
}

#[test]
fn no_vector_outlives_its_message() {
    let world = World::default();
    let (keep, other) = (world.tab(), world.tab());
    let stored = || run(world.store.scan(&Scan::prefix("s/v/"))).unwrap().len();
    run(async {
        keep.append("a", said(&["a puppy barks"])).await.unwrap();
        keep.append("b", said(&["the automobile stops"])).await.unwrap();
        let asked = keep.to_embed("topics", 9).await.unwrap();
        assert_eq!((asked.texts.len(), asked.left), (2, 0));
        // One is deleted while the model works.
        let gone = keep.head("a").await.unwrap().unwrap().transcript;
        other.delete_transcript(&gone).await.unwrap();
        let vectors = asked.texts.iter().map(|text| embed(text)).collect();
        keep.put_vectors(&NewVectors { model: "topics".into(), places: asked.places, vectors }).await.unwrap();
        assert_eq!(like(&keep, "puppy car").await, ["the automobile stops"]);
    });
    assert_eq!(stored(), 1);
    run(async {
        let head = keep.head("b").await.unwrap().unwrap();
        keep.delete_branch(&head.id).await.unwrap();
        assert!(like(&keep, "car").await.is_empty());
    });
    assert_eq!(stored(), 0);
}

#[test]
fn a_keep_that_is_never_searched_has_no_index() {
    let world = World::default();
    run(async {
        let keep = world.tab();
        keep.append("main", said(&["a", "b"])).await.unwrap();
        keep.receive(inbound("q", None, "x")).await.unwrap();
        keep.delete_branch(&id("q")).await.unwrap();
    });
    assert!(index_bytes(&world).is_empty());
}

#[derive(Debug, Clone)]
enum Step {
    Append(usize, usize, u8),
    Delete(usize, u8),
    DeleteBranch(usize, usize, u8),
    Search(usize),
    Reopen(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0usize..2, 0usize..3, 1u8..90).prop_map(|(tab, context, count)| Step::Append(tab, context, count)),
        1 => (0usize..2, 0u8..3).prop_map(|(tab, which)| Step::Delete(tab, which)),
        1 => (0usize..2, 0usize..3, any::<u8>()).prop_map(|(tab, context, at)| Step::DeleteBranch(tab, context, at)),
        3 => (0usize..2).prop_map(Step::Search),
        1 => (0usize..2).prop_map(Step::Reopen),
    ]
}

async fn carry_out(world: &World, tabs: &mut [Engine; 2], step: &Step, count: &mut usize) -> Result<(), KeepError> {
    match step {
        Step::Append(tab, context, many) => {
            let messages = (0..*many).map(|_| {
                *count += 1;
                Message::user(format!("bird number{count}"))
            });
            let messages: Vec<Message> = messages.collect();
            tabs[*tab].append(&format!("c{context}"), messages).await?;
        }
        Step::Delete(tab, which) => {
            let transcripts = tabs[*tab].transcripts().await?;
            if let Some(info) = transcripts.get(*which as usize) {
                tabs[*tab].delete_transcript(&info.id).await?;
            }
        }
        Step::DeleteBranch(tab, context, at) => {
            if let Some(head) = tabs[*tab].head(&format!("c{context}")).await? {
                let chain = tabs[*tab].chain(&head.id).await?;
                let node = chain[*at as usize % chain.len()].id.clone();
                tabs[*tab].delete_branch(&node).await?;
            }
        }
        Step::Search(tab) => check(&tabs[*tab]).await?,
        Step::Reopen(tab) => tabs[*tab] = world.tab(),
    }
    Ok(())
}

/// Exactly the messages that there are are found.
async fn check(keep: &Engine) -> Result<(), KeepError> {
    let mut there: Vec<(MessageId, u32)> = Vec::new();
    for transcript in keep.transcripts().await? {
        for node in keep.tree(&transcript.id).await? {
            let node = keep.node(&node.id).await?.unwrap();
            there.extend((0..node.messages.len()).map(|index| (node.id.clone(), index as u32)));
        }
    }
    let reply = keep.search("bird", &SearchOptions { limit: usize::MAX, ..SearchOptions::default() }).await?;
    let mut found: Vec<(MessageId, u32)> =
        reply.hits.iter().map(|hit| (hit.node.clone().unwrap(), hit.index)).collect();
    found.sort();
    there.sort();
    assert_eq!(found, there);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_happens_search_finds_what_is_there(steps in prop::collection::vec(step(), 1..16)) {
        let world = World::default();
        let mut tabs = [world.tab(), world.tab()];
        run(async {
            let mut count = 0;
            for step in &steps {
                carry_out(&world, &mut tabs, step, &mut count).await.unwrap();
            }
            for tab in &tabs {
                check(tab).await.unwrap();
            }
            let fresh = world.tab();
            check(&fresh).await.unwrap();
            assert_eq!(
                fresh.search("number3 bird", &SearchOptions::default()).await.unwrap().hits,
                tabs[0].search("number3 bird", &SearchOptions::default()).await.unwrap().hits
            );
        });
    }
}
