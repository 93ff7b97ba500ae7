//! Preselection of rows by the signs of their vectors, for a long scan.
//!
//! The number of differing signs selects the rows for a better comparison, the product of the query with the signs. Both
//! read only the signs.

use super::NONE;
use super::filter::Filter;
use super::view::View;
use crate::index::signs::{SignProducts, signs};

/// Least number of rows that are selected by the product with the signs.
const LEAST: usize = 1_024;
/// At least one of so many rows is selected by the product with the signs.
const SHARE: usize = 96;
/// For each vector that is selected by the product, so many are selected by the number of differing signs.
const BY_NUMBER: usize = 5;
/// Signs are prefetched so many vectors before they are compared.
const PREFETCHED: usize = 12;

/// Select the nearest of the given rows, in the given order.
pub fn among(view: &View, places: &[u32], query: &[f32]) -> Vec<u32> {
    let wanted = LEAST.max(places.len() / SHARE);
    let differing = compare_signs(view, places, &signs(query));
    let (bar, _) = Histogram::of(&differing, query.len()).bar(BY_NUMBER * wanted);
    let mut near: Vec<u32> =
        places.iter().zip(differing).filter(|(_, count)| *count <= bar).map(|(place, _)| *place).collect();
    if near.len() > wanted {
        let query = SignProducts::of(query);
        let product = |place: &u32| view.mirror.sign_product(&query, *place).unwrap_or(i32::MIN);
        let products = near.iter().map(product).collect();
        retain_best(&mut near, products, wanted);
    }
    near
}

/// Select the nearest of all rows that pass a filter, about `passing` rows, sorted by place.
///
/// The signs of all vectors are compared first, because they stand one after the other. The filter is applied to the
/// nearest only. If few of them pass, more are selected.
pub fn of_all(view: &View, filter: &Filter, passing: usize, query: &[f32]) -> Vec<u32> {
    let (mirror, slab) = (&view.mirror, view.mirror.slab());
    let wanted = LEAST.max(passing / SHARE);
    let differing = slab.count_differing_signs(&signs(query));
    // The last run of slots may reach beyond the last block of vectors.
    let differing = &differing[..mirror.rows_of_slots().len().min(differing.len())];
    let histogram = Histogram::of(differing, query.len());
    let products_with = SignProducts::of(query);
    let mut selected = (wanted * mirror.live_slots()).div_ceil(passing.max(1));
    loop {
        let (bar, count) = histogram.bar(BY_NUMBER * selected);
        let mut slots = slots_up_to(bar, differing, count);
        let is_all = differing.len() <= selected;
        if slots.len() > selected {
            let product = |(at, slot): (usize, &u32)| {
                slab.prefetch_signs(slots[(at + PREFETCHED).min(slots.len() - 1)]);
                slab.sign_product(&products_with, *slot)
            };
            let products = slots.iter().enumerate().map(product).collect();
            retain_best(&mut slots, products, selected);
        }
        let mut near: Vec<u32> = slots.iter().map(|slot| mirror.row_of_slot(*slot)).collect();
        near.dedup(); // The chunks of a row are adjacent.
        near.retain(|place| *place != NONE && filter.allows(mirror.row(*place)));
        if is_all || near.len() >= wanted / 2 {
            near.sort_unstable();
            return near;
        }
        selected *= 4;
    }
}

/// Return the slots with at most `bar` differing signs, which are `count` slots.
fn slots_up_to(bar: u16, differing: &[u16], count: usize) -> Vec<u32> {
    // Without branches, because the processor could not predict them.
    let (mut slots, mut found) = (vec![0; count + 1], 0);
    for (slot, differing) in differing.iter().enumerate() {
        slots[found] = slot as u32;
        found += usize::from(*differing <= bar);
    }
    slots.truncate(found);
    slots
}

/// Retain the `wanted` items with the greatest products, in their order. Ties are all retained.
fn retain_best(items: &mut Vec<u32>, products: Vec<i32>, wanted: usize) {
    let mut sorted = products.clone();
    let (_, bar, _) = sorted.select_nth_unstable_by(wanted - 1, |a, b| b.cmp(a));
    let mut products = products.into_iter();
    items.retain(|_| products.next().is_some_and(|product| product >= *bar));
}

/// Number of vectors by their number of differing signs.
struct Histogram(Vec<usize>);

impl Histogram {
    fn of(differing: &[u16], dimension: usize) -> Self {
        let mut vectors_with = vec![0; dimension + 1];
        for count in differing {
            if let Some(vectors) = vectors_with.get_mut(usize::from(*count)) {
                *vectors += 1;
            }
        }
        Self(vectors_with)
    }

    /// Return the least number of differing signs that at least `wanted` vectors do not exceed, or the greatest one, and
    /// how many vectors do not exceed it.
    fn bar(&self, wanted: usize) -> (u16, usize) {
        let mut selected = 0;
        for (count, vectors) in self.0.iter().enumerate() {
            selected += vectors;
            if selected >= wanted {
                return (count as u16, selected);
            }
        }
        (self.0.len().saturating_sub(1) as u16, selected)
    }
}

/// Return the number of differing signs of each row, which is `u16::MAX` for a row without vectors.
fn compare_signs(view: &View, places: &[u32], signs: &[u64]) -> Vec<u16> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the required processor feature was just detected.
        return unsafe { compare_signs_with_popcnt(view, places, signs) };
    }
    compare_signs_portably(view, places, signs)
}

/// As [`compare_signs_portably`], compiled for processors that count bits with one instruction.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn compare_signs_with_popcnt(view: &View, places: &[u32], signs: &[u64]) -> Vec<u16> {
    compare_signs_portably(view, places, signs)
}

// It has a plain loop, because a closure would be compiled without the features of the processor.
#[expect(clippy::inline_always, reason = "inlined, it is compiled for the features of the processor")]
#[inline(always)]
fn compare_signs_portably(view: &View, places: &[u32], signs: &[u64]) -> Vec<u16> {
    let mut differing = vec![u16::MAX; places.len()];
    for (differing, place) in differing.iter_mut().zip(places) {
        if let Some(count) = view.mirror.differing_signs(signs, *place) {
            *differing = count as u16;
        }
    }
    differing
}
