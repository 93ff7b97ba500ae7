//! One process's view of the indexes, and its refresh before a recall.

mod turns;

use std::path::{Path, PathBuf};

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::mirror::Mirror;
use super::overlay::Overlay;
use crate::error::Result;
use crate::index::graph::links::Links;
use crate::index::graph::search::Vectors;
use crate::index::graph::snapshot::{self, Manifest};
use crate::index::lexical::{self, Lexical, Places};
use crate::platform;
use crate::store::{Snapshot, Store, change};

/// Up to this number of filtered rows, they are listed although they may be most of the rows.
const LISTED: usize = 20_000;

/// Version of a file; `None` if there is none.
type Stamp = Option<platform::Stamp>;

/// A graph in memory. It has links only, and searches compare the vectors of the mirror.
#[derive(Debug)]
pub struct LoadedGraph {
    /// Its links.
    pub links: Links,
    /// Its manifest.
    pub manifest: Manifest,
}

impl LoadedGraph {
    /// Find the embeddings nearest to a query among those that `allows` accepts, nearest first, by eight bits.
    pub fn search(&self, mirror: &Mirror, query: &[f32], limit: usize, allows: impl Fn(i64) -> bool) -> Vec<i64> {
        let slot_of = |embedding| mirror.slot_of_embedding(embedding);
        self.links.search(&Vectors { slab: mirror.slab(), slot_of }, query, limit, allows)
    }
}

/// All data a recall reads, except the memories themselves.
#[derive(Debug)]
pub struct View {
    data_dir: PathBuf,
    /// Up to this number of vectors, a scan is used: it is exact and not slower than the graph.
    pub scan_all: usize,
    /// Filter columns and vectors.
    pub mirror: Mirror,
    /// The lexical index; `None` if it is missing or unreadable.
    pub lexical: Option<Lexical>,
    lexical_stamp: Stamp,
    /// The mirror place of each document of the lexical index.
    pub document_places: Places,
    /// Texts that are not in the lexical index.
    pub overlay: Overlay,
    /// The graph; `None` if it is missing or unreadable.
    pub graph: Option<LoadedGraph>,
    graph_stamp: Stamp,
    /// Slots of vectors that are not in the graph.
    pub outside_graph: Vec<u32>,
    slots_seen: usize,
    loads_seen: u64,
    places_are_stale: bool,
    outside_is_stale: bool,
    /// Whether the last refresh was completed.
    is_whole: bool,
}

/// A view with the snapshot that it equals. It stays equal while both are held.
pub type Current<'a> = (RwLockReadGuard<'a, View>, Snapshot<'a>);

impl View {
    /// Create an empty view. The first refresh fills it.
    pub fn new(data_dir: &Path, scan_all: usize) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            scan_all,
            mirror: Mirror::default(),
            lexical: None,
            lexical_stamp: None,
            document_places: Places::default(),
            overlay: Overlay::default(),
            graph: None,
            graph_stamp: None,
            outside_graph: Vec::new(),
            slots_seen: 0,
            loads_seen: 0,
            places_are_stale: false,
            outside_is_stale: false,
            is_whole: false,
        }
    }

    /// Up to this number of filtered rows, they are listed and scanned, because a graph search for few rows among many is
    /// slow. Without a graph, listing most of the rows takes longer than comparing the signs of all of them.
    pub fn scan_filtered(&self) -> usize {
        self.scan_all.saturating_mul(4).min(LISTED.max(self.mirror.len() / 2))
    }

    /// Whether a recall can use the indexes without opening a file. An older generation of the graph is good enough:
    /// the graph only proposes candidates, and the vectors missing in it are in `outside_graph`.
    fn indexes_are_current(&self) -> bool {
        self.is_whole && platform::stamp(&lexical::meta_file(&self.data_dir)) == self.lexical_stamp
    }

    /// Reopen indexes that changed on disk, then take a snapshot and apply the store's changes up to it.
    fn refresh<'s>(&mut self, store: &'s Store) -> Result<Snapshot<'s>> {
        self.is_whole = false; // A refresh that fails half-way leaves an inconsistent view.
        // Open readers before the snapshot. Otherwise an indexer may absorb a delete between the two, and a memory
        // that is alive in our snapshot would be missing from the index and from the (empty) tail.
        self.open_lexical();
        let at = store.read()?;
        let head = change::head(&at)?;
        if !self.mirror.is_at(&head) && self.mirror.refresh(&at, head)? {
            self.outside_is_stale = true;
        }
        if self.loads_seen != self.mirror.loads() {
            self.loads_seen = self.mirror.loads();
            self.places_are_stale = true;
            // The reloaded store may have another history, in which the same keys have other texts.
            self.overlay = Overlay::default();
        }
        let absorbed = match self.lexical.as_ref().map(Lexical::mark) {
            // An index of another history may contain other texts under our keys.
            Some(mark) if mark.has_current_layout() && change::could_be_on_history(&at, &mark.head)? => mark.last_key,
            Some(_) => {
                self.lexical = None;
                self.places_are_stale = true;
                0
            }
            None => 0,
        };
        if let Some(loaded) = &self.graph
            && !change::could_be_on_history(&at, &loaded.manifest.head)?
        {
            self.graph = None; // A graph of another history may contain other vectors under our keys.
            self.outside_is_stale = true;
        }
        self.overlay.refresh(&at, absorbed)?;
        self.overlay.forget_removed(|key| self.mirror.row_of(key).is_some());
        if self.places_are_stale {
            self.document_places = match &self.lexical {
                Some(index) => index.places(|key| self.mirror.row_of(key))?,
                None => Places::default(),
            };
            self.places_are_stale = false;
        }
        self.find_outside_graph();
        self.is_whole = true;
        Ok(at)
    }

    fn open_lexical(&mut self) {
        let stamp = platform::stamp(&lexical::meta_file(&self.data_dir));
        if stamp == self.lexical_stamp {
            return;
        }
        // Set this before any step can fail. Otherwise places of the old reader could be used with the new one.
        self.places_are_stale = true;
        let same_folder = self.lexical.as_mut().is_some_and(Lexical::reload);
        if !same_folder {
            self.lexical = Lexical::open(&self.data_dir);
        }
        self.lexical_stamp = stamp;
    }

    fn replace_graph(&mut self, graph: Option<LoadedGraph>, stamp: Stamp) {
        self.graph = graph;
        self.graph_stamp = stamp;
        self.outside_is_stale = true;
        // Forces a refresh, which compares the history of the new graph with the store's.
        self.is_whole = false;
    }

    fn find_outside_graph(&mut self) {
        if std::mem::take(&mut self.outside_is_stale) {
            self.outside_graph.clear();
            self.slots_seen = 0;
        }
        let Some(loaded) = self.usable_graph() else { return };
        let allocated = self.mirror.allocated_slots();
        let is_outside = |slot: &u32| !loaded.links.contains(self.mirror.embedding_of_slot(*slot));
        let new: Vec<u32> = allocated[self.slots_seen..].iter().copied().filter(is_outside).collect();
        self.slots_seen = allocated.len();
        self.outside_graph.extend(new);
    }

    /// The graph, if it contains vectors of the active model.
    pub fn usable_graph(&self) -> Option<&LoadedGraph> {
        let model = self.mirror.model()?;
        self.graph
            .as_ref()
            .filter(|loaded| loaded.manifest.model == model.name && loaded.manifest.dimension == model.dimension)
    }
}

/// The view shared by all threads of a process.
///
/// Lock order: `graph_loader`, then `refresher`, then `view`.
#[derive(Debug)]
pub struct SharedView {
    view: RwLock<View>,
    /// Held by the thread that refreshes the view. Threads that find the view stale wait here, so that one refresh
    /// serves all of them. With the write lock alone they would refresh one after another, each after the recall of the
    /// previous thread.
    refresher: Mutex<()>,
    /// Held by the thread that loads a graph. Loading takes long, so `view` is not locked meanwhile.
    graph_loader: Mutex<()>,
}

impl SharedView {
    /// Share a view between threads.
    pub fn new(view: View) -> Self {
        Self { view: RwLock::new(view), refresher: Mutex::new(()), graph_loader: Mutex::new(()) }
    }

    /// Bring the view up to date with a new snapshot and return both.
    pub fn current<'a>(&'a self, store: &'a Store) -> Result<Current<'a>> {
        self.load_new_graph();
        if let Some(current) = self.if_current(store)? {
            return Ok(current);
        }
        let _refresher = self.refresher.lock();
        // Another thread may have refreshed the view meanwhile.
        if let Some(current) = self.if_current(store)? {
            return Ok(current);
        }
        let mut guard = self.view.write();
        let at = guard.refresh(store)?;
        Ok((RwLockWriteGuard::downgrade(guard), at))
    }

    fn if_current<'a>(&'a self, store: &'a Store) -> Result<Option<Current<'a>>> {
        let guard = self.view.read();
        if guard.indexes_are_current() {
            // No thread can refresh the view while the guard is held, so the view stays equal during this recall.
            let at = store.read()?;
            if guard.mirror.is_at(&change::head(&at)?) {
                return Ok(Some((guard, at)));
            }
        }
        Ok(None)
    }

    /// Load the graph if a new generation was written. Other threads keep using the old graph meanwhile.
    fn load_new_graph(&self) {
        let Some(_loader) = self.stale_graph().and_then(|_| self.graph_loader.try_lock()) else { return };
        // Another thread may have loaded the graph before the lock was acquired.
        let Some((data_dir, stamp)) = self.stale_graph() else { return };
        let graph = snapshot::manifest(&data_dir).and_then(|manifest| {
            // A file with a wrong checksum is not loaded. Until the graph is rebuilt, recalls scan all vectors.
            let links = snapshot::links(&data_dir, &manifest).ok()?;
            Some(LoadedGraph { links, manifest })
        });
        // Free the old graph after releasing the lock, because freeing it takes milliseconds.
        let _old = {
            let mut view = self.view.write();
            let old = view.graph.take();
            view.replace_graph(graph, stamp);
            old
        };
    }

    /// Arguments for loading a graph; `None` if the loaded graph is the newest generation.
    fn stale_graph(&self) -> Option<(PathBuf, Stamp)> {
        let view = self.view.read();
        let stamp = platform::stamp(&snapshot::manifest_file(&view.data_dir));
        (stamp != view.graph_stamp).then(|| (view.data_dir.clone(), stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::engine::{Engine, Options};

    #[test]
    fn recall_does_not_wait_while_another_thread_loads_a_graph() {
        let folder = tempfile::tempdir().unwrap();
        drop(
            Engine::open(folder.path(), Options { background: false, ..Options::default() }, Clock::fixed(1)).unwrap(),
        );
        let store = Store::open(folder.path(), false, 1).unwrap();
        let shared = SharedView::new(View::new(folder.path(), 10));
        drop(shared.current(&store).unwrap());
        let loader = shared.graph_loader.lock();
        fs_err::create_dir_all(snapshot::folder(folder.path())).unwrap();
        fs_err::write(snapshot::manifest_file(folder.path()), "{}").unwrap();
        assert!(shared.stale_graph().is_some());
        drop(shared.current(&store).unwrap());
        assert!(
            shared.stale_graph().is_some(),
            "the recall must neither wait for the loader nor load the graph itself"
        );
        drop(loader);
        drop(shared.current(&store).unwrap());
        assert!(shared.stale_graph().is_none());
    }
}
