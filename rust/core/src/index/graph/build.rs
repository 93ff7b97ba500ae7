//! Builds and extends the graph: usearch HNSW over eight-bit vectors.
//!
//! Eight bits per component are enough for a graph, and take half the memory of sixteen. A node has the key of its
//! embedding, whose vector never changes.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use half::f16;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use crate::error::{Error, Result};
use crate::index::quantised;

/// HNSW: links per node.
pub const CONNECTIVITY: usize = 16;
/// HNSW: candidates considered while adding.
pub const EF_CONSTRUCTION: usize = 128;
/// Number of vectors that a thread takes at once. Between two batches, it checks for an interruption.
const ADD_BATCH: usize = 256;

/// Whether usearch opens a file by its name in the code page of the user, in which a folder may have no name. It gets the
/// content instead, which takes memory for a moment.
const IS_NAMED_BY_CODE_PAGE: bool = cfg!(windows);

/// A graph with its vectors.
pub struct Graph {
    index: Index,
    dimension: usize,
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Graph({} vectors of {})", self.len(), self.dimension)
    }
}

impl Graph {
    /// Create an empty graph for `capacity` vectors, which up to `threads` threads may add.
    pub fn new(dimension: usize, capacity: usize, threads: usize) -> Result<Self> {
        let mut index = Index::new(&options(dimension)).map_err(|e| failed(&e))?;
        set_metric(&mut index, dimension);
        let graph = Self { index, dimension };
        graph.grow(capacity, threads)?;
        Ok(graph)
    }

    /// Load a file whose checksum the caller has verified (I8). Up to `threads` threads may extend the graph.
    pub fn load(path: &Path, dimension: usize, threads: usize) -> Result<Self> {
        let mut index = Index::new(&options(dimension)).map_err(|e| failed(&e))?;
        if IS_NAMED_BY_CODE_PAGE {
            let bytes = fs_err::read(path).map_err(|source| Error::storage("read", path, source))?;
            index.load_from_buffer(&bytes).map_err(|e| failed(&e))?;
        } else {
            let name = path.to_str().ok_or_else(|| Error::invalid("path", "is not UTF-8"))?;
            index.load(name).map_err(|e| failed(&e))?;
        }
        // The metric and the vectors to add are read by this length.
        if index.dimensions() != dimension {
            let message = format!("the graph has vectors of {} instead of {dimension}", index.dimensions());
            return Err(Error::Index { index: "vector", message });
        }
        // The file contains neither the metric nor the thread contexts.
        set_metric(&mut index, dimension);
        let graph = Self { index, dimension };
        graph.grow(0, threads)?;
        Ok(graph)
    }

    /// Reserve space for `more` vectors, which up to `threads` threads may add.
    pub fn grow(&self, more: usize, threads: usize) -> Result<()> {
        self.index.reserve_capacity_and_threads(self.index.size() + more, threads).map_err(|e| failed(&e))
    }

    /// Add vectors with `threads` threads.
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
            // The calling thread also adds vectors, because only this thread may notice an interruption.
            let mine = work();
            others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .fold(mine, Result::and)
        })
    }

    /// Write the graph to `path`. The caller syncs the file and names it in the manifest.
    pub fn save(&self, path: &Path) -> Result<()> {
        if IS_NAMED_BY_CODE_PAGE {
            let mut bytes = vec![0; self.index.serialized_length()];
            self.index.save_to_buffer(&mut bytes).map_err(|e| failed(&e))?;
            return fs_err::write(path, bytes).map_err(|source| Error::storage("write", path, source));
        }
        let name = path.to_str().ok_or_else(|| Error::invalid("path", "is not UTF-8"))?;
        self.index.save(name).map_err(|e| failed(&e))
    }

    /// Number of vectors in the graph.
    pub fn len(&self) -> usize {
        self.index.size()
    }

    /// Whether the graph has no vectors.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn options(dimension: usize) -> IndexOptions {
    IndexOptions {
        dimensions: dimension,
        metric: MetricKind::IP,
        quantization: ScalarKind::I8,
        connectivity: CONNECTIVITY,
        expansion_add: EF_CONSTRUCTION,
        expansion_search: 0, // usearch takes its default. Recalls search with `links`.
        multi: false,
    }
}

fn set_metric(index: &mut Index, dimension: usize) {
    let unit = quantised::unit(dimension);
    index.change_metric::<i8>(Box::new(move |a, b| {
        // SAFETY: usearch calls the metric with two vectors of the index's dimension and scalar kind, which is i8. A file
        // of another dimension is not loaded.
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
    fn graph_of_another_dimension_is_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g");
        let graph = Graph::new(64, 1, 1).unwrap();
        graph.add(&[(1, vec![f16::ONE; 64])], 1, &|| false).unwrap();
        graph.save(&path).unwrap();
        assert_eq!(Graph::load(&path, 64, 1).unwrap().len(), 1);
        let error = Graph::load(&path, 128, 1).unwrap_err();
        assert!(error.to_string().contains("vectors of 64 instead of 128"), "{error}");
    }
}
