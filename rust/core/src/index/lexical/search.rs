//! Top-k search of the lexical index.
//!
//! The search adds up scores term by term, rare terms first, in sequential passes over the postings. At some point the
//! remaining common terms alone cannot bring a new document among the best. From then on, these terms are only looked
//! up for the documents that can still reach the top. This is also fast with a filter. Skipping blocks by their maximum
//! score is not, because its threshold only rises with documents that pass the filter. Without a filter, it would skip
//! little: among 100,000 memories, the bar of the top is below the sum of two common terms, and most blocks contain a
//! document near their maximum.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::BlockSegmentPostings;

use super::scores::Scores;
use super::segment::Segment;
use super::{Lexical, failed};
use crate::error::Result;
use crate::index::bm25::{Bm25, ScoredTerm, TermField};
use crate::index::exact::{Best, Scored};

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
    let mut postings: usize = lists.iter().map(|list| list.length).sum();
    let mut read = 0;
    let mut added = 0;
    while let Some(list) = lists.get_mut(added) {
        scores.expect(postings);
        list.add_all(scores);
        added += 1;
        read += list.length;
        postings -= list.length;
        // Upper bound of the remaining terms' scores. If it is too low for a document without a term so far, look up
        // only the documents that can still reach the top in the long lists of common terms. The bar is determined only
        // if it may be high enough: it hardly ever exceeds the score of the rarest term.
        let rest: f32 = lists[added..].iter().map(List::upper_bound).sum();
        if rest > 0.0 && rest < lists[0].upper_bound() && postings > LOOK_UP * read {
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
