//! Derived files that were cut, flipped, swapped or removed cost time and never answers; the next catch-up makes them anew.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::path::{Path, PathBuf};

use opencode_memory_core::Engine;
use opencode_memory_core::index::{lexical, snapshot};

use support::files::{self, contents, copy, flip};
use support::{Random, assert_clean, assert_holds, catch_up, embed, found, near, open, rebuild, remember, text};

/// A directory whose indexes lag a little behind: texts 0 to 64 without 3, of which 60 to 64 are in no index.
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

    /// A copy of it, in which `damage` is done before anybody looks: every answer is right, a catch-up repairs it.
    fn damaged(&self, what: &str, damage: impl FnOnce(&Path)) {
        eprintln!("{what}"); // shown when the test fails, or dies
        let case = support::folder();
        let dir = case.path().join("data");
        copy(self.dir.path(), &dir);
        damage(&dir);
        let engine = open(&dir);
        assert_holds(&engine, Self::numbers());
        assert!(engine.verify().expect("a verification").store_problems.is_empty());
        remember(&engine, [70]);
        embed(&engine);
        catch_up(&engine);
        assert_holds(&engine, Self::numbers().chain([70]));
        let report = assert_clean(&engine);
        assert_eq!((report.lexical_documents, report.graph_vectors >= 64), (64, true), "{what}: {report:?}");
        let stats = engine.stats().expect("numbers");
        assert_eq!((stats.lexical_tail, stats.lexical_documents), (0, 64), "{what}: {stats:?}");
    }

    /// The derived files, by their names under the directory.
    fn derived(&self) -> Vec<PathBuf> {
        let all = [lexical::folder(self.dir.path()), snapshot::folder(self.dir.path())];
        let all = all.iter().flat_map(|folder| files::files(folder));
        // Locks hold nothing.
        let all = all.filter(|path| path.extension().is_none_or(|extension| extension != "lock"));
        all.map(|path| path.strip_prefix(self.dir.path()).expect("a path in the folder").to_owned()).collect()
    }
}

#[test]
fn i3_without_lexical_and_vectors_nothing_is_lost() {
    let prepared = Prepared::new();
    let remove = |folder: PathBuf| std::fs::remove_dir_all(folder).expect("a folder");
    prepared.damaged("no lexical", |dir| remove(lexical::folder(dir)));
    prepared.damaged("no vectors", |dir| remove(snapshot::folder(dir)));
    prepared.damaged("neither", |dir| {
        remove(lexical::folder(dir));
        remove(snapshot::folder(dir));
    });
    for folder in [lexical::folder, snapshot::folder] {
        prepared.damaged("an empty folder", |dir| {
            remove(folder(dir));
            std::fs::create_dir(folder(dir)).expect("a folder");
        });
        prepared.damaged("a file in the place of the folder", |dir| {
            remove(folder(dir));
            std::fs::write(folder(dir), "no folder").expect("a file");
        });
    }
}

#[test]
fn a_derived_file_that_is_gone_cut_or_garbage_changes_no_answer() {
    let prepared = Prepared::new();
    let mut random = Random(1);
    for file in prepared.derived() {
        let name = file.display();
        let length = std::fs::read(prepared.dir.path().join(&file)).expect("a file").len();
        prepared.damaged(&format!("{name} gone"), |dir| std::fs::remove_file(dir.join(&file)).expect("a file"));
        for kept in [0, 1, 6, length / 2, length - 1] {
            prepared.damaged(&format!("{name} cut to {kept} of {length}"), |dir| {
                let bytes = std::fs::read(dir.join(&file)).expect("a file");
                std::fs::write(dir.join(&file), &bytes[..kept.min(length)]).expect("a file");
            });
        }
        let garbage: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        prepared.damaged(&format!("{name} garbage"), |dir| std::fs::write(dir.join(&file), garbage).expect("a file"));
        prepared.damaged(&format!("{name} a folder"), |dir| {
            std::fs::remove_file(dir.join(&file)).expect("a file");
            std::fs::create_dir_all(dir.join(&file).join("inside")).expect("a folder");
        });
    }
}

#[test]
fn a_flipped_bit_in_a_derived_file_changes_no_answer() {
    let prepared = Prepared::new();
    let mut random = support::seed(2);
    for file in prepared.derived() {
        let length = std::fs::read(prepared.dir.path().join(&file)).expect("a file").len();
        // The small files that say what the large ones are have no checksum of somebody else's: they get more flips.
        let flips = if file.extension().is_some_and(|extension| extension == "json") { 60 } else { 6 };
        let (mut left, begun) = (flips, std::time::Instant::now());
        while support::soaking(&mut left, begun) {
            let (offset, bit) = (random.below(length), random.below(8));
            prepared.damaged(&format!("{} bit {bit} of byte {offset}", file.display()), |dir| {
                flip(&dir.join(&file), offset, bit)
            });
        }
    }
}

#[test]
fn i5_i8_a_graph_that_is_not_the_one_that_was_written_is_never_loaded() {
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
    // A sound graph of another store, under the name that our manifest has.
    prepared.damaged("swapped", |dir| {
        std::fs::copy(graph(other.path()), graph(dir)).expect("a copy");
        assert_eq!(open(dir).stats().expect("numbers").graph_vectors, 0);
        let problems = open(dir).verify().expect("a verification").index_problems;
        assert!(problems.iter().any(|problem| problem.contains("checksum")), "{problems:?}");
    });
    // Another store's manifest with its graph: both are sound, and about other vectors.
    prepared.damaged("of another store", |dir| {
        std::fs::remove_dir_all(snapshot::folder(dir)).expect("a folder");
        copy(&snapshot::folder(other.path()), &snapshot::folder(dir));
    });
    prepared.damaged("words of another store", |dir| {
        std::fs::remove_dir_all(lexical::folder(dir)).expect("a folder");
        copy(&lexical::folder(other.path()), &lexical::folder(dir));
    });
}

#[test]
fn a_manifest_cannot_lead_out_of_its_folder_or_into_a_dead_end() {
    let prepared = Prepared::new();
    let outside = support::folder();
    std::fs::write(outside.path().join("00000009.usearch"), "secret").expect("a file");
    let tampered = |name: &str, from: &str, to: &str| {
        prepared.damaged(name, |dir| {
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
fn a_rebuild_makes_everything_anew_whatever_was_there() {
    let prepared = Prepared::new();
    let engine = open(prepared.dir.path());
    for folder in [lexical::folder, snapshot::folder] {
        let folder = folder(prepared.dir.path());
        for (path, bytes) in contents(&folder) {
            std::fs::write(&path, vec![7; bytes.len()]).expect("a file");
        }
        std::fs::write(folder.join("stranger"), "not ours").expect("a file");
    }
    drop(engine);
    let engine: Engine = open(prepared.dir.path());
    rebuild(&engine);
    assert_clean(&engine);
    assert_holds(&engine, Prepared::numbers());
    assert_eq!(found(&engine, &near(&text(3))).iter().filter(|content| **content == text(3)).count(), 0);
}
