//! Methods of the session index.

use opencode_memory_core::Error;
use opencode_memory_core::engine::{TurnHit, TurnRequest};
use opencode_memory_core::model::{QueryVector, RecallRequest, Selection};
use opencode_memory_core::store::turns::{NewTurn, Page, Turn};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Engine;
use crate::convert::{self, GivenSelection, dict};
use crate::vectors::{GivenQueryVector, GivenVectors, query_vector};

type Dicts<'py> = Vec<Bound<'py, PyDict>>;
type Objects<'py> = Vec<Bound<'py, PyAny>>;
/// Memories, turns, and why there are no turns.
type FoundInAll<'py> = (Objects<'py>, Dicts<'py>, Option<String>);
/// Session, project, mark and cursor.
type ProgressParts = (String, Option<String>, String, Option<String>);

/// A session with the turns to add.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenPage {
    database: String,
    session: String,
    project: Option<String>,
    mark: String,
    cursor: Option<String>,
    restart: bool,
    turns: Vec<GivenTurn>,
}

/// A turn to add. `rows` are the rows of its chunks in the matrix of vectors.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenTurn {
    message: String,
    speaker: String,
    time: i64,
    text: String,
    digest: Vec<u8>,
    announces: bool,
    rows: (usize, usize),
}

#[pymethods]
impl Engine {
    fn put_turns(&self, py: Python<'_>, model: &str, pages: Vec<GivenPage>, vectors: GivenVectors) -> PyResult<bool> {
        let GivenVectors { values, dimension } = vectors;
        self.run(py, || {
            let turn = |given: GivenTurn| {
                let (first, end) = given.rows;
                let place = |row: usize| row.checked_mul(dimension);
                let range = place(first).zip(place(end)).map(|(first, end)| first..end);
                let vectors = range.and_then(|range| values.get(range)).ok_or_else(|| {
                    Error::over_limit("rows", format!("{first} to {end} are not rows of the vectors"), values.len())
                })?;
                Ok(NewTurn {
                    message: given.message,
                    speaker: given.speaker,
                    time: given.time,
                    text: given.text,
                    digest: given.digest,
                    announces: given.announces,
                    vectors: vectors.into(),
                })
            };
            let page = |given: GivenPage| {
                Ok(Page {
                    database: given.database,
                    session: given.session,
                    project: given.project,
                    mark: given.mark,
                    cursor: given.cursor,
                    restart: given.restart,
                    turns: given.turns.into_iter().map(turn).collect::<Result<_, Error>>()?,
                })
            };
            let pages = pages.into_iter().map(page).collect::<Result<Vec<_>, Error>>()?;
            self.core.put_turns(model, dimension, &pages)
        })
    }

    fn drop_sessions(&self, py: Python<'_>, database: &str, sessions: Vec<String>) -> PyResult<bool> {
        self.run(py, || self.core.drop_sessions(database, &sessions))
    }

    fn drop_session_index(&self, py: Python<'_>) -> PyResult<bool> {
        self.run(py, || self.core.drop_session_index())
    }

    fn session_progress(&self, py: Python<'_>, database: &str) -> PyResult<Vec<ProgressParts>> {
        let found = self.run(py, || self.core.session_progress(database))?;
        Ok(found.into_iter().map(|one| (one.session, one.project, one.mark, one.cursor)).collect())
    }

    fn turn_messages(&self, py: Python<'_>, database: &str, session: &str) -> PyResult<Vec<String>> {
        self.run(py, || self.core.turn_messages(database, session))
    }

    fn find_turns<'py>(&self, py: Python<'py>, message: &str) -> PyResult<Dicts<'py>> {
        let found = self.run(py, || self.core.find_turns(message))?;
        found.iter().map(|found| turn(py, found)).collect()
    }

    fn turns_of_session<'py>(&self, py: Python<'py>, session: &str, from: i64, upto: i64) -> PyResult<Dicts<'py>> {
        let found = self.run(py, || self.core.turns_of_session(session, from, upto))?;
        found.iter().map(|found| turn(py, found)).collect()
    }

    fn opening_announces(
        &self,
        py: Python<'_>,
        database: &str,
        session: &str,
        speaker: &str,
        count: i64,
    ) -> PyResult<bool> {
        self.run(py, || self.core.opening_announces(database, session, speaker, count))
    }

    fn turn_counts(&self, py: Python<'_>) -> PyResult<(usize, usize, Vec<String>)> {
        let counts = self.run(py, || self.core.turn_counts())?;
        Ok((counts.sessions, counts.turns, counts.databases))
    }

    fn recall_turns<'py>(
        &self,
        py: Python<'py>,
        query: String,
        vector: Option<GivenQueryVector>,
        selection: GivenSelection,
        limit: usize,
        explain: bool,
    ) -> PyResult<Dicts<'py>> {
        let hits = self.run(py, || {
            let (vector, selection) = (query_vector(vector)?, selection.into_core()?);
            self.core.recall_turns(&turn_request(&selection, query, vector, limit, explain))
        })?;
        hits.iter().map(|found| hit(py, found)).collect()
    }

    #[allow(clippy::too_many_arguments)] // the arguments of one search
    fn recall_all<'py>(
        &self,
        py: Python<'py>,
        query: String,
        vector: Option<GivenQueryVector>,
        turn_vector: Option<GivenQueryVector>,
        selection: GivenSelection,
        limit: usize,
        turn_limit: usize,
        explain: bool,
        unasked: bool,
        nearest: bool,
    ) -> PyResult<FoundInAll<'py>> {
        let found = self.run(py, || {
            let selection = selection.into_core()?;
            let (vector, turn_vector) = (query_vector(vector)?, query_vector(turn_vector)?);
            let turns = turn_request(&selection, query.clone(), turn_vector, turn_limit, explain);
            let as_of = None;
            let memories = RecallRequest { query, vector, selection, limit, as_of, explain, unasked, nearest };
            self.core.recall_all(&memories, &turns)
        })?;
        let memories = found.memories.iter().map(|hit| convert::hit(py, hit, explain)).collect::<PyResult<_>>()?;
        let turns = found.turns.iter().map(|found| hit(py, found)).collect::<PyResult<_>>()?;
        Ok((memories, turns, found.missing_turns))
    }
}

fn turn_request(
    selection: &Selection,
    query: String,
    vector: Option<QueryVector>,
    limit: usize,
    explain: bool,
) -> TurnRequest {
    let (scope, since, until) = (selection.scope.clone(), selection.since, selection.until);
    TurnRequest { query, vector, scope, since, until, limit, explain }
}

fn turn<'py>(py: Python<'py>, turn: &Turn) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "database": &turn.database,
        "session": &turn.session,
        "message": &turn.message,
        "project": turn.project.as_deref(),
        "speaker": &turn.speaker,
        "time": turn.time,
        "position": turn.position,
        "digest": turn.digest.as_slice(),
    ))
}

fn hit<'py>(py: Python<'py>, hit: &TurnHit) -> PyResult<Bound<'py, PyDict>> {
    let signals = hit.signals.iter().map(|found| convert::signal(py, found)).collect::<PyResult<Vec<_>>>()?;
    Ok(dict!(py,
        "turn": turn(py, &hit.turn)?, "score": hit.score, "relevance": hit.relevance, "floor": hit.floor, "signals": signals
    ))
}
