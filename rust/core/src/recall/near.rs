//! The neighbours of many memories at once: whoever is at least so near, and nobody else.
//!
//! Comparing what is new with what is there has another shape than a question: many vectors, one filter, and a bound that
//! almost nothing reaches. One pass over the rows serves all of them. In a large store the graph proposes, over all
//! projects, since walking it with a filter costs many times more; where a text has more close copies than it proposes,
//! the rows are passed over after all.

use super::NONE;
use super::filter::Filter;
use super::view::View;
use crate::error::Result;
use crate::index::exact::{Best, Scored};
use crate::index::quantised::quantise;

/// Rows that are compared exactly of those that a pass finds near. By how much the product of eight-bit vectors is off
/// depends on the model, so it ranks and does not decide.
const SHORTLISTED: usize = 32;
/// Neighbours that the graph proposes for one vector.
const PROPOSED: usize = 64;
/// From so many near copies among them on, more are likely that it does not name.
const CROWDED: usize = PROPOSED / 2;
/// Rows whose vectors are on their way from memory while the ones before are compared.
const PREFETCHED: usize = 6;

/// A vector, and the best that was found for it.
struct NearQuery<'q> {
    exact: &'q [f32],
    rough: Vec<i8>,
    best: Best<u32>,
}

impl NearQuery<'_> {
    /// Take those rows that are near enough.
    fn offer(&mut self, view: &View, places: impl Iterator<Item = u32>, least: f32) {
        for place in places {
            if let Some(cosine) = view.mirror.cosine(self.exact, place).filter(|cosine| *cosine >= least) {
                self.best.offer(place, cosine);
            }
        }
    }
}

/// For each vector the rows that the filter allows and whose cosine is at least `least`: `depth` at most, best first.
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
        let found = loaded.graph.search_all(query.exact, PROPOSED)?;
        let slots = |embedding: i64| mirror.slots_of_embedding(embedding);
        let is_near = |slot: &u32| mirror.cosine_of_slot(query.exact, *slot) >= least;
        if found.iter().copied().flat_map(slots).filter(is_near).count() >= CROWDED {
            crowded.push(query);
            continue;
        }
        let mut near: Vec<u32> = found.into_iter().flat_map(slots).filter_map(allowed).collect();
        near.sort_unstable();
        near.dedup();
        // What is not in the graph is passed over below, and must not be offered twice.
        near.retain(|place| outside.binary_search(place).is_err());
        query.offer(view, near.into_iter(), least);
        proposed.push(query);
    }
    scan_rows(view, &outside, &mut proposed, least);
    scan_rows(view, &places, &mut crowded, least);
    Ok(queries.into_iter().map(|query| query.best.into_sorted()).collect())
}

/// Pass over rows once for all vectors: roughly, and exactly those that are nearest to each.
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
