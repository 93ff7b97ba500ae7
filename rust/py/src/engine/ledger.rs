//! Methods of the ledger, which records the memories that were added to messages.

use opencode_memory_core::model::Scope;
use opencode_memory_core::model::enums::{Outcome, State};
use opencode_memory_core::model::ledger::{Decision, Shown};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Engine;
use crate::convert::dict;

/// A decision for a message, read from a dictionary that has every key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenDecision {
    session: String,
    message: String,
    project: Option<String>,
    state: String,
    text: String,
    tokens: i64,
    about: String,
    /// Memory, key, score, explanation.
    shown: Vec<(String, i64, f64, String)>,
}

#[pymethods]
impl Engine {
    fn decide<'py>(&self, py: Python<'py>, decision: GivenDecision) -> PyResult<Bound<'py, PyDict>> {
        let decided = self.run(py, || {
            let shown = decision.shown.into_iter();
            self.core.decide(Decision {
                session: decision.session,
                message: decision.message,
                project: decision.project,
                at: 0,
                state: State::parse(&decision.state)?,
                text: decision.text,
                tokens: decision.tokens,
                about: decision.about,
                shown: shown
                    .map(|(memory, key, score, why)| Shown { memory, key, score, why, outcome: None })
                    .collect(),
            })
        })?;
        to_dict(py, &decided)
    }

    fn settle(&self, py: Python<'_>, session: &str, message: &str, state: &str) -> PyResult<bool> {
        self.run(py, || self.core.settle(session, message, State::parse(state)?))
    }

    fn decisions<'py>(&self, py: Python<'py>, session: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let found = self.run(py, || self.core.decisions(session))?;
        found.iter().map(|decision| to_dict(py, decision)).collect()
    }

    /// If `project` is None: the sessions without a project, or all sessions if `everywhere` is set.
    fn decided_sessions<'py>(
        &self,
        py: Python<'py>,
        project: Option<String>,
        everywhere: bool,
        limit: usize,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let scope = match project {
            Some(name) => Scope::Project { name, with_global: false },
            None if everywhere => Scope::Everything,
            None => Scope::Global,
        };
        let found = self.run(py, || self.core.decided_sessions(&scope, limit))?;
        let summaries = found.iter().map(|summary| {
            Ok(dict!(py,
                "session": &summary.session,
                "project": summary.project.as_deref(),
                "messages": summary.messages,
                "shown": summary.shown,
                "last_at": summary.last_at,
            ))
        });
        summaries.collect()
    }

    fn find_sessions(&self, py: Python<'_>, part: &str) -> PyResult<Vec<String>> {
        self.run(py, || self.core.find_sessions(part))
    }

    #[pyo3(signature = (project, created))]
    fn find_original_session(
        &self,
        py: Python<'_>,
        project: Option<&str>,
        created: Vec<i64>,
    ) -> PyResult<Option<String>> {
        self.run(py, || self.core.find_original_session(project, &created))
    }

    fn note_outcome(&self, py: Python<'_>, session: &str, memories: Vec<String>, outcome: &str) -> PyResult<usize> {
        self.run(py, || self.core.note_outcome(session, &memories, Outcome::parse(outcome)?))
    }

    /// Shown, used and contradicted: one row for each memory.
    fn usefulness(&self, py: Python<'_>, memories: Vec<String>) -> PyResult<Vec<(usize, usize, usize)>> {
        let found = self.run(py, || self.core.usefulness(&memories))?;
        Ok(found.into_iter().map(|memory| (memory.shown, memory.used, memory.contradicted)).collect())
    }
}

fn to_dict<'py>(py: Python<'py>, decision: &Decision) -> PyResult<Bound<'py, PyDict>> {
    let shown = decision.shown.iter();
    let shown: Vec<(&str, i64, f64, &str, Option<&str>)> = shown
        .map(|shown| {
            (shown.memory.as_str(), shown.key, shown.score, shown.why.as_str(), shown.outcome.map(Outcome::as_str))
        })
        .collect();
    Ok(dict!(py,
        "session": &decision.session,
        "message": &decision.message,
        "project": decision.project.as_deref(),
        "at": decision.at,
        "state": decision.state.as_str(),
        "text": &decision.text,
        "tokens": decision.tokens,
        "about": &decision.about,
        "shown": shown,
    ))
}
