//! Methods of sessions and claims.

use opencode_memory_core::engine::Claimed;
use opencode_memory_core::store::session::Session;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Engine;
use crate::convert::dict;

#[pymethods]
impl Engine {
    fn session_start<'py>(
        &self,
        py: Python<'py>,
        project: Option<String>,
        name: &str,
        working_on: Option<String>,
        lease_ms: i64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let started =
            self.run(py, || self.core.session_start(project.as_deref(), name, working_on.as_deref(), lease_ms))?;
        session(py, &started)
    }

    fn session_heartbeat<'py>(
        &self,
        py: Python<'py>,
        project: Option<String>,
        name: &str,
        lease_ms: i64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let renewed = self.run(py, || self.core.session_heartbeat(project.as_deref(), name, lease_ms))?;
        session(py, &renewed)
    }

    fn session_end<'py>(&self, py: Python<'py>, project: Option<String>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let ended = self.run(py, || self.core.session_end(project.as_deref(), name))?;
        session(py, &ended)
    }

    fn sessions<'py>(&self, py: Python<'py>, project: Option<String>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let alive = self.run(py, || self.core.sessions(project.as_deref()))?;
        alive.iter().map(|live| session(py, live)).collect()
    }

    fn claim<'py>(
        &self,
        py: Python<'py>,
        project: Option<String>,
        name: &str,
        item: &str,
        lease_ms: i64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let claimed = self.run(py, || self.core.claim(project.as_deref(), name, item, lease_ms))?;
        claim(py, &claimed)
    }

    fn release(&self, py: Python<'_>, project: Option<String>, name: &str, item: &str) -> PyResult<bool> {
        self.run(py, || self.core.release(project.as_deref(), name, item))
    }
}

fn session<'py>(py: Python<'py>, session: &Session) -> PyResult<Bound<'py, PyDict>> {
    let claims: Vec<(&str, i64)> = session.claims.iter().map(|claim| (claim.item.as_str(), claim.claimed_at)).collect();
    Ok(dict!(py,
        "id": &session.name,
        "working_on": session.working_on.as_deref(),
        "started_at": session.started_at,
        "seen_at": session.seen_at,
        "lease_until": session.lease_until,
        "ended_at": session.ended_at,
        "claims": claims,
    ))
}

fn claim<'py>(py: Python<'py>, claimed: &Claimed) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "granted": claimed.granted,
        "item": &claimed.item,
        "owner": session(py, &claimed.owner)?,
        "since": claimed.since,
        "taken_over_from": claimed.taken_over_from.as_ref().map(|previous| session(py, previous)).transpose()?,
    ))
}
