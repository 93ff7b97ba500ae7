//! The indexes as one process sees them, and how they are made current before a recall.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::mirror::Mirror;
use super::overlay::Overlay;
use crate::error::Result;
use crate::index::lexical::{self, Lexical, Places};
use crate::index::snapshot::{self, Manifest};
use crate::index::vector::Graph;
use crate::store::{Snapshot, Store, change};

/// What tells one version of a file from the next.
type Stamp = Option<(u64, i64, i64, u64)>;

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

/// A graph and what its manifest says of it.
#[derive(Debug)]
pub struct LoadedGraph {
    /// The graph.
    pub graph: Graph,
    /// Its manifest.
    pub manifest: Manifest,
}

/// Everything a recall reads besides the rows themselves.
#[derive(Debug)]
pub struct View {
    data_dir: PathBuf,
    threads: usize,
    /// Up to this many vectors are compared one by one: exact, and no slower than the graph.
    pub scan_all: usize,
    /// Filter columns and vectors.
    pub mirror: Mirror,
    /// The lexical index, when there is one that can be read.
    pub lexical: Option<Lexical>,
    lexical_stamp: Stamp,
    /// The row of each of its documents.
    pub document_places: Places,
    /// Texts that are not in it.
    pub overlay: Overlay,
    /// The graph, when there is one that can be read.
    pub graph: Option<LoadedGraph>,
    graph_stamp: Stamp,
    /// Slots whose vector is not in the graph.
    pub outside_graph: Vec<u32>,
    slots_seen: usize,
    loads_seen: u64,
    places_are_stale: bool,
    outside_is_stale: bool,
    /// Whether the last refresh came to its end.
    is_whole: bool,
}

/// A view that equals the snapshot, for as long as both live.
pub type Current<'a> = (RwLockReadGuard<'a, View>, Snapshot<'a>);

impl View {
    /// A view that has read nothing yet.
    pub fn new(data_dir: &Path, scan_all: usize, threads: usize) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            threads,
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

    /// Up to this many rows that a filter leaves are compared one by one: a graph walks far to find few among many.
    pub fn scan_filtered(&self) -> usize {
        4 * self.scan_all
    }

    /// Whether nothing has to be opened before a recall. A graph of an older generation is good enough: vectors that it
    /// lacks are in `outside_graph`, and it only proposes.
    fn indexes_are_current(&self) -> bool {
        self.is_whole && stamp(&lexical::meta_file(&self.data_dir)) == self.lexical_stamp
    }

    /// Open what changed on disk, then take a snapshot and follow the store to it.
    fn refresh<'s>(&mut self, store: &'s Store) -> Result<Snapshot<'s>> {
        self.is_whole = false; // a refresh that fails half-way leaves parts that do not belong together
        // Readers before the snapshot. The other way round an indexer may absorb a delete between the two, and a memory
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
            // What is read anew may be another history, in which the same keys have other texts.
            self.overlay = Overlay::default();
        }
        let absorbed = match self.lexical.as_ref().map(Lexical::mark) {
            // An index of another history may hold other texts under our keys.
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
            self.graph = None; // so may a graph hold other vectors
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
        let stamp = stamp(&lexical::meta_file(&self.data_dir));
        if stamp == self.lexical_stamp {
            return;
        }
        // Said before anything can fail: what was derived from the old reader must not outlive it.
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
        // The refresh that follows compares the new graph's history with the store's.
        self.is_whole = false;
    }

    fn find_outside_graph(&mut self) {
        if std::mem::take(&mut self.outside_is_stale) {
            self.outside_graph.clear();
            self.slots_seen = 0;
        }
        let Some(loaded) = self.usable_graph() else { return };
        let allocated = self.mirror.allocated_slots();
        let is_outside = |slot: &u32| !loaded.graph.contains(self.mirror.embedding_of_slot(*slot));
        let new: Vec<u32> = allocated[self.slots_seen..].iter().copied().filter(is_outside).collect();
        self.slots_seen = allocated.len();
        self.outside_graph.extend(new);
    }

    /// The graph, if it holds vectors of the active model.
    pub fn usable_graph(&self) -> Option<&LoadedGraph> {
        let model = self.mirror.model()?;
        self.graph
            .as_ref()
            .filter(|loaded| loaded.manifest.model == model.name && loaded.manifest.dimension == model.dimension)
    }
}

/// The view that all threads of a process share.
///
/// Lock order: `graph_loader`, then `refresher`, then `view`.
#[derive(Debug)]
pub struct SharedView {
    view: RwLock<View>,
    /// Held by the thread that moves the view on. Threads that find the view stale wait here, so that one refresh serves
    /// all of them; with the write lock alone they would refresh one after the other, each behind the recall of the one
    /// before.
    refresher: Mutex<()>,
    /// Held by the thread that loads a graph. Loading takes long, so it happens outside of `view`.
    graph_loader: Mutex<()>,
}

impl SharedView {
    /// A view that has read nothing yet.
    pub fn new(view: View) -> Self {
        Self { view: RwLock::new(view), refresher: Mutex::new(()), graph_loader: Mutex::new(()) }
    }

    /// Make the view equal to a new snapshot and hold both.
    pub fn current<'a>(&'a self, store: &'a Store) -> Result<Current<'a>> {
        self.load_new_graph();
        if let Some(current) = self.if_current(store)? {
            return Ok(current);
        }
        let _refresher = self.refresher.lock();
        // Another thread may have moved the view on meanwhile.
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
            // While the guard is held no thread can move the view on, so equal now is equal for this recall.
            let at = store.read()?;
            if guard.mirror.is_at(&change::head(&at)?) {
                return Ok(Some((guard, at)));
            }
        }
        Ok(None)
    }

    /// Load the graph if another generation was written. Recalls of other threads go on with the old one meanwhile.
    fn load_new_graph(&self) {
        let Some(_loader) = self.stale_graph().and_then(|_| self.graph_loader.try_lock()) else { return };
        // Another thread may have loaded it between the two.
        let Some((data_dir, threads, stamp)) = self.stale_graph() else { return };
        let graph = snapshot::manifest(&data_dir).and_then(|manifest| {
            // A file that does not match its checksum is not loaded; vectors are compared one by one until it is rebuilt.
            let graph = snapshot::load(&data_dir, &manifest, threads).ok()?;
            Some(LoadedGraph { graph, manifest })
        });
        // Free the old graph after the lock is released: that takes milliseconds.
        let _old = {
            let mut view = self.view.write();
            let old = view.graph.take();
            view.replace_graph(graph, stamp);
            old
        };
    }

    /// The folder, threads and stamp to load a graph with, if the loaded one is not of the newest generation.
    fn stale_graph(&self) -> Option<(PathBuf, usize, Stamp)> {
        let view = self.view.read();
        let stamp = stamp(&snapshot::manifest_file(&view.data_dir));
        (stamp != view.graph_stamp).then(|| (view.data_dir.clone(), view.threads, stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::engine::{Engine, Options};

    #[test]
    fn a_recall_does_not_wait_for_a_graph_that_another_thread_loads() {
        let folder = tempfile::tempdir().unwrap();
        drop(
            Engine::open(folder.path(), Options { background: false, ..Options::default() }, Clock::fixed(1)).unwrap(),
        );
        let store = Store::open(folder.path(), false, 1).unwrap();
        let shared = SharedView::new(View::new(folder.path(), 10, 1));
        drop(shared.current(&store).unwrap());
        let loader = shared.graph_loader.lock();
        fs_err::create_dir_all(snapshot::folder(folder.path())).unwrap();
        fs_err::write(snapshot::manifest_file(folder.path()), "{}").unwrap();
        assert!(shared.stale_graph().is_some());
        drop(shared.current(&store).unwrap());
        assert!(shared.stale_graph().is_some(), "the loader was not waited for, and nothing was loaded");
        drop(loader);
        drop(shared.current(&store).unwrap());
        assert!(shared.stale_graph().is_none());
    }
}
