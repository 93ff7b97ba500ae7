//! Derived indexes: disposable, rebuilt from the store, and never the only place where anything is (I3).
//!
//! `lexical` finds words, `vector` is a graph over vectors for stores too large to scan, `exact` compares vectors one by
//! one, `quantised` says quickly which, `catch_up` is the only writer of derived files and holds the lock while it writes (I4).

pub mod bm25;
pub mod catch_up;
pub mod exact;
pub mod lexical;
pub(crate) mod quantised;
mod sealed;
pub mod search_slots;
pub mod snapshot;
pub mod vector;
