//! The scale of a model's cosines, which the caller measures.

use super::Engine;
use crate::error::Result;
use crate::store::scale;

impl Engine {
    /// The factor of a model; `None` if it was not measured.
    pub fn cosine_scale(&self, name: &str) -> Result<Option<f64>> {
        scale::of_name(&*self.enter()?.store.read()?, name)
    }

    /// Set the factor by which distances of a model are multiplied before they are compared with a limit. The model is the
    /// active one or the next one.
    pub fn set_cosine_scale(&self, name: &str, factor: f64) -> Result<()> {
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.set_scale(name, factor))
    }
}
