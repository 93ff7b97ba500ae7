//! The map of vectors.

use opencode_memory_core::map;
use pyo3::prelude::*;

use crate::errors::detached;
use crate::vectors::GivenVectors;

/// Group unit vectors into at most `number` groups, the largest first, each with the most typical vector first.
#[pyfunction]
pub fn group_vectors(py: Python<'_>, vectors: GivenVectors, number: usize) -> PyResult<Vec<Vec<usize>>> {
    detached(py, || Ok(map::group(map::Vectors::new(&vectors.values, vectors.dimension)?, number)))
}

/// Places of vectors on a plane with coordinates from 0 to 1, given the groups that they form.
#[pyfunction]
pub fn place_vectors(py: Python<'_>, vectors: GivenVectors, groups: Vec<Vec<usize>>) -> PyResult<Vec<(f64, f64)>> {
    let places = detached(py, || map::place(map::Vectors::new(&vectors.values, vectors.dimension)?, &groups))?;
    Ok(places.into_iter().map(|[x, y]| (x, y)).collect())
}
