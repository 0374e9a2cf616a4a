//! One small hash, for names that need not be secret: FNV-1a, 64 bits.

/// A short name made of an id: 16 hex digits.
pub fn mark(id: &str) -> String {
    format!("{:016x}", fnv(id.bytes()))
}

/// The hash of these bytes.
pub fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
