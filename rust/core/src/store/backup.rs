//! Backups: written as a compact copy by `VACUUM INTO`, restored row by row.
//!
//! Restoring puts the rows *into* the open file, in one transaction, instead of replacing it, so processes that have it
//! open continue with the restored state. The restored store gets a new id, and keys and numbers continue after the highest
//! ever used (I6).

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::copy::DatabaseCopy;
use super::interrupt::interruptible;
use super::{Store, budget, check, connection, files, migration, schema};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::{ids, platform};

/// Files of backups. Those that are gone are left out.
#[derive(Debug, Default)]
pub struct Backups {
    /// Each with the time at which it was begun.
    pub complete: Vec<(PathBuf, i64)>,
    /// Files that are being written, or that a kill left.
    pub incomplete: Vec<PathBuf>,
}

impl Store {
    /// Write a complete, compact copy to `target`, which must not exist. It appears under its name only when complete.
    pub fn backup(&self, target: &Path, control: &Control<'_>) -> Result<()> {
        let target = &prepare(target)?;
        let snapshot = self.read()?;
        // VACUUM does not run inside of a transaction.
        snapshot.execute_batch("COMMIT")?;
        snapshot.pragma_update(None, "query_only", false)?;
        let copy = DatabaseCopy { partial: &partial_name(target), target, attempted: "write a backup to" };
        let copied = copy.write_partial(&snapshot, control).and_then(|own| {
            crate::crash::point("backup:copied");
            copy.publish(own)
        });
        snapshot.pragma_update(None, "query_only", true)?;
        snapshot.execute_batch("BEGIN")?; // dropping the snapshot ends this transaction
        copied
    }

    /// Replace all rows by those of `source`; returns the number of memories.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the caller stopped the work. The store stays as it was.
    pub fn restore(&self, source: &Path, control: &Control<'_>) -> Result<usize> {
        examine(source, control)?;
        let source = platform::resolve(source).map_err(|error| Error::storage("resolve", source, error))?;
        let itself = (source.to_string_lossy().into_owned(), modified_ms(&source)?);
        let folder = self.file().parent().unwrap_or_else(|| Path::new("."));
        migration::with_current(folder, &source, control, |source| {
            self.exclusively(|connection| {
                connection
                    .execute("ATTACH DATABASE ?1 AS source", [connection::uri(source, connection::Access::ReadOnly)])?;
                // Rows are inserted table by table. Inside a transaction this pragma has no effect.
                connection.pragma_update(None, "foreign_keys", false)?;
                let restored = replace_all_rows(connection, itself, control);
                connection.pragma_update(None, "foreign_keys", true)?;
                connection.execute_batch("DETACH DATABASE source")?;
                restored
            })
        })
    }

    /// Find the files of the backups that this store knows of, newest first.
    pub fn find_backups(&self) -> Result<Backups> {
        let snapshot = self.read()?;
        let mut statement = snapshot.prepare_cached("SELECT path, at FROM backup ORDER BY at DESC")?;
        let rows = statement.query_map([], |row| Ok((PathBuf::from(row.get::<_, String>(0)?), row.get(1)?)))?;
        let known: Vec<(PathBuf, i64)> = rows.collect::<rusqlite::Result<_>>()?;
        let incomplete = known.iter().flat_map(|(path, _)| partial_names(path)).filter(|path| path.exists()).collect();
        Ok(Backups { complete: known.into_iter().filter(|(path, _)| path.exists()).collect(), incomplete })
    }
}

impl super::WriteTx<'_> {
    /// Note that a backup is written to `path`.
    pub fn note_backup(&self, path: &Path) -> Result<()> {
        self.execute(
            "INSERT OR REPLACE INTO backup(path, at) VALUES (?1, ?2)",
            (path.to_string_lossy().into_owned(), self.now_ms),
        )?;
        Ok(())
    }
}

/// Create the folder of a backup, and return its absolute path without links.
///
/// # Errors
/// [`Error::Conflict`] if a file has this name.
pub fn prepare(target: &Path) -> Result<PathBuf> {
    if target.exists() {
        return Err(Error::Conflict(format!("{} exists already; choose another name", target.display())));
    }
    let name = target.file_name().ok_or_else(|| Error::invalid("path", "has no file name"))?;
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    files::create_folder(folder)?;
    Ok(platform::resolve(folder).map_err(|source| Error::storage("resolve", folder, source))?.join(name))
}

/// Whether a backup holds any of these memories, in its rows, its history or its ledger.
pub fn holds_any(backup: &Path, ids: &[String]) -> Result<bool> {
    let fail = |error| connection::describe("read", backup, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(backup, flags).map_err(fail)?;
    let mut statement = connection
        .prepare(
            "SELECT 1 FROM memory WHERE id = ?1 UNION ALL SELECT 1 FROM history WHERE memory = ?1 \
             UNION ALL SELECT 1 FROM injected WHERE memory = ?1",
        )
        .map_err(fail)?;
    for id in ids {
        if statement.exists([id]).map_err(fail)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn modified_ms(file: &Path) -> Result<i64> {
    let metadata = fs_err::metadata(file).map_err(|error| Error::storage("examine", file, error))?;
    let modified = metadata.modified().map_err(|error| Error::storage("examine", file, error))?;
    // A file from before 1970 counts as one from 1970.
    Ok(modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64))
}

/// Refuse a file that is not an undamaged store, before any row is changed.
fn examine(source: &Path, control: &Control<'_>) -> Result<()> {
    let from = connection::reader(source, connection::Access::ReadOnly)?;
    if schema::inspect(&from, source).map_err(|error| error.located(source))? == schema::Found::Nothing {
        return Err(Error::CorruptStore { path: source.to_owned(), message: "is empty".into() });
    }
    // A row that an index has and its table lacks, or the reverse, tells of a torn copy. The quick check does not compare
    // them.
    if let Some(damage) = check::first_damage(&from, "integrity_check", source, control)? {
        let advice = if damage.contains(" index ") {
            "its rows may be of two states. Restore another backup, or copy this one as store.db into a new folder and run \
             `opencode-memory --data-dir FOLDER repair`"
        } else {
            "`opencode-memory backup list` shows other backups"
        };
        let message = format!("is damaged: {damage}; {advice}");
        return Err(Error::CorruptStore { path: source.to_owned(), message });
    }
    Ok(())
}

/// Put the rows of the attached `source` in the place of ours, in one transaction: every process sees the old store or the
/// new one, and dying in between leaves the old one.
fn replace_all_rows(connection: &mut Connection, source: (String, i64), control: &Control<'_>) -> Result<usize> {
    let write = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let memories = interruptible(&write, control, || copy_rows(&write, source))?;
    crate::crash::point("restore:copied");
    write.commit()?;
    crate::crash::point("restore:committed");
    Ok(memories)
}

fn copy_rows(write: &Connection, source: (String, i64)) -> Result<usize> {
    let tables: Vec<String> = write
        .prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    // Keep the list of backups made since. Otherwise a purge could not name them.
    write.execute("INSERT OR IGNORE INTO main.backup SELECT * FROM source.backup", [])?;
    write.execute("INSERT OR IGNORE INTO main.backup(path, at) VALUES (?1, ?2)", source)?;
    let spent = budget::numbers(write)?;
    for table in tables.iter().filter(|table| *table != "backup") {
        // Emptying a table leaves its sequence where it is, and inserting only raises it: keys are never reused.
        write.execute_batch(&format!(
            "DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM source.{table}"
        ))?;
    }
    // The backup may have removed its last rows: its sequences count too.
    write.execute_batch(
        "UPDATE main.sqlite_sequence SET seq = max(seq, coalesce((SELECT s.seq FROM source.sqlite_sequence s \
             WHERE s.name = main.sqlite_sequence.name), 0)); \
         INSERT INTO main.sqlite_sequence(name, seq) SELECT name, seq FROM source.sqlite_sequence \
             WHERE name NOT IN (SELECT name FROM main.sqlite_sequence)",
    )?;
    write.execute("UPDATE main.meta SET value = ?1 WHERE name = 'store_id'", [ids::new_store_id()])?;
    budget::put_back(write, &spent)?;
    let memories: i64 = write.query_row("SELECT count(*) FROM main.memory", [], |row| row.get(0))?;
    Ok(memories as usize)
}

/// Names of the files that a kill leaves of a backup that was being written.
pub fn partial_names(target: &Path) -> [PathBuf; 2] {
    let partial = partial_name(target);
    [files::journal_of(&partial), partial]
}

/// Name of the file of a backup until the backup is complete.
fn partial_name(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}
