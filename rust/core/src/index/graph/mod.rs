//! Vector graph (HNSW), for stores that are too large to scan.
//!
//! The graph only proposes candidates, which are scored again with the exact vectors. `build` makes it with usearch,
//! `snapshot` writes and names its file, and `links` reads from the file what `search` needs. A recall holds no vectors
//! of the graph: it compares those of the mirror.

pub mod build;
pub mod links;
pub mod search;
pub mod snapshot;
