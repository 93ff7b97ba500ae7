//! A purge erases the words of a text from the lexical index, other processes keep an index meanwhile, and the end of one
//! purge does not hide that another has not ended.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use opencode_memory_core::control::Control;
use opencode_memory_core::index::bm25::TermField;
use opencode_memory_core::index::graph::snapshot;
use opencode_memory_core::index::lexical::{self, Lexical};
use opencode_memory_core::model::{NewMemory, Trust};
use opencode_memory_core::store::{Store, purge};
use opencode_memory_core::{Clock, Engine, Options};

use support::{
    BEGINNING, assert_clean, catch_up, embed, files, found, near, open, open_with, question, remember, text, word,
};

const SIZE: usize = 3_000;
/// A word of only one text.
const SECRET: &str = "qyvuwopel";

/// Options under which the indexes have many texts per segment, and no graph.
fn options() -> Options {
    Options { graph_from: 100_000, ..support::options() }
}

/// A store with a full-text index, and the id of its only text with [`SECRET`].
fn create_store(dir: &Path) -> (Engine, String) {
    let engine = open_with(dir, options());
    remember(&engine, 1..SIZE);
    let id = engine.remember(NewMemory::new(format!("The {SECRET} opens the shelf"))).expect("a write").id;
    catch_up(&engine);
    assert!(is_indexed(dir));
    (engine, id)
}

/// Whether the index on disk has the word in its lists of terms. They are compressed, so a search in the bytes of the
/// files would not find it.
fn is_indexed(dir: &Path) -> bool {
    let Some(index) = Lexical::open(dir) else { return false };
    let documents = |field| index.occurrences(field, SECRET).expect("a look-up").documents();
    [TermField::Prose, TermField::Identifier].into_iter().any(|field| documents(field) > 0)
}

/// Files of an index that are not the list of its segments. They keep their content as long as they exist.
fn segment_files(dir: &Path) -> Vec<PathBuf> {
    let found = files::files(&lexical::folder(dir));
    found.into_iter().filter(|path| path.extension().is_some_and(|extension| extension != "json")).collect()
}

#[test]
fn other_process_reads_the_former_index_until_the_new_one_is_complete() {
    let dir = support::folder();
    let (engine, id) = create_store(dir.path());
    let other = open_with(dir.path(), options());
    let seen = Mutex::new(Vec::new());
    let progress = |stage: &'static str, _: usize, _: usize| {
        if stage == "words" {
            let stats = other.stats().expect("numbers");
            seen.lock().unwrap().push((stats.lexical_documents, stats.lexical_tail));
            assert!(found(&other, &question(SECRET)).is_empty());
            assert_eq!(found(&other, &question(&word(SIZE - 1))), [text(SIZE - 1)]);
        }
    };
    let report = engine.purge(&[id], &Control { is_interrupted: &|| false, progress: &progress }).expect("a purge");
    assert!(report.problems.is_empty(), "{report:?}");
    let seen = seen.into_inner().unwrap();
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|numbers| *numbers == (SIZE, 0)), "documents and texts outside of the index: {seen:?}");
    for engine in [&engine, &other] {
        let stats = engine.stats().expect("numbers");
        assert_eq!((stats.lexical_documents, stats.lexical_tail), (SIZE - 1, 0));
        assert_clean(engine);
    }
}

#[test]
fn purge_leaves_no_file_of_the_former_index_while_another_process_reads_it() {
    let dir = support::folder();
    let (engine, id) = create_store(dir.path());
    embed(&engine);
    let other = open_with(dir.path(), options());
    assert_eq!(found(&other, &question(SECRET)).len(), 1);
    // A file that tantivy does not know, for example of a commit that was killed.
    std::fs::write(lexical::folder(dir.path()).join("unknown.term"), SECRET).expect("a file");
    let former = segment_files(dir.path());
    let report = engine.purge(&[id], &Control::none()).expect("a purge");
    assert!(report.problems.is_empty(), "{report:?}");
    let left = segment_files(dir.path());
    assert!(!left.is_empty() && left.iter().all(|path| !former.contains(path)), "{former:?} {left:?}");
    assert!(!is_indexed(dir.path()));
}

#[test]
fn purge_that_is_interrupted_leaves_no_index() {
    let dir = support::folder();
    let (engine, id) = create_store(dir.path());
    let report = engine.purge(&[id], &Control { is_interrupted: &|| true, progress: &|_, _, _| {} }).expect("a purge");
    // Neither free pages nor indexes were cleaned.
    assert_eq!(report.problems.len(), 2, "{report:?}");
    assert!(segment_files(dir.path()).is_empty());
    drop(engine);
    assert_eq!(found(&open(dir.path()), &question(&word(SIZE - 1))), [text(SIZE - 1)]);
}

/// A store with a graph, and the ids of its texts.
fn create_store_with_graph(dir: &Path) -> (Engine, Vec<String>) {
    let engine = open(dir);
    let ids = remember(&engine, 0..50);
    embed(&engine);
    catch_up(&engine);
    (engine, ids)
}

/// The files of the graph, without its manifest.
fn graph_files(dir: &Path) -> Vec<PathBuf> {
    let found = files::files(&snapshot::folder(dir));
    found.into_iter().filter(|path| *path != snapshot::manifest_file(dir)).collect()
}

#[test]
fn other_process_uses_the_former_graph_until_the_new_one_is_complete() {
    let dir = support::folder();
    let (engine, ids) = create_store_with_graph(dir.path());
    let former = graph_files(dir.path());
    assert_eq!(former.len(), 1);
    let other = open(dir.path());
    let seen = Mutex::new(Vec::new());
    let progress = |stage: &'static str, _: usize, _: usize| {
        if stage == "vectors" {
            seen.lock().unwrap().push(other.stats().expect("numbers").graph_vectors);
            assert!(!found(&other, &near(&text(7))).contains(&text(7)));
        }
    };
    let control = Control { is_interrupted: &|| false, progress: &progress };
    let report = engine.purge(&ids[7..8], &control).expect("a purge");
    assert!(report.problems.is_empty(), "{report:?}");
    assert_eq!(seen.into_inner().unwrap(), [50]);
    let left = graph_files(dir.path());
    assert!(left.len() == 1 && left != former, "the vector of the purged text stays: {left:?}");
    for engine in [&engine, &other] {
        assert_eq!(engine.stats().expect("numbers").graph_vectors, 49);
        assert_clean(engine);
    }
}

#[test]
fn purge_that_is_interrupted_leaves_no_graph() {
    let dir = support::folder();
    let (engine, ids) = create_store_with_graph(dir.path());
    let at_graph = AtomicBool::new(false);
    let is_interrupted = || at_graph.load(Ordering::SeqCst);
    let progress = |stage: &'static str, _: usize, _: usize| at_graph.store(stage == "words", Ordering::SeqCst);
    let control = Control { is_interrupted: &is_interrupted, progress: &progress };
    let report = engine.purge(&ids[..1], &control).expect("a purge");
    assert_eq!(report.problems.len(), 1, "{report:?}");
    assert_eq!(graph_files(dir.path()), [] as [PathBuf; 0]);
}

#[test]
fn purge_that_is_interrupted_anywhere_leaves_no_former_graph() {
    for is_damaged in [false, true] {
        let dir = support::folder();
        let (engine, ids) = create_store_with_graph(dir.path());
        let mut interrupted = 0;
        for (questions, id) in ids.iter().enumerate() {
            catch_up(&engine);
            let former = graph_files(dir.path());
            assert_eq!(former.len(), 1);
            if is_damaged {
                std::fs::write(lexical::meta_file(dir.path()), b"ruined").expect("a file");
            }
            let asked = AtomicUsize::new(0);
            let is_interrupted = || asked.fetch_add(1, Ordering::SeqCst) >= questions;
            let control = Control { is_interrupted: &is_interrupted, progress: &|_, _, _| {} };
            let report = engine.purge(std::slice::from_ref(id), &control).expect("a purge");
            let left = graph_files(dir.path());
            assert!(former.iter().all(|path| !left.contains(path)), "{questions} {is_damaged}: {report:?}");
            if report.problems.is_empty() {
                break;
            }
            interrupted += 1;
        }
        assert!((3..ids.len()).contains(&interrupted), "{interrupted}");
    }
}

#[test]
fn purge_that_ends_leaves_the_mark_of_one_that_began_meanwhile() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..4);
    let other = Store::open(dir.path(), false, BEGINNING).expect("the store");
    let is_erased = AtomicBool::new(false);
    // The other process erases its rows after the first purge has cleaned the file, and is killed then.
    let erase_once = || {
        if !is_erased.swap(true, Ordering::SeqCst) {
            let erased = other.write(&Clock::fixed(BEGINNING), Trust::User, |write| write.erase(&ids[1..2]));
            assert_eq!(erased.expect("erased"), 1);
        }
        false
    };
    let control = Control { is_interrupted: &erase_once, progress: &|_, _, _| {} };
    let report = engine.purge(&ids[..1], &control).expect("a purge");
    assert!(is_erased.load(Ordering::SeqCst) && report.problems.is_empty(), "{:?}", report.problems);
    let unfinished = || purge::unfinished(&other.read().expect("a snapshot")).expect("a mark");
    assert!(unfinished().is_some(), "the maintenance would not look for the text of the other purge");
    engine.maintain().expect("maintained");
    assert_eq!(unfinished(), None);
}

#[test]
fn purge_names_incomplete_copies_and_damaged_files_beside_the_store() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..2);
    let backup = dir.path().join("backups/noted.db");
    engine.backup(&backup, &Control::none()).expect("a backup");
    std::fs::rename(&backup, dir.path().join("backups/noted.db.partial")).expect("an incomplete backup");
    let left = [
        "backups/noted.db.partial-journal",
        "backups/noted.db.partial",
        "backups/format-1.db.77.partial",
        "backups/format-1.db.77.partial-journal",
        "damaged-1",
        "migrating",
        "restoring",
    ];
    for file in [left[0], left[2], left[3]] {
        std::fs::write(dir.path().join(file), b"begun").expect("a file");
    }
    for folder in &left[4..] {
        std::fs::create_dir(dir.path().join(folder)).expect("a folder");
    }
    let report = engine.purge(&ids[..1], &Control::none()).expect("a purge");
    let named: Vec<_> =
        report.problems.iter().map(|problem| problem.split(" may contain it; ").next().unwrap()).collect();
    assert_eq!(named, left.map(|name| dir.path().join(name).display().to_string()));
    let found: Vec<_> = engine.leftovers().expect("leftovers").into_iter().map(|(path, _)| path).collect();
    assert_eq!(found, left.map(|name| dir.path().join(name)));
    for path in files::files(dir.path()).iter().filter(|path| path.to_string_lossy().contains(".partial")) {
        std::fs::remove_file(path).expect("deleted");
    }
    for folder in &left[4..] {
        std::fs::remove_dir_all(dir.path().join(folder)).expect("deleted");
    }
    assert_eq!(engine.purge(&ids[1..], &Control::none()).expect("a purge").problems, Vec::<String>::new());
}

#[test]
fn backup_under_the_name_of_one_that_was_killed_removes_its_journal() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..2);
    let target = dir.path().join("backups/again.db");
    std::fs::create_dir(dir.path().join("backups")).expect("a folder");
    for left in ["backups/again.db.partial", "backups/again.db.partial-journal"] {
        std::fs::write(dir.path().join(left), b"begun").expect("a file");
    }
    engine.backup(&target, &Control::none()).expect("a backup");
    assert_eq!(files::files(&dir.path().join("backups")), [target]);
}
