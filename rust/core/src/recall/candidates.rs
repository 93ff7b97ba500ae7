//! The two searches of a recall: the best rows by words and the best rows by vectors, among the rows that pass the
//! filter.
//!
//! The depth of a search is constant, so that the score of a hit does not depend on the requested `limit`.

use super::NONE;
use super::filter::{Filter, Remaining};
use super::scan::{scan, scan_all};
use super::view::View;
use crate::error::Result;
use crate::index::best::{Best, Scored};
use crate::index::bm25::ScoredTerm;

/// A filter that passes at least this share is applied to the graph's results instead of during its search.
const NEARLY_ALL: f64 = 0.9;

/// Number of candidates from each of the two searches.
pub const DEPTH: usize = 64;

/// Find the best rows by words, best first.
pub fn by_words(
    view: &View,
    filter: &Filter,
    remaining: &Remaining,
    terms: &[ScoredTerm],
    depth: usize,
) -> Result<Vec<Scored<u32>>> {
    let mirror = &view.mirror;
    let mut best = Best::new(depth);
    if let Some(index) = &view.lexical {
        let found = match remaining {
            Remaining::Places(places) => {
                let wanted = bit_set(places, mirror.places().len());
                index.search(terms, depth, &view.document_places, |place| {
                    wanted[place as usize / 64] & (1 << (place % 64)) != 0
                })?
            }
            Remaining::Share(_) => {
                index.search(terms, depth, &view.document_places, |place| filter.allows(mirror.row(place)))?
            }
        };
        for scored in found {
            best.offer(scored.item, scored.score);
        }
    }
    let allows = |key: i64| mirror.row_of(key).is_some_and(|place| filter.allows(mirror.row(place)));
    for scored in view.overlay.search(terms, depth, allows) {
        if let Some(place) = mirror.row_of(scored.item) {
            best.offer(place, scored.score);
        }
    }
    Ok(best.into_sorted())
}

/// Convert places to a bit set, which is checked for every document that contains a query term.
fn bit_set(places: &[u32], all: usize) -> Vec<u64> {
    let mut set = vec![0_u64; all.div_ceil(64)];
    for place in places {
        set[*place as usize / 64] |= 1 << (place % 64);
    }
    set
}

/// The best rows by meaning, best first; a row counts by the best of its chunks.
pub fn by_meaning(
    view: &View,
    filter: &Filter,
    remaining: &Remaining,
    query: &[f32],
    depth: usize,
) -> Result<Vec<Scored<u32>>> {
    if view.mirror.live_slots() == 0 {
        return Ok(Vec::new());
    }
    let share = match remaining {
        Remaining::Places(places) => return Ok(scan(view, places, query, depth)),
        Remaining::Share(share) => *share,
    };
    let Some(loaded) = view.usable_graph().filter(|_| view.mirror.live_slots() > view.scan_all) else {
        return Ok(scan_all(view, filter, share, query, depth));
    };
    let mirror = &view.mirror;
    let allows_slot = |slot: u32| {
        let place = mirror.row_of_slot(slot);
        place != NONE && filter.allows(mirror.row(place))
    };
    let allows_embedding = |embedding: i64| mirror.slots_of_embedding(embedding).any(allows_slot);
    // Request more chunks than rows, because several chunks of one memory are one candidate.
    let chunks = (depth * mirror.live_slots()).div_ceil(mirror.len().max(1)).max(depth);
    let found = if share >= NEARLY_ALL {
        // Request a few more results, because the filter drops some of them afterwards.
        let mut found = loaded.search(mirror, query, (chunks as f64 / share).ceil() as usize + 4, |_| true);
        found.retain(|embedding| allows_embedding(*embedding));
        found
    } else {
        loaded.search(mirror, query, chunks, allows_embedding)
    };
    // The graph stops early in a region where the filter passes few rows. Only a scan is reliable then.
    let expected = depth.min((share * mirror.len() as f64 / 2.0) as usize);
    if found.len() < expected {
        return Ok(scan_all(view, filter, share, query, depth));
    }
    let proposed = found.into_iter().flat_map(|embedding| mirror.slots_of_embedding(embedding));
    let slots = proposed.chain(view.outside_graph.iter().copied()).filter(|slot| allows_slot(*slot));
    let mut places: Vec<u32> = slots.map(|slot| mirror.row_of_slot(slot)).collect();
    places.sort_unstable();
    places.dedup();
    Ok(scan(view, &places, query, depth))
}
