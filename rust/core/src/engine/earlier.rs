//! Earlier statements on the subjects of given memories, for readers that want the newest word first.
//!
//! Links say which memories replace or contradict each other. Given memories without a link are compared here, because
//! a memory of a large batch is visible before it has been compared.

use std::cell::OnceCell;

use rustc_hash::FxHashSet;

use super::Engine;
use super::replace::{are_of_one_message, are_statements, is_same_series, may_replace};
use crate::error::Result;
use crate::model::{Memory, Status};
use crate::store::link;
use crate::store::{Snapshot, memory};
use crate::text::{self, Relation, Statement};

/// Number of given memories up to which each pair is compared. Of more, only links are read, and global memories are
/// compared with those of a project.
const MOST_COMPARED: usize = 64;
/// Pairs of a global memory and one of a project up to which they are compared.
const MOST_ACROSS: usize = 8192;
/// Number of replaced memories that are followed from one memory.
const MOST_STEPS: usize = 8;

/// A memory that another one speaks against: a later one, or one of a project against a global memory.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// The memory.
    pub memory: Memory,
    /// Whether the later memory takes its place for a reader. Otherwise both may hold, in other circumstances.
    pub is_replaced: bool,
}

impl Engine {
    /// Find for each of these memories, by their full ids, the earlier statements of its project on its subject, newest
    /// first, and the global ones that it contradicts. An unknown id has none.
    pub fn earlier(&self, ids: &[String]) -> Result<Vec<Vec<Earlier>>> {
        let shared = self.enter()?;
        let at = shared.store.read()?;
        let now_ms = shared.clock.now_ms();
        let mut given = Vec::with_capacity(ids.len());
        for id in ids {
            given.push(memory::by_id(&at, id)?);
        }
        let mut found: Vec<Vec<Earlier>> = Vec::with_capacity(ids.len());
        let mut settled = FxHashSet::default();
        for memory in &given {
            found.push(match memory {
                Some(memory) => follow_links(&at, memory, now_ms, &mut settled)?,
                None => Vec::new(),
            });
        }
        let global = given.iter().flatten().filter(|memory| memory.project_id == 0).count();
        let are_few = given.len() <= MOST_COMPARED;
        if are_few || global * (given.len() - global) <= MOST_ACROSS {
            compare_given(&given, &settled, &mut found, are_few);
        }
        for earlier in &mut found {
            earlier.sort_by_key(|one| std::cmp::Reverse(one.memory.said_at()));
            let mut seen = FxHashSet::default();
            earlier.retain(|one| seen.insert(one.memory.id.clone()));
        }
        Ok(found)
    }

    /// Find the active memories of the same project that contradict one of these and were said later.
    pub fn later(&self, ids: &[String]) -> Result<Vec<Memory>> {
        let shared = self.enter()?;
        let at = shared.store.read()?;
        let now_ms = shared.clock.now_ms();
        let mut found: Vec<Memory> = Vec::new();
        for id in ids {
            let Some(memory) = memory::by_id(&at, id)? else { continue };
            for other in link::contradicting(&at, id)? {
                let Some(other) = memory::by_id(&at, &other)? else { continue };
                let is_later = other.said_at() > memory.said_at() && other.project_id == memory.project_id;
                let is_visible = other.status == Status::Active && !other.is_expired(now_ms);
                if is_later && is_visible && !found.iter().any(|known| known.id == other.id) {
                    found.push(other);
                }
            }
        }
        Ok(found)
    }
}

/// The memories that a memory replaced, also through others, and the earlier ones that it contradicts. Adds the ids of
/// every linked pair to `settled`.
fn follow_links(
    at: &Snapshot<'_>,
    memory: &Memory,
    now_ms: i64,
    settled: &mut FxHashSet<(String, String)>,
) -> Result<Vec<Earlier>> {
    let mut found = Vec::new();
    let mut waiting = vec![memory.clone()];
    let mut steps = 0;
    while let Some(newer) = waiting.pop() {
        for link in link::of_subject(at, &newer.id)? {
            let end = if link.source == newer.id { &link.target } else { &link.source };
            let Some(other) = memory::by_id(at, end)? else { continue };
            if newer.id == memory.id {
                settled.insert(pair(memory, &other));
            }
            if other.is_expired(now_ms) {
                continue;
            }
            // What holds in one project leads what holds in all of them, whichever was said first.
            let is_narrower = newer.id == memory.id && other.project_id == 0 && memory.project_id != 0;
            if is_narrower && link.kind == "contradicts" && other.status == Status::Active {
                found.push(Earlier { memory: other, is_replaced: false });
                continue;
            }
            if other.project_id != memory.project_id || other.said_at() >= newer.said_at() {
                continue;
            }
            match link.kind.as_str() {
                "supersedes" if link.source == newer.id && other.status == Status::Superseded => {
                    steps += 1;
                    if steps > MOST_STEPS {
                        continue;
                    }
                    waiting.push(other.clone());
                    if !text::same_statement(&newer.content, &other.content) {
                        found.push(Earlier { memory: other, is_replaced: true });
                    }
                }
                "contradicts" if newer.id == memory.id && other.status == Status::Active => {
                    let relation = text::compare(&newer.content, &other.content, None);
                    let is_replaced = relation.is_of_one_subject() && may_replace(&newer, &other);
                    found.push(Earlier { memory: other, is_replaced });
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// Compare the given memories that no link connects: each pair of one project if `with_same_project`, and each global
/// memory with those of a project. If the user took a replacement back, its link remains, so that both stay apart.
fn compare_given(
    given: &[Option<Memory>],
    settled: &FxHashSet<(String, String)>,
    found: &mut [Vec<Earlier>],
    with_same_project: bool,
) {
    let statements: Vec<OnceCell<Option<Statement<'_>>>> = given.iter().map(|_| OnceCell::new()).collect();
    // Reading takes longer than all else here, so each memory is read once, and only for a pair that needs it.
    let read = |at: usize| {
        let statement = || given[at].as_ref().and_then(|memory| Statement::read(&memory.content));
        statements[at].get_or_init(statement).as_ref()
    };
    for (number, newer) in given.iter().enumerate() {
        let Some(newer) = newer else { continue };
        let mut related = Vec::new();
        let mut across = Vec::new();
        for (at, older) in given.iter().enumerate() {
            let Some(older) = older else { continue };
            let is_across = older.project_id != newer.project_id;
            if older.said_at() >= newer.said_at()
                || !(is_across || with_same_project)
                || !are_statements(newer, older)
                || are_of_one_message(newer, older)
                || settled.contains(&pair(newer, older))
            {
                continue;
            }
            let Some(statement) = read(number).filter(|statement| statement.may_replace()) else { break };
            let Some(older_statement) = read(at) else { continue };
            let relation = statement.compare_read(older_statement.reading(), None);
            if relation == Relation::Unrelated {
                continue;
            }
            if is_across {
                // What holds in one project leads what holds in all of them, whichever was said first.
                let (leading, global) = if older.project_id == 0 { (number, older) } else { (at, newer) };
                across.push((leading, Earlier { memory: global.clone(), is_replaced: false }));
            } else {
                let is_replaced = relation.is_of_one_subject() && may_replace(newer, older);
                related.push(Earlier { memory: older.clone(), is_replaced });
            }
        }
        if !is_same_series(related.len()) {
            found[number].extend(related);
        }
        if !is_same_series(across.len()) {
            for (leading, global) in across {
                found[leading].push(global);
            }
        }
    }
}

/// The ids of two memories in a fixed order.
fn pair(a: &Memory, b: &Memory) -> (String, String) {
    if a.id <= b.id { (a.id.clone(), b.id.clone()) } else { (b.id.clone(), a.id.clone()) }
}
