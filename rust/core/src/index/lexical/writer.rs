//! Writer of the lexical index.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;
use tantivy::indexer::LogMergePolicy;
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{Index, IndexSettings, IndexWriter, ReloadPolicy, TantivyDocument, Term};

use super::directory::Unlocked;
use super::files::{LIST, damaged_files, list_files};
use super::{Fields, Mark, failed, folder, mark_of, meta_file, schema, searcher_of};
use crate::error::{Error, Result};
use crate::index::sealed;
use crate::store;
use crate::text::Analysis;

/// Memory budget of the index writer, which flushes a segment when the budget is used up.
const WRITER_BYTES: usize = 64 << 20;
/// tantivy's files besides those of the segments: the list of segments, and the list of files.
const META: &str = "meta.json";
const MANAGED: &str = ".managed.json";
/// So many segments of about one size are merged.
const SEGMENTS_OF_A_SIZE: usize = 4;
/// Binary logarithm of the ratio up to which sizes are about the same.
const SIZES_LOG_2: f64 = 2.0;

/// The only writer of the lexical index. The caller must hold the indexer lock.
pub struct LexicalWriter {
    fields: Fields,
    data_dir: PathBuf,
    index: Index,
    writer: IndexWriter,
    mark: Option<Mark>,
}

impl LexicalWriter {
    /// Open or create the index under `data_dir`.
    pub fn open(data_dir: &Path) -> Result<Self> {
        let folder = folder(data_dir);
        if !folder.is_dir() {
            store::remove_if_there(&folder)?;
        }
        store::create_folder(&folder)?;
        let (schema, fields) = schema();
        // Open the index anew for each run. A handle that outlives a commit of another process leaks segment files.
        let files = Unlocked::for_writing(&folder).map_err(|e| failed(&e))?;
        let index = match Index::open(files.clone()) {
            Ok(index) if index.schema() == schema => {
                examine(&index, data_dir)?;
                index
            }
            Ok(_) => return Err(Error::Index { index: "lexical", message: "the index has another layout".into() }),
            Err(tantivy::TantivyError::OpenReadError(_)) if is_empty(&folder) => {
                let index = Index::create(files, schema, IndexSettings::default()).map_err(|e| failed(&e))?;
                crate::crash::point("lexical:created");
                index
            }
            Err(error) => return Err(failed(&error)),
        };
        let mark = mark_of(&index);
        let writer: IndexWriter = index.writer_with_num_threads(1, WRITER_BYTES).map_err(|e| failed(&e))?;
        writer.set_merge_policy(Box::new(merge_policy()));
        // A writer that was killed before it listed a new file in the meta file leaves the new file behind. The next
        // commit would then fail to create a file of that name.
        writer.garbage_collect_files().wait().map_err(|e| failed(&e))?;
        Ok(Self { fields, data_dir: data_dir.to_owned(), index, writer, mark })
    }

    /// Remove the index under `data_dir`.
    pub fn remove(data_dir: &Path) -> Result<()> {
        // Remove the meta file first. Otherwise it could list missing files.
        store::remove_if_there(&meta_file(data_dir))?;
        crate::crash::point("lexical:removing");
        store::remove_if_there(&folder(data_dir))
    }

    /// Remove the files that the last commit does not name. tantivy keeps a file that it could not delete, for example
    /// because another process had it open, and tries again only with a later commit.
    pub fn remove_unlisted(data_dir: &Path) -> Result<()> {
        let folder = folder(data_dir);
        let fail = |source| Error::storage("clean", &folder, source);
        let files = Unlocked::for_reading(&folder).map_err(|e| failed(&e))?;
        let metas = Index::open(files).and_then(|index| index.load_metas()).map_err(|e| failed(&e))?;
        let listed = metas.list_segment_files();
        for found in fs_err::read_dir(&folder).map_err(fail)? {
            let found = found.map_err(fail)?;
            let name = found.file_name();
            if name != META && name != MANAGED && name != LIST && !listed.contains(Path::new(&name)) {
                store::remove_if_there(&found.path())?;
            }
        }
        Ok(())
    }

    /// Position of the index; `None` if it is new.
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

    /// Remove all texts. Readers see them until the next commit.
    pub fn drop_all(&self) -> Result<()> {
        self.writer.delete_all_documents().map(drop).map_err(|e| failed(&e))
    }

    /// Make all changes so far visible and durable.
    pub fn commit(&mut self, mark: &Mark) -> Result<()> {
        let payload = sealed::seal(mark).map_err(|error| failed(&error))?;
        let mut prepared = self.writer.prepare_commit().map_err(|e| failed(&e))?;
        crate::crash::point("lexical:prepared");
        prepared.set_payload(&payload);
        prepared.commit().map_err(|e| failed(&e))?;
        self.mark = Some(mark.clone());
        crate::crash::point("lexical:committed");
        Ok(())
    }

    /// Wait for merges, close the writer and list the files that it has written.
    pub fn finish(self) -> Result<()> {
        self.writer.wait_merging_threads().map_err(|e| failed(&e))?;
        list_files(&self.index, &self.data_dir)
    }
}

/// Return an error if the index is damaged. Otherwise a merge would write the damaged data with a new checksum.
fn examine(index: &Index, data_dir: &Path) -> Result<()> {
    let Some(mark) = mark_of(index) else {
        let is_new = index.searchable_segment_metas().map_err(|e| failed(&e))?.is_empty();
        return if is_new { Ok(()) } else { Err(failed(&"does not say how far it is")) };
    };
    if !mark.has_current_layout() {
        return Err(failed(&"was made by another version"));
    }
    if let Some(file) = damaged_files(index, data_dir, &mut FxHashSet::default())?.first() {
        return Err(failed(&format!("{} is damaged", file.display())));
    }
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(|e| failed(&e))?;
    searcher_of(&reader, &mark).map(drop).ok_or_else(|| failed(&"holds other documents than it says"))
}

/// When segments are merged. A search looks each term up in every segment, so there are fewer than by default.
fn merge_policy() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(SEGMENTS_OF_A_SIZE);
    policy.set_level_log_size(SIZES_LOG_2);
    policy
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
    !folder.join(META).exists()
}
