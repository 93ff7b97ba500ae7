//! The read path of a recall, from a current view of the indexes to ranked memories.
//!
//! [`view`] brings the view up to date. [`filter`] decides which rows may be returned. [`candidates`] searches the
//! lexical index with its overlay, and the vectors. `pool` adds the neighbouring turns of the candidates. [`fuse`]
//! computes the scores, [`floor`] rejects an irrelevant answer, and [`answer`] reads the memories. [`spread`] is for the
//! project brief: it orders given memories, also those that no recall finds.

pub mod answer;
pub mod as_of;
pub mod boost;
pub mod candidates;
mod conversation;
mod coverage;
pub mod filter;
mod first_slots;
pub mod floor;
pub mod fuse;
mod hints;
pub mod mirror;
pub mod near;
mod order;
pub mod overlay;
mod pool;
mod preselect;
mod scan;
mod slot_allocator;
pub mod spread;
mod vectors;
pub mod view;
mod window;

/// Marks the absence of a row, slot, session or speaker number.
const NONE: u32 = u32::MAX;
