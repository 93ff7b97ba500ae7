//! The engine: the operations of the public API, built from the store, the indexes and the read path.
//!
//! One file per kind of operation. An engine is safe to share between threads, and several processes may open the same
//! data directory. After a `fork` the child gets an error, because its writes could damage the files of the parent.

mod budget;
mod curate;
mod document;
mod earlier;
mod embed;
mod exchange;
mod indexer;
mod job;
mod keep;
mod kv;
mod learn;
mod ledger;
mod links;
mod lost_store;
mod model_change;
mod projects;
mod query;
mod redaction;
mod relocate;
mod remember;
mod replace;
mod scale;
mod schedule;
mod session;
mod turns;
mod twins;
mod undo;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use parking_lot::Mutex;

pub use earlier::Earlier;
pub use embed::EmbeddingBatch;
pub use exchange::{Dumped, Loaded};
pub use keep::Stats;
pub use learn::{Batch, LinkTarget, NewLink, Sighting};
pub use query::Cursor;
pub use relocate::{Relocation, Retold};
pub use replace::SameSubject;
pub use session::Claimed;
pub use turns::{FoundInAll, TurnCounts, TurnHit, TurnRequest};

use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Trust;
use crate::recall::view::{self, SharedView, View};
use crate::store::{Store, Writer, memory, schema};

/// Options for opening an engine.
#[derive(Debug, Clone)]
pub struct Options {
    /// Never write; the store must exist.
    pub read_only: bool,
    /// The writer that the history names.
    pub actor: Trust,
    /// Number of vectors from which on a graph is built.
    pub graph_from: usize,
    /// Number of texts outside of the lexical index before the background thread adds them.
    pub lexical_tail: usize,
    /// Threads for building a graph.
    pub threads: usize,
    /// Whether a thread of this process keeps the indexes caught up.
    pub background: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            read_only: false,
            actor: Trust::User,
            graph_from: 5_000,
            lexical_tail: 256,
            threads: std::thread::available_parallelism().map_or(1, usize::from).min(8),
            background: true,
        }
    }
}

/// State that the engine's threads share.
#[derive(Debug)]
struct Shared {
    store: Store,
    clock: Clock,
    data_dir: PathBuf,
    options: Options,
    view: SharedView,
    turns: turns::SessionIndex,
    /// Uses that are not written yet: memory and time.
    uses: Mutex<Vec<(String, i64)>>,
    indexer: indexer::IndexerHandle,
}

/// Files and threads, which end with the last engine that uses them.
#[derive(Debug)]
struct Open {
    shared: Arc<Shared>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
    closed: AtomicBool,
    process: u32,
}

/// An open data directory, and the writer that the history names.
#[derive(Debug)]
pub struct Engine {
    open: Arc<Open>,
    actor: Trust,
    /// The operation that all writes of this engine belong to, 0 before the first one. `None` if each write is one.
    operation: Option<Arc<AtomicI64>>,
}

impl Engine {
    /// Open `data_dir`, creating the store unless read-only.
    pub fn open(data_dir: &Path, options: Options, clock: Clock) -> Result<Self> {
        lost_store::refuse_lost_store(data_dir)?;
        let store = Store::open(data_dir, options.read_only, clock.now_ms())?;
        let view = SharedView::new(View::new(data_dir, options.graph_from));
        let runs_in_background = options.background && !options.read_only;
        let turns = turns::SessionIndex::new(data_dir, options.read_only);
        let shared = Arc::new(Shared {
            store,
            turns,
            clock,
            data_dir: data_dir.to_owned(),
            options,
            view,
            uses: Mutex::new(Vec::new()),
            indexer: indexer::IndexerHandle::default(),
        });
        let thread = if runs_in_background { Some(indexer::start(&shared)?) } else { None };
        let actor = shared.options.actor;
        let (thread, closed) = (Mutex::new(thread), AtomicBool::new(false));
        Ok(Self {
            open: Arc::new(Open { shared, thread, closed, process: std::process::id() }),
            actor,
            operation: None,
        })
    }

    /// The same data directory for another writer. Closing one engine closes both.
    #[must_use]
    pub fn acting_as(&self, actor: Trust) -> Self {
        Self { open: Arc::clone(&self.open), actor, operation: None }
    }

    /// The same data directory for writes that are one operation together, so that one undo takes back all of them.
    /// Each write is still durable by itself. If this engine's writes are one operation already, the new engine's writes
    /// belong to it too. Closing one engine closes both.
    #[must_use]
    pub fn in_one_operation(&self) -> Self {
        let operation = self.operation.clone().unwrap_or_default();
        Self { open: Arc::clone(&self.open), actor: self.actor, operation: Some(operation) }
    }

    /// The number of the operation that the writes of this engine belong to; see [`Engine::in_one_operation`]. `None`
    /// before the first change.
    pub fn operation(&self) -> Option<i64> {
        self.operation.as_ref().map(|number| number.load(Ordering::Acquire)).filter(|number| *number > 0)
    }

    fn writer(&self) -> Writer<'_> {
        Writer { actor: self.actor, operation: self.operation.as_deref() }
    }

    /// The data directory.
    pub fn data_dir(&self) -> &Path {
        &self.open.shared.data_dir
    }

    /// The clock; a test may fix it.
    pub fn clock(&self) -> &Clock {
        &self.open.shared.clock
    }

    /// Whether writes are possible.
    pub fn is_writable(&self) -> bool {
        self.open.shared.store.is_writable()
    }

    /// Check that the file of the store is still the one that was opened, and that this version may write to it.
    ///
    /// # Errors
    /// [`Error::Storage`] if it was removed, renamed or replaced. [`Error::FormatVersion`] if a newer version has upgraded
    /// it.
    pub fn check_place(&self) -> Result<()> {
        let store = &self.enter()?.store;
        store.check_place("use")?;
        schema::check_format(&*store.read()?, store.file())
    }

    /// Write pending uses, stop the background thread and close the files. A second call does nothing.
    pub fn close(&self) -> Result<()> {
        self.open.close()
    }

    /// Check that the engine can be used. Every operation starts with this call.
    fn enter(&self) -> Result<&Shared> {
        if self.open.process != std::process::id() {
            return Err(Error::Closed(
                "this store was opened before a fork and belongs to the parent process; open it again in the child"
                    .into(),
            ));
        }
        if self.open.closed.load(Ordering::SeqCst) {
            return Err(Error::Closed("the store is closed; open it again".into()));
        }
        Ok(&self.open.shared)
    }

    /// Find the full id of a memory by the beginning or the end of it.
    pub fn resolve_id(&self, part: &str) -> Result<String> {
        const SHORTEST: usize = 6;

        let shared = self.enter()?;
        let part = part.trim().to_lowercase();
        let at = shared.store.read()?;
        if let Some(found) = memory::by_id(&at, &part)? {
            return Ok(found.id);
        }
        if part.len() < SHORTEST {
            return Err(Error::over_limit(
                "id",
                format!("{part:?} is too short; give at least {SHORTEST} characters"),
                SHORTEST,
            ));
        }
        only(memory::ids_like(&at, &part)?, &part)
    }
}

/// The only id that was found by a part of it.
fn only(found: Vec<String>, part: &str) -> Result<String> {
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (None, _) => Err(Error::not_found("memory", part)),
        (Some(id), None) => Ok(id),
        _ => Err(Error::Conflict(format!("several memories have {part:?} in their id; give more characters of it"))),
    }
}

impl Shared {
    /// A view of the indexes that equals a snapshot.
    fn current(&self) -> Result<view::Current<'_>> {
        self.view.current(&self.store)
    }

    /// Count uses. Return whether so many wait that they should be written.
    fn note_uses(&self, ids: impl Iterator<Item = String>, now_ms: i64) -> bool {
        if !self.store.is_writable() {
            return false;
        }
        let mut uses = self.uses.lock();
        uses.extend(ids.map(|id| (id, now_ms)));
        uses.len() >= query::USES_BATCH
    }

    /// Write the use counters. They are dropped if the store is busy or cannot be written, for example on a full disk: they
    /// are statistics only, and no reason to refuse an answer that was found.
    fn flush_uses(&self) -> Result<()> {
        let uses = std::mem::take(&mut *self.uses.lock());
        if uses.is_empty() || !self.store.is_writable() {
            return Ok(());
        }
        match self.store.write(&self.clock, self.options.actor, |write| crate::store::usage::add(write, &uses)) {
            Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::Storage) => Ok(()),
            other => other,
        }
    }
}

impl Open {
    /// Count uses; they are written in batches.
    fn note_uses(&self, ids: impl Iterator<Item = String>, now_ms: i64) {
        if !self.shared.note_uses(ids, now_ms) {
            return;
        }
        if self.shared.options.background {
            self.shared.indexer.notify();
        } else {
            self.write_uses();
        }
    }

    /// Write the uses on a thread, because a recall must not wait for another writer. A resident server has no thread for
    /// the indexes, so its uses would collect in memory until it ends.
    fn write_uses(&self) {
        let mut thread = self.thread.lock();
        let is_running = thread.as_ref().is_some_and(|running| !running.is_finished());
        if is_running || self.closed.load(Ordering::SeqCst) {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let name = "opencode-memory-uses".to_owned();
        // If no thread can be started, the next batch tries again.
        *thread = std::thread::Builder::new().name(name).spawn(move || drop(shared.flush_uses())).ok();
    }

    fn close(&self) -> Result<()> {
        if self.process != std::process::id() || self.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        self.shared.indexer.close();
        let thread = self.thread.lock().take();
        let ended = thread.map_or(Ok(()), std::thread::JoinHandle::join);
        let flushed = self.shared.flush_uses();
        self.shared.store.close();
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
        flushed
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // No caller is left that could receive an error. Acknowledged writes are durable already.
            let _ = self.close();
        } else {
            // The connections belong to the parent: those of the store, of the session index, and of readers that its threads
            // had taken. Closing them here could damage its files. The thread does not exist in this process.
            std::mem::forget(Arc::clone(&self.shared));
            std::mem::forget(self.thread.get_mut().take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NewMemory;

    #[test]
    fn engine_whose_thread_panicked_writes_its_uses_and_closes_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let options = Options { background: false, ..Options::default() };
            Engine::open(folder.path(), options, Clock::fixed(1)).unwrap()
        };
        let engine = open();
        let id = engine.remember(NewMemory::new("a memory".to_owned())).unwrap().id;
        engine.note_uses(vec![id.clone()]).unwrap();
        *engine.open.thread.lock() = Some(std::thread::spawn(|| panic!("on purpose")));
        let closing = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| engine.close()));
        assert!(closing.is_err(), "the panic is reported");
        assert!(!crate::store::wal_of(engine.open.shared.store.file()).exists());
        assert_eq!(open().get(&id).unwrap().uses, 1);
    }
}
