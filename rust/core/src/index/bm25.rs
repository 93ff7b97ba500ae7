//! BM25 with the constants that tantivy uses, over the index and the overlay together.

use rustc_hash::FxHashMap;

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
    /// What a term of this field counts for.
    ///
    /// The words of an identifier stand in the prose too; counted in full a second time, the name of a tool outweighs what
    /// is asked about it.
    pub fn weight(self) -> f32 {
        match self {
            Self::Prose => 1.0,
            Self::Identifier => 0.3,
        }
    }
}

/// The terms of a query with their fields.
pub fn terms_of(terms: &QueryTerms) -> impl Iterator<Item = (TermField, &str)> {
    let prose = terms.prose.iter().map(|term| (TermField::Prose, term.as_str()));
    prose.chain(terms.identifiers.iter().map(|term| (TermField::Identifier, term.as_str())))
}

/// Numbers by which a term is scored.
#[derive(Debug, Clone, Copy, Default)]
pub struct FieldStatistics {
    /// Documents.
    pub documents: u64,
    /// Terms in all of their fields.
    pub terms: u64,
}

/// A term of a query, ready to score.
#[derive(Debug, Clone)]
pub struct ScoredTerm {
    /// Where it is looked for.
    pub field: TermField,
    /// The term.
    pub text: String,
    /// How it is scored.
    pub bm25: Bm25,
}

/// The score of one term.
#[derive(Debug, Clone, Copy)]
pub struct Bm25 {
    weight: f32,
    average_length: f32,
}

impl Bm25 {
    const K1: f32 = 1.2;
    const B: f32 = 0.75;
    /// A term adds less than its rarity times this, however often it stands in a text.
    pub const GREATEST_SATURATION: f32 = 1.0 + Self::K1;

    /// The scorer of a term that stands in `frequency` of all documents.
    pub fn new(frequency: u64, statistics: FieldStatistics) -> Self {
        let documents = statistics.documents.max(frequency) as f32;
        // No text has the term: it is as telling as the rarest that there is, not more.
        let frequency = frequency.max(1) as f32;
        let idf = (1.0 + (documents - frequency + 0.5).max(0.0) / (frequency + 0.5)).ln();
        let average_length = (statistics.terms as f32 / documents.max(1.0)).max(1.0);
        Self { weight: idf * Self::GREATEST_SATURATION, average_length }
    }

    /// The same, counting for more or less.
    #[must_use]
    pub fn with_weight(self, factor: f32) -> Self {
        Self { weight: self.weight * factor, ..self }
    }

    /// How telling the term is.
    pub fn idf(&self) -> f32 {
        self.weight / Self::GREATEST_SATURATION
    }

    /// What a text's length does to its score.
    pub fn norm(&self, length: f32) -> f32 {
        Self::norm_of(length, self.average_length)
    }

    /// What a text's length does to its score, where texts have this length on average.
    pub fn norm_of(length: f32, average_length: f32) -> f32 {
        Self::K1 * (1.0 - Self::B + Self::B * length / average_length)
    }

    /// The score of a text in which the term stands `count` times, given its norm.
    #[inline]
    pub fn score_with_norm(&self, count: f32, norm: f32) -> f32 {
        self.weight * count / (count + norm)
    }

    /// The score of a text of `length` terms in which the term stands `count` times.
    pub fn score(&self, count: u32, length: u32) -> f32 {
        self.score_with_norm(count as f32, self.norm(length as f32))
    }
}

/// How often the terms of a query stand in some texts, and how long those are.
#[derive(Debug)]
pub struct Counts {
    terms: usize,
    of_texts: Vec<f32>,
    lengths: Vec<[f32; 2]>,
}

impl Counts {
    /// Nothing counted yet in `texts` texts for `terms` terms.
    pub fn new(texts: usize, terms: usize) -> Self {
        Self { terms, of_texts: vec![0.0; texts * terms], lengths: vec![[0.0; 2]; texts] }
    }

    /// Note how often a term stands in a text.
    #[inline]
    pub fn set(&mut self, text: usize, term: usize, count: u32) {
        self.of_texts[text * self.terms + term] = count as f32;
    }

    /// Note how many terms a field of a text has.
    #[inline]
    pub fn set_length(&mut self, text: usize, field: TermField, terms: u32) {
        self.lengths[text][field as usize] = terms as f32;
    }

    /// How often each term stands in a text.
    #[inline]
    pub fn of(&self, text: usize) -> &[f32] {
        &self.of_texts[text * self.terms..(text + 1) * self.terms]
    }

    /// BM25 of a text.
    pub fn bm25(&self, text: usize, terms: &[ScoredTerm]) -> f32 {
        let score = |(term, count): (&ScoredTerm, &f32)| {
            term.bm25.score_with_norm(*count, term.bm25.norm(self.length(text, term.field)))
        };
        terms.iter().zip(self.of(text)).map(score).sum()
    }

    /// How many terms a field of a text has.
    #[inline]
    pub fn length(&self, text: usize, field: TermField) -> f32 {
        self.lengths[text][field as usize]
    }
}

/// How often each term stands in a list.
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
    fn a_score_stays_under_rarity_times_the_greatest_saturation() {
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
