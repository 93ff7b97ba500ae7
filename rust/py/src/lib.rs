//! `opencode_memory._core`: converts values, releases the interpreter's lock, maps errors. It contains no other logic.

// PyO3 extracts owned values, because arguments must be owned before the interpreter's lock is released.
#![allow(clippy::needless_pass_by_value)]

mod control;
mod convert;
mod embedding;
mod engine;
mod errors;
mod map;
mod vectors;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::embedding::{Encoder, Tokenizer, join_pieces};

    #[pymodule_export]
    use super::engine::Engine;

    #[pymodule_export]
    use super::map::{group_vectors, place_vectors};

    #[pymodule_export]
    use super::functions::{first_damage, is_sound_store, limit_arenas, redact, restore_beside, subject, terms};
}

/// Functions of the core that need no open store.
mod functions {
    use std::path::PathBuf;

    use opencode_memory_core::control::Control;
    use opencode_memory_core::store::recovery;
    use opencode_memory_core::{Clock, text};
    use pyo3::prelude::*;

    use crate::control::run_interruptible;

    /// Whether the store in a folder can be opened and its pages are sound.
    #[pyfunction]
    pub fn is_sound_store(py: Python<'_>, data_dir: PathBuf) -> PyResult<bool> {
        run_interruptible(py, None, |control| recovery::is_sound(&data_dir, control))
    }

    /// The first damage of the store in a folder; `None` if there is none.
    #[pyfunction]
    pub fn first_damage(py: Python<'_>, data_dir: PathBuf) -> PyResult<Option<String>> {
        run_interruptible(py, None, |control| recovery::first_damage(&data_dir, control))
    }

    /// Restore a backup by replacing the file; returns the number of memories, and the folder with the former files.
    #[pyfunction]
    pub fn restore_beside(py: Python<'_>, data_dir: PathBuf, source: PathBuf) -> PyResult<(usize, Option<PathBuf>)> {
        let restore =
            |control: &Control<'_>| recovery::restore_beside(&data_dir, &source, Clock::system().now_ms(), control);
        let replaced = run_interruptible(py, None, restore)?;
        Ok((replaced.memories, replaced.aside))
    }

    /// Let all threads of this process share two arenas of the allocator.
    #[pyfunction]
    pub fn limit_arenas() {
        opencode_memory_core::allocator::limit_arenas();
    }

    /// Redact secrets; returns the text and the kinds that were found.
    #[pyfunction]
    pub fn redact(py: Python<'_>, text: &str) -> (String, Vec<&'static str>) {
        py.detach(|| {
            let redacted = text::redact(text);
            (redacted.text, redacted.kinds)
        })
    }

    /// Analyze a text into stemmed words and identifiers.
    #[pyfunction]
    pub fn terms(py: Python<'_>, text: &str) -> (Vec<String>, Vec<String>) {
        py.detach(|| {
            let analysis = text::analyze(text);
            (analysis.prose, analysis.identifiers)
        })
    }

    /// Strip the introduction of a request, so that only its subject is searched for.
    #[pyfunction]
    pub fn subject(py: Python<'_>, request: &str) -> String {
        py.detach(|| text::subject(request).into_owned())
    }
}
