//! `opencode_memory._core`: converts values, releases the interpreter's lock, maps errors. It contains no other logic.

// PyO3 extracts owned values, because arguments must be owned before the interpreter's lock is released.
#![allow(clippy::needless_pass_by_value)]

mod control;
mod convert;
mod engine;
mod errors;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::engine::Engine;

    #[pymodule_export]
    use super::functions::{redact, subject, terms};
}

/// Pure functions of the core that Python code also needs.
mod functions {
    use opencode_memory_core::text;
    use pyo3::prelude::*;

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
