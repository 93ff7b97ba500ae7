//! Tests of stores with a replaced history: an older copy of the file, a restored backup, or the backup of another
//! store.
//!
//! The same keys and change numbers then belong to other texts, and the indexes contain deleted texts. Answers must
//! still be correct immediately, in every process that has the store open.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::path::Path;

use opencode_memory_core::Engine;
use opencode_memory_core::control::Control;
use opencode_memory_core::store::{FILE, wal_of};

use support::{all, assert_clean, assert_holds, catch_up, embed, open, remember, text};

/// More texts than a recall considers, so that a graph with other vectors would miss some.
const MANY: usize = 300;

fn filled(dir: &Path, first: usize) -> Engine {
    let engine = open(dir);
    remember(&engine, first..first + MANY);
    embed(&engine);
    catch_up(&engine);
    engine
}

fn greatest_key(engine: &Engine) -> i64 {
    all(engine).iter().map(|memory| memory.key).max().unwrap_or(0)
}

#[test]
fn older_copy_of_the_store_is_answered_from_despite_newer_indexes() {
    let dir = support::folder();
    let copy = dir.path().join("copy.db");
    drop(filled(dir.path(), 0));
    assert!(!wal_of(&dir.path().join(FILE)).exists(), "a closed store is one file");
    std::fs::copy(dir.path().join(FILE), &copy).expect("a copy");
    let engine = open(dir.path());
    remember(&engine, 1_000..1_000 + MANY);
    embed(&engine);
    engine
        .delete(&[engine.list(&support::everything(), 1, 0, None).expect("a list")[0].id.clone()])
        .expect("a deletion");
    catch_up(&engine);
    let seq = engine.stats().expect("numbers").seq;
    drop(engine);
    std::fs::copy(&copy, dir.path().join(FILE)).expect("a copy");

    let engine = open(dir.path());
    assert_holds(&engine, 0..MANY);
    // Make the same number of changes with other texts, which get the same keys and change numbers as in the lost
    // history.
    remember(&engine, 2_000..2_000 + MANY);
    embed(&engine);
    while engine.stats().expect("numbers").seq < seq {
        let first = all(&engine).swap_remove(0);
        engine.pin(&[first.id], !first.pinned).expect("a change");
    }
    assert_eq!(engine.stats().expect("numbers").seq, seq);
    let expected = || (0..MANY).chain(2_000..2_000 + MANY);
    assert_holds(&engine, expected());
    drop(engine);
    let engine = open(dir.path());
    assert_holds(&engine, expected());
    assert_clean(&engine);
    catch_up(&engine);
    assert_holds(&engine, expected());
    assert_clean(&engine);
    assert!(engine.stats().expect("numbers").graph_vectors >= 2 * MANY);
}

#[test]
fn i6_restored_backup_is_answered_from_at_once_and_reuses_no_key() {
    let dir = support::folder();
    let backup = dir.path().join("backup.db");
    let engine = filled(dir.path(), 0);
    let other = open(dir.path()); // Stands for another process with the store open and its indexes loaded.
    engine.backup(&backup, &Control::none()).expect("a backup");
    remember(&engine, 1_000..1_000 + MANY);
    let ids: Vec<String> =
        all(&engine).into_iter().filter(|memory| memory.content == text(7)).map(|memory| memory.id).collect();
    engine.delete(&ids).expect("a deletion");
    embed(&engine);
    catch_up(&engine);
    let (key, seq) = (greatest_key(&engine), engine.stats().expect("numbers").seq);
    assert_holds(&other, (0..MANY).filter(|number| *number != 7).chain(1_000..1_000 + MANY));

    assert_eq!(engine.restore_backup(&backup, &Control::none()).expect("a restored backup"), MANY);
    for engine in [&engine, &other] {
        assert_holds(engine, 0..MANY);
        assert_clean(engine);
    }
    remember(&engine, [3_000]);
    let stats = engine.stats().expect("numbers");
    assert!(greatest_key(&engine) > key && stats.seq > seq, "key {key} and change {seq} had been used: {stats:?}");
    embed(&engine);
    for engine in [&other, &engine] {
        assert_holds(engine, (0..MANY).chain([3_000]));
    }
    catch_up(&engine);
    assert_holds(&other, (0..MANY).chain([3_000]));
    assert_clean(&other);
}

#[test]
fn backup_of_another_store_is_answered_from_at_once() {
    let (mine, theirs) = (support::folder(), support::folder());
    let backup = theirs.path().join("backup.db");
    filled(theirs.path(), 5_000).backup(&backup, &Control::none()).expect("a backup");
    for indexed in [true, false] {
        let dir = mine.path().join(indexed.to_string());
        let engine = open(&dir);
        let other = open(&dir);
        remember(&engine, 0..MANY);
        embed(&engine);
        if indexed {
            catch_up(&engine);
        }
        // Both engines have read texts whose keys the backup uses for other texts.
        for engine in [&engine, &other] {
            assert_holds(engine, 0..MANY);
        }
        let key = greatest_key(&engine);
        engine.restore_backup(&backup, &Control::none()).expect("a restored backup");
        for engine in [&engine, &other] {
            assert_holds(engine, 5_000..5_000 + MANY);
            assert_clean(engine);
        }
        remember(&other, [0]);
        assert!(greatest_key(&other) > key);
        embed(&other);
        catch_up(&other);
        for engine in [&engine, &other] {
            assert_holds(engine, (5_000..5_000 + MANY).chain([0]));
            assert_clean(engine);
        }
    }
}

#[test]
fn invalid_backup_is_refused_without_changes() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..10);
    let sound = dir.path().join("sound.db");
    engine.backup(&sound, &Control::none()).expect("a backup");
    let bytes = std::fs::read(&sound).expect("a file");
    let bad = dir.path().join("bad.db");
    let cases: [(&str, Vec<u8>); 4] = [
        ("nothing", Vec::new()),
        (
            "text",
            b"this is no database, but it is long enough to have a header of a hundred bytes or so, and a bit more"
                .to_vec(),
        ),
        ("half", bytes[..bytes.len() / 2].to_vec()),
        ("garbage", bytes.iter().enumerate().map(|(place, byte)| if place > 8_192 { !byte } else { *byte }).collect()),
    ];
    for (name, bytes) in cases {
        std::fs::write(&bad, &bytes).expect("a file");
        let refused = engine.restore_backup(&bad, &Control::none()).expect_err(name);
        assert_eq!(refused.kind(), opencode_memory_core::ErrorKind::CorruptStore, "{name}: {refused}");
        assert_eq!(std::fs::read(&bad).expect("a file"), bytes, "{name} was changed");
        assert_holds(&engine, 0..10);
    }
    let missing = engine.restore_backup(&dir.path().join("missing.db"), &Control::none()).expect_err("there is none");
    assert!(missing.to_string().contains("missing.db"), "{missing}");
    assert!(!dir.path().join("missing.db").exists());
    assert_eq!(engine.restore_backup(&sound, &Control::none()).expect("a restored backup"), 10);
    assert_clean(&engine);
}
