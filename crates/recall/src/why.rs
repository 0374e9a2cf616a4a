//! Why a document was found, for a person to read.

/// Why a document was found.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "SearchReason"))]
pub struct Why {
    /// What of the query it has itself: words and phrases in lower case, as the query has them.
    pub words: Vec<String>,
    /// What only the messages near it have.
    pub context: Vec<String>,
    /// Whether it is of the time that the query names.
    pub time: bool,
    /// How near its vector is to the query's, from 0 to 1; 0 if it was found by words alone.
    pub meaning: f32,
}
