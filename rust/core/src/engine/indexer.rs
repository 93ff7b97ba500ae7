//! The background thread that keeps the derived indexes caught up while the process lives.
//!
//! It is never on the path of an acknowledgement. It waits until writes pause for a moment, so that a bulk import costs a
//! few large index commits and not thousands; a tail that grows past its bound is absorbed without waiting.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::Shared;
use crate::error::{Error, Result};
use crate::index::catch_up::{Control, Goals, catch_up};
use crate::model::report::CatchUpReport;

/// Writes that pause for this long are taken as done.
const PAUSE: Duration = Duration::from_millis(150);
/// A tail this many times over its threshold is absorbed while writes go on.
const URGENT: usize = 40;
/// The overlay may hold this share of the indexed texts before they are absorbed.
const TAIL_SHARE: usize = 64;
/// Vectors outside of the graph before it is extended: a share of those in it, at least this many.
const GRAPH_TAIL_SHARE: usize = 16;
const GRAPH_TAIL: usize = 2_048;

/// How writers wake the thread.
#[derive(Debug, Default)]
pub struct Doorbell {
    state: Mutex<State>,
    rang: Condvar,
}

#[derive(Debug, Default)]
struct State {
    writes: u64,
    closing: bool,
}

impl Doorbell {
    /// Something was written.
    pub fn ring(&self) {
        self.state.lock().writes += 1;
        self.rang.notify_one();
    }

    /// The engine closes.
    pub fn ring_out(&self) {
        self.state.lock().closing = true;
        self.rang.notify_all();
    }

    fn is_closing(&self) -> bool {
        self.state.lock().closing
    }
}

/// Start the thread.
pub fn start(shared: &Arc<Shared>) -> Result<JoinHandle<()>> {
    // Weak: an engine that is dropped without being closed must not live on in its own thread.
    let weak = Arc::downgrade(shared);
    std::thread::Builder::new()
        .name("opencode-memory-indexer".into())
        .spawn(move || run(&weak))
        .map_err(|source| Error::storage("start the indexer of", &shared.data_dir, source))
}

fn run(weak: &Weak<Shared>) {
    let mut seen = 0;
    loop {
        let Some(shared) = weak.upgrade() else { return };
        let mut state = shared.indexer.state.lock();
        while state.writes == seen && !state.closing {
            shared.indexer.rang.wait(&mut state);
        }
        // Let a burst of writes go by, but not for ever.
        let mut waited = 0;
        while !state.closing && waited < URGENT {
            seen = state.writes;
            let paused = shared.indexer.rang.wait_for(&mut state, PAUSE).timed_out();
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
        // Whatever goes wrong here costs time, not answers, and the next write tries again; `verify` tells what is wrong.
        let _ = shared.catch_up_if_needed();
        let _ = shared.flush_uses();
    }
}

impl Shared {
    /// Catch up the indexes whose tail is over its threshold.
    fn catch_up_if_needed(&self) -> Result<CatchUpReport> {
        let (lexical, graph) = {
            let (view, _at) = self.current()?;
            let indexed = view.lexical.as_ref().map_or(0, crate::index::lexical::Lexical::documents);
            let lexical = view.overlay.len() >= self.options.lexical_tail.max(indexed / TAIL_SHARE);
            let vectors = view.mirror.live_slots();
            let graph = match view.usable_graph() {
                Some(loaded) => view.outside_graph.len() >= GRAPH_TAIL.max(loaded.graph.len() / GRAPH_TAIL_SHARE),
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
