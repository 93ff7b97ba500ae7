//! A change of the embedding model: vectors of the next model are stored beside those of the active one, which answer
//! recalls until the change is complete.
//!
//! A staged vector belongs to a memory by a row of `chunk` with a negative ordinal, which no recall reads. So it survives
//! the maintenance, and goes at once with the last text that needs it. One transaction gives all memories their new vectors
//! at the end. `meta` holds the next model and the last memory that was staged, so a change goes on after a kill.

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;

use super::WriteTx;
use super::change::Op;
use super::columns;
use super::embedding::{Model, Pending, Staged, active_model};
use crate::error::{Error, Result};
use crate::model::memory::embedding_text;
use crate::text;

/// Name in `meta` of the row of the next model.
const NEXT_MODEL: &str = "next_model";
const STAGED_KEY: &str = "next_model_key";

/// A change of the model that is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The model that becomes the active one.
    pub model: Model,
    /// Memories up to this key were staged.
    pub staged_key: i64,
}

/// The change of the model that was begun; `None` if there is none.
pub fn current(connection: &Connection) -> Result<Option<Change>> {
    let sql = "SELECT id, name, dimension, (SELECT value FROM meta WHERE name = ?2) FROM model \
         WHERE id = (SELECT value FROM meta WHERE name = ?1)";
    Ok(connection
        .prepare_cached(sql)?
        .query_row([NEXT_MODEL, STAGED_KEY], |row| {
            let model = Model { id: row.get(0)?, name: row.get(1)?, dimension: row.get::<_, i64>(2)? as usize };
            Ok(Change { model, staged_key: row.get::<_, Option<i64>>(3)?.unwrap_or(0) })
        })
        .optional()?)
}

/// Texts of all memories after a key, in order of their keys.
pub fn texts(connection: &Connection, after_key: i64, limit: usize) -> Result<Vec<Pending>> {
    let mut statement =
        connection.prepare_cached("SELECT key, speaker, content FROM memory WHERE key > ?1 ORDER BY key LIMIT ?2")?;
    let rows = statement.query_map((after_key, limit as i64), |row| {
        Ok(Pending {
            key: row.get(0)?,
            text: embedding_text(row.get_ref(1)?.as_str_or_null()?, &columns::read_damaged_too(row, 2)?),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl WriteTx<'_> {
    /// Make `name` the active model; whether another one was active before.
    pub fn activate_model(&self, name: &str, dimension: usize) -> Result<bool> {
        let before = active_model(self)?;
        let id = self.model(name, dimension)?.id;
        if current(self)?.is_some_and(|change| change.model.id == id) {
            self.end_change()?;
        }
        self.execute("UPDATE meta SET value = ?1 WHERE name = 'active_model'", [id])?;
        if before.as_ref().is_none_or(|before| before.id != id) {
            // Key 0 names no memory: it tells every process, this one included, that all vectors are to be read again,
            // Also the first time, because vectors of an unknown length are not compared.
            self.log(0, Op::Embed)?;
        }
        Ok(before.is_some_and(|before| before.id != id))
    }

    /// Begin a change to a model, or go on with it; a change to another model is given up.
    pub fn begin_change(&self, name: &str, dimension: usize) -> Result<Change> {
        let model = self.model(name, dimension)?;
        if let Some(change) = current(self)?.filter(|change| change.model.id == model.id) {
            return Ok(change);
        }
        self.give_up_change()?;
        self.set_meta(NEXT_MODEL, model.id)?;
        self.set_meta(STAGED_KEY, 0)?;
        Ok(Change { model, staged_key: 0 })
    }

    /// Give up a change of the model, and delete the vectors of the next model that no memory uses.
    pub fn give_up_change(&self) -> Result<bool> {
        let Some(change) = current(self)? else { return Ok(false) };
        self.end_change()?;
        let sql = "DELETE FROM embedding WHERE model = ?1 AND key NOT IN (SELECT embedding FROM chunk)";
        self.execute(sql, [change.model.id])?;
        Ok(true)
    }

    /// End a change of the model. Vectors that were staged and are not used stay until the next maintenance.
    pub(super) fn end_change(&self) -> Result<()> {
        self.execute("DELETE FROM chunk WHERE ordinal < 0", [])?;
        self.execute("DELETE FROM meta WHERE name IN (?1, ?2)", [NEXT_MODEL, STAGED_KEY])?;
        Ok(())
    }

    /// Store vectors of the next model for memories, each a key with the pieces of its text. Memories up to `up_to` are
    /// staged then.
    ///
    /// A memory that was removed since its text was read is skipped, so no vector of it is stored.
    pub fn stage(
        &self,
        model: &Model,
        up_to: i64,
        memories: &[(i64, Vec<String>)],
        vectors: &[(String, Cow<'_, [f32]>)],
    ) -> Result<()> {
        let given: FxHashMap<&str, &[f32]> =
            vectors.iter().map(|(text, vector)| (text.as_str(), vector.as_ref())).collect();
        let mut alive = self.prepare_cached("SELECT 1 FROM memory WHERE key = ?1")?;
        let mut link = self.prepare_cached(
            "INSERT INTO chunk(memory, ordinal, embedding) VALUES (?1, ?2, ?3) \
             ON CONFLICT(memory, ordinal) DO UPDATE SET embedding = excluded.embedding",
        )?;
        for (key, pieces) in memories {
            if !alive.exists([key])? {
                continue;
            }
            for (ordinal, piece) in pieces.iter().enumerate() {
                let vector = given.get(piece.as_str()).copied();
                if let Some(embedding) = self.embedding_of(model, piece, vector)? {
                    link.execute((key, -1 - ordinal as i64, embedding))?;
                }
            }
        }
        let before = current(self)?.map_or(0, |change| change.staged_key);
        self.set_meta(STAGED_KEY, up_to.max(before))
    }

    /// Make the next model the active one, and give its vectors to the memories.
    ///
    /// Memories that were changed or written since they were read wait for their vectors afterwards.
    ///
    /// # Errors
    ///
    /// A vector is missing, for example because a memory was written meanwhile; nothing is changed then.
    pub fn complete_change(&self, model: &Model, memories: &[Staged]) -> Result<usize> {
        let mut content = self.prepare_cached("SELECT speaker, content FROM memory WHERE key = ?1")?;
        let mut switched = 0;
        for memory in memories {
            let now = content
                .query_row([memory.key], |row| {
                    Ok(embedding_text(row.get_ref(0)?.as_str_or_null()?, &columns::read_damaged_too(row, 1)?))
                })
                .optional()?;
            if now.as_deref() == Some(memory.text.as_str()) {
                self.use_staged(model, memory)?;
                switched += 1;
            }
        }
        self.activate_model(&model.name, model.dimension)?;
        // Key 0 tells every process to read all vectors again.
        self.log(0, Op::Embed)?;
        self.end_change()?;
        Ok(switched)
    }

    fn use_staged(&self, model: &Model, memory: &Staged) -> Result<()> {
        let mut find = self.prepare_cached("SELECT key FROM embedding WHERE model = ?1 AND text_hash = ?2")?;
        self.prepare_cached("DELETE FROM chunk WHERE memory = ?1")?.execute([memory.key])?;
        let mut insert = self.prepare_cached("INSERT INTO chunk(memory, ordinal, embedding) VALUES (?1, ?2, ?3)")?;
        for (ordinal, piece) in memory.pieces.iter().enumerate() {
            let embedding: Option<i64> =
                find.query_row((model.id, text::text_hash(piece).to_be_bytes()), |row| row.get(0)).optional()?;
            let Some(embedding) = embedding else {
                return Err(Error::Conflict(format!("a vector of {} is gone; stage the texts again", model.name)));
            };
            insert.execute((memory.key, ordinal as i64, embedding))?;
        }
        self.prepare_cached("UPDATE memory SET embedded_by = ?2 WHERE key = ?1")?.execute((memory.key, model.id))?;
        Ok(())
    }

    /// Set a number in `meta`.
    pub(super) fn set_meta(&self, name: &str, value: i64) -> Result<()> {
        self.execute(
            "INSERT INTO meta(name, value) VALUES (?1, ?2) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
            (name, value),
        )?;
        Ok(())
    }
}
