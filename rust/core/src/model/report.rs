//! Results of operations.

use std::path::PathBuf;

use super::enums::Trust;
use super::memory::Memory;

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A new memory.
    Stored,
    /// The same text existed; the metadata was merged into it.
    Merged,
    /// The topic existed and has this text now.
    Updated,
    /// A memory of higher trust holds the topic; the text was stored as a candidate.
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

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The memory that holds the text now.
    pub id: String,
    /// The outcome.
    pub outcome: Outcome,
    /// Kinds of secrets that were redacted.
    pub redactions: Vec<&'static str>,
    /// Ids of older memories on the same subject that this one replaced.
    pub replaced: Vec<String>,
    /// Whether the memory came with an id, from an export.
    pub is_import: bool,
}

/// One change of one memory.
#[derive(Debug, Clone)]
pub struct HistoryEntry {
    /// Changes made together share it.
    pub operation: i64,
    /// The memory.
    pub id: String,
    /// The time of the change, UTC milliseconds.
    pub at: i64,
    /// `create`, `edit`, `archive` ….
    pub kind: String,
    /// The writer.
    pub actor: Trust,
    /// Whether the change was undone.
    pub undone: bool,
    /// The memory before the change; `None` if the change created it.
    pub before: Option<Memory>,
    /// The memory after the change; `None` if the change removed it.
    pub after: Option<Memory>,
}

/// Changes that were made together.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its number.
    pub operation: i64,
    /// The time, UTC milliseconds.
    pub at: i64,
    /// The writer.
    pub actor: Trust,
    /// The kinds of its changes with their counts, the most frequent first.
    pub kinds: Vec<(String, usize)>,
    /// Number of its changes that were not undone.
    pub left: usize,
    /// Its first changes, at most ten.
    pub changes: Vec<HistoryEntry>,
}

/// A neighbour of a memory.
#[derive(Debug, Clone)]
pub struct Related {
    /// The neighbour.
    pub memory: Memory,
    /// The link's kind, or `near`.
    pub kind: String,
    /// `out` if the given memory links to it, `in` if it links to the given memory, or `both`.
    pub direction: &'static str,
    /// 0 to 1.
    pub weight: f64,
    /// The reason for the link.
    pub reason: String,
}

/// The result of a purge, and the places that still hold the erased text.
#[derive(Debug, Clone, Default)]
pub struct PurgeReport {
    /// Memories erased.
    pub memories: usize,
    /// Backups that hold at least one of them.
    pub backups: Vec<PathBuf>,
    /// Places that could not be cleaned, with the reason.
    pub problems: Vec<String>,
}

/// The result of `verify`.
#[derive(Debug, Clone, Default)]
pub struct VerifyReport {
    /// Number of memories checked.
    pub memories: usize,
    /// Number of documents of the lexical index checked.
    pub lexical_documents: usize,
    /// Number of vectors of the graph checked.
    pub graph_vectors: usize,
    /// Damage to the store; text may be lost.
    pub store_problems: Vec<String>,
    /// Damage to derived files; `repair` rebuilds them.
    pub index_problems: Vec<String>,
}

/// The result of a catch-up of the derived indexes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CatchUpReport {
    /// Texts added to the lexical index.
    pub lexical_added: usize,
    /// Texts removed from it.
    pub lexical_removed: usize,
    /// Vectors added to the graph.
    pub vectors_added: usize,
    /// Whether the lexical index was rebuilt.
    pub lexical_rebuilt: bool,
    /// Whether the graph was rebuilt.
    pub graph_rebuilt: bool,
    /// Whether another process held the lock, so that no work was done.
    pub lock_was_held: bool,
}
