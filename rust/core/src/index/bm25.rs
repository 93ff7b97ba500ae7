//! BM25 scores with tantivy's constants, over the index and the overlay together.

use rustc_hash::FxHashMap;

use super::occurrences::Occurrences;
use crate::text::QueryTerms;

/// A field of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TermField {
    /// Stemmed words.
    Prose,
    /// Identifiers, whole and in parts.
    Identifier,
}

impl TermField {
    /// Weight of a term in this field.
    ///
    /// The words of an identifier are also in the prose. If identifiers had full weight, the name of a tool in a query
    /// would outweigh the words of the question.
    pub fn weight(self) -> f32 {
        match self {
            Self::Prose => 1.0,
            Self::Identifier => 0.3,
        }
    }
}

/// Iterate over the terms of a query with their fields.
pub fn terms_of(terms: &QueryTerms) -> impl Iterator<Item = (TermField, &str)> {
    let prose = terms.prose.iter().map(|term| (TermField::Prose, term.as_str()));
    prose.chain(terms.identifiers.iter().map(|term| (TermField::Identifier, term.as_str())))
}

/// Statistics of a field, used to score its terms.
#[derive(Debug, Clone, Copy, Default)]
pub struct FieldStatistics {
    /// Number of documents.
    pub documents: u64,
    /// Total number of terms in this field of all documents.
    pub terms: u64,
}

/// A term of a query with its scorer.
#[derive(Debug, Clone)]
pub struct ScoredTerm {
    /// The field to search.
    pub field: TermField,
    /// The term.
    pub text: String,
    /// The scorer of the term.
    pub bm25: Bm25,
    /// Places of the term in the full-text index; empty without an index.
    pub occurrences: Occurrences,
}

/// The scorer of one term.
#[derive(Debug, Clone, Copy)]
pub struct Bm25 {
    weight: f32,
    average_length: f32,
}

impl Bm25 {
    const K1: f32 = 1.2;
    const B: f32 = 0.75;
    /// Upper bound of a term's score divided by its idf, for any frequency.
    pub const GREATEST_SATURATION: f32 = 1.0 + Self::K1;

    /// Create the scorer of a term that occurs in `frequency` documents.
    pub fn new(frequency: u64, statistics: FieldStatistics) -> Self {
        let documents = statistics.documents.max(frequency) as f32;
        // A term without documents gets the idf of the rarest term.
        let frequency = frequency.max(1) as f32;
        let idf = (1.0 + (documents - frequency + 0.5).max(0.0) / (frequency + 0.5)).ln();
        let average_length = (statistics.terms as f32 / documents.max(1.0)).max(1.0);
        Self { weight: idf * Self::GREATEST_SATURATION, average_length }
    }

    /// Multiply all scores by a factor.
    #[must_use]
    pub fn with_weight(self, factor: f32) -> Self {
        Self { weight: self.weight * factor, ..self }
    }

    /// Inverse document frequency of the term.
    pub fn idf(&self) -> f32 {
        self.weight / Self::GREATEST_SATURATION
    }

    /// Length norm of a text.
    pub fn norm(&self, length: f32) -> f32 {
        Self::norm_of(length, self.average_length)
    }

    /// Length norm of a text, for a given average length.
    pub fn norm_of(length: f32, average_length: f32) -> f32 {
        Self::K1 * (1.0 - Self::B + Self::B * length / average_length)
    }

    /// Score of a text that contains the term `count` times and has this length norm.
    #[inline]
    pub fn score_with_norm(&self, count: f32, norm: f32) -> f32 {
        self.weight * count / (count + norm)
    }

    /// Score of a text of `length` terms that contains the term `count` times.
    pub fn score(&self, count: u32, length: u32) -> f32 {
        self.score_with_norm(count as f32, self.norm(length as f32))
    }
}

/// Term frequencies and lengths of some texts, for the terms of one query.
#[derive(Debug)]
pub struct Counts {
    terms: usize,
    of_texts: Vec<f32>,
    lengths: Vec<[f32; 2]>,
}

impl Counts {
    /// Create zero counts for a number of texts and terms.
    pub fn new(texts: usize, terms: usize) -> Self {
        Self { terms, of_texts: vec![0.0; texts * terms], lengths: vec![[0.0; 2]; texts] }
    }

    /// Set the frequency of a term in a text.
    #[inline]
    pub fn set(&mut self, text: usize, term: usize, count: u32) {
        self.of_texts[text * self.terms + term] = count as f32;
    }

    /// Set the number of terms in a field of a text.
    #[inline]
    pub fn set_length(&mut self, text: usize, field: TermField, terms: u32) {
        self.lengths[text][field as usize] = terms as f32;
    }

    /// Frequencies of all terms in a text.
    #[inline]
    pub fn of(&self, text: usize) -> &[f32] {
        &self.of_texts[text * self.terms..(text + 1) * self.terms]
    }

    /// BM25 score of a text.
    pub fn bm25(&self, text: usize, terms: &[ScoredTerm]) -> f32 {
        let score = |(term, count): (&ScoredTerm, &f32)| {
            term.bm25.score_with_norm(*count, term.bm25.norm(self.length(text, term.field)))
        };
        terms.iter().zip(self.of(text)).map(score).sum()
    }

    /// Number of terms in a field of a text.
    #[inline]
    pub fn length(&self, text: usize, field: TermField) -> f32 {
        self.lengths[text][field as usize]
    }
}

/// Count the occurrences of each term in a list.
pub fn count_terms(terms: Vec<String>) -> FxHashMap<String, u32> {
    let mut counts = FxHashMap::default();
    for term in terms {
        *counts.entry(term).or_insert(0) += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn score_is_at_most_idf_times_greatest_saturation() {
        let statistics = FieldStatistics { documents: 1000, terms: 30_000 };
        for frequency in [0, 1, 10, 999, 1000] {
            let bm25 = Bm25::new(frequency, statistics);
            assert!(bm25.idf() > 0.0);
            assert!(bm25.score(1_000_000, 1) <= bm25.idf() * Bm25::GREATEST_SATURATION);
            assert!(bm25.score(2, 30) > bm25.score(1, 30));
            assert!(bm25.score(1, 10) > bm25.score(1, 100));
        }
        assert!(Bm25::new(1, statistics).idf() > Bm25::new(10, statistics).idf());
    }
}
