//! Traces: rows of memories that were deleted and cannot come back, and vectors that no text uses any more.
//!
//! A search for traces reads whole tables, so it needs a snapshot alone. The transaction that deletes them checks each one
//! again.

use rusqlite::Connection;

use super::WriteTx;
use crate::error::Result;

/// Condition for a row of `embedding` that no text uses. Staged vectors of the next model are in use.
pub(super) const UNUSED: &str = "NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.embedding = embedding.key)";

/// Traces found in a snapshot.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// Keys of unused vectors.
    embeddings: Vec<i64>,
    /// Ids of gone memories that still have a number of uses.
    counted: Vec<String>,
    /// Source, target and kind of links with a gone end.
    links: Vec<(String, String, String)>,
}

/// Condition for the id in a column: the memory neither exists nor has a history from which an undo could restore it.
fn gone(column: &str) -> String {
    format!(
        "NOT EXISTS (SELECT 1 FROM memory WHERE memory.id = {column}) \
         AND NOT EXISTS (SELECT 1 FROM history WHERE history.memory = {column})"
    )
}

fn counts_of_gone() -> String {
    gone("use_count.memory")
}

fn links_of_gone() -> String {
    format!("({} OR {})", gone("link.source"), gone("link.target"))
}

/// Search for traces.
pub fn find(connection: &Connection) -> Result<Traces> {
    let mut embeddings = connection.prepare(&format!("SELECT key FROM embedding WHERE {UNUSED}"))?;
    let mut counted = connection.prepare(&format!("SELECT memory FROM use_count WHERE {}", counts_of_gone()))?;
    let mut links = connection.prepare(&format!("SELECT source, target, kind FROM link WHERE {}", links_of_gone()))?;
    let embeddings = embeddings.query_map([], |row| row.get(0))?;
    let counted = counted.query_map([], |row| row.get(0))?;
    let links = links.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(Traces {
        embeddings: embeddings.collect::<rusqlite::Result<_>>()?,
        counted: counted.collect::<rusqlite::Result<_>>()?,
        links: links.collect::<rusqlite::Result<_>>()?,
    })
}

impl WriteTx<'_> {
    /// Delete traces, except those that are in use again.
    ///
    /// If an undo restores a text later, the text is embedded again.
    pub fn delete_traces(&self, traces: &Traces) -> Result<()> {
        let mut embedding = self.prepare(&format!("DELETE FROM embedding WHERE key = ?1 AND {UNUSED}"))?;
        for key in &traces.embeddings {
            embedding.execute([key])?;
        }
        let mut count = self.prepare(&format!("DELETE FROM use_count WHERE memory = ?1 AND {}", counts_of_gone()))?;
        for memory in &traces.counted {
            count.execute([memory])?;
        }
        let mut link = self.prepare(&format!(
            "DELETE FROM link WHERE source = ?1 AND target = ?2 AND kind = ?3 AND {}",
            links_of_gone()
        ))?;
        for (source, target, kind) in &traces.links {
            link.execute((source, target, kind))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::model::Trust;
    use crate::store::Store;

    const LEFT_BEHIND: &str = "\
        INSERT INTO model VALUES (1, 'model', 2);\
        INSERT INTO embedding VALUES (5, 1, x'00', x'00000000'), (6, 1, x'01', x'00000000');\
        INSERT INTO use_count VALUES ('gone', 1, 0), ('other', 1, 0);\
        INSERT INTO link VALUES ('gone', 'gone', 'related', 1.0, '', 0), ('gone', 'other', 'related', 1.0, '', 0);";
    const CAME_BACK: &str = "\
        PRAGMA defer_foreign_keys = 1;\
        INSERT INTO chunk VALUES (7, 0, 5);\
        INSERT INTO history(operation, memory, at, kind, actor) VALUES (1, 'gone', 0, 'delete', 0);";

    fn run(store: &Store, body: impl FnOnce(&WriteTx<'_>) -> Result<()>) {
        store.write(&Clock::fixed(1), Trust::User, body).unwrap();
    }

    #[test]
    fn traces_that_are_needed_again_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), false, 1).unwrap();
        run(&store, |write| Ok(write.execute_batch(LEFT_BEHIND)?));
        let traces = find(&store.read().unwrap()).unwrap();
        assert_eq!((&traces.embeddings[..], traces.counted.len(), traces.links.len()), (&[5, 6][..], 2, 2));
        run(&store, |write| {
            write.execute_batch(CAME_BACK)?;
            write.delete_traces(&traces)?;
            write.execute_batch("DELETE FROM chunk")?;
            Ok(())
        });
        let left = find(&store.read().unwrap()).unwrap();
        assert_eq!((left.embeddings, left.counted.len(), left.links.len()), (vec![5], 0, 0));
        let (counted, linked): (i64, i64) = store
            .read()
            .unwrap()
            .query_row("SELECT (SELECT count(*) FROM use_count), (SELECT count(*) FROM link)", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!((counted, linked), (1, 1));
    }
}
