//! The relevance floor: an answer may be empty. It looks at raw signals, because the best of a normalised list is always 1.

use rustc_hash::FxHashSet;

use crate::index::bm25::{Bm25, ScoredTerm, TermField};
use crate::text;

/// A cosine from here on speaks for itself.
pub const COSINE: f32 = 0.2;
/// With a lower cosine, this share of the query's terms, weighted by rarity, must stand in the text.
const COVERAGE: f64 = 0.3;

/// How telling each term of a query is in this store.
#[derive(Debug)]
pub struct Floor<'a> {
    terms: &'a [ScoredTerm],
    sum: f64,
}

impl<'a> Floor<'a> {
    /// Weigh the terms of a query by their rarity.
    pub fn new(terms: &'a [ScoredTerm]) -> Self {
        Self { terms, sum: terms.iter().map(|term| f64::from(term.bm25.idf())).sum() }
    }

    /// Whether enough of the query stands in a text whose BM25 is `bm25`.
    pub fn is_covered_by(&self, bm25: f32, searched_text: impl FnOnce() -> String) -> bool {
        // A term adds at most its rarity times the greatest saturation, so a high score cannot come from few terms.
        if f64::from(bm25) >= COVERAGE * self.sum * f64::from(Bm25::GREATEST_SATURATION) && self.sum > 0.0 {
            return true;
        }
        bm25 > 0.0 && self.coverage(&searched_text()) >= COVERAGE
    }

    /// The share of the query's terms that stand in a text, weighted by rarity; 0 for a query without terms.
    fn coverage(&self, searched_text: &str) -> f64 {
        if self.sum <= 0.0 {
            return 0.0;
        }
        let analysis = text::analyze(searched_text);
        let prose: FxHashSet<&str> = analysis.prose.iter().map(String::as_str).collect();
        let identifiers: FxHashSet<&str> = analysis.identifiers.iter().map(String::as_str).collect();
        let stands_there = |term: &&ScoredTerm| match term.field {
            TermField::Prose => prose.contains(term.text.as_str()),
            TermField::Identifier => identifiers.contains(term.text.as_str()),
        };
        let found: f64 = self.terms.iter().filter(stands_there).map(|term| f64::from(term.bm25.idf())).sum();
        found / self.sum
    }
}
