//! Exact comparison of half-precision vectors with a single-precision query, and selection of the best.
//!
//! Each vector is also stored in quantised form and as signs, by which a long scan selects the vectors to compare
//! exactly. The kernel is chosen once, by the features of the processor. All kernels give equal scores up to rounding in the last
//! bits, and a vector gets the same score from a scan as from the graph.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::LazyLock;

use half::f16;
use half::slice::HalfBitsSliceExt;

use super::{quantised, signs};

/// Number of rows per allocation. The slab grows by whole blocks, so existing rows are never copied.
const BLOCK_ROWS: usize = 2048;
/// Size of a cache line in bytes.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Vectors of one dimension, addressed by slot. Unused slots are zero, and whole unused pages take no memory.
#[derive(Debug, Default)]
pub struct Slab {
    dimension: usize,
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    exact: Vec<u16>,
    quantised: Vec<i8>,
    signs: Vec<u64>,
}

impl Slab {
    /// Create an empty slab for vectors of `dimension`.
    pub fn new(dimension: usize) -> Self {
        Self { dimension, blocks: Vec::new() }
    }

    /// Dimension of the vectors.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Store a vector. The caller must have checked its length.
    pub fn put(&mut self, slot: u32, little_endian: &[u8]) {
        debug_assert_eq!(little_endian.len(), 2 * self.dimension);
        let values = BLOCK_ROWS * self.dimension;
        let block = slot as usize / BLOCK_ROWS;
        while self.blocks.len() <= block {
            let signs = vec![0; BLOCK_ROWS * signs::words(self.dimension)];
            self.blocks.push(Block { exact: vec![0; values], quantised: vec![0; values], signs });
        }
        let (within, of_signs) = (self.within_block(slot), self.signs_within_block(slot));
        let Block { exact, quantised, signs } = &mut self.blocks[block];
        let exact = &mut exact[within.clone()];
        for (value, pair) in exact.iter_mut().zip(little_endian.as_chunks::<2>().0) {
            *value = u16::from_le_bytes(*pair);
        }
        quantised::quantise_into(exact.reinterpret_cast(), &mut quantised[within]);
        signs::signs_into(exact.reinterpret_cast(), &mut signs[of_signs]);
    }

    /// The vector of a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> &[f16] {
        self.blocks[slot as usize / BLOCK_ROWS].exact[self.within_block(slot)].reinterpret_cast()
    }

    /// The quantised vector of a slot.
    #[inline]
    fn quantised(&self, slot: u32) -> &[i8] {
        &self.blocks[slot as usize / BLOCK_ROWS].quantised[self.within_block(slot)]
    }

    #[inline]
    fn within_block(&self, slot: u32) -> Range<usize> {
        let start = (slot as usize % BLOCK_ROWS) * self.dimension;
        start..start + self.dimension
    }

    #[inline]
    fn signs_within_block(&self, slot: u32) -> Range<usize> {
        let words = signs::words(self.dimension);
        let start = (slot as usize % BLOCK_ROWS) * words;
        start..start + words
    }

    /// Prefetch a quantised vector into the processor's cache.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        #[cfg(target_arch = "x86_64")]
        for line in self.quantised(slot).chunks(LINE) {
            // SAFETY: a prefetch of a valid reference has no effect but on the cache.
            unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = slot;
    }

    /// Cosine of a unit query and the unit vector of a slot.
    #[inline]
    pub fn cosine(&self, query: &[f32], slot: u32) -> f32 {
        dot(query, self.get(slot))
    }

    /// Add the weighted vector of a slot to a sum.
    pub fn add_to(&self, slot: u32, weight: f32, sum: &mut [f32]) {
        (KERNELS.add)(sum, weight, self.get(slot));
    }

    /// Inner product of a quantised query and a slot. It orders slots as the cosine does, except for near-ties.
    #[inline]
    pub fn rough_product(&self, query: &[i8], slot: u32) -> i32 {
        quantised::dot(query, self.quantised(slot))
    }

    /// Number of components whose sign differs between a query and a slot.
    #[inline]
    pub fn differing_signs(&self, query: &[u64], slot: u32) -> u32 {
        signs::differing(query, &self.blocks[slot as usize / BLOCK_ROWS].signs[self.signs_within_block(slot)])
    }
}

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

struct Kernels {
    dot: fn(&[f32], &[f16]) -> f32,
    add: fn(&mut [f32], f32, &[f16]),
}

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
            add: |sum, weight, row| unsafe { x86::add(sum, weight, row) },
        };
    }
    Kernels { dot: portable_dot, add: portable_add }
});

fn portable_add(sum: &mut [f32], weight: f32, row: &[f16]) {
    for (sum, value) in sum.iter_mut().zip(row) {
        *sum += weight * value.to_f32();
    }
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
        _mm_loadu_si128, _mm256_add_ps, _mm256_cvtph_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps,
        _mm256_setzero_ps, _mm256_storeu_ps,
    };

    use half::f16;

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
        let mut lanes = [0.0_f32; 8];
        // SAFETY: `lanes` holds the eight values that are stored.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), _mm256_add_ps(low, high)) };
        let rest: f32 = query_rest.iter().zip(row_rest).map(|(a, b)| a * b.to_f32()).sum();
        lanes.iter().sum::<f32>() + rest
    }

    /// Weighted sum, eight lanes at a time.
    #[target_feature(enable = "avx2,fma,f16c")]
    pub fn add(sum: &mut [f32], weight: f32, row: &[f16]) {
        let (sums, sum_rest) = sum.as_chunks_mut::<8>();
        let (rows, row_rest) = row.as_chunks::<8>();
        let factor = _mm256_set1_ps(weight);
        for (sum, row) in sums.iter_mut().zip(rows) {
            // SAFETY: each pointer reads or writes the 8 values that its array holds; f16 has the layout of u16.
            unsafe {
                let values = _mm256_cvtph_ps(_mm_loadu_si128(row.as_ptr().cast()));
                let added = _mm256_fmadd_ps(factor, values, _mm256_loadu_ps(sum.as_ptr()));
                _mm256_storeu_ps(sum.as_mut_ptr(), added);
            }
        }
        super::portable_add(sum_rest, weight, row_rest);
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
        fn add_kernels_agree(values in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 0..100)) {
            let row: Vec<f16> = values.iter().map(|pair| f16::from_f32(pair.1)).collect();
            let (mut fast, mut portable): (Vec<f32>, Vec<f32>) = values.iter().map(|pair| (pair.0, pair.0)).unzip();
            (KERNELS.add)(&mut fast, 0.3, &row);
            portable_add(&mut portable, 0.3, &row);
            prop_assert!(fast.iter().zip(&portable).all(|(a, b)| (a - b).abs() < 1e-6));
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

    #[test]
    fn slab_returns_stored_vectors_across_blocks() {
        let mut slab = Slab::new(3);
        for number in (0..5000_u16).rev() {
            let row: Vec<u8> =
                [0, 1, 2].iter().flat_map(|lane| f16::from_f32(f32::from(number % 500 + lane)).to_le_bytes()).collect();
            slab.put(u32::from(number), &row);
        }
        assert_eq!(slab.get(4999), [f16::from_f32(499.0), f16::from_f32(500.0), f16::from_f32(501.0)]);
        assert_eq!(slab.get(2048)[0], f16::from_f32(48.0));
    }
}
