//! What was learned of a session, written in one step: the memories, what is open in the session, and that its messages
//! have counted. A process that dies, or that lost a race, has written nothing, and reads the messages again.

use super::remember::{place_all, prepare_all};
use super::{Engine, redaction};
use crate::error::{Error, Result};
use crate::model::report::Remembered;
use crate::model::{NewMemory, Trust, validate};
use crate::store::learning::{self, Learning, Progress};
use crate::store::project;

const STATE_BYTES: usize = 512 * 1024;

/// Something that was seen in a session, by its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Where.
    pub project: Option<String>,
    /// What.
    pub what: String,
    /// How often.
    pub times: usize,
}

/// What a stretch of a session came to.
#[derive(Debug, Clone, Default)]
pub struct Lesson {
    /// Which session.
    pub session: String,
    /// Its version when it was read; 0 for the first time.
    pub version: i64,
    /// What is open in it now, JSON.
    pub state: String,
    /// Messages that have counted with this.
    pub counted: Vec<Vec<u8>>,
    /// What was seen.
    pub sightings: Vec<Sighting>,
    /// What is remembered.
    pub memories: Vec<NewMemory>,
    /// How far which feed was read with this.
    pub progress: Option<(String, Progress)>,
}

impl Engine {
    /// What is open in a session; nothing before its first message.
    pub fn learning(&self, session: &str) -> Result<Option<Learning>> {
        learning::of(&*self.enter()?.store.read()?, session)
    }

    /// How far a feed was read, session by session.
    pub fn feed_progress(&self, feed: &str) -> Result<Vec<Progress>> {
        learning::progress(&*self.enter()?.store.read()?, feed)
    }

    /// Which of these messages have counted.
    pub fn counted(&self, messages: &[Vec<u8>]) -> Result<Vec<bool>> {
        learning::counted(&*self.enter()?.store.read()?, messages)
    }

    /// In how many other sessions of a project each of these was seen.
    pub fn seen_elsewhere(&self, project: Option<&str>, what: &[String], session: &str) -> Result<Vec<usize>> {
        let shared = self.enter()?;
        let at = shared.store.read()?;
        match project::id_of(&at, project)? {
            Some(id) => learning::seen_elsewhere(&at, id, what, session),
            None => Ok(vec![0; what.len()]),
        }
    }

    /// Write what a stretch of a session came to, all of it or, on an error, nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] when another process has read the session on meanwhile: read it again.
    pub fn learn(&self, mut lesson: Lesson) -> Result<Vec<Remembered>> {
        validate::name("session", &lesson.session)?;
        redaction::Kinds::default().clean_json("state", &mut lesson.state)?;
        if lesson.state.len() > STATE_BYTES {
            return Err(Error::over_limit("state", format!("{} bytes", lesson.state.len()), STATE_BYTES));
        }
        let prepared = prepare_all(lesson.memories)?;
        let shared = self.enter()?;
        let results = shared.store.write(&shared.clock, Trust::Extracted, |write| {
            write.set_learning(&lesson.session, lesson.version, &lesson.state)?;
            for message in &lesson.counted {
                write.count_message(message)?;
            }
            for sighting in &lesson.sightings {
                let project = write.project_named(sighting.project.as_deref())?;
                write.note_sighting(project, &sighting.what, &lesson.session, sighting.times)?;
            }
            if let Some((feed, progress)) = &lesson.progress {
                write.set_progress(feed, progress)?;
            }
            place_all(write, prepared)
        })?;
        shared.note_repetitions(&results);
        shared.indexer.ring();
        Ok(results)
    }

    /// Note how far a feed was read where there was nothing to learn.
    pub fn set_feed_progress(&self, feed: &str, progress: &Progress) -> Result<()> {
        let shared = self.enter()?;
        shared.store.write(&shared.clock, shared.options.actor, |write| write.set_progress(feed, progress))
    }
}
