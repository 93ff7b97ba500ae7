//! The pool: the best rows by words and the best by meaning, each from all rows that the filter allows.
//!
//! Its depth is fixed and independent of how many hits are wanted, so that a hit's score does not depend on `limit`.

use rustc_hash::FxHashMap;

use super::filter::{Filter, Remaining};
use super::mirror::NONE;
use super::view::View;
use crate::error::Result;
use crate::index::exact::{Best, Scored};
use crate::text::QueryTerms;

/// Candidates that each of the two searches contributes.
pub const DEPTH: usize = 64;

/// Up to this many vectors are compared one by one: exact, and no slower than the graph.
const SCAN_ALL: usize = 10_000;
/// Up to this many rows that a filter leaves are compared one by one.
const SCAN_FILTERED: usize = 6_000;

/// The best rows by words, best first.
pub fn by_words(view: &View, filter: &Filter, terms: &QueryTerms, depth: usize) -> Result<Vec<Scored<u32>>> {
    let allows = |key: i64| view.mirror.row_of(key).is_some_and(|place| filter.allows(view.mirror.row(place)));
    let mut best = Best::new(depth);
    let index = view.lexical.as_ref();
    let absorbed = match index {
        Some(index) => index.search(terms, depth, allows)?,
        None => Vec::new(),
    };
    for scored in absorbed.into_iter().chain(view.overlay.search(index, terms, depth, allows)) {
        if let Some(place) = view.mirror.row_of(scored.item) {
            best.offer(place, scored.score);
        }
    }
    Ok(best.into_sorted())
}

/// The best rows by meaning, best first; a row counts by the best of its chunks.
pub fn by_meaning(view: &View, filter: &Filter, query: &[f32], depth: usize) -> Result<Vec<Scored<u32>>> {
    if view.mirror.live_slots() == 0 {
        return Ok(Vec::new());
    }
    let Some(loaded) = view.usable_graph().filter(|_| view.mirror.live_slots() > SCAN_ALL) else {
        return Ok(scan(view, &filter.places(&view.mirror), query, depth));
    };
    let share = match filter.remaining(&view.mirror, SCAN_FILTERED) {
        Remaining::Places(places) => return Ok(scan(view, &places, query, depth)),
        Remaining::Share(share) => share,
    };
    let mirror = &view.mirror;
    let allows_slot = |slot: u32| {
        let place = mirror.row_of_slot(slot);
        place != NONE && filter.allows(mirror.row(place))
    };
    let found = loaded.graph.search(query, depth, |embedding| mirror.slots_of_embedding(embedding).any(allows_slot))?;
    // The graph gives up early in a region where the filter allows little; then nothing but a scan is sure.
    let expected = depth.min((share * mirror.len() as f64 / 2.0) as usize);
    if found.len() < expected {
        return Ok(scan(view, &filter.places(mirror), query, depth));
    }
    let proposed = found.into_iter().flat_map(|embedding| mirror.slots_of_embedding(embedding));
    let mut best_of: FxHashMap<u32, f32> = FxHashMap::default();
    for slot in proposed.chain(view.outside_graph.iter().copied()).filter(|slot| allows_slot(*slot)) {
        let cosine = mirror.slab().cosine(query, slot);
        let best = best_of.entry(mirror.row_of_slot(slot)).or_insert(f32::MIN);
        *best = best.max(cosine);
    }
    let mut best = Best::new(depth);
    for (place, cosine) in best_of {
        best.offer(place, cosine);
    }
    Ok(best.into_sorted())
}

/// Compare the given rows one by one.
fn scan(view: &View, places: &[u32], query: &[f32], depth: usize) -> Vec<Scored<u32>> {
    let mut best = Best::new(depth);
    for &place in places {
        if let Some(cosine) = view.mirror.cosine(query, place) {
            best.offer(place, cosine);
        }
    }
    best.into_sorted()
}
