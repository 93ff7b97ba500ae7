//! Session learning. The memories of a batch of messages, the extraction state and the processed messages are written
//! in one transaction. A process that dies or loses a race has written no part of them, and processes the messages
//! again.

use super::remember::{place_all, prepare_all};
use super::{Engine, redaction};
use crate::error::{Error, Result};
use crate::model::report::Remembered;
use crate::model::{NewMemory, Status, Trust, validate};
use crate::store::learning::{self, Learning, Progress};
use crate::store::{WriteTx, memory, project};

const STATE_BYTES: usize = 512 * 1024;

/// A statement that was seen in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The project.
    pub project: Option<String>,
    /// The hash of the statement.
    pub what: String,
    /// Number of sightings; a negative number takes sightings back.
    pub times: i64,
}

/// The memory that a link of a batch points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// The number of a new memory in the same batch, from 0.
    New(usize),
    /// The id of a stored memory.
    Stored(String),
}

/// A link from a new memory to another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLink {
    /// The number of the new memory in its batch, from 0.
    pub number: usize,
    /// The other memory.
    pub target: LinkTarget,
    /// The kind of the link.
    pub kind: String,
    /// Why both are linked.
    pub reason: String,
}

/// The result of processing a batch of messages of a session.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The session.
    pub session: String,
    /// The version of the extraction state when it was read; 0 for the first batch.
    pub version: i64,
    /// The new extraction state, JSON.
    pub state: String,
    /// The processed messages.
    pub counted: Vec<Vec<u8>>,
    /// Statements that were seen.
    pub sightings: Vec<Sighting>,
    /// Memories to write.
    pub memories: Vec<NewMemory>,
    /// Links from these memories to stored ones, or to each other.
    pub links: Vec<NewLink>,
    /// A feed and the new position in it.
    pub progress: Option<(String, Progress)>,
}

impl Engine {
    /// The extraction state of a session; `None` before its first message.
    pub fn learning(&self, session: &str) -> Result<Option<Learning>> {
        learning::of(&*self.enter()?.store.read()?, session)
    }

    /// The position of a feed in each session.
    pub fn feed_progress(&self, feed: &str) -> Result<Vec<Progress>> {
        learning::progress(&*self.enter()?.store.read()?, feed)
    }

    /// Whether each of these messages was processed.
    pub fn counted(&self, messages: &[Vec<u8>]) -> Result<Vec<bool>> {
        learning::processed(&*self.enter()?.store.read()?, messages)
    }

    /// In how many other sessions of a project each of these statements was seen.
    pub fn seen_elsewhere(&self, project: Option<&str>, what: &[String], session: &str) -> Result<Vec<usize>> {
        let shared = self.enter()?;
        let at = shared.store.read()?;
        match project::id_of(&at, project)? {
            Some(id) => learning::seen_elsewhere(&at, id, what, session),
            None => Ok(vec![0; what.len()]),
        }
    }

    /// Ids of the active and waiting memories whose source is one of these messages of a session, or one from `since` on.
    pub fn ids_from_messages(&self, session: &str, messages: &[String], since: Option<&str>) -> Result<Vec<String>> {
        memory::ids_from_messages(&*self.enter()?.store.read()?, session, messages, since)
    }

    /// Write the result of a batch in one transaction.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another process has processed the session since `version`; read the state again.
    pub fn learn(&self, mut batch: Batch) -> Result<Vec<Remembered>> {
        validate::name("session", &batch.session)?;
        redaction::Kinds::default().clean_json("state", &mut batch.state)?;
        if batch.state.len() > STATE_BYTES {
            return Err(Error::over_limit(
                "state",
                format!("has {} bytes; at most {STATE_BYTES} are kept", batch.state.len()),
                STATE_BYTES,
            ));
        }
        if let Some((_, progress)) = &mut batch.progress {
            clean_mark(progress)?;
        }
        let prepared = prepare_all(batch.memories)?;
        let shared = self.enter()?;
        let rivals = shared.find_rivals(prepared.iter().map(|(memory, _)| memory))?;
        let results = shared.store.write(&shared.clock, Trust::Extracted, |write| {
            write.set_learning(&batch.session, batch.version, &batch.state)?;
            for message in &batch.counted {
                write.count_message(message)?;
            }
            for sighting in &batch.sightings {
                let project = write.project_named(sighting.project.as_deref())?;
                write.note_sighting(project, &sighting.what, &batch.session, sighting.times)?;
            }
            if let Some((feed, progress)) = &batch.progress {
                write.set_progress(feed, progress)?;
            }
            let placed = place_all(write, prepared, &rivals)?;
            link_new(write, &batch.links, &placed)?;
            Ok(placed)
        })?;
        shared.note_repetitions(&results);
        shared.indexer.notify();
        Ok(results)
    }

    /// Set the position of a feed after messages without a result.
    pub fn set_feed_progress(&self, feed: &str, mut progress: Progress) -> Result<()> {
        clean_mark(&mut progress)?;
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.set_progress(feed, &progress))
    }
}

/// Redact the mark of a feed if it is a JSON object, which may hold texts of the session, such as its title.
fn clean_mark(progress: &mut Progress) -> Result<()> {
    if progress.mark.starts_with('{') {
        redaction::Kinds::default().clean_json("mark", &mut progress.mark)?;
    }
    Ok(())
}

/// Write the links of a batch. A link is left out if one of its ends is not active any more.
fn link_new(write: &WriteTx<'_>, links: &[NewLink], placed: &[Remembered]) -> Result<()> {
    let is_active =
        |id: &str| Ok::<_, Error>(memory::by_id(write, id)?.is_some_and(|one| one.status == Status::Active));
    for link in links {
        let target = match &link.target {
            LinkTarget::New(number) => placed.get(*number).map(|new| &new.id),
            LinkTarget::Stored(id) => Some(id),
        };
        let (Some(new), Some(target)) = (placed.get(link.number), target) else { continue };
        if new.id != *target && is_active(&new.id)? && is_active(target)? {
            write.link(&new.id, target, &link.kind, 1.0, &link.reason)?;
        }
    }
    Ok(())
}
