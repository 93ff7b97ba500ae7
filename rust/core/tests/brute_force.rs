//! Recall by meaning equals a comparison of all permitted memories, in one thread, in 32 threads and in four processes.
//!
//! Stores are random: a share of the memories has no vector, others are archived, expired or of another project. While
//! threads and processes recall, another engine writes memories and replaces the indexes. The long form has 100,000
//! memories.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use opencode_memory_core::model::query::{RecallRequest, Scope, Selection};
use opencode_memory_core::model::{Memory, NewMemory, Status};
use opencode_memory_core::store::embedding::Chunk;
use opencode_memory_core::{Engine, Options};

use support::child::{self, listen, say, task};
use support::{BEGINNING, DIMENSION, MODEL, Random, near, open_with, rebuild, text, vector};

const PROJECTS: [&str; 3] = ["lamp", "door", "roof"];
const LIMIT: usize = 10;
/// Difference of two cosines that the half precision of stored vectors may swap.
const ROUNDING: f32 = 2e-3;
const QUERIES: usize = 12;
const SHORT: usize = 3_000;
const LONG: usize = 100_000;

/// Number of memories: more in a long run.
fn size() -> usize {
    if support::soak_seconds().is_some() { LONG } else { SHORT }
}

fn options() -> Options {
    Options { background: false, graph_from: 1_000, ..Options::default() }
}

/// A store in which `share` percent of the memories have vectors. Later memories are not in the indexes.
fn create_store(dir: &std::path::Path, size: usize, share: usize, random: &mut Random) -> Engine {
    let engine = open_with(dir, options());
    engine.activate_model(MODEL, DIMENSION).expect("a model");
    for part in 0..2 {
        let numbers: Vec<usize> = (part * size / 2..(part + 1) * size / 2).collect();
        for batch in numbers.chunks(5_000) {
            let memories = batch.iter().map(|number| NewMemory {
                project: Some(PROJECTS[random.below(3)].to_owned()),
                expires_at: (random.below(8) == 0).then_some(BEGINNING + 1),
                status: if random.below(8) == 0 { Status::Archived } else { Status::Active },
                ..NewMemory::new(text(*number))
            });
            engine.remember_many(memories.collect()).expect("a write");
        }
        let pending = engine.pending_embeddings(0, size).expect("what waits");
        let chosen = pending.into_iter().filter(|_| random.below(100) < share);
        let chunks: Vec<_> = chosen
            .map(|one| (one.key, vec![Chunk { vector: Some(vector(&one.text).into()), text: one.text }]))
            .collect();
        engine.store_embeddings(MODEL, &chunks).expect("vectors stored");
        if part == 0 {
            rebuild(&engine);
        }
    }
    engine.clock().set(BEGINNING + 2);
    engine
}

fn is_permitted(memory: &Memory, project: Option<&str>) -> bool {
    memory.status == Status::Active
        && memory.expires_at.is_none_or(|end| end > BEGINNING + 2)
        && project.is_none_or(|name| memory.project.as_deref() == Some(name))
}

/// Compare recalls with all cosines. Return the number of hits that are not among the best, and of all hits.
///
/// While other memories are written, only recalls in one project have a constant answer.
fn compare(engine: &Engine, seed: u64, writes_go_on: bool) -> (usize, usize) {
    let mut random = Random(seed);
    let memories = support::all(engine);
    let pending: std::collections::HashSet<String> =
        engine.pending_embeddings(0, memories.len()).expect("what waits").into_iter().map(|one| one.text).collect();
    let (mut missed, mut hits) = (0, 0);
    for round in 0..QUERIES {
        let asked = text(random.below(memories.len()));
        let query = vector(&asked);
        let project = (writes_go_on || round % 2 == 1).then(|| PROJECTS[random.below(3)]);
        let cosine = |content: &str| vector(content).iter().zip(&query).map(|(a, b)| a * b).sum::<f32>();
        let mut expected: Vec<f32> = memories
            .iter()
            .filter(|memory| is_permitted(memory, project) && !pending.contains(&memory.content))
            .map(|memory| cosine(&memory.content))
            .collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        let scope = project.map_or(Scope::Everything, |name| Scope::Project { name: name.into(), with_global: false });
        let request = RecallRequest { limit: LIMIT, selection: Selection::of(scope), nearest: true, ..near(&asked) };
        let found = engine.recall(request).expect("a recall");
        assert_eq!(found.len(), LIMIT.min(expected.len()), "{asked} in {project:?}");
        for (hit, least) in found.iter().zip(&expected) {
            assert!(is_permitted(&hit.memory, project), "{hit:?}");
            assert!(!pending.contains(&hit.memory.content), "a memory without a vector: {hit:?}");
            missed += usize::from((cosine(&hit.memory.content) - least).abs() > ROUNDING);
            hits += 1;
        }
    }
    (missed, hits)
}

/// Assert that at most one of a hundred hits differs. The graph is approximate; a comparison of all rows is not.
fn assert_equal((missed, hits): (usize, usize)) {
    assert!(missed * 100 <= hits, "{missed} of {hits} hits are not the nearest");
}

#[test]
#[ignore = "run as child processes by the other tests"]
fn child() {
    let Some((dir, words)) = task() else { return };
    let engine = open_with(&dir, options());
    engine.clock().set(BEGINNING + 2);
    say("ready");
    listen();
    assert_equal(compare(&engine, words[0].parse().expect("a seed"), true));
    say("equal");
}

#[test]
fn i2_i7_recall_equals_brute_force_with_any_share_of_missing_vectors() {
    let mut random = support::seed(11);
    for share in [0, 1, 30, 90, 100] {
        for size in [40, 900, 3_000] {
            let dir = support::folder();
            let engine = create_store(dir.path(), size, share, &mut random);
            let (missed, hits) = compare(&engine, random.next(), false);
            if size < 1_000 {
                assert_eq!(missed, 0, "{missed} of {hits} hits among {size} memories, {share} % with vectors");
            }
            assert_equal((missed, hits));
        }
    }
}

#[test]
fn i2_i7_recall_equals_brute_force_in_32_threads_and_four_processes() {
    let dir = support::folder();
    let mut random = support::seed(12);
    let engine = create_store(dir.path(), size(), 80, &mut random);
    let mut children: Vec<_> = (0..4).map(|seed| child::start(dir.path(), &[&seed.to_string()])).collect();
    children.iter_mut().for_each(|child| child.expect("ready"));
    children.iter_mut().for_each(|child| child.tell("go"));
    let writer = open_with(dir.path(), options());
    let (engine, ended) = (&engine, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _end = EndOnDrop(ended);
        scope.spawn(|| write_until(&writer, size(), ended));
        std::thread::scope(|readers| {
            for seed in 0..32 {
                readers.spawn(move || assert_equal(compare(engine, 100 + seed, true)));
            }
        });
        children.iter_mut().for_each(|child| child.expect("equal"));
        children.iter_mut().for_each(child::Child::assert_done);
    });
    assert!(support::all(engine).len() > size(), "memories were written meanwhile");
}

/// Ends the writer even if an assertion fails. Otherwise the scope would wait for it forever.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Write, embed and index memories of another project.
fn write_until(engine: &Engine, mut number: usize, ended: &AtomicBool) {
    while !ended.load(Ordering::Relaxed) {
        let memories = (number..number + 70)
            .map(|number| NewMemory { project: Some("yard".to_owned()), ..NewMemory::new(text(number)) })
            .collect();
        let written = engine.remember_many(memories).expect("a write");
        let chunks: Vec<_> = written
            .into_iter()
            .map(|written| engine.get(&written.id).expect("a memory"))
            .map(|one| (one.key, vec![Chunk { vector: Some(vector(&one.content).into()), text: one.content }]))
            .collect();
        engine.store_embeddings(MODEL, &chunks).expect("vectors stored");
        support::catch_up(engine);
        number += 70;
    }
}
