//! Data types: memories, requests, results, closed enums, and the limits of all fields. No I/O.

pub mod enums;
pub mod ledger;
pub mod limits;
pub mod memory;
pub mod query;
pub mod query_vector;
pub mod report;
pub mod validate;

pub use enums::{Category, Status, Trust};
pub use memory::{Memory, NewMemory, Patch, Source};
pub use query::{AsOf, Hit, RecallRequest, Scope, Selection, Signal};
pub use query_vector::QueryVector;
