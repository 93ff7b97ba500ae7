//! Near duplicates are found whichever way the store looks for them: all rows at once, by the graph, or in its tail.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::collections::BTreeSet;

use opencode_memory_core::Engine;
use opencode_memory_core::index::catch_up::Control;
use opencode_memory_core::model::{NewMemory, Scope, Selection};
use opencode_memory_core::store::embedding::Chunk;

use support::{MODEL, Random, open};

/// Directions around which vectors lie; those around one are near duplicates of each other.
const GROUPS: usize = 60;

fn around(group: usize, copy: usize) -> Vec<f32> {
    let centre = support::vector(&format!("group {group}"));
    let mut random = Random((group * 1000 + copy) as u64);
    let moved: Vec<f32> =
        centre.iter().map(|value| value + 0.02 * (random.next() as f32 / u64::MAX as f32 - 0.5)).collect();
    let length = moved.iter().map(|value| value * value).sum::<f32>().sqrt();
    moved.into_iter().map(|value| value / length).collect()
}

/// Write one copy of every group into a project and give each its vector.
fn write(engine: &Engine, project: &str, copy: usize) {
    let content = |group: usize| format!("Statement {} {}", support::word(group), support::word(1000 + copy));
    let given = (0..GROUPS)
        .map(|group| NewMemory { project: Some(project.into()), ..NewMemory::new(content(group)) })
        .collect();
    engine.remember_many(given).expect("a write");
    engine.activate_model(MODEL, support::DIMENSION).expect("a model");
    let pending = engine.pending_embeddings(0, 10_000).expect("what waits");
    let chunks: Vec<(i64, Vec<Chunk>)> = pending
        .into_iter()
        .enumerate()
        .map(|(group, one)| (one.key, vec![Chunk { vector: Some(around(group, copy)), text: one.text }]))
        .collect();
    assert_eq!(chunks.len(), GROUPS);
    engine.store_embeddings(MODEL, &chunks).expect("stored");
}

fn compare(engine: &Engine) {
    while engine.compare_new().expect("compared") > 0 {}
}

/// The pairs that are linked in a project, by the words that name group and copy.
fn linked(engine: &Engine, project: &str) -> BTreeSet<(String, String)> {
    let selection = Selection::of(Scope::Project { name: project.into(), with_global: false });
    let links = engine.links(&selection, &["similar".into()], 100_000).expect("links");
    let text = |id: &str| engine.get(id).expect("a memory").content.replace("Statement ", "");
    links
        .into_iter()
        .map(|link| {
            let (a, b) = (text(&link.source), text(&link.target));
            if a < b { (a, b) } else { (b, a) }
        })
        .collect()
}

/// Every two copies of one group.
fn expected(copies: usize) -> BTreeSet<(String, String)> {
    let mut pairs = BTreeSet::new();
    for group in 0..GROUPS {
        for a in 0..copies {
            for b in 0..a {
                let text = |copy: usize| format!("{} {}", support::word(group), support::word(1000 + copy));
                let (a, b) = (text(a), text(b));
                pairs.insert(if a < b { (a, b) } else { (b, a) });
            }
        }
    }
    pairs
}

#[test]
fn a_small_store_finds_them_by_passing_over_its_rows() {
    let dir = support::folder();
    let engine = open(dir.path());
    write(&engine, "app", 0);
    compare(&engine);
    write(&engine, "app", 1);
    compare(&engine);
    assert_eq!(linked(&engine, "app"), expected(2));
}

#[test]
fn a_large_store_finds_them_by_the_graph_and_in_its_tail_and_never_in_another_project() {
    let dir = support::folder();
    let engine = open(dir.path());
    for copy in 0..2 {
        write(&engine, "app", copy);
        write(&engine, "web", copy);
    }
    compare(&engine);
    // From here on the graph holds what there is, and what comes is its tail.
    engine.catch_up(&Control::none()).expect("caught up");
    let stats = engine.stats().expect("stats");
    // The same text in two projects has one vector.
    assert_eq!((stats.graph_vectors, stats.vectors), (2 * GROUPS, 4 * GROUPS));
    write(&engine, "app", 2);
    write(&engine, "app", 3);
    compare(&engine);
    assert_eq!(linked(&engine, "app"), expected(4));
    assert_eq!(linked(&engine, "web"), expected(2));
}

#[test]
fn more_copies_than_the_graph_proposes_do_not_hide_those_of_the_own_project() {
    let dir = support::folder();
    let engine = open(dir.path());
    write(&engine, "app", 0);
    // Each group has more near copies elsewhere than the graph names.
    for copy in 10..80 {
        write(&engine, "web", copy);
    }
    compare(&engine);
    write(&engine, "app", 80);
    engine.catch_up(&Control::none()).expect("caught up");
    // The project is large enough to go by the graph.
    assert!(engine.stats().expect("stats").graph_vectors > 70 * GROUPS);
    compare(&engine);
    let pairs = linked(&engine, "app");
    assert_eq!(pairs.len(), GROUPS, "each finds its one copy");
}
