//! What is asked of a store and what it answers.

use super::enums::{Category, Status};
use super::memory::Memory;

/// Whose memories may be returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every project and the global memories; only when asked for.
    Everything,
    /// Every project, without the global memories.
    EveryProject,
    /// The global memories alone.
    Global,
    /// One project, and the global memories unless left out.
    Project {
        /// Its name.
        name: String,
        /// Whether global memories belong to the answer.
        with_global: bool,
    },
}

/// Which memories may be returned; the same for recall, list and cleanup.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Whose.
    pub scope: Scope,
    /// Which kinds; empty is all.
    pub categories: Vec<Category>,
    /// Which states; empty is `Active`.
    pub statuses: Vec<Status>,
    /// Speaks of this moment or later.
    pub since: Option<i64>,
    /// Speaks of an earlier moment.
    pub until: Option<i64>,
    /// Created before this moment.
    pub created_before: Option<i64>,
    /// Is about this.
    pub entity: Option<String>,
    /// Carries this label.
    pub tag: Option<String>,
    /// Whether expired memories belong to the answer.
    pub with_expired: bool,
    /// Only pinned ones.
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

    /// Which states are wanted.
    pub fn wanted_statuses(&self) -> &[Status] {
        if self.statuses.is_empty() { &[Status::Active] } else { &self.statuses }
    }
}

/// A moment of the store's own history.
pub type AsOf = i64;

/// A question.
#[derive(Debug, Clone)]
pub struct RecallRequest {
    /// Free text; operators have no meaning.
    pub query: String,
    /// Its embedding under the active model, unit length; without it words alone decide.
    pub vector: Option<Vec<f32>>,
    /// Which memories may be returned.
    pub selection: Selection,
    /// Most hits wanted.
    pub limit: usize,
    /// Answer as the store stood then.
    pub as_of: Option<AsOf>,
    /// Whether to say why.
    pub explain: bool,
    /// Whether nobody asked: what is found counts as no use of it.
    pub unasked: bool,
}

/// One thing that spoke for a hit.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// `words`, `meaning` or a boost's name.
    pub name: &'static str,
    /// The value before normalisation.
    pub raw: f64,
    /// Place among this signal's candidates, from 1.
    pub rank: Option<usize>,
    /// What it added to the score.
    pub contribution: f64,
    /// The same in words.
    pub detail: String,
}

/// A memory that answers.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The memory.
    pub memory: Memory,
    /// Comparable within one recall only; the sum of the signals' contributions.
    pub score: f64,
    /// From 1.
    pub rank: usize,
    /// Why, when asked for.
    pub signals: Vec<Signal>,
}
