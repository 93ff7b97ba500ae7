//! The index as its one writer sees it.

use std::path::Path;

use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{Index, IndexWriter, TantivyDocument, Term};

use super::{Fields, Mark, failed, folder, mark_of, schema};
use crate::error::{Error, Result};
use crate::text::Analysis;

/// Memory of the index writer; it flushes a segment when this is full.
const WRITER_BYTES: usize = 64 << 20;

/// The index as its one writer sees it; the caller holds the indexer lock.
pub struct LexicalWriter {
    fields: Fields,
    writer: IndexWriter,
    mark: Option<Mark>,
}

impl LexicalWriter {
    /// Open or create the index under `data_dir`.
    pub fn open(data_dir: &Path) -> Result<Self> {
        let folder = folder(data_dir);
        crate::store::create_folder(&folder)?;
        let (schema, fields) = schema();
        // Afresh each time: a handle that outlives another process's commit leaks segment files.
        let index = match Index::open_in_dir(&folder) {
            Ok(index) if index.schema() == schema => index,
            Ok(_) => return Err(Error::Index { index: "lexical", message: "has another layout".into() }),
            Err(tantivy::TantivyError::OpenReadError(_)) if is_empty(&folder) => {
                Index::create_in_dir(&folder, schema).map_err(|e| failed(&e))?
            }
            Err(error) => return Err(failed(&error)),
        };
        let mark = mark_of(&index).filter(Mark::has_current_layout);
        let writer: IndexWriter = index.writer_with_num_threads(1, WRITER_BYTES).map_err(|e| failed(&e))?;
        // A writer that was killed between writing a file and naming it in the meta leaves the file behind, and the next
        // commit would fail to create it again.
        writer.garbage_collect_files().wait().map_err(|e| failed(&e))?;
        Ok(Self { fields, writer, mark })
    }

    /// Remove the index under `data_dir`.
    pub fn remove(data_dir: &Path) -> Result<()> {
        let folder = folder(data_dir);
        match fs_err::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::storage("remove", &folder, error)),
            _ => Ok(()),
        }
    }

    /// How far the index is; `None` for a new one, or one that an older version made.
    pub fn mark(&self) -> Option<&Mark> {
        self.mark.as_ref()
    }

    /// Add a text under its key.
    pub fn add(&self, key: i64, analysis: Analysis) -> Result<()> {
        let mut document = TantivyDocument::default();
        document.add_u64(self.fields.key, key as u64);
        document.add_pre_tokenized_text(self.fields.prose, pre_tokenized(analysis.prose));
        document.add_pre_tokenized_text(self.fields.identifier, pre_tokenized(analysis.identifiers));
        self.writer.add_document(document).map_err(|e| failed(&e))?;
        Ok(())
    }

    /// Remove a text by its key.
    pub fn delete(&self, key: i64) {
        self.writer.delete_term(Term::from_field_u64(self.fields.key, key as u64));
    }

    /// Make everything so far visible and durable.
    pub fn commit(&mut self, mark: &Mark) -> Result<()> {
        let payload = serde_json::to_string(mark).map_err(|error| Error::Index { index: "lexical", message: error.to_string() })?;
        let mut prepared = self.writer.prepare_commit().map_err(|e| failed(&e))?;
        crate::crash::point("lexical:prepared");
        prepared.set_payload(&payload);
        prepared.commit().map_err(|e| failed(&e))?;
        self.mark = Some(mark.clone());
        crate::crash::point("lexical:committed");
        Ok(())
    }

    /// Let merges finish and give up the writer.
    pub fn finish(self) -> Result<()> {
        self.writer.wait_merging_threads().map_err(|e| failed(&e))
    }
}

fn pre_tokenized(terms: Vec<String>) -> PreTokenizedString {
    let tokens = terms
        .into_iter()
        .enumerate()
        .map(|(position, text)| Token { offset_from: 0, offset_to: 0, position, text, position_length: 1 })
        .collect();
    PreTokenizedString { text: String::new(), tokens }
}

fn is_empty(folder: &Path) -> bool {
    !folder.join("meta.json").exists()
}

