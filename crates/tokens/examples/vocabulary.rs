//! Makes the vocabulary assets: `cargo xtask vocabulary` runs this. Goes in: the rank files that the crate `tiktoken-rs`
//! carries (its version and checksum are in `Cargo.lock`), and the Unicode classes of `regex-syntax`, which the reference
//! splits by. Comes out: `o200k_base.gz` and `cl100k_base.gz` in the folder that is named, the same bytes every time.
//! The form is described in `src/vocabulary.rs`.

#![expect(clippy::expect_used, reason = "a maker's tool: what does not hold must stop it")]

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;

use regex_syntax::hir::{Class, HirKind};
use threadkeep_tokens::{Encoding, checksum};
use tiktoken_rs::CoreBPE;

/// The bits of a code point's class, as `src/classes.rs` reads them.
const CLASSES: [(u8, &str); 5] = [
    (1, r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"),
    (2, r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"),
    (4, r"\p{N}"),
    (8, r"\s"),
    (16, r"\p{L}"),
];

const BLOCK: usize = 128;

fn main() {
    let folder = std::env::args().nth(1).expect("usage: vocabulary FOLDER");
    let classes = class_tables();
    for (encoding, reference) in
        [(Encoding::O200k, tiktoken_rs::o200k_base()), (Encoding::Cl100k, tiktoken_rs::cl100k_base())]
    {
        let reference = reference.expect("the crate's own rank file");
        let mut asset = merge_list(&tokens(&reference, encoding.len()));
        asset.extend_from_slice(&classes);
        let path = Path::new(&folder).join(format!("{}.gz", encoding.name()));
        let mut gzip = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::best());
        gzip.write_all(&asset).expect("memory takes all");
        let packed = gzip.finish().expect("memory takes all");
        std::fs::write(&path, &packed).expect("the folder can be written to");
        let (name, sum) = (path.display(), checksum(&asset));
        println!("{name}: {} bytes, {} gzipped, checksum {sum:#018x}", asset.len(), packed.len());
    }
}

/// Every token's bytes, by rank.
fn tokens(reference: &CoreBPE, count: usize) -> Vec<Vec<u8>> {
    let token = |rank| reference.decode_bytes(&[rank]).expect("ranks are without gaps");
    (0..u32::try_from(count).expect("less than 2^32 tokens")).map(token).collect()
}

/// The 256 single bytes in the order of their ranks, then the two halves of every other token, as byte planes.
fn merge_list(tokens: &[Vec<u8>]) -> Vec<u8> {
    let ranks: HashMap<&[u8], u32> = tokens.iter().map(Vec::as_slice).zip(0..).collect();
    assert_eq!(ranks.len(), tokens.len(), "a token is there twice");
    let mut list: Vec<u8> = tokens[..256].iter().flat_map(|token| token.iter().copied()).collect();
    assert_eq!(list.len(), 256, "the first tokens are the bytes");
    let halves: Vec<[u32; 2]> = (256..).zip(&tokens[256..]).map(|(rank, token)| halves(&ranks, token, rank)).collect();
    for side in 0..2 {
        for shift in [0, 8, 16] {
            list.extend(halves.iter().map(|pair| (pair[side] >> shift) as u8));
        }
    }
    list
}

/// The two tokens whose merge makes `token`: what is left when it is encoded by all merges of a lower rank.
fn halves(ranks: &HashMap<&[u8], u32>, token: &[u8], rank: u32) -> [u32; 2] {
    let mut parts: Vec<&[u8]> = token.chunks(1).collect();
    while parts.len() > 2 {
        let mut best = (rank, 0, 0);
        let mut start = 0;
        for (at, pair) in parts.windows(2).enumerate() {
            let length = pair[0].len() + pair[1].len();
            if let Some(&found) = ranks.get(&token[start..start + length])
                && found < best.0
            {
                best = (found, at, start);
            }
            start += pair[0].len();
        }
        assert!(best.0 < rank, "token {rank} is no merge of two");
        let length = parts[best.1].len() + parts[best.1 + 1].len();
        parts.splice(best.1..best.1 + 2, [&token[best.2..best.2 + length]]);
    }
    [ranks[parts[0]], ranks[parts[1]]]
}

/// For every block of 128 code points which of the distinct blocks it equals, then those blocks, a byte a code point.
fn class_tables() -> Vec<u8> {
    let mut class = vec![0_u8; 0x11_0000];
    for (bit, pattern) in CLASSES {
        let parsed = regex_syntax::parse(pattern).expect("a class");
        let HirKind::Class(Class::Unicode(ranges)) = parsed.kind() else { panic!("{pattern} is no class") };
        for range in ranges.iter() {
            class[range.start() as usize..=range.end() as usize].iter_mut().for_each(|it| *it |= bit);
        }
    }
    let mut distinct: Vec<&[u8]> = Vec::new();
    let mut tables = Vec::new();
    for block in class.chunks(BLOCK) {
        let known = distinct.iter().position(|it| *it == block).unwrap_or_else(|| {
            distinct.push(block);
            distinct.len() - 1
        });
        tables.push(u8::try_from(known).expect("at most 256 distinct blocks"));
    }
    tables.extend(distinct.concat());
    tables
}
