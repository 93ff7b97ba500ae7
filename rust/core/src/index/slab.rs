//! Vectors of one dimension by slot: in half precision, quantised, and as signs.
//!
//! A long scan selects the vectors to compare exactly by their quantised form and their signs.

use std::ops::Range;

use half::f16;
use half::slice::HalfBitsSliceExt;

use super::signs::SignProducts;
use super::{exact, quantised, signs};

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

    /// The signs of a slot.
    #[inline]
    fn signs(&self, slot: u32) -> &[u64] {
        &self.blocks[slot as usize / BLOCK_ROWS].signs[self.signs_within_block(slot)]
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
        prefetch_all(self.quantised(slot));
    }

    /// Prefetch an exact vector into the processor's cache.
    #[inline]
    pub fn prefetch_exact(&self, slot: u32) {
        prefetch_all(self.get(slot));
    }

    /// Prefetch the signs of a slot into the processor's cache.
    #[inline]
    pub fn prefetch_signs(&self, slot: u32) {
        prefetch_all(self.signs(slot));
    }

    /// Cosine of a unit query and the unit vector of a slot.
    #[inline]
    pub fn cosine(&self, query: &[f32], slot: u32) -> f32 {
        exact::dot(query, self.get(slot))
    }

    /// Inner product of a quantised query and a slot. It orders slots as the cosine does, except for near-ties.
    #[inline]
    pub fn rough_product(&self, query: &[i8], slot: u32) -> i32 {
        quantised::dot(query, self.quantised(slot))
    }

    /// Number of components whose sign differs between a query and a slot.
    #[inline]
    pub fn differing_signs(&self, query: &[u64], slot: u32) -> u32 {
        signs::differing(query, self.signs(slot))
    }

    /// Number of components whose sign differs between a query and each slot, including unused slots.
    pub fn count_differing_signs(&self, query: &[u64]) -> Vec<u16> {
        let mut differing = vec![0; BLOCK_ROWS * self.blocks.len()];
        for (block, counts) in self.blocks.iter().zip(differing.chunks_mut(BLOCK_ROWS)) {
            signs::count_differing(query, &block.signs, counts);
        }
        differing
    }

    /// Product of a query and the signs of a slot. It orders slots roughly as the cosine does.
    #[inline]
    pub fn sign_product(&self, query: &SignProducts, slot: u32) -> i32 {
        query.with(self.signs(slot))
    }
}

#[inline]
fn prefetch_all<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for line in values.chunks(LINE / size_of::<T>()) {
        // SAFETY: a prefetch of a valid reference has no effect but on the cache.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

#[cfg(test)]
mod tests {
    use super::*;

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
