//! Migrations of stores that older versions wrote, one step per format.
//!
//! A store is copied before it is migrated, so that the older version can be used again. All steps run in one
//! transaction: a process that dies in between leaves the older format.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use super::copy::DatabaseCopy;
use super::interrupt::interruptible;
use super::schema::{self, FORMAT, Found};
use super::{FILE, connection, files, lock};
use crate::control::Control;
use crate::error::Result;

/// Folder of the backups beside a store.
pub const BACKUPS: &str = "backups";
/// Folder in which the copy of an older backup is migrated.
pub const MIGRATING: &str = "migrating";

/// Statements of each step; the first leads from format 1 to 2. A step never changes after a release.
const STEPS: [&str; FORMAT as usize - 1] = [
    "
ALTER TABLE memory ADD COLUMN remind_at INTEGER;
ALTER TABLE memory ADD COLUMN remind_every INTEGER;
ALTER TABLE memory ADD COLUMN review_after INTEGER;
ALTER TABLE memory ADD COLUMN review_every INTEGER;
CREATE INDEX memory_by_reminder ON memory(remind_at) WHERE remind_at IS NOT NULL;
CREATE INDEX memory_by_review ON memory(review_after) WHERE review_after IS NOT NULL;
CREATE TABLE project_merge(
    operation INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    target INTEGER NOT NULL,
    rows TEXT NOT NULL
) STRICT;
",
    "
CREATE TABLE document(
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    project INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY(kind, name)
) STRICT, WITHOUT ROWID;
",
    "
CREATE INDEX subject_link_by_source ON link(source) WHERE kind = 'contradicts' OR kind = 'supersedes';
CREATE INDEX subject_link_by_target ON link(target) WHERE kind = 'contradicts' OR kind = 'supersedes';
",
];

/// Bring the store in `file` from format `from` to the current one. A copy of it stays in its folder of backups.
pub fn migrate(connection: &mut Connection, file: &Path, from: i64, now_ms: i64) -> Result<()> {
    let copy = copy_before(connection, file, from)?;
    crate::crash::point("migration:copied");
    apply(connection, file, from, Some((&copy, now_ms)))?;
    crate::crash::point("migration:committed");
    Ok(())
}

/// Apply all steps in one transaction, and note the copy that was made before.
fn apply(connection: &mut Connection, file: &Path, from: i64, copied: Option<(&Path, i64)>) -> Result<()> {
    let fail = |error| connection::describe("migrate", file, error);
    let write = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
    // Another process may have migrated the store while this one waited for the lock.
    if schema::inspect(&write, file)? == Found::Older(from) {
        for step in &STEPS[from as usize - 1..] {
            interruptible(&write, &Control::of_thread(), || write.execute_batch(step).map_err(fail))?;
            crate::crash::point("migration:step");
        }
        write.pragma_update(None, "user_version", FORMAT).map_err(fail)?;
        if let Some((copy, now_ms)) = copied {
            let row = (copy.to_string_lossy(), now_ms);
            write.execute("INSERT OR REPLACE INTO backup(path, at) VALUES (?1, ?2)", row).map_err(fail)?;
        }
    }
    write.commit().map_err(fail)
}

/// Write the copy from which the older version can go on; an existing one is from a migration that did not end.
fn copy_before(connection: &Connection, file: &Path, from: i64) -> Result<PathBuf> {
    let folder = file.with_file_name(BACKUPS);
    files::create_folder(&folder)?;
    let target = folder.join(format!("format-{from}.db"));
    let partial = folder.join(format!("format-{from}.db.{}.partial", std::process::id()));
    let copy = DatabaseCopy { partial: &partial, target: &target, attempted: "write a copy before its migration to" };
    let own = copy.write_partial(connection, &Control::of_thread())?;
    // Another process may have migrated the store since this one examined it. The copy of that process stays then.
    if user_version(&partial)? != from {
        files::remove_if_there(&partial)?;
        return Ok(target);
    }
    copy.publish(own)?;
    Ok(target)
}

fn user_version(file: &Path) -> Result<i64> {
    let copy = connection::reader(file, connection::Access::ReadOnly)?;
    copy.pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|error| connection::describe("read", file, error))
}

/// Call `body` with a backup of the current format: `source` itself, or a migrated copy of it in `dir`.
pub fn with_current<T>(
    dir: &Path,
    source: &Path,
    control: &Control<'_>,
    body: impl FnOnce(&Path) -> Result<T>,
) -> Result<T> {
    let original = connection::reader(source, connection::Access::ReadOnly)?;
    let found = schema::inspect(&original, source);
    let Found::Older(from) = found.map_err(|error| error.located(source))? else { return body(source) };
    let _lock = lock::lock_restore(dir)?;
    let folder = dir.join(MIGRATING);
    files::remove_if_there(&folder)?;
    files::create_folder(&folder)?;
    let done = copy_migrated(&original, from, &folder.join(FILE), control).and_then(|copy| body(&copy));
    files::remove_if_there(&folder)?;
    done
}

/// Write a migrated copy of a store of format `from`. `SQLite` copies it, because a store that was not closed has rows in
/// its WAL that are not in its file.
fn copy_migrated(original: &Connection, from: i64, copy: &Path, control: &Control<'_>) -> Result<PathBuf> {
    original.pragma_update(None, "query_only", false)?; // it refuses VACUUM as well
    DatabaseCopy { partial: copy, target: copy, attempted: "write a copy for its migration to" }
        .write_partial(original, control)?;
    let mut connection = Connection::open(copy).map_err(|error| connection::describe("open", copy, error))?;
    apply(&mut connection, copy, from, None)?;
    Ok(copy.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(connection: &Connection) -> Vec<(String, String)> {
        let mut statement = connection
            .prepare(
                "SELECT s.name, c.name || ' ' || c.type || ' ' || c.\"notnull\" FROM sqlite_schema s \
                 JOIN pragma_table_info(s.name) c WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%' \
                 UNION ALL SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1",
            )
            .expect("a statement");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
        rows.collect::<rusqlite::Result<_>>().expect("rows")
    }

    #[test]
    fn migrated_store_has_the_layout_of_a_new_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join(FILE);
        let first = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/v1").join(FILE);
        std::fs::copy(first, &file).expect("a copy");
        let mut old = Connection::open(&file).expect("a store");
        migrate(&mut old, &file, 1, 0).expect("a migration");
        let new = Connection::open_in_memory().expect("a store");
        schema::create(&new, 0).expect("tables");
        assert_eq!(layout(&old), layout(&new));
    }

    #[test]
    fn migrated_copy_of_a_store_that_was_not_closed_has_the_rows_of_its_wal() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join(FILE);
        let first = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/v1").join(FILE);
        std::fs::copy(first, &file).expect("a copy");
        let old = Connection::open(&file).expect("a store");
        old.pragma_update(None, "journal_mode", "WAL").expect("a WAL");
        old.execute("INSERT INTO project(name, created_at) VALUES ('only in the WAL', 0)", []).expect("a row");
        let count = |file: &Path| {
            let copy = Connection::open(file).expect("a copy");
            let sql = "SELECT count(*) FROM project WHERE name = 'only in the WAL'";
            Ok(copy.query_row(sql, [], |row| row.get::<_, i64>(0))?)
        };
        assert_eq!(with_current(dir.path(), &file, &Control::none(), count).expect("a copy"), 1);
        assert!(!dir.path().join(MIGRATING).exists());
    }

    #[test]
    fn late_migration_keeps_the_copy_of_the_one_that_overtook_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join(FILE);
        let first = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/v1").join(FILE);
        std::fs::copy(first, &file).expect("a copy");
        let mut late = Connection::open(&file).expect("a store");
        migrate(&mut Connection::open(&file).expect("a store"), &file, 1, 0).expect("a migration");
        migrate(&mut late, &file, 1, 0).expect("a migration that finds nothing to do");
        let names = std::fs::read_dir(dir.path().join(BACKUPS)).expect("a folder");
        let names: Vec<_> = names.map(|entry| entry.expect("an entry").file_name()).collect();
        assert_eq!(names, ["format-1.db"]);
        assert_eq!(user_version(&dir.path().join(BACKUPS).join("format-1.db")).expect("a number"), 1);
    }
}
