//! The background thread that keeps the derived indexes up to date while the process runs.
//!
//! Acknowledgements never wait for the thread. It waits until writes pause, so that a bulk import causes a few large
//! index commits and not thousands. If writes never pause, the thread indexes them anyway after a while.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::Shared;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::index::catch_up::{Goals, catch_up, is_far_behind};
use crate::model::report::CatchUpReport;
use crate::store::change;

/// A pause of this length ends a series of writes.
const PAUSE: Duration = Duration::from_millis(150);
/// Number of waits for a pause before the tail is indexed while writes continue.
const URGENT: usize = 40;
/// The overlay may grow to this share of the indexed texts before it is indexed.
const TAIL_SHARE: usize = 64;
/// Number of vectors outside of the graph before it is extended: a share of those in it, at least `GRAPH_TAIL`.
const GRAPH_TAIL_SHARE: usize = 16;
const GRAPH_TAIL: usize = 2_048;

/// Wakes and stops the thread.
#[derive(Debug, Default)]
pub struct IndexerHandle {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    writes: u64,
    closing: bool,
}

impl IndexerHandle {
    /// Tell the thread about a write.
    pub fn notify(&self) {
        self.state.lock().writes += 1;
        self.changed.notify_one();
    }

    /// Tell the thread to end.
    pub fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_all();
    }

    fn is_closing(&self) -> bool {
        self.state.lock().closing
    }
}

/// Start the thread. It ends when the engine is closed, at the latest when the last [`super::Engine`] is dropped.
pub fn start(shared: &Arc<Shared>) -> Result<JoinHandle<()>> {
    let own = Arc::clone(shared);
    std::thread::Builder::new()
        .name("opencode-memory-indexer".into())
        .spawn(move || run(&own))
        .map_err(|source| Error::storage("start the indexer of", &shared.data_dir, source))
}

fn run(shared: &Shared) {
    let mut seen = 0;
    loop {
        let mut state = shared.indexer.state.lock();
        while state.writes == seen && !state.closing {
            shared.indexer.changed.wait(&mut state);
        }
        // Let a burst of writes go by, but not for ever.
        let mut waited = 0;
        while !state.closing && waited < URGENT {
            seen = state.writes;
            let paused = shared.indexer.changed.wait_for(&mut state, PAUSE).timed_out();
            if paused && state.writes == seen {
                break;
            }
            waited += 1;
        }
        seen = state.writes;
        let closing = state.closing;
        drop(state);
        if closing {
            return;
        }
        // An error here makes recalls slower, not wrong. The next write tries again, and `verify` reports the problem.
        if shared.catch_up_if_needed().is_ok_and(|report| report != CatchUpReport::default()) {
            crate::allocator::release_memory();
        }
        let _ = shared.flush_uses();
    }
}

impl Shared {
    /// Catch up the indexes whose tail exceeds its threshold.
    fn catch_up_if_needed(&self) -> Result<CatchUpReport> {
        let (lexical, graph) = {
            let (view, at) = self.current()?;
            let head = change::head(&at)?;
            let indexed = view.lexical.as_ref().map_or(0, crate::index::lexical::Lexical::documents);
            let lexical = view.overlay.len() >= self.options.lexical_tail.max(indexed / TAIL_SHARE)
                || view.lexical.as_ref().is_some_and(|index| is_far_behind(&index.mark().head, &head));
            let vectors = view.mirror.live_slots();
            let graph = match view.usable_graph() {
                Some(loaded) => {
                    view.outside_graph.len() >= GRAPH_TAIL.max(loaded.links.len() / GRAPH_TAIL_SHARE)
                        || is_far_behind(&loaded.manifest.head, &head)
                }
                None => vectors >= self.options.graph_from,
            };
            (lexical, graph)
        };
        if !lexical && !graph {
            return Ok(CatchUpReport::default());
        }
        let goals = Goals { lexical, graph, rebuild: false, graph_from: self.options.graph_from, threads: 1 };
        let control = Control { is_interrupted: &|| self.indexer.is_closing(), progress: &|_, _, _| {} };
        catch_up(&self.store, &self.clock, &self.data_dir, goals, &control)
    }
}
