//! Tests of damaged derived files (truncated, flipped, swapped, removed): answers stay correct, and a catch-up repairs
//! them.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::path::{Path, PathBuf};

use opencode_memory_core::Engine;
use opencode_memory_core::control::Control;
use opencode_memory_core::index::graph::snapshot;
use opencode_memory_core::index::lexical;

use support::files::{self, contents, copy, flip};
use support::{Random, assert_clean, assert_holds, catch_up, embed, found, near, open, rebuild, remember, text};

/// A directory with slightly outdated indexes: texts 0 to 64 without 3 and 4, of which 60 to 64 are in no index.
struct Prepared {
    dir: tempfile::TempDir,
}

impl Prepared {
    fn new() -> Self {
        let dir = support::folder();
        let engine = open(dir.path());
        let ids = remember(&engine, 0..50);
        embed(&engine);
        catch_up(&engine);
        remember(&engine, 50..60);
        engine.delete(&ids[4..5]).expect("a deletion");
        embed(&engine);
        catch_up(&engine);
        assert!(assert_clean(&engine).graph_vectors > 50);
        engine.delete(&ids[3..4]).expect("a deletion");
        remember(&engine, 60..65);
        embed(&engine);
        Self { dir }
    }

    fn numbers() -> impl Iterator<Item = usize> {
        (0..65).filter(|number| !matches!(number, 3 | 4))
    }

    /// Damage a copy of the directory. Check that all answers are correct and that a catch-up repairs the damage.
    fn check_damage(&self, what: &str, damage: impl FnOnce(&Path)) {
        eprintln!("{what}"); // Shown if the test fails or the process crashes.
        let case = support::folder();
        let dir = case.path().join("data");
        copy(self.dir.path(), &dir);
        damage(&dir);
        let engine = open(&dir);
        assert_holds(&engine, Self::numbers());
        assert!(engine.verify(&Control::none()).expect("a verification").store_problems.is_empty());
        remember(&engine, [70]);
        embed(&engine);
        catch_up(&engine);
        assert_holds(&engine, Self::numbers().chain([70]));
        let report = assert_clean(&engine);
        assert_eq!((report.lexical_documents, report.graph_vectors >= 64), (64, true), "{what}: {report:?}");
        let stats = engine.stats().expect("numbers");
        assert_eq!((stats.lexical_tail, stats.lexical_documents), (0, 64), "{what}: {stats:?}");
    }

    /// Paths of the derived files, relative to the directory.
    fn derived(&self) -> Vec<PathBuf> {
        let all = [lexical::folder(self.dir.path()), snapshot::folder(self.dir.path())];
        let all = all.iter().flat_map(|folder| files::files(folder));
        // Lock files have no content.
        let all = all.filter(|path| path.extension().is_none_or(|extension| extension != "lock"));
        all.map(|path| path.strip_prefix(self.dir.path()).expect("a path in the folder").to_owned()).collect()
    }
}

#[test]
fn i3_removed_indexes_lose_no_memory() {
    let prepared = Prepared::new();
    let remove = |folder: PathBuf| std::fs::remove_dir_all(folder).expect("a folder");
    prepared.check_damage("no lexical", |dir| remove(lexical::folder(dir)));
    prepared.check_damage("no vectors", |dir| remove(snapshot::folder(dir)));
    prepared.check_damage("neither", |dir| {
        remove(lexical::folder(dir));
        remove(snapshot::folder(dir));
    });
    for folder in [lexical::folder, snapshot::folder] {
        prepared.check_damage("an empty folder", |dir| {
            remove(folder(dir));
            std::fs::create_dir(folder(dir)).expect("a folder");
        });
        prepared.check_damage("a file in the place of the folder", |dir| {
            remove(folder(dir));
            std::fs::write(folder(dir), "no folder").expect("a file");
        });
    }
}

#[test]
fn missing_truncated_or_overwritten_index_file_changes_no_answer() {
    let prepared = Prepared::new();
    let mut random = Random(1);
    for file in prepared.derived() {
        let name = file.display();
        let length = std::fs::read(prepared.dir.path().join(&file)).expect("a file").len();
        prepared.check_damage(&format!("{name} gone"), |dir| std::fs::remove_file(dir.join(&file)).expect("a file"));
        for kept in [0, 1, 6, length / 2, length - 1] {
            prepared.check_damage(&format!("{name} cut to {kept} of {length}"), |dir| {
                let bytes = std::fs::read(dir.join(&file)).expect("a file");
                std::fs::write(dir.join(&file), &bytes[..kept.min(length)]).expect("a file");
            });
        }
        let garbage: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        prepared
            .check_damage(&format!("{name} garbage"), |dir| std::fs::write(dir.join(&file), garbage).expect("a file"));
        prepared.check_damage(&format!("{name} a folder"), |dir| {
            std::fs::remove_file(dir.join(&file)).expect("a file");
            std::fs::create_dir_all(dir.join(&file).join("inside")).expect("a folder");
        });
    }
}

#[test]
fn index_file_that_was_copied_over_another_one_changes_no_answer() {
    let prepared = Prepared::new();
    let derived = prepared.derived();
    for (number, file) in derived.iter().enumerate() {
        // The next file belongs to the same segment. The others are the same kind of file of other segments.
        let same_kind = derived.iter().filter(|other| *other != file && other.extension() == file.extension());
        for other in same_kind.chain([&derived[(number + 1) % derived.len()]]) {
            prepared.check_damage(&format!("{} over {}", other.display(), file.display()), |dir| {
                std::fs::copy(dir.join(other), dir.join(file)).expect("a copy");
            });
        }
    }
}

#[test]
fn flipped_bit_in_an_index_file_changes_no_answer() {
    let prepared = Prepared::new();
    let mut random = support::seed(2);
    for file in prepared.derived() {
        let length = std::fs::read(prepared.dir.path().join(&file)).expect("a file").len();
        // No other file contains a checksum of the small JSON files, so they get more flips.
        let flips = if file.extension().is_some_and(|extension| extension == "json") { 60 } else { 6 };
        let (mut left, begun) = (flips, std::time::Instant::now());
        while support::soaking(&mut left, begun) {
            let (offset, bit) = (random.below(length), random.below(8));
            prepared.check_damage(&format!("{} bit {bit} of byte {offset}", file.display()), |dir| {
                flip(&dir.join(&file), offset, bit)
            });
        }
    }
}

#[test]
fn i5_i8_graph_with_wrong_checksum_is_never_loaded() {
    let prepared = Prepared::new();
    let other = support::folder();
    let engine = open(other.path());
    remember(&engine, 100..160);
    embed(&engine);
    catch_up(&engine);
    drop(engine);
    let graph = |dir: &Path| {
        let manifest = snapshot::manifest(dir).expect("a manifest");
        snapshot::folder(dir).join(manifest.file)
    };
    // An intact graph of another store, under the name in our manifest.
    prepared.check_damage("swapped", |dir| {
        std::fs::copy(graph(other.path()), graph(dir)).expect("a copy");
        assert_eq!(open(dir).stats().expect("numbers").graph_vectors, 0);
        let problems = open(dir).verify(&Control::none()).expect("a verification").index_problems;
        assert!(problems.iter().any(|problem| problem.contains("checksum")), "{problems:?}");
    });
    // An intact manifest and graph of another store, with other vectors.
    prepared.check_damage("of another store", |dir| {
        std::fs::remove_dir_all(snapshot::folder(dir)).expect("a folder");
        copy(&snapshot::folder(other.path()), &snapshot::folder(dir));
    });
    prepared.check_damage("words of another store", |dir| {
        std::fs::remove_dir_all(lexical::folder(dir)).expect("a folder");
        copy(&lexical::folder(other.path()), &lexical::folder(dir));
    });
}

#[test]
fn manipulated_manifest_neither_escapes_its_folder_nor_blocks_repair() {
    let prepared = Prepared::new();
    let outside = support::folder();
    std::fs::write(outside.path().join("00000009.usearch"), "secret").expect("a file");
    let tampered = |name: &str, from: &str, to: &str| {
        prepared.check_damage(name, |dir| {
            let path = snapshot::manifest_file(dir);
            let manifest = std::fs::read_to_string(&path).expect("a manifest");
            assert!(manifest.contains(from), "{manifest}");
            std::fs::write(&path, manifest.replace(from, to)).expect("a manifest");
        });
    };
    let manifest = snapshot::manifest(prepared.dir.path()).expect("a manifest");
    let outside_file = outside.path().join("00000009.usearch");
    for target in ["../store.db", outside_file.to_str().expect("UTF-8"), "", ".", "../vectors/00000001.usearch"] {
        tampered(&format!("names {target:?}"), &manifest.file, target);
    }
    assert_eq!(std::fs::read(outside_file).expect("a file"), b"secret");
    let field = |name: &str, value: i64| format!("\"{name}\": {value}");
    let last = field("last_embedding", manifest.last_embedding);
    tampered("goes less far than the graph", &last, &field("last_embedding", 1));
    tampered("goes farther than the graph", &last, &field("last_embedding", manifest.last_embedding + 1_000));
    let vectors = manifest.vectors as i64;
    tampered("counts more", &field("vectors", vectors), &field("vectors", vectors + 1));
    tampered("has longer vectors", "\"dimension\": 16", "\"dimension\": 17");
    tampered("has another mark", &field("nonce", manifest.head.nonce), &field("nonce", 1));
}

#[test]
fn rebuild_replaces_indexes_of_any_content() {
    let prepared = Prepared::new();
    let engine = open(prepared.dir.path());
    for folder in [lexical::folder, snapshot::folder] {
        let folder = folder(prepared.dir.path());
        for (path, bytes) in contents(&folder) {
            std::fs::write(&path, vec![7; bytes.len()]).expect("a file");
        }
        std::fs::write(folder.join("foreign"), "not ours").expect("a file");
    }
    drop(engine);
    let engine: Engine = open(prepared.dir.path());
    rebuild(&engine);
    assert_clean(&engine);
    assert_holds(&engine, Prepared::numbers());
    assert_eq!(found(&engine, &near(&text(3))).iter().filter(|content| **content == text(3)).count(), 0);
}
