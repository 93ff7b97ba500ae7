//! Batch search for all memories within a cosine bound of many vectors.
//!
//! Comparing new memories with stored ones differs from a query: there are many vectors, one filter, and a bound that
//! few rows reach. One scan of the rows serves all vectors. In a large store the graph proposes neighbours from all
//! projects, because a filtered search of the graph costs many times more. If a text has more close copies than the
//! graph proposes, the rows are scanned after all.

use super::NONE;
use super::filter::Filter;
use super::view::View;
use crate::error::Result;
use crate::index::best::{Best, Scored};
use crate::index::quantised::quantise;

/// Number of rows per vector that a scan compares exactly. The error of an eight-bit product depends on the model, so
/// the product only selects rows for the exact comparison.
const SHORTLISTED: usize = 32;
/// Number of neighbours that the graph proposes for one vector.
const PROPOSED: usize = 64;
/// Number of near copies among the proposals above which the graph has probably missed others.
const CROWDED: usize = PROPOSED / 2;
/// Number of rows whose vectors are prefetched ahead of the comparison.
const PREFETCHED: usize = 6;

/// A vector and its best matches so far.
struct NearQuery<'q> {
    exact: &'q [f32],
    rough: Vec<i8>,
    best: Best<u32>,
}

impl NearQuery<'_> {
    /// Offer the rows whose cosine is at least `least`.
    fn offer(&mut self, view: &View, places: impl Iterator<Item = u32>, least: f32) {
        for place in places {
            if let Some(cosine) = view.mirror.cosine(self.exact, place).filter(|cosine| *cosine >= least) {
                self.best.offer(place, cosine);
            }
        }
    }
}

/// Return for each vector at most `depth` allowed rows whose cosine is at least `least`, best first.
pub fn near_many(
    view: &View,
    filter: &Filter,
    vectors: &[Vec<f32>],
    least: f32,
    depth: usize,
) -> Result<Vec<Vec<Scored<u32>>>> {
    let mirror = &view.mirror;
    let mut queries: Vec<NearQuery<'_>> =
        vectors.iter().map(|exact| NearQuery { exact, rough: quantise(exact), best: Best::new(depth) }).collect();
    let places = filter.places(mirror);
    let graph = view.usable_graph().filter(|_| places.len() > view.scan_filtered());
    let Some(loaded) = graph else {
        scan_rows(view, &places, &mut queries.iter_mut().collect::<Vec<_>>(), least);
        return Ok(queries.into_iter().map(|query| query.best.into_sorted()).collect());
    };
    let allowed = |slot: u32| {
        let place = mirror.row_of_slot(slot);
        (place != NONE && filter.allows(mirror.row(place))).then_some(place)
    };
    let mut outside: Vec<u32> = view.outside_graph.iter().filter_map(|slot| allowed(*slot)).collect();
    outside.sort_unstable();
    outside.dedup();
    let (mut proposed, mut crowded) = (Vec::new(), Vec::new());
    for query in &mut queries {
        let found = loaded.search(mirror, query.exact, PROPOSED, |_| true);
        let slots = |embedding: i64| mirror.slots_of_embedding(embedding);
        // The graph also proposes embeddings of memories that were deleted since.
        let is_near =
            |slot: &u32| mirror.row_of_slot(*slot) != NONE && mirror.cosine_of_slot(query.exact, *slot) >= least;
        if found.iter().copied().flat_map(slots).filter(is_near).count() >= CROWDED {
            crowded.push(query);
            continue;
        }
        let mut near: Vec<u32> = found.into_iter().flat_map(slots).filter_map(allowed).collect();
        near.sort_unstable();
        near.dedup();
        // Rows with vectors outside of the graph are scanned below. Skip them here, or they would be offered twice.
        near.retain(|place| outside.binary_search(place).is_err());
        query.offer(view, near.into_iter(), least);
        proposed.push(query);
    }
    scan_rows(view, &outside, &mut proposed, least);
    scan_rows(view, &places, &mut crowded, least);
    Ok(queries.into_iter().map(|query| query.best.into_sorted()).collect())
}

/// Scan rows once for all vectors with rough products, then compare the nearest rows of each vector exactly.
fn scan_rows(view: &View, places: &[u32], queries: &mut [&mut NearQuery<'_>], least: f32) {
    if places.len() <= 2 * SHORTLISTED {
        for query in queries.iter_mut() {
            query.offer(view, places.iter().copied(), least);
        }
        return;
    }
    let mut shortlists: Vec<Best<u32>> = queries.iter().map(|_| Best::new(SHORTLISTED)).collect();
    for (at, &place) in places.iter().enumerate() {
        if let Some(ahead) = places.get(at + PREFETCHED) {
            view.mirror.prefetch(*ahead);
        }
        for (query, shortlist) in queries.iter().zip(&mut shortlists) {
            if let Some(product) = view.mirror.rough_product(&query.rough, place) {
                shortlist.offer(place, product as f32);
            }
        }
    }
    for (query, shortlist) in queries.iter_mut().zip(shortlists) {
        query.offer(view, shortlist.into_sorted().into_iter().map(|scored| scored.item), least);
    }
}
