//! Updates the derived indexes from the store. The only writer of derived files, under the indexer lock (I4).
//!
//! Each step leaves a state that readers can use and from which the next run continues. The lexical index commits in
//! batches with a mark each, and the graph is replaced by a whole new generation. A crash at any point loses only work.

use std::path::Path;

use half::f16;

use super::graph::build::Graph;
use super::graph::snapshot::{self, Manifest};
use super::lexical::{LexicalWriter, Mark};
use crate::clock::Clock;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::model::Trust;
use crate::model::report::CatchUpReport;
use crate::store::change::{self, Head, Op};
use crate::store::lock::{self, Lock};
use crate::store::{Store, embedding, memory};
use crate::text;

/// Name of the lock file in the data directory.
pub const LOCK: &str = "indexer.lock";

/// Number of texts per commit. A durable commit costs about as much as analysing 2,000 texts.
const COMMIT_EVERY: usize = 20_000;
/// Number of memories read at once.
const PAGE: usize = 1_000;
/// Number of vectors added to the graph between two reads.
const VECTOR_PAGE: usize = 8_192;
/// Number of changes kept before both watermarks, for processes whose mirror is slightly behind.
const KEPT_CHANGES: i64 = 10_000;
/// Number of changes at which an index that is behind is written. Changes of filter columns and deletions need no index
/// write, so an index without new texts would otherwise keep its mark, and with it the change log, for ever.
const FAR_BEHIND: i64 = 2 * KEPT_CHANGES;

/// Goals of one run.
#[derive(Debug, Clone, Copy)]
pub struct Goals {
    /// Update the lexical index.
    pub lexical: bool,
    /// Update the graph.
    pub graph: bool,
    /// Build new indexes of all rows. The old ones stay until then; if it fails, they are removed.
    pub rebuild: bool,
    /// Minimum number of vectors for a graph.
    pub graph_from: usize,
    /// Number of threads for the graph.
    pub threads: usize,
}

/// Update the indexes from the store, unless another process is doing so.
pub fn catch_up(
    store: &Store,
    clock: &Clock,
    data_dir: &Path,
    goals: Goals,
    control: &Control<'_>,
) -> Result<CatchUpReport> {
    let Some(_lock) = try_lock(data_dir)? else {
        return Ok(CatchUpReport { lock_was_held: true, ..CatchUpReport::default() });
    };
    crate::crash::point("catch-up:locked");
    let mut report = CatchUpReport::default();
    if goals.lexical {
        let mut updated = lexical(store, data_dir, goals.rebuild, control, &mut report);
        if matches!(updated, Err(Error::Index { .. })) {
            // The index is damaged or unusable, or the disk has no room for a second one. Rebuild it from the store.
            LexicalWriter::remove(data_dir)?;
            report = CatchUpReport { lexical_rebuilt: true, ..CatchUpReport::default() };
            updated = lexical(store, data_dir, false, control, &mut report);
        }
        if updated.is_err() && goals.rebuild {
            // The old indexes may contain words and vectors of a purged text.
            LexicalWriter::remove(data_dir)?;
            if goals.graph {
                snapshot::remove(data_dir)?;
            }
        }
        updated?;
    }
    if goals.graph {
        let updated = graph(store, data_dir, goals, control, &mut report);
        if updated.is_err() && goals.rebuild {
            // The old graph may contain a purged vector.
            snapshot::remove(data_dir)?;
        }
        updated?;
    }
    crate::crash::point("catch-up:caught-up");
    trim(store, clock, data_dir)?;
    Ok(report)
}

/// Take the indexer lock; `None` if another process holds it.
pub fn try_lock(data_dir: &Path) -> Result<Option<Lock>> {
    lock::try_lock(&data_dir.join(LOCK))
}

/// Update the lexical index. With `replace`, build a new one of all texts. All processes use the old index until the new
/// one is complete, because a recall without an index analyses all texts.
fn lexical(
    store: &Store,
    data_dir: &Path,
    replace: bool,
    control: &Control<'_>,
    report: &mut CatchUpReport,
) -> Result<()> {
    let mut writer = LexicalWriter::open(data_dir)?;
    let at = store.read()?;
    let head = change::head(&at)?;
    let replace = replace && writer.mark().is_some();
    let mark = match writer.mark() {
        Some(_) if replace => {
            writer.drop_all()?;
            report.lexical_rebuilt = true;
            Mark::at(head.clone(), 0, 0)
        }
        Some(mark) if change::is_on_history(&at, &mark.head)? => mark.clone(),
        found => {
            // The mark belongs to another history, or its changes were trimmed. The index cannot be trusted.
            if found.is_some() {
                drop(writer);
                LexicalWriter::remove(data_dir)?;
                writer = LexicalWriter::open(data_dir)?;
            }
            report.lexical_rebuilt = true;
            Mark::at(head.clone(), 0, 0)
        }
    };
    for change in change::since(&at, mark.head.seq)? {
        if change.op == Op::Delete && change.key <= mark.last_key {
            writer.delete(change.key);
            report.lexical_removed += 1;
        }
    }
    let kept = mark.documents.saturating_sub(report.lexical_removed);
    let waiting = memory::count_after(&at, mark.last_key)?;
    let mut last_key = mark.last_key;
    let mut uncommitted = 0;
    loop {
        control.check()?;
        let page = memory::page(&at, last_key, PAGE)?;
        let Some(last) = page.last() else { break };
        last_key = last.key;
        for memory in &page {
            writer.add(memory.key, text::analyze(&memory.searched_text()))?;
        }
        report.lexical_added += page.len();
        uncommitted += page.len();
        (control.progress)("words", report.lexical_added, waiting);
        if uncommitted >= COMMIT_EVERY && !replace {
            writer.commit(&Mark::at(head.clone(), last_key, kept + report.lexical_added))?;
            uncommitted = 0;
        }
    }
    // The mark also covers keys that were allocated and deleted. Otherwise overlays would keep their terms forever.
    let last_key = last_key.max(memory::last_key_given(&at)?);
    let reached = Mark::at(head, last_key, kept + report.lexical_added);
    if replace || writer.mark() != Some(&reached) {
        crate::crash::point("lexical:before-commit");
        writer.commit(&reached)?;
    }
    writer.finish()?;
    crate::crash::point("lexical:merged");
    if replace {
        LexicalWriter::remove_unlisted(data_dir)?;
    }
    crate::store::make_private(&super::lexical::folder(data_dir))
}

/// Update the graph. To rebuild it, build a new one beside it: all processes use the old graph until then, because a recall
/// without a graph compares all vectors.
fn graph(
    store: &Store,
    data_dir: &Path,
    goals: Goals,
    control: &Control<'_>,
    report: &mut CatchUpReport,
) -> Result<()> {
    let at = store.read()?;
    let Some(model) = embedding::active_model(&at)? else {
        return if goals.rebuild { snapshot::remove(data_dir) } else { Ok(()) };
    };
    let head = change::head(&at)?;
    let live = embedding::count_in_use(&at, &model)?;
    if live < goals.graph_from {
        return snapshot::remove(data_dir);
    }
    let usable = snapshot::manifest(data_dir)
        .filter(|_| !goals.rebuild)
        .filter(|manifest| manifest.model == model.name && manifest.dimension == model.dimension)
        .filter(|manifest| change::is_on_history(&at, &manifest.head).unwrap_or(false));
    let tail = match &usable {
        Some(manifest) => embedding::count_in_use_after(&at, &model, manifest.last_embedding)?,
        None => live,
    };
    let upto = embedding::last_key(&at, &model)?;
    drop(at);
    let update = GraphUpdate { store, data_dir, model: &model, head, upto, threads: goals.threads, control };
    if let Some(manifest) = usable {
        let dead = (manifest.vectors + tail).saturating_sub(live);
        if is_worth_keeping(manifest.vectors, dead) {
            if tail == 0 && snapshot::examine(data_dir, &manifest).is_ok() {
                return if is_far_behind(&manifest.head, &update.head) {
                    snapshot::write_manifest(data_dir, &Manifest { head: update.head, ..manifest })
                } else {
                    Ok(())
                };
            }
            // If the file cannot be loaded or extended, rebuild the graph.
            if let Ok(graph) = snapshot::load(data_dir, &manifest, goals.threads) {
                match update.extend(&graph, manifest.last_embedding, tail, report) {
                    Err(Error::Index { .. }) => report.vectors_added = 0,
                    extended => return extended,
                }
            }
        }
    }
    let graph = Graph::new(model.dimension, live, goals.threads)?;
    report.graph_rebuilt = true;
    update.extend(&graph, 0, live, report)
}

/// Whether at most three in ten vectors are dead. Otherwise rebuild the graph, because dead vectors slow each search
/// down.
fn is_worth_keeping(vectors: usize, dead: usize) -> bool {
    dead * 10 <= vectors * 3
}

/// One update of the graph, to the state of the store when it began.
struct GraphUpdate<'a> {
    store: &'a Store,
    data_dir: &'a Path,
    model: &'a embedding::Model,
    /// The state of the store.
    head: Head,
    /// The last embedding of this state.
    upto: i64,
    threads: usize,
    control: &'a Control<'a>,
}

impl GraphUpdate<'_> {
    /// Add the vectors after `after`, about `count`, and save the graph.
    ///
    /// Each page is read from the present state, because a snapshot that is held for the whole build would let the WAL
    /// grow meanwhile. Vectors that were deleted since the update began are missing then, as after a later deletion.
    fn extend(&self, graph: &Graph, after: i64, count: usize, report: &mut CatchUpReport) -> Result<()> {
        graph.grow(count, self.threads)?;
        let mut free = count;
        let mut last = after;
        loop {
            let rows = self.page(last)?;
            let Some((key, _)) = rows.last() else { break };
            last = *key;
            if rows.len() > free {
                // A memory uses a vector again that was unused when they were counted.
                graph.grow(rows.len(), self.threads)?;
                free = rows.len();
            }
            graph.add(&rows, self.threads, self.control.is_interrupted)?;
            free -= rows.len();
            report.vectors_added += rows.len();
            (self.control.progress)("vectors", report.vectors_added, count.max(report.vectors_added));
        }
        snapshot::save(self.data_dir, graph, self.head.clone(), last, &self.model.name, self.model.dimension)
    }

    fn page(&self, after: i64) -> Result<Vec<(i64, Vec<f16>)>> {
        embedding::page_in_use(&*self.store.read()?, self.model, after, self.upto, VECTOR_PAGE)
    }
}

/// Whether an index at `mark` is so far behind `head` that it keeps the change log from being trimmed.
pub fn is_far_behind(mark: &Head, head: &Head) -> bool {
    mark.store_id == head.store_id && head.seq - mark.seq >= FAR_BEHIND
}

/// Trim the change log up to the index that is further behind. A missing index needs no log: it is built from the texts.
fn trim(store: &Store, clock: &Clock, data_dir: &Path) -> Result<()> {
    let at = store.read()?;
    let head = change::head(&at)?;
    let model = embedding::active_model(&at)?.map(|model| model.name);
    let lexical = super::lexical::committed_mark(data_dir).map(|mark| mark.head);
    // A graph of a former model is not extended any more.
    let graph = snapshot::manifest(data_dir)
        .filter(|manifest| model.as_ref() == Some(&manifest.model))
        .map(|manifest| manifest.head);
    let marks = [lexical, graph].into_iter().flatten().filter(|mark| mark.store_id == head.store_id);
    let bound = marks.map(|mark| mark.seq).min().unwrap_or(head.seq).min(head.seq - KEPT_CHANGES);
    let has_older = change::has_before(&at, bound)?;
    drop(at);
    if has_older {
        store.write(clock, Trust::User, |write| change::trim(write, bound))?;
    }
    Ok(())
}
