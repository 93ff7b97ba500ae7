//! Places of a term in the full-text index, so that it is looked up once for all steps of a recall.

use std::ops::Range;

/// The documents of one segment that contain a term, as the full-text index describes them.
#[derive(Debug, Clone)]
pub struct PostingList {
    /// Number of documents, including removed ones.
    pub documents: u32,
    /// Bytes of the postings in their file.
    pub postings: Range<usize>,
    /// Bytes of the positions in their file.
    pub positions: Range<usize>,
}

/// The posting lists of a term by segment. They belong to the commit of the index in which the term was looked up.
#[derive(Debug, Clone, Default)]
pub struct Occurrences(pub Vec<Option<PostingList>>);

impl Occurrences {
    /// Number of documents that contain the term, including removed ones.
    pub fn documents(&self) -> u64 {
        self.0.iter().flatten().map(|list| u64::from(list.documents)).sum()
    }
}
