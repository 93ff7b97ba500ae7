//! Vectors: half-precision, unit length, keyed by model and exact text, and mapped to memories by chunks.
//!
//! A vector is expensive to compute, so it is part of the truth, and an index rebuild does not embed again. Vectors of an
//! inactive model are kept but never compared.

use std::borrow::Cow;

use half::f16;
use rusqlite::{Connection, OptionalExtension};

use super::WriteTx;
use super::change::Op;
use super::columns;
use crate::error::{Error, Result};
use crate::model::QueryVector;
use crate::model::memory::embedding_text;
use crate::text;

/// The model whose vectors are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Row.
    pub id: i64,
    /// Name with the hash of its file.
    pub name: String,
    /// Length of its vectors.
    pub dimension: usize,
}

impl Model {
    /// The values of a query's vector; `None` if another model made it.
    ///
    /// # Errors
    /// [`Error::DimensionMismatch`] if this model does not make vectors of that length.
    pub fn values_of<'v>(&self, vector: &'v QueryVector) -> Result<Option<&'v [f32]>> {
        if vector.model() != self.name {
            return Ok(None);
        }
        let (expected, received) = (self.dimension, vector.values().len());
        if expected == received {
            Ok(Some(vector.values()))
        } else {
            Err(Error::DimensionMismatch { expected, received })
        }
    }
}

/// A piece of a memory's text with its vector; `None` when the store has one for this text.
#[derive(Debug, Clone)]
pub struct Chunk<'a> {
    /// The piece, exactly as it was embedded.
    pub text: String,
    /// Of the model's dimension. May be a row of the caller's matrix, which is then encoded without another copy.
    pub vector: Option<Cow<'a, [f32]>>,
}

/// A memory that waits for its vectors.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Its key.
    pub key: i64,
    /// The text for the embedder.
    pub text: String,
}

/// A memory whose vectors of another model are in the store, without being used.
#[derive(Debug, Clone)]
pub struct Staged {
    /// Its key.
    pub key: i64,
    /// The text for the embedder, as it was when it was embedded.
    pub text: String,
    /// The pieces of the text.
    pub pieces: Vec<String>,
}

/// The active model; `None` before the first embedding.
pub fn active_model(connection: &Connection) -> Result<Option<Model>> {
    Ok(connection
        .prepare_cached(
            "SELECT id, name, dimension FROM model WHERE id = (SELECT value FROM meta WHERE name = 'active_model')",
        )?
        .query_row([], |row| {
            Ok(Model { id: row.get(0)?, name: row.get(1)?, dimension: row.get::<_, i64>(2)? as usize })
        })
        .optional()?)
}

/// Memories after `after_key` that have no vectors of the active model, in order of their keys.
///
/// Asks for the memories of each other model by the index. One statement for all would read every memory after the key,
/// each time a memory is written.
pub fn pending(connection: &Connection, after_key: i64, limit: usize) -> Result<Vec<Pending>> {
    let others: Vec<i64> =
        connection.prepare_cached(OTHER_MODELS)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut statement = connection.prepare_cached(PENDING)?;
    let mut found = Vec::new();
    for model in others {
        let rows = statement.query_map((model, after_key, limit as i64), |row| {
            Ok(Pending {
                key: row.get(0)?,
                text: embedding_text(row.get_ref(1)?.as_str_or_null()?, &columns::read_damaged_too(row, 2)?),
            })
        })?;
        for pending in rows {
            found.push(pending?);
        }
    }
    found.sort_unstable_by_key(|pending| pending.key);
    found.truncate(limit);
    Ok(found)
}

/// The number of memories without vectors of a model, which need not be active.
pub fn count_without_model(connection: &Connection, name: &str) -> Result<usize> {
    // Row 0 is no model, so that a name that the store does not know matches no memory.
    let sql = "SELECT count(*) FROM memory WHERE embedded_by = 0 \
         OR embedded_by <> coalesce((SELECT id FROM model WHERE name = ?1), 0)";
    Ok(connection.prepare_cached(sql)?.query_row([name], |row| row.get::<_, i64>(0))? as usize)
}

/// The number of memories that wait for vectors of the active model.
pub fn count_pending(connection: &Connection) -> Result<usize> {
    let sql = format!("SELECT count(*) FROM memory WHERE {NOT_EMBEDDED}");
    Ok(connection.prepare_cached(&sql)?.query_row([], |row| row.get::<_, i64>(0))? as usize)
}

/// The models of the memories that wait, each found by one step in the index; 0 is no model.
const OTHER_MODELS: &str = "WITH RECURSIVE found(model) AS (SELECT min(embedded_by) FROM memory UNION ALL \
     SELECT (SELECT min(embedded_by) FROM memory WHERE embedded_by > model) FROM found WHERE model IS NOT NULL) \
     SELECT model FROM found \
     WHERE model = 0 OR model <> (SELECT value FROM meta WHERE name = 'active_model')";

const PENDING: &str = "SELECT key, speaker, content FROM memory INDEXED BY memory_by_embedder \
     WHERE embedded_by = ?1 AND key > ?2 ORDER BY key LIMIT ?3";

// Two ranges instead of `<>`, so that the index on embedded_by finds the few that wait among the many that do not.
const NOT_EMBEDDED: &str = "(embedded_by < (SELECT value FROM meta WHERE name = 'active_model') \
     OR embedded_by > (SELECT value FROM meta WHERE name = 'active_model') OR embedded_by = 0)";

/// Whether the active model has embedded each of these texts already.
pub fn known(connection: &Connection, texts: &[String]) -> Result<Vec<bool>> {
    let Some(model) = active_model(connection)? else { return Ok(vec![false; texts.len()]) };
    known_to(connection, &model, texts)
}

/// Whether a model, which need not be active, has embedded each of these texts already.
pub fn known_to(connection: &Connection, model: &Model, texts: &[String]) -> Result<Vec<bool>> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM embedding WHERE model = ?1 AND text_hash = ?2")?;
    texts.iter().map(|text| Ok(statement.exists((model.id, text::text_hash(text).to_be_bytes()))?)).collect()
}

/// A model's vector of a text, if there is one.
pub fn vector_of(connection: &Connection, model: &Model, text: &str) -> Result<Option<Vec<f16>>> {
    let blob: Option<Vec<u8>> = connection
        .prepare_cached("SELECT vector FROM embedding WHERE model = ?1 AND text_hash = ?2")?
        .query_row((model.id, text::text_hash(text).to_be_bytes()), |row| row.get(0))
        .optional()?;
    Ok(blob.map(|blob| decode(&blob)))
}

/// Call `each(embedding key, memory key, vector)` for every vector of the active model, in order of memories.
pub fn for_each_vector(
    connection: &Connection,
    memory: Option<i64>,
    mut each: impl FnMut(i64, i64, &[u8]) -> Result<()>,
) -> Result<()> {
    // CROSS JOIN fixes the order: by chunks, which are sorted already. The other way round, by the index on the model,
    // sorts all vectors of the store.
    const SELECT: &str = "SELECT e.key, c.memory, e.vector FROM chunk c CROSS JOIN embedding e ON e.key = c.embedding \
         WHERE e.model = (SELECT value FROM meta WHERE name = 'active_model') AND c.ordinal >= 0";
    let sql = match memory {
        Some(_) => format!("{SELECT} AND c.memory = ?1 ORDER BY c.memory, c.ordinal"),
        None => format!("{SELECT} AND ?1 IS NULL ORDER BY c.memory, c.ordinal"),
    };
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([memory])?;
    while let Some(row) = rows.next()? {
        each(row.get(0)?, row.get(1)?, row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?)?;
    }
    Ok(())
}

impl WriteTx<'_> {
    /// The row of a model, which is added if it is new.
    pub(super) fn model(&self, name: &str, dimension: usize) -> Result<Model> {
        self.execute("INSERT OR IGNORE INTO model(name, dimension) VALUES (?1, ?2)", (name, dimension as i64))?;
        let (id, known): (i64, i64) =
            self.query_row("SELECT id, dimension FROM model WHERE name = ?1", [name], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        if known as usize != dimension {
            return Err(Error::DimensionMismatch { expected: known as usize, received: dimension });
        }
        Ok(Model { id, name: name.to_owned(), dimension })
    }

    /// Store the chunks of one memory; `false` when the text was changed or removed meanwhile.
    pub fn store_chunks(&self, model: &Model, key: i64, chunks: &[Chunk<'_>]) -> Result<bool> {
        let alive = self.prepare_cached("SELECT 1 FROM memory WHERE key = ?1")?.exists([key])?;
        // Check this first. Otherwise the vector of a text that was purged meanwhile would be stored.
        if !alive {
            return Ok(false);
        }
        let mut embeddings = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let embedding = self.embedding_of(model, &chunk.text, chunk.vector.as_deref())?.ok_or_else(|| {
                Error::Conflict("a vector was expected in the store but is gone; embed the text again".into())
            })?;
            embeddings.push(embedding);
        }
        // Staged vectors have negative ordinals and stay.
        self.prepare_cached("DELETE FROM chunk WHERE memory = ?1 AND ordinal >= 0")?.execute([key])?;
        let mut insert = self.prepare_cached("INSERT INTO chunk(memory, ordinal, embedding) VALUES (?1, ?2, ?3)")?;
        for (ordinal, embedding) in embeddings.iter().enumerate() {
            insert.execute((key, ordinal as i64, embedding))?;
        }
        self.prepare_cached("UPDATE memory SET embedded_by = ?2 WHERE key = ?1")?.execute((key, model.id))?;
        self.log(key, Op::Embed)?;
        Ok(true)
    }

    /// Return the key of a text's vector, and store the vector if the store has none for this text. `None` if the store
    /// has none and none is given.
    pub(super) fn embedding_of(&self, model: &Model, text: &str, vector: Option<&[f32]>) -> Result<Option<i64>> {
        let hash = text::text_hash(text).to_be_bytes();
        let known: Option<i64> = self
            .prepare_cached("SELECT key FROM embedding WHERE model = ?1 AND text_hash = ?2")?
            .query_row((model.id, hash), |row| row.get(0))
            .optional()?;
        let (None, Some(vector)) = (known, vector) else { return Ok(known) };
        self.prepare_cached("INSERT INTO embedding(model, text_hash, vector) VALUES (?1, ?2, ?3)")?.execute((
            model.id,
            hash,
            encode(vector, model.dimension)?,
        ))?;
        Ok(Some(self.last_insert_rowid()))
    }
}

/// The stored form of a vector: little-endian half floats of the unit vector.
fn encode(vector: &[f32], dimension: usize) -> Result<Vec<u8>> {
    if vector.len() != dimension {
        return Err(Error::DimensionMismatch { expected: dimension, received: vector.len() });
    }
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() || length < 1e-6 {
        return Err(Error::invalid("embedding", "is zero or not finite; a failed embedding is never stored"));
    }
    let halves = vector.iter().map(|value| f16::from_f32((f64::from(*value) / length) as f32));
    Ok(halves.flat_map(f16::to_le_bytes).collect())
}

/// The values of a stored vector.
pub fn decode(blob: &[u8]) -> Vec<f16> {
    blob.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]])).collect()
}

const IN_USE: &str = "e.model = ?1 AND EXISTS (SELECT 1 FROM chunk c WHERE c.embedding = e.key AND c.ordinal >= 0)";

/// Vectors of a model that some memory uses.
pub fn count_in_use(connection: &Connection, model: &Model) -> Result<usize> {
    count_in_use_after(connection, model, 0)
}

/// Vectors of a model after a key that some memory uses.
pub fn count_in_use_after(connection: &Connection, model: &Model, after: i64) -> Result<usize> {
    let sql = format!("SELECT count(*) FROM embedding e WHERE e.key > ?2 AND {IN_USE}");
    Ok(connection.prepare_cached(&sql)?.query_row((model.id, after), |row| row.get::<_, i64>(0))? as usize)
}

/// The key of the newest vector of a model; 0 if there is none.
pub fn last_key(connection: &Connection, model: &Model) -> Result<i64> {
    let sql = "SELECT key FROM embedding WHERE model = ?1 ORDER BY key DESC LIMIT 1";
    Ok(connection.prepare_cached(sql)?.query_row([model.id], |row| row.get(0)).optional()?.unwrap_or(0))
}

/// Vectors of a model that some memory uses, with keys from `after` (exclusive) to `upto` (inclusive), in their order.
pub fn page_in_use(
    connection: &Connection,
    model: &Model,
    after: i64,
    upto: i64,
    limit: usize,
) -> Result<Vec<(i64, Vec<f16>)>> {
    let sql = format!(
        "SELECT e.key, e.vector FROM embedding e WHERE e.key > ?2 AND e.key <= ?3 AND {IN_USE} ORDER BY e.key LIMIT ?4"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map((model.id, after, upto, limit as i64), |row| {
        Ok((row.get(0)?, decode(row.get_ref(1)?.as_blob()?)))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::clock::Clock;
    use crate::engine::{Engine, Options};
    use crate::model::NewMemory;
    use crate::store::{Store, memory};

    /// Steps of `SQLite` to list what a new memory waits for, in a store of `done` other memories of one model.
    fn steps_after_a_write(done: usize) -> i32 {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::default() };
        let engine = Engine::open(folder.path(), options, Clock::fixed(1)).unwrap();
        let new = |number: usize| NewMemory::new(format!("memory {number}"));
        engine.remember_many((0..done).map(new).collect()).unwrap();
        // Before the first embedding, no model is active, and all memories wait.
        assert_eq!(engine.pending_embeddings(0, done + 1).unwrap().len(), done);
        engine.activate_model("model", 2).unwrap();
        let waiting = engine.pending_embeddings(0, done + 1).unwrap();
        assert_eq!(waiting.len(), done);
        let vector = |number: usize| {
            let angle = number as f32;
            Some(vec![angle.cos(), angle.sin()].into())
        };
        let chunks: Vec<_> = waiting
            .iter()
            .enumerate()
            .map(|(number, waits)| (waits.key, vec![Chunk { text: waits.text.clone(), vector: vector(number) }]))
            .collect();
        engine.store_embeddings("model", &chunks).unwrap();
        while engine.compare_new().unwrap() > 0 {}
        engine.remember(new(done)).unwrap();

        let store = Store::open(folder.path(), false, 1).unwrap();
        let at = store.read().unwrap();
        assert_eq!(pending(&at, 0, 64).unwrap().len(), 1);
        assert!(memory::not_compared(&at, 64).unwrap().is_empty());
        let all = |status| -> i32 {
            [PENDING, OTHER_MODELS, memory::NOT_COMPARED]
                .map(|sql| at.prepare_cached(sql).unwrap().get_status(status))
                .iter()
                .sum()
        };
        let steps = all(StatementStatus::VmStep);
        assert_eq!(pending(&at, 1, 64).unwrap().len(), 1);
        assert_eq!(all(StatementStatus::RePrepare), 0, "prepared again for another value");
        steps
    }

    #[test]
    fn upkeep_of_one_memory_does_not_read_all_others() {
        let (few, many) = (steps_after_a_write(20), steps_after_a_write(1_000));
        assert!(few > 0 && many < 2 * few, "{few} steps among 20 memories, {many} among 1,000");
    }
}
