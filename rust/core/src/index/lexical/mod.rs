//! The lexical index: tantivy, BM25 over two fields, stemmed prose and identifiers whole and in parts.
//!
//! A document holds a key and terms, nothing that a filter looks at: whose memory it is, and whether it is still there, is
//! asked of the mirror while scoring. So a moved or archived memory needs no new document. How far the index is travels in
//! the payload of its commit as a [`Mark`]. Nothing outside of this folder knows tantivy.

mod reader;
mod search;
mod writer;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::Index;
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};

pub use reader::Lexical;
pub use search::Places;
pub use writer::LexicalWriter;

use super::bm25::TermField;
use crate::error::Error;
use crate::store::change::Head;

/// Name of the folder in the data directory.
pub const FOLDER: &str = "lexical";

/// Changes when documents are made in another way: an index with another number is rebuilt.
const LAYOUT: u32 = 1;

/// How far the index is: every text with a key up to `last_key` that was alive at `head` is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Deletions up to here are in the index.
    pub head: Head,
    /// Texts up to here are in the index.
    pub last_key: i64,
    /// How documents were made.
    pub layout: u32,
}

impl Mark {
    /// The mark of an index that has just been created.
    pub fn at(head: Head, last_key: i64) -> Self {
        Self { head, last_key, layout: LAYOUT }
    }

    /// Whether documents are made as this version makes them.
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
        // Terms come ready from our analyzer; the tokenizer's name is never looked up.
        TextFieldIndexing::default().set_tokenizer("raw").set_index_option(IndexRecordOption::WithFreqs).set_fieldnorms(true),
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

fn mark_of(index: &Index) -> Option<Mark> {
    serde_json::from_str(index.load_metas().ok()?.payload.as_deref()?).ok()
}

fn failed(error: &impl std::fmt::Display) -> Error {
    Error::Index { index: "lexical", message: error.to_string() }
}
