//! Tests of a store whose file is removed, renamed or replaced while it is open: no write is acknowledged.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::fs;
use std::path::Path;

use opencode_memory_core::control::Control;
use opencode_memory_core::model::{NewMemory, Trust};
use opencode_memory_core::store::{FILE, Store, recovery, wal_of};
use opencode_memory_core::{Clock, ErrorKind};

use support::{BEGINNING, assert_holds, open, remember};

fn remove(file: &Path) {
    fs::remove_file(file).expect("removed");
}

fn rename(file: &Path) {
    fs::rename(file, file.with_extension("away")).expect("renamed");
}

fn replace_by_a_copy(file: &Path) {
    let copy = file.with_extension("copy");
    fs::copy(file, &copy).expect("copied");
    fs::rename(&copy, file).expect("renamed");
}

fn remove_folder(file: &Path) {
    fs::remove_dir_all(file.parent().expect("a folder")).expect("removed");
}

const WAYS: [fn(&Path); 4] = [remove, rename, replace_by_a_copy, remove_folder];

#[test]
fn write_to_a_lost_file_is_refused() {
    for way in WAYS {
        let outer = support::folder();
        let dir = outer.path().join("data");
        let engine = open(&dir);
        remember(&engine, 0..5);
        way(&dir.join(FILE));
        let refused = engine.remember(NewMemory::new("lost")).expect_err("a refusal");
        assert_eq!(refused.kind(), ErrorKind::Storage, "{refused}");
        assert!(refused.to_string().contains("while it was open"), "{refused}");
        assert_eq!(engine.check_place().expect_err("an alarm").kind(), ErrorKind::Storage);
        assert_eq!(engine.kv_set(None, "key", "1", None).expect_err("a refusal").kind(), ErrorKind::Storage);
    }
}

fn remove_wal(file: &Path) {
    remove(&wal_of(file));
}

fn remove_shared_memory(file: &Path) {
    fs::remove_file(file.with_extension("db-shm")).expect("removed");
}

/// As `rm store.db-*` does.
fn remove_wal_and_shared_memory(file: &Path) {
    remove_wal(file);
    remove_shared_memory(file);
}

/// As another process does that opens the store after that.
fn replace_wal(file: &Path) {
    remove_wal_and_shared_memory(file);
    fs::write(wal_of(file), []).expect("written");
}

#[test]
fn write_beside_a_lost_wal_or_shared_memory_is_refused() {
    for way in [remove_wal, remove_shared_memory, remove_wal_and_shared_memory, replace_wal] {
        let dir = support::folder();
        let engine = open(dir.path());
        remember(&engine, 0..5);
        way(&dir.path().join(FILE));
        let refused = engine.remember(NewMemory::new("lost")).expect_err("a refusal");
        assert!(refused.to_string().contains("the file was"), "{refused}");
        assert_eq!(engine.check_place().expect_err("an alarm").kind(), ErrorKind::Storage);
    }
}

/// A process writes, loses its WAL and ends as usual: the next one has every acknowledged write.
#[test]
fn closing_a_store_without_its_wal_keeps_its_writes() {
    for way in [remove_wal, remove_shared_memory, remove_wal_and_shared_memory] {
        let dir = support::folder();
        let engine = open(dir.path());
        remember(&engine, 0..5);
        way(&dir.path().join(FILE));
        engine.close().ok(); // it cannot write its use counters any more
        assert_holds(&open(dir.path()), 0..5);
    }
}

#[test]
fn write_during_which_the_file_is_lost_is_not_acknowledged() {
    for way in WAYS {
        let outer = support::folder();
        let dir = outer.path().join("data");
        let store = Store::open(&dir, false, BEGINNING).expect("a store");
        let written = store.write(&Clock::fixed(BEGINNING), Trust::User, |_| {
            way(&dir.join(FILE));
            Ok(())
        });
        assert_eq!(written.expect_err("no acknowledgement").kind(), ErrorKind::Storage);
    }
}

#[test]
fn writes_go_on_when_the_file_is_back() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..5);
    let (file, away) = (dir.path().join(FILE), dir.path().join("away"));
    fs::rename(&file, &away).expect("renamed");
    engine.remember(NewMemory::new("lost")).expect_err("a refusal");
    fs::rename(&away, &file).expect("renamed");
    engine.check_place().expect("in its place");
    remember(&engine, 5..8);
    drop(engine);
    assert_holds(&open(dir.path()), 0..8);
}

#[test]
fn closing_a_replaced_store_leaves_the_wal_of_the_new_one() {
    let dir = support::folder();
    let backup = dir.path().join("copy.db");
    let former = open(dir.path());
    remember(&former, 0..5);
    former.backup(&backup, &Control::none()).expect("a backup");
    fs::remove_file(dir.path().join(FILE)).expect("removed");
    recovery::restore_beside(dir.path(), &backup, BEGINNING, &Control::none()).expect("restored");
    let new = open(dir.path());
    remember(&new, 5..8);
    let wal = wal_of(&dir.path().join(FILE));
    let before = fs::read(&wal).expect("a WAL");
    former.close().ok(); // it cannot write its use counters any more
    assert_eq!(fs::read(&wal).expect("a WAL"), before);
    remember(&new, 8..9);
    drop(new);
    assert_holds(&open(dir.path()), 0..9);
}
