//! Moves of memories to another topic: a section of a note was renamed, or its file was. The memory stays the same one,
//! with its id, its history and all that people attached to it.

use rustc_hash::FxHashMap;

use super::remember::set_members;
use super::{Engine, redaction};
use crate::error::Result;
use crate::model::{Category, Memory, Status, Trust, validate};
use crate::store::{WriteTx, memory};

/// The new topic of a memory, and what changes with it.
#[derive(Debug, Clone)]
pub struct Relocation {
    /// Full id of the memory.
    pub id: String,
    /// The topic that the caller found it under. A memory with another topic stays where it is.
    pub from: String,
    /// Its new topic.
    pub topic: String,
    /// Older versions under the same topic, which are not active and go with it. Full ids.
    pub followers: Vec<String>,
    /// The file of the section now.
    pub file: Option<String>,
    /// The line of the section in that file.
    pub line: Option<i64>,
    /// Members of the metadata to set, as a JSON object; null removes one.
    pub metadata: String,
    /// The new text, if the heading in it changed.
    pub text: Option<Retold>,
    /// The new category.
    pub category: Option<Category>,
    /// The status of an archived memory after the move; `None` leaves it archived.
    pub revived_as: Option<Status>,
}

/// A text that takes the place of another one.
#[derive(Debug, Clone)]
pub struct Retold {
    /// Key of the version that the caller read. A later version keeps its text.
    pub key: i64,
    /// The text.
    pub content: String,
    /// Its entities.
    pub entities: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    /// Another relocation needs its topic, or is done before it.
    Open,
    /// It has no topic for the moment. Before, it had this key.
    Parked(i64),
    Done,
}

impl Engine {
    /// Move memories of a project to other topics, in one operation. A topic may be one that another memory of the batch
    /// leaves, so two memories can change places.
    ///
    /// Returns for each whether the memory has its new topic. It has not if the memory was changed meanwhile and is gone,
    /// of another project or topic, or if another active memory holds the new topic.
    pub fn relocate(&self, project: Option<&str>, mut relocations: Vec<Relocation>) -> Result<Vec<bool>> {
        for one in &mut relocations {
            check(one)?;
        }
        let shared = self.enter()?;
        let moved = shared.store.write(&shared.clock, self.writer(), |write| {
            let project_id = write.project_named(project)?;
            relocate_all(write, project_id, &relocations)
        })?;
        shared.indexer.notify();
        Ok(moved)
    }
}

fn check(one: &mut Relocation) -> Result<()> {
    let mut kinds = redaction::Kinds::default();
    validate::topic(&one.topic)?;
    kinds.clean(&mut one.topic);
    if let Some(file) = &mut one.file {
        validate::optional("file", file)?;
        kinds.clean(file);
    }
    validate::metadata(&one.metadata)?;
    kinds.clean_json("metadata", &mut one.metadata)?;
    if let Some(text) = &mut one.text {
        validate::content(&text.content)?;
        kinds.clean(&mut text.content);
        validate::labels("entities", &text.entities)?;
        text.entities.iter_mut().for_each(|name| kinds.clean(name));
    }
    Ok(())
}

/// Move each memory after the one that holds its new topic.
fn relocate_all(write: &WriteTx<'_>, project_id: i64, relocations: &[Relocation]) -> Result<Vec<bool>> {
    let by_topic: FxHashMap<&str, usize> =
        relocations.iter().enumerate().map(|(number, one)| (one.from.as_str(), number)).collect();
    let mut states = vec![State::Waiting; relocations.len()];
    let mut moved = vec![false; relocations.len()];
    for first in 0..relocations.len() {
        let mut open = vec![first];
        while let Some(&number) = open.last() {
            let one = &relocations[number];
            if states[number] == State::Done {
                open.pop();
                continue;
            }
            let holder = by_topic.get(one.topic.as_str()).copied().filter(|holder| *holder != number);
            match holder.map(|holder| (holder, states[holder])) {
                Some((holder, State::Waiting)) => {
                    if states[number] == State::Waiting {
                        states[number] = State::Open;
                    }
                    open.push(holder);
                }
                Some((holder, State::Open)) => {
                    // They change places. Otherwise each would wait for the other's topic.
                    states[holder] = State::Parked(park(write, project_id, &relocations[holder])?);
                }
                _ => {
                    moved[number] = relocate_one(write, project_id, one, states[number])?;
                    states[number] = State::Done;
                    open.pop();
                }
            }
        }
    }
    Ok(moved)
}

/// Take the topic from a memory; returns the key that it had.
fn park(write: &WriteTx<'_>, project_id: i64, one: &Relocation) -> Result<i64> {
    let Some(before) = found(write, project_id, &one.id)? else { return Ok(0) };
    if before.topic.as_ref() == Some(&one.from) {
        record(write, &before, Memory { topic: None, ..before.clone() })?;
    }
    Ok(before.key)
}

fn relocate_one(write: &WriteTx<'_>, project_id: i64, one: &Relocation, state: State) -> Result<bool> {
    let Some(before) = found(write, project_id, &one.id)? else { return Ok(false) };
    if before.topic.as_ref() == Some(&one.topic) {
        return Ok(true); // another process has moved it
    }
    let parked = if let State::Parked(key) = state { Some(key) } else { None };
    let expected = if parked.is_some() { None } else { Some(&one.from) };
    if before.topic.as_ref() != expected {
        return Ok(false);
    }
    let after = change(&before, one, parked.unwrap_or(before.key));
    let holder = memory::by_topic(write, project_id, &one.topic)?;
    if after.status == Status::Active && holder.is_some_and(|holder| holder.id != one.id) {
        if parked.is_some() {
            record(write, &before, Memory { topic: Some(one.from.clone()), ..before.clone() })?;
        }
        return Ok(false);
    }
    record(write, &before, after)?;
    for id in &one.followers {
        if let Some(before) = found(write, project_id, id)?
            && before.topic.as_ref() == Some(&one.from)
            && before.status != Status::Active
        {
            record(write, &before, Memory { topic: Some(one.topic.clone()), ..before.clone() })?;
        }
    }
    Ok(true)
}

fn found(write: &WriteTx<'_>, project_id: i64, id: &str) -> Result<Option<Memory>> {
    Ok(memory::by_id(write, id)?.filter(|memory| memory.project_id == project_id))
}

/// The memory after the move. A text or category that the user gave it stays. `key` is the one before the move.
fn change(before: &Memory, one: &Relocation, key: i64) -> Memory {
    let mut after = before.clone();
    after.topic = Some(one.topic.clone());
    after.source.file.clone_from(&one.file);
    after.source.line = one.line;
    after.metadata = set_members(&before.metadata, &one.metadata);
    if before.verified_at.is_none() && before.trust == Trust::Imported {
        if let Some(text) = one.text.as_ref().filter(|text| text.key == key) {
            after.content.clone_from(&text.content);
            after.entities.clone_from(&text.entities);
        }
        after.category = one.category.unwrap_or(before.category);
    }
    if before.status == Status::Archived
        && let Some(status) = one.revived_as
    {
        // A directive that the user has accepted needs no second review.
        let is_accepted = before.trust == Trust::User || before.verified_at.is_some();
        after.status = if is_accepted { Status::Active } else { status };
    }
    after
}

fn record(write: &WriteTx<'_>, before: &Memory, mut after: Memory) -> Result<()> {
    after.updated_at = write.now_ms;
    write.record(&before.id, "move", Some(before))?;
    write.replace(before, &after)?;
    Ok(())
}
