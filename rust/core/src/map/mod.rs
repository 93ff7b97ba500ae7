//! A map of vectors: which ones are near to each other, and where each lies on a plane.
//!
//! The vectors are given by the caller, and no store is involved. The same vectors always give the same map.

mod groups;
mod plane;

pub use groups::group;
pub use plane::place;

use crate::error::{Error, Result};

/// Vectors of one dimension, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Vectors<'a> {
    values: &'a [f32],
    dimension: usize,
}

impl<'a> Vectors<'a> {
    /// Vectors of `dimension`, which must divide the number of values.
    pub fn new(values: &'a [f32], dimension: usize) -> Result<Self> {
        if dimension == 0 || !values.len().is_multiple_of(dimension) {
            return Err(Error::invalid("vectors", format!("{} values are no vectors of {dimension}", values.len())));
        }
        Ok(Self { values, dimension })
    }

    fn len(&self) -> usize {
        self.values.len() / self.dimension
    }

    fn row(&self, at: usize) -> &'a [f32] {
        &self.values[at * self.dimension..(at + 1) * self.dimension]
    }

    fn rows(&self) -> std::slice::ChunksExact<'a, f32> {
        self.values.chunks_exact(self.dimension)
    }
}
