//! Any interleaving of appends, forks, replies, aliases and deletions, held against the simplest model that can be written.

use std::collections::BTreeMap;

use proptest::prelude::*;
use threadkeep::Options;
use threadkeep_core::Message;

use crate::{World, id, inbound, run, texts};

#[derive(Debug, Clone)]
enum Step {
    Append { head: u8, count: u8 },
    Fork { head: u8, new: u8, keep: u8 },
    Clear { head: u8 },
    Receive { reply_to: u8, to_alias: bool },
    Extend { node: u8 },
    Alias { node: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4u8, 1..4u8).prop_map(|(head, count)| Step::Append { head, count }),
        2 => (0..4u8, 0..4u8, 0..6u8).prop_map(|(head, new, keep)| Step::Fork { head, new, keep }),
        1 => (0..4u8).prop_map(|head| Step::Clear { head }),
        3 => (any::<u8>(), any::<bool>()).prop_map(|(reply_to, to_alias)| Step::Receive { reply_to, to_alias }),
        2 => any::<u8>().prop_map(|node| Step::Extend { node }),
        2 => any::<u8>().prop_map(|node| Step::Alias { node }),
    ]
}

/// What should be there: the texts of each head, and of the chain to each received node.
#[derive(Default)]
struct Model {
    heads: BTreeMap<String, Vec<String>>,
    nodes: Vec<Received>,
}

struct Received {
    chain: Vec<String>,
    has_child: bool,
    aliases: u32,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_interleaving_over_two_tabs_is_what_the_model_says(
        steps in prop::collection::vec((step(), any::<bool>()), 1..60),
        cache in prop_oneof![Just(1usize), Just(1 << 20)],
    ) {
        let world = World::default();
        let tabs = [world.tab_with(Options { cache_bytes: cache }), world.tab()];
        let mut model = Model::default();
        for (at, (step, second)) in steps.into_iter().enumerate() {
            let keep = &tabs[usize::from(second)];
            let name = |head: u8| format!("head {head}");
            match step {
                Step::Append { head, count } => {
                    let new: Vec<String> = (0..count).map(|n| format!("{at}.{n}")).collect();
                    run(keep.append(&name(head), new.iter().map(|t| Message::user(t.as_str())).collect())).unwrap();
                    model.heads.entry(name(head)).or_default().extend(new);
                }
                Step::Fork { head, new, keep: kept } => {
                    let result = run(keep.fork(&name(head), &name(new), Some(kept.into())));
                    let from = model.heads.get(&name(head)).cloned();
                    match from {
                        Some(chain) if !model.heads.contains_key(&name(new)) && usize::from(kept) <= chain.len() => {
                            prop_assert!(result.is_ok());
                            model.heads.insert(name(new), chain[..usize::from(kept)].to_vec());
                        }
                        _ => prop_assert!(result.is_err()),
                    }
                }
                Step::Clear { head } => {
                    run(keep.clear(&name(head))).unwrap();
                    model.heads.remove(&name(head));
                }
                Step::Receive { reply_to, to_alias } => {
                    let parent = model.nodes.len().checked_sub(1).map(|last| usize::from(reply_to) % (last + 2));
                    let parent = parent.filter(|parent| *parent < model.nodes.len());
                    let target = parent.map(|parent| match model.nodes[parent].aliases {
                        n if n > 0 && to_alias => format!("alias {parent} {}", n - 1),
                        _ => format!("node {parent}"),
                    });
                    let text = format!("said {at}");
                    let new = format!("node {}", model.nodes.len());
                    run(keep.receive(inbound(&new, target.as_deref(), &text))).unwrap();
                    let mut chain = parent.map(|parent| model.nodes[parent].chain.clone()).unwrap_or_default();
                    chain.push(text);
                    if let Some(parent) = parent { model.nodes[parent].has_child = true; }
                    model.nodes.push(Received { chain, has_child: false, aliases: 0 });
                }
                Step::Extend { node } if !model.nodes.is_empty() => {
                    let node = usize::from(node) % model.nodes.len();
                    let text = format!("answer {at}");
                    let result = run(keep.extend(&id(&format!("node {node}")), vec![Message::assistant(text.as_str())]));
                    prop_assert_eq!(result.is_ok(), !model.nodes[node].has_child);
                    if result.is_ok() { model.nodes[node].chain.push(text); }
                }
                Step::Alias { node } if !model.nodes.is_empty() => {
                    let node = usize::from(node) % model.nodes.len();
                    let alias = format!("alias {node} {}", model.nodes[node].aliases);
                    run(keep.alias(&id(&alias), &id(&format!("node {node}")))).unwrap();
                    model.nodes[node].aliases += 1;
                }
                Step::Extend { .. } | Step::Alias { .. } => {}
            }
        }
        for keep in [&tabs[0], &tabs[1], &world.tab()] {
            for head in 0..4 {
                let name = format!("head {head}");
                let want = model.heads.get(&name).cloned().unwrap_or_default();
                prop_assert_eq!(run(keep.get_count(&name)).unwrap(), want.len() as u64);
                prop_assert_eq!(texts(&run(keep.get_range(&name, 0, u32::MAX)).unwrap()), want);
            }
            for (at, node) in model.nodes.iter().enumerate() {
                let chain = run(keep.chain(&id(&format!("node {at}")))).unwrap();
                let said: Vec<String> = chain.iter().flat_map(|node| texts(&node.messages)).collect();
                prop_assert_eq!(&said, &node.chain);
                prop_assert_eq!(chain.last().unwrap().depth as usize, said.len());
            }
            prop_assert!(run(keep.lint(None)).unwrap().iter().all(|finding| finding.rule == "unsealed"));
        }
    }
}
