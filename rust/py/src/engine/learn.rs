//! What is learned of sessions.

use opencode_memory_core::engine::{Lesson, Sighting};
use opencode_memory_core::store::learning::Progress;
use pyo3::prelude::*;

use super::Engine;
use crate::convert::GivenMemory;
use crate::errors::detached;

/// What a stretch of a session came to; every key is there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenLesson {
    session: String,
    version: i64,
    state: String,
    counted: Vec<Vec<u8>>,
    /// Project, what, how often.
    sightings: Vec<(Option<String>, String, usize)>,
    memories: Vec<GivenMemory>,
    /// Feed, mark, cursor.
    progress: Option<(String, String, Option<String>)>,
}

#[pymethods]
impl Engine {
    fn learning(&self, py: Python<'_>, session: &str) -> PyResult<Option<(i64, String)>> {
        let found = detached(py, || self.core.learning(session))?;
        Ok(found.map(|learning| (learning.version, learning.state)))
    }

    fn feed_progress(&self, py: Python<'_>, feed: &str) -> PyResult<Vec<(String, String, Option<String>)>> {
        let found = detached(py, || self.core.feed_progress(feed))?;
        Ok(found.into_iter().map(|one| (one.session, one.mark, one.cursor)).collect())
    }

    fn set_feed_progress(
        &self,
        py: Python<'_>,
        feed: &str,
        session: String,
        mark: String,
        cursor: Option<String>,
    ) -> PyResult<()> {
        detached(py, || self.core.set_feed_progress(feed, &Progress { session, mark, cursor }))
    }

    fn counted(&self, py: Python<'_>, messages: Vec<Vec<u8>>) -> PyResult<Vec<bool>> {
        detached(py, || self.core.counted(&messages))
    }

    fn seen_elsewhere(
        &self,
        py: Python<'_>,
        project: Option<String>,
        what: Vec<String>,
        session: &str,
    ) -> PyResult<Vec<usize>> {
        detached(py, || self.core.seen_elsewhere(project.as_deref(), &what, session))
    }

    /// The results are those of `remember_many`.
    fn learn(&self, py: Python<'_>, lesson: GivenLesson) -> PyResult<Vec<(String, &'static str, Vec<&'static str>)>> {
        let results = detached(py, || {
            let sightings = lesson.sightings.into_iter();
            self.core.learn(Lesson {
                session: lesson.session.clone(),
                version: lesson.version,
                state: lesson.state,
                counted: lesson.counted,
                sightings: sightings.map(|(project, what, times)| Sighting { project, what, times }).collect(),
                memories: lesson.memories.into_iter().map(|given| given.0).collect(),
                progress: lesson
                    .progress
                    .map(|(feed, mark, cursor)| (feed, Progress { session: lesson.session, mark, cursor })),
            })
        })?;
        Ok(results.into_iter().map(|one| (one.id, one.outcome.as_str(), one.redactions)).collect())
    }
}
