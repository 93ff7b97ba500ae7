//! Memories that a new one may repeat. Equal texts under many topics ("MIT", "TBD") must not make a batch slow.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Result;
use crate::model::{Memory, NewMemory};
use crate::store::{WriteTx, memory};
use crate::text;

/// Looks for memories with the text of a new one during one transaction.
///
/// When a text comes a second time, the topics of all memories with it are read once. A new topic then needs no search
/// among them.
#[derive(Default)]
pub(super) struct Twins {
    once: FxHashSet<(i64, u128)>,
    topics: FxHashMap<(i64, u128), FxHashSet<String>>,
}

impl Twins {
    /// The active and waiting memories with the text of a new memory, without those of another topic or place.
    pub(super) fn find(&mut self, write: &WriteTx<'_>, project_id: i64, new: &NewMemory) -> Result<Vec<Memory>> {
        let key = (project_id, text::content_hash(&new.content));
        if let Some(topic) = &new.topic
            && !self.may_exist(write, key, topic)?
        {
            return Ok(Vec::new());
        }
        let place = new.position.map(|position| (position, new.session.as_deref()));
        memory::by_text(write, project_id, key.1, new.topic.as_deref(), place)
    }

    /// Whether a memory with this text has the topic. It may have lost it within the transaction.
    fn may_exist(&mut self, write: &WriteTx<'_>, key: (i64, u128), topic: &str) -> Result<bool> {
        if self.once.insert(key) {
            return Ok(true);
        }
        let topics = match self.topics.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(memory::topics_of_text(write, key.0, key.1)?),
        };
        Ok(topics.contains(topic))
    }

    /// Note that a memory was placed, so that the next ones of the transaction find it.
    pub(super) fn note(&mut self, project_id: i64, hash: u128, topic: Option<String>) {
        if let (Some(topics), Some(topic)) = (self.topics.get_mut(&(project_id, hash)), topic) {
            topics.insert(topic);
        }
    }
}
