//! Vectors from and for Python: buffers of 32-bit floats, such as those of `memoryview` and of numpy.

use opencode_memory_core::Result;
use opencode_memory_core::model::QueryVector;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

/// Size of a value in bytes.
const SIZE: usize = size_of::<f32>();

/// A vector that Python gives.
pub struct GivenVector(pub Vec<f32>);

/// The embedding of a query as Python gives it: the name of the model, and the vector.
pub type GivenQueryVector = (String, GivenVector);

/// The embedding of a query.
pub fn query_vector(given: Option<GivenQueryVector>) -> Result<Option<QueryVector>> {
    given.map(|(model, vector)| QueryVector::new(model, vector.0)).transpose()
}

/// Vectors that Python gives, as a buffer with one row for each.
pub struct GivenVectors {
    pub values: Vec<f32>,
    pub dimension: usize,
}

impl GivenVectors {
    /// The vectors in their order.
    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.dimension.max(1))
    }
}

impl<'py> FromPyObject<'_, 'py> for GivenVector {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(&given).map_err(|error| refuse(&error))?;
        if buffer.dimensions() != 1 {
            return Err(PyTypeError::new_err(format!("a vector has one dimension, not {}", buffer.dimensions())));
        }
        values(given.py(), buffer).map(Self)
    }
}

impl<'py> FromPyObject<'_, 'py> for GivenVectors {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(&given).map_err(|error| refuse(&error))?;
        let dimension = match *buffer.shape() {
            [_, dimension] => dimension,
            // A `memoryview` cannot have two dimensions without values.
            [0] => 0,
            _ => return Err(PyTypeError::new_err(format!("vectors have two dimensions, not {}", buffer.dimensions()))),
        };
        Ok(Self { values: values(given.py(), buffer)?, dimension })
    }
}

fn values(py: Python<'_>, buffer: PyUntypedBuffer) -> PyResult<Vec<f32>> {
    if buffer.item_count() == 0 {
        return Ok(Vec::new()); // An empty buffer may lie anywhere, also where a float may not.
    }
    buffer.into_typed::<f32>().map_err(|error| refuse(&error))?.to_vec(py)
}

fn refuse(error: &PyErr) -> PyErr {
    PyTypeError::new_err(format!("not a buffer of 32-bit floats: {error}"))
}

/// A read-only `memoryview` of a vector.
pub fn vector_for_python<'py>(py: Python<'py>, values: &[f32]) -> PyResult<Bound<'py, PyAny>> {
    view(py, values)?.call_method1("cast", ("f",))
}

/// A read-only `memoryview` of vectors, with one row for each. It has one dimension if there are no vectors.
pub fn vectors_for_python<'py>(py: Python<'py>, values: &[f32], dimension: usize) -> PyResult<Bound<'py, PyAny>> {
    if values.is_empty() {
        return vector_for_python(py, values);
    }
    if dimension == 0 || !values.len().is_multiple_of(dimension) {
        return Err(PyValueError::new_err(format!("{} values are no vectors of {dimension}", values.len())));
    }
    view(py, values)?.call_method1("cast", ("f", (values.len() / dimension, dimension)))
}

fn view<'py>(py: Python<'py>, values: &[f32]) -> PyResult<Bound<'py, PyMemoryView>> {
    let bytes = PyBytes::new_with(py, SIZE * values.len(), |bytes| {
        for (bytes, value) in bytes.as_chunks_mut::<SIZE>().0.iter_mut().zip(values) {
            *bytes = value.to_ne_bytes();
        }
        Ok(())
    })?;
    PyMemoryView::from(&bytes)
}
