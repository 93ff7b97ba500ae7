//! Methods for changing the embedding model.

use std::borrow::Cow;

use opencode_memory_core::Error;
use opencode_memory_core::store::embedding::Staged;
use pyo3::prelude::*;

use super::Engine;
use crate::vectors::GivenVectors;

#[pymethods]
impl Engine {
    /// Name and dimension of the next model, and the key up to which memories were staged.
    fn model_change(&self, py: Python<'_>) -> PyResult<Option<(String, usize, i64)>> {
        let change = self.run(py, || self.core.model_change())?;
        Ok(change.map(|change| (change.model.name, change.model.dimension, change.staged_key)))
    }

    /// The key up to which memories were staged.
    fn begin_model_change(&self, py: Python<'_>, name: &str, dimension: usize) -> PyResult<i64> {
        Ok(self.run(py, || self.core.begin_model_change(name, dimension))?.staged_key)
    }

    fn give_up_model_change(&self, py: Python<'_>) -> PyResult<bool> {
        self.run(py, || self.core.give_up_model_change())
    }

    fn texts_to_embed(&self, py: Python<'_>, after_key: i64, limit: usize) -> PyResult<Vec<(i64, String)>> {
        let texts = self.run(py, || self.core.texts_to_embed(after_key, limit))?;
        Ok(texts.into_iter().map(|memory| (memory.key, memory.text)).collect())
    }

    fn count_texts_to_embed(&self, py: Python<'_>, after_key: i64) -> PyResult<usize> {
        self.run(py, || self.core.count_texts_to_embed(after_key))
    }

    fn staged_embeddings(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<Vec<bool>> {
        self.run(py, || self.core.staged_embeddings(&texts))
    }

    /// `memories`: keys and the pieces of their texts. `vectors` has a row for each of `texts`.
    fn stage_embeddings(
        &self,
        py: Python<'_>,
        name: &str,
        up_to: i64,
        memories: Vec<(i64, Vec<String>)>,
        texts: Vec<String>,
        vectors: GivenVectors,
    ) -> PyResult<()> {
        self.run(py, || {
            let rows = vectors.rows().count();
            if rows != texts.len() {
                return Err(Error::invalid("vectors", format!("{rows} for {} texts", texts.len())));
            }
            let vectors: Vec<_> = texts.into_iter().zip(vectors.rows().map(Cow::from)).collect();
            self.core.stage_embeddings(name, up_to, &memories, &vectors)
        })
    }

    /// `memories`: keys, texts and their pieces.
    fn complete_model_change(
        &self,
        py: Python<'_>,
        name: &str,
        memories: Vec<(i64, String, Vec<String>)>,
    ) -> PyResult<usize> {
        self.run(py, || {
            let staged: Vec<Staged> =
                memories.into_iter().map(|(key, text, pieces)| Staged { key, text, pieces }).collect();
            self.core.complete_model_change(name, &staged)
        })
    }
}
