//! The read path: a view of the indexes, filters before the top-k, two searches, one order, whole memories.
//!
//! [`view`] makes the view current, [`filter`] says which rows count, [`candidates`] asks the lexical index with its
//! overlay and the vectors for the best of them, [`fuse`] puts both into one order, [`floor`] drops what only looks like an
//! answer, and [`answer`] reads the memories.

pub mod answer;
pub mod as_of;
pub mod boost;
pub mod candidates;
pub mod filter;
pub mod floor;
pub mod fuse;
mod hints;
pub mod mirror;
pub mod overlay;
mod pool;
mod runs;
mod talk;
pub mod view;
mod window;
