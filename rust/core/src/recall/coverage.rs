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
    terms: Weights,
    /// Weights of rare identifiers only.
    names: Weights,
}

/// Weights by term. A term with a weight of 0 influences the ranking, but a relevant memory need not contain it.
#[derive(Debug)]
struct Weights {
    /// Weights of terms that a relevant memory should contain.
    demanded: Vec<f64>,
    sum: f64,
    /// Weights of dates such as `2026-11-09`. They count only in a text that contains them literally, because most
    /// memories of a day do not name it.
    credited: Vec<f64>,
}

impl Coverage {
    /// Weight the terms of a query by their rarity among this number of texts.
    pub fn new(terms: &[ScoredTerm], query: &str, texts: usize) -> Self {
        let (mut dates, mut identifiers) = (FxHashSet::default(), FxHashSet::default());
        for date in text::date_expressions(query).map(text::analyze_query) {
            dates.extend(date.prose);
            identifiers.extend(date.identifiers);
        }
        let is_of_date = |term: &ScoredTerm| match term.field {
            TermField::Prose => dates.contains(&term.text),
            TermField::Identifier => identifiers.contains(&term.text),
        };
        let once = Bm25::new(1, FieldStatistics { documents: texts as u64, terms: 0 });
        let least = RARE * once.idf() * TermField::Identifier.weight();
        let is_name = |term: &ScoredTerm| term.field == TermField::Identifier && term.bm25.idf() >= least;
        let is_credited = |term: &ScoredTerm| is_of_date(term) && term.field == TermField::Identifier;
        Self {
            terms: Weights::new(terms, |term| !is_of_date(term), is_credited),
            names: Weights::new(
                terms,
                |term| is_name(term) && !is_of_date(term),
                |term| is_name(term) && is_credited(term),
            ),
        }
    }

    /// BM25 score of a text of average length that contains each demanded term once.
    pub fn whole(&self) -> f64 {
        self.terms.sum
    }

    /// Share of the query that a text contains, 0 to 1; 0 for a query without terms.
    pub fn of(&self, counts: &[f32]) -> f64 {
        self.terms.share(counts)
    }

    /// Share of the query's rare identifiers that a text contains, 0 to 1; 0 for a query without rare identifiers.
    pub fn of_names(&self, counts: &[f32]) -> f64 {
        self.names.share(counts)
    }
}

impl Weights {
    fn new(
        terms: &[ScoredTerm],
        is_demanded: impl Fn(&ScoredTerm) -> bool,
        is_credited: impl Fn(&ScoredTerm) -> bool,
    ) -> Self {
        let weigh = |counts: &dyn Fn(&ScoredTerm) -> bool| {
            terms.iter().map(|term| if counts(term) { f64::from(term.bm25.idf()) } else { 0.0 }).collect::<Vec<f64>>()
        };
        let demanded = weigh(&is_demanded);
        Self { sum: demanded.iter().sum(), demanded, credited: weigh(&is_credited) }
    }

    fn share(&self, counts: &[f32]) -> f64 {
        let found = |weights: &[f64]| -> f64 {
            weights.iter().zip(counts).filter(|(_, count)| **count > 0.0).map(|(weight, _)| weight).sum()
        };
        let credit = found(&self.credited);
        let sum = self.sum + credit;
        if sum > 0.0 { (found(&self.demanded) + credit) / sum } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::bm25::terms_of;
    use crate::index::occurrences::Occurrences;

    fn term(field: TermField, frequency: u64) -> ScoredTerm {
        let statistics = FieldStatistics { documents: 1000, terms: 10_000 };
        let bm25 = Bm25::new(frequency, statistics).with_weight(field.weight());
        ScoredTerm { field, text: "juli".to_owned(), bm25, occurrences: Occurrences::default() }
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
    fn iso_date_counts_only_in_a_text_that_contains_it() {
        let query = "honey 2026-11-09";
        let found = text::analyze_query(query);
        let statistics = FieldStatistics { documents: 1000, terms: 10_000 };
        let terms: Vec<ScoredTerm> = terms_of(&found)
            .map(|(field, text)| ScoredTerm {
                field,
                text: text.to_owned(),
                bm25: Bm25::new(1, statistics).with_weight(field.weight()),
                occurrences: Occurrences::default(),
            })
            .collect();
        let date = terms.iter().position(|term| term.text == "2026-11-09").expect("the date is an identifier");
        let coverage = Coverage::new(&terms, query, 1000);
        let counts = |contains: &dyn Fn(usize) -> bool| -> Vec<f32> {
            (0..terms.len()).map(|place| if contains(place) { 1.0 } else { 0.0 }).collect()
        };
        let honey = counts(&|place| terms[place].text == "honey");
        assert!((coverage.of(&honey) - 1.0).abs() < 1e-9);
        assert!(coverage.of_names(&honey).abs() < 1e-9);
        let literal = counts(&|place| place == date);
        assert!(coverage.of(&literal) > 0.2 && (coverage.of_names(&literal) - 1.0).abs() < 1e-9);
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
