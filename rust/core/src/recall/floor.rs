//! The relevance floor: an answer may be empty. It looks at raw signals, because the best of a normalised list is always 1.
//!
//! The answer is judged as a whole. A turn that is found through what was said around it has weak signals of its own, so a
//! bar for each hit would drop evidence; a question whose answer is not in the store has no strong hit at all. The bar is low:
//! a question in other words than its answer ("which package manager", "Use pnpm") often has a cosine of no more than 0.25.

use rustc_hash::FxHashSet;

use crate::index::bm25::ScoredTerm;
use crate::text;

/// An answer whose best hit has less than this, of cosine and covered terms, is none.
const ANSWER: f64 = 0.2;
/// What it counts that all terms of the query stand in a text, weighed by rarity.
const COVERED: f64 = 0.3;
/// A text with this share of the query's terms answers, however far its meaning seems.
const NEARLY_ALL: f64 = 0.75;
/// Without a vector, this share of the query's terms must stand in the text.
pub const WORDS_ALONE: f64 = 0.3;
/// A hit needs this cosine or this share of the terms to be more than noise.
const NOISE: f64 = 0.1;
/// Hits by which an answer is judged, whatever its limit.
pub const JUDGED: usize = 10;

/// What a memory has of a query before any normalisation.
#[derive(Debug, Clone, Copy)]
pub struct Raw {
    /// Cosine, where it has vectors.
    pub cosine: Option<f32>,
    /// Share of the query's terms that stand in it, weighed by rarity.
    pub coverage: f64,
    /// Whether it follows a question that has the query's terms.
    pub answers: bool,
}

/// How telling each term of a query is in this store.
#[derive(Debug)]
pub struct Floor {
    /// By term; 0 for those that only say when: they draw memories near, but a memory need not have them.
    telling: Vec<f64>,
    sum: f64,
}

impl Floor {
    /// Weigh the terms of a query by their rarity.
    pub fn new(terms: &[ScoredTerm], query: &str) -> Self {
        let dates: FxHashSet<String> =
            text::date_expressions(query).flat_map(|date| text::analyze_query(date).prose).collect();
        let telling: Vec<f64> = terms
            .iter()
            .map(|term| if dates.contains(&term.text) { 0.0 } else { f64::from(term.bm25.idf()) })
            .collect();
        let sum = telling.iter().sum();
        Self { telling, sum }
    }

    /// The share of the query's terms that stand in a text, weighed by rarity; 0 for a query without terms.
    pub fn coverage(&self, counts: &[f32]) -> f64 {
        let found: f64 = self.telling.iter().zip(counts).filter(|(_, count)| **count > 0.0).map(|(idf, _)| idf).sum();
        if self.sum > 0.0 { found / self.sum } else { 0.0 }
    }

    /// Whether the best hits are an answer.
    pub fn is_answer(&self, best: impl Iterator<Item = Raw>) -> bool {
        best.take(JUDGED).any(|raw| match raw.cosine {
            _ if raw.coverage >= NEARLY_ALL => true,
            Some(cosine) => f64::from(cosine) + COVERED * raw.coverage >= ANSWER,
            None => raw.coverage >= WORDS_ALONE,
        })
    }
}

impl Raw {
    /// Whether a hit of an answer is more than noise.
    pub fn is_telling(self) -> bool {
        self.answers
            || match self.cosine {
                Some(cosine) => f64::from(cosine) >= NOISE || self.coverage >= NOISE,
                None => self.coverage >= WORDS_ALONE,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::bm25::{Bm25, FieldStatistics, TermField};

    fn term(frequency: u64) -> ScoredTerm {
        let statistics = FieldStatistics { documents: 1000, terms: 10_000 };
        let bm25 = Bm25::new(frequency, statistics);
        ScoredTerm { field: TermField::Prose, text: "juli".to_owned(), bm25 }
    }

    fn raw(cosine: impl Into<Option<f32>>, coverage: f64) -> Raw {
        Raw { cosine: cosine.into(), coverage, answers: false }
    }

    #[test]
    fn rare_terms_cover_more_than_common_ones() {
        let terms = [term(2), term(900)];
        let floor = Floor::new(&terms, "");
        assert!(floor.coverage(&[1.0, 0.0]) > 0.9 && floor.coverage(&[0.0, 3.0]) < 0.1);
        assert!((floor.coverage(&[1.0, 1.0]) - 1.0).abs() < 1e-9);
        assert!(Floor::new(&[], "").coverage(&[]).abs() < 1e-9);
    }

    #[test]
    fn a_day_in_the_question_need_not_stand_in_the_text() {
        let terms = [term(5)];
        assert!(Floor::new(&terms, "in July").coverage(&[1.0]).abs() < 1e-9);
        assert!((Floor::new(&terms, "Juli's").coverage(&[1.0]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_answer_needs_one_hit_that_is_near_or_says_the_words() {
        let known = [term(5), term(5)];
        let floor = Floor::new(&known, "");
        assert!(floor.is_answer([raw(0.1, 0.0), raw(0.3, 0.0)].into_iter()));
        assert!(floor.is_answer([raw(0.1, 0.5)].into_iter()));
        assert!(floor.is_answer([raw(-0.2, 1.0)].into_iter()));
        assert!(floor.is_answer([raw(None, 0.3)].into_iter()));
        assert!(!floor.is_answer([raw(0.19, 0.0), raw(None, 0.2)].into_iter()));
        assert!(!floor.is_answer(std::iter::empty()));
        let eleventh = std::iter::repeat_n(raw(0.0, 0.0), JUDGED).chain([raw(1.0, 1.0)]);
        assert!(!floor.is_answer(eleventh));
    }

    #[test]
    fn noise_is_dropped_and_what_says_a_little_stays() {
        assert!(raw(0.1, 0.0).is_telling() && raw(0.0, 0.1).is_telling() && raw(None, 0.3).is_telling());
        assert!(Raw { answers: true, ..raw(0.0, 0.0) }.is_telling());
        assert!(!raw(0.09, 0.09).is_telling() && !raw(None, 0.2).is_telling());
    }
}
