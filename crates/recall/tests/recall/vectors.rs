//! Vectors beside the index, with a deterministic stand-in for a model: texts as counts of topics.

use threadkeep_recall::{Block, Builder, Filter, Found, Index, NewDoc, Query, fuse};

const TOPICS: [&[&str]; 4] =
    [&["dog", "puppy", "hound"], &["car", "automobile"], &["rain", "storm"], &["tea", "kettle"]];

/// One number for each topic, and one that all texts have.
fn embed(text: &str) -> Vec<i8> {
    let count = |words: &&[&str]| 40 * text.split(' ').filter(|word| words.contains(word)).count().min(3) as i8;
    TOPICS.iter().map(count).chain([5]).collect()
}

const TEXTS: [&str; 5] = ["a puppy barks", "the automobile stops", "a storm comes", "put the kettle on", "dog and car"];

fn index() -> Index {
    let mut builder = Builder::default();
    for (seq, text) in (0u64..).zip(TEXTS) {
        let role = 1 + (seq % 2) as u8;
        builder.add(&NewDoc { owner: "t", seq, index: 0, role, kind: 0, time: 0, before: None, text, names: &[] });
    }
    Index::of(vec![builder.finish()])
}

fn block(seqs: &[u64]) -> Block {
    let values = seqs.iter().flat_map(|seq| embed(TEXTS.get(*seq as usize).unwrap_or(&""))).map(|value| value as u8);
    Block {
        owner: "t".into(),
        model: "topics".into(),
        length: 5,
        places: seqs.iter().map(|seq| (*seq, 0)).collect(),
        values: values.collect(),
    }
}

fn seqs(found: &[Found<'_>]) -> Vec<u64> {
    found.iter().map(|found| found.doc.seq).collect()
}

#[test]
fn what_means_the_same_is_near() {
    let (index, blocks) = (index(), [block(&[0, 1]), block(&[2, 3, 4])]);
    let lined = index.line_up(&blocks);
    let near = |text: &str, filter: &Filter<'_>| {
        seqs(&index.nearest(&blocks, &lined, &embed(text), &Query::parse(text), filter, 2))
    };
    assert_eq!(near("hound", &Filter::default()), [0, 4]);
    assert_eq!(near("car", &Filter::default()), [1, 4]);
    assert_eq!(near("hound -puppy", &Filter::default()), [4, 1]);
    assert_eq!(near("hound \"dog and\"", &Filter::default()), [4]);
    assert_eq!(near("car", &Filter { roles: 1 << 1, ..Filter::default() })[0], 4);
    assert!(index.find(&Query::parse("hound"), &Filter::default(), 2).is_empty());
}

#[test]
fn vectors_may_be_missing_be_of_no_document_or_of_another_length() {
    let index = index();
    let other = Block { length: 1, places: vec![(2, 0)], values: vec![9], ..block(&[]) };
    let blocks = [block(&[0, 77]), other, block(&[3])];
    let lined = index.line_up(&blocks);
    assert_eq!(lined, [0, u32::MAX, 2, 3]);
    assert_eq!(seqs(&index.nearest(&blocks, &lined, &embed("tea"), &Query::default(), &Filter::default(), 9)), [3, 0]);
    let (listed, count) = index.without_vector(&lined, 1, &|_| true);
    assert_eq!((listed[0].1.seq, listed.len(), count), (4, 1, 2));
    assert_eq!(index.without_vector(&lined, 9, &|doc| doc.role == 2).1, 1);
}

#[test]
fn blocks_are_read_as_written() {
    let block = block(&[0, 3, 4]);
    let bytes = block.write();
    assert_eq!(Block::read(&bytes).unwrap(), block);
    for cut in 0..bytes.len() {
        assert!(Block::read(&bytes[..cut]).is_err(), "{cut}");
    }
}

#[test]
fn two_rankings_become_one() {
    let (index, blocks) = (index(), [block(&[0, 1, 2, 3, 4])]);
    let lined = index.line_up(&blocks);
    let words = index.find(&Query::parse("dog kettle"), &Filter::default(), 9);
    assert_eq!(seqs(&words).len(), 2);
    let near = index.nearest(&blocks, &lined, &embed("dog"), &Query::default(), &Filter::default(), 2);
    assert_eq!(seqs(&near), [0, 4]);
    let fused = fuse(words, near, 9);
    // Both lists have the one that speaks of a dog; it comes before what only one has.
    assert_eq!(fused[0].doc.seq, 4);
    assert_eq!(fused.len(), 3);
    assert!(fused.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_refused_or_a_block(bytes: Vec<u8>) {
        let bytes = [b"TKV1".as_slice(), &bytes].concat();
        if let Ok(block) = Block::read(&bytes) {
            proptest::prop_assert_eq!(block.values.len(), block.length * block.places.len());
        }
    }
}
