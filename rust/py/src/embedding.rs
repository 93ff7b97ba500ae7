//! The bundled embedding model for Python.

use std::path::PathBuf;

use opencode_memory_embed as embed;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::vectors::{GivenVectors, vectors_for_python};

/// The forward pass of the bundled model.
#[pyclass(frozen, module = "opencode_memory._core")]
pub struct Encoder(embed::Encoder);

#[pymethods]
impl Encoder {
    /// Map the weights in a file, and use the given level of the processor or, by default, the best one.
    #[new]
    #[pyo3(signature = (path, *, level=None))]
    fn new(py: Python<'_>, path: PathBuf, level: Option<&str>) -> PyResult<Self> {
        let level = match level {
            None => embed::Level::best(),
            Some(name) => embed::Level::available()
                .into_iter()
                .find(|level| level.name() == name)
                .ok_or_else(|| PyValueError::new_err(format!("this processor has no level {name:?}")))?,
        };
        py.detach(|| embed::Encoder::open(&path, level)).map(Self).map_err(|error| to_exception(py, &error))
    }

    /// Levels that this processor has, the best one last.
    #[staticmethod]
    fn levels() -> Vec<&'static str> {
        embed::Level::available().into_iter().map(embed::Level::name).collect()
    }

    /// Level of the processor that is used: portable, avx2 or avx512.
    #[getter]
    fn level(&self) -> &'static str {
        self.0.level().name()
    }

    /// Embed texts given as token ids; float32, one row of length 1 for each text.
    fn embed<'py>(&self, py: Python<'py>, texts: Vec<Vec<u32>>) -> PyResult<Bound<'py, PyAny>> {
        let vectors = py.detach(|| self.0.embed(&texts)).map_err(|error| to_exception(py, &error))?;
        vectors_for_python(py, &vectors, self.0.dimension())
    }
}

/// The tokenizer of the bundled model.
#[pyclass(frozen, module = "opencode_memory._core")]
pub struct Tokenizer(embed::Tokenizer);

#[pymethods]
impl Tokenizer {
    /// Read the vocabulary in a file.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| embed::Tokenizer::open(&path)).map(Self).map_err(|error| to_exception(py, &error))
    }

    /// Ids of the tokens of a text, with the two that frame it.
    fn ids(&self, py: Python<'_>, text: &str) -> Vec<u32> {
        py.detach(|| self.0.ids(text))
    }

    /// Words of a text: first character, character after the last one, and number of tokens.
    fn words(&self, py: Python<'_>, text: &str) -> Vec<(usize, usize, usize)> {
        py.detach(|| self.0.words(text)).into_iter().map(|word| (word.start, word.end, word.tokens)).collect()
    }
}

/// Give each text one vector: that of its only piece, or the direction of the mean of its pieces, weighted by tokens.
///
/// `pieces`: the number of rows of each text.
#[pyfunction]
pub fn join_pieces(
    py: Python<'_>,
    vectors: GivenVectors,
    pieces: Vec<usize>,
    tokens: Vec<usize>,
) -> PyResult<Bound<'_, PyAny>> {
    let dimension = vectors.dimension;
    let joined = py.detach(|| embed::join(&vectors.values, dimension, &pieces, &tokens));
    vectors_for_python(py, &joined.map_err(|error| to_exception(py, &error))?, dimension)
}

fn to_exception(py: Python<'_>, error: &embed::Error) -> PyErr {
    let class = match error {
        embed::Error::Unreadable { .. } | embed::Error::Damaged { .. } => "ModelNotFoundError",
        _ => "EmbeddingError",
    };
    let build = || -> PyResult<PyErr> {
        let class = py.import("opencode_memory.errors")?.getattr(class)?;
        let exception = class.call1((error.to_string(),))?;
        if matches!(error, embed::Error::NotUnit { .. }) {
            exception.setattr("hint", "check the model with `opencode-memory doctor`")?;
        }
        Ok(PyErr::from_value(exception))
    };
    build().unwrap_or_else(|failure| failure)
}
