//! Tests of long scans: the rough preselection must not change the result of the exact comparison.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use half::f16;
use opencode_memory_core::model::query::{RecallRequest, Scope, Selection};
use opencode_memory_core::model::{Category, NewMemory};
use opencode_memory_core::store::embedding::Chunk;
use opencode_memory_core::store::project::Identity;
use opencode_memory_core::{Engine, Options};

use support::{DIMENSION, MODEL, embed, near, open_with, options, remember, text, vector};

/// Vector of a text, rounded as in the store.
fn stored(text: &str) -> Vec<f32> {
    vector(text).into_iter().map(|value| f16::from_f32(value).to_f32()).collect()
}

#[test]
fn long_scan_equals_exact_comparison_of_all_vectors() {
    check_scan(3_000, 40);
}

#[test]
fn scan_of_all_listed_rows_equals_exact_comparison() {
    check_scan(20_000, 10);
}

/// Compare the answers of a store of `count` memories with an exact comparison.
fn check_scan(count: usize, questions: usize) {
    let dir = support::folder();
    let engine = open_with(dir.path(), Options { graph_from: 100_000, ..options() });
    for name in ["one", "two", "three"] {
        let identity = Identity { remotes: vec![], root_commits: vec![], folder: Some(format!("/{name}")) };
        engine.resolve_project(&identity, true).expect("a project");
    }
    let projects = engine.projects().expect("projects");
    // First one project after another, then mixed, so that the slots of a project are in several runs.
    let memories = (0..count)
        .map(|number| NewMemory {
            project: Some(
                projects[if number < count / 2 { (number / (count / 6)).min(2) } else { number % 3 }].name.clone(),
            ),
            ..NewMemory::new(text(number))
        })
        .collect::<Vec<_>>();
    let project_of: Vec<_> = memories.iter().map(|memory| memory.project.clone()).collect();
    engine.remember_many(memories).expect("a write");
    embed(&engine);
    for number in 0..questions {
        let query = vector(&format!("question {number}"));
        let scope = match number % 2 {
            0 => Scope::Everything,
            _ => Scope::Project { name: projects[number % 3].name.clone(), with_global: true },
        };
        let mut exact: Vec<(f32, String)> = (0..count)
            .filter(|memory| {
                scope == Scope::Everything || project_of[*memory].as_ref() == Some(&projects[number % 3].name)
            })
            .map(|memory| (query.iter().zip(stored(&text(memory))).map(|(a, b)| a * b).sum(), text(memory)))
            .collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let selection = Selection::of(scope);
        let request = RecallRequest { vector: Some(support::query_vector(query)), selection, limit: 10, ..near("") };
        let found = support::found(&engine, &request);
        let expected: Vec<String> = exact.into_iter().take(10).map(|(_, content)| content).collect();
        assert_eq!(found, expected, "question {number}");
    }
}

/// Numbers of memories, of which one of three is an event. The others are facts.
const MANY: usize = 33_000;
const VERY_MANY: usize = 66_000;

fn is_event(number: usize) -> bool {
    number.is_multiple_of(3)
}

/// A store of `count` memories without graph, with these vectors.
fn store_of_many(dir: &std::path::Path, count: usize, vector_of: impl Fn(usize) -> Vec<f32>) -> Engine {
    let engine = open_with(dir, Options { graph_from: 1_000_000, ..options() });
    let category = |number| if is_event(number) { Category::Event } else { Category::Fact };
    let memories = (0..count).map(|number| NewMemory { category: category(number), ..NewMemory::new(text(number)) });
    engine.remember_many(memories.collect()).expect("a write");
    let number_of: std::collections::HashMap<String, usize> = (0..count).map(|number| (text(number), number)).collect();
    engine.activate_model(MODEL, DIMENSION).expect("a model");
    let chunks: Vec<_> = engine
        .pending_embeddings(0, count)
        .expect("what waits")
        .into_iter()
        .map(|one| (one.key, vec![Chunk { vector: Some(vector_of(number_of[&one.text]).into()), text: one.text }]))
        .collect();
    engine.store_embeddings(MODEL, &chunks).expect("vectors stored");
    engine
}

/// Compare the memories of a category that are found with an exact comparison of all of them.
fn check_found(
    engine: &Engine,
    count: usize,
    category: Category,
    query: Vec<f32>,
    vector_of: impl Fn(usize) -> Vec<f32>,
) {
    let cosine = |number: usize| -> f32 {
        let stored = vector_of(number).into_iter().map(|value| f16::from_f32(value).to_f32());
        query.iter().zip(stored).map(|(a, b)| a * b).sum()
    };
    let mut exact: Vec<(f32, String)> = (0..count)
        .filter(|number| is_event(*number) == (category == Category::Event))
        .map(|number| (cosine(number), text(number)))
        .collect();
    exact.sort_by(|a, b| b.0.total_cmp(&a.0));
    let selection = Selection { categories: vec![category], ..Selection::of(Scope::Everything) };
    let request =
        RecallRequest { vector: Some(support::query_vector(query)), selection, limit: 10, nearest: true, ..near("") };
    let expected: Vec<String> = exact.into_iter().take(10).map(|(_, content)| content).collect();
    assert_eq!(support::found(engine, &request), expected);
}

/// Ask questions about the memories of a category, in a store of `count` memories.
fn check_scan_of(category: Category, count: usize) {
    let dir = support::folder();
    let vector_of = |number| vector(&text(number));
    let engine = store_of_many(dir.path(), count, vector_of);
    for number in 0..5 {
        check_found(&engine, count, category, vector(&format!("question {number}")), vector_of);
    }
}

#[test]
fn scan_of_all_signs_finds_the_nearest_that_pass_the_filter() {
    check_scan_of(Category::Fact, MANY);
}

#[test]
fn scan_of_many_listed_rows_begins_with_signs_and_finds_the_nearest() {
    check_scan_of(Category::Event, VERY_MANY);
}

#[test]
fn scan_of_all_signs_goes_on_while_the_nearest_do_not_pass_the_filter() {
    let dir = support::folder();
    let query = vector("question");
    // All events are nearer to the query than any fact.
    let vector_of = |number| {
        let pull = if is_event(number) { 3.0 } else { -1.0 };
        let own = vector(&text(number));
        let raw: Vec<f32> = own.iter().zip(&query).map(|(a, b)| a + pull * b).collect();
        let length = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
        raw.iter().map(|value| value / length).collect::<Vec<f32>>()
    };
    let engine = store_of_many(dir.path(), MANY, vector_of);
    check_found(&engine, MANY, Category::Fact, query.clone(), vector_of);
}

#[test]
fn long_scan_ends_with_slots_that_no_vector_has_reached() {
    // Slots are allocated in runs of 128, or longer for a text of more pieces. The last run begins in one block of the
    // slab and ends in the next one, which has no vector yet.
    const BLOCK: usize = 2_048;
    const PIECES: usize = 130;
    let count = 10 * BLOCK - PIECES;
    let dir = support::folder();
    let engine = open_with(dir.path(), Options { graph_from: 100_000, ..options() });
    remember(&engine, 0..count);
    engine.activate_model(MODEL, DIMENSION).expect("a model");
    let chunk = |text: String| Chunk { vector: Some(vector(&text).into()), text };
    let mut chunks: Vec<(i64, Vec<Chunk>)> = engine
        .pending_embeddings(0, count)
        .expect("what waits")
        .into_iter()
        .map(|pending| (pending.key, vec![chunk(pending.text)]))
        .collect();
    chunks[0].1.extend((1..PIECES).map(|piece| chunk(format!("piece {piece}"))));
    engine.store_embeddings(MODEL, &chunks).expect("vectors stored");
    let request = RecallRequest { limit: 1, ..near(&text(count - 1)) };
    assert_eq!(support::found(&engine, &request), [text(count - 1)]);
}
