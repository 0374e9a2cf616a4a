//! How sure a mean is. For the benches of this crate and of the engine.

/// The mean in percent.
pub fn mean(all: &[f64]) -> f64 {
    100.0 * all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// The interval that has 95 of 100 means of questions drawn anew (bootstrap), in percent. Every run draws the same.
pub fn interval(all: &[f64]) -> (f64, f64) {
    let mut state = 1u64;
    let mut drawn = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all[(state >> 33) as usize % all.len()]
    };
    let mut means: Vec<f64> = (0..1000).map(|_| mean(&all.iter().map(|_| drawn()).collect::<Vec<_>>())).collect();
    means.sort_by(f64::total_cmp);
    (means[25], means[974])
}
