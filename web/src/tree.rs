//! The map of a conversation, an outline by turns: a user's message and what follows until the next or until a fork becomes one stretch,
//! drawn as one line with one dot. A tree's nodes in, stretches with their row and lane out. The newest branch continues its parent's lane; the others hang off to its
//! right, above it, so that no line crosses another.

use threadkeep::protocol::TreeNode;

/// A run of nodes without a fork inside, and of one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// The position of its first node.
    pub first: usize,
    /// The position of its last node: a fork, a leaf, or the end of a turn.
    pub last: usize,
    /// How many nodes it has.
    pub nodes: usize,
    /// The stretch that it follows; none for the root's.
    pub parent: Option<usize>,
    /// Its column, from 0.
    pub lane: usize,
    /// Its line, from 0: its position in the list.
    pub row: usize,
    /// How many stretches go on from its end.
    pub forks: usize,
    /// The node whose words name it.
    pub named: usize,
}

/// A laid-out tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Map {
    /// Its stretches, from the top down.
    pub stretches: Vec<Stretch>,
    /// The stretch of each node.
    of_node: Vec<usize>,
    /// For each node, the position of its parent.
    parents: Vec<Option<usize>>,
    /// For each node, the position of its newest child.
    newest: Vec<Option<usize>>,
    /// How many columns there are.
    pub lanes: usize,
}

impl Map {
    /// Lays a tree out. Parents come before their children; a link that breaks this is taken as none, and only what hangs
    /// together with the first node is drawn.
    pub fn new(nodes: &[TreeNode]) -> Self {
        let parents: Vec<Option<usize>> = nodes
            .iter()
            .enumerate()
            .map(|(at, node)| node.parent.map(|up| up as usize).filter(|up| *up < at))
            .collect();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (at, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(at);
            }
        }
        let newest = children.iter().map(|children| children.last().copied()).collect();
        let mut map = Self { stretches: Vec::new(), of_node: vec![0; nodes.len()], parents, newest, lanes: 0 };
        let mut todo = if nodes.is_empty() { Vec::new() } else { vec![(0, None, 0)] };
        while let Some((first, parent, lane)) = todo.pop() {
            let row = map.stretches.len();
            let (mut last, mut count) = (first, 1);
            map.of_node[first] = row;
            // What nobody says, such as an empty root, belongs to what follows.
            let mut said = says(&nodes[first]);
            while let [only] = children[last][..]
                && !(said && begins_turn(&nodes[only]))
            {
                last = only;
                said |= says(&nodes[last]);
                map.of_node[last] = row;
                count += 1;
            }
            map.lanes = map.lanes.max(lane + 1);
            let named = named(nodes, &children, first);
            map.stretches.push(Stretch {
                first,
                last,
                nodes: count,
                parent,
                lane,
                row,
                forks: children[last].len(),
                named,
            });
            // Taken from the back: the oldest first and to the right, the newest last and straight on.
            for (place, child) in children[last].iter().rev().enumerate() {
                todo.push((*child, Some(row), lane + usize::from(place > 0)));
            }
        }
        map
    }

    /// For each stretch, whether it lies on the way from the root to a node.
    pub fn path(&self, node: usize) -> Vec<bool> {
        let mut path = vec![false; self.stretches.len()];
        let mut at = self.of_node.get(node).copied();
        while let Some(stretch) = at {
            path[stretch] = true;
            at = self.stretches.get(stretch).and_then(|stretch| stretch.parent);
        }
        path
    }

    /// The stretch that holds a node.
    pub fn stretch(&self, node: usize) -> Option<usize> {
        self.of_node.get(node).copied()
    }

    /// The leaf that one comes to from a stretch by the newest branch each time.
    pub fn leaf(&self, stretch: usize) -> Option<usize> {
        let mut at = self.stretches.get(stretch)?.last;
        while let Some(next) = self.newest[at] {
            at = next;
        }
        Some(at)
    }

    /// Whether `node` lies on the way from the root to `leaf`.
    pub fn leads_to(&self, node: usize, leaf: usize) -> bool {
        let mut at = Some(leaf);
        while let Some(here) = at {
            if here == node {
                return true;
            }
            at = self.parents.get(here).copied().flatten();
        }
        false
    }

    /// How many leaves there are.
    pub fn leaves(&self) -> usize {
        self.stretches.iter().filter(|stretch| stretch.forks == 0).count()
    }
}

/// Whether a turn begins with a node, for a reader.
fn begins_turn(node: &TreeNode) -> bool {
    node.role == "user" && !node.hidden
}

/// Whether a reader sees words of a node.
fn says(node: &TreeNode) -> bool {
    !node.hidden && !node.words.trim().is_empty()
}

/// The first node of a stretch that has words and is not hidden, else the first that has words, else the first.
fn named(nodes: &[TreeNode], children: &[Vec<usize>], first: usize) -> usize {
    let (mut at, mut fallback) = (first, None);
    // The name stands near the start or not at all: looking further would make long stretches slow.
    for _ in 0..64 {
        let node = &nodes[at];
        if !node.words.trim().is_empty() {
            if !node.hidden {
                return at;
            }
            fallback = fallback.or(Some(at));
        }
        match children[at][..] {
            [only] => at = only,
            _ => break,
        }
    }
    fallback.unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_core::MessageId;

    fn tree(parents: &[Option<u32>]) -> Vec<TreeNode> {
        let one = |(at, parent): (usize, &Option<u32>)| TreeNode {
            id: MessageId::new(format!("n{at}")).unwrap(),
            parent: *parent,
            role: "assistant".into(),
            hidden: at == 0,
            words: if at == 1 { String::new() } else { format!("words {at}") },
        };
        parents.iter().enumerate().map(one).collect()
    }

    #[test]
    fn a_line_is_one_stretch() {
        let parents: Vec<Option<u32>> = (0..10_000_u32).map(|at| at.checked_sub(1)).collect();
        let map = Map::new(&tree(&parents));
        assert_eq!(map.stretches.len(), 1);
        assert_eq!((map.stretches[0].nodes, map.stretches[0].last, map.stretches[0].named), (10_000, 9_999, 2));
        assert_eq!(map.leaf(0), Some(9_999));
    }

    #[test]
    fn each_turn_is_a_stretch() {
        // A user's message, two of the assistant, and so on: 0 1 2 | 3 4 5 | 6 7 8, and another answer to 6.
        let mut nodes = tree(&[None, Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), Some(6), Some(7), Some(6)]);
        for at in [0, 3, 6] {
            nodes[at].role = "user".into();
        }
        let map = Map::new(&nodes);
        let shape: Vec<_> = map.stretches.iter().map(|s| (s.first, s.last, s.lane, s.parent, s.forks)).collect();
        assert_eq!(
            shape,
            [
                (0, 2, 0, None, 1),
                (3, 5, 0, Some(0), 1),
                (6, 6, 0, Some(1), 2),
                (7, 8, 1, Some(2), 0),
                (9, 9, 0, Some(2), 0)
            ]
        );
        assert_eq!((map.leaves(), map.leaf(0), map.stretches[1].named), (2, Some(9), 3));
        assert_eq!(map.path(8), [true, true, true, true, false]);
        // An empty root is no turn of its own.
        nodes[0].words.clear();
        nodes[0].role.clear();
        nodes[1].role = "user".into();
        assert_eq!(Map::new(&nodes).stretches[0].last, 2);
        // What a reader does not see begins none.
        nodes[3].hidden = true;
        assert_eq!(Map::new(&nodes).stretches[0].last, 5);
    }

    #[test]
    fn the_newest_branch_goes_straight_on() {
        // 0 - 1 - 2 - 4
        //      \- 3 - 5
        //           \- 6
        let map = Map::new(&tree(&[None, Some(0), Some(1), Some(1), Some(2), Some(3), Some(3)]));
        let shape: Vec<_> = map.stretches.iter().map(|s| (s.first, s.last, s.lane, s.parent)).collect();
        assert_eq!(
            shape,
            [(0, 1, 0, None), (2, 4, 1, Some(0)), (3, 3, 0, Some(0)), (5, 5, 1, Some(2)), (6, 6, 0, Some(2))]
        );
        assert_eq!(map.lanes, 2);
        assert_eq!(map.leaves(), 3);
        assert_eq!(map.leaf(0), Some(6));
        assert_eq!(map.path(5), [true, false, true, true, false]);
        assert!(map.leads_to(3, 6) && !map.leads_to(2, 6));
    }

    #[test]
    fn lines_of_later_siblings_cross_nothing() {
        // Between a stretch and its last child, every row lies further to the right.
        let mut parents = vec![None];
        for at in 1..400_u32 {
            parents.push(Some((at * 7919) % at));
        }
        let map = Map::new(&tree(&parents));
        assert_eq!(map.stretches.iter().map(|s| s.nodes).sum::<usize>(), 400);
        for stretch in &map.stretches {
            let Some(parent) = stretch.parent else { continue };
            let lane = map.stretches[parent].lane;
            assert!(map.stretches[parent + 1..stretch.row].iter().all(|between| between.lane > lane));
        }
    }

    #[test]
    fn odd_trees_do_no_harm() {
        assert_eq!(Map::new(&[]), Map::default());
        assert_eq!(Map::default().leaf(0), None);
        let map = Map::new(&tree(&[None, Some(5), Some(2)]));
        assert_eq!(map.stretches.len(), 1);
        assert_eq!(map.path(77), [false]);
    }
}
