//! Selection of the best of many scored items.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

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
