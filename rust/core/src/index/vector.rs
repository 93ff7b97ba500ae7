//! The vector graph: usearch HNSW over vectors of eight bits, for stores too large to compare one by one.
//!
//! It only proposes: what it finds is scored again with the exact vectors. Eight bits are enough to walk the graph and take
//! half the memory of sixteen. Keys are those of embeddings, which never change their vector.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use half::f16;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use super::quantised;
use super::search_slots::{SEARCHES_AT_ONCE, SearchSlots};
use crate::error::{Error, Result};

/// HNSW: links per node.
pub const CONNECTIVITY: usize = 16;
/// HNSW: candidates considered while adding.
pub const EF_CONSTRUCTION: usize = 128;
/// HNSW: candidates considered while searching.
pub const EF_SEARCH: usize = 64;

/// Vectors that one thread adds before it asks for more work and looks whether it was interrupted.
const ADD_BATCH: usize = 256;

/// The graph.
pub struct Graph {
    index: Index,
    dimension: usize,
    slots: SearchSlots,
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Graph({} vectors of {})", self.len(), self.dimension)
    }
}

impl Graph {
    /// An empty graph with room for `capacity` vectors, filled by up to `threads` at once.
    pub fn new(dimension: usize, capacity: usize, threads: usize) -> Result<Self> {
        let mut index = Index::new(&options(dimension)).map_err(|e| failed(&e))?;
        set_metric(&mut index, dimension);
        let graph = Self { index, dimension, slots: SearchSlots::new(SEARCHES_AT_ONCE) };
        graph.grow(capacity, threads)?;
        Ok(graph)
    }

    /// Load a file whose checksum the caller has compared (I8), to be extended by up to `threads` at once.
    pub fn load(path: &Path, dimension: usize, threads: usize) -> Result<Self> {
        let mut index = Index::new(&options(dimension)).map_err(|e| failed(&e))?;
        let name = path.to_str().ok_or_else(|| Error::invalid("path", "is not UTF-8"))?;
        index.load(name).map_err(|e| failed(&e))?;
        // Neither the metric nor the thread slots are in the file.
        set_metric(&mut index, dimension);
        index.change_expansion_search(EF_SEARCH);
        let graph = Self { index, dimension, slots: SearchSlots::new(SEARCHES_AT_ONCE) };
        graph.grow(0, threads)?;
        Ok(graph)
    }

    /// Make room for `more` vectors, added by up to `threads` at once. No search may run meanwhile.
    pub fn grow(&self, more: usize, threads: usize) -> Result<()> {
        // usearch has one pool of contexts for adding and searching; `slots` keeps searches within it.
        let contexts = threads.max(SEARCHES_AT_ONCE);
        self.index.reserve_capacity_and_threads(self.index.size() + more, contexts).map_err(|e| failed(&e))
    }

    /// Add vectors, `threads` at once.
    pub fn add(
        &self,
        rows: &[(i64, Vec<f16>)],
        threads: usize,
        is_interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<()> {
            let mut quantised = vec![0; self.dimension];
            loop {
                if is_interrupted() {
                    return Err(Error::Interrupted);
                }
                let start = next.fetch_add(ADD_BATCH, Ordering::Relaxed);
                if start >= rows.len() {
                    return Ok(());
                }
                for (key, vector) in &rows[start..rows.len().min(start + ADD_BATCH)] {
                    quantised::quantise_into(vector, &mut quantised);
                    self.index.add(*key as u64, &quantised).map_err(|e| failed(&e))?;
                }
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            // The calling thread works too: it is the one that may see an interruption.
            let mine = work();
            others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .fold(mine, Result::and)
        })
    }

    /// Write to `path`; the caller makes it durable and names it in the manifest.
    pub fn save(&self, path: &Path) -> Result<()> {
        let name = path.to_str().ok_or_else(|| Error::invalid("path", "is not UTF-8"))?;
        self.index.save(name).map_err(|e| failed(&e))
    }

    /// Embedding keys near a query, among those that `allows` lets through, nearest first by eight-bit distance.
    pub fn search(&self, query: &[f32], limit: usize, allows: impl Fn(i64) -> bool) -> Result<Vec<i64>> {
        let _slot = self.slots.acquire();
        let found = self
            .index
            .filtered_search(&quantised::quantise(query), limit, |key| allows(key as i64))
            .map_err(|e| failed(&e))?;
        Ok(found.keys.into_iter().map(|key| key as i64).collect())
    }

    /// Embedding keys near a query, nearest first by eight-bit distance; quicker than asking for each whether it counts.
    pub fn search_all(&self, query: &[f32], limit: usize) -> Result<Vec<i64>> {
        let _slot = self.slots.acquire();
        let found = self.index.search(&quantised::quantise(query), limit).map_err(|e| failed(&e))?;
        Ok(found.keys.into_iter().map(|key| key as i64).collect())
    }

    /// Vectors in it.
    pub fn len(&self) -> usize {
        self.index.size()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether an embedding is in it.
    pub fn contains(&self, key: i64) -> bool {
        self.index.contains(key as u64)
    }
}

fn options(dimension: usize) -> IndexOptions {
    IndexOptions {
        dimensions: dimension,
        metric: MetricKind::IP,
        quantization: ScalarKind::I8,
        connectivity: CONNECTIVITY,
        expansion_add: EF_CONSTRUCTION,
        expansion_search: EF_SEARCH,
        multi: false,
    }
}

fn set_metric(index: &mut Index, dimension: usize) {
    let unit = quantised::unit(dimension);
    index.change_metric::<i8>(Box::new(move |a, b| {
        // SAFETY: usearch calls the metric with two vectors of the index's dimension, and of its scalar kind, i8.
        let (a, b) = unsafe { (std::slice::from_raw_parts(a, dimension), std::slice::from_raw_parts(b, dimension)) };
        1.0 - quantised::dot(a, b) as f32 * unit
    }));
}

fn failed(error: &impl std::fmt::Display) -> Error {
    Error::Index { index: "vector", message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_its_own_nearest_after_a_round_trip_through_a_file() {
        let rows: Vec<(i64, Vec<f16>)> = (0..200_i32)
            .map(|number| {
                let raw: Vec<f32> = (0..64).map(|lane| ((number + 3) * (lane + 7) % 257) as f32 - 128.0).collect();
                let length = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
                (i64::from(number) + 1, raw.iter().map(|value| f16::from_f32(value / length)).collect())
            })
            .collect();
        let graph = Graph::new(64, rows.len(), 2).unwrap();
        graph.add(&rows, 2, &|| false).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g");
        graph.save(&path).unwrap();
        let loaded = Graph::load(&path, 64, 2).unwrap();
        assert_eq!(loaded.len(), 200);
        let query: Vec<f32> = rows[41].1.iter().map(|value| value.to_f32()).collect();
        let all = loaded.search(&query, 5, |_| true).unwrap();
        assert!(all.contains(&42), "{all:?}");
        assert!(!loaded.search(&query, 5, |key| key != 42).unwrap().contains(&42));
    }
}
