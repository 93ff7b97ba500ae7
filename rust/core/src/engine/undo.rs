//! Undo of the last change, of one memory or of an operation, and redo. Both are also changes and are in the history.
//!
//! What the program did by itself since, for example archived an old memory, stops neither of them: it is taken back too.

use rustc_hash::FxHashSet;

use super::Engine;
use crate::error::{Error, Result};
use crate::model::report::Operation;
use crate::model::{Memory, Status};
use crate::store::history::{self, Recorded};
use crate::store::operation::{self, Wanted};
use crate::store::replaced::Finder;
use crate::store::{WriteTx, memory, project_merge};

impl Engine {
    /// Undo the last operation, or the last change of one memory; returns the undone changes, newest first.
    pub fn undo(&self, id: Option<&str>) -> Result<Vec<Recorded>> {
        match id {
            Some(id) => self.undo_each(&[id.to_owned()], None),
            None => self.take_back_all(|write| {
                let changes = history::last_operation(write)?;
                match changes.first() {
                    None => Err(Error::not_found("change", "to undo")),
                    Some(change) => {
                        write.part_projects(change.operation)?;
                        Chosen::of_operation(write, changes)
                    }
                }
            }),
        }
    }

    /// Operations, the newest first; see [`operation::list`].
    pub fn operations(&self, wanted: &Wanted, limit: usize) -> Result<Vec<Operation>> {
        operation::list(&*self.enter()?.store.read()?, wanted, limit)
    }

    /// Undo all changes of an operation; returns them, newest first.
    pub fn undo_operation(&self, operation: i64) -> Result<Vec<Recorded>> {
        self.take_back_all(|write| {
            let changes = history::of_operation(write, operation)?;
            if changes.is_empty() {
                return Err(Error::not_found("operation to undo", operation.to_string()));
            }
            write.part_projects(operation)?;
            Chosen::of_operation(write, changes)
        })
    }

    /// Bring back the changes of an operation that were undone last; returns the changes that had taken them back.
    ///
    /// If an id is given, these are the changes that were undone together with the last undone one of this memory.
    pub fn redo(&self, operation: i64, id: Option<&str>) -> Result<Vec<Recorded>> {
        let shared = self.enter()?;
        let redone = shared.store.write(&shared.clock, self.writer(), |write| {
            let undos = history::undos_of(write, operation, id)?;
            if undos.is_empty() {
                return Err(Error::not_found("undone operation", operation.to_string()));
            }
            if let Some(project) = project_merge::parted_by(write, operation)? {
                return Err(Error::Conflict(format!(
                    "the merge of project {project:?} cannot be redone, because its folders and values would stay behind; \
                     merge the projects again"
                )));
            }
            for undo in &undos {
                redo_change(write, undo)?;
            }
            Ok(undos)
        })?;
        shared.indexer.notify();
        Ok(redone)
    }

    /// Undo the last change of each memory. If one change cannot be undone, undo none.
    ///
    /// If `operation` is given, each of these changes must belong to it. So an undo that was decided on before another
    /// change came in does not undo that change.
    pub fn undo_each(&self, ids: &[String], operation: Option<i64>) -> Result<Vec<Recorded>> {
        let mut known = FxHashSet::default();
        let mut full: Vec<String> = Vec::with_capacity(ids.len());
        for id in ids {
            let id = self.resolve_historic_id(id)?;
            if known.insert(id.clone()) {
                full.push(id);
            }
        }
        self.take_back_all(|write| {
            let mut chosen = Chosen::default();
            let mut finder = Finder::default();
            for id in &full {
                let change = match operation {
                    Some(_) => history::last_but_upkeep(write, id)?,
                    None => history::last_of(write, id)?,
                };
                let change = change.ok_or_else(|| Error::not_found("change", id.clone()))?;
                if operation.is_some_and(|expected| expected != change.operation) {
                    return Err(Error::Conflict(format!("memory {id} was changed again since ({})", change.kind)));
                }
                if let Some(project) = project_merge::merged_by(write, change.operation)? {
                    return Err(Error::Conflict(format!(
                        "memory {id} was moved when project {project:?} was merged into another; undo the merge as a whole, \
                         or edit the project of this memory"
                    )));
                }
                chosen.add_replaced(write, &mut finder, &change, |replaced| Ok(!known.contains(&replaced.id)))?;
                chosen.changes.push(change);
            }
            chosen.sort();
            Ok(chosen)
        })
    }

    fn take_back_all(&self, choose: impl FnOnce(&WriteTx<'_>) -> Result<Chosen>) -> Result<Vec<Recorded>> {
        let shared = self.enter()?;
        let undone = shared.store.write(&shared.clock, self.writer(), |write| {
            let Chosen { changes, replaced } = choose(write)?;
            let mut undone = Vec::with_capacity(changes.len());
            for change in changes {
                undone.extend(undo_change(write, &change)?);
                undone.push(change);
            }
            for other in &replaced {
                bring_back(write, other)?;
            }
            Ok(undone)
        })?;
        shared.indexer.notify();
        Ok(undone)
    }

    /// Find the full id of a memory, or of a deleted memory that is still in the history.
    pub(super) fn resolve_historic_id(&self, part: &str) -> Result<String> {
        match self.resolve_id(part) {
            Err(Error::NotFound { .. }) => {
                let shared = self.enter()?;
                let at = shared.store.read()?;
                let part = part.trim().to_lowercase();
                super::only(history::ids_like(&at, &part)?, &part)
            }
            other => other,
        }
    }
}

/// The changes that an undo takes back.
#[derive(Default)]
struct Chosen {
    changes: Vec<Recorded>,
    /// The replacements of memories that were changed since. They come last: until the changes are undone, the
    /// replacing memory may hold the topic.
    replaced: Vec<Recorded>,
}

impl Chosen {
    /// The changes of an operation, and those by which the program replaced other memories with what it created.
    fn of_operation(write: &WriteTx<'_>, changes: Vec<Recorded>) -> Result<Self> {
        let mut chosen = Self::default();
        let mut finder = Finder::default();
        for change in &changes {
            if change.before.is_none() {
                chosen.add_replaced(write, &mut finder, change, |replaced| history::is_upkeep(write, replaced))?;
            }
        }
        chosen.changes.extend(changes);
        chosen.sort();
        Ok(chosen)
    }

    /// Add the changes by which the changed memory replaced others.
    fn add_replaced(
        &mut self,
        write: &WriteTx<'_>,
        finder: &mut Finder,
        change: &Recorded,
        is_wanted: impl Fn(&Recorded) -> Result<bool>,
    ) -> Result<()> {
        for found in finder.find(write, change)? {
            if is_wanted(&found.change)? {
                if found.is_last { &mut self.changes } else { &mut self.replaced }.push(found.change);
            }
        }
        Ok(())
    }

    /// Put the newest first: an import makes the older memory give up its topic before it stores the newer one.
    fn sort(&mut self) {
        self.changes.sort_by_key(|change| std::cmp::Reverse(change.seq));
    }
}

/// Undo a change, and what the program did to its memory by itself since; returns the latter, newest first.
///
/// One row of the history takes back all of it, so that `redo` brings back the state before the undo.
fn undo_change(write: &WriteTx<'_>, change: &Recorded) -> Result<Vec<Recorded>> {
    if let Some(later) = history::changed_after(write, change)? {
        return Err(Error::Conflict(format!(
            "memory {} was changed again since ({later}); undo that change first",
            change.id
        )));
    }
    let upkeep = history::upkeep_after(write, change)?;
    let by = put_back(write, change, "undo")?;
    for later in &upkeep {
        write.mark_undone(later.seq, by)?;
    }
    write.mark_undone(change.seq, by)?;
    Ok(upkeep)
}

/// Make a replaced memory active again that was changed since, for example pinned. Its later changes stay, also if one of
/// them archived it.
fn bring_back(write: &WriteTx<'_>, supersede: &Recorded) -> Result<()> {
    let Some(present) = memory::by_id(write, &supersede.id)? else { return Ok(()) };
    let by = write.record(&supersede.id, "undo", Some(&present))?;
    let status = if present.status == Status::Superseded { Status::Active } else { present.status };
    let after = Memory { status, superseded_by: None, ..present.clone() };
    write.replace(&present, &adapt(write, &after)?)?;
    write.mark_undone(supersede.seq, by)
}

fn redo_change(write: &WriteTx<'_>, undo: &Recorded) -> Result<()> {
    if history::has_later(write, undo)? {
        return Err(Error::Conflict(format!("memory {} was changed since it was undone", undo.id)));
    }
    let upkeep = history::upkeep_after(write, undo)?;
    if !upkeep.is_empty() {
        // The program changed the memory by itself after the undo. That is undone first, so that it can be redone.
        let by = write.record(&undo.id, "undo", memory::by_id(write, &undo.id)?.as_ref())?;
        for later in &upkeep {
            write.mark_undone(later.seq, by)?;
        }
    }
    let by = put_back(write, undo, "redo")?;
    write.mark_redone(undo)?;
    write.mark_undone(undo.seq, by)
}

/// Give a memory the state before a change; returns the place of this in the history.
fn put_back(write: &WriteTx<'_>, change: &Recorded, kind: &str) -> Result<i64> {
    let present = memory::by_id(write, &change.id)?;
    let by = write.record(&change.id, kind, present.as_ref())?;
    match (&present, &change.before) {
        (Some(present), Some(before)) => {
            write.replace(present, &adapt(write, before)?)?;
        }
        (Some(present), None) => write.remove(present)?,
        (None, Some(before)) => {
            write.insert(&adapt(write, before)?)?;
        }
        (None, None) => {}
    }
    Ok(by)
}

/// Adapt an earlier version to the current store, because its project may be gone and its topic may be taken.
fn adapt(write: &WriteTx<'_>, before: &Memory) -> Result<Memory> {
    let mut memory = before.clone();
    memory.project_id = write.project_named(before.project.as_deref())?;
    if memory.status == Status::Active
        && let Some(topic) = &memory.topic
        && let Some(held) = memory::by_topic(write, memory.project_id, topic)?
        && held.id != memory.id
    {
        return Err(Error::Conflict(format!(
            "topic {topic:?} is held by memory {} now; archive that one first",
            held.id
        )));
    }
    Ok(memory)
}
