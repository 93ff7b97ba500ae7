//! The vector of a query.

use super::validate;
use crate::error::Result;

/// The embedding of a query, with the model that made it. Vectors of two models must not be compared, and models may share
/// a dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryVector {
    model: String,
    values: Vec<f32>,
}

impl QueryVector {
    /// A vector of unit length, made by the model of this name.
    ///
    /// # Errors
    /// [`crate::Error::InvalidInput`] if a value is not finite or too large.
    pub fn new(model: impl Into<String>, values: Vec<f32>) -> Result<Self> {
        validate::vector("vector", &values)?;
        Ok(Self { model: model.into(), values })
    }

    /// Name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The values; one for each dimension.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}
