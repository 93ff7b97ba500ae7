//! Permanent erasure: rows, history, vectors, links, free pages and the WAL.

use rusqlite::Connection;

use super::change::Op;
use super::{Store, WriteTx, memory};
use crate::error::{Error, Result};

impl WriteTx<'_> {
    /// Remove every trace of memories from the tables; returns how many of the ids were known.
    pub fn erase(&self, ids: &[String]) -> Result<usize> {
        let mut erased = 0;
        for id in ids {
            let mut traces = 0;
            if let Some(found) = memory::by_id(self, id)? {
                let sessions: Vec<String> =
                    [&found.session, &found.source.session].into_iter().flatten().cloned().collect();
                self.forget_open(&sessions)?;
                self.remove(&found)?;
                traces += 1;
            }
            traces += self.execute("DELETE FROM history WHERE memory = ?1", [id])?;
            traces += self.erase_decisions(id)?;
            // Versions of other memories that name this one keep only its id, which holds no text.
            self.execute("DELETE FROM link WHERE source = ?1 OR target = ?1", [id])?;
            self.execute("DELETE FROM use_count WHERE memory = ?1", [id])?;
            self.execute("DELETE FROM use_day WHERE memory = ?1", [id])?;
            self.execute("DELETE FROM job WHERE subject = ?1", [id])?;
            erased += usize::from(traces > 0);
        }
        // A vector tells of its text: those that no memory uses any more go too.
        self.execute("DELETE FROM embedding WHERE key NOT IN (SELECT embedding FROM chunk)", [])?;
        self.log(0, Op::Embed)?;
        Ok(erased)
    }
}

/// What forgotten memories left behind. It is searched before a write begins, because the search reads whole tables.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// Vectors that no text uses any more. A memory uses its staged vectors as well.
    embeddings: Vec<i64>,
    /// Memories with a number of uses that neither exist nor have a history, so that no undo can bring them back.
    counted: Vec<String>,
    /// Source, target and kind of the links of such memories.
    links: Vec<(String, String, String)>,
}

/// Find what forgotten memories left behind.
pub fn find_traces(connection: &Connection) -> Result<Traces> {
    const GONE: &str = "NOT IN (SELECT id FROM memory UNION SELECT memory FROM history)";
    let mut embeddings =
        connection.prepare("SELECT key FROM embedding WHERE key NOT IN (SELECT embedding FROM chunk)")?;
    let mut counted = connection.prepare(&format!("SELECT memory FROM use_count WHERE memory {GONE}"))?;
    let mut links =
        connection.prepare(&format!("SELECT source, target, kind FROM link WHERE source {GONE} OR target {GONE}"))?;
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
    /// Delete traces that were found before. Those of a text that came back meanwhile stay.
    ///
    /// A text that an undo brings back later is embedded again.
    pub fn forget_traces(&self, traces: &Traces) -> Result<()> {
        let gone = |id: &str| {
            format!(
                "NOT EXISTS (SELECT 1 FROM memory WHERE id = {id}) \
                 AND NOT EXISTS (SELECT 1 FROM history WHERE memory = {id})"
            )
        };
        let unused = "DELETE FROM embedding WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM chunk WHERE embedding = ?1)";
        let mut unused = self.prepare(unused)?;
        for key in &traces.embeddings {
            unused.execute([key])?;
        }
        let mut uncounted = self.prepare(&format!("DELETE FROM use_count WHERE memory = ?1 AND {}", gone("?1")))?;
        for memory in &traces.counted {
            uncounted.execute([memory])?;
        }
        let mut unlinked = self.prepare(&format!(
            "DELETE FROM link WHERE source = ?1 AND target = ?2 AND kind = ?3 AND ({} OR {})",
            gone("?1"),
            gone("?2")
        ))?;
        for link in &traces.links {
            unlinked.execute((&link.0, &link.1, &link.2))?;
        }
        Ok(())
    }
}

impl Store {
    /// Rewrite the file without its free pages and empty the WAL, so that erased text is nowhere in either.
    pub fn scrub(&self) -> Result<()> {
        self.exclusively(|connection| {
            connection.pragma_update(None, "secure_delete", true)?;
            crate::crash::point("purge:erased");
            connection.execute_batch("VACUUM")?;
            crate::crash::point("purge:vacuumed");
            connection.pragma_update(None, "secure_delete", false)?;
            Ok(())
        })?;
        if self.truncate_wal()? {
            Ok(())
        } else {
            Err(Error::Busy { attempted: "empty the WAL of".into(), path: self.file().to_owned() })
        }
    }

    /// Fold the WAL into the file and empty it; `false` when a reader of some process still needs it.
    pub fn truncate_wal(&self) -> Result<bool> {
        self.exclusively(|connection| {
            let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
            Ok(busy == 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::model::Trust;

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
        let traces = find_traces(&store.read().unwrap()).unwrap();
        assert_eq!((&traces.embeddings[..], traces.counted.len(), traces.links.len()), (&[5, 6][..], 2, 2));
        run(&store, |write| {
            write.execute_batch(CAME_BACK)?;
            write.forget_traces(&traces)?;
            write.execute_batch("DELETE FROM chunk")?;
            Ok(())
        });
        let left = find_traces(&store.read().unwrap()).unwrap();
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
