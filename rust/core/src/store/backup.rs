//! Backups: a compact copy by `VACUUM INTO`, and its way back through SQLite's backup interface.
//!
//! Restoring copies pages *into* the open file instead of replacing it, so processes that have it open go on with the
//! restored state. The restored store gets a new id, and keys and numbers continue after the highest ever used (I6).

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::{Store, open, schema};
use crate::error::{Error, Result};
use crate::ids;

/// Tables whose keys are never reused.
const SEQUENCES: [&str; 5] = ["memory", "embedding", "change", "history", "project"];

impl Store {
    /// Write a complete, compact copy to `target`, which must not exist. It appears under its name only when complete.
    pub fn backup(&self, target: &Path) -> Result<()> {
        if target.exists() {
            return Err(Error::Conflict(format!("{} exists already; choose another name", target.display())));
        }
        if let Some(folder) = target.parent() {
            open::create_folder(folder)?;
        }
        let partial = partial_name(target);
        open::remove_if_there(&partial)?;
        let snapshot = self.read()?;
        // VACUUM does not run inside of a transaction.
        snapshot.execute_batch("COMMIT")?;
        open::create_file(&partial)?;
        let name = partial.to_str().ok_or_else(|| Error::invalid("path", "is not UTF-8, which SQLite needs"))?;
        snapshot.pragma_update(None, "query_only", false)?;
        let copied = snapshot.execute("VACUUM INTO ?1", [name]);
        snapshot.pragma_update(None, "query_only", true)?;
        snapshot.execute_batch("BEGIN")?; // what dropping the snapshot expects
        if let Err(error) = copied {
            open::remove_if_there(&partial)?;
            return Err(open::describe("write a backup to", target, error));
        }
        let fail = |source| Error::storage("write a backup to", target, source);
        fs_err::File::open(&partial).and_then(|file| file.sync_all()).map_err(fail)?;
        fs_err::rename(&partial, target).map_err(fail)?;
        crate::durable::sync_folder_of(target)
    }

    /// Replace everything by what `source` holds; returns the number of memories.
    pub fn restore(&self, source: &Path) -> Result<usize> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let from = Connection::open_with_flags(source, flags).map_err(|error| open::describe("open", source, error))?;
        if schema::inspect(&from, source).map_err(|error| error.located(source))? == schema::Found::Nothing {
            return Err(Error::CorruptStore { path: source.to_owned(), message: "is empty".into() });
        }
        let sound: String = from
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| open::describe("check", source, error))?;
        if sound != "ok" {
            return Err(Error::CorruptStore { path: source.to_owned(), message: format!("is damaged: {sound}") });
        }
        let source = fs_err::canonicalize(source).map_err(|error| Error::storage("resolve", source, error))?;
        self.exclusively(|connection| {
            // What was backed up since would be forgotten, and a purge could not name it.
            let mut backups = noted_backups(connection)?;
            backups.extend(noted_backups(&from)?);
            backups.push((source.to_string_lossy().into_owned(), modified_ms(&source)?));
            let highest: Vec<(&str, i64)> = SEQUENCES
                .iter()
                .map(|table| Ok((*table, sequence(connection, table)?)))
                .collect::<Result<_>>()?;
            {
                let backup = rusqlite::backup::Backup::new(&from, connection)?;
                // One step copies all pages in one transaction: another process sees the old store or the new one.
                match backup.step(-1)? {
                    rusqlite::backup::StepResult::Done => {}
                    _ => return Err(Error::Busy { attempted: "restore".into(), path: self.file().to_owned() }),
                }
            }
            let write = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            for (table, before) in highest {
                let restored = sequence(&write, table)?;
                if before > restored {
                    write.execute("DELETE FROM sqlite_sequence WHERE name = ?1", [table])?;
                    write.execute("INSERT INTO sqlite_sequence(name, seq) VALUES (?1, ?2)", (table, before))?;
                }
            }
            for backup in backups {
                write.execute("INSERT OR IGNORE INTO backup(path, at) VALUES (?1, ?2)", backup)?;
            }
            write.execute("UPDATE meta SET value = ?1 WHERE name = 'store_id'", [ids::new_store_id()])?;
            let memories: i64 = write.query_row("SELECT count(*) FROM memory", [], |row| row.get(0))?;
            write.commit()?;
            Ok(memories as usize)
        })
    }

    /// Backups that this store knows of, newest first; files that are gone are left out.
    pub fn known_backups(&self) -> Result<Vec<(PathBuf, i64)>> {
        let snapshot = self.read()?;
        let mut statement = snapshot.prepare_cached("SELECT path, at FROM backup ORDER BY at DESC")?;
        let rows = statement.query_map([], |row| Ok((PathBuf::from(row.get::<_, String>(0)?), row.get(1)?)))?;
        let known: Vec<(PathBuf, i64)> = rows.collect::<rusqlite::Result<_>>()?;
        Ok(known.into_iter().filter(|(path, _)| path.exists()).collect())
    }
}

impl super::WriteTx<'_> {
    /// Note that a backup was written to `path`.
    pub fn note_backup(&self, path: &Path) -> Result<()> {
        self.execute(
            "INSERT OR REPLACE INTO backup(path, at) VALUES (?1, ?2)",
            (path.to_string_lossy().into_owned(), self.now_ms),
        )?;
        Ok(())
    }
}

/// How many of these memories a backup holds, in its rows or its history.
pub fn holds_any(backup: &Path, ids: &[String]) -> Result<bool> {
    let fail = |error| open::describe("read", backup, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(backup, flags).map_err(fail)?;
    let mut statement = connection
        .prepare("SELECT 1 FROM memory WHERE id = ?1 UNION ALL SELECT 1 FROM history WHERE memory = ?1")
        .map_err(fail)?;
    for id in ids {
        if statement.exists([id]).map_err(fail)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn noted_backups(connection: &Connection) -> Result<Vec<(String, i64)>> {
    let mut statement = connection.prepare("SELECT path, at FROM backup")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn modified_ms(file: &Path) -> Result<i64> {
    let metadata = fs_err::metadata(file).map_err(|error| Error::storage("examine", file, error))?;
    Ok(metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000)
}

fn sequence(connection: &Connection, table: &str) -> Result<i64> {
    Ok(connection.query_row("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?1", [table], |row| row.get(0))?)
}

fn partial_name(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}
