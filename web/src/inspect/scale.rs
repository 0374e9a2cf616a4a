//! The budget slider's scale: from nothing to the whole chain, logarithmic from about a hundred tokens on, so that a short
//! prompt and a long one can both be set with a finger. Whole numbers only: logarithms would be some kB of the page.

/// The slider's positions go from 0 to this one, which is "no limit".
pub const STEPS: u32 = 1000;

/// Below this the scale is about linear: single tokens are of no interest.
const SOFT: u64 = 128;
const BITS: u32 = 16;

/// The height of a number on the scale: its power of two, and linear between two powers.
fn height(tokens: u64) -> u64 {
    // Larger than any chain, and small enough to calculate with.
    let tokens = tokens.min(1 << 40) + SOFT;
    let octave = tokens.ilog2();
    (u64::from(octave) << BITS) + (((tokens - (1 << octave)) << BITS) >> octave)
}

/// The slider's position for a budget; the last one for a budget that holds all `whole` tokens.
pub fn position(budget: Option<u64>, whole: u64) -> u32 {
    let Some(budget) = budget.filter(|budget| *budget < whole) else { return STEPS };
    let span = height(whole) - height(0);
    // Not the last position: that one is no limit.
    (((height(budget) - height(0)) * u64::from(STEPS) + span / 2) / span.max(1)).min(u64::from(STEPS) - 1) as u32
}

/// The budget at a position; none at the last one.
pub fn tokens(position: u32, whole: u64) -> Option<u64> {
    if position >= STEPS {
        return None;
    }
    let height = height(0) + u64::from(position) * (height(whole) - height(0)) / u64::from(STEPS);
    let (octave, rest) = (height >> BITS, height & ((1 << BITS) - 1));
    let tokens = (1 << octave) + ((rest << octave) >> BITS);
    Some(rounded(tokens - SOFT.min(tokens)).min(whole))
}

/// At most three digits that are not zero: nobody sets 12,347 tokens with a slider.
fn rounded(tokens: u64) -> u64 {
    let mut step = 1;
    while tokens / step >= 1000 {
        step *= 10;
    }
    tokens / step * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_nothing_and_everything() {
        for whole in [0, 1, 127, 128, 5_000, 2_000_000, u64::MAX] {
            assert_eq!(tokens(0, whole), Some(0), "{whole}");
            assert_eq!(tokens(STEPS, whole), None);
            assert_eq!(position(None, whole), STEPS);
            assert_eq!(position(Some(whole), whole), STEPS);
        }
        assert_eq!(position(Some(0), 1000), 0);
    }

    #[test]
    fn further_right_is_never_less() {
        for whole in [7, 300, 9_999, 123_456, 3_000_000] {
            let all: Vec<u64> = (0..STEPS).filter_map(|at| tokens(at, whole)).collect();
            assert!(all.is_sorted(), "{whole}");
            assert!(all.iter().all(|tokens| *tokens <= whole));
            // The last step before "no limit" is near the whole.
            assert!(all.last().copied().unwrap_or_default() * 100 >= whole * 85, "{whole}: {:?}", all.last());
        }
    }

    #[test]
    fn a_position_comes_back_from_its_budget() {
        for whole in [20_000, 1_500_000] {
            for at in (0..STEPS).step_by(7) {
                let back = position(tokens(at, whole), whole);
                assert!(back.abs_diff(at) <= 6, "{whole}: {at} came back as {back}");
            }
        }
    }

    #[test]
    fn small_and_large_budgets_both_have_room() {
        let whole = 2_000_000;
        assert!(position(Some(2_000), whole) > 200);
        assert!(position(Some(100_000), whole) < 800);
    }
}
