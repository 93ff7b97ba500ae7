//! Read operations: recall, list, count, links, related, history.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::Engine;
use crate::error::{Error, Result};
use crate::model::report::{HistoryEntry, Related};
use crate::model::{AsOf, Hit, Memory, QueryVector, RecallRequest, Scope, Selection, Status, limits, validate};
use crate::recall::filter::Filter;
use crate::recall::mirror::Mirror;
use crate::recall::spread::{self, Point};
use crate::recall::{answer, as_of};
use crate::store::link::{self, Link};
use crate::store::{history, memory, usage};

/// Number of uses that wait before a thread writes them; closing also writes them. A commit makes all
/// readers drop their cached pages, so it must not happen often.
pub(super) const USES_BATCH: usize = 4_096;
/// Number of most used memories to which a filter is applied.
const MOST_USED: usize = 2_000;

/// Position in a list: when a memory was created, and its key. Neither ever changes.
pub type Cursor = (i64, i64);

impl Engine {
    /// Find memories by words and by meaning, best first. The result may be empty.
    pub fn recall(&self, mut request: RecallRequest) -> Result<Vec<Hit>> {
        let shared = self.enter()?;
        check_selection(&request.selection)?;
        if request.limit == 0 || request.limit > limits::RECALL_LIMIT {
            return Err(Error::over_limit(
                "limit",
                format!("{} is not between 1 and {}", request.limit, limits::RECALL_LIMIT),
                limits::RECALL_LIMIT,
            ));
        }
        if let Some((end, _)) = request.query.char_indices().nth(limits::QUERY_CHARS) {
            request.query.truncate(end);
        }
        let now_ms = shared.clock.now_ms();
        let hits = match request.as_of {
            Some(moment) => as_of::recall(&*shared.store.read()?, &request, moment)?,
            None => answer::recall(&shared.current()?, &request, now_ms)?,
        };
        if request.as_of.is_none() && !request.unasked {
            self.open.note_uses(hits.iter().map(|hit| hit.memory.id.clone()), now_ms);
        }
        Ok(hits)
    }

    /// Count a use of each of these memories, by their full ids.
    pub fn note_uses(&self, ids: Vec<String>) -> Result<()> {
        let shared = self.enter()?;
        self.open.note_uses(ids.into_iter(), shared.clock.now_ms());
        Ok(())
    }

    /// One memory, by its id or a part of it.
    pub fn get(&self, id: &str) -> Result<Memory> {
        let id = self.resolve_id(id)?;
        memory::existing(&*self.enter()?.store.read()?, &id)
    }

    /// The selected memories, newest first.
    pub fn list(&self, selection: &Selection, limit: usize, offset: usize, as_of: Option<AsOf>) -> Result<Vec<Memory>> {
        let shared = self.enter()?;
        check_selection(selection)?;
        if let Some(moment) = as_of {
            let mut states = as_of::states(&*shared.store.read()?, selection, moment)?;
            states.sort_by_key(|memory| Reverse((memory.created_at, memory.key)));
            return Ok(states.into_iter().skip(offset).take(limit).collect());
        }
        let (view, at) = shared.current()?;
        let filter = Filter::new(&at, selection, shared.clock.now_ms())?;
        let most = offset.saturating_add(limit);
        let page = newest_first(&view.mirror, &filter, None, most).into_iter().skip(offset);
        page.filter_map(|(_, key)| memory::by_key(&at, key).transpose()).collect()
    }

    /// Selected memories, newest first, that come after a cursor, and the cursor of the next page; `None` at the end.
    ///
    /// Other than with an offset, memories that are written or leave the selection meanwhile do not move the others.
    pub fn page(
        &self,
        selection: &Selection,
        limit: usize,
        after: Option<Cursor>,
    ) -> Result<(Vec<Memory>, Option<Cursor>)> {
        let shared = self.enter()?;
        check_selection(selection)?;
        let (view, at) = shared.current()?;
        let filter = Filter::new(&at, selection, shared.clock.now_ms())?;
        let mut rows = newest_first(&view.mirror, &filter, after, limit.saturating_add(1));
        let next = limit.checked_sub(1).filter(|_| rows.len() > limit).map(|last| rows[last]);
        rows.truncate(limit);
        let memories =
            rows.iter().filter_map(|(_, key)| memory::by_key(&at, *key).transpose()).collect::<Result<_>>()?;
        Ok((memories, next))
    }

    /// The selected memories that were used or repeated most since `since_ms`, most used first, with their counts.
    pub fn most_used(&self, selection: &Selection, since_ms: i64, limit: usize) -> Result<Vec<(Memory, usize)>> {
        let shared = self.enter()?;
        check_selection(selection)?;
        let (view, at) = shared.current()?;
        let filter = Filter::new(&at, selection, shared.clock.now_ms())?;
        let mut used: FxHashMap<String, usize> = usage::most_used(&at, since_ms, MOST_USED)?.into_iter().collect();
        for (id, _) in shared.uses.lock().iter().filter(|(_, at)| *at >= since_ms) {
            *used.entry(id.clone()).or_default() += 1;
        }
        let mut used: Vec<(String, usize)> = used.into_iter().collect();
        used.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
        let mut found = Vec::new();
        for (id, uses) in used {
            if found.len() == limit {
                break;
            }
            if let Some(memory) = memory::by_id(&at, &id)?
                && view.mirror.row_of(memory.key).is_some_and(|place| filter.allows(view.mirror.row(place)))
            {
                found.push((memory, uses));
            }
        }
        Ok(found)
    }

    /// Links of these kinds between selected memories, strongest first, at most `limit` of each kind.
    pub fn links(&self, selection: &Selection, kinds: &[String], limit: usize) -> Result<Vec<Link>> {
        let shared = self.enter()?;
        check_selection(selection)?;
        let (view, at) = shared.current()?;
        let filter = Filter::new(&at, selection, shared.clock.now_ms())?;
        let wanted = |key: i64| view.mirror.row_of(key).is_some_and(|place| filter.allows(view.mirror.row(place)));
        link::between(&at, kinds, wanted, limit)
    }

    /// Links of some kinds from selected memories to those with these full ids, which need not be selected.
    pub fn links_to(&self, selection: &Selection, targets: &[String], kinds: &[String]) -> Result<Vec<Link>> {
        let shared = self.enter()?;
        check_selection(selection)?;
        let (view, at) = shared.current()?;
        let filter = Filter::new(&at, selection, shared.clock.now_ms())?;
        let wanted = |key: i64| view.mirror.row_of(key).is_some_and(|place| filter.allows(view.mirror.row(place)));
        link::towards(&at, targets, kinds, wanted)
    }

    /// The number of selected memories.
    pub fn count(&self, selection: &Selection) -> Result<usize> {
        let shared = self.enter()?;
        check_selection(selection)?;
        let (view, at) = shared.current()?;
        Ok(Filter::new(&at, selection, shared.clock.now_ms())?.places(&view.mirror).len())
    }

    /// The vector of the first chunk of each memory, by full id; `None` for a memory that has none yet.
    pub fn vectors_of(&self, ids: &[String]) -> Result<Vec<Option<Vec<f32>>>> {
        let shared = self.enter()?;
        let (view, at) = &shared.current()?;
        ids.iter().map(|id| Ok(memory::by_id(at, id)?.and_then(|memory| view.mirror.vector_of(memory.key)))).collect()
    }

    /// Compare a query with memories, also through the others. Return how near each is, on a scale of this query.
    ///
    /// A memory is given by its key and its text. Without a vector of the active model, and for memories
    /// that have no vectors, words alone are compared. `known` are places of memories that are near for another reason.
    pub fn spread(
        &self,
        query: &str,
        vector: Option<&QueryVector>,
        memories: &[(i64, String)],
        known: &[usize],
    ) -> Result<Vec<f64>> {
        if let Some(place) = known.iter().find(|place| **place >= memories.len()) {
            return Err(Error::invalid("known", format!("there is no memory {place}")));
        }
        let shared = self.enter()?;
        let current = shared.current()?;
        let vector = answer::comparable(&current.0, vector)?;
        let mirror = &current.0.mirror;
        let points: Vec<Point<'_>> =
            memories.iter().map(|(key, text)| Point::new(text, mirror.first_vector(*key))).collect();
        // A recall after a write waits for the view, and the walk may take long.
        drop(current);
        Ok(spread::spread(query, vector, &points, known))
    }

    /// Memories linked to a memory, then memories near in meaning, at most `limit`, and at most as many as a recall
    /// returns.
    pub fn related(&self, id: &str, limit: usize) -> Result<Vec<Related>> {
        let limit = limit.min(limits::RECALL_LIMIT);
        let id = self.resolve_id(id)?;
        let shared = self.enter()?;
        let current = shared.current()?;
        let (view, at) = &current;
        let asked = memory::existing(at, &id)?;
        let mut related: Vec<Related> = Vec::new();
        for link in link::of(at, &id)? {
            let (other, direction) = if link.source == id { (&link.target, "out") } else { (&link.source, "in") };
            // Links to deleted or archived memories are kept for an undo or a restore, but not shown.
            let gone = |memory: &Memory| memory.status == Status::Archived || memory.is_expired(shared.clock.now_ms());
            if let Some(memory) = memory::by_id(at, other)?.filter(|memory| !gone(memory)) {
                related.push(Related { memory, kind: link.kind, direction, weight: link.weight, reason: link.reason });
            }
        }
        if let Some(vector) = view.mirror.vector_of(asked.key) {
            let selection = Selection::of(scope_of(&asked));
            let filter = Filter::new(at, &selection, shared.clock.now_ms())?;
            for (memory, cosine) in answer::nearest(&current, &filter, &vector, limit + 1)? {
                if memory.id != id && !related.iter().any(|known| known.memory.id == memory.id) {
                    let reason = format!("cosine {cosine:.3}");
                    related.push(Related {
                        memory,
                        kind: "near".into(),
                        direction: "both",
                        weight: f64::from(cosine).clamp(0.0, 1.0),
                        reason,
                    });
                }
            }
        }
        related.truncate(limit);
        Ok(related)
    }

    /// All changes of a memory, oldest first; deleted memories also have a history.
    pub fn history(&self, id: &str) -> Result<Vec<HistoryEntry>> {
        let id = self.resolve_historic_id(id)?;
        history::of(&*self.enter()?.store.read()?, &id)
    }
}

/// The scope in which the neighbours of a memory are searched.
pub(super) fn scope_of(memory: &Memory) -> Scope {
    match &memory.project {
        Some(name) => Scope::Project { name: name.clone(), with_global: true },
        None => Scope::Global,
    }
}

/// Positions of the memories that pass a filter, newest first, and at most `most`; with a cursor, only those after it.
fn newest_first(mirror: &Mirror, filter: &Filter, after: Option<Cursor>, most: usize) -> Vec<Cursor> {
    let position = |place: u32| {
        let columns = mirror.row(place).columns;
        (columns.created_at, columns.key)
    };
    let mut found: Vec<Cursor> = filter.places(mirror).into_iter().map(position).collect();
    found.retain(|position| after.is_none_or(|after| *position < after));
    if most < found.len() {
        // Choose the page before sorting it. Sorting all positions would take most of the time of a list.
        found.select_nth_unstable_by_key(most, |position| Reverse(*position));
        found.truncate(most);
    }
    found.sort_unstable_by_key(|position| Reverse(*position));
    found
}

fn check_selection(selection: &Selection) -> Result<()> {
    if let Scope::Project { name, .. } = &selection.scope {
        validate::project_name(name)?;
    }
    validate::time("since", selection.since)?;
    validate::time("until", selection.until)?;
    for (field, name) in [("entity", &selection.entity), ("tag", &selection.tag)] {
        if let Some(name) = name {
            validate::name(field, name)?;
        }
    }
    match (selection.since, selection.until) {
        (Some(since), Some(until)) if since > until => {
            Err(Error::invalid("since", "is later than until, so no memory can match"))
        }
        _ => Ok(()),
    }
}
