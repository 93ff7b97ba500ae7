//! Finding the best documents for a query.
//!
//! Two ways that give the same answer. Most queries add up the scores of all documents of all terms: a few sequential
//! passes over postings, whose cost does not depend on the filter. Where that would be long and the filter lets most
//! documents through, blocks whose documents cannot reach the best are skipped instead (block-max WAND).

use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::{BooleanQuery, EnableScoring, Occur, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{SegmentReader, Term};

use super::{Lexical, failed};
use crate::error::Result;
use crate::index::bm25::{Bm25, ScoredTerm};
use crate::index::exact::{Best, Scored};

/// Postings that are added up without looking for a shortcut.
const ADDED_UP: u64 = 400_000;
/// A filter that lets less than this share through makes skipping slow: the bar to skip by rises too late.
const SKIPPING_SHARE: f64 = 0.5;

/// A document that stands for no row: its text was removed, or belongs to the overlay.
pub const NO_PLACE: u32 = u32::MAX;

/// The place of each document's row, segment by segment: what a filter is asked by.
#[derive(Debug, Default)]
pub struct Places(Vec<Vec<u32>>);

impl Lexical {
    /// Look the places of all documents up by their keys.
    ///
    /// Keys after the mark's get none: they belong to the overlay, whatever the index has absorbed already.
    pub fn places(&self, mut place_of: impl FnMut(i64) -> Option<u32>) -> Result<Places> {
        let mut all = Vec::with_capacity(self.searcher.segment_readers().len());
        for segment in self.searcher.segment_readers() {
            let keys = segment.fast_fields().u64("key").map_err(|e| failed(&e))?.first_or_default_col(0);
            let place = |document| {
                let key = keys.get_val(document) as i64;
                if key <= self.mark.last_key { place_of(key).unwrap_or(NO_PLACE) } else { NO_PLACE }
            };
            all.push((0..segment.max_doc()).map(place).collect());
        }
        Ok(Places(all))
    }

    /// The best documents for some terms among those that `allows` lets through, best first, by their place.
    ///
    /// `share` is about how much the filter lets through; it decides how to search, not what is found.
    pub fn search(
        &self,
        terms: &[ScoredTerm],
        limit: usize,
        places: &Places,
        share: f64,
        mut allows: impl FnMut(u32) -> bool,
    ) -> Result<Vec<Scored<u32>>> {
        if terms.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let mut allows = |place: u32| place != NO_PLACE && allows(place);
        let postings: u64 = terms.iter().map(|term| term.in_index).sum();
        let mut best = Best::new(limit);
        if postings <= ADDED_UP || share < SKIPPING_SHARE {
            let mut scores = self.scores.lock();
            for (segment, places) in self.searcher.segment_readers().iter().zip(&places.0) {
                self.add_up(segment, terms, places, &mut scores, &mut best, &mut allows)?;
            }
        } else {
            self.skip_through(terms, places, &mut best, &mut allows)?;
        }
        Ok(best.into_sorted())
    }

    fn add_up(
        &self,
        segment: &SegmentReader,
        terms: &[ScoredTerm],
        places: &[u32],
        scores: &mut Vec<f32>,
        best: &mut Best<u32>,
        allows: &mut impl FnMut(u32) -> bool,
    ) -> Result<()> {
        let documents = segment.max_doc() as usize;
        if scores.len() < documents {
            scores.resize(documents, 0.0);
        }
        let mut touched: Vec<u32> = Vec::new();
        for term in terms {
            let field = self.fields.of(term.field);
            let index = segment.inverted_index(field).map_err(|e| failed(&e))?;
            let found = index
                .read_block_postings(&Term::from_field_text(field, &term.text), IndexRecordOption::WithFreqs)
                .map_err(|e| failed(&e))?;
            let Some(mut postings) = found else { continue };
            let norms = segment.get_fieldnorms_reader(field).map_err(|e| failed(&e))?;
            let denominators = denominators(term.bm25);
            while postings.block_len() > 0 {
                for (&document, &count) in postings.docs().iter().zip(postings.freqs()) {
                    let score = &mut scores[document as usize];
                    if *score == 0.0 {
                        touched.push(document);
                    }
                    *score += term.bm25.weighed(count, denominators[usize::from(norms.fieldnorm_id(document))]);
                }
                postings.advance();
            }
        }
        for document in touched {
            let score = std::mem::take(&mut scores[document as usize]);
            let place = places[document as usize];
            if score > best.threshold() && allows(place) {
                best.offer(place, score);
            }
        }
        Ok(())
    }

    fn skip_through(
        &self,
        terms: &[ScoredTerm],
        places: &Places,
        best: &mut Best<u32>,
        allows: &mut impl FnMut(u32) -> bool,
    ) -> Result<()> {
        let clauses: Vec<(Occur, Box<dyn Query>)> = terms
            .iter()
            .map(|term| {
                let term = Term::from_field_text(self.fields.of(term.field), &term.text);
                let query: Box<dyn Query> = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
                (Occur::Should, query)
            })
            .collect();
        let weight = BooleanQuery::new(clauses)
            .weight(EnableScoring::enabled_from_searcher(&self.searcher))
            .map_err(|e| failed(&e))?;
        for (segment, places) in self.searcher.segment_readers().iter().zip(&places.0) {
            // The bar only rises with documents that the filter lets through, so the filter comes before the top-k.
            weight
                .for_each_pruning(best.threshold(), segment, &mut |document, score| {
                    let place = places[document as usize];
                    if allows(place) {
                        best.offer(place, score);
                    }
                    best.threshold()
                })
                .map_err(|e| failed(&e))?;
        }
        Ok(())
    }
}

/// The length norm of each of the 256 lengths that tantivy tells apart.
fn denominators(bm25: Bm25) -> [f32; 256] {
    std::array::from_fn(|id| bm25.norm(FieldNormReader::id_to_fieldnorm(id as u8)))
}
