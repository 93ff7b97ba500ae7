//! The storage and retrieval engine of opencode-memory.
//!
//! [`engine::Engine`] is the entry point. The modules below it, in order of dependence, are [`model`] (values and
//! limits), [`text`] (terms, secrets, comparison of statements), [`store`] (`SQLite`, the source of truth), [`index`]
//! (tantivy and usearch, derived from the store) and [`recall`] (the read path). [`map`] needs none of them. The core uses
//! no network and no environment variables, and it does not log; operations return reports.

pub mod allocator;
pub mod clock;
pub mod control;
pub mod crash;
mod durable;
pub mod engine;
pub mod error;
mod ids;
pub mod index;
pub mod map;
pub mod model;
mod platform;
pub mod recall;
pub mod store;
pub mod text;

pub use clock::Clock;
pub use engine::{Engine, Options};
pub use error::{Error, ErrorKind, Result};
