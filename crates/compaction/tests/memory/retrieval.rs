//! Which memories a prompt gets, and what becomes of found facts.

use threadkeep_compaction::memory::{
    BundleLimits, Fact, FactKind, Facts, MemoryOrigin, Share, Whose, bundle, remember,
};
use threadkeep_compaction::summary::FoundFact;
use threadkeep_core::checkpoint::Source;

use crate::{episode, fact, id};

const NOW: i64 = 1_738_200_000_000;
const WEEK: i64 = 7 * 24 * 3_600_000;

fn ids(facts: &[Fact]) -> Vec<&str> {
    facts.iter().map(|fact| fact.id.as_str()).collect()
}

fn best(facts: &[Fact], query: Option<&str>) -> Vec<String> {
    let limits = BundleLimits { episodes: 0, facts: 9 };
    bundle(&[], &facts.iter().collect::<Vec<_>>(), query, limits, NOW).facts.into_iter().map(|fact| fact.id).collect()
}

#[test]
fn relevance_salience_and_recency_rank() {
    let facts = [fact(1, "The user drinks tea"), fact(2, "The parser is in Rust"), fact(3, "The office has cats")];
    // Equal otherwise: the newer first.
    assert_eq!(best(&facts, None), ["sem_0003", "sem_0002", "sem_0001"]);
    assert_eq!(best(&facts, Some("How do I start the parser?"))[0], "sem_0002");
    assert_eq!(best(&facts, Some("Which TEAS, please?"))[0], "sem_0001");
    let mut weighty = facts.clone();
    weighty[0].salience = Share::of(1000);
    assert_eq!(best(&weighty, None)[0], "sem_0001");
    let mut sure = facts.clone();
    sure[0].confidence = Share::of(1000);
    assert_eq!(best(&sure, None)[0], "sem_0001");
    let mut old = facts.clone();
    old[2].created_at = NOW - 3 * WEEK;
    assert_eq!(best(&old, None), ["sem_0002", "sem_0001", "sem_0003"]);
}

#[test]
fn pinned_come_first_and_superseded_never() {
    let mut facts = [fact(1, "The user drinks tea"), fact(2, "The parser is in Rust"), fact(3, "x")];
    facts[0].pinned = true;
    facts[2].superseded_by = Some("sem_0009".into());
    assert_eq!(best(&facts, Some("the parser in Rust, x")), ["sem_0001", "sem_0002"]);
}

#[test]
fn limits_are_kept_and_zero_means_zero() {
    let facts: Vec<Fact> = (0..30).map(|at| fact(at, &format!("fact {at}"))).collect();
    let episodes: Vec<_> = (0..5).map(|at| episode(at, "it")).collect();
    let (episodes, facts): (Vec<_>, Vec<_>) = (episodes.iter().collect(), facts.iter().collect());
    let full = bundle(&episodes, &facts, None, BundleLimits::default(), NOW);
    assert_eq!((full.episodes.len(), full.facts.len()), (3, 20));
    let none = bundle(&episodes, &facts, None, BundleLimits { episodes: 0, facts: 0 }, NOW);
    assert!(none.is_empty());
}

#[test]
fn the_order_of_what_is_given_does_not_matter() {
    let facts = [fact(1, "red tea"), fact(2, "green tea"), fact(3, "green cats"), fact(4, "blue tea")];
    let mut turned = facts.to_vec();
    turned.reverse();
    for query in [None, Some("green tea"), Some("anything else")] {
        assert_eq!(best(&facts, query), best(&turned, query));
    }
}

#[test]
fn times_of_any_kind_rank_without_overflow() {
    let mut facts = [fact(1, "a"), fact(2, "b"), fact(3, "c")];
    facts[0].created_at = i64::MIN;
    facts[1].created_at = i64::MAX;
    assert_eq!(best(&facts, Some("d"))[2], "sem_0001");
}

fn found(text: &str, node: &str) -> (FoundFact, MemoryOrigin) {
    (told(text, node), MemoryOrigin::User)
}

fn told(text: &str, node: &str) -> FoundFact {
    FoundFact {
        kind: FactKind::Decision,
        fact: text.to_owned(),
        tags: vec!["new".into()],
        confidence: Share::of(400),
        salience: Share::of(900),
        sources: vec![Source { node: id(node), index: 1 }],
    }
}

#[test]
fn repetitions_add_sources_tags_and_confidence() {
    let known = Facts::from_iter([fact(1, "The user prefers dark mode.")]);
    let mut next = || panic!("no new record");
    let done = remember(&known, vec![found("user prefers DARK mode", "m")], Whose::default(), NOW, &mut next);
    let [changed] = done.changed.as_slice() else { panic!("{done:?}") };
    assert_eq!(done.ids, [Some("sem_0001".to_owned())]);
    assert_eq!((changed.sources.len(), changed.tags.as_slice()), (2, &["new".to_owned()][..]));
    // A quarter of the way to certainty; the kind and the weight are taken over.
    assert_eq!(
        (changed.confidence, changed.salience, changed.kind),
        (Share::of(625), Share::of(900), FactKind::Decision)
    );
    assert_eq!(changed.fact, "The user prefers dark mode.");
    // The very same once more changes nothing.
    let mut next = || panic!("no new record");
    let again = remember(
        &done.changed.into_iter().collect(),
        vec![found("user prefers DARK mode", "m")],
        Whose::default(),
        NOW,
        &mut next,
    );
    assert_eq!(again.changed, []);
}

#[test]
fn newer_facts_supersede_and_what_is_pinned_stays() {
    let mut pinned = fact(1, "The deadline is Friday");
    pinned.pinned = true;
    let known = Facts::from_iter([pinned, fact(2, "The user can swim"), fact(3, "The user likes tea")]);
    let mut count = 10;
    let mut next = || {
        count += 1;
        format!("sem_{count:04}")
    };
    let all = vec![
        found("The deadline is Monday", "a"),
        found("The user can't swim", "b"),
        found("The user likes coffee", "c"),
        found("…", "d"),
        found("The user can swim again", "e"),
    ];
    let done = remember(&known, all, Whose::default(), NOW, &mut next);
    assert_eq!(ids(&done.changed), ["sem_0002", "sem_0011", "sem_0012", "sem_0013", "sem_0014"]);
    assert_eq!(done.changed[0].superseded_by.as_deref(), Some("sem_0012"));
    assert!(done.changed[1..].iter().all(|fact| fact.superseded_by.is_none()));
    assert_eq!(done.ids[3], None);
}

#[test]
fn what_was_superseded_can_be_said_anew() {
    let mut count = 0;
    let mut next = || {
        count += 1;
        format!("sem_{count:04}")
    };
    let all = ["The port is 80", "The port is 81", "The port is 80"];
    let all = all.iter().enumerate().map(|(at, text)| found(text, &format!("m{at}"))).collect();
    let done = remember(&Facts::default(), all, Whose::default(), NOW, &mut next);
    let by: Vec<_> = done.changed.iter().map(|fact| fact.superseded_by.as_deref()).collect();
    assert_eq!(by, [Some("sem_0002"), Some("sem_0003"), None]);
}

#[test]
fn facts_of_one_owner_leave_those_of_another_alone() {
    let of =
        |number: u32, text: &str, agent: Option<&str>| Fact { agent: agent.map(str::to_owned), ..fact(number, text) };
    let known = Facts::from_iter([
        of(1, "The deadline is Friday.", None),
        of(2, "The deadline is Sunday.", Some("bob")),
        of(3, "The deadline is Monday.", Some("lal")),
    ]);
    let mut next = || "sem_0009".to_owned();
    let whose = Whose { agent: Some("lal"), transcript: None };
    let done = remember(&known, vec![found("The deadline is May.", "m")], whose, NOW, &mut next);
    assert_eq!(ids(&done.changed), ["sem_0003", "sem_0009"]);
    assert_eq!(done.changed[1].agent.as_deref(), Some("lal"));
    let done = remember(&known, vec![found("The deadline is Friday", "m")], whose, NOW, &mut next);
    assert_eq!(ids(&done.changed), ["sem_0003", "sem_0009"]);
    assert_eq!(known.overruled_for("lal").into_iter().collect::<Vec<_>>(), ["sem_0001"]);
    assert_eq!(known.overruled_for("eve").len(), 0);
}

#[test]
fn a_fact_is_worth_what_its_weakest_source_is_worth_and_a_stronger_repetition_takes_its_place() {
    let of = |origin: MemoryOrigin| (told("user prefers dark mode in the evening now", "m"), origin);
    let known = Facts::from_iter([Fact {
        origin: Some(MemoryOrigin::Model),
        ..fact(1, "The user prefers dark mode in the evening")
    }]);
    let mut next = || panic!("no new record");
    for weaker in [MemoryOrigin::Import, MemoryOrigin::Tool] {
        assert_eq!(remember(&known, vec![of(weaker)], Whose::default(), NOW, &mut next).changed, []);
    }
    let done = remember(&known, vec![of(MemoryOrigin::User)], Whose::default(), NOW, &mut next);
    let [changed] = done.changed.as_slice() else { panic!("{done:?}") };
    assert_eq!((changed.origin, changed.sources.len()), (Some(MemoryOrigin::User), 1));
    assert_eq!(changed.fact, "user prefers dark mode in the evening now");
}

fn of(number: u32, text: &str, agent: Option<&str>, pinned: bool, origin: MemoryOrigin) -> Fact {
    Fact { agent: agent.map(str::to_owned), pinned, origin: Some(origin), ..fact(number, text) }
}

#[test]
fn a_pinned_fact_overrules_what_is_weaker_than_its_user() {
    // Who pins a fact vouches for it, whoever said it.
    let known = Facts::from_iter([of(1, "The deadline is Friday", None, true, MemoryOrigin::Tool)]);
    let mut next = || "sem_0009".to_owned();
    for origin in MemoryOrigin::ALL {
        let found = vec![(told("The deadline is Monday", "m"), origin)];
        let done = remember(&known, found, Whose::default(), NOW, &mut next);
        assert_eq!(ids(&done.changed), ["sem_0009"], "{origin:?}");
        let by = done.changed[0].superseded_by.as_deref();
        assert_eq!(by, (origin != MemoryOrigin::User).then_some("sem_0001"), "{origin:?}");
    }
}

#[test]
fn a_pinned_shared_fact_overrules_a_weaker_one_of_an_agent_and_is_never_overruled() {
    let lal = Some("lal");
    let overruled = |own: Fact, shared: Fact| -> Vec<String> {
        let known = Facts::from_iter([own, shared]);
        known.overruled_for("lal").into_iter().map(str::to_owned).collect()
    };
    let pinned = || of(1, "The deadline is Friday", None, true, MemoryOrigin::Tool);
    let own = |origin: MemoryOrigin| of(2, "The deadline is Monday", lal, false, origin);
    assert_eq!(overruled(own(MemoryOrigin::Model), pinned()), ["sem_0002"]);
    // What the user says now and what the user has pinned both hold.
    assert_eq!(overruled(own(MemoryOrigin::User), pinned()), [""; 0]);
    let own = of(2, "The deadline is Monday", lal, true, MemoryOrigin::Model);
    assert_eq!(overruled(own.clone(), of(1, "The deadline is Friday", None, false, MemoryOrigin::Model)), ["sem_0001"]);
    assert_eq!(overruled(own, pinned()), [""; 0]);
}

#[test]
fn of_an_own_fact_and_a_shared_one_that_say_the_same_an_agent_sees_one() {
    let (lal, model, user) = (Some("lal"), MemoryOrigin::Model, MemoryOrigin::User);
    let overruled = |facts: [Fact; 2]| -> Vec<String> {
        let known = Facts::from_iter(facts);
        assert_eq!(known.overruled_for("eve").len(), 0);
        known.overruled_for("lal").into_iter().map(str::to_owned).collect()
    };
    let (own, shared) = ("The user likes tea.", "user likes TEA");
    // The stronger one, else the newer one.
    assert_eq!(overruled([of(1, own, lal, false, user), of(2, shared, None, false, model)]), ["sem_0002"]);
    assert_eq!(overruled([of(1, own, lal, false, model), of(2, shared, None, false, model)]), ["sem_0001"]);
    assert_eq!(overruled([of(2, own, lal, false, model), of(1, shared, None, false, model)]), ["sem_0001"]);
    // What is pinned stays, even if the other one is newer and the user's.
    assert_eq!(overruled([of(2, own, lal, false, user), of(1, shared, None, true, model)]), ["sem_0002"]);
    assert_eq!(overruled([of(1, own, lal, true, model), of(2, shared, None, false, user)]), ["sem_0002"]);
    assert_eq!(overruled([of(1, own, lal, true, model), of(2, shared, None, true, model)]), [""; 0]);
}
