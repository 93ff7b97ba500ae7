//! Maintenance of a store: statistics, verify, repair, reindex, backup, purge, cleanup.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use super::{Engine, Shared};
use crate::clock::DAY_MS;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::index::catch_up::{Goals, catch_up, try_lock};
use crate::index::graph::snapshot;
use crate::index::lexical::{self, Lexical};
use crate::model::report::{CatchUpReport, PurgeReport, VerifyReport};
use crate::platform;
use crate::store::backup::Backups;
use crate::store::embedding::Model;
use crate::store::leftovers::Leftover;
use crate::store::lock::Lock;
use crate::store::{Snapshot, backup, check, counts, embedding, history, leftovers, purge, retention, traces, usage};

/// Days for which a deleted memory can be restored.
const RETENTION_DAYS: i64 = 30;
/// Days for which a statement that was seen once is remembered.
const SIGHTING_DAYS: i64 = 180;
/// Days for which a session's decisions are kept after the last one.
const LEDGER_DAYS: i64 = 180;
/// Time for which a foreground operation waits for the indexer of another process.
const LOCK_PATIENCE: Duration = Duration::from_secs(120);
const LOCK_POLL: Duration = Duration::from_millis(25);

/// Statistics of a store.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// Memories by status, in the order of the enum.
    pub by_status: Vec<(&'static str, usize)>,
    /// Active memories by category.
    pub by_category: Vec<(&'static str, usize)>,
    /// Active memories that are expired and not cleaned up yet.
    pub expired: usize,
    /// Projects.
    pub projects: usize,
    /// Live values of the key-value store.
    pub kv: usize,
    /// Memories without vectors of the active model.
    pub pending_embeddings: usize,
    /// The active model.
    pub model: Option<Model>,
    /// Texts in the lexical index.
    pub lexical_documents: usize,
    /// Texts outside of the lexical index.
    pub lexical_tail: usize,
    /// Vectors that are compared.
    pub vectors: usize,
    /// Vectors in the graph; 0 while every vector is compared one by one.
    pub graph_vectors: usize,
    /// Last change.
    pub seq: i64,
    /// Id of the store.
    pub store_id: String,
    /// Bytes of the store and its WAL, of the lexical index, of the graph.
    pub bytes: (u64, u64, u64),
}

impl Engine {
    /// Compute statistics of the store.
    pub fn stats(&self) -> Result<Stats> {
        let shared = self.enter()?;
        let (view, at) = shared.current()?;
        let head = crate::store::change::head(&at)?;
        let numbers = counts::counts(&at, shared.clock.now_ms())?;
        let store = shared.store.file();
        Ok(Stats {
            by_status: numbers.by_status,
            by_category: numbers.by_category,
            expired: numbers.expired,
            projects: numbers.projects,
            kv: numbers.kv,
            pending_embeddings: embedding::count_pending(&at)?,
            model: embedding::active_model(&at)?,
            lexical_documents: view.lexical.as_ref().map_or(0, Lexical::documents),
            lexical_tail: view.overlay.len(),
            vectors: view.mirror.live_slots(),
            graph_vectors: view.usable_graph().map_or(0, |loaded| loaded.links.len()),
            seq: head.seq,
            store_id: head.store_id,
            bytes: (
                size(store) + size(&crate::store::wal_of(store)),
                folder_size(&crate::index::lexical::folder(&shared.data_dir)),
                folder_size(&snapshot::folder(&shared.data_dir)),
            ),
        })
    }

    /// Check the store, the lexical index and the graph for damage.
    pub fn verify(&self, control: &Control<'_>) -> Result<VerifyReport> {
        let shared = self.enter()?;
        let store_problems = check::problems(&*shared.store.read()?, control)?;
        // Otherwise an index that another process is writing would look damaged.
        let _still = shared.hold_indexes(control)?;
        let (view, at) = shared.current()?;
        let mut report = VerifyReport { memories: view.mirror.len(), store_problems, ..VerifyReport::default() };
        if let Some(index) = &view.lexical {
            verify_lexical(&view.mirror, index, &at, &mut report)?;
        } else if lexical::is_unreadable(&shared.data_dir) {
            report.index_problems.push("the lexical index cannot be read".into());
        }
        if let Some(manifest) = snapshot::manifest(&shared.data_dir) {
            match snapshot::links(&shared.data_dir, &manifest) {
                Ok(links) => report.graph_vectors = links.len(),
                Err(error) => report.index_problems.push(error.to_string()),
            }
        } else if snapshot::manifest_file(&shared.data_dir).exists() {
            report.index_problems.push("the vector index's manifest cannot be read".into());
        }
        Ok(report)
    }

    /// Rebuild `SQLite`'s own indexes from the rows of the store.
    ///
    /// # Errors
    /// [`Error::CorruptStore`] if the rows are damaged as well; nothing is changed then.
    pub fn rebuild_store_indexes(&self, control: &Control<'_>) -> Result<()> {
        let shared = self.enter()?;
        shared.store.check_writable()?;
        shared.store.reindex(control)
    }

    /// Rebuild the derived indexes from the store. No text is embedded.
    pub fn rebuild_indexes(&self, control: &Control<'_>) -> Result<CatchUpReport> {
        self.enter()?.catch_up_within(LOCK_PATIENCE, true, control)
    }

    /// Bring the derived indexes up to date with the store.
    pub fn catch_up(&self, control: &Control<'_>) -> Result<CatchUpReport> {
        self.enter()?.catch_up_within(LOCK_PATIENCE, false, control)
    }

    /// The same, but without waiting for another process.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process writes the indexes.
    pub fn catch_up_at_once(&self, control: &Control<'_>) -> Result<CatchUpReport> {
        self.enter()?.catch_up_within(Duration::ZERO, false, control)
    }

    /// Write a complete copy of the store to `target`.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the caller stopped the work; there is no file then.
    pub fn backup(&self, target: &Path, control: &Control<'_>) -> Result<()> {
        let shared = self.enter()?;
        let target = backup::prepare(target)?;
        if !shared.store.is_writable() {
            return shared.store.backup(&target, control);
        }
        // Note it first, so that a purge finds what a kill leaves. On a full disk, a copy on another one is still written.
        let noted = shared.store.write(&shared.clock, self.writer(), |write| write.note_backup(&target));
        shared.store.backup(&target, control)?;
        noted
    }

    /// Write a temporary copy for reading; it is not recorded as a backup.
    pub fn snapshot_copy(&self, target: &Path, control: &Control<'_>) -> Result<()> {
        self.enter()?.store.backup(target, control)
    }

    /// Replace all rows by those of a backup; the indexes catch up later. Returns the number of memories.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the caller stopped the work. The store stays as it was.
    pub fn restore_backup(&self, source: &Path, control: &Control<'_>) -> Result<usize> {
        let shared = self.enter()?;
        let memories = shared.store.restore(source, control)?;
        shared.uses.lock().clear(); // they are of the former rows
        shared.indexer.notify();
        Ok(memories)
    }

    /// Recorded backups whose files exist, newest first.
    pub fn backups(&self) -> Result<Vec<(PathBuf, i64)>> {
        Ok(self.enter()?.store.find_backups()?.complete)
    }

    /// Files that a kill or a restore left beside the store and its backups, and when the user can delete each.
    pub fn leftovers(&self) -> Result<Vec<Leftover>> {
        let shared = self.enter()?;
        Ok(shared.find_leftovers(&shared.store.find_backups()?))
    }

    /// Erase memories permanently: rows, history, vectors, indexes, free pages and WAL.
    pub fn purge(&self, ids: &[String], control: &Control<'_>) -> Result<PurgeReport> {
        let shared = self.enter()?;
        let mut full = Vec::with_capacity(ids.len());
        for id in ids {
            full.push(self.resolve_quoted_id(id)?);
        }
        shared.uses.lock().retain(|(id, _)| !full.contains(id));
        let memories = shared.store.write(&shared.clock, self.writer(), |write| write.erase(&full))?;
        let problems = match shared.unfinished_purge() {
            Ok(Some(mark)) => self.finish_purge(shared, mark, LOCK_PATIENCE, control),
            // Another purge has removed these texts as well.
            Ok(None) => Vec::new(),
            Err(error) => vec![format!("the next maintenance looks for the text again: {error}")],
        };
        let mut report = PurgeReport { memories, problems, ..PurgeReport::default() };
        let found = shared.store.find_backups().unwrap_or_else(|error| {
            report.problems.push(format!("cannot check whether backups contain it: {error}"));
            Backups::default()
        });
        for (path, advice) in shared.find_leftovers(&found) {
            report.problems.push(format!("{} may contain it; {advice}", path.display()));
        }
        for (path, _) in found.complete {
            match backup::holds_any(&path, &full) {
                Ok(true) => report.backups.push(path),
                Ok(false) => {}
                Err(error) => report.problems.push(format!("cannot check whether a backup contains it: {error}")),
            }
        }
        Ok(report)
    }

    /// Remove the texts of erased rows from free pages, the WAL and the indexes. `mark` is that of the last purge that
    /// erased rows. Returns what may still contain the texts.
    fn finish_purge(&self, shared: &Shared, mark: i64, patience: Duration, control: &Control<'_>) -> Vec<String> {
        let steps = [
            ("free pages and WAL", shared.store.scrub(control)),
            ("indexes", shared.catch_up_within(patience, true, control).map(drop)),
        ];
        let mut problems = Vec::new();
        for (what, done) in steps {
            if let Err(error) = done {
                problems.push(format!("{what} may still contain the text: {error}; the next maintenance tries again"));
            }
        }
        if problems.is_empty()
            && let Err(error) = shared.store.write(&shared.clock, self.writer(), |write| purge::end(write, mark))
        {
            problems.push(format!("the next maintenance looks for the text again: {error}"));
        }
        problems
    }

    /// Delete expired values, old sessions and decisions, the history of memories deleted long ago, vectors that no memory
    /// uses, and old rows that no memory owns. Finish a purge that did not end.
    pub fn maintain(&self) -> Result<(usize, usize)> {
        let shared = self.enter()?;
        shared.flush_uses()?;
        let half_a_year_ago = shared.clock.now_ms() - SIGHTING_DAYS * DAY_MS;
        let gone = retention::find_gone(&*shared.store.read()?, half_a_year_ago)?;
        let cleaned = shared.store.write(&shared.clock, self.writer(), |write| {
            let long_ago = write.now_ms - RETENTION_DAYS * DAY_MS;
            write.forget_sessions(long_ago)?;
            write.forget_sightings(half_a_year_ago)?;
            write.forget_leftovers(&gone, half_a_year_ago)?;
            write.forget_decisions(write.now_ms - LEDGER_DAYS * DAY_MS)?;
            usage::forget_days(write)?;
            let forgotten = history::forget_deleted(write, long_ago)?;
            Ok((write.kv_purge_expired()?, forgotten))
        })?;
        let found = traces::find(&*shared.store.read()?)?;
        shared.store.write(&shared.clock, self.writer(), |write| write.delete_traces(&found))?;
        if let Some(mark) = shared.unfinished_purge()? {
            // The mark of a purge that fails again stays for the next maintenance.
            self.finish_purge(shared, mark, Duration::ZERO, &Control::of_thread());
        }
        shared.store.truncate_wal(purge::UPKEEP_WAIT, &Control::of_thread())?;
        Ok(cleaned)
    }
}

impl Shared {
    fn unfinished_purge(&self) -> Result<Option<i64>> {
        purge::unfinished(&*self.store.read()?)
    }

    fn find_leftovers(&self, backups: &Backups) -> Vec<Leftover> {
        let dir = platform::resolve(&self.data_dir).unwrap_or_else(|_| self.data_dir.clone());
        let incomplete = backups.incomplete.iter().cloned();
        let incomplete = incomplete.map(|path| (path, "if no backup is being written, delete this file"));
        let beside = leftovers::find(&dir).into_iter().filter(|(path, _)| !backups.incomplete.contains(path));
        incomplete.chain(beside).collect()
    }

    /// Lock the indexes against changes by any process; `None` if the lock cannot be created.
    fn hold_indexes(&self, control: &Control<'_>) -> Result<Option<Lock>> {
        let begun = Instant::now();
        loop {
            control.check()?;
            match try_lock(&self.data_dir) {
                Ok(None) if begun.elapsed() < LOCK_PATIENCE => std::thread::sleep(LOCK_POLL),
                Ok(lock) => return Ok(lock),
                Err(_) => return Ok(None),
            }
        }
    }

    /// Catch up in the foreground. Wait for the run of another process for `patience`.
    fn catch_up_within(&self, patience: Duration, rebuild: bool, control: &Control<'_>) -> Result<CatchUpReport> {
        self.store.check_writable()?;
        let goals = Goals {
            lexical: true,
            graph: true,
            rebuild,
            graph_from: self.options.graph_from,
            threads: self.options.threads,
        };
        let begun = Instant::now();
        loop {
            let report = catch_up(&self.store, &self.clock, &self.data_dir, goals, control)?;
            if !report.lock_was_held {
                return Ok(report);
            }
            control.check()?;
            if begun.elapsed() >= patience {
                return Err(Error::Busy {
                    attempted: "index".into(),
                    path: self.data_dir.join(crate::index::catch_up::LOCK),
                });
            }
            std::thread::sleep(LOCK_POLL);
        }
    }
}

fn verify_lexical(
    mirror: &crate::recall::mirror::Mirror,
    index: &Lexical,
    at: &Snapshot<'_>,
    report: &mut VerifyReport,
) -> Result<()> {
    for file in index.damaged_files()? {
        report.index_problems.push(format!("lexical/{} is damaged", file.display()));
    }
    if !report.index_problems.is_empty() {
        return Ok(()); // further checks of a damaged index would only repeat this
    }
    let keys = index.keys()?;
    report.lexical_documents = keys.len();
    let mark = index.mark();
    let held: FxHashSet<i64> = keys.iter().copied().collect();
    if held.len() < keys.len() {
        report.index_problems.push(format!("the lexical index contains {} texts twice", keys.len() - held.len()));
    }
    let missing = mirror
        .places()
        .map(|place| mirror.row(place))
        .filter(|row| row.alive && row.columns.key <= mark.last_key && !held.contains(&row.columns.key))
        .count();
    if missing > 0 {
        report.index_problems.push(format!("the lexical index lacks {missing} texts"));
    }
    let deleted_since: FxHashSet<i64> =
        crate::store::change::since(at, mark.head.seq)?.into_iter().map(|change| change.key).collect();
    let stale = keys
        .iter()
        .filter(|key| **key <= mark.last_key && mirror.row_of(**key).is_none() && !deleted_since.contains(*key))
        .count();
    if stale > 0 {
        report.index_problems.push(format!("the lexical index contains {stale} texts that were removed"));
    }
    Ok(())
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn folder_size(folder: &Path) -> u64 {
    std::fs::read_dir(folder).map_or(0, |files| files.flatten().map(|file| size(&file.path())).sum())
}
