//! What is no vocabulary is refused, with a typed error.

use std::io::Read as _;

use threadkeep_tokens::{Bpe, Encoding, LoadError};

fn asset(encoding: Encoding) -> Vec<u8> {
    let path = format!("{}/vocabulary/{}.gz", env!("CARGO_MANIFEST_DIR"), encoding.name());
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn the_assets_load_and_count() {
    for encoding in Encoding::ALL {
        let bpe = Bpe::load(encoding, &asset(encoding)).unwrap();
        assert_eq!(bpe.encoding(), encoding);
        assert_eq!(bpe.count("hello world"), 2);
    }
}

#[test]
fn lengths_that_are_wrong() {
    let good = asset(Encoding::Cl100k);
    for bytes in [&[][..], &good[..good.len() - 1], &good[..100], &[0; 300], b"\x1f\x8b packed"] {
        let error = Bpe::load(Encoding::Cl100k, bytes).unwrap_err();
        assert_eq!(error, LoadError::Length { encoding: "cl100k_base", found: bytes.len() });
    }
    assert!(matches!(Bpe::load(Encoding::O200k, &good), Err(LoadError::Length { .. })));
    assert!(Bpe::load(Encoding::Cl100k, &asset(Encoding::O200k)).is_err());
}

#[test]
fn one_wrong_byte_anywhere() {
    let mut bytes = asset(Encoding::Cl100k);
    for at in (0..bytes.len()).step_by(bytes.len() / 97) {
        bytes[at] ^= 0x11;
        // A class table that points nowhere is found to be no table before anything is summed up.
        assert!(Bpe::load(Encoding::Cl100k, &bytes).is_err(), "byte {at}");
        bytes[at] ^= 0x11;
    }
    assert!(Bpe::load(Encoding::Cl100k, &bytes).is_ok());
}
