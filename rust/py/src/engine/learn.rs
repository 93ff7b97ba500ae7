//! Methods of session learning.

use opencode_memory_core::engine::{Batch, LinkTarget, NewLink, Sighting};
use opencode_memory_core::store::learning::Progress;
use pyo3::prelude::*;

use super::Engine;
use crate::convert::{self, GivenMemory};

/// The result of processing a batch of messages, read from a dictionary that has every key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenBatch {
    session: String,
    version: i64,
    state: String,
    counted: Vec<Vec<u8>>,
    /// Project, hash of the statement, how often it was seen; a negative number takes sightings back.
    sightings: Vec<(Option<String>, String, i64)>,
    memories: Vec<GivenMemory>,
    /// Number of a memory in the batch, number of another one or id of a stored one, kind, reason.
    links: Vec<(usize, GivenTarget, String, String)>,
    /// Feed, mark, cursor.
    progress: Option<(String, String, Option<String>)>,
}

/// The number of a memory in the batch, or the id of a stored one.
#[derive(FromPyObject)]
enum GivenTarget {
    New(usize),
    Stored(String),
}

impl From<GivenTarget> for LinkTarget {
    fn from(given: GivenTarget) -> Self {
        match given {
            GivenTarget::New(number) => Self::New(number),
            GivenTarget::Stored(id) => Self::Stored(id),
        }
    }
}

#[pymethods]
impl Engine {
    fn learning(&self, py: Python<'_>, session: &str) -> PyResult<Option<(i64, String)>> {
        let found = self.run(py, || self.core.learning(session))?;
        Ok(found.map(|learning| (learning.version, learning.state)))
    }

    fn feed_progress(&self, py: Python<'_>, feed: &str) -> PyResult<Vec<(String, String, Option<String>)>> {
        let found = self.run(py, || self.core.feed_progress(feed))?;
        Ok(found.into_iter().map(|progress| (progress.session, progress.mark, progress.cursor)).collect())
    }

    fn set_feed_progress(
        &self,
        py: Python<'_>,
        feed: &str,
        session: String,
        mark: String,
        cursor: Option<String>,
    ) -> PyResult<()> {
        self.run(py, || self.core.set_feed_progress(feed, Progress { session, mark, cursor }))
    }

    fn counted(&self, py: Python<'_>, messages: Vec<Vec<u8>>) -> PyResult<Vec<bool>> {
        self.run(py, || self.core.counted(&messages))
    }

    fn seen_elsewhere(
        &self,
        py: Python<'_>,
        project: Option<String>,
        what: Vec<String>,
        session: &str,
    ) -> PyResult<Vec<usize>> {
        self.run(py, || self.core.seen_elsewhere(project.as_deref(), &what, session))
    }

    fn ids_from_messages(
        &self,
        py: Python<'_>,
        session: &str,
        messages: Vec<String>,
        since: Option<&str>,
    ) -> PyResult<Vec<String>> {
        self.run(py, || self.core.ids_from_messages(session, &messages, since))
    }

    /// Id, `replaces` or `contradicts`, reason and content of the memory that a sentence would change.
    fn find_same_subject(
        &self,
        py: Python<'_>,
        content: &str,
        project: Option<String>,
    ) -> PyResult<Option<(String, &'static str, &'static str, String)>> {
        let found = self.run(py, || self.core.find_same_subject(content, project.as_deref()))?;
        Ok(found.map(|found| (found.memory.id, found.relation, found.reason, found.memory.content)))
    }

    /// Returns the same results as `remember_many`.
    fn learn(&self, py: Python<'_>, batch: GivenBatch) -> PyResult<Vec<convert::Written>> {
        let results = self.run(py, || {
            let sightings = batch.sightings.into_iter();
            let links = batch.links.into_iter();
            self.core.learn(Batch {
                session: batch.session.clone(),
                version: batch.version,
                state: batch.state,
                counted: batch.counted,
                sightings: sightings.map(|(project, what, times)| Sighting { project, what, times }).collect(),
                memories: batch.memories.into_iter().map(|given| given.0).collect(),
                links: links
                    .map(|(number, target, kind, reason)| NewLink { number, target: target.into(), kind, reason })
                    .collect(),
                progress: batch
                    .progress
                    .map(|(feed, mark, cursor)| (feed, Progress { session: batch.session, mark, cursor })),
            })
        })?;
        Ok(results.into_iter().map(convert::written).collect())
    }
}
