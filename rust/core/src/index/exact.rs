//! Exact comparison of half-precision vectors with a single-precision query, and selection of the best.
//!
//! The kernel is chosen once, by the features of the processor. All kernels give equal scores up to rounding in the last
//! bits, and a vector gets the same score from a scan as from the graph.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

use half::f16;

use super::slab::Slab;

/// Inner product of a single-precision and a half-precision vector.
///
/// # Panics
///
/// If the lengths differ; callers compare vectors of one model only.
#[inline]
pub fn dot(query: &[f32], row: &[f16]) -> f32 {
    assert_eq!(query.len(), row.len(), "compared vectors must have the same length");
    (KERNELS.dot)(query, row)
}

/// A slot, and the weight of its vector in a sum.
pub type Weighted = (u32, f32);

/// Product of a query and the weighted sum of the vectors of some slots, and the squared length of the sum.
///
/// # Panics
///
/// If the lengths differ; callers compare vectors of one model only.
#[inline]
pub(super) fn project_sum(slab: &Slab, query: &[f32], weighted: &[Weighted]) -> (f32, f32) {
    assert_eq!(query.len(), slab.dimension(), "compared vectors must have the same length");
    (KERNELS.project_sum)(slab, query, weighted)
}

struct Kernels {
    dot: fn(&[f32], &[f16]) -> f32,
    project_sum: ProjectSum,
}

type ProjectSum = fn(&Slab, &[f32], &[Weighted]) -> (f32, f32);

static KERNELS: LazyLock<Kernels> = LazyLock::new(|| {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c")
    {
        return Kernels {
            // SAFETY: the required processor features were just detected.
            dot: |query, row| unsafe { x86::dot(query, row) },
            // SAFETY: as above.
            project_sum: |slab, query, weighted| unsafe { x86::project_sum(slab, query, weighted) },
        };
    }
    Kernels { dot: portable_dot, project_sum: portable_project_sum }
});

fn portable_project_sum(slab: &Slab, query: &[f32], weighted: &[Weighted]) -> (f32, f32) {
    project_sum_from(0, slab, query, weighted)
}

/// Sum up the components from number `first` on.
fn project_sum_from(first: usize, slab: &Slab, query: &[f32], weighted: &[Weighted]) -> (f32, f32) {
    let (mut product, mut squares) = (0.0, 0.0);
    for (at, query) in query.iter().enumerate().skip(first) {
        let sum: f32 = weighted.iter().map(|(slot, weight)| weight * slab.get(*slot)[at].to_f32()).sum();
        product += sum * query;
        squares += sum * sum;
    }
    (product, squares)
}

fn portable_dot(query: &[f32], row: &[f16]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (queries, query_rest) = query.as_chunks::<8>();
    let (rows, row_rest) = row.as_chunks::<8>();
    for (a, b) in queries.iter().zip(rows) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane].to_f32();
        }
    }
    let rest: f32 = query_rest.iter().zip(row_rest).map(|(a, b)| a * b.to_f32()).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256, _mm_loadu_si128, _mm256_add_ps, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps,
        _mm256_setzero_ps, _mm256_storeu_ps,
    };

    use half::f16;

    use super::{Slab, Weighted};

    /// Inner product, sixteen lanes at a time.
    #[target_feature(enable = "avx2,fma,f16c")]
    pub fn dot(query: &[f32], row: &[f16]) -> f32 {
        let (queries, query_rest) = query.as_chunks::<16>();
        let (rows, row_rest) = row.as_chunks::<16>();
        let mut low = _mm256_setzero_ps();
        let mut high = _mm256_setzero_ps();
        for (a, b) in queries.iter().zip(rows) {
            // SAFETY: each pointer reads 8 of the 16 values that its array holds; unaligned loads are asked for, and
            // f16 has the layout of u16.
            unsafe {
                let first = _mm256_cvtph_ps(_mm_loadu_si128(b.as_ptr().cast()));
                let second = _mm256_cvtph_ps(_mm_loadu_si128(b.as_ptr().add(8).cast()));
                low = _mm256_fmadd_ps(_mm256_loadu_ps(a.as_ptr()), first, low);
                high = _mm256_fmadd_ps(_mm256_loadu_ps(a.as_ptr().add(8)), second, high);
            }
        }
        let rest: f32 = query_rest.iter().zip(row_rest).map(|(a, b)| a * b.to_f32()).sum();
        add_lanes(_mm256_add_ps(low, high)) + rest
    }

    /// Products of the weighted sum, eight lanes at a time. The sum stays in registers.
    #[target_feature(enable = "avx2,fma,f16c")]
    pub fn project_sum(slab: &Slab, query: &[f32], weighted: &[Weighted]) -> (f32, f32) {
        let (queries, rest) = query.as_chunks::<8>();
        let (mut products, mut squares) = (_mm256_setzero_ps(), _mm256_setzero_ps());
        for (at, query) in queries.iter().enumerate() {
            let mut sum = _mm256_setzero_ps();
            for (slot, weight) in weighted {
                let row = &slab.get(*slot).as_chunks::<8>().0[at];
                // SAFETY: the pointer reads the 8 values that its array holds; f16 has the layout of u16.
                let values = _mm256_cvtph_ps(unsafe { _mm_loadu_si128(row.as_ptr().cast()) });
                sum = _mm256_fmadd_ps(_mm256_set1_ps(*weight), values, sum);
            }
            // SAFETY: the pointer reads the 8 values that its array holds.
            products = _mm256_fmadd_ps(sum, unsafe { _mm256_loadu_ps(query.as_ptr()) }, products);
            squares = _mm256_fmadd_ps(sum, sum, squares);
        }
        let (product, square) = super::project_sum_from(query.len() - rest.len(), slab, query, weighted);
        (product + add_lanes(products), square + add_lanes(squares))
    }

    #[target_feature(enable = "avx2")]
    fn add_lanes(values: __m256) -> f32 {
        let mut lanes = [0.0_f32; 8];
        // SAFETY: `lanes` holds the eight values that are stored.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), values) };
        lanes.iter().sum()
    }
}

/// An item with a score. A greater score is better; equal scores are ordered by item, smaller first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored<T> {
    /// The item.
    pub item: T,
    /// The score.
    pub score: f32,
}

impl<T: Ord> Eq for Scored<T> where T: PartialEq {}

impl<T: Ord> Ord for Scored<T> {
    /// Order worse items as greater, so that the top of a max-heap is the item to replace.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.item.cmp(&other.item))
    }
}

impl<T: Ord> PartialOrd for Scored<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Collects the best `limit` of the offered items.
#[derive(Debug, Clone)]
pub struct Best<T: Ord> {
    limit: usize,
    heap: BinaryHeap<Scored<T>>,
}

impl<T: Ord + Copy> Best<T> {
    /// Create an empty collection of at most `limit` items.
    pub fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::with_capacity(limit + 1) }
    }

    /// Offer an item. Return whether it is among the best so far.
    #[inline]
    pub fn offer(&mut self, item: T, score: f32) -> bool {
        let offered = Scored { item, score };
        if self.heap.len() < self.limit {
            self.heap.push(offered);
            return true;
        }
        match self.heap.peek_mut() {
            Some(mut worst) if offered < *worst => {
                *worst = offered;
                true
            }
            _ => false,
        }
    }

    /// Score that a new item must exceed; `f32::MIN` while fewer than `limit` items are collected.
    #[inline]
    pub fn threshold(&self) -> f32 {
        if self.heap.len() < self.limit { f32::MIN } else { self.heap.peek().map_or(f32::MAX, |worst| worst.score) }
    }

    /// Return the collected items, best first.
    pub fn into_sorted(self) -> Vec<Scored<T>> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn dot_kernels_agree_with_f64(values in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 0..100)) {
            let query: Vec<f32> = values.iter().map(|pair| pair.0).collect();
            let row: Vec<f16> = values.iter().map(|pair| f16::from_f32(pair.1)).collect();
            let exact: f64 = query.iter().zip(&row).map(|(a, b)| f64::from(*a) * b.to_f64()).sum();
            prop_assert!((f64::from(dot(&query, &row)) - exact).abs() < 1e-4);
            prop_assert!((f64::from(portable_dot(&query, &row)) - exact).abs() < 1e-4);
        }

        #[test]
        fn cosine_of_sum_equals_cosine_of_summed_vectors(
            query in prop::collection::vec(-1.0_f32..1.0, 1..40),
            parts in prop::collection::vec((0..4_u32, 0.0_f32..2.0), 1..6),
        ) {
            let dimension = query.len();
            let mut slab = Slab::new(dimension);
            let value = |slot: u32, lane: usize| f16::from_f32((slot as usize * 7 + lane * 3) as f32 % 5.0 - 1.7);
            for slot in 0..4 {
                slab.put(slot, &(0..dimension).flat_map(|lane| value(slot, lane).to_le_bytes()).collect::<Vec<u8>>());
            }
            let sum: Vec<f64> = (0..dimension)
                .map(|lane| parts.iter().map(|(slot, weight)| f64::from(*weight) * value(*slot, lane).to_f64()).sum())
                .collect();
            let product: f64 = sum.iter().zip(&query).map(|(a, b)| a * f64::from(*b)).sum();
            let squares: f64 = sum.iter().map(|value| value * value).sum();
            for (found, squared) in [
                (KERNELS.project_sum)(&slab, &query, &parts),
                portable_project_sum(&slab, &query, &parts),
            ] {
                prop_assert!((f64::from(found) - product).abs() < 1e-3, "{found} {product}");
                prop_assert!((f64::from(squared) - squares).abs() < 1e-3 * (1.0 + squares), "{squared} {squares}");
            }
            let cosine = slab.cosine_of_sum(&query, &parts);
            prop_assert!(cosine.is_none_or(|cosine| (f64::from(cosine) - product / squares.sqrt()).abs() < 1e-2));
        }

        #[test]
        fn best_equals_sorting_and_truncating(scores in prop::collection::vec(-5..5_i8, 0..60), limit in 1..8_usize) {
            let mut best = Best::new(limit);
            for (item, score) in scores.iter().enumerate() {
                best.offer(item, f32::from(*score));
            }
            let mut sorted: Vec<(i8, usize)> = scores.iter().enumerate().map(|(item, score)| (-score, item)).collect();
            sorted.sort_unstable();
            let wanted: Vec<usize> = sorted.into_iter().take(limit).map(|pair| pair.1).collect();
            let found: Vec<usize> = best.into_sorted().into_iter().map(|scored| scored.item).collect();
            prop_assert_eq!(found, wanted);
        }
    }
}
