//! Search of a graph for the vectors nearest to a query.
//!
//! A search compares the eight-bit vectors of the mirror. The graph has no vectors of its own. After all memories of an
//! embedding were deleted, the mirror may not have its vector any more. Where many of a node's links lead to such nodes, the
//! search passes through them to the nodes that they are linked to.

use std::collections::BinaryHeap;

use super::links::Links;
use crate::index::best::Best;
use crate::index::quantised::quantise;
use crate::index::slab::Slab;

/// HNSW: nearest vectors considered while searching.
const EF_SEARCH: usize = 64;
/// A search passes through at most this number of nodes without a vector. A purged project may leave many more.
const MOST_EMPTY: usize = 1_024;
/// The search passes through the nodes without a vector that a node is linked to if they are more than one in this number
/// of its links. Fewer do not separate the nodes around them. Passing through all of them would take several times as long
/// as the rest of the search.
const LINKS_PER_EMPTY: usize = 4;

/// The vectors that a search compares.
pub struct Vectors<'a, S> {
    /// The vectors by slot.
    pub slab: &'a Slab,
    /// Returns a slot with the vector of an embedding; `None` if there is none.
    pub slot_of: S,
}

impl Links {
    /// Find the embeddings nearest to a query among those that `allows` accepts, nearest first.
    pub fn search(
        &self,
        vectors: &Vectors<'_, impl Fn(i64) -> Option<u32>>,
        query: &[f32],
        limit: usize,
        allows: impl Fn(i64) -> bool,
    ) -> Vec<i64> {
        if self.is_empty() {
            return Vec::new();
        }
        let query = quantise(query);
        let start = self.descend(vectors, &query);
        let mut best = Best::new(limit.max(EF_SEARCH));
        let visited = vec![0; self.len().div_ceil(64)];
        let mut walk = Walk { links: self, vectors, visited, fresh: Vec::new(), empty: Vec::new(), passed: 0 };
        let mut waiting = BinaryHeap::new();
        walk.visit(&[start]);
        loop {
            for (node, slot) in walk.fresh.drain(..) {
                let product = vectors.slab.rough_product(&query, slot);
                if product as f32 > best.threshold() {
                    waiting.push((product, node));
                    if allows(self.embedding(node)) {
                        best.offer(node, product as f32);
                    }
                }
            }
            match waiting.pop() {
                Some((product, node)) if product as f32 >= best.threshold() => walk.visit(self.of(node)),
                _ => break,
            }
        }
        let found = best.into_sorted().into_iter().take(limit);
        found.map(|scored| self.embedding(scored.item)).collect()
    }

    /// Follow the links of the upper levels to the node nearest to the query.
    fn descend(&self, vectors: &Vectors<'_, impl Fn(i64) -> Option<u32>>, query: &[i8]) -> u32 {
        let product = |node: u32| {
            (vectors.slot_of)(self.embedding(node)).map_or(i32::MIN, |slot| vectors.slab.rough_product(query, slot))
        };
        let (mut nearest, mut greatest) = (self.entry(), product(self.entry()));
        for level in (1..=self.upper_levels()).rev() {
            loop {
                let linked = self.above(level, nearest);
                for slot in linked.iter().filter_map(|node| (vectors.slot_of)(self.embedding(*node))) {
                    vectors.slab.prefetch(slot);
                }
                let next = linked.iter().map(|node| (product(*node), *node)).max();
                match next.filter(|next| next.0 > greatest) {
                    Some(next) => (greatest, nearest) = next,
                    None => break,
                }
            }
        }
        nearest
    }
}

/// The way of one search through the lowest level.
struct Walk<'a, S> {
    links: &'a Links,
    vectors: &'a Vectors<'a, S>,
    /// Bit of each node that was visited.
    visited: Vec<u64>,
    /// Nodes visited last, with the slots of their vectors.
    fresh: Vec<(u32, u32)>,
    /// Nodes without a vector that the search has reached, and has not passed through yet.
    empty: Vec<u32>,
    /// Number of nodes without a vector that the search has passed through.
    passed: usize,
}

impl<S: Fn(i64) -> Option<u32>> Walk<'_, S> {
    /// Collect the nodes that were not visited yet, and prefetch their vectors. Nodes without a vector are replaced by the
    /// nodes that they are linked to if they are many.
    fn visit(&mut self, nodes: &[u32]) {
        self.collect(nodes);
        while self.passed < MOST_EMPTY
            && let Some(node) = self.empty.pop()
        {
            self.passed += 1;
            self.collect(self.links.of(node));
        }
    }

    #[inline]
    fn collect(&mut self, nodes: &[u32]) {
        let known = self.empty.len();
        for &node in nodes {
            if self.is_visited(node) {
                continue;
            }
            match (self.vectors.slot_of)(self.links.embedding(node)) {
                Some(slot) => {
                    self.mark_visited(node);
                    self.vectors.slab.prefetch(slot);
                    self.fresh.push((node, slot));
                }
                None => self.empty.push(node),
            }
        }
        if (self.empty.len() - known) * LINKS_PER_EMPTY <= nodes.len() {
            // Not visited, because another node may have no other links.
            self.empty.truncate(known);
        }
        for at in known..self.empty.len() {
            self.mark_visited(self.empty[at]);
        }
    }

    #[inline]
    fn is_visited(&self, node: u32) -> bool {
        self.visited[node as usize / 64] & (1 << (node % 64)) != 0
    }

    #[inline]
    fn mark_visited(&mut self, node: u32) {
        self.visited[node as usize / 64] |= 1 << (node % 64);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use half::f16;

    use super::super::build::Graph;
    use super::*;
    use crate::index::exact;

    const DIMENSION: usize = 64;

    /// Unit vectors around some centres, by a fixed sequence of pseudo-random numbers.
    fn clustered(count: usize, centres: usize) -> Vec<Vec<f32>> {
        let mut state = 7_u64;
        let mut noise = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        let centres: Vec<Vec<f32>> = (0..centres).map(|_| (0..DIMENSION).map(|_| noise()).collect()).collect();
        let around = |centre: &[f32], noise: &mut dyn FnMut() -> f32| {
            let raw: Vec<f32> = centre.iter().map(|value| value + 0.7 * noise()).collect();
            let length = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
            raw.iter().map(|value| value / length).collect()
        };
        (0..count).map(|number| around(&centres[number % centres.len()], &mut noise)).collect()
    }

    /// Build a graph of these vectors in two steps, and read its links. The vector in slot N belongs to embedding N + 1.
    fn prepared(vectors: &[Vec<f32>]) -> (Links, Slab) {
        let halves = |vector: &[f32]| vector.iter().map(|value| f16::from_f32(*value)).collect::<Vec<f16>>();
        let rows: Vec<(i64, Vec<f16>)> = (1..).zip(vectors.iter().map(|vector| halves(vector))).collect();
        let mut slab = Slab::new(DIMENSION);
        for (slot, (_, row)) in (0..).zip(&rows) {
            slab.put(slot, &row.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g");
        let (first, second) = rows.split_at(rows.len() / 2);
        let graph = Graph::new(DIMENSION, first.len(), 1).unwrap();
        graph.add(first, 1, &|| false).unwrap();
        graph.save(&path).unwrap();
        let graph = Graph::load(&path, DIMENSION, 1).unwrap();
        graph.grow(second.len(), 1).unwrap();
        graph.add(second, 1, &|| false).unwrap();
        graph.save(&path).unwrap();
        let content = std::fs::read(path).unwrap();
        let links = Links::read(&mut content.as_slice(), DIMENSION, rows.len() as i64).unwrap();
        assert_eq!((links.len(), links.contains(1), links.contains(0)), (rows.len(), true, false));
        (links, slab)
    }

    /// Share of the ten nearest accepted vectors that searches find, if some embeddings have no vector.
    fn share_found(
        all: &[Vec<f32>],
        has_vector: impl Fn(i64) -> bool + Copy,
        allows: impl Fn(i64) -> bool + Copy,
    ) -> f64 {
        let (links, slab) = prepared(all);
        let vectors =
            Vectors { slab: &slab, slot_of: |embedding: i64| has_vector(embedding).then(|| embedding as u32 - 1) };
        let (mut found, mut wanted) = (0, 0);
        for query in all.iter().step_by(41) {
            let mut nearest = Best::new(10);
            for (embedding, slot) in (1..).zip(0..all.len() as u32) {
                if has_vector(embedding) && allows(embedding) {
                    nearest.offer(embedding, exact::dot(query, slab.get(slot)));
                }
            }
            let answer = links.search(&vectors, query, 64, allows);
            assert!(answer.iter().all(|embedding| has_vector(*embedding) && allows(*embedding)));
            let nearest = nearest.into_sorted();
            wanted += nearest.len();
            found += nearest.iter().filter(|scored| answer.contains(&scored.item)).count();
        }
        f64::from(found as u32) / f64::from(wanted as u32)
    }

    #[test]
    fn search_finds_the_nearest_vectors() {
        let all = clustered(4_000, 40);
        assert!(share_found(&all, |_| true, |_| true) > 0.98);
        assert!(share_found(&all, |_| true, |embedding| embedding % 3 == 0) > 0.98);
    }

    #[test]
    fn search_passes_through_nodes_without_a_vector() {
        let all = clustered(4_000, 40);
        assert!(share_found(&all, |embedding| embedding % 23 == 0, |_| true) > 0.95);
        // Whole clusters, as after the deletion of a project.
        assert!(share_found(&all, |embedding| embedding % 40 >= 12, |_| true) > 0.95);
        // Vectors that lie between others, as most deletions leave them.
        let few_deleted = |embedding: i64| embedding % 9 != 0;
        assert!(share_found(&all, few_deleted, |_| true) > 0.98);
        let (links, slab) = prepared(&all);
        let looked_up = |has_vector: &dyn Fn(i64) -> bool| {
            let number = Cell::new(0);
            let slot_of = |embedding: i64| {
                number.set(number.get() + 1);
                has_vector(embedding).then(|| embedding as u32 - 1)
            };
            all.iter().step_by(41).for_each(|query| {
                links.search(&Vectors { slab: &slab, slot_of }, query, 64, |_| true);
            });
            number.get()
        };
        let (all_looked_up, of_few_deleted) = (looked_up(&|_| true), looked_up(&few_deleted));
        assert!(2 * of_few_deleted < 3 * all_looked_up, "{of_few_deleted} instead of {all_looked_up}");
        let none = Vectors { slab: &slab, slot_of: |_| None };
        assert_eq!(links.search(&none, &all[0], 10, |_| true), Vec::<i64>::new());
    }
}
