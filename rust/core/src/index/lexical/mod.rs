//! The lexical index: tantivy, BM25 over two fields, stemmed prose and identifiers whole and in parts.
//!
//! A document holds a key and terms, nothing that a filter looks at: whose memory it is, and whether it is still there, is
//! asked of the mirror while scoring. So a moved or archived memory needs no new document. How far the index is travels in
//! the payload of its commit as a [`Mark`]. Nothing outside of this folder knows tantivy.

mod counts;
mod directory;
mod reader;
mod search;
mod writer;

use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexReader, Searcher};

pub use reader::Lexical;
pub use search::Places;
pub use writer::LexicalWriter;

use super::bm25::TermField;
use super::sealed;
use crate::error::{Error, Result};
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
    /// How many that are.
    pub documents: usize,
    /// How documents were made.
    pub layout: u32,
}

impl Mark {
    /// The mark of an index that has just been created.
    pub fn at(head: Head, last_key: i64, documents: usize) -> Self {
        Self { head, last_key, documents, layout: LAYOUT }
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

/// Whether there is an index that is no longer what was written. One that was just begun, or that belongs to another
/// history of the store, is sound.
pub fn is_unreadable(data_dir: &Path) -> bool {
    let is_new =
        |index: &Index| index.load_metas().is_ok_and(|metas| metas.payload.is_none() && metas.segments.is_empty());
    meta_file(data_dir).exists()
        && Lexical::open(data_dir).is_none()
        && !Index::open_in_dir(folder(data_dir)).is_ok_and(|index| is_new(&index))
}

fn mark_of(index: &Index) -> Option<Mark> {
    sealed::unseal(index.load_metas().ok()?.payload.as_deref()?.as_bytes())
}

/// Files of the index that are not what was written. Files never change: those among `sound` were looked at before, and
/// those that are found sound are added to them.
///
/// tantivy panics on a damaged file or finds less in it, and merges what it finds into files whose checksum is right.
fn damaged_files(index: &Index, data_dir: &Path, sound: &mut FxHashSet<PathBuf>) -> Result<Vec<PathBuf>> {
    /// What ends every file: shorter ones are not even asked for their checksum.
    const FOOTER_BYTES: u64 = 8;

    let mut damaged = Vec::new();
    for file in index.load_metas().map_err(|e| failed(&e))?.list_segment_files() {
        if sound.contains(&file) {
            continue;
        }
        let bytes = fs_err::metadata(folder(data_dir).join(&file)).map(|metadata| metadata.len());
        let is_optional = file.extension().is_some_and(|extension| extension == "del" || extension == "temp");
        if bytes.is_err() && is_optional {
            continue; // the segment has no deletions, or whoever opens it says that they are gone
        }
        let is_sound = bytes.is_ok_and(|bytes| bytes >= FOOTER_BYTES)
            && index.directory().validate_checksum(&file).unwrap_or(false);
        if is_sound {
            sound.insert(file);
        } else {
            damaged.push(file);
        }
    }
    Ok(damaged)
}

/// Open what was committed last, if it is as it was written; the caller knows its files to be sound.
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
    // The file that lists the segments has no checksum, and another commit may have come between mark and searcher.
    (documents == mark.documents).then_some(searcher)
}

fn failed(error: &impl std::fmt::Display) -> Error {
    Error::Index { index: "lexical", message: error.to_string() }
}
