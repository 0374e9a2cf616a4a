//! Times in questions.
use crate::query::Query;
impl Query {
    /// How near a time is to those that the query names.
    pub(crate) fn nearness(&self, _time: i64) -> f32 { 0.0 }
}
