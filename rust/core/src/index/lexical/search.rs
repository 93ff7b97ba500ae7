//! Top-k search of the lexical index.
//!
//! The search adds up scores term by term, rare terms first, in sequential passes over the postings. At some point the
//! remaining common terms alone cannot bring a new document among the best. From then on, these terms are only looked
//! up for the documents that can still reach the top. This is also fast with a filter. Skipping blocks by their maximum
//! score is not, because its threshold only rises with documents that pass the filter.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::BlockSegmentPostings;

use super::scores::Scores;
use super::segment::Segment;
use super::{Lexical, failed};
use crate::error::Result;
use crate::index::best::{Best, Scored};
use crate::index::bm25::{Bm25, ScoredTerm, TermField};

/// Place of a document without a row: its text was deleted, or belongs to the overlay.
pub const NO_PLACE: u32 = u32::MAX;
/// Number of lengths of documents that tantivy distinguishes.
const LENGTHS: usize = 256;
/// Looking up a document in a list takes as long as adding the scores of so many postings.
const LOOK_UP: usize = 4;

/// Maps documents to the places of their rows, by segment, and places back to documents. Filters work on places.
#[derive(Debug, Default)]
pub struct Places {
    of_segments: Vec<Vec<u32>>,
    /// Segment and document of each place.
    pub(super) documents: Vec<(u32, u32)>,
}

impl Lexical {
    /// Look up the places of all documents by their keys.
    ///
    /// Keys after the mark get no place. They belong to the overlay, even if the index already contains them.
    pub fn places(&self, mut place_of: impl FnMut(i64) -> Option<u32>) -> Result<Places> {
        let mut all = Places::default();
        for (number, segment) in self.searcher.segment_readers().iter().enumerate() {
            let keys = segment.fast_fields().u64("key").map_err(|e| failed(&e))?.first_or_default_col(0);
            let mut of_segment = vec![NO_PLACE; segment.max_doc() as usize];
            for document in 0..segment.max_doc() {
                let key = keys.get_val(document) as i64;
                let Some(place) = (key <= self.mark.last_key).then(|| place_of(key)).flatten() else { continue };
                of_segment[document as usize] = place;
                if all.documents.len() <= place as usize {
                    all.documents.resize(place as usize + 1, (0, NO_PLACE));
                }
                all.documents[place as usize] = (number as u32, document);
            }
            all.of_segments.push(of_segment);
        }
        Ok(all)
    }

    /// Return the places of the best documents for some terms among those that `allows` accepts, best first.
    pub fn search(
        &self,
        terms: &[ScoredTerm],
        limit: usize,
        places: &Places,
        mut allows: impl FnMut(u32) -> bool,
    ) -> Result<Vec<Scored<u32>>> {
        if terms.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let mut best = Best::new(limit);
        // Each search has scores of its own, so that searches of several threads do not wait for each other.
        let mut scores = self.scores.lock().pop().unwrap_or_default();
        let denominators = [TermField::Prose, TermField::Identifier].map(|field| denominators(terms, field));
        for ((number, segment), places) in self.segments.iter().enumerate().zip(&places.of_segments) {
            scores.start(segment.documents);
            add_up(lists(number, segment, terms, &denominators)?, places, &mut scores, &mut best, &mut allows);
        }
        self.scores.lock().push(scores);
        Ok(best.into_sorted())
    }
}

/// Add up the scores of a segment's documents, and offer the best that `allows` accepts.
fn add_up(
    mut lists: Vec<List<'_>>,
    places: &[u32],
    scores: &mut Scores,
    best: &mut Best<u32>,
    allows: &mut impl FnMut(u32) -> bool,
) {
    let (mut postings_left, mut postings_added): (usize, usize) = (lists.iter().map(|list| list.length).sum(), 0);
    let mut added = 0;
    while let Some(list) = lists.get_mut(added) {
        scores.prepare(postings_left);
        list.add_all(scores);
        added += 1;
        postings_added += list.length;
        postings_left -= list.length;
        // Upper bound of the remaining terms' scores. If it is too low for a document without a term so far, look up
        // only the documents that can still reach the top in the long lists of common terms. The bar is rarely higher
        // than the rarest term's greatest score, so it is computed only if that would be enough.
        let rest: f32 = lists[added..].iter().map(List::upper_bound).sum();
        if rest > 0.0 && rest < lists[0].upper_bound() && postings_left > LOOK_UP * postings_added {
            let bar = self::bar(scores, places, best, allows);
            if bar > rest {
                let hopeful = scores.above(bar - rest);
                lists[added..].iter_mut().for_each(|list| list.add_to(&hopeful, scores));
                break;
            }
        }
    }
    scores.end(best.threshold(), |document, score| {
        offer(best, places[document as usize], score, allows);
        best.threshold()
    });
}

/// Offer a document if `allows` accepts its place.
fn offer(best: &mut Best<u32>, place: u32, score: f32, allows: &mut impl FnMut(u32) -> bool) {
    if place != NO_PLACE && allows(place) {
        best.offer(place, score);
    }
}

/// Open the posting lists of a segment, rare terms first.
fn lists<'a>(
    number: usize,
    segment: &'a Segment,
    terms: &[ScoredTerm],
    denominators: &'a [[f32; LENGTHS]; 2],
) -> Result<Vec<List<'a>>> {
    let mut lists = Vec::with_capacity(terms.len());
    for term in terms {
        if let Some(postings) = segment.postings(number, term)? {
            lists.push(List {
                length: postings.doc_freq() as usize,
                postings,
                norms: segment.norms(term.field),
                denominators: &denominators[term.field as usize],
                bm25: term.bm25,
            });
        }
    }
    lists.sort_by_key(|list| list.length);
    Ok(lists)
}

/// The posting list of a term in one segment.
struct List<'a> {
    postings: BlockSegmentPostings,
    length: usize,
    norms: &'a FieldNormReader,
    denominators: &'a [f32; LENGTHS],
    bm25: Bm25,
}

impl List<'_> {
    /// Upper bound of this term's score.
    fn upper_bound(&self) -> f32 {
        self.bm25.idf() * Bm25::GREATEST_SATURATION
    }

    #[inline]
    fn score(&self, document: u32, count: u32) -> f32 {
        self.bm25.score_with_norm(count as f32, self.denominators[usize::from(self.norms.fieldnorm_id(document))])
    }

    /// Add the scores of all documents.
    fn add_all(&mut self, scores: &mut Scores) {
        while self.postings.block_len() > 0 {
            let block = self.postings.docs().iter().zip(self.postings.freqs());
            scores.add_all(block.map(|(&document, &count)| (document, self.score(document, count))));
            self.postings.advance();
        }
    }

    /// Add the scores of some documents, which must be sorted.
    fn add_to(&mut self, documents: &[u32], scores: &mut Scores) {
        for &document in documents {
            let at = self.postings.seek(document);
            if at < self.postings.block_len() && self.postings.doc(at) == document {
                scores.add(document, self.score(document, self.postings.freq(at)));
            }
        }
    }
}

/// Score that a document must exceed to be among the best, by the scores added up so far.
fn bar(scores: &Scores, places: &[u32], best: &Best<u32>, allows: &mut impl FnMut(u32) -> bool) -> f32 {
    let mut so_far = best.clone();
    for (document, score) in scores.listed() {
        if score > so_far.threshold() {
            offer(&mut so_far, places[document as usize], score, allows);
        }
    }
    so_far.threshold()
}

/// Length norms of the lengths that tantivy distinguishes, in a field. They are the same for all terms of the field.
fn denominators(terms: &[ScoredTerm], field: TermField) -> [f32; LENGTHS] {
    match terms.iter().find(|term| term.field == field) {
        Some(term) => std::array::from_fn(|id| term.bm25.norm(FieldNormReader::id_to_fieldnorm(id as u8) as f32)),
        None => [0.0; LENGTHS],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::bm25::{count_terms, terms_of};
    use crate::index::lexical::{LexicalWriter, Mark};
    use crate::store::change::Head;
    use crate::text::{self, Analysis};

    const DOCUMENTS: usize = 6_000;

    /// Texts of 4 to 27 words. Word N is in about one of N texts.
    fn texts() -> Vec<Analysis> {
        let mut state = 11_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        (0..DOCUMENTS)
            .map(|_| {
                let words = 4 + random(24);
                let prose = (0..words).map(|_| format!("w{}", 2_000 / (1 + random(1_000)))).collect();
                Analysis { prose, ..Analysis::default() }
            })
            .collect()
    }

    #[test]
    fn best_documents_are_those_of_all_scores() {
        let folder = tempfile::tempdir().unwrap();
        let texts = texts();
        for (part, texts) in texts.chunks(DOCUMENTS * 2 / 3).enumerate() {
            let mut writer = LexicalWriter::open(folder.path()).unwrap();
            let first = part * DOCUMENTS * 2 / 3;
            for (key, text) in (first as i64..).zip(texts) {
                writer.add(key, text.clone()).unwrap();
            }
            let end = first + texts.len();
            writer.commit(&Mark::at(Head::default(), end as i64 - 1, end)).unwrap();
            writer.finish().unwrap();
        }
        let index = Lexical::open(folder.path()).unwrap();
        assert_eq!(index.segments.len(), 2);
        let places = index.places(|key| Some(key as u32)).unwrap();
        let counts: Vec<_> = texts.iter().map(|text| count_terms(text.prose.clone())).collect();
        for query in ["w2 w3 w4", "w1000 w500 w2", "w2000 w7 w5 w3 w2", "w666 w400 w333 w250 w2", "w9 none", "none"] {
            let terms: Vec<ScoredTerm> = terms_of(&text::analyze_query(query))
                .filter(|(field, _)| *field == TermField::Prose)
                .map(|(field, text)| {
                    let occurrences = index.occurrences(field, text).unwrap();
                    let bm25 = Bm25::new(occurrences.documents(), index.statistics(field)).with_weight(field.weight());
                    ScoredTerm { field, text: text.to_owned(), bm25, occurrences }
                })
                .collect();
            for one_of in [1, 3, 40] {
                let mut wanted = Vec::new();
                for place in (0..DOCUMENTS).filter(|place| place.is_multiple_of(one_of)) {
                    let length = texts[place].prose.len() as u32;
                    let count = |term: &ScoredTerm| counts[place].get(&term.text).copied().unwrap_or_default();
                    let score: f32 = terms.iter().map(|term| term.bm25.score(count(term), length)).sum();
                    wanted.extend((score > 0.0).then_some(score));
                }
                wanted.sort_unstable_by(|a, b| b.total_cmp(a));
                wanted.truncate(64);
                let allows = |place: u32| (place as usize).is_multiple_of(one_of);
                let found = index.search(&terms, 64, &places, allows).unwrap();
                assert!(found.iter().all(|scored| allows(scored.item)));
                assert_eq!(found.len(), wanted.len(), "{query}, one of {one_of}");
                for (scored, wanted) in found.iter().zip(wanted) {
                    assert!((scored.score - wanted).abs() < 1e-4, "{query}, one of {one_of}: {scored:?}, not {wanted}");
                }
            }
        }
    }
}
