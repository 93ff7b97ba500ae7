//! The relevance floor, which returns an empty answer if no hit is relevant.
//!
//! The floor uses raw signals, because the best normalised score is always 1. It judges the answer as a whole. A turn
//! that is found through its neighbours has weak signals of its own, so a threshold per hit would drop evidence. If the
//! store does not contain the answer, no hit is strong. The threshold is low, because a query and its answer may share
//! no words. For example, "which package manager" and "Use pnpm" often have a cosine of at most 0.25.

/// Minimum of cosine plus weighted coverage that one hit must reach, by the number of memories that are compared. The best
/// of many unrelated memories is nearer to a question than a single one, so the minimum grows with the logarithm of their
/// number: fast in a store of a few memories, slowly above [`MANY`] of them.
const ANSWER_OF_ONE: f64 = 0.13;
const GROWTH: f64 = 0.0234;
const GROWTH_OF_MANY: f64 = 0.0075;
const MANY: f64 = 110.0;
/// Minimum of the mean of the [`SEVERAL`] strongest hits, which suffices as well; it grows above [`SOME`] memories. A
/// question about the subject of a store is a little near to several memories; an unrelated question is near to a single
/// one by chance.
const ANSWER_OF_SEVERAL: f64 = 0.14;
const SOME: f64 = 58.0;
const SEVERAL: usize = 5;
/// Weight of the coverage of query terms.
const COVERED: f64 = 0.3;
/// Coverage at which a text is relevant regardless of its cosine, and the least relevance of such a text.
const NEARLY_ALL: f64 = 0.75;
const BY_WORDS: f64 = 0.24;
/// Minimum coverage of a text without a vector.
pub const WORDS_ALONE: f64 = 0.3;
/// Minimum cosine or coverage of each returned hit.
const NOISE: f64 = 0.1;
/// Number of best hits that are judged, regardless of the requested limit.
pub const JUDGED: usize = 10;

/// Signals of a memory before normalisation.
#[derive(Debug, Clone, Copy)]
pub struct Raw {
    /// Cosine, if the memory has vectors.
    pub cosine: Option<f32>,
    /// Share of the query's terms that occur in the memory, weighted by rarity.
    pub coverage: f64,
    /// Whether the previous turn is a question that contains the query's terms.
    pub answers: bool,
}

/// The relevance that one of the best hits must reach, unless several weaker ones answer together.
///
/// `compared` is the number of memories that pass the filters.
pub fn least_relevance(compared: usize) -> f64 {
    let compared = compared.max(1) as f64;
    ANSWER_OF_ONE + GROWTH * compared.min(MANY).ln() + GROWTH_OF_MANY * (compared / MANY).max(1.0).ln()
}

/// The mean relevance that the strongest hits must reach together.
fn least_mean(compared: usize) -> f64 {
    ANSWER_OF_SEVERAL + GROWTH * (compared as f64 / SOME).max(1.0).ln()
}

/// Whether one of the best hits is relevant, or several of them together.
pub fn is_answer(best: impl Iterator<Item = Raw>, compared: usize) -> bool {
    let least = least_relevance(compared);
    let best: Vec<Raw> = best.take(JUDGED).collect();
    best.iter().any(|raw| raw.suffices(least))
        || mean_of_strongest(&best).is_some_and(|mean| mean >= least_mean(compared))
}

/// Mean relevance of the strongest [`SEVERAL`] hits that have vectors; `None` if there are fewer.
fn mean_of_strongest(best: &[Raw]) -> Option<f64> {
    let mut found: Vec<f64> = best.iter().filter(|raw| raw.cosine.is_some()).map(|raw| raw.relevance()).collect();
    found.sort_unstable_by(|a, b| b.total_cmp(a));
    found.get(..SEVERAL).map(|strongest| strongest.iter().sum::<f64>() / SEVERAL as f64)
}

impl Raw {
    /// Whether this hit alone makes an answer relevant.
    fn suffices(self, least: f64) -> bool {
        self.coverage >= NEARLY_ALL
            || match self.cosine {
                Some(_) => self.relevance() >= least,
                None => self.coverage >= WORDS_ALONE,
            }
    }

    /// Relevance of a memory by itself. Without a vector, and for a text with nearly all terms of the query, the words
    /// alone decide; the scale is the same. It is at least 0, also if the vectors point away from each other.
    pub fn relevance(self) -> f64 {
        let by_words = if self.coverage >= NEARLY_ALL { BY_WORDS } else { 0.0 };
        match self.cosine {
            Some(cosine) => by_words.max(f64::from(cosine) + COVERED * self.coverage),
            None => by_words.max(self.coverage / WORDS_ALONE * BY_WORDS),
        }
    }

    /// Whether a hit of a relevant answer is strong enough to be returned.
    pub fn is_relevant(self) -> bool {
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

    fn raw(cosine: impl Into<Option<f32>>, coverage: f64) -> Raw {
        Raw { cosine: cosine.into(), coverage, answers: false }
    }

    #[test]
    fn answer_needs_one_hit_with_high_cosine_or_coverage() {
        let many = 110;
        assert!(is_answer([raw(0.1, 0.0), raw(0.3, 0.0)].into_iter(), many));
        assert!(is_answer([raw(0.1, 0.5)].into_iter(), many));
        assert!(is_answer([raw(-0.2, 1.0)].into_iter(), many));
        assert!(is_answer([raw(None, 0.3)].into_iter(), many));
        assert!(!is_answer([raw(0.23, 0.0), raw(None, 0.2)].into_iter(), many));
        assert!(!is_answer(std::iter::empty(), many));
        let eleventh = std::iter::repeat_n(raw(0.0, 0.0), JUDGED).chain([raw(1.0, 1.0)]);
        assert!(!is_answer(eleventh, many));
    }

    #[test]
    fn minimum_is_lower_in_a_tiny_store() {
        assert!(is_answer([raw(0.15, 0.0)].into_iter(), 1) && !is_answer([raw(0.12, 0.0)].into_iter(), 1));
        assert!(is_answer([raw(0.18, 0.0)].into_iter(), 5) && !is_answer([raw(0.18, 0.0)].into_iter(), 20));
    }

    #[test]
    fn minimum_is_higher_in_a_large_store_for_vectors_but_not_for_words() {
        assert!(is_answer([raw(0.25, 0.0)].into_iter(), 200) && !is_answer([raw(0.25, 0.0)].into_iter(), 2000));
        assert!(
            is_answer([raw(0.0, 0.8)].into_iter(), 1_000_000) && is_answer([raw(None, 0.3)].into_iter(), 1_000_000)
        );
    }

    #[test]
    fn several_weak_hits_are_an_answer_together() {
        let of = |strength: f32, count: usize| std::iter::repeat_n(raw(strength, 0.0), count);
        assert!(is_answer(of(0.15, 5), 50) && !is_answer(of(0.13, 5), 50));
        assert!(!is_answer(of(0.15, 4).chain(of(0.0, 1)), 50) && !is_answer(of(0.15, 4), 50));
        assert!(!is_answer(of(0.15, 5), 2000) && is_answer(of(0.23, 5), 2000));
        let beside_one_that_points_away = of(0.19, 4).chain(of(-0.36, 1));
        assert!(is_answer(beside_one_that_points_away, 50) && !is_answer(of(0.17, 4).chain(of(-0.36, 1)), 50));
    }

    #[test]
    fn hit_below_both_minimums_is_not_relevant() {
        assert!(raw(0.1, 0.0).is_relevant() && raw(0.0, 0.1).is_relevant() && raw(None, 0.3).is_relevant());
        assert!(Raw { answers: true, ..raw(0.0, 0.0) }.is_relevant());
        assert!(!raw(0.09, 0.09).is_relevant() && !raw(None, 0.2).is_relevant());
    }
}
