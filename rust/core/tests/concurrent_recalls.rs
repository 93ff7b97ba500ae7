//! Tests of concurrent recalls from threads and processes while the indexes are replaced: no recall fails or is wrong.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use opencode_memory_core::model::NewMemory;
use opencode_memory_core::model::query::{RecallRequest, Scope, Selection};
use opencode_memory_core::store::project::Identity;
use opencode_memory_core::{Engine, Options};

use support::child::{self, listen, say, task};
use support::{Random, catch_up, embed, near, open_with, rebuild, remember, text};

/// Number of recalls per thread.
const RECALLS: usize = 25;
/// Numbers of concurrent threads.
const THREADS: [usize; 5] = [1, 2, 3, 8, 32];

fn options() -> Options {
    Options { background: false, ..Options::default() }
}

/// Project of a memory. The three projects have a half, a quarter and a quarter of the store.
fn project_of(number: usize) -> usize {
    [0, 1, 0, 2][number % 4]
}

/// Create a store of `size` memories with vectors in three projects, with all indexes.
fn create_store(dir: &Path, size: usize) -> Engine {
    let engine = open_with(dir, options());
    let names = (0..3).map(|number| {
        let folder = Some(format!("/project{number}"));
        let identity = Identity { remotes: vec![], root_commits: vec![], folder };
        engine.resolve_project(&identity, true).expect("a project").expect("its name")
    });
    let names: Vec<String> = names.collect();
    for start in (0..size).step_by(5_000) {
        let memories = (start..size.min(start + 5_000)).map(|number| NewMemory {
            project: Some(names[project_of(number)].clone()),
            ..NewMemory::new(text(number))
        });
        engine.remember_many(memories.collect()).expect("a write");
    }
    embed(&engine);
    rebuild(&engine);
    engine
}

/// Recall texts by their own vectors, with and without a filter. Return how many of them were ranked first.
fn recall_some(engine: &Engine, size: usize, seed: usize) -> usize {
    let names: Vec<String> = engine.projects().expect("projects").into_iter().map(|project| project.name).collect();
    let mut random = Random(seed as u64);
    let mut first = 0;
    for round in 0..RECALLS {
        let number = random.below(size);
        let scope = match round % 2 {
            0 => Scope::Everything,
            _ => Scope::Project { name: names[project_of(number)].clone(), with_global: false },
        };
        let selection = Selection::of(scope.clone());
        let hits = engine
            .recall(RecallRequest { limit: 10, selection, ..near(&text(number)) })
            .unwrap_or_else(|error| panic!("recall {round} of thread {seed} in {scope:?}: {error}"));
        assert!(!hits.is_empty(), "recall {round} of thread {seed} in {scope:?}");
        if let Scope::Project { name, .. } = scope {
            assert!(hits.iter().all(|hit| hit.memory.project.as_ref() == Some(&name)));
        }
        first += usize::from(hits[0].memory.content == text(number));
    }
    first
}

/// Recall from `threads` threads. Return the share of texts that were ranked first.
fn recall_at_once(engine: &Engine, size: usize, threads: usize) -> f64 {
    let first = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for seed in 0..threads {
            let first = &first;
            scope.spawn(move || first.fetch_add(recall_some(engine, size, seed), Ordering::Relaxed));
        }
    });
    first.into_inner() as f64 / (threads * RECALLS) as f64
}

#[test]
#[ignore = "run as child processes by the other tests"]
fn child() {
    let Some((dir, words)) = task() else { return };
    let size: usize = words[0].parse().expect("a number");
    let engine = open_with(&dir, options());
    say("ready");
    while listen().is_some_and(|word| word == "recall") {
        let share = recall_at_once(&engine, size, 8);
        say(if share > 0.95 { "found" } else { "missed" });
    }
}

struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Recall from 1 to 32 threads and from three processes while another engine replaces the indexes.
fn no_recall_fails(size: usize) {
    let dir = support::folder();
    let engine = create_store(dir.path(), size);
    let indexer = open_with(dir.path(), options());
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Stop the indexer even if an assertion below fails. Otherwise the scope would wait for the indexer forever.
        let _end = EndOnDrop(&ended);
        scope.spawn(|| {
            let mut added = 0;
            while !ended.load(Ordering::Relaxed) || added == 0 {
                // Extending also writes a new generation and is fast enough to happen often.
                remember(&indexer, [size + added]);
                embed(&indexer);
                catch_up(&indexer);
                added += 1;
            }
        });
        for threads in THREADS {
            let share = recall_at_once(&engine, size, threads);
            assert!(share > 0.95, "{threads} threads found {share} of the texts first");
        }
        let mut children: Vec<_> = (0..3).map(|_| child::start(dir.path(), &[&size.to_string()])).collect();
        children.iter_mut().for_each(|child| child.expect("ready"));
        children.iter_mut().for_each(|child| child.tell("recall"));
        children.iter_mut().for_each(|child| child.expect("found"));
        children.iter_mut().for_each(|child| child.tell("stop"));
        children.iter_mut().for_each(child::Child::assert_done);
    });
    assert!(engine.stats().expect("numbers").graph_vectors > size, "the graph was replaced");
}

#[test]
fn no_recall_fails_among_8_000_memories() {
    no_recall_fails(8_000);
}

#[test]
fn no_recall_fails_among_30_000_memories() {
    no_recall_fails(30_000);
}

#[test]
fn no_recall_fails_among_100_000_memories() {
    no_recall_fails(100_000);
}
