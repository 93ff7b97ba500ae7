//! The relevance floor: an answer may be empty. It looks at raw signals, because the best of a normalised list is always 1.

use rustc_hash::FxHashSet;

use super::view::View;
use crate::index::lexical::weighted_terms;
use crate::text::{self, QueryTerms};

/// A cosine from here on speaks for itself.
pub const COSINE: f32 = 0.25;
/// With a lower cosine, this share of the query's terms, weighted by rarity, must stand in the text.
pub const COVERAGE: f64 = 0.3;

/// How telling each term of a query is.
#[derive(Debug)]
pub struct Floor {
    weights: Vec<(bool, String, f64)>,
    sum: f64,
}

impl Floor {
    /// Weigh the terms of a query by their rarity in this store.
    pub fn new(view: &View, terms: &QueryTerms) -> Self {
        let weights: Vec<(bool, String, f64)> = weighted_terms(terms)
            .map(|(field, term)| {
                let idf = view.overlay.scorer(view.lexical.as_ref(), field, term).idf();
                (field == crate::index::lexical::TermField::Prose, term.to_owned(), f64::from(idf))
            })
            .collect();
        let sum = weights.iter().map(|weight| weight.2).sum();
        Self { weights, sum }
    }

    /// Whether a text is an answer, given its cosine.
    pub fn admits(&self, cosine: Option<f32>, searched_text: &str) -> bool {
        cosine.is_some_and(|cosine| cosine >= COSINE) || self.coverage(searched_text) >= COVERAGE
    }

    /// The share of the query's terms that stand in a text, weighted by rarity; 0 for a query without terms.
    fn coverage(&self, searched_text: &str) -> f64 {
        if self.sum <= 0.0 {
            return 0.0;
        }
        let analysis = text::analyze(searched_text);
        let prose: FxHashSet<&str> = analysis.prose.iter().map(String::as_str).collect();
        let identifiers: FxHashSet<&str> = analysis.identifiers.iter().map(String::as_str).collect();
        let found: f64 = self
            .weights
            .iter()
            .filter(|(is_prose, term, _)| if *is_prose { &prose } else { &identifiers }.contains(term.as_str()))
            .map(|weight| weight.2)
            .sum();
        found / self.sum
    }
}
