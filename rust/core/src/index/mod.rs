//! Derived indexes. They contain no data of their own and can be rebuilt from the store at any time (I3).
//!
//! `lexical` searches words. `graph` connects near vectors, for stores that are too large to scan. `exact` compares
//! vectors exactly, `weighted_sum` sums of them, and `quantised` and `signs` preselect the vectors to compare; `slab`
//! holds all three forms. `best` selects by scores.
//! `checksum` hashes files, and `sealed` small documents.
//! `catch_up` is the only writer of derived files and holds the indexer lock while it writes (I4).

pub mod best;
pub mod bm25;
pub mod catch_up;
mod checksum;
pub mod exact;
pub mod graph;
pub mod lexical;
pub mod occurrences;
pub(crate) mod quantised;
mod sealed;
pub(crate) mod signs;
pub mod slab;
pub mod turns;
pub mod weighted_sum;
