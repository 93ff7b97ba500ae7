//! Permanent erasure: rows, history, vectors, links, free pages and the WAL.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

use super::change::Op;
use super::history::{self, Said};
use super::interrupt::interruptible;
use super::quoted::Quoted;
use super::traces::UNUSED;
use super::{Store, WriteTx, busy, memory};
use crate::control::Control;
use crate::error::{Error, Result};

/// Longest wait of the maintenance for the readers of older states. Then it tries to empty the WAL later. All writers
/// wait meanwhile.
pub const UPKEEP_WAIT: Duration = Duration::from_millis(250);
/// The same for a purge, which is rare, and whose text should not stay in the WAL. No write may give up meanwhile.
const PURGE_WAIT: Duration = Duration::from_secs(5);
/// Time for the writers between two attempts.
const WRITERS_TURN: Duration = Duration::from_millis(250);
/// Name in `meta` of the mark of a purge that has erased rows, but may have left their texts in free pages and indexes.
/// Its value is a random number of the last such purge.
const UNFINISHED: &str = "purge_unfinished";

/// The mark of a purge that did not end, because it runs, it failed or its process was killed.
pub fn unfinished(connection: &Connection) -> Result<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
    Ok(statement.query_row([UNFINISHED], |row| row.get(0)).optional()?)
}

/// Note that the texts that were erased up to a mark are in no file any more. The mark of a later purge stays.
pub fn end(write: &WriteTx<'_>, mark: i64) -> Result<()> {
    write.execute("DELETE FROM meta WHERE name = ?1 AND value = ?2", (UNFINISHED, mark))?;
    Ok(())
}

impl WriteTx<'_> {
    /// Remove every trace of memories from the tables; returns how many of the ids were known.
    pub fn erase(&self, ids: &[String]) -> Result<usize> {
        let mut erased = 0;
        let mut quoted = Quoted::default();
        for id in ids {
            let mut traces = 0;
            let present = memory::by_id(self, id)?;
            // A memory that was deleted, or undone with its message, is only in the history.
            for said in history::said(self, id)? {
                quoted.add(said);
            }
            if let Some(found) = &present {
                quoted.add(Said {
                    content: Some(found.content.clone()),
                    sessions: [found.session.clone(), found.source.session.clone()],
                    message: found.source.message.clone(),
                });
                self.remove(found)?;
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
        self.erase_from_states(&quoted)?;
        // A vector tells of its text: those that no memory uses any more go too.
        self.execute(&format!("DELETE FROM embedding WHERE {UNUSED}"), [])?;
        self.log(0, Op::Embed)?;
        self.set_meta(UNFINISHED, self.nonce)?;
        Ok(erased)
    }
}

impl Store {
    /// Rewrite the file without its free pages and empty the WAL, so that erased text is nowhere in either.
    pub fn scrub(&self, control: &Control<'_>) -> Result<()> {
        self.exclusively(|connection| {
            connection.pragma_update(None, "secure_delete", true)?;
            crate::crash::point("purge:erased");
            let vacuumed = interruptible(connection, control, || Ok(connection.execute_batch("VACUUM")?));
            crate::crash::point("purge:vacuumed");
            connection.pragma_update(None, "secure_delete", false)?;
            vacuumed
        })?;
        if self.truncate_wal(PURGE_WAIT, control)? {
            Ok(())
        } else {
            Err(Error::Busy { attempted: "empty the WAL of".into(), path: self.file().to_owned() })
        }
    }

    /// Fold the WAL into the file and empty it; `false` when a reader of some process still needs it.
    ///
    /// Tries several times. Each time, it waits for readers for `wait`.
    pub fn truncate_wal(&self, wait: Duration, control: &Control<'_>) -> Result<bool> {
        let begun = Instant::now();
        while !self.try_to_truncate_wal(wait)? {
            if begun.elapsed() > busy::TIMEOUT {
                return Ok(false);
            }
            control.check()?;
            thread::sleep(WRITERS_TURN);
        }
        Ok(true)
    }

    fn try_to_truncate_wal(&self, wait: Duration) -> Result<bool> {
        self.exclusively(|connection| {
            // SQLite holds the write lock while it waits for readers. With the usual timeout, one long read, for example
            // for building the graph, would stop the writers of all processes until their own timeouts end.
            let busy = busy::with_patience(wait, || {
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
            });
            Ok(busy? == 0)
        })
    }
}
