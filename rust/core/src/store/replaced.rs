//! Changes by which memories were replaced. An undo of the replacing statement takes them back, because otherwise they
//! would stay superseded by a memory that is gone.

use std::collections::hash_map::Entry;

use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;

use super::history::{self, Recorded};
use crate::error::Result;

const SUPERSEDED_BY_OPERATION: &str = "SELECT DISTINCT memory.superseded_by, memory.id FROM history JOIN memory ON memory.id = history.memory \
     WHERE history.operation = ?1 AND history.kind = 'supersede' AND memory.superseded_by <> memory.id";

const LINKED: &str = "SELECT memory.id FROM link INDEXED BY subject_link_by_source JOIN memory ON memory.id = link.target \
     WHERE link.source = ?1 AND link.kind = 'supersedes' AND memory.superseded_by = ?1 AND memory.id <> ?1";

const LAST: &str = "WHERE memory = ?1 AND kind = 'supersede' AND undone_by IS NULL ORDER BY seq DESC LIMIT 1";

/// A change that replaced a memory.
#[derive(Debug)]
pub struct Replacement {
    /// The change.
    pub change: Recorded,
    /// Whether it is the last change of the replaced memory.
    pub is_last: bool,
}

/// Finds the memories that changes have replaced. Rows of an operation are read once, because an undo may take back many
/// changes of a large one.
#[derive(Debug, Default)]
pub struct Finder {
    /// For each operation, the memories that it superseded by the memory that still replaces them.
    by_operation: FxHashMap<i64, FxHashMap<String, Vec<String>>>,
}

impl Finder {
    /// The changes by which the changed memory replaced others that it still replaces: those of the same operation that
    /// are the last of their memory, and all of them if the change created the memory.
    pub fn find(&mut self, connection: &Connection, change: &Recorded) -> Result<Vec<Replacement>> {
        let mut ids = self.superseded_at_once(connection, change)?;
        if change.before.is_none() {
            for id in linked(connection, &change.id)? {
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
        }
        let mut found = Vec::with_capacity(ids.len());
        for id in &ids {
            let Some(replacement) = last_replacement(connection, id)? else { continue };
            let is_of_change = replacement.is_last && replacement.change.operation == change.operation;
            if change.before.is_none() || is_of_change {
                found.push(replacement);
            }
        }
        Ok(found)
    }

    fn superseded_at_once(&mut self, connection: &Connection, change: &Recorded) -> Result<Vec<String>> {
        let by_successor = match self.by_operation.entry(change.operation) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(superseded_by_operation(connection, change.operation)?),
        };
        Ok(by_successor.get(&change.id).cloned().unwrap_or_default())
    }
}

/// The memories that an operation superseded, by their successors.
fn superseded_by_operation(connection: &Connection, operation: i64) -> Result<FxHashMap<String, Vec<String>>> {
    let mut statement = connection.prepare_cached(SUPERSEDED_BY_OPERATION)?;
    let mut found: FxHashMap<String, Vec<String>> = FxHashMap::default();
    let mut rows = statement.query([operation])?;
    while let Some(row) = rows.next()? {
        found.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    Ok(found)
}

/// The memories that a memory replaces and that it has a link to.
fn linked(connection: &Connection, id: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached(LINKED)?;
    let rows = statement.query_map([id], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The last change that replaced a memory and was not taken back.
fn last_replacement(connection: &Connection, id: &str) -> Result<Option<Replacement>> {
    let Some(change) = history::collect(connection, LAST, [id])?.into_iter().next() else { return Ok(None) };
    let is_last = connection
        .prepare_cached("SELECT 1 FROM history WHERE memory = ?1 AND seq > ?2 LIMIT 1")?
        .query_row((id, change.seq), |_| Ok(()))
        .optional()?
        .is_none();
    Ok(Some(Replacement { change, is_last }))
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::clock::Clock;
    use crate::engine::{Engine, Options};
    use crate::model::{Memory, NewMemory, Status, Trust};
    use crate::store::{Store, WriteTx};

    /// Steps of `SQLite` to find the memories that a memory has replaced, in a store of `others` other memories.
    fn steps(others: usize) -> i32 {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::default() };
        let engine = Engine::open(folder.path(), options, Clock::fixed(1)).unwrap();
        engine.remember_many((0..others).map(|number| NewMemory::new(format!("note {number}"))).collect()).unwrap();
        let older = engine.remember(NewMemory::new("an older note")).unwrap().id;
        let newer = engine.remember(NewMemory::new("a newer note")).unwrap().id;
        let before = engine.get(&older).unwrap();
        let store = Store::open(folder.path(), false, 1).unwrap();
        let past = Memory { status: Status::Superseded, superseded_by: Some(newer.clone()), ..before.clone() };
        let replace = |write: &WriteTx<'_>| {
            write.record(&older, "supersede", Some(&before))?;
            write.replace(&before, &past)?;
            write.link(&newer, &older, "supersedes", 1.0, "")
        };
        store.write(&Clock::fixed(1), Trust::User, replace).unwrap();
        let at = store.read().unwrap();
        let created = history::last_of(&at, &newer).unwrap().unwrap();
        let mut finder = Finder::default();
        assert!(finder.find(&at, &created).unwrap()[0].is_last);
        let edited = Recorded { before: Some(engine.get(&newer).unwrap()), ..created };
        assert_eq!(finder.find(&at, &edited).unwrap().len(), 0, "it was replaced by another operation");
        let steps = |sql: &str| {
            let statement = at.prepare_cached(sql).unwrap();
            statement.get_status(StatementStatus::VmStep)
        };
        steps(LINKED) + steps(SUPERSEDED_BY_OPERATION) + steps(&format!("{} {LAST}", history::SELECT))
    }

    #[test]
    fn other_memories_cost_an_undo_nothing() {
        let (few, many) = (steps(10), steps(500));
        assert!(few > 0 && many < 2 * few, "{few} steps beside 10 memories, {many} beside 500");
    }

    #[test]
    fn an_operation_is_read_once_for_all_of_its_changes() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::default() };
        let engine = Engine::open(folder.path(), options, Clock::fixed(1)).unwrap();
        let notes = (0..500).map(|number| NewMemory::new(format!("note {number}"))).collect();
        let ids: Vec<String> = engine.remember_many(notes).unwrap().into_iter().map(|one| one.id).collect();
        let store = Store::open(folder.path(), false, 1).unwrap();
        let at = store.read().unwrap();
        let steps = |ids: &[String]| {
            let mut finder = Finder::default();
            let before = at.prepare_cached(SUPERSEDED_BY_OPERATION).unwrap().get_status(StatementStatus::VmStep);
            for id in ids {
                finder.find(&at, &history::last_of(&at, id).unwrap().unwrap()).unwrap();
            }
            at.prepare_cached(SUPERSEDED_BY_OPERATION).unwrap().get_status(StatementStatus::VmStep) - before
        };
        let (one, all) = (steps(&ids[..1]), steps(&ids));
        assert!(one > 0 && one == all, "{one} steps for one change, {all} for all");
    }
}
