//! Vectors of a model, made elsewhere: `THREADKEEP_TEXTS` names a file to which all texts of the sets are written, one JSON string a line,
//! and `THREADKEEP_VECTORS` one with lines `[text, [numbers from -127 to 127]]`.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use threadkeep_recall::{Block, Filter, Query, Tuning, fuse};

use crate::questions::{Set, bfcl};

type Known = HashMap<String, Vec<i8>>;

/// The vectors, where there are some.
pub fn vectors() -> Option<&'static Known> {
    static KNOWN: OnceLock<Option<Known>> = OnceLock::new();
    let read = || {
        let lines = std::fs::read_to_string(std::env::var_os("THREADKEEP_VECTORS")?).unwrap();
        Some(lines.lines().map(|line| serde_json::from_str::<(String, Vec<i8>)>(line).unwrap()).collect())
    };
    KNOWN.get_or_init(read).as_ref()
}

/// Finds messages for a question, by words too if that is wanted.
pub type Searcher<'a> = Box<dyn Fn(&str, bool) -> Vec<usize> + 'a>;

/// What finds messages of a set by their vectors.
pub fn searcher(set: &Set) -> Searcher<'_> {
    let known = vectors().unwrap();
    let index = set.index(Tuning::default());
    let mut block = Block { owner: "t".to_owned(), ..Block::default() };
    for (seq, said) in (0u64..).zip(&set.messages) {
        if let Some(vector) = known.get(&said.text) {
            block.length = vector.len();
            block.places.push((seq, 0));
            block.values.extend(vector.iter().map(|value| *value as u8));
        }
    }
    let lined = index.line_up([&block]);
    Box::new(move |question, words| {
        let Some(vector) = known.get(question) else { return Vec::new() };
        let (query, filter) = (Query::parse(question), Filter::default());
        let near = index.nearest([&block], &lined, vector, &query, &filter, 100);
        let found = if words { fuse(index.find(&query, &filter, 100), near, 20) } else { near };
        found.iter().take(20).map(|found| found.doc.seq as usize).collect()
    })
}

/// Writes all texts of the sets, each once.
pub fn write_texts(path: &Path, beam: &[Set], data: Option<&Path>) {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut seen = HashSet::new();
    let mut write = |set: &Set| {
        let asked = set.questions.iter().map(|question| &question.text);
        for text in set.messages.iter().map(|said| &said.text).chain(asked) {
            if seen.insert(text.clone()) {
                writeln!(out, "{}", serde_json::to_string(text).unwrap()).unwrap();
            }
        }
    };
    beam.iter().for_each(&mut write);
    data.into_iter().flat_map(bfcl).for_each(|set| write(&set));
    if let Some(chats) = std::env::var_os("THREADKEEP_CHATS") {
        crate::others::read(chats.as_ref(), &mut |_, set| write(&set));
    }
}
