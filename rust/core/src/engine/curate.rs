//! Changes of single memories: edit, move, archive, restore, delete, pin, link. Every change can be undone.

use rustc_hash::FxHashSet;

use super::remember::is_instruction;
use super::replace::replace_rivals;
use super::{Engine, redaction, schedule};
use crate::error::{Error, Result};
use crate::model::{Memory, Patch, Status, Trust, validate};
use crate::store::{WriteTx, history, memory};

impl Engine {
    /// Change a memory. A changed text gets a new key and waits for its embedding.
    pub fn edit(&self, id: &str, mut patch: Patch) -> Result<Memory> {
        check(&mut patch)?;
        let id = self.resolve_id(id)?;
        let rivals = match &patch.content {
            Some(content) => {
                let project = patch.project.clone().map_or_else(|| Ok(self.get(&id)?.project), Ok::<_, Error>)?;
                self.enter()?.find_rivals_of(content, project.as_deref())?
            }
            None => Vec::new(),
        };
        self.change_and_replace(&[id], "edit", &[rivals], |write, before| {
            let mut after = before.clone();
            apply(write, &patch, &mut after)?;
            Ok(Some(after))
        })
        .and_then(only)
    }

    /// Merge memories of one scope into the first one, which gets a new text and lasts as long as the one of them that
    /// lasts longest; the others are superseded by it.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the writer is not the user, if a memory is not active or has another scope, or if all of
    /// them have expired.
    pub fn merge(&self, ids: &[String], mut patch: Patch) -> Result<Memory> {
        check(&mut patch)?;
        let ids = self.resolve_ids(ids)?;
        let [kept, _, ..] = ids.as_slice() else {
            return Err(Error::invalid("ids", "two or more different memories are needed"));
        };
        let project = self.get(kept)?.project_id;
        let mut merged = self.change(&ids, "combine", |write, before| {
            if write.actor != Trust::User {
                return Err(Error::Conflict("only the user can merge memories".into()));
            }
            if before.status != Status::Active || before.project_id != project {
                let reason = "it is not active, or it is of another scope";
                return Err(Error::Conflict(format!("memory {} cannot be merged: {reason}", before.id)));
            }
            let mut after = before.clone();
            if before.id == *kept {
                patch.expires_at = Some(last_end(write, &ids)?);
                apply(write, &patch, &mut after)?;
            } else {
                after.status = Status::Superseded;
                after.superseded_by = Some(kept.clone());
            }
            Ok(Some(after))
        })?;
        Ok(merged.swap_remove(0))
    }

    /// Archive memories; `restore` reverses it.
    pub fn archive(&self, ids: &[String], reason: Option<&str>) -> Result<Vec<Memory>> {
        self.put_away("archive", ids, reason)
    }

    /// Archive memories because the program keeps the store tidy. This does not stop an undo of earlier changes.
    pub fn archive_in_upkeep(&self, ids: &[String], reason: &str) -> Result<Vec<Memory>> {
        self.put_away(history::UPKEEP, ids, Some(reason))
    }

    fn put_away(&self, kind: &str, ids: &[String], reason: Option<&str>) -> Result<Vec<Memory>> {
        let mut kind = kind.to_owned();
        if let Some(reason) = reason {
            validate::name("reason", reason)?;
            let mut reason = one_line(reason);
            redaction::Kinds::default().clean(&mut reason);
            kind = format!("{kind}: {reason}");
        }
        self.change(&self.resolve_ids(ids)?, &kind, |_, before| {
            Ok(Some(Memory { status: Status::Archived, ..before.clone() }))
        })
    }

    /// Make archived, superseded or waiting memories active.
    pub fn restore(&self, ids: &[String]) -> Result<Vec<Memory>> {
        let ids = self.resolve_ids(ids)?;
        let mut rivals = Vec::with_capacity(ids.len());
        for id in &ids {
            let memory = self.get(id)?;
            rivals.push(match memory.status {
                Status::Candidate => self.enter()?.find_rivals_of(&memory.content, memory.project.as_deref())?,
                // A memory that was put away comes back as it was, beside its successor.
                _ => Vec::new(),
            });
        }
        self.change_and_replace(&ids, "restore", &rivals, |write, before| {
            if let Some(topic) = &before.topic
                && let Some(held) = memory::by_topic(write, before.project_id, topic)?
                && held.id != before.id
            {
                return Err(Error::Conflict(format!(
                    "topic {topic:?} is held by memory {} now; archive that one first, or give this one another topic",
                    held.id
                )));
            }
            if write.actor != Trust::User && needs_review(write, before)? {
                return Err(Error::Conflict(format!(
                    "memory {} waits for review; only the user can accept it",
                    before.id
                )));
            }
            // A user who accepts a memory after review vouches for it.
            let accepted = before.status == Status::Candidate;
            let trust = if accepted { Trust::User } else { before.trust };
            Ok(Some(Memory { status: Status::Active, superseded_by: None, trust, ..before.clone() }))
        })
    }

    /// Delete memories; undo can restore them until the retention ends. Returns their full ids.
    pub fn delete(&self, ids: &[String]) -> Result<Vec<String>> {
        let shared = self.enter()?;
        let ids = self.resolve_ids(ids)?;
        shared.store.write(&shared.clock, self.writer(), |write| {
            for id in &ids {
                let before = memory::existing(write, id)?;
                write.record(id, "delete", Some(&before))?;
                write.remove(&before)?;
            }
            Ok(())
        })?;
        shared.indexer.notify();
        Ok(ids)
    }

    /// Pin or unpin memories.
    pub fn pin(&self, ids: &[String], pinned: bool) -> Result<Vec<Memory>> {
        let kind = if pinned { "pin" } else { "unpin" };
        self.change(&self.resolve_ids(ids)?, kind, |_, before| Ok(Some(Memory { pinned, ..before.clone() })))
    }

    /// Link two memories.
    pub fn link(&self, source: &str, target: &str, kind: &str, weight: f64, reason: &str) -> Result<()> {
        validate::name("kind", kind)?;
        redaction::refuse("kind", kind)?;
        validate::optional("reason", reason)?;
        let mut reason = one_line(reason);
        redaction::Kinds::default().clean(&mut reason);
        validate::weight(weight)?;
        let (source, target) = (self.resolve_id(source)?, self.resolve_id(target)?);
        if source == target {
            return Err(Error::invalid("target", "is the memory itself"));
        }
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.link(&source, &target, kind, weight, &reason))
    }

    /// Find the full ids, each once, in order.
    pub(super) fn resolve_ids(&self, ids: &[String]) -> Result<Vec<String>> {
        let mut known = FxHashSet::default();
        let mut all = Vec::with_capacity(ids.len());
        for id in ids {
            let id = self.resolve_id(id)?;
            if known.insert(id.clone()) {
                all.push(id);
            }
        }
        Ok(all)
    }

    /// Change memories in one operation; memories that stay equal are not recorded.
    fn change(
        &self,
        ids: &[String],
        kind: &str,
        body: impl FnMut(&WriteTx<'_>, &Memory) -> Result<Option<Memory>>,
    ) -> Result<Vec<Memory>> {
        self.change_and_replace(ids, kind, &[], body)
    }

    /// Change memories in one operation, and replace older memories on the same subject: `rivals` has for each changed
    /// memory the keys of those that may be.
    fn change_and_replace(
        &self,
        ids: &[String],
        kind: &str,
        rivals: &[Vec<i64>],
        mut body: impl FnMut(&WriteTx<'_>, &Memory) -> Result<Option<Memory>>,
    ) -> Result<Vec<Memory>> {
        let shared = self.enter()?;
        let changed = shared.store.write(&shared.clock, self.writer(), |write| {
            let mut changed = Vec::with_capacity(ids.len());
            for (number, id) in ids.iter().enumerate() {
                let before = memory::existing(write, id)?;
                if let Some(mut after) = body(write, &before)?
                    && after != before
                {
                    after.updated_at = write.now_ms;
                    write.record(id, kind, Some(&before))?;
                    write.replace(&before, &after)?;
                    replace_rivals(write, id, rivals.get(number).map_or(&[], Vec::as_slice))?;
                }
                changed.push(memory::existing(write, id)?);
            }
            Ok(changed)
        })?;
        shared.indexer.notify();
        Ok(changed)
    }
}

/// Whether only the user may make a memory active: it waits for review, or it did so before it was put away.
///
/// Otherwise an agent could archive its own directive and restore it as an active one. Neither may an instruction come
/// back with words that were never active, for example because it was edited while it was archived.
fn needs_review(write: &WriteTx<'_>, memory: &Memory) -> Result<bool> {
    if memory.status == Status::Candidate {
        return Ok(true);
    }
    if history::was_active(write, memory)? {
        return Ok(false);
    }
    let is_confirmed = memory.trust == Trust::User || memory.verified_at.is_some();
    Ok(is_instruction(memory.category) && !is_confirmed || history::has_waited(write, &memory.id)?)
}

/// When the memory that lasts longest ends; `None` if one never ends.
///
/// # Errors
/// [`Error::Conflict`] if all have ended, because a merge into an expired memory would hide the others.
fn last_end(write: &WriteTx<'_>, ids: &[String]) -> Result<Option<i64>> {
    let ends =
        ids.iter().map(|id| Ok(memory::existing(write, id)?.expires_at)).collect::<Result<Option<Vec<i64>>>>()?;
    let last = ends.and_then(|ends| ends.into_iter().max());
    if last.is_some_and(|end| end <= write.now_ms) {
        return Err(Error::Conflict(
            "all of these memories have expired; give one of them another expiry first".into(),
        ));
    }
    Ok(last)
}

/// Replace control characters and line breaks. Reasons are printed in lists, where they could rewrite the screen.
pub(super) fn one_line(reason: &str) -> String {
    let plain: String = reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn only(mut memories: Vec<Memory>) -> Result<Memory> {
    memories.pop().ok_or_else(|| Error::Conflict("a change of one memory gave no result".into()))
}

fn check(patch: &mut Patch) -> Result<()> {
    let mut kinds = redaction::Kinds::default();
    if let Some(content) = &mut patch.content {
        validate::content(content)?;
        kinds.clean(content);
    }
    if let Some(Some(topic)) = &mut patch.topic {
        validate::topic(topic)?;
        kinds.clean(topic);
    }
    for (field, labels) in [("tags", &mut patch.tags), ("entities", &mut patch.entities)] {
        if let Some(labels) = labels {
            validate::labels(field, labels)?;
            for label in labels {
                kinds.clean(label);
            }
        }
    }
    validate::time("expires_at", patch.expires_at.flatten())?;
    validate::time("time", patch.time)?;
    if let Some(metadata) = &mut patch.metadata {
        validate::metadata(metadata)?;
        kinds.clean_json("metadata", metadata)?;
    }
    if let Some(Some(project)) = &patch.project {
        validate::project_name(project)?;
        redaction::refuse("project", project)?;
    }
    Ok(())
}

fn apply(write: &WriteTx<'_>, patch: &Patch, after: &mut Memory) -> Result<()> {
    let (patch, before) = (patch.clone(), after.clone());
    schedule::set(after, &patch)?;
    if let Some(project) = patch.project {
        after.project_id = write.project_named(project.as_deref())?;
        after.project = project;
    }
    if let Some(topic) = patch.topic {
        after.topic = topic;
    }
    if after.status == Status::Active
        && let Some(topic) = &after.topic
        && let Some(held) = memory::by_topic(write, after.project_id, topic)?
        && held.id != after.id
    {
        return Err(Error::Conflict(format!("topic {topic:?} is held by memory {}; edit that one instead", held.id)));
    }
    after.content = patch.content.unwrap_or_else(|| std::mem::take(&mut after.content));
    after.category = patch.category.unwrap_or(after.category);
    after.tags = patch.tags.unwrap_or_else(|| std::mem::take(&mut after.tags));
    after.entities = patch.entities.unwrap_or_else(|| std::mem::take(&mut after.entities));
    after.expires_at = patch.expires_at.unwrap_or(after.expires_at);
    after.time = patch.time.unwrap_or(after.time);
    after.metadata = patch.metadata.unwrap_or_else(|| std::mem::take(&mut after.metadata));
    let says_otherwise = after.content != before.content || after.category != before.category;
    if says_otherwise && write.actor == Trust::User && before.trust != Trust::User {
        // The user's edit confirms the memory, even if an agent wrote the first text.
        after.verified_at = Some(write.now_ms);
        schedule::review_again(after, write.now_ms);
    } else if says_otherwise && write.actor != Trust::User {
        // The new text is not confirmed and must not keep the trust of a more trusted writer.
        after.verified_at = None;
        after.trust = before.trust.max(write.actor);
    }
    after.trust = patch.trust.unwrap_or(after.trust);
    if patch.verified {
        after.verified_at = Some(write.now_ms);
        schedule::review_again(after, write.now_ms);
    }
    Ok(())
}
