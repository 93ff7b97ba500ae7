//! The storage and retrieval engine of opencode-memory.
//!
//! [`engine::Engine`] is the way in. Below it, in order of dependence: [`model`] (values, limits), [`text`] (terms, secrets,
//! sameness), [`store`] (`SQLite`, the truth), [`index`] (tantivy and usearch, derived), [`recall`] (the read path). No
//! network, no environment, no logging: operations return reports.

pub mod clock;
pub mod crash;
mod durable;
pub mod engine;
pub mod error;
mod ids;
pub mod index;
pub mod model;
pub mod recall;
pub mod store;
pub mod text;

pub use clock::Clock;
pub use engine::{Engine, Options};
pub use error::{Error, ErrorKind, Result};
