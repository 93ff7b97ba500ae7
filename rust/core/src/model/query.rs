//! Requests to read memories, and their results.

use super::enums::{Category, Status};
use super::memory::Memory;
use super::query_vector::QueryVector;

/// The projects whose memories may be returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every project and the global memories; only if the caller requests it.
    Everything,
    /// Every project, without the global memories.
    EveryProject,
    /// The global memories alone.
    Global,
    /// One project, with or without the global memories.
    Project {
        /// Its name.
        name: String,
        /// Whether global memories are included.
        with_global: bool,
    },
}

/// A filter of memories, shared by recall, list and cleanup.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The projects.
    pub scope: Scope,
    /// The categories; empty for all.
    pub categories: Vec<Category>,
    /// The statuses; empty for `Active`.
    pub statuses: Vec<Status>,
    /// Only memories about this time or later.
    pub since: Option<i64>,
    /// Only memories about an earlier time.
    pub until: Option<i64>,
    /// Only memories created before this time.
    pub created_before: Option<i64>,
    /// Only memories about this entity.
    pub entity: Option<String>,
    /// Only memories with this tag.
    pub tag: Option<String>,
    /// Whether expired memories are included.
    pub with_expired: bool,
    /// Only pinned memories.
    pub pinned_only: bool,
}

impl Selection {
    /// Active memories of `scope`.
    pub fn of(scope: Scope) -> Self {
        Self {
            scope,
            categories: Vec::new(),
            statuses: Vec::new(),
            since: None,
            until: None,
            created_before: None,
            entity: None,
            tag: None,
            with_expired: false,
            pinned_only: false,
        }
    }

    /// The statuses to return.
    pub fn wanted_statuses(&self) -> &[Status] {
        if self.statuses.is_empty() { &[Status::Active] } else { &self.statuses }
    }
}

/// A point in time of the store's history.
pub type AsOf = i64;

/// The arguments of a recall.
#[derive(Debug, Clone)]
pub struct RecallRequest {
    /// Free text; operators have no meaning.
    pub query: String,
    /// The embedding of the query. Without one of the active model, only words are compared.
    pub vector: Option<QueryVector>,
    /// The memories that may be returned.
    pub selection: Selection,
    /// Maximum number of hits.
    pub limit: usize,
    /// Answer from the state of the store at this time.
    pub as_of: Option<AsOf>,
    /// Whether hits carry their signals.
    pub explain: bool,
    /// Whether no user or model requested the recall. Its hits then do not count as uses.
    pub unasked: bool,
    /// Whether to return the nearest memories even if none of them is relevant.
    pub nearest: bool,
}

/// One contribution to the score of a hit.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// `words`, `meaning` or a boost's name.
    pub name: &'static str,
    /// The value before normalisation.
    pub raw: f64,
    /// Place among this signal's candidates, from 1.
    pub rank: Option<usize>,
    /// The part of the score.
    pub contribution: f64,
    /// An explanation for people.
    pub detail: String,
}

/// A memory that matches a recall.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The memory.
    pub memory: Memory,
    /// Comparable within one recall only; the sum of the signals' contributions.
    pub score: f64,
    /// From 1.
    pub rank: usize,
    /// Relevance of the memory by itself: its cosine and a weighted share of the query's words. Comparable between
    /// recalls. `None` if the hit was added because it contradicts another one.
    pub relevance: Option<f64>,
    /// Relevance that at least one hit of the answer had to reach.
    pub floor: f64,
    /// The contributions to the score, if requested.
    pub signals: Vec<Signal>,
}
