//! Scores of the documents of a segment, added up term by term.
//!
//! The first documents that get a score are listed. If many more follow, they are not, because listing them takes longer
//! than reading the scores of all documents in order.

use std::mem::take;

/// At least this number of documents is listed. They come first at the end, and raise the bar for the others.
const LISTED: usize = 512;
/// Listing one document takes as long as reading the scores of so many.
const READ_AS_LISTED: usize = 16;
/// Number of scores that are compared with a bar at once.
const AT_ONCE: usize = 16;

/// Scores by document. All are zero before and after a segment; a document without a score has zero.
#[derive(Debug, Default)]
pub struct Scores {
    /// Scores in groups. The last group may be longer than needed.
    groups: Vec<[f32; AT_ONCE]>,
    /// Documents with a score, in the order in which they got it.
    listed: Vec<u32>,
    /// Whether more documents have a score than those listed.
    has_unlisted: bool,
}

impl Scores {
    /// Start a segment with this number of documents.
    pub fn start(&mut self, documents: usize) {
        self.groups.resize(documents.div_ceil(AT_ONCE), [0.0; AT_ONCE]);
    }

    /// Decide whether further documents are listed, before this number of scores is added.
    pub fn prepare(&mut self, number: usize) {
        self.has_unlisted |= self.listed.len() >= LISTED && number * READ_AS_LISTED > self.groups.len() * AT_ONCE;
    }

    /// Add the scores of one term.
    #[inline]
    pub fn add_all(&mut self, added: impl Iterator<Item = (u32, f32)>) {
        let scores = self.groups.as_flattened_mut();
        if self.has_unlisted {
            for (document, added) in added {
                scores[document as usize] += added;
            }
            return;
        }
        for (document, added) in added {
            let score = &mut scores[document as usize];
            if *score == 0.0 {
                self.listed.push(document);
            }
            *score += added;
        }
    }

    /// Add the score of one term to a document that has a score.
    #[inline]
    pub fn add(&mut self, document: u32, added: f32) {
        self.groups.as_flattened_mut()[document as usize] += added;
    }

    /// The listed documents with their scores.
    pub fn listed(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        let scores = self.groups.as_flattened();
        self.listed.iter().map(|document| (*document, scores[*document as usize]))
    }

    /// Documents whose score exceeds a bar, sorted. The bar must be positive.
    pub fn above(&self, bar: f32) -> Vec<u32> {
        let mut above = Vec::new();
        if self.has_unlisted {
            for (group, scores) in self.groups.iter().enumerate().filter(|(_, scores)| any_above(scores, bar)) {
                above.extend(documents(group, scores).filter(|(_, score)| *score > bar).map(|(document, _)| document));
            }
        } else {
            above.extend(self.listed().filter(|(_, score)| *score > bar).map(|(document, _)| document));
            above.sort_unstable();
        }
        above
    }

    /// End the segment and clear its scores.
    ///
    /// Calls `each` with every document whose score exceeds the bar, and with the score. `each` returns the bar for the
    /// remaining documents.
    pub fn end(&mut self, bar: f32, mut each: impl FnMut(u32, f32) -> f32) {
        let mut bar = bar.max(0.0);
        let mut offer = |document, score, bar: &mut f32| {
            if score > *bar {
                *bar = each(document, score).max(0.0);
            }
        };
        let scores = self.groups.as_flattened_mut();
        for document in self.listed.drain(..) {
            offer(document, take(&mut scores[document as usize]), &mut bar);
        }
        if take(&mut self.has_unlisted) {
            for (group, scores) in self.groups.iter_mut().enumerate() {
                if any_above(scores, bar) {
                    documents(group, scores).for_each(|(document, score)| offer(document, score, &mut bar));
                }
                *scores = [0.0; AT_ONCE];
            }
        }
    }
}

/// The documents of a group, with their scores.
fn documents(group: usize, scores: &[f32; AT_ONCE]) -> impl Iterator<Item = (u32, f32)> + '_ {
    ((group * AT_ONCE) as u32..).zip(scores.iter().copied())
}

/// Whether one of some scores is above a bar.
#[expect(clippy::needless_bitwise_bool, reason = "without branches, the compiler uses vector instructions")]
#[inline]
fn any_above(scores: &[f32; AT_ONCE], bar: f32) -> bool {
    scores.iter().fold(false, |any, score| any | (*score > bar))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn scores_are_those_of_a_plain_sum(
            documents in 1_usize..3_000,
            lists in prop::collection::vec((1_usize..40, 1_u8..8), 1..6),
            bar in 0.0_f32..20.0,
        ) {
            let mut scores = Scores::default();
            // The second segment uses the same memory. No score of the first one may remain.
            for documents in [documents, documents.div_ceil(2)] {
                let list = |step: usize| (0..documents).step_by(step).map(|document| document as u32);
                let mut sums: BTreeMap<u32, f32> = BTreeMap::new();
                scores.start(documents);
                for (step, score) in &lists {
                    let score = f32::from(*score);
                    scores.prepare(list(*step).count());
                    scores.add_all(list(*step).map(|document| (document, score)));
                    list(*step).for_each(|document| *sums.entry(document).or_default() += score);
                }
                scores.add(0, 0.5);
                sums.entry(0).and_modify(|sum| *sum += 0.5);
                prop_assert!(scores.listed().all(|listed| sums.get_key_value(&listed.0) == Some((&listed.0, &listed.1))));
                let above: Vec<u32> = sums.iter().filter(|(_, sum)| **sum > bar).map(|(document, _)| *document).collect();
                prop_assert_eq!(scores.above(bar), above);
                let mut ended = BTreeMap::new();
                scores.end(f32::MIN, |document, score| {
                    assert_eq!(ended.insert(document, score), None);
                    f32::MIN
                });
                prop_assert_eq!(ended, sums);
                prop_assert!(scores.groups.as_flattened().iter().all(|score| *score == 0.0) && scores.listed.is_empty());
            }
        }
    }

    #[test]
    fn many_documents_are_not_listed() {
        let mut scores = Scores::default();
        scores.start(10_000);
        for _ in 0..2 {
            scores.prepare(2_000);
            scores.add_all((0..2_000).map(|number| (5 * number, 1.0)));
            scores.prepare(5_000);
            scores.add_all((0..5_000).map(|number| (2 * number, 1.0)));
            assert_eq!((scores.listed.len(), scores.above(1.5).len()), (2_000, 1_000));
            let mut best = 0;
            // Each document found raises the bar.
            scores.end(0.0, |_, score| {
                best += usize::from(score > 1.5);
                score - 0.5
            });
            assert_eq!(best, 1_000);
        }
    }
}
