//! The figures of the ranking, each declared once. Setting one to zero (or `user` to 1) switches its feature off.

/// The figures of the ranking. They were chosen on BEAM's odd files by `cargo xtask bench recall`; docs/dev/search.md has the formulas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuning {
    /// How much it counts that a word comes again: from 0 up.
    pub k1: f32,
    /// How much length counts against a document: from 0 to 1.
    pub b: f32,
    /// What a word counts for a message that another message near it has: the one before, the one after, the second before, the second after.
    pub near: [f32; 4],
    /// Messages of up to this many words take and give the words of [`Tuning::near`] in full, longer ones the less the longer they are.
    pub short: f32,
    /// A message of no more words than this is found by the words of the message before it alone.
    pub answer: u32,
    /// How much the words of a message itself count on top.
    pub own: f32,
    /// How much it counts that words of the query are in the same session.
    pub session: f32,
    /// How much it counts that two words of the query are close to each other.
    pub closeness: f32,
    /// The most by which a message of a user counts more, where assistants are wordy: from 1 up.
    pub user: f32,
    /// How much more a message counts that is of the time that the query names.
    pub time: f32,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            k1: 1.2,
            b: 0.75,
            near: [0.5, 0.5, 0.4, 0.2],
            short: 30.0,
            answer: 60,
            own: 0.5,
            session: 1.0,
            closeness: 1.0,
            user: 2.0,
            time: 0.5,
        }
    }
}

impl Tuning {
    /// BM25 and nothing else.
    pub fn plain() -> Self {
        Self {
            near: [0.0; 4],
            answer: 0,
            own: 0.0,
            session: 0.0,
            closeness: 0.0,
            user: 1.0,
            time: 0.0,
            ..Self::default()
        }
    }
}
