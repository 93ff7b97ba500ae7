//! The read path: a view of the indexes, filters before the top-k, two searches, one order, whole memories.
//!
//! [`view`] makes the view current, [`filter`] says which rows count, [`candidates`] asks the lexical index with its
//! overlay and the vectors for the best of them, `pool` adds what was said around them, [`fuse`] puts all into one order,
//! [`floor`] says whether it is an answer, and [`answer`] reads the memories.

pub mod answer;
pub mod as_of;
pub mod boost;
pub mod candidates;
mod conversation;
pub mod filter;
pub mod floor;
pub mod fuse;
mod hints;
pub mod mirror;
pub mod near;
pub mod overlay;
mod pool;
mod slot_allocator;
mod vectors;
pub mod view;
mod window;

/// Marks the absence of a row, slot, session or speaker number.
const NONE: u32 = u32::MAX;
