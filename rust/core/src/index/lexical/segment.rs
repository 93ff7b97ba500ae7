//! The segments of the index, opened once for all searches, and where the postings of a term are in them.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{InvertedIndexReader, Searcher, SegmentReader, Term};

use super::{Fields, Lexical, failed};
use crate::error::Result;
use crate::index::bm25::{ScoredTerm, TermField};

/// A segment, opened for searching.
pub(super) struct Segment {
    /// Number of documents, including removed ones.
    pub documents: usize,
    /// In the order of [`TermField`].
    fields: [SegmentField; 2],
}

/// The terms of one field of a segment.
struct SegmentField {
    index: Arc<InvertedIndexReader>,
    norms: FieldNormReader,
}

impl Segment {
    fn open(segment: &SegmentReader, fields: Fields) -> tantivy::Result<Self> {
        let open = |field| {
            let field = fields.of(field);
            Ok::<_, tantivy::TantivyError>(SegmentField {
                index: segment.inverted_index(field)?,
                norms: segment.get_fieldnorms_reader(field)?,
            })
        };
        Ok(Self {
            documents: segment.max_doc() as usize,
            fields: [open(TermField::Prose)?, open(TermField::Identifier)?],
        })
    }

    /// Lengths of the documents in a field.
    pub fn norms(&self, field: TermField) -> &FieldNormReader {
        &self.fields[field as usize].norms
    }

    /// The postings of a term; `None` if the segment does not contain it.
    pub fn postings(&self, number: usize, term: &ScoredTerm) -> Result<Option<BlockSegmentPostings>> {
        let Some(place) = term.occurrences.0.get(number).and_then(Option::as_ref) else { return Ok(None) };
        let index = &self.fields[term.field as usize].index;
        let postings = index.read_block_postings_from_terminfo(place, IndexRecordOption::WithFreqs);
        postings.map(Some).map_err(|e| failed(&e))
    }
}

/// Open all segments of a searcher, in its order; `None` if one is unreadable.
pub(super) fn open_segments(searcher: &Searcher, fields: Fields) -> Option<Vec<Segment>> {
    searcher.segment_readers().iter().map(|segment| Segment::open(segment, fields).ok()).collect()
}

/// Where the postings of a term are: one entry for each segment of the index in which the term was looked up.
#[derive(Debug, Clone, Default)]
pub struct Occurrences(Vec<Option<TermInfo>>);

impl Occurrences {
    /// Number of documents that contain the term, including removed ones.
    pub fn documents(&self) -> u64 {
        self.0.iter().flatten().map(|place| u64::from(place.doc_freq)).sum()
    }
}

impl Lexical {
    /// Look up a term. The result belongs to this commit of the index.
    pub fn occurrences(&self, field: TermField, term: &str) -> Result<Occurrences> {
        let term = Term::from_field_text(self.fields.of(field), term);
        let look_up = |segment: &Segment| segment.fields[field as usize].index.get_term_info(&term);
        let places = self.segments.iter().map(look_up).collect::<std::io::Result<_>>();
        places.map(Occurrences).map_err(|e| failed(&e))
    }
}
