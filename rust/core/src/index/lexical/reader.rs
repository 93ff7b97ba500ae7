//! Reader of the lexical index.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use tantivy::{Index, IndexReader, ReloadPolicy, Searcher};

use super::directory::Unlocked;
use super::files::damaged_files;
use super::scores::Scores;
use super::segment::{Segment, open_segments};
use super::{Fields, Mark, failed, folder, mark_of, schema, searcher_of};
use crate::error::Result;
use crate::index::bm25::{FieldStatistics, TermField};

/// A lexical index opened for reading.
pub struct Lexical {
    pub(super) fields: Fields,
    data_dir: PathBuf,
    index: Index,
    reader: IndexReader,
    pub(super) searcher: Searcher,
    /// The segments of the searcher.
    pub(super) segments: Vec<Segment>,
    pub(super) mark: Mark,
    /// Files whose checksum was verified.
    sound: FxHashSet<PathBuf>,
    /// Scores of searches that ended. Reused, because clearing is cheaper than allocating.
    pub(super) scores: Mutex<Vec<Scores>>,
}

impl std::fmt::Debug for Lexical {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lexical({} documents, {:?})", self.documents(), self.mark)
    }
}

impl Lexical {
    /// Open the index under `data_dir`; `None` if it is missing or unreadable.
    pub fn open(data_dir: &Path) -> Option<Self> {
        /// Number of attempts, because another process may commit or delete files while they are opened.
        const ATTEMPTS: usize = 3;
        (0..ATTEMPTS).find_map(|_| Self::open_once(data_dir))
    }

    fn open_once(data_dir: &Path) -> Option<Self> {
        let index = Index::open(Unlocked::for_reading(&folder(data_dir)).ok()?).ok()?;
        let (expected, fields) = schema();
        if index.schema() != expected {
            return None;
        }
        let mark = mark_of(&index)?;
        let mut sound = FxHashSet::default();
        if !damaged_files(&index, data_dir, &mut sound).ok()?.is_empty() {
            return None;
        }
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().ok()?;
        let searcher = searcher_of(&reader, &mark)?;
        let segments = open_segments(&searcher, fields)?;
        let data_dir = data_dir.to_owned();
        Some(Self { fields, data_dir, index, reader, searcher, segments, mark, sound, scores: Mutex::new(Vec::new()) })
    }

    /// Open the latest commit. On failure, keep the current one and return false.
    pub fn reload(&mut self) -> bool {
        self.try_reload().is_some()
    }

    fn try_reload(&mut self) -> Option<()> {
        // Read the mark first. A commit in between makes the searcher newer than the mark, which the overlay tolerates.
        // In the other order, texts could be missing in both the searcher and the overlay.
        let mark = mark_of(&self.index)?;
        if !damaged_files(&self.index, &self.data_dir, &mut self.sound).ok()?.is_empty() {
            return None;
        }
        self.reader.reload().ok()?;
        let searcher = searcher_of(&self.reader, &mark)?;
        self.segments = open_segments(&searcher, self.fields)?;
        self.searcher = searcher;
        self.mark = mark;
        Some(())
    }

    /// Position of the index.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Number of documents, including removed ones until their segment is merged.
    pub fn documents(&self) -> usize {
        self.searcher.segment_readers().iter().map(|segment| segment.num_docs() as usize).sum()
    }

    /// Statistics of one field.
    pub fn statistics(&self, field: TermField) -> FieldStatistics {
        let field = self.fields.of(field);
        let mut sum = FieldStatistics::default();
        for segment in self.searcher.segment_readers() {
            sum.documents += u64::from(segment.max_doc());
            sum.terms += segment.inverted_index(field).map_or(0, |index| index.total_num_tokens());
        }
        sum
    }

    /// Keys of all documents that are not removed.
    pub fn keys(&self) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        for segment in self.searcher.segment_readers() {
            let keys = segment.fast_fields().u64("key").map_err(|e| failed(&e))?.first_or_default_col(0);
            found.extend(segment.doc_ids_alive().map(|document| keys.get_val(document) as i64));
        }
        Ok(found)
    }

    /// Files that are missing or have a wrong checksum.
    pub fn damaged_files(&self) -> Result<Vec<PathBuf>> {
        damaged_files(&self.index, &self.data_dir, &mut FxHashSet::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::lexical::LexicalWriter;
    use crate::store::change::Head;
    use crate::text::analyze;

    #[test]
    fn files_of_merged_segments_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let commit = |key: i64| {
            let mut writer = LexicalWriter::open(folder.path()).unwrap();
            writer.add(key, analyze("a text")).unwrap();
            writer.commit(&Mark::at(Head::default(), key, key as usize)).unwrap();
            writer.finish().unwrap();
        };
        commit(1);
        let mut index = Lexical::open(folder.path()).unwrap();
        for key in 2..40 {
            commit(key);
            assert!(index.reload());
        }
        let files = index.index.load_metas().unwrap().list_segment_files();
        assert!(index.sound.iter().all(|file| files.contains(file)), "{} of {}", index.sound.len(), files.len());
    }
}
