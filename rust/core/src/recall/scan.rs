//! A scan of rows for the vectors nearest to a query.
//!
//! Each step compares fewer rows more exactly: signs, then eight bits per component, then half precision. A scan of few
//! rows begins with a later step.

use super::view::View;
use crate::index::exact::{Best, Scored};
use crate::index::quantised::quantise;
use crate::index::signs::signs;

/// Number of rows whose vectors are prefetched ahead of the comparison.
const PREFETCHED: usize = 6;
/// Up to this number of rows, signs are not compared.
const FEW: usize = 8_192;
/// Least number of rows that the comparison of signs selects.
const LEAST_BY_SIGNS: usize = 4_096;
/// The comparison of signs selects at least one of so many rows.
const SHARE_BY_SIGNS: usize = 20;

/// Return at most `depth` of the given rows with their cosine, nearest first. Rows without vectors are skipped.
pub fn scan(view: &View, places: &[u32], query: &[f32], depth: usize) -> Vec<Scored<u32>> {
    let shortlisted = depth + depth / 2;
    if places.len() <= 2 * shortlisted {
        return rank_exactly(view, places.iter().copied(), query, depth);
    }
    let shortlist = if places.len() > FEW {
        shortlist(view, &preselect(view, places, query), query, shortlisted)
    } else {
        shortlist(view, places, query, shortlisted)
    };
    rank_exactly(view, shortlist.into_iter().map(|scored| scored.item), query, depth)
}

fn rank_exactly(view: &View, places: impl Iterator<Item = u32>, query: &[f32], depth: usize) -> Vec<Scored<u32>> {
    let mut best = Best::new(depth);
    for place in places {
        if let Some(cosine) = view.mirror.cosine(query, place) {
            best.offer(place, cosine);
        }
    }
    best.into_sorted()
}

/// Select the rows for the exact comparison.
fn shortlist(view: &View, places: &[u32], query: &[f32], limit: usize) -> Vec<Scored<u32>> {
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
    best.into_sorted()
}

/// Select the rows whose signs agree most with the query, in the given order. Ties are all selected.
fn preselect(view: &View, places: &[u32], query: &[f32]) -> Vec<u32> {
    let limit = LEAST_BY_SIGNS.max(places.len() / SHARE_BY_SIGNS);
    let (differing, rows_with) = compare_signs(view, places, &signs(query), query.len());
    let mut selected = 0;
    let most = rows_with.iter().position(|rows| {
        selected += rows;
        selected >= limit
    });
    let most = most.unwrap_or(query.len()) as u32;
    places.iter().zip(differing).filter(|(_, differing)| *differing <= most).map(|(place, _)| *place).collect()
}

/// Return the number of differing signs of each row, which is `u32::MAX` for a row without vectors, and the number of
/// rows with each number.
fn compare_signs(view: &View, places: &[u32], signs: &[u64], dimension: usize) -> (Vec<u32>, Vec<usize>) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the required processor feature was just detected.
        return unsafe { compare_signs_with_popcnt(view, places, signs, dimension) };
    }
    compare_signs_portably(view, places, signs, dimension)
}

/// As [`compare_signs_portably`], compiled for processors that count bits with one instruction.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn compare_signs_with_popcnt(view: &View, places: &[u32], signs: &[u64], dimension: usize) -> (Vec<u32>, Vec<usize>) {
    compare_signs_portably(view, places, signs, dimension)
}

#[expect(clippy::inline_always, reason = "inlined, it is compiled for the features of the processor")]
#[inline(always)]
fn compare_signs_portably(view: &View, places: &[u32], signs: &[u64], dimension: usize) -> (Vec<u32>, Vec<usize>) {
    let (mut differing, mut rows_with) = (vec![u32::MAX; places.len()], vec![0; dimension + 1]);
    for (differing, &place) in differing.iter_mut().zip(places) {
        if let Some(count) = view.mirror.differing_signs(signs, place) {
            rows_with[count as usize] += 1;
            *differing = count;
        }
    }
    (differing, rows_with)
}
