//! What operations say that they did.

use std::path::PathBuf;

use super::enums::Trust;
use super::memory::Memory;

/// What became of a memory that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A new memory.
    Stored,
    /// The same text was there; its metadata was merged.
    Merged,
    /// Its topic was there and has this text now.
    Updated,
    /// Its topic is held by higher trust; stored beside it as a candidate.
    Kept,
}

impl Outcome {
    /// The name that callers see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Merged => "merged",
            Self::Updated => "updated",
            Self::Kept => "kept",
        }
    }
}

/// The answer to a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The memory that holds the text now.
    pub id: String,
    /// What happened.
    pub outcome: Outcome,
    /// Kinds of secrets that were replaced.
    pub redactions: Vec<&'static str>,
}

/// One change of one memory.
#[derive(Debug, Clone)]
pub struct HistoryEntry {
    /// Changes made together share it.
    pub operation: i64,
    /// The memory.
    pub id: String,
    /// When, UTC milliseconds.
    pub at: i64,
    /// `create`, `edit`, `archive` ….
    pub kind: String,
    /// Who.
    pub actor: Trust,
    /// Whether an undo took it back.
    pub undone: bool,
    /// The memory before; `None` when the change created it.
    pub before: Option<Memory>,
    /// The memory after; `None` when the change removed it.
    pub after: Option<Memory>,
}

/// A neighbour of a memory.
#[derive(Debug, Clone)]
pub struct Related {
    /// The neighbour.
    pub memory: Memory,
    /// The link's kind, or `near`.
    pub kind: String,
    /// `out`: the asked memory points at it; `in`: it points at the asked one; `both`.
    pub direction: &'static str,
    /// 0 to 1.
    pub weight: f64,
    /// Why.
    pub reason: String,
}

/// What a purge erased and what still holds it.
#[derive(Debug, Clone, Default)]
pub struct PurgeReport {
    /// Memories erased.
    pub memories: usize,
    /// Backups that hold at least one of them.
    pub backups: Vec<PathBuf>,
    /// What could not be cleaned, and why.
    pub problems: Vec<String>,
}

/// What `verify` found.
#[derive(Debug, Clone, Default)]
pub struct VerifyReport {
    /// Memories looked at.
    pub memories: usize,
    /// Documents of the lexical index looked at.
    pub lexical_documents: usize,
    /// Vectors of the graph looked at.
    pub graph_vectors: usize,
    /// Damage to the truth: text may be lost.
    pub store_problems: Vec<String>,
    /// Damage to derived files: `repair` rebuilds them.
    pub index_problems: Vec<String>,
}

/// How far the derived indexes are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CatchUpReport {
    /// Texts added to the lexical index.
    pub lexical_added: usize,
    /// Texts removed from it.
    pub lexical_removed: usize,
    /// Vectors added to the graph.
    pub vectors_added: usize,
    /// Whether the lexical index was built from nothing.
    pub lexical_rebuilt: bool,
    /// Whether the graph was built from nothing.
    pub graph_rebuilt: bool,
    /// Another process held the lock; nothing was done.
    pub lock_was_held: bool,
}
