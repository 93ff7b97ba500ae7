//! Tests of damaged and foreign store files: the engine reports them, never crashes, and never changes a foreign file.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::Path;

use opencode_memory_core::control::{Control, answering};
use opencode_memory_core::index::catch_up::try_lock;
use opencode_memory_core::index::graph::snapshot;
use opencode_memory_core::index::lexical;
use opencode_memory_core::model::{NewMemory, RecallRequest, Scope};
use opencode_memory_core::store::schema::FORMAT;
use opencode_memory_core::store::{Connection, FILE, Store, check, recovery};
use opencode_memory_core::text::normalise;
use opencode_memory_core::{Clock, Engine, Error, ErrorKind, Options, Result};

use support::files::{contents, copy, files, flip};
use support::{BEGINNING, catch_up, embed, everything, near, open, options, question, remember, text, word};

const TEXTS: usize = 80;
/// Offsets of `user_version` and `application_id` in the header of a SQLite file.
const FORMAT_AT: usize = 60;
const APPLICATION_AT: usize = 68;

fn prepared() -> tempfile::TempDir {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..TEXTS);
    embed(&engine);
    engine.archive(&ids[..3], None).expect("archived");
    engine.pin(&ids[5..9], true).expect("pinned");
    engine.link(&ids[0], &ids[1], "similar", 0.5, "a reason").expect("a link");
    engine.kv_set(None, "key", "\"value\"", None).expect("a value");
    catch_up(&engine);
    dir
}

/// Call all read operations, a catch-up and a write. Return the stored texts.
fn use_everything(dir: &Path) -> Result<BTreeSet<String>> {
    let engine = Engine::open(dir, options(), Clock::fixed(BEGINNING))?;
    let listed = engine.list(&everything(), 1_000, 0, None)?;
    let held = listed.iter().map(|memory| memory.content.clone()).collect();
    for number in 0..5 {
        engine.recall(question(&word(number)))?;
        engine.recall(near(&text(number)))?;
    }
    for memory in listed.iter().take(3) {
        engine.get(&memory.id)?;
        engine.history(&memory.id)?;
        engine.related(&memory.id, 5)?;
    }
    engine.kv_list(None, "")?;
    engine.stats()?;
    engine.pending_embeddings(0, 100)?;
    for kind in ["project", "memory", "link", "history", "kv", "document"] {
        engine.dump(kind, 0, 1_000)?;
    }
    let report = engine.verify(&Control::none())?;
    if !report.store_problems.is_empty() {
        return Err(Error::CorruptStore { path: dir.to_owned(), message: report.store_problems.join("; ") });
    }
    engine.catch_up(&Control::none())?;
    engine.remember(NewMemory::new(text(TEXTS)))?;
    engine.undo(None)?;
    Ok(held)
}

fn normalise_all(texts: &BTreeSet<String>) -> BTreeSet<String> {
    texts.iter().map(|text| normalise(text)).collect()
}

/// Whether a verification finds a problem in the store.
fn is_reported(dir: &Path) -> bool {
    let verified =
        Engine::open(dir, options(), Clock::fixed(BEGINNING)).and_then(|engine| engine.verify(&Control::none()));
    verified.map_or(true, |report| !report.store_problems.is_empty())
}

#[test]
fn flipped_bit_is_reported_or_changes_no_text() {
    let prepared = prepared();
    let expected: BTreeSet<String> = (0..TEXTS).map(text).collect();
    let length = std::fs::read(prepared.path().join(FILE)).expect("a file").len();
    let mut random = support::seed(3);
    let (mut rounds, begun) = (150, std::time::Instant::now());
    let mut noticed = 0;
    while support::soaking(&mut rounds, begun) {
        // Half of the flips are in the header and the first pages, which affect the whole store.
        let within = if random.below(2) == 0 { length.min(8_192) } else { length };
        let (offset, bit) = (random.below(within), random.below(8));
        let case = support::folder();
        let dir = case.path().join("data");
        copy(prepared.path(), &dir);
        flip(&dir.join(FILE), offset, bit);
        let what = format!("bit {bit} of byte {offset}");
        match catch_unwind(|| use_everything(&dir)) {
            // The hash of a text is that of its normal form, so a flip of a letter's case may remain unnoticed.
            Ok(Ok(held)) => {
                assert_eq!(normalise_all(&held), normalise_all(&expected), "{what} changed a text without an error")
            }
            Ok(Err(error)) => {
                noticed += 1;
                let kinds = [ErrorKind::CorruptStore, ErrorKind::FormatVersion, ErrorKind::Storage];
                assert!(kinds.contains(&error.kind()) || is_reported(&dir), "{what}: {error:?}");
            }
            Err(_) => panic!("{what} caused a panic"),
        }
    }
    assert!(noticed > 0);
}

#[test]
fn verification_finds_a_flipped_bit_in_a_text() {
    let prepared = prepared();
    let expected: BTreeSet<String> = (0..TEXTS).map(text).collect();
    let bytes = std::fs::read(prepared.path().join(FILE)).expect("a file");
    // With its highest bit flipped, a letter is not UTF-8 any more.
    for (number, bit) in [(3, 0), (40, 0), (79, 0), (3, 7), (40, 7), (79, 7)] {
        let word = word(number);
        let places = (0..bytes.len() - word.len()).filter(|place| bytes[*place..].starts_with(word.as_bytes()));
        let mut found = 0;
        for place in places {
            let case = support::folder();
            let dir = case.path().join("data");
            copy(prepared.path(), &dir);
            flip(&dir.join(FILE), place, bit);
            match use_everything(&dir) {
                Ok(held) => assert_eq!(held, expected), // The flip hit an old copy of the row in a free page.
                Err(error) => {
                    found += 1;
                    assert!(error.to_string().contains("hash differs"), "{error}");
                    assert_only_one_is_damaged(&dir, &expected);
                }
            }
        }
        assert!(found > 0);
    }
}

/// All other memories are listed, and the damaged one can be deleted.
fn assert_only_one_is_damaged(dir: &Path, expected: &BTreeSet<String>) {
    let engine = Engine::open(dir, options(), Clock::fixed(BEGINNING)).expect("an engine");
    let listed = engine.list(&everything(), 1_000, 0, None).expect("a list");
    let damaged: Vec<_> = listed.iter().filter(|memory| !expected.contains(&memory.content)).collect();
    let [damaged] = damaged[..] else { panic!("{damaged:?}") };
    assert_eq!(listed.len(), expected.len());
    engine.delete(std::slice::from_ref(&damaged.id)).expect("deleted");
    assert_eq!(engine.verify(&Control::none()).expect("a report").store_problems, Vec::<String>::new());
}

#[test]
fn truncated_or_overwritten_store_is_reported_as_corrupt() {
    let prepared = prepared();
    let bytes = std::fs::read(prepared.path().join(FILE)).expect("a file");
    let pages = bytes.len() / 4_096;
    let overwritten = |page: usize| {
        let mut bytes = bytes.clone();
        bytes[page * 4_096..(page + 1) * 4_096].fill(0xA5);
        bytes
    };
    let mut cases =
        vec![bytes[..4_096].to_vec(), bytes[..bytes.len() / 2].to_vec(), bytes[..5_000].to_vec(), bytes[..50].to_vec()];
    cases.extend((0..pages).map(overwritten));
    let mut noticed = 0;
    let all = cases.len();
    for (place, bytes) in cases.into_iter().enumerate() {
        let case = support::folder();
        let dir = case.path().join("data");
        copy(prepared.path(), &dir);
        std::fs::write(dir.join(FILE), bytes).expect("a file");
        match use_everything(&dir) {
            Ok(held) => assert_eq!(held.len(), TEXTS, "case {place}"),
            Err(error) => {
                noticed += 1;
                assert_eq!(error.kind(), ErrorKind::CorruptStore, "case {place}: {error}");
            }
        }
    }
    assert_eq!(noticed, all, "every damaged page must be noticed");
}

/// Assert that opening fails with this kind of error and changes no byte.
fn assert_refused_unchanged(bytes: &[u8], kind: ErrorKind) -> Error {
    let dir = support::folder();
    std::fs::write(dir.path().join(FILE), bytes).expect("a file");
    let before = contents(dir.path());
    let mut last = None;
    for read_only in [false, true] {
        let options = opencode_memory_core::Options { read_only, ..options() };
        let error = Engine::open(dir.path(), options, Clock::fixed(BEGINNING)).expect_err("opening must fail");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(FILE), "{error}");
        let after = contents(dir.path());
        assert_eq!(after.get(&dir.path().join(FILE)).map(Vec::as_slice), Some(bytes), "read_only {read_only}");
        // In read-only mode SQLite leaves its shared-memory file behind, because it must not remove files.
        assert!(read_only || after == before, "{:?}", after.keys());
        last = Some(error);
    }
    last.expect("an error")
}

#[test]
fn store_of_newer_format_is_refused_and_unchanged() {
    let mut bytes = std::fs::read(prepared().path().join(FILE)).expect("a file");
    bytes[FORMAT_AT..FORMAT_AT + 4].copy_from_slice(&7_u32.to_be_bytes());
    let error = assert_refused_unchanged(&bytes, ErrorKind::FormatVersion);
    assert!(matches!(error, Error::FormatVersion { found: 7, supported: FORMAT, .. }), "{error:?}");
}

#[test]
fn foreign_file_is_refused_and_unchanged() {
    let mut foreign = std::fs::read(prepared().path().join(FILE)).expect("a file");
    foreign[APPLICATION_AT..APPLICATION_AT + 4].copy_from_slice(&0_u32.to_be_bytes());
    let error = assert_refused_unchanged(&foreign, ErrorKind::CorruptStore);
    assert!(error.to_string().contains("nothing was changed in it"), "{error}");
    foreign[FORMAT_AT..FORMAT_AT + 4].copy_from_slice(&0_u32.to_be_bytes());
    assert_refused_unchanged(&foreign, ErrorKind::CorruptStore);
    assert_refused_unchanged("a diary, not a database ".repeat(100).as_bytes(), ErrorKind::CorruptStore);
    assert_refused_unchanged(b"short", ErrorKind::CorruptStore);
    assert_refused_unchanged(&[0; 4_096], ErrorKind::CorruptStore);
}

#[test]
fn damaged_store_is_restored_from_its_backup() {
    let prepared = prepared();
    let backup = prepared.path().join("backup.db");
    open(prepared.path()).backup(&backup, &Control::none()).expect("a backup");
    let file = prepared.path().join(FILE);
    std::fs::write(&file, b"ruined").expect("a file");
    assert!(Engine::open(prepared.path(), options(), Clock::fixed(BEGINNING)).is_err());
    assert!(!recovery::is_sound(prepared.path(), &Control::none()).expect("an examination"));
    std::fs::write(opencode_memory_core::store::wal_of(&file), b"left behind").expect("a file");
    let read_only = Options { read_only: true, ..options() };
    let refused = Engine::open(prepared.path(), read_only, Clock::fixed(BEGINNING)).expect_err("a damaged store");
    assert_eq!(refused.kind(), ErrorKind::CorruptStore, "{refused}");
    let replaced =
        recovery::restore_beside(prepared.path(), &backup, BEGINNING, &Control::none()).expect("a restored backup");
    assert_eq!(replaced.memories, TEXTS);
    assert_eq!(std::fs::read(replaced.aside.expect("a folder").join(FILE)).expect("a file"), b"ruined");
    assert!(recovery::is_sound(prepared.path(), &Control::none()).expect("an examination"));
    let engine = open(prepared.path());
    catch_up(&engine);
    support::assert_clean(&engine);
    assert!(lexical::folder(prepared.path()).exists() && snapshot::folder(prepared.path()).exists());
}

#[test]
fn only_one_of_several_restores_replaces_a_damaged_store() {
    for _ in 0..5 {
        let prepared = prepared();
        let (dir, backup) = (prepared.path(), prepared.path().join("backup.db"));
        open(dir).backup(&backup, &Control::none()).expect("a backup");
        std::fs::write(dir.join(FILE), b"ruined").expect("a file");
        let restore = || recovery::restore_beside(dir, &backup, BEGINNING, &Control::none());
        let done: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(restore)).collect();
            threads.into_iter().map(|thread| thread.join().expect("an end")).collect()
        });
        let (restored, refused): (Vec<_>, Vec<_>) = done.into_iter().partition(Result::is_ok);
        assert_eq!(restored.len(), 1, "{refused:?}");
        for error in refused.into_iter().map(Result::unwrap_err) {
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        }
        let folders = std::fs::read_dir(dir).expect("a folder").flatten();
        let folders: Vec<_> = folders.map(|entry| entry.file_name().into_string().expect("a name")).collect();
        assert_eq!(folders.iter().filter(|name| name.starts_with(recovery::ASIDE)).count(), 1, "{folders:?}");
        assert!(!folders.iter().any(|name| name == recovery::BUILDING), "{folders:?}");
        support::assert_clean(&open(dir));
    }
}

#[test]
fn restores_of_an_older_backup_do_not_share_its_migrated_copy() {
    let prepared = prepared();
    let older = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/v1").join(FILE);
    let backup = prepared.path().join("older.db");
    std::fs::copy(older, &backup).expect("a copy");
    let stores: Vec<_> = (0..4).map(|_| open(prepared.path())).collect();
    let restore = |engine: &Engine| engine.restore_backup(&backup, &Control::none());
    let restore = &restore;
    let done: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = stores.iter().map(|engine| scope.spawn(move || restore(engine))).collect();
        threads.into_iter().map(|thread| thread.join().expect("an end")).collect()
    });
    assert!(done.iter().any(Result::is_ok), "{done:?}");
    for error in done.into_iter().filter_map(Result::err) {
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    }
    assert!(!prepared.path().join("migrating").exists());
}

#[test]
fn lost_store_is_not_begun_anew() {
    for is_empty in [true, false] {
        let prepared = prepared();
        let file = prepared.path().join(FILE);
        std::fs::remove_file(&file).expect("a file");
        if is_empty {
            std::fs::write(&file, b"").expect("a file");
        }
        let refused = Engine::open(prepared.path(), options(), Clock::fixed(BEGINNING)).expect_err("an alarm");
        assert_eq!(refused.kind(), ErrorKind::CorruptStore);
        assert!(refused.to_string().contains("its folder has indexes of a store"), "{refused}");
        assert_eq!(file.exists(), is_empty);
    }
}

/// Run statements on the file of a store, as damage would change it.
fn change_rows(dir: &Path, sql: &str) {
    let store = Store::open(dir, false, BEGINNING).expect("a store");
    let body = |connection: &mut Connection| Ok(connection.execute_batch(sql)?);
    store.exclusively(body).expect("changed");
    store.close();
}

#[test]
fn vector_of_a_wrong_length_does_not_end_a_recall_of_an_earlier_state() {
    let dir = prepared();
    change_rows(dir.path(), "UPDATE embedding SET vector = x'0000' WHERE key = 1");
    let engine = open(dir.path());
    let earlier = RecallRequest { as_of: Some(BEGINNING), ..near(&text(9)) };
    assert_eq!(support::found(&engine, &earlier)[0], text(9));
    let other = RecallRequest { vector: Some(support::query_vector(vec![1.0])), ..earlier };
    assert!(matches!(engine.recall(other), Err(Error::DimensionMismatch { received: 1, .. })));
}

#[test]
fn verify_names_each_number_and_word_that_no_reader_knows() {
    for (sql, problem) in [
        ("UPDATE memory SET status = 9 WHERE key = 5", "has the unknown status 9"),
        ("UPDATE memory SET trust = 9 WHERE key = 5", "has the unknown trust 9"),
        ("UPDATE memory SET category = 99 WHERE key = 5", "has the unknown category 99"),
        ("UPDATE history SET actor = 9 WHERE seq = 5", "1 changes in the history have the unknown writer 9"),
        (
            "INSERT INTO injection VALUES ('s', 'm', 0, 0, 'shown', 0, '{}', ''); \
             INSERT INTO injected VALUES ('s', 'm', 'id', 1, 0, 0.5, '', 'praised')",
            "1 memories of the ledger have an unknown outcome",
        ),
    ] {
        let dir = prepared();
        change_rows(dir.path(), sql);
        let store = Store::open(dir.path(), true, BEGINNING).expect("a store");
        let problems = check::problems(&store.read().expect("a snapshot"), &Control::none()).expect("checked");
        assert!(problems.len() == 1 && problems[0].contains(problem), "{problems:?}");
    }
}

#[test]
fn reminder_with_a_damaged_interval_is_refused() {
    for days in [0, -1, i64::MAX, 1 << 55] {
        let dir = prepared();
        let set = format!("UPDATE memory SET remind_at = {BEGINNING} - 1, remind_every = {days} WHERE key = 5");
        change_rows(dir.path(), &set);
        let engine = open(dir.path());
        let id = &engine.due(&Scope::Everything, 1).expect("what is due")[0].id;
        let error = engine.advance_reminder(id, None).expect_err("no such interval");
        assert!(error.to_string().starts_with("remind_every: "), "{error}");
    }
}

#[test]
fn verification_that_waits_for_an_indexer_can_be_interrupted() {
    let dir = prepared();
    let _indexer = try_lock(dir.path()).expect("a lock").expect("no other process");
    let stop = Control { is_interrupted: &|| true, progress: &|_, _, _| {} };
    assert!(matches!(open(dir.path()).verify(&stop), Err(Error::Interrupted)));
}

#[test]
fn busy_store_is_not_damaged_and_stays_in_its_place() {
    let prepared = prepared();
    let (dir, backup) = (prepared.path(), prepared.path().join("backups/one.db"));
    open(dir).backup(&backup, &Control::none()).expect("a backup");
    let other = Connection::open(dir.join(FILE)).expect("a store");
    other
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; UPDATE kv SET updated_at = 1; COMMIT")
        .expect("a lock");
    assert!(std::fs::metadata(dir.join("store.db-wal")).expect("a WAL").len() > 0);
    let before = files(dir); // reading the files would release the locks of this process
    let busy = |error: Error| matches!(error, Error::Busy { .. });
    // Each wait would take long, so the caller ends it.
    assert!(answering(&|| true, || recovery::is_sound(dir, &Control::none())).is_err_and(busy));
    assert!(answering(&|| true, || recovery::first_damage(dir, &Control::none())).is_err_and(busy));
    assert!(answering(&|| true, || Store::open(dir, true, BEGINNING)).is_err_and(busy));
    let restored = answering(&|| true, || recovery::restore_beside(dir, &backup, BEGINNING, &Control::none()));
    assert!(restored.is_err_and(busy));
    let after = files(dir).into_iter().filter(|path| !path.ends_with("restore.lock"));
    assert_eq!(after.collect::<Vec<_>>(), before);
}

#[test]
fn journal_of_damaged_files_is_moved_aside_with_them() {
    let prepared = prepared();
    let (dir, backup) = (prepared.path(), prepared.path().join("backups/one.db"));
    open(dir).backup(&backup, &Control::none()).expect("a backup");
    std::fs::write(dir.join(FILE), b"ruined").expect("a file");
    // A journal that `SQLite` would apply to the restored file.
    let other = support::folder();
    let hot = other.path().join(FILE);
    let written = Connection::open(&hot).expect("a database");
    written
        .execute_batch(
            "PRAGMA cache_size = 2; CREATE TABLE t(x); BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
             WHERE i < 2000) INSERT INTO t SELECT hex(randomblob(250)) FROM n",
        )
        .expect("an open transaction");
    let journal = dir.join("store.db-journal");
    std::fs::copy(other.path().join("store.db-journal"), &journal).expect("a journal");
    let replaced = recovery::restore_beside(dir, &backup, BEGINNING, &Control::none()).expect("a restored backup");
    assert!(!journal.exists());
    assert!(replaced.aside.expect("a folder").join("store.db-journal").exists());
    support::assert_clean(&open(dir));
}
