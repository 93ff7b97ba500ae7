//! Counts query terms in given documents. A search yields no counts, because it skips terms that cannot matter.

use tantivy::fieldnorm::FieldNormReader;

use super::Lexical;
use super::search::{NO_PLACE, Places};
use crate::error::Result;
use crate::index::bm25::{Counts, ScoredTerm, TermField};

impl Lexical {
    /// Count terms in the documents of the places in `wanted`. Row `i` of `counts` belongs to `wanted[i]`.
    ///
    /// Rows of places without a document in this index are not changed.
    pub fn count(&self, terms: &[ScoredTerm], places: &Places, wanted: &[u32], counts: &mut Counts) -> Result<()> {
        for (number, segment) in self.segments.iter().enumerate() {
            let mut here: Vec<(u32, usize)> = wanted
                .iter()
                .enumerate()
                .filter_map(|(row, &place)| {
                    let (at, document) = places.document_of(place)?;
                    (at as usize == number).then_some((document, row))
                })
                .collect();
            if here.is_empty() {
                continue;
            }
            here.sort_unstable();
            for field in [TermField::Prose, TermField::Identifier] {
                let norms = segment.norms(field);
                for &(document, row) in &here {
                    counts.set_length(row, field, FieldNormReader::id_to_fieldnorm(norms.fieldnorm_id(document)));
                }
            }
            for (column, term) in terms.iter().enumerate() {
                let Some(mut postings) = segment.postings(number, term)? else { continue };
                for &(document, row) in &here {
                    let at = postings.seek(document);
                    if at < postings.block_len() && postings.doc(at) == document {
                        counts.set(row, column, postings.freq(at));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Places {
    /// Segment and document of a place; `None` if the index has no document for it.
    #[inline]
    pub(super) fn document_of(&self, place: u32) -> Option<(u32, u32)> {
        self.documents.get(place as usize).copied().filter(|(_, document)| *document != NO_PLACE)
    }
}
