//! Vector graph (HNSW), for stores that are too large to scan.
//!
//! The graph only proposes candidates, which are scored again with the exact vectors. `build` makes the graph with
//! usearch. `snapshot` writes it to a file, and writes the manifest that names the file. `links` reads from the file which
//! nodes are linked, and `search` follows these links. The vectors that a search compares are in the mirror.

pub mod build;
pub mod links;
pub mod search;
pub mod snapshot;
