//! Coverage: the part of a query that a text contains, weighted by the rarity of the terms in this store.
//!
//! BM25 alone does not tell whether a text matches the query or shares one incidental word with it. Coverage does,
//! because it relates the terms that were found to all terms of the query.

use rustc_hash::FxHashSet;

use crate::index::bm25::{Bm25, FieldStatistics, ScoredTerm, TermField};
use crate::text;

/// An identifier whose rarity reaches this share of the greatest possible one is a name, for example an error code.
const RARE: f32 = 0.75;

/// Weights of the terms of a query.
#[derive(Debug)]
pub struct Coverage {
    /// Weight by term. Terms of dates weigh 0: they influence the ranking, but a relevant memory need not contain them.
    weights: Vec<f64>,
    sum: f64,
    /// Weight by term of rare identifiers; other terms weigh 0.
    names: Vec<f64>,
    sum_of_names: f64,
}

impl Coverage {
    /// Weight the terms of a query by their rarity among this number of texts.
    pub fn new(terms: &[ScoredTerm], query: &str, texts: usize) -> Self {
        let dates: FxHashSet<String> =
            text::date_expressions(query).flat_map(|date| text::analyze_query(date).prose).collect();
        let weights: Vec<f64> = terms
            .iter()
            .map(|term| if dates.contains(&term.text) { 0.0 } else { f64::from(term.bm25.idf()) })
            .collect();
        let once = Bm25::new(1, FieldStatistics { documents: texts as u64, terms: 0 });
        let least = RARE * once.idf() * TermField::Identifier.weight();
        let is_name = |term: &ScoredTerm| term.field == TermField::Identifier && term.bm25.idf() >= least;
        let names: Vec<f64> =
            terms.iter().zip(&weights).map(|(term, weight)| if is_name(term) { *weight } else { 0.0 }).collect();
        Self { sum: weights.iter().sum(), weights, sum_of_names: names.iter().sum(), names }
    }

    /// BM25 score of a text of average length that contains each term once.
    pub fn whole(&self) -> f64 {
        self.sum
    }

    /// Share of the query that a text contains, 0 to 1; 0 for a query without terms.
    pub fn of(&self, counts: &[f32]) -> f64 {
        share(&self.weights, self.sum, counts)
    }

    /// Share of the query's rare identifiers that a text contains, 0 to 1; 0 for a query without rare identifiers.
    pub fn of_names(&self, counts: &[f32]) -> f64 {
        share(&self.names, self.sum_of_names, counts)
    }
}

fn share(weights: &[f64], sum: f64, counts: &[f32]) -> f64 {
    let found: f64 = weights.iter().zip(counts).filter(|(_, count)| **count > 0.0).map(|(weight, _)| weight).sum();
    if sum > 0.0 { found / sum } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(field: TermField, frequency: u64) -> ScoredTerm {
        let statistics = FieldStatistics { documents: 1000, terms: 10_000 };
        let bm25 = Bm25::new(frequency, statistics).with_weight(field.weight());
        ScoredTerm { field, text: "juli".to_owned(), bm25 }
    }

    #[test]
    fn rare_term_covers_more_than_common_term() {
        let terms = [term(TermField::Prose, 2), term(TermField::Prose, 900)];
        let coverage = Coverage::new(&terms, "", 1000);
        assert!(coverage.of(&[1.0, 0.0]) > 0.9 && coverage.of(&[0.0, 3.0]) < 0.1);
        assert!((coverage.of(&[1.0, 1.0]) - 1.0).abs() < 1e-9);
        assert!(Coverage::new(&[], "", 1000).of(&[]).abs() < 1e-9);
    }

    #[test]
    fn date_in_query_does_not_reduce_coverage() {
        let terms = [term(TermField::Prose, 5)];
        assert!(Coverage::new(&terms, "in July", 1000).of(&[1.0]).abs() < 1e-9);
        assert!((Coverage::new(&terms, "Juli's", 1000).of(&[1.0]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn only_rare_identifiers_are_names() {
        let terms = [term(TermField::Identifier, 1), term(TermField::Identifier, 400), term(TermField::Prose, 1)];
        let coverage = Coverage::new(&terms, "", 1000);
        assert!((coverage.of_names(&[1.0, 0.0, 0.0]) - 1.0).abs() < 1e-9);
        assert!(coverage.of_names(&[0.0, 1.0, 1.0]).abs() < 1e-9);
        assert!(Coverage::new(&terms[1..], "", 1000).of_names(&[1.0, 1.0]).abs() < 1e-9);
    }
}
