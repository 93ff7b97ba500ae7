//! Methods for computing and storing embeddings.

use std::borrow::Cow;

use opencode_memory_core::Error;
use opencode_memory_core::store::embedding::Chunk;
use pyo3::prelude::*;

use super::Engine;
use crate::vectors::{GivenVectors, vector_for_python};

/// A memory's key and its chunks: each a text and the row of its vector.
type GivenChunks = (i64, Vec<(String, Option<usize>)>);

#[pymethods]
impl Engine {
    fn active_model(&self, py: Python<'_>) -> PyResult<Option<(String, usize)>> {
        let model = self.run(py, || self.core.active_model())?;
        Ok(model.map(|model| (model.name, model.dimension)))
    }

    fn activate_model(&self, py: Python<'_>, name: &str, dimension: usize) -> PyResult<bool> {
        self.run(py, || self.core.activate_model(name, dimension))
    }

    fn pending_embeddings(&self, py: Python<'_>, after_key: i64, limit: usize) -> PyResult<Vec<(i64, String)>> {
        let pending = self.run(py, || self.core.pending_embeddings(after_key, limit))?;
        Ok(pending.into_iter().map(|memory| (memory.key, memory.text)).collect())
    }

    #[pyo3(signature = (model=None))]
    fn count_pending_embeddings(&self, py: Python<'_>, model: Option<&str>) -> PyResult<usize> {
        self.run(py, || self.core.count_pending_embeddings(model))
    }

    fn known_embeddings(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<Vec<bool>> {
        self.run(py, || self.core.known_embeddings(&texts))
    }

    /// `memories`: keys and chunks. A chunk is a text and the row of its vector in `vectors`, or None if the store
    /// has the vector already.
    fn store_embeddings(
        &self,
        py: Python<'_>,
        model: &str,
        memories: Vec<GivenChunks>,
        vectors: GivenVectors,
    ) -> PyResult<(usize, usize)> {
        let batch = self.run(py, || {
            let rows: Vec<&[f32]> = vectors.rows().collect();
            let mut chunked = Vec::with_capacity(memories.len());
            for (key, chunks) in memories {
                let chunks = chunks.into_iter().map(|(text, row)| {
                    let vector = match row {
                        Some(row) => Some(Cow::Borrowed(*rows.get(row).ok_or_else(|| {
                            Error::over_limit("vectors", format!("there is no row {row}"), rows.len())
                        })?)),
                        None => None,
                    };
                    Ok(Chunk { text, vector })
                });
                chunked.push((key, chunks.collect::<Result<Vec<_>, Error>>()?));
            }
            self.core.store_embeddings(model, &chunked)
        })?;
        Ok((batch.stored, batch.outdated))
    }

    fn vectors_of<'py>(&self, py: Python<'py>, ids: Vec<String>) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let found = self.run(py, || self.core.vectors_of(&ids))?;
        found.into_iter().map(|vector| vector.map(|vector| vector_for_python(py, &vector)).transpose()).collect()
    }

    fn compare_new(&self, py: Python<'_>) -> PyResult<usize> {
        self.run(py, || self.core.compare_new())
    }
}
