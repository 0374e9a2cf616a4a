//! A branch as a page lays it out: rows, lines that stand for hidden rows, how far each is indented, how high it may
//! become, and blocks of neighbours that are built together. A branch's rows in, items and blocks out.

use std::ops::Range;

use threadkeep::protocol::{Fork, Row};

/// One thing in the thread view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A message: the position of its row, and how many forks lead to it.
    Row {
        /// The position in the outline.
        row: usize,
        /// How many forks the branch has passed, this row's included.
        level: u32,
    },
    /// A line that stands for hidden rows.
    Hidden {
        /// Their positions in the outline.
        rows: Range<usize>,
        /// Whether they are shown below it.
        open: bool,
        /// How many forks the branch has passed before them.
        level: u32,
    },
}

/// Lays rows out. `open` has the first position of every hidden run that the reader has opened. A hidden row at a fork
/// leaves its arrows on the next visible row: see [`fork`].
pub fn items(rows: &[Row], open: &[usize]) -> Vec<Item> {
    let mut items = Vec::with_capacity(rows.len());
    let (mut at, mut level) = (0, 0);
    while at < rows.len() {
        if !rows[at].hidden {
            level += passed(&rows[at]);
            items.push(Item::Row { row: at, level });
            at += 1;
            continue;
        }
        let end = rows[at..].iter().position(|row| !row.hidden).map_or(rows.len(), |more| at + more);
        let open = open.contains(&at);
        items.push(Item::Hidden { rows: at..end, open, level });
        for (row, here) in rows.iter().enumerate().take(end).skip(at) {
            level += passed(here);
            if open {
                items.push(Item::Row { row, level });
            }
        }
        at = end;
    }
    items
}

/// How many forks a branch passes at a row: the one between questions, the one between answers.
fn passed(row: &Row) -> u32 {
    u32::from(row.fork.is_some()) + u32::from(row.answers.is_some())
}

/// The fork at a row that a key turns: the last that the branch passes there.
pub fn last_fork(row: &Row) -> Option<&Fork> {
    row.answers.as_ref().or(row.fork.as_ref())
}

/// The fork to show on a row: its own, or the last one of the hidden rows right before it while they are tucked away.
/// Comes with the position of the row that it belongs to.
pub fn fork<'a>(rows: &'a [Row], row: usize, open: &[usize]) -> Option<(usize, &'a Fork)> {
    let own = rows.get(row)?;
    if let Some(fork) = &own.fork {
        return Some((row, fork));
    }
    if own.hidden || row == 0 {
        return None;
    }
    let run = rows[..row].iter().rposition(|row| !row.hidden).map_or(0, |before| before + 1);
    if run == row || open.contains(&run) {
        return None;
    }
    (run..row).rev().find_map(|at| Some((at, rows[at].fork.as_ref()?)))
}

/// About how high an item becomes, in pixels, in a column that holds `letters` characters a line.
pub fn guess(item: &Item, rows: &[Row], letters: f64) -> f64 {
    const LINE: f64 = 25.0;
    match item {
        Item::Hidden { .. } => 44.0,
        Item::Row { row, .. } => {
            let row = &rows[*row];
            match row.role.as_str() {
                // Tool results and instructions are collapsed to one line.
                "tool" | "function" | "system" | "developer" => 58.0,
                _ => {
                    let lines = (f64::from(row.chars.min(CLAMP as u32)) / letters.max(10.0) * 1.35).ceil();
                    64.0 + lines.max(1.0) * LINE + f64::from(row.messages.saturating_sub(1)) * 40.0
                }
            }
        }
    }
}

/// The most characters of one message that are shown before the reader asks for all of it.
pub const CLAMP: usize = 24_000;

/// Items that are built and dropped together.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Their positions in the list of items.
    pub items: Range<usize>,
    /// About how high they become together, in pixels.
    pub guess: f64,
}

/// Cuts items into blocks of about a screen: at least 700 pixels by guess, at most 40 items.
pub fn blocks(items: &[Item], rows: &[Row], letters: f64) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut start, mut height) = (0, 0.0);
    for (at, item) in items.iter().enumerate() {
        height += guess(item, rows, letters);
        if height >= 700.0 || at + 1 - start >= 40 || at + 1 == items.len() {
            blocks.push(Block { items: start..at + 1, guess: height });
            (start, height) = (at + 1, 0.0);
        }
    }
    blocks
}

/// The rows in which calls of tools meet their results: from the one that calls over all results that follow it. `row` is among them.
pub fn near(rows: &[Row], row: usize) -> Range<usize> {
    // What is farther away is shown apart.
    const MOST: usize = 64;
    let is_result = |at: &usize| matches!(rows[*at].role.as_str(), "tool" | "function");
    let (low, high) = (row.saturating_sub(MOST), rows.len().min(row + 1 + MOST));
    let start = if is_result(&row) { (low..row).rfind(|at| !is_result(at)).unwrap_or(low) } else { row };
    start..(row + 1..high).find(|at| !is_result(at)).unwrap_or(high)
}

/// The rows that a block's items need: their own, and those near them.
pub fn rows_of(items: &[Item], block: &Block, rows: &[Row]) -> Option<Range<usize>> {
    let mut own = (items.get(block.items.clone())?.iter()).filter_map(|item| match item {
        Item::Row { row, .. } => Some(*row),
        Item::Hidden { .. } => None,
    });
    let first = own.next()?;
    let last = own.next_back().unwrap_or(first);
    Some(near(rows, first).start..near(rows, last).end)
}

/// The item that shows a row, or the line that it is hidden behind.
pub fn item_of(items: &[Item], row: usize) -> Option<usize> {
    let exact = items.iter().position(|item| matches!(item, Item::Row { row: here, .. } if *here == row));
    exact.or_else(|| items.iter().position(|item| matches!(item, Item::Hidden { rows, .. } if rows.contains(&row))))
}

/// The first row of the run that hides a row. A thread often begins with hidden rows; opening it at the top does not mean to unfold them.
pub fn run_of(rows: &[Row], row: usize) -> Option<usize> {
    if row == 0 || !rows.get(row)?.hidden {
        return None;
    }
    Some(rows[..row].iter().rposition(|row| !row.hidden).map_or(0, |before| before + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_core::MessageId;

    fn rows(pattern: &str) -> Vec<Row> {
        // `h` hidden, `H` hidden at a fork, `.` plain, `f` at a fork
        let one = |(at, kind): (usize, char)| Row {
            id: MessageId::new(format!("n{at}")).unwrap(),
            role: "user".into(),
            messages: 1,
            chars: 200,
            depth: at as u32,
            hidden: matches!(kind, 'h' | 'H'),
            fork: matches!(kind, 'f' | 'H').then_some(Fork { index: 1, count: 2, previous: None, next: None }),
            answers: None,
        };
        pattern.chars().enumerate().map(one).collect()
    }

    fn shape(items: &[Item]) -> String {
        let one = |item: &Item| match item {
            Item::Row { row, level } => format!("{row}^{level}"),
            Item::Hidden { rows, open, .. } => {
                format!("{}{}-{}", if *open { "v" } else { ">" }, rows.start, rows.end)
            }
        };
        items.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn hidden_rows_become_a_line_that_opens() {
        let none = [];
        assert_eq!(shape(&items(&rows("hh..h"), &none)), ">0-2 2^0 3^0 >4-5");
        assert_eq!(shape(&items(&rows("hh..h"), &[0])), "v0-2 0^0 1^0 2^0 3^0 >4-5");
        assert_eq!(shape(&items(&rows(".f.fH."), &none)), "0^0 1^1 2^1 3^2 >4-5 5^3");
        assert!(items(&[], &none).is_empty());
    }

    #[test]
    fn the_run_that_hides_a_row() {
        let rows = rows("h.hhh.");
        let runs: Vec<_> = (0..7).map(|row| run_of(&rows, row)).collect();
        assert_eq!(runs, [None, None, Some(2), Some(2), Some(2), None, None]);
    }

    #[test]
    fn a_fork_on_a_hidden_row_is_reachable() {
        let rows = rows(".Hh.f");
        assert_eq!(fork(&rows, 3, &[]).unwrap().0, 1);
        assert!(fork(&rows, 3, &[1]).is_none());
        assert_eq!(fork(&rows, 4, &[]).unwrap().0, 4);
        assert!(fork(&rows, 0, &[]).is_none());
        assert!(fork(&rows, 9, &[]).is_none());
    }

    #[test]
    fn calls_and_results_are_near_each_other() {
        let mut rows = rows("......");
        for result in [2, 3, 5] {
            rows[result].role = "tool".into();
        }
        let near: Vec<_> = (0..6).map(|row| near(&rows, row)).collect();
        assert_eq!(near, [0..1, 1..4, 1..4, 1..4, 4..6, 4..6]);
        let long: Vec<Row> = std::iter::repeat_n(rows[2].clone(), 1000).collect();
        assert_eq!(super::near(&long, 500), 436..565);
    }

    #[test]
    fn blocks_cover_every_item_once() {
        let rows = rows(&"h..f.".repeat(500));
        let items = items(&rows, &[]);
        let blocks = blocks(&items, &rows, 80.0);
        let mut next = 0;
        for block in &blocks {
            assert_eq!(block.items.start, next);
            assert!((1..=40).contains(&block.items.len()));
            next = block.items.end;
        }
        assert_eq!(next, items.len());
        assert_eq!(rows_of(&items, &blocks[0], &rows).unwrap().start, 1);
        assert_eq!(item_of(&items, 0), Some(0));
        assert_eq!(item_of(&items, 1), Some(1));
        assert_eq!(item_of(&items, 99_999), None);
    }
}
