//! Methods of the scale of a model's cosines.

use pyo3::prelude::*;

use super::Engine;

#[pymethods]
impl Engine {
    /// The factor of the distances of a model, which maps them to those of the bundled model; None if not measured.
    fn cosine_scale(&self, py: Python<'_>, name: &str) -> PyResult<Option<f64>> {
        self.run(py, || self.core.cosine_scale(name))
    }

    fn set_cosine_scale(&self, py: Python<'_>, name: &str, scale: f64) -> PyResult<()> {
        self.run(py, || self.core.set_cosine_scale(name, scale))
    }
}
