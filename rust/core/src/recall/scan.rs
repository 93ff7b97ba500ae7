//! A scan of rows for the vectors nearest to a query.
//!
//! Each step compares fewer rows more exactly: signs, then eight bits per component, then half precision. A scan of few
//! rows begins with a later step.

use super::filter::Filter;
use super::preselect;
use super::view::View;
use crate::index::best::{Best, Scored};
use crate::index::quantised::quantise;

/// Number of rows whose vectors are prefetched ahead of the comparison.
const PREFETCHED: usize = 6;
/// Up to this number of rows, signs are not compared, because selecting by them takes as long as comparing eight bits.
const FEW: usize = 20_000;
/// From this share of rows on that pass a filter, comparing the signs of all rows is faster than listing those that pass.
const MANY: f64 = 0.5;

/// Return at most `depth` of the given rows with their cosine, nearest first. Rows without vectors are skipped.
pub fn scan(view: &View, places: &[u32], query: &[f32], depth: usize) -> Vec<Scored<u32>> {
    if places.len() > FEW {
        rank(view, &preselect::among(view, places, query), query, depth)
    } else {
        rank(view, places, query, depth)
    }
}

/// As [`scan`], for all rows that pass a filter, which are about this share of the rows.
pub fn scan_all(view: &View, filter: &Filter, share: f64, query: &[f32], depth: usize) -> Vec<Scored<u32>> {
    let passing = (share * view.mirror.len() as f64) as usize;
    if passing > FEW && share >= MANY {
        rank(view, &preselect::of_all(view, filter, passing, query), query, depth)
    } else {
        scan(view, &filter.places(&view.mirror), query, depth)
    }
}

fn rank(view: &View, places: &[u32], query: &[f32], depth: usize) -> Vec<Scored<u32>> {
    let shortlisted = depth + depth / 2;
    if places.len() <= 2 * shortlisted {
        return rank_exactly(view, places, query, depth);
    }
    rank_exactly(view, &shortlist(view, places, query, shortlisted), query, depth)
}

fn rank_exactly(view: &View, places: &[u32], query: &[f32], depth: usize) -> Vec<Scored<u32>> {
    let mut best = Best::new(depth);
    for (at, &place) in places.iter().enumerate() {
        if let Some(ahead) = places.get(at + PREFETCHED) {
            view.mirror.prefetch_exact(*ahead);
        }
        if let Some(cosine) = view.mirror.cosine(query, place) {
            best.offer(place, cosine);
        }
    }
    best.into_sorted()
}

/// Select the rows for the exact comparison.
fn shortlist(view: &View, places: &[u32], query: &[f32], limit: usize) -> Vec<u32> {
    let query = quantise(query);
    let mut best = Best::new(limit);
    for (at, &place) in places.iter().enumerate() {
        if let Some(ahead) = places.get(at + PREFETCHED) {
            view.mirror.prefetch(*ahead);
        }
        if let Some(product) = view.mirror.rough_product(&query, place) {
            best.offer(place, product as f32);
        }
    }
    best.into_sorted().into_iter().map(|scored| scored.item).collect()
}
