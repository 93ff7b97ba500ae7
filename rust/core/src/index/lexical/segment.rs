//! The segments of the index, opened once for all searches, and where the postings of a term are in them.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{InvertedIndexReader, Searcher, SegmentReader, Term};

use super::{Fields, Lexical, failed};
use crate::error::Result;
use crate::index::bm25::{ScoredTerm, TermField};
use crate::index::occurrences::{Occurrences, PostingList};

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
        let Some(list) = term.occurrences.0.get(number).and_then(Option::as_ref) else { return Ok(None) };
        let info = TermInfo {
            doc_freq: list.documents,
            postings_range: list.postings.clone(),
            positions_range: list.positions.clone(),
        };
        let index = &self.fields[term.field as usize].index;
        let postings = index.read_block_postings_from_terminfo(&info, IndexRecordOption::WithFreqs);
        postings.map(Some).map_err(|e| failed(&e))
    }
}

/// Open all segments of a searcher, in its order; `None` if one is unreadable.
pub(super) fn open_segments(searcher: &Searcher, fields: Fields) -> Option<Vec<Segment>> {
    searcher.segment_readers().iter().map(|segment| Segment::open(segment, fields).ok()).collect()
}

impl Lexical {
    /// Look up a term. The result belongs to this commit of the index.
    pub fn occurrences(&self, field: TermField, term: &str) -> Result<Occurrences> {
        let term = Term::from_field_text(self.fields.of(field), term);
        let look_up = |segment: &Segment| {
            let info = segment.fields[field as usize].index.get_term_info(&term)?;
            Ok(info.map(|info| PostingList {
                documents: info.doc_freq,
                postings: info.postings_range,
                positions: info.positions_range,
            }))
        };
        let lists = self.segments.iter().map(look_up).collect::<std::io::Result<_>>();
        lists.map(Occurrences).map_err(|e| failed(&e))
    }
}
