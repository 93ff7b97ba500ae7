//! The links between the vectors of a graph, read from its file without the vectors.
//!
//! The file is usearch's, of format version 2. It contains the vectors, a header, and one record per node. A node is
//! numbered by its place in the file. All integers are little-endian.

use std::io::Read;

use crate::error::{Error, Result};

/// Beginning of usearch's header, and the major version of its format.
const MAGIC: &[u8; 7] = b"usearch";
const VERSION: u16 = 2;
/// Size of usearch's header in bytes, and the offset of the version in it.
const HEADER: usize = 64;
const VERSION_AT: usize = 7;
/// More levels or links per node than any graph of ours has.
const MAX_LEVELS: usize = 64;
const MAX_CONNECTIVITY: usize = 256;
/// Greater than any embedding of a graph that fits into memory. Otherwise a manipulated file could make the bits of its
/// members take all memory.
const MAX_EMBEDDING: i64 = 1 << 31;

/// Lists of numbers, one after another.
#[derive(Debug)]
struct Lists {
    /// Start of each list, and the end of the last one.
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn new() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }

    /// End the current list.
    fn end(&mut self) -> Result<()> {
        self.starts.push(u32::try_from(self.items.len()).map_err(|_| damaged("it has too many links"))?);
        Ok(())
    }

    #[inline]
    fn get(&self, at: usize) -> &[u32] {
        &self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// The nodes of an upper level, in ascending order, and the links of each.
#[derive(Debug)]
struct Level {
    nodes: Vec<u32>,
    links: Lists,
}

/// The links of a graph, by level.
#[derive(Debug)]
pub struct Links {
    /// Embedding of each node.
    embeddings: Vec<i64>,
    /// Bit of each embedding in the graph.
    members: Vec<u64>,
    base: Lists,
    /// Levels from 1 on.
    upper: Vec<Level>,
    entry: u32,
}

impl Links {
    /// Read the links from the content of a graph's file.
    ///
    /// `dimension` is that of its vectors, and `last_embedding` the greatest embedding that it may contain. Damaged content
    /// is refused, or gives links that lead to wrong nodes of the graph.
    pub fn read(file: &mut impl Read, dimension: usize, last_embedding: i64) -> Result<Self> {
        let rows = u32(file)?;
        if u32(file)? as usize != dimension {
            return Err(damaged("its vectors have another dimension"));
        }
        skip(file, u64::from(rows) * dimension as u64)?;
        let header = bytes::<HEADER>(file)?;
        let version = u16::from_le_bytes([header[VERSION_AT], header[VERSION_AT + 1]]);
        if !header.starts_with(MAGIC) || version != VERSION {
            return Err(damaged("its header is unknown"));
        }
        let (nodes, connectivity, connectivity_base) = (size(file)?, size(file)?, size(file)?);
        let (max_level, entry) = (size(file)?, size(file)?);
        let max_level = if nodes == 0 { 0 } else { max_level }; // usearch writes -1 for an empty graph.
        let is_possible = nodes == rows as usize && connectivity.max(connectivity_base) <= MAX_CONNECTIVITY;
        if !is_possible || max_level >= MAX_LEVELS || entry >= nodes.max(1) {
            return Err(damaged("its sizes contradict each other"));
        }
        skip(file, 2 * nodes as u64)?; // The levels of the nodes, which their records repeat.
        let mut links = Self {
            embeddings: Vec::new(),
            members: Vec::new(),
            base: Lists::new(),
            upper: (0..max_level).map(|_| Level { nodes: Vec::new(), links: Lists::new() }).collect(),
            entry: entry as u32,
        };
        for node in 0..rows {
            links.read_node(file, node, rows, [connectivity_base, connectivity], last_embedding)?;
        }
        if file.read(&mut [0]).map_err(|error| damaged(&error.to_string()))? != 0 {
            return Err(damaged("it is longer than its graph"));
        }
        links.embeddings.shrink_to_fit();
        links.base.items.shrink_to_fit();
        Ok(links)
    }

    fn read_node(
        &mut self,
        file: &mut impl Read,
        node: u32,
        nodes: u32,
        [connectivity_base, connectivity]: [usize; 2],
        last_embedding: i64,
    ) -> Result<()> {
        let embedding = u64::from_le_bytes(bytes(file)?);
        let embedding = i64::try_from(embedding).ok().filter(|key| *key <= last_embedding.min(MAX_EMBEDDING));
        let Some(embedding) = embedding else { return Err(damaged("it has an unknown embedding")) };
        let level = u16::from_le_bytes(bytes(file)?) as usize;
        if level > self.upper.len() {
            return Err(damaged("a node is above its greatest level"));
        }
        self.embeddings.push(embedding);
        let word = embedding as usize / 64;
        if self.members.len() <= word {
            self.members.resize(word + 1, 0);
        }
        self.members[word] |= 1 << (embedding % 64);
        read_list(file, &mut self.base, nodes, connectivity_base)?;
        for above in &mut self.upper[..level] {
            above.nodes.push(node);
            read_list(file, &mut above.links, nodes, connectivity)?;
        }
        Ok(())
    }

    /// Number of vectors in the graph.
    pub fn len(&self) -> usize {
        self.embeddings.len()
    }

    /// Whether the graph has no vectors.
    pub fn is_empty(&self) -> bool {
        self.embeddings.is_empty()
    }

    /// Whether the graph contains an embedding.
    pub fn contains(&self, embedding: i64) -> bool {
        self.members.get(embedding as usize / 64).is_some_and(|word| word & (1 << (embedding % 64)) != 0)
    }

    /// Node at which every search begins.
    pub(super) fn entry(&self) -> u32 {
        self.entry
    }

    /// Number of levels above the lowest one, 0.
    pub(super) fn upper_levels(&self) -> usize {
        self.upper.len()
    }

    /// Embedding of a node.
    #[inline]
    pub(super) fn embedding(&self, node: u32) -> i64 {
        self.embeddings[node as usize]
    }

    /// Nodes that a node is linked to, at the lowest level.
    #[inline]
    pub(super) fn of(&self, node: u32) -> &[u32] {
        self.base.get(node as usize)
    }

    /// Nodes that a node is linked to, at an upper level.
    pub(super) fn above(&self, level: usize, node: u32) -> &[u32] {
        let level = &self.upper[level - 1];
        level.nodes.binary_search(&node).map_or(&[], |at| level.links.get(at))
    }
}

/// Read a list of nodes for which the file has `space`.
fn read_list(file: &mut impl Read, lists: &mut Lists, nodes: u32, space: usize) -> Result<()> {
    let count = u32(file)? as usize;
    let mut read = [0; 4 * MAX_CONNECTIVITY];
    let read = &mut read[..4 * space];
    file.read_exact(read).map_err(|error| damaged(&error.to_string()))?;
    let Some(links) = read.as_chunks::<4>().0.get(..count) else {
        return Err(damaged("a node has too many links"));
    };
    for link in links {
        let node = u32::from_le_bytes(*link);
        if node >= nodes {
            return Err(damaged("a link leads nowhere"));
        }
        lists.items.push(node);
    }
    lists.end()
}

fn bytes<const N: usize>(file: &mut impl Read) -> Result<[u8; N]> {
    let mut read = [0; N];
    file.read_exact(&mut read).map_err(|error| damaged(&error.to_string()))?;
    Ok(read)
}

fn u32(file: &mut impl Read) -> Result<u32> {
    bytes(file).map(u32::from_le_bytes)
}

fn size(file: &mut impl Read) -> Result<usize> {
    bytes(file).map(|bytes| usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX))
}

fn skip(file: &mut impl Read, count: u64) -> Result<()> {
    let skipped = std::io::copy(&mut file.take(count), &mut std::io::sink());
    match skipped.map_err(|error| damaged(&error.to_string()))? {
        all if all == count => Ok(()),
        _ => Err(damaged("it ends early")),
    }
}

fn damaged(reason: &str) -> Error {
    Error::Index { index: "vector", message: format!("the graph cannot be read: {reason}") }
}
