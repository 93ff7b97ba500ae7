//! Lexical index: tantivy with BM25 over two fields, stemmed prose and identifiers (whole and in parts).
//!
//! A document contains a key and terms, but no filter columns. Filters look up the project and the status in the mirror
//! while scoring, so a moved or archived memory needs no new document. The payload of each commit is a [`Mark`], which
//! records the position in the store. No module outside of this folder uses tantivy.

mod counts;
mod directory;
mod files;
mod reader;
mod scores;
mod search;
mod segment;
mod writer;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexReader, Searcher};

pub use reader::Lexical;
pub use search::Places;
pub use writer::LexicalWriter;

use super::bm25::TermField;
use super::sealed;
use crate::error::Error;
use crate::store::change::Head;

/// Name of the folder in the data directory.
pub const FOLDER: &str = "lexical";

/// Version of the document layout. An index with another version is rebuilt.
const LAYOUT: u32 = 1;

/// Position of the index: it contains every text with a key up to `last_key` that existed at `head`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Deletions up to this head are applied.
    pub head: Head,
    /// Texts with keys up to this one are in the index.
    pub last_key: i64,
    /// Number of documents in the index.
    pub documents: usize,
    /// Version of the document layout.
    pub layout: u32,
}

impl Mark {
    /// Create a mark with the current layout version.
    pub fn at(head: Head, last_key: i64, documents: usize) -> Self {
        Self { head, last_key, documents, layout: LAYOUT }
    }

    /// Whether the documents have the layout of this version.
    pub fn has_current_layout(&self) -> bool {
        self.layout == LAYOUT
    }
}

#[derive(Debug, Clone, Copy)]
struct Fields {
    key: Field,
    prose: Field,
    identifier: Field,
}

impl Fields {
    fn of(self, field: TermField) -> Field {
        match field {
            TermField::Prose => self.prose,
            TermField::Identifier => self.identifier,
        }
    }
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let terms = TextOptions::default().set_indexing_options(
        // Our analyzer supplies the terms, so tantivy never uses this tokenizer.
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(IndexRecordOption::WithFreqs)
            .set_fieldnorms(true),
    );
    let fields = Fields {
        key: builder.add_u64_field("key", FAST | INDEXED),
        prose: builder.add_text_field("prose", terms.clone()),
        identifier: builder.add_text_field("identifier", terms),
    };
    (builder.build(), fields)
}

/// The folder of the index.
pub fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join(FOLDER)
}

/// The file that changes with every commit.
pub fn meta_file(data_dir: &Path) -> PathBuf {
    folder(data_dir).join("meta.json")
}

/// Whether there is a damaged index. A new empty index is not damaged, and neither is one of another history of the
/// store.
pub fn is_unreadable(data_dir: &Path) -> bool {
    let is_new =
        |index: &Index| index.load_metas().is_ok_and(|metas| metas.payload.is_none() && metas.segments.is_empty());
    meta_file(data_dir).exists()
        && Lexical::open(data_dir).is_none()
        && !Index::open_in_dir(folder(data_dir)).is_ok_and(|index| is_new(&index))
}

/// Position of the last commit; `None` if there is no readable index.
pub fn committed_mark(data_dir: &Path) -> Option<Mark> {
    mark_of(&Index::open_in_dir(folder(data_dir)).ok()?)
}

fn mark_of(index: &Index) -> Option<Mark> {
    sealed::unseal(index.load_metas().ok()?.payload.as_deref()?.as_bytes())
}

/// Open the last commit if it matches its mark. The caller has checked the files.
fn searcher_of(reader: &IndexReader, mark: &Mark) -> Option<Searcher> {
    let searcher = reader.searcher();
    let mut documents = 0;
    for segment in searcher.segment_readers() {
        let keys = segment.fast_fields().u64("key").ok()?;
        if keys.num_docs() != segment.max_doc() {
            return None;
        }
        documents += segment.num_docs() as usize;
    }
    // The list of segments has no checksum, and another commit may have happened after reading the mark.
    (documents == mark.documents).then_some(searcher)
}

fn failed(error: &impl std::fmt::Display) -> Error {
    Error::Index { index: "lexical", message: error.to_string() }
}
