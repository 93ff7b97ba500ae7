//! Operations on the session index: add and drop turns, and find them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{Engine, Shared};
use crate::error::{Error, Result};
use crate::index::catch_up::try_lock;
use crate::index::turns as writer;
use crate::model::{Hit, QueryVector, RecallRequest, Scope, Signal, limits, validate};
use crate::platform::{self, Identity};
use crate::recall::answer;
use crate::recall::filter::Filter;
use crate::recall::view::View;
use crate::store::scale::{self, Scale};
use crate::store::turns::{self, Page, Progress, Turn, TurnStore};
use crate::store::{Access, Store, create_folder};

/// Maximum number of turns of one session that are returned at once.
const MOST_OF_SESSION: i64 = 1_000;

const READ_ONLY_DAMAGE: &str = "the session index is damaged, and this store is only read; the next search of sessions \
    in a store that is open for writing deletes it, and the worker builds it again";

/// A turn that matches a query.
#[derive(Debug, Clone)]
pub struct TurnHit {
    /// The place of the turn.
    pub turn: Turn,
    /// Comparable within one recall of turns only.
    pub score: f64,
    /// Relevance of the turn by itself; see [`crate::model::Hit::relevance`].
    pub relevance: f64,
    /// Relevance that at least one hit of the answer had to reach.
    pub floor: f64,
    /// The contributions to the score, if requested.
    pub signals: Vec<Signal>,
}

/// A query for turns.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// Free text.
    pub query: String,
    /// Its embedding. Without one of the model of the index, only words are compared.
    pub vector: Option<QueryVector>,
    /// The projects.
    pub scope: Scope,
    /// Only turns of this time or later.
    pub since: Option<i64>,
    /// Only turns of an earlier time.
    pub until: Option<i64>,
    /// Maximum number of hits.
    pub limit: usize,
    /// Whether hits carry their signals.
    pub explain: bool,
}

/// Memories and turns that match a query.
#[derive(Debug, Clone)]
pub struct FoundInAll {
    /// The memories, best first.
    pub memories: Vec<Hit>,
    /// The turns, best first.
    pub turns: Vec<TurnHit>,
    /// Why the session index could not be searched; `None` if it was.
    pub missing_turns: Option<String>,
}

/// Size of the session index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnCounts {
    /// Number of sessions.
    pub sessions: usize,
    /// Number of turns.
    pub turns: usize,
    /// Paths of the databases.
    pub databases: Vec<String>,
}

/// The session index of an open engine.
#[derive(Debug)]
pub(super) struct SessionIndex {
    folder: PathBuf,
    access: Access,
    opened: Mutex<Option<(Identity, Arc<TurnStore>)>>,
    view: RwLock<View>,
}

impl SessionIndex {
    pub fn new(data_dir: &Path, read_only: bool) -> Self {
        let folder = data_dir.join(turns::FOLDER);
        let access = if read_only { Access::ReadOnly } else { Access::ReadWrite };
        Self { access, opened: Mutex::new(None), view: RwLock::new(View::of_turns(&folder)), folder }
    }

    /// The open index; `None` if there is none. An index that was deleted and built again is opened again.
    fn open(&self) -> Result<Option<Arc<TurnStore>>> {
        let mut opened = self.opened.lock();
        if let Some((identity, store)) = &*opened {
            if platform::identity(store.file()).is_ok_and(|found| found == *identity) {
                return Ok(Some(store.clone()));
            }
            *opened = None;
            *self.view.write() = View::of_turns(&self.folder);
        }
        let Some(store) = TurnStore::open(&self.folder, self.access)? else { return Ok(None) };
        let identity =
            platform::identity(store.file()).map_err(|source| Error::storage("open", store.file(), source))?;
        let store = Arc::new(store);
        *opened = Some((identity, store.clone()));
        Ok(Some(store))
    }

    /// Change the index, whose lock the caller holds.
    fn change(&self, create: bool, body: impl FnOnce(&TurnStore, &Path) -> Result<bool>) -> Result<bool> {
        if let Some(store) = self.open()? {
            return body(&store, &self.folder);
        }
        // A file of another layout is of no use, nor is the log of a file that is gone.
        writer::remove(&self.folder)?;
        if !create {
            return Ok(true);
        }
        drop(TurnStore::create(&self.folder)?);
        let store = self.open()?.ok_or_else(|| Error::Conflict("the session index was removed meanwhile".into()))?;
        body(&store, &self.folder)
    }

    fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.folder)
    }

    /// Whether an error is about damage of the index. It may also be about damage of the store of memories.
    fn is_damaged_by(&self, error: &Error) -> bool {
        matches!(error, Error::CorruptStore { path, .. } if self.holds(path))
    }

    /// Whether an error is about this index, and not about the request or the store of memories.
    fn is_cause_of(&self, error: &Error) -> bool {
        match error {
            Error::Index { .. } => true,
            Error::CorruptStore { path, .. } | Error::Storage { path, .. } | Error::Busy { path, .. } => {
                self.holds(path)
            }
            _ => false,
        }
    }

    /// A view that equals the index. The store of memories knows the scale of its model.
    fn current(&self, store: &TurnStore, memories: &Store) -> Result<RwLockReadGuard<'_, View>> {
        let guard = self.view.read();
        if guard.has_turns_of(store)? && guard.mirror.scale() == scale_of(&guard, memories)? {
            return Ok(guard);
        }
        drop(guard);
        let mut guard = self.view.write();
        if !guard.has_turns_of(store)? {
            guard.refresh_turns(store)?;
        }
        let scale = scale_of(&guard, memories)?;
        guard.set_scale(scale);
        Ok(RwLockWriteGuard::downgrade(guard))
    }
}

impl Engine {
    /// Add turns. Returns false, without adding them, if another process writes the index, or the index could not be
    /// used and was deleted, for example because its vectors come from another model.
    pub fn put_turns(&self, model: &str, dimension: usize, pages: &[Page<'_>]) -> Result<bool> {
        for page in pages {
            page.project.as_deref().map_or(Ok(()), validate::project_name)?;
            for turn in &page.turns {
                if !turn.vectors.len().is_multiple_of(dimension) {
                    return Err(Error::invalid("vectors", format!("do not have {dimension} dimensions")));
                }
                turn.vectors.chunks(dimension.max(1)).try_for_each(|vector| validate::vector("vectors", vector))?;
            }
        }
        self.change_turns(true, |store, folder| {
            // Pages without vectors come from no model, and their dimension is not known.
            let has_vectors = pages.iter().flat_map(|page| &page.turns).any(|turn| !turn.vectors.is_empty());
            let model = has_vectors.then_some((model, dimension));
            let known = store.read(turns::model)?;
            if let (Some((name, dimension)), Some(known)) = (model, known)
                && known != (name.to_owned(), dimension)
            {
                writer::remove(folder)?;
                return Ok(false);
            }
            writer::put(store, folder, model, pages)
        })
    }

    /// Drop sessions of a database from the session index. Returns false as [`Engine::put_turns`] does.
    pub fn drop_sessions(&self, database: &str, sessions: &[String]) -> Result<bool> {
        self.change_turns(false, |store, folder| writer::drop_sessions(store, folder, database, sessions))
    }

    /// Delete the session index. Returns false if another process writes it.
    pub fn drop_session_index(&self) -> Result<bool> {
        self.change_turns(false, |_, folder| writer::remove(folder).map(|()| true))
    }

    fn change_turns(&self, create: bool, body: impl FnOnce(&TurnStore, &Path) -> Result<bool>) -> Result<bool> {
        let shared = self.enter()?;
        shared.store.check_writable()?;
        let index = &shared.turns;
        if !create && !index.folder.exists() {
            return Ok(true);
        }
        create_folder(&index.folder)?;
        let Some(_lock) = try_lock(&index.folder)? else { return Ok(false) };
        match index.change(create, body) {
            Err(error) if index.is_damaged_by(&error) => {
                writer::remove(&index.folder)?;
                Ok(!create)
            }
            changed => changed,
        }
    }

    /// The progress of the sessions of a database.
    pub fn session_progress(&self, database: &str) -> Result<Vec<Progress>> {
        self.read_turns(|store| store.read(|at| turns::progress(at, database)))
    }

    /// Ids of the messages of a session that have turns.
    pub fn turn_messages(&self, database: &str, session: &str) -> Result<Vec<String>> {
        self.read_turns(|store| store.read(|at| turns::messages(at, database, session)))
    }

    /// Turns whose message has this id.
    pub fn find_turns(&self, message: &str) -> Result<Vec<Turn>> {
        self.read_turns(|store| store.read(|at| turns::by_message(at, message, limits::RECALL_LIMIT)))
    }

    /// Turns of a session between two positions, in order.
    pub fn turns_of_session(&self, session: &str, from: i64, upto: i64) -> Result<Vec<Turn>> {
        let upto = upto.min(from.saturating_add(MOST_OF_SESSION));
        self.read_turns(|store| store.read(|at| turns::of_session(at, session, from, upto)))
    }

    /// Whether the first turn of a speaker, among the first `count` turns of a session, announces a change.
    /// An index that cannot be read announces nothing, because this only orders an answer that was found.
    pub fn opening_announces(&self, database: &str, session: &str, speaker: &str, count: i64) -> Result<bool> {
        let announces =
            self.read_turns(|store| store.read(|at| turns::opening_announces(at, database, session, speaker, count)));
        match announces {
            Err(error) if self.enter()?.turns.is_cause_of(&error) => Ok(false),
            announces => announces,
        }
    }

    /// Size of the session index.
    pub fn turn_counts(&self) -> Result<TurnCounts> {
        self.read_turns(|store| {
            store.read(|at| {
                let (sessions, turns) = turns::counts(at)?;
                Ok(TurnCounts { sessions, turns, databases: turns::databases(at)? })
            })
        })
    }

    /// Read the session index. A damaged one holds nothing: it is deleted, and the next turns start a new index.
    fn read_turns<T: Default>(&self, body: impl FnOnce(&TurnStore) -> Result<T>) -> Result<T> {
        let shared = self.enter()?;
        let read = match shared.turns.open() {
            Ok(Some(store)) => body(&store),
            Ok(None) => Ok(T::default()),
            Err(error) => Err(error),
        };
        match read {
            Err(error) if shared.turns.is_damaged_by(&error) && self.is_writable() => {
                self.drop_session_index()?;
                Ok(T::default())
            }
            // The backups, which the error of the store names, have no session index.
            Err(Error::CorruptStore { path, .. }) if shared.turns.holds(&path) => {
                Err(Error::CorruptStore { path, message: READ_ONLY_DAMAGE.to_owned() })
            }
            read => read,
        }
    }

    /// Find memories and turns at the same time, each as its own method does. If the session index cannot be used, for
    /// example because it is damaged and the store is read-only, the answer says why and has only memories.
    ///
    /// Turns stay on this thread, because they take longer: the memories are found before them, although their thread has
    /// to start first.
    pub fn recall_all(&self, memories: &RecallRequest, turns: &TurnRequest) -> Result<FoundInAll> {
        let recall = || self.recall(memories.clone());
        std::thread::scope(|scope| {
            let other = std::thread::Builder::new().spawn_scoped(scope, recall);
            let turns = self.recall_turns(turns);
            let memories = match other {
                Ok(other) => other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // The system has no thread left, so this one has to do both.
                Err(_) => recall(),
            };
            let memories = memories?;
            match turns {
                Err(error) if self.enter()?.turns.is_cause_of(&error) => {
                    Ok(FoundInAll { memories, turns: Vec::new(), missing_turns: Some(error.to_string()) })
                }
                turns => Ok(FoundInAll { memories, turns: turns?, missing_turns: None }),
            }
        })
    }

    /// Find turns by words and by meaning, best first. The result may be empty.
    pub fn recall_turns(&self, request: &TurnRequest) -> Result<Vec<TurnHit>> {
        let shared = self.enter()?;
        if request.limit == 0 || request.limit > limits::RECALL_LIMIT {
            let message = format!("{} is not between 1 and {}", request.limit, limits::RECALL_LIMIT);
            return Err(Error::over_limit("limit", message, limits::RECALL_LIMIT));
        }
        let query: String = request.query.chars().take(limits::QUERY_CHARS).collect();
        self.read_turns(|store| search(shared, store, request, &query))
    }
}

/// Find turns in an open index.
fn search(shared: &Shared, store: &TurnStore, request: &TurnRequest, query: &str) -> Result<Vec<TurnHit>> {
    let view = shared.turns.current(store, &shared.store)?;
    let view: &View = &view;
    let projects = match &request.scope {
        Scope::Everything | Scope::EveryProject => None,
        Scope::Global => Some(vec![0]),
        Scope::Project { name, .. } => Some(store.read(|at| turns::project_id(at, Some(name)))?.into_iter().collect()),
    };
    let filter = Filter::of_turns(projects, request.since, request.until);
    let vector = answer::comparable(view, request.vector.as_ref())?;
    let now_ms = shared.clock.now_ms();
    let ranking = answer::rank(view, &filter, query, vector, now_ms, false)?;
    store.read(|at| {
        let mut hits = Vec::new();
        for candidate in &ranking.candidates {
            if hits.len() == request.limit {
                break;
            }
            let Some(turn) = turns::by_key(at, view.mirror.row(candidate.place).columns.key)? else { continue };
            let signals = if request.explain { ranking.explain(view, candidate, now_ms) } else { Vec::new() };
            let (relevance, floor) = (candidate.relevance(), ranking.floor);
            hits.push(TurnHit { turn, score: candidate.score, relevance, floor, signals });
        }
        Ok(hits)
    })
}

/// The scale of the model of a view of turns.
fn scale_of(view: &View, memories: &Store) -> Result<Scale> {
    match view.mirror.model() {
        Some(model) => scale::of_model(&*memories.read()?, &model.name),
        None => Ok(Scale::default()),
    }
}
