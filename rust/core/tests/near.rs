//! Tests of near duplicates, found by a scan, by the graph, and outside of the graph.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::collections::BTreeSet;

use opencode_memory_core::Engine;
use opencode_memory_core::control::Control;
use opencode_memory_core::model::{NewMemory, Scope, Selection};
use opencode_memory_core::store::embedding::Chunk;

use support::{MODEL, Random, open};

/// Number of directions of the vectors. Vectors of one direction are near duplicates of each other.
const GROUPS: usize = 60;

fn around(group: usize, copy: usize) -> Vec<f32> {
    let centre = support::vector(&format!("group {group}"));
    let mut random = Random((group * 1000 + copy) as u64);
    let moved: Vec<f32> =
        centre.iter().map(|value| value + 0.02 * (random.next() as f32 / u64::MAX as f32 - 0.5)).collect();
    let length = moved.iter().map(|value| value * value).sum::<f32>().sqrt();
    moved.into_iter().map(|value| value / length).collect()
}

/// Write one copy of every group to a project, with its vector.
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
        .map(|(group, one)| (one.key, vec![Chunk { vector: Some(around(group, copy).into()), text: one.text }]))
        .collect();
    assert_eq!(chunks.len(), GROUPS);
    engine.store_embeddings(MODEL, &chunks).expect("stored");
}

fn compare(engine: &Engine) {
    while engine.compare_new().expect("compared") > 0 {}
}

/// Linked pairs in a project, by the words for group and copy.
fn linked_pairs(engine: &Engine, project: &str) -> BTreeSet<(String, String)> {
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

/// All pairs of copies of a group.
fn expected_pairs(copies: usize) -> BTreeSet<(String, String)> {
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
fn small_store_finds_near_duplicates_by_a_scan() {
    let dir = support::folder();
    let engine = open(dir.path());
    write(&engine, "app", 0);
    compare(&engine);
    write(&engine, "app", 1);
    compare(&engine);
    assert_eq!(linked_pairs(&engine, "app"), expected_pairs(2));
}

/// Write two copies of each group to each project, and compare them.
fn write_both(engine: &Engine) {
    for copy in 0..2 {
        write(engine, "app", copy);
        write(engine, "web", copy);
    }
    compare(engine);
}

#[test]
fn large_store_finds_near_duplicates_of_the_project_in_graph_and_tail() {
    let dir = support::folder();
    let engine = open(dir.path());
    write_both(&engine);
    // The graph contains all vectors up to here. Later vectors are outside of the graph.
    engine.catch_up(&Control::none()).expect("caught up");
    let stats = engine.stats().expect("stats");
    // The same text in two projects has one embedding.
    assert_eq!((stats.graph_vectors, stats.vectors), (2 * GROUPS, 4 * GROUPS));
    write(&engine, "app", 2);
    write(&engine, "app", 3);
    compare(&engine);
    assert_eq!(linked_pairs(&engine, "app"), expected_pairs(4));
    assert_eq!(linked_pairs(&engine, "web"), expected_pairs(2));
}

#[test]
fn more_copies_than_the_graph_proposes_do_not_hide_the_project_s_own() {
    let dir = support::folder();
    let engine = open(dir.path());
    write(&engine, "app", 0);
    // Each group has more near copies in the other project than the graph proposes.
    for copy in 10..80 {
        write(&engine, "web", copy);
    }
    compare(&engine);
    write(&engine, "app", 80);
    engine.catch_up(&Control::none()).expect("caught up");
    // The store is large enough to use the graph.
    assert!(engine.stats().expect("stats").graph_vectors > 70 * GROUPS);
    compare(&engine);
    let pairs = linked_pairs(&engine, "app");
    assert_eq!(pairs.len(), GROUPS, "each memory must be linked to its one copy");
}

#[test]
fn deleted_memory_of_the_graph_is_no_near_copy() {
    let dir = support::folder();
    let engine = open(dir.path());
    write_both(&engine);
    engine.catch_up(&Control::none()).expect("caught up");
    let web = Selection::of(Scope::Project { name: "web".into(), with_global: false });
    let deleted = engine.list(&web, GROUPS, 0, None).expect("a list").into_iter().map(|memory| memory.id);
    engine.delete(&deleted.collect::<Vec<_>>()).expect("deleted");
    write(&engine, "app", 2);
    compare(&engine);
    assert_eq!(linked_pairs(&engine, "app"), expected_pairs(3));
}
