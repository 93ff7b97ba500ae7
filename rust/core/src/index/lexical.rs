//! The lexical index: tantivy, BM25 over two fields, stemmed prose and identifiers whole and in parts.
//!
//! A document holds a key and terms, nothing that a filter looks at: whose memory it is, and whether it is still there, is
//! asked of the mirror while scoring. So a moved or archived memory needs no new document. How far the index is travels in
//! the payload of its commit as a [`Mark`].

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tantivy::query::{BooleanQuery, EnableScoring, Occur, Query, TermQuery};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, Term};

use super::exact::{Best, Scored};
use crate::error::{Error, Result};
use crate::store::change::Head;
use crate::text::{Analysis, QueryTerms};

/// Name of the folder in the data directory.
pub const FOLDER: &str = "lexical";

/// Memory of the index writer; it flushes a segment when this is full.
const WRITER_BYTES: usize = 64 << 20;

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

/// A field of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TermField {
    /// Stemmed words.
    Prose,
    /// Identifiers, whole and in parts.
    Identifier,
}

/// The terms of a query with what each of them weighs.
pub fn weighted_terms(terms: &QueryTerms) -> impl Iterator<Item = (TermField, &str)> {
    let prose = terms.prose.iter().map(|term| (TermField::Prose, term.as_str()));
    prose.chain(terms.identifiers.iter().map(|term| (TermField::Identifier, term.as_str())))
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

/// The index as one reader sees it.
pub struct Lexical {
    fields: Fields,
    index: Index,
    reader: IndexReader,
    searcher: Searcher,
    mark: Mark,
}

impl std::fmt::Debug for Lexical {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lexical({} documents, {:?})", self.documents(), self.mark)
    }
}

/// Numbers by which a term is scored.
#[derive(Debug, Clone, Copy, Default)]
pub struct FieldStatistics {
    /// Documents in the index.
    pub documents: u64,
    /// Terms in all of their fields.
    pub terms: u64,
}

impl Lexical {
    /// Open the index under `data_dir`; `None` when there is none or it cannot be read.
    pub fn open(data_dir: &Path) -> Option<Self> {
        let index = Index::open_in_dir(folder(data_dir)).ok()?;
        let (expected, fields) = schema();
        if index.schema() != expected {
            return None;
        }
        let mark = mark_of(&index)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().ok()?;
        let searcher = IndexReader::searcher(&reader);
        Some(Self { fields, index, reader, searcher, mark })
    }

    /// See what was committed since; on failure the reader stays where it is and `false` comes back.
    pub fn reload(&mut self) -> bool {
        // The mark first: a commit in between makes the searcher newer than the mark, which the overlay tolerates. The
        // other way round the overlay would leave out texts that the searcher does not have.
        let Some(mark) = mark_of(&self.index) else { return false };
        if self.reader.reload().is_err() {
            return false;
        }
        self.searcher = self.reader.searcher();
        self.mark = mark;
        true
    }

    /// How far it is.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Documents in it, removed ones included until their segment is merged.
    pub fn documents(&self) -> usize {
        self.searcher.segment_readers().iter().map(|segment| segment.num_docs() as usize).sum()
    }

    /// Numbers of one field.
    pub fn statistics(&self, field: TermField) -> FieldStatistics {
        let field = self.fields.of(field);
        let mut sum = FieldStatistics::default();
        for segment in self.searcher.segment_readers() {
            sum.documents += u64::from(segment.max_doc());
            sum.terms += segment.inverted_index(field).map_or(0, |index| index.total_num_tokens());
        }
        sum
    }

    /// In how many documents a term stands.
    pub fn document_frequency(&self, field: TermField, term: &str) -> u64 {
        self.searcher.doc_freq(&Term::from_field_text(self.fields.of(field), term)).unwrap_or(0)
    }

    /// The best documents for a query among those that `allows` lets through, best first.
    ///
    /// Keys after the mark's are left out: they belong to the overlay, whatever the index has absorbed already.
    pub fn search(&self, terms: &QueryTerms, limit: usize, mut allows: impl FnMut(i64) -> bool) -> Result<Vec<Scored<i64>>> {
        let clauses: Vec<(Occur, Box<dyn Query>)> = weighted_terms(terms)
            .map(|(field, term)| {
                let term = Term::from_field_text(self.fields.of(field), term);
                let query: Box<dyn Query> = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
                (Occur::Should, query)
            })
            .collect();
        if clauses.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let weight =
            BooleanQuery::new(clauses).weight(EnableScoring::enabled_from_searcher(&self.searcher)).map_err(|e| failed(&e))?;
        let mut best = Best::new(limit);
        for segment in self.searcher.segment_readers() {
            let keys = segment.fast_fields().u64("key").map_err(|e| failed(&e))?.first_or_default_col(0);
            let last_key = self.mark.last_key;
            // Documents whose score cannot reach the threshold are skipped in blocks; the threshold only grows with
            // documents that the filter lets through, so the filter comes before the top-k.
            weight
                .for_each_pruning(best.threshold(), segment, &mut |document, score| {
                    let key = keys.get_val(document) as i64;
                    if key <= last_key && allows(key) {
                        best.offer(key, score);
                    }
                    best.threshold()
                })
                .map_err(|e| failed(&e))?;
        }
        Ok(best.into_sorted())
    }

    /// Every key that is in the index and not removed from it.
    pub fn keys(&self) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        for segment in self.searcher.segment_readers() {
            let keys = segment.fast_fields().u64("key").map_err(|e| failed(&e))?.first_or_default_col(0);
            found.extend(segment.doc_ids_alive().map(|document| keys.get_val(document) as i64));
        }
        Ok(found)
    }

    /// Files whose checksum does not match.
    pub fn damaged_files(&self) -> Result<Vec<PathBuf>> {
        let damaged = self.index.validate_checksum().map_err(|e| failed(&e))?;
        Ok(damaged.into_iter().collect())
    }
}

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

/// The folder of the index.
pub fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join(FOLDER)
}

/// The file that changes with every commit.
pub fn meta_file(data_dir: &Path) -> PathBuf {
    folder(data_dir).join("meta.json")
}

/// BM25 with the constants that tantivy uses, for texts that are not in the index yet.
#[derive(Debug, Clone, Copy)]
pub struct Bm25 {
    weight: f32,
    average_length: f32,
}

impl Bm25 {
    const K1: f32 = 1.2;
    const B: f32 = 0.75;

    /// The scorer of a term that stands in `frequency` of all documents.
    pub fn new(frequency: u64, statistics: FieldStatistics) -> Self {
        let documents = statistics.documents.max(frequency) as f32;
        // No text has the term: it is as telling as the rarest that there is, not more.
        let frequency = frequency.max(1) as f32;
        let idf = (1.0 + (documents - frequency + 0.5) / (frequency + 0.5)).ln();
        let average_length = (statistics.terms as f32 / documents.max(1.0)).max(1.0);
        Self { weight: idf * (1.0 + Self::K1), average_length }
    }

    /// How telling the term is.
    pub fn idf(&self) -> f32 {
        self.weight / (1.0 + Self::K1)
    }

    /// The score of a text of `length` terms in which the term stands `count` times.
    pub fn score(&self, count: u32, length: u32) -> f32 {
        let count = count as f32;
        let norm = Self::K1 * (1.0 - Self::B + Self::B * length as f32 / self.average_length);
        self.weight * count / (count + norm)
    }
}

/// How often each term stands in a list.
pub fn counted(terms: Vec<String>) -> FxHashMap<String, u32> {
    let mut counts = FxHashMap::default();
    for term in terms {
        *counts.entry(term).or_insert(0) += 1;
    }
    counts
}

fn pre_tokenized(terms: Vec<String>) -> PreTokenizedString {
    let tokens = terms
        .into_iter()
        .enumerate()
        .map(|(position, text)| Token { offset_from: 0, offset_to: 0, position, text, position_length: 1 })
        .collect();
    PreTokenizedString { text: String::new(), tokens }
}

fn mark_of(index: &Index) -> Option<Mark> {
    serde_json::from_str(index.load_metas().ok()?.payload.as_deref()?).ok()
}

fn is_empty(folder: &Path) -> bool {
    !folder.join("meta.json").exists()
}

fn failed(error: &tantivy::TantivyError) -> Error {
    Error::Index { index: "lexical", message: error.to_string() }
}
