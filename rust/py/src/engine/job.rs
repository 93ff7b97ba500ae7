//! Methods of the job queue.

use opencode_memory_core::store::job::{Ending, Job};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Engine;
use crate::convert::dict;

#[pymethods]
impl Engine {
    fn enqueue(&self, py: Python<'_>, kind: &str, subject: &str, payload: &str, delay_ms: i64) -> PyResult<i64> {
        self.run(py, || self.core.enqueue(kind, subject, payload, delay_ms))
    }

    fn claim_job<'py>(
        &self,
        py: Python<'py>,
        worker: &str,
        kinds: Vec<String>,
        lease_ms: i64,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let claimed = self.run(py, || self.core.claim_job(worker, &kinds, lease_ms))?;
        claimed.map(|claimed| job(py, &claimed)).transpose()
    }

    fn renew_job(&self, py: Python<'_>, id: i64, worker: &str, lease_ms: i64) -> PyResult<bool> {
        self.run(py, || self.core.renew_job(id, worker, lease_ms))
    }

    fn job_done(&self, py: Python<'_>, id: i64, worker: &str, next_ms: Option<i64>) -> PyResult<bool> {
        self.run(py, || self.core.end_job(id, worker, &Ending::Done(next_ms)))
    }

    fn job_failed(
        &self,
        py: Python<'_>,
        id: i64,
        worker: &str,
        error: String,
        again: bool,
        after_ms: Option<i64>,
    ) -> PyResult<bool> {
        let ending = if again { Ending::Failed(error, after_ms) } else { Ending::Hopeless(error) };
        self.run(py, || self.core.end_job(id, worker, &ending))
    }

    fn drop_job(&self, py: Python<'_>, id: i64) -> PyResult<bool> {
        self.run(py, || self.core.drop_job(id))
    }

    fn knows_job(&self, py: Python<'_>, kind: &str, subject: &str) -> PyResult<bool> {
        self.run(py, || self.core.knows_job(kind, subject))
    }

    fn revive_jobs(&self, py: Python<'_>, id: Option<i64>, once: bool) -> PyResult<usize> {
        self.run(py, || self.core.revive_jobs(id, once))
    }

    fn jobs<'py>(&self, py: Python<'py>, limit: usize) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let found = self.run(py, || self.core.jobs(limit))?;
        found.iter().map(|found| job(py, found)).collect()
    }

    fn job_subjects(&self, py: Python<'_>, kind: &str) -> PyResult<Vec<(i64, String)>> {
        self.run(py, || self.core.job_subjects(kind))
    }

    fn job_counts(&self, py: Python<'_>) -> PyResult<Vec<(String, usize, usize, usize)>> {
        self.run(py, || self.core.job_counts())
    }

    fn next_job_at(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.run(py, || self.core.next_job_at())
    }
}

fn job<'py>(py: Python<'py>, job: &Job) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "id": job.id,
        "kind": &job.kind,
        "subject": &job.subject,
        "payload": &job.payload,
        "attempts": job.attempts,
        "run_at": job.run_at,
        "lease_until": job.lease_until,
        "worker": job.worker.as_deref(),
        "dead_at": job.dead_at,
        "error": job.error.as_deref(),
        "created_at": job.created_at,
    ))
}
