//! Tests of two versions on one store: an upgrade under a running process, and the way back from the copy that a
//! migration makes.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::path::{Path, PathBuf};

use opencode_memory_core::Error;
use opencode_memory_core::model::NewMemory;
use opencode_memory_core::store::FILE;
use opencode_memory_core::store::schema::FORMAT;
use rusqlite::Connection;

use support::dump::dump;
use support::{assert_clean, assert_holds, catch_up, embed, open, question, remember, text, word};

/// A copy of the store of format 1 in `temporary`.
fn first_format(temporary: &Path) -> PathBuf {
    let dir = temporary.join("store");
    support::files::copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/v1"), &dir);
    dir
}

/// Mark the store as one that a later version has migrated.
fn upgrade(dir: &Path) -> Connection {
    let connection = Connection::open(dir.join(FILE)).expect("a store");
    connection.pragma_update(None, "user_version", FORMAT + 1).expect("a format");
    connection
}

fn assert_newer<T>(dir: &Path, done: Result<T, Error>) {
    match done.err() {
        Some(Error::FormatVersion { path, found, supported }) => {
            assert_eq!((path, found, supported), (dir.join(FILE), FORMAT + 1, FORMAT));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn running_process_of_an_older_version_stops_to_write_after_an_upgrade() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..30);
    let newer = upgrade(dir.path());
    assert_newer(dir.path(), engine.remember(NewMemory::new("Written too late")));
    assert_newer(dir.path(), engine.delete(&ids[..1]));
    assert_newer(dir.path(), engine.kv_set(None, "theme", "\"dark\"", None));
    assert_newer(dir.path(), engine.check_place());
    let held: i64 = newer.query_row("SELECT count(*) FROM memory", [], |row| row.get(0)).expect("a number");
    assert_eq!(held, 30);
    newer.pragma_update(None, "user_version", FORMAT).expect("a format");
    remember(&engine, [30]);
    embed(&engine);
    catch_up(&engine);
    assert_clean(&engine);
    assert_holds(&engine, 0..=30);
}

#[test]
fn copy_from_before_a_migration_leads_back_to_the_older_format() {
    let temporary = support::folder();
    let dir = first_format(temporary.path());
    let engine = open(&dir);
    let migrated = dump(&engine);
    // The newer version goes on: the indexes are ahead of the copy.
    remember(&engine, 100..130);
    embed(&engine);
    catch_up(&engine);
    engine.close().expect("closed");
    drop(engine);
    let file = dir.join(FILE);
    std::fs::rename(&file, dir.join("away.db")).expect("renamed");
    std::fs::copy(dir.join("backups/format-1.db"), &file).expect("a copy");

    let older = Connection::open(&file).expect("a store");
    let format: i64 = older.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a format");
    let sound: String = older.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!((format, sound.as_str()), (1, "ok"));
    drop(older);
    // Upgraded again, it has the content from before, and nothing of the newer indexes.
    let engine = open(&dir);
    assert_eq!(dump(&engine), migrated);
    assert_eq!(support::found(&engine, &question(&word(110))), Vec::<String>::new());
    remember(&engine, 200..230);
    embed(&engine);
    catch_up(&engine);
    for number in (0..=40).chain(200..230) {
        assert_eq!(support::found(&engine, &question(&word(number))), [text(number)]);
    }
    assert_clean(&engine);
}
