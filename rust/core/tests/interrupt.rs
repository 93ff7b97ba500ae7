//! The caller interrupts long SQL work: it ends with an error, and nothing is half done.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::fmt::Debug;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use opencode_memory_core::control::{Control, answering};
use opencode_memory_core::model::NewMemory;
use opencode_memory_core::store::{Connection, FILE, Store, check, recovery};
use opencode_memory_core::{Clock, Engine, Error, Result};

use support::{BEGINNING, assert_clean, contents, open, remember, text};

/// So many texts that each statement takes more than a thousand steps.
const SIZE: usize = 3_000;

/// A store with many texts, and a backup of it. The store has one more text since.
fn prepared() -> (tempfile::TempDir, Engine) {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..SIZE);
    engine.backup(&dir.path().join("backup.db"), &Control::none()).expect("a backup");
    remember(&engine, [SIZE]);
    (dir, engine)
}

/// Assert that `work` is interrupted by its second question, which is within a statement: the first is before it.
#[track_caller]
fn assert_interrupted<T: Debug>(work: impl FnOnce(&Control<'_>) -> Result<T>) {
    let asked = AtomicUsize::new(0);
    let is_interrupted = || asked.fetch_add(1, Ordering::Relaxed) == 1;
    let done = work(&Control { is_interrupted: &is_interrupted, progress: &|_, _, _| {} });
    assert!(matches!(done, Err(Error::Interrupted)), "{done:?}");
    assert_eq!(asked.into_inner(), 2, "the work goes on after the interruption");
}

#[test]
fn interrupted_backup_leaves_no_file() {
    let (dir, engine) = prepared();
    let target = dir.path().join("new folder/another.db");
    assert_interrupted(|control| engine.backup(&target, control));
    assert_interrupted(|control| engine.snapshot_copy(&target, control));
    assert_eq!(std::fs::read_dir(target.parent().unwrap()).expect("a folder").count(), 0);
    engine.backup(&target, &Control::none()).expect("a backup");
    assert_eq!(engine.backups().expect("backups").len(), 2);
}

#[test]
fn backup_that_another_process_has_begun_again_does_not_publish_its_incomplete_file() {
    let (dir, engine) = prepared();
    let (target, partial) = (dir.path().join("another.db"), dir.path().join("another.db.partial"));
    let asked = AtomicUsize::new(0);
    let begin_again = || {
        if asked.fetch_add(1, Ordering::Relaxed) == 1 {
            std::fs::remove_file(&partial).expect("a file of the backup");
            std::fs::write(&partial, b"begun").expect("a file");
        }
        false
    };
    let done = engine.backup(&target, &Control { is_interrupted: &begin_again, progress: &|_, _, _| {} });
    assert!(matches!(done, Err(Error::Conflict(_))), "{done:?}");
    assert!(!target.exists());
    assert_eq!(std::fs::read(&partial).expect("the file of the other process"), b"begun");
}

#[test]
fn backup_whose_files_another_process_has_taken_says_so() {
    let (dir, engine) = prepared();
    let (target, partial) = (dir.path().join("another.db"), dir.path().join("another.db.partial"));
    let journal = dir.path().join("another.db.partial-journal");
    let asked = AtomicUsize::new(0);
    let begin_again = || {
        if asked.fetch_add(1, Ordering::Relaxed) == 1 {
            std::fs::remove_file(&partial).expect("a file of the backup");
            std::fs::write(&partial, b"begun").expect("a file");
            // SQLite cannot end its transaction.
            std::fs::remove_file(&journal).expect("a journal");
            std::fs::create_dir(&journal).expect("a folder");
        }
        false
    };
    let done = engine.backup(&target, &Control { is_interrupted: &begin_again, progress: &|_, _, _| {} });
    assert!(matches!(done, Err(Error::Conflict(_))), "{done:?}");
    assert!(!target.exists());
    assert_eq!(std::fs::read(&partial).expect("the file of the other process"), b"begun");
}

#[test]
fn interrupted_restore_changes_nothing() {
    let (dir, engine) = prepared();
    let backup = dir.path().join("backup.db");
    let before = contents(&engine);
    let id = engine.list(&support::everything(), 2, 0, None).expect("a list")[1].id.clone();
    engine.note_uses(vec![id.clone()]).expect("noted");
    // The first statement examines the backup. The second one asks before it begins, and when it replaces rows.
    for questions in [2, 4] {
        let asked = AtomicUsize::new(0);
        let is_interrupted = || asked.fetch_add(1, Ordering::Relaxed) + 1 == questions;
        let control = Control { is_interrupted: &is_interrupted, progress: &|_, _, _| {} };
        let done = engine.restore_backup(&backup, &control);
        assert!(matches!(done, Err(Error::Interrupted)), "{done:?}");
        assert_eq!(contents(&engine), before);
        remember(&engine, [SIZE]);
        assert_clean(&engine);
    }
    engine.maintain().expect("maintained");
    assert_eq!(engine.get(&id).expect("a memory").uses, 1);
    assert_eq!(engine.restore_backup(&backup, &Control::none()).expect("a restored backup"), SIZE);
}

#[test]
fn interrupted_check_is_no_finding() {
    let (dir, engine) = prepared();
    let store = Store::open(dir.path(), true, BEGINNING).expect("a store");
    assert_interrupted(|control| check::problems(&store.read().expect("a snapshot"), control));
    assert_interrupted(|control| recovery::is_sound(dir.path(), control));
    assert_interrupted(|control| engine.rebuild_store_indexes(control));
    assert_clean(&engine);
}

#[test]
fn interrupted_replacement_of_a_damaged_store_changes_nothing() {
    let (dir, engine) = prepared();
    drop(engine);
    std::fs::write(dir.path().join(FILE), b"ruined").expect("a file");
    let backup = dir.path().join("backup.db");
    let before = support::files::contents(dir.path());
    assert_interrupted(|control| recovery::restore_beside(dir.path(), &backup, BEGINNING, control));
    let mut after = support::files::contents(dir.path());
    assert_eq!(after.remove(&dir.path().join("restore.lock")), Some(Vec::new()));
    assert_eq!(after, before);
    recovery::restore_beside(dir.path(), &backup, BEGINNING, &Control::none()).expect("a restored backup");
    let engine = Engine::open(dir.path(), support::options(), Clock::fixed(BEGINNING)).expect("a store");
    assert_eq!(contents(&engine).len(), SIZE);
}

#[test]
fn interrupted_purge_is_finished_by_the_next_maintenance() {
    let (dir, engine) = prepared();
    let id = engine.list(&support::everything(), 1, 0, None).expect("a list")[0].id.clone();
    let asked = AtomicUsize::new(0);
    let is_interrupted = || asked.fetch_add(1, Ordering::Relaxed) > 0;
    let report = engine.purge(&[id], &Control { is_interrupted: &is_interrupted, progress: &|_, _, _| {} });
    let report = report.expect("a purge");
    assert!(report.memories == 1 && report.problems[0].contains("free pages"), "{report:?}");
    engine.maintain().expect("maintained");
    assert!(!contents(&engine).contains(&text(SIZE)));
    drop(engine);
    let word = support::word(SIZE).into_bytes();
    let file = std::fs::read(dir.path().join(FILE)).expect("a file");
    assert!(!file.windows(word.len()).any(|window| window == word));
}

#[test]
fn interruption_ends_the_wait_for_the_transaction_of_another_process() {
    let (dir, engine) = prepared();
    let other = Connection::open(dir.path().join(FILE)).expect("a store");
    other.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
    let asked = AtomicUsize::new(0);
    let is_interrupted = || asked.fetch_add(1, Ordering::Relaxed) == 1;
    let done = answering(&is_interrupted, || engine.remember(NewMemory::new("Too early")));
    assert!(matches!(done, Err(Error::Busy { .. })), "{done:?}");
    assert_eq!(asked.into_inner(), 2, "the wait goes on after the interruption");
    other.execute_batch("ROLLBACK").expect("an end");
    engine.remember(NewMemory::new("In time")).expect("a write");
}

#[test]
fn interruption_ends_the_wait_for_the_writer_of_another_thread() {
    let (dir, engine) = prepared();
    let other = Connection::open(dir.path().join(FILE)).expect("a store");
    other.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
    let (is_waiting, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let wait = || {
        is_waiting.store(true, Ordering::SeqCst);
        is_over.load(Ordering::SeqCst)
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| answering(&wait, || engine.remember(NewMemory::new("First")).map(drop)));
        while !is_waiting.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        let done = answering(&|| true, || engine.remember(NewMemory::new("Second")).map(drop));
        assert!(matches!(done, Err(Error::Interrupted)), "{done:?}");
        is_over.store(true, Ordering::SeqCst);
        assert!(matches!(first.join().expect("an end"), Err(Error::Busy { .. })));
    });
}

#[test]
fn interrupted_migration_leaves_the_older_format() {
    let dir = support::folder();
    let file = dir.path().join(FILE);
    let first = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/v1").join(FILE);
    std::fs::copy(first, &file).expect("a copy");
    let open = || Store::open(dir.path(), false, BEGINNING);
    assert!(matches!(answering(&|| true, open), Err(Error::Interrupted)));
    let format = |file: &Path| -> i64 {
        let store = Connection::open(file).expect("a store");
        store.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a number")
    };
    assert_eq!(format(&file), 1);
    open().expect("a migration");
    assert!(format(&file) > 1);
}
