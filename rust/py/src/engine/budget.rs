//! Methods of the budget of tokens for embedding servers.

use pyo3::prelude::*;

use super::Engine;

#[pymethods]
impl Engine {
    /// The day of the charge in days since 1970; None if the request would exceed the limit of the day.
    fn charge_tokens(&self, py: Python<'_>, tokens: i64, limit: i64) -> PyResult<Option<i64>> {
        self.run(py, || self.core.charge_tokens(tokens, limit))
    }

    fn note_refused_tokens(&self, py: Python<'_>, tokens: i64) -> PyResult<()> {
        self.run(py, || self.core.note_refused_tokens(tokens))
    }

    fn correct_tokens(&self, py: Python<'_>, day: i64, by: i64) -> PyResult<()> {
        self.run(py, || self.core.correct_tokens(day, by))
    }

    /// Day, tokens of the day, and tokens of the smallest request that waits for the next one.
    fn spent_tokens(&self, py: Python<'_>) -> PyResult<(i64, i64, Option<i64>)> {
        let spent = self.run(py, || self.core.spent_tokens())?;
        Ok((spent.day, spent.tokens, spent.refused))
    }
}
