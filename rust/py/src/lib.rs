//! `opencode_memory._core`: converts values, releases the interpreter's lock, maps errors. It decides nothing.

// Arguments are owned before the interpreter's lock is released, and PyO3 extracts owned values.
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

/// Pure functions of the core that Python code needs too.
mod functions {
    use opencode_memory_core::text;
    use pyo3::prelude::*;

    /// Replace secrets; the text and the kinds that were found.
    #[pyfunction]
    pub fn redact(py: Python<'_>, text: &str) -> (String, Vec<&'static str>) {
        py.detach(|| {
            let redacted = text::redact(text);
            (redacted.text, redacted.kinds)
        })
    }

    /// What the analyzer makes of a text: stemmed words and identifiers.
    #[pyfunction]
    pub fn terms(py: Python<'_>, text: &str) -> (Vec<String>, Vec<String>) {
        py.detach(|| {
            let analysis = text::analyze(text);
            (analysis.prose, analysis.identifiers)
        })
    }

    /// A request without what frames it: what is searched for.
    #[pyfunction]
    pub fn subject(py: Python<'_>, request: &str) -> String {
        py.detach(|| text::subject(request).into_owned())
    }
}
