//! Any tree, any sequence of appends, forks and compactions: every prompt of every epoch on every branch is valid for all
//! providers and accounted for, what is stored stays as it was, and branches that share an anchor share what stands in for it.

use proptest::prelude::*;
use threadkeep_compaction::overlay;
use threadkeep_compaction::turn::opens_turn;
use threadkeep_compaction::window::{Window, window};
use threadkeep_context::tokens::Estimate;
use threadkeep_context::{Item, Options, Prepared, chain_items, prepare_with};
use threadkeep_core::checkpoint::{Checkpoint, Chosen, Covers, Source, Statement, Strategy};
use threadkeep_core::transcript::Placed;
use threadkeep_core::{Entry, Message, MessageId, Node, Role, Transcript};
use threadkeep_provider::{Provider, RenderOptions, validate_payload};

use crate::entries::id;
use crate::transcripts::{Choices, transcript};

/// A chain with a checkpoint laid over it, prepared.
struct Laid<'a> {
    chain: Vec<&'a Placed>,
    items: Vec<Item<'a>>,
    end: usize,
    checkpoint: Option<&'a Checkpoint>,
    prepared: Prepared,
}

fn lay<'a>(tree: &'a Transcript, leaf: &MessageId, epoch: Option<Option<&str>>, options: &Options) -> Laid<'a> {
    let chain = tree.chain(leaf).unwrap();
    let mut items = chain_items(tree, leaf).unwrap();
    let mut all = tree.checkpoints_on(&chain);
    if let Some(name) = epoch {
        all.retain(|(_, _, checkpoint)| Some(checkpoint.id.as_str()) == name);
    }
    let (mut end, mut summary, mut used) = (0, None, None);
    if let Some((place, _, checkpoint)) = all.pop() {
        end = chain[..=place].iter().map(|placed| placed.node.messages.len()).sum();
        let stays = overlay::stays(&items, end, &options.pins);
        summary = overlay::lay(&mut items, end, checkpoint, &stays);
        used = Some(checkpoint);
    }
    let prepared = prepare_with(&items, summary, options.preparing(), &Estimate);
    Laid { chain, items, end, checkpoint: used, prepared }
}

/// What every window keeps to.
fn check_window(laid: &Laid, window: &Window) {
    let Laid { chain, items, end, .. } = laid;
    assert!(window.start == *end && window.end > window.start && window.end < items.len());
    // It ends where a node ends and a turn begins, and the newest user's message is behind it.
    let ends: Vec<usize> = chain
        .iter()
        .scan(0, |end, placed| {
            *end += placed.node.messages.len();
            Some(*end)
        })
        .collect();
    assert_eq!(ends[window.nodes as usize - 1], window.end);
    assert_eq!(chain[window.nodes as usize - 1].node.id, window.anchor);
    assert!(opens_turn(items[window.end].message));
    let newest = items.iter().rposition(|item| opens_turn(item.message)).unwrap();
    assert!(window.end <= newest);
    // No tool group reaches over it.
    let groups = |range: std::ops::Range<usize>| range.filter_map(|at| laid.prepared.group(at)).collect::<Vec<_>>();
    let behind = groups(window.end..items.len());
    assert!(groups(0..window.end).iter().all(|group| !behind.contains(group)));
    for piece in window.pieces(items) {
        assert!(!matches!(piece.message.role, Role::System | Role::Developer) && piece.message.include_in_context);
        let placed = chain.iter().find(|placed| placed.node.id == *piece.node).unwrap();
        assert_eq!(&placed.node.messages[piece.index as usize], piece.message);
    }
}

/// A tree in the making.
struct Maker<'a> {
    from: Choices<'a>,
    tree: Transcript,
    nodes: Vec<MessageId>,
    made: usize,
}

impl Maker<'_> {
    fn append(&mut self, parent: &MessageId, messages: Vec<Message>, sealed: bool) -> MessageId {
        let name = id(&format!("n{}", self.nodes.len()));
        let opened = messages.iter().filter(|message| message.role == Role::User).count();
        let turn = if opened > 0 { self.tree.next_turn() } else { 0 };
        let mut node = Node::new(name.clone(), Some(parent.clone()), messages);
        (node.turn, node.sealed) = (turn, sealed);
        self.tree.apply(Entry::Node(Box::new(node))).unwrap();
        self.nodes.push(name.clone());
        name
    }

    fn compact(&mut self, leaf: &MessageId) {
        let chosen = Chosen {
            tail_turns: self.from.below(4) as u32,
            keep_recent: [None, Some(0), Some(3)][self.from.below(3)],
            target_tokens: [None, Some(10), Some(300)][self.from.below(3)],
        };
        let strategy = Strategy::ALL[self.from.below(3)];
        let options = Options { live: true, ..Options::default() };
        let laid = lay(&self.tree, leaf, None, &options);
        let found = window(&laid.chain, &laid.items, &laid.prepared, laid.end, &chosen, &[]);
        let Some(window) = found else { return };
        check_window(&laid, &window);
        let mut statements = laid.checkpoint.map(|before| before.statements.clone()).unwrap_or_default();
        if strategy != Strategy::SlidingWindow {
            let pieces = window.pieces(&laid.items);
            let sources = pieces.iter().map(|piece| Source { node: piece.node.clone(), index: piece.index }).collect();
            statements.push(Statement { text: format!("{} messages", pieces.len()), sources, level: 0 });
        }
        self.made += 1;
        let checkpoint = Checkpoint {
            id: format!("cp_{}", self.made),
            anchor: window.anchor.clone(),
            covers: Covers {
                from: window.from.clone(),
                nodes: window.nodes,
                messages: window.end as u32,
                first_turn: window.first_turn,
                last_turn: window.last_turn,
            },
            statements,
            episodes: Vec::new(),
            facts: Vec::new(),
            strategy,
            summariser: "test".into(),
            policy: chosen,
            tokens_before: 0,
            tokens_after: 0,
            created_at: 0,
            cleared: Vec::new(),
            previous: laid.checkpoint.map(|before| before.id.clone()),
            cost: None,
            warnings: Vec::new(),
        };
        self.tree.apply(Entry::Checkpoint(Box::new(checkpoint))).unwrap();
    }
}

/// A tree with checkpoints, made from bytes: each message of a transcript goes on where the one before ended, or forks off.
fn grow(bytes: &[u8], steps: &[u8]) -> Transcript {
    let messages = transcript(&mut Choices::new(bytes));
    let mut tree = Transcript::new(id("root"));
    tree.apply(Entry::Node(Box::new(Node::new(id("root"), None, Vec::new())))).unwrap();
    let mut maker = Maker { from: Choices::new(steps), tree, nodes: vec![id("root")], made: 0 };
    let mut leaf = id("root");
    let mut messages = messages.into_iter().peekable();
    while messages.peek().is_some() {
        match maker.from.below(12) {
            // Zeros are what comes when the choices are at their end.
            11 => leaf = maker.nodes[maker.from.below(maker.nodes.len())].clone(),
            1 | 2 => maker.compact(&leaf),
            count => {
                let several = if count == 3 { 3 } else { 1 };
                let next: Vec<Message> = messages.by_ref().take(several).collect();
                leaf = maker.append(&leaf, next, count != 4);
            }
        }
    }
    maker.compact(&leaf);
    maker.tree
}

fn cases() -> u32 {
    std::env::var("THREADKEEP_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn every_prompt_of_every_epoch_on_every_branch_is_valid_and_accounted_for(
        bytes in prop::collection::vec(any::<u8>(), 0..250),
        steps in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let tree = grow(&bytes, &steps);
        let leaves = tree.nodes().filter(|placed| placed.is_leaf()).map(|placed| placed.node.id.clone());
        for leaf in leaves.take(12) {
            let epochs = tree.epochs(&leaf).unwrap();
            let length = tree.messages(&leaf).unwrap().len();
            prop_assert_eq!(epochs.last().unwrap().end, length);
            for epoch in &epochs {
                let name = epoch.checkpoint.map(|checkpoint| checkpoint.id.as_str());
                let laid = lay(&tree, &leaf, Some(name), &Options::default());
                let newest = laid.items.iter().rfind(|item| opens_turn(item.message));
                prop_assert!(newest.is_none_or(|newest| newest.out.is_none()), "the newest question is covered");
                for provider in Provider::ALL {
                    let options = Options { provider, ..Options::default() };
                    let laid = lay(&tree, &leaf, Some(name), &options);
                    let prompt = laid.prepared.prompt(&laid.items, &options, &RenderOptions::default(), &Estimate);
                    prop_assert_eq!(validate_payload(&prompt.payload, provider), [], "{:?} {:?}", provider, name);
                    let sum: u64 = prompt.context.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
                    prop_assert_eq!((sum, sum), (prompt.context.figures.tokens, prompt.context.kinds.total()));
                    // Nothing is unaccounted for, nothing is there twice.
                    let mut places: Vec<usize> = Vec::new();
                    places.extend(prompt.context.ledger.iter().filter(|line| line.node.is_some()).map(|line| line.index));
                    places.sort_unstable();
                    prop_assert_eq!(places, (0..length).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn what_is_stored_stays_as_it_was_and_branches_share_what_stands_in(
        bytes in prop::collection::vec(any::<u8>(), 0..250),
        steps in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let tree = grow(&bytes, &steps);
        let all: Vec<Message> = transcript(&mut Choices::new(&bytes));
        let stored: Vec<Message> = tree.nodes().flat_map(|placed| placed.node.messages.to_vec()).collect();
        prop_assert_eq!(stored, all);
        prop_assert!(tree.damage().is_empty());
        let leaves: Vec<_> = tree.nodes().filter(|placed| placed.is_leaf()).map(|placed| placed.node.id.clone()).collect();
        for pair in leaves.windows(2).take(12) {
            let [one, two] = [&pair[0], &pair[1]].map(|leaf| lay(&tree, leaf, None, &Options::default()));
            let (Some(a), Some(b)) = (one.checkpoint, two.checkpoint) else { continue };
            prop_assert_eq!(a.anchor == b.anchor, a.id == b.id);
            let same = one.chain.iter().zip(&two.chain).take_while(|(a, b)| a.node.id == b.node.id).count();
            let shared: usize = one.chain[..same].iter().map(|placed| placed.node.messages.len()).sum();
            // Where the fork is behind the anchor, the prompts begin alike; what a late result calls back apart.
            let late = |laid: &Laid| overlay::stays(&laid.items, laid.end, &[]);
            if a.id == b.id && late(&one) == late(&two) {
                prop_assert!(shared >= one.end);
                let out = |laid: &Laid| laid.items[..laid.end].iter().map(|item| item.out).collect::<Vec<_>>();
                prop_assert_eq!(out(&one), out(&two));
            }
        }
    }
}
