//! Overlay of the lexical index: an in-memory index of the texts that the lexical index has not absorbed yet.
//!
//! Scores use the statistics of both indexes together, so that the rank of a new text does not change when it is
//! absorbed. The overlay contains every text after the index's mark, or all texts if there is no index.

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::index::best::{Best, Scored};
use crate::index::bm25::{Bm25, Counts, FieldStatistics, ScoredTerm, TermField, count_terms, terms_of};
use crate::index::lexical::Lexical;
use crate::index::occurrences::Occurrences;
use crate::store::Connection;
use crate::store::memory;
use crate::text::{self, Analysis, QueryTerms};

const PAGE: usize = 1_000;

#[derive(Debug, Default)]
struct Postings {
    of_term: FxHashMap<String, Vec<(i64, u32)>>,
    terms: u64,
}

/// Texts that are not in the lexical index.
#[derive(Debug, Default)]
pub struct Overlay {
    /// Texts with keys up to this one are in the lexical index.
    after: i64,
    /// Texts with keys up to this one are in the overlay.
    upto: i64,
    prose: Postings,
    identifiers: Postings,
    lengths: FxHashMap<i64, (u32, u32)>,
}

impl Overlay {
    /// Add the snapshot's texts after `after`. [`Overlay::forget_removed`] drops texts that were deleted since.
    pub fn refresh(&mut self, at: &Connection, after: i64) -> Result<()> {
        if after < self.after {
            *self = Self { after, upto: after, ..Self::default() };
        } else if after > self.after {
            self.forget_absorbed(after);
        }
        loop {
            let page = memory::page(at, self.upto, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            for memory in &page {
                self.add(memory.key, text::analyze(&memory.searched_text()));
            }
            self.upto = last.key;
        }
    }

    /// Drop the texts up to `after`, which the index has absorbed. The others are not analysed again: while an index of
    /// a whole store is built, it absorbs the store in batches.
    fn forget_absorbed(&mut self, after: i64) {
        self.retain(|key| key > after);
        for postings in [&mut self.prose, &mut self.identifiers] {
            postings.of_term.retain(|_, found| {
                found.drain(..found.partition_point(|(key, _)| *key <= after));
                !found.is_empty()
            });
        }
        self.after = after;
        self.upto = self.upto.max(after);
    }

    /// Drop deleted texts. Otherwise their words would count as more common than they are.
    pub fn forget_removed(&mut self, is_there: impl Fn(i64) -> bool) {
        self.retain(is_there);
    }

    fn retain(&mut self, stays: impl Fn(i64) -> bool) {
        let Self { lengths, prose, identifiers, .. } = self;
        lengths.retain(|key, (prose_terms, identifier_terms)| {
            let stays = stays(*key);
            if !stays {
                prose.terms -= u64::from(*prose_terms);
                identifiers.terms -= u64::from(*identifier_terms);
            }
            stays
        });
    }

    fn add(&mut self, key: i64, analysis: Analysis) {
        let lengths = (analysis.prose.len() as u32, analysis.identifiers.len() as u32);
        self.lengths.insert(key, lengths);
        for (postings, terms) in [(&mut self.prose, analysis.prose), (&mut self.identifiers, analysis.identifiers)] {
            postings.terms += terms.len() as u64;
            for (term, count) in count_terms(terms) {
                postings.of_term.entry(term).or_default().push((key, count));
            }
        }
    }

    /// Number of texts in the overlay.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether the overlay has no texts.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    fn postings(&self, field: TermField) -> &Postings {
        match field {
            TermField::Prose => &self.prose,
            TermField::Identifier => &self.identifiers,
        }
    }

    /// Compute the weight of each query term from its rarity in the index and the overlay together.
    pub fn score_terms(&self, index: Option<&Lexical>, terms: &QueryTerms) -> Result<Vec<ScoredTerm>> {
        let statistics = [TermField::Prose, TermField::Identifier].map(|field| {
            let main = index.map_or(FieldStatistics::default(), |index| index.statistics(field));
            FieldStatistics {
                documents: main.documents + self.lengths.len() as u64,
                terms: main.terms + self.postings(field).terms,
            }
        });
        terms_of(terms)
            .map(|(field, term)| {
                let occurrences = index.map_or(Ok(Occurrences::default()), |index| index.occurrences(field, term))?;
                let found = self.postings(field).of_term.get(term).into_iter().flatten();
                let here = found.filter(|(key, _)| self.lengths.contains_key(key)).count() as u64;
                let bm25 = Bm25::new(occurrences.documents() + here, statistics[field as usize]);
                Ok(ScoredTerm { field, text: term.to_owned(), bm25: bm25.with_weight(field.weight()), occurrences })
            })
            .collect()
    }

    /// Count terms in the texts with the given keys. Texts outside of the overlay keep their counts.
    pub fn count(&self, terms: &[ScoredTerm], keys: impl Iterator<Item = i64>, counts: &mut Counts) {
        if self.is_empty() {
            return;
        }
        for (text, key) in keys.enumerate() {
            let Some(&(prose, identifiers)) = self.lengths.get(&key) else { continue };
            counts.set_length(text, TermField::Prose, prose);
            counts.set_length(text, TermField::Identifier, identifiers);
            for (column, term) in terms.iter().enumerate() {
                let Some(found) = self.postings(term.field).of_term.get(&term.text) else { continue };
                // Postings are sorted, because texts are added in order of their keys.
                if let Ok(at) = found.binary_search_by_key(&key, |(key, _)| *key) {
                    counts.set(text, column, found[at].1);
                }
            }
        }
    }

    /// Return the best texts for some terms among those that `allows` accepts, best first.
    pub fn search(&self, terms: &[ScoredTerm], limit: usize, mut allows: impl FnMut(i64) -> bool) -> Vec<Scored<i64>> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut scores: FxHashMap<i64, f32> = FxHashMap::default();
        for term in terms {
            let Some(found) = self.postings(term.field).of_term.get(&term.text) else { continue };
            for &(key, count) in found {
                let Some(&(prose, identifiers)) = self.lengths.get(&key) else { continue };
                let length = if term.field == TermField::Prose { prose } else { identifiers };
                *scores.entry(key).or_insert(0.0) += term.bm25.score(count, length);
            }
        }
        let mut best = Best::new(limit);
        for (key, score) in scores {
            if allows(key) {
                best.offer(key, score);
            }
        }
        best.into_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::engine::{Engine, Options};
    use crate::model::NewMemory;
    use crate::store::Store;

    /// Keys and scores of the texts with a word, without an index.
    fn found(overlay: &Overlay, word: &str) -> Vec<(i64, f32)> {
        let terms = overlay.score_terms(None, &text::analyze_query(word)).unwrap();
        overlay.search(&terms, 100, |_| true).into_iter().map(|found| (found.item, found.score)).collect()
    }

    #[test]
    fn texts_that_an_index_has_not_absorbed_are_not_analysed_again() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::default() };
        let engine = Engine::open(folder.path(), options, Clock::fixed(1)).unwrap();
        let new = |number: usize| NewMemory::new(format!("shelf number{number}"));
        engine.remember_many((1..=9).map(new).collect()).unwrap();
        let store = Store::open(folder.path(), false, 1).unwrap();
        let mut overlay = Overlay::default();
        overlay.refresh(&store.read().unwrap(), 0).unwrap();
        overlay.forget_removed(|key| key != 7);
        assert_eq!(overlay.len(), 8);

        // Of a text that is analysed again, the overlay would now have other words.
        store
            .write(&Clock::fixed(2), crate::model::Trust::User, |write| {
                write.execute("UPDATE memory SET content = 'other' WHERE key = 6", [])?;
                Ok(())
            })
            .unwrap();
        engine.remember(new(10)).unwrap();
        let at = store.read().unwrap();
        overlay.refresh(&at, 4).unwrap();
        let mut keys: Vec<i64> = found(&overlay, "shelf").into_iter().map(|(key, _)| key).collect();
        keys.sort_unstable();
        assert_eq!(keys, [5, 6, 8, 9, 10]);
        assert!(found(&overlay, "number2").is_empty());
        let mut postings = overlay.prose.of_term.values().chain(overlay.identifiers.of_term.values());
        assert!(postings.all(|found| !found.is_empty() && found.iter().all(|(key, _)| *key > 4)));

        // An index that has absorbed less than before was built anew.
        overlay.refresh(&at, 1).unwrap();
        assert_eq!(overlay.len(), 9);
        assert_eq!(found(&overlay, "other").len(), 1);
        // An index may have absorbed texts that the overlay has never had.
        overlay.refresh(&at, 50).unwrap();
        assert!(overlay.is_empty() && overlay.prose.terms == 0 && overlay.prose.of_term.is_empty());
    }
}
