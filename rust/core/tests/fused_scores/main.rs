//! Scores of a recall by words and meaning equal those of a naive scorer, which reads all memories and knows no index.
//!
//! Stores are random: statements and turns of conversations, of which shares have no vector, are not in the indexes, are
//! archived, expired or of another project. Queries name days and speakers, and ask when. Half of the recalls have the
//! floor, which returns nothing if no memory is relevant.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

#[path = "../support/mod.rs"]
mod support;

mod floor;
mod queries;
mod scorer;
mod texts;

use std::collections::HashMap;
use std::time::Instant;

use opencode_memory_core::Options;
use opencode_memory_core::model::query::{RecallRequest, Scope, Selection};
use opencode_memory_core::model::{Category, Hit, Memory, NewMemory, QueryVector, Status};
use opencode_memory_core::store::embedding::Chunk;

use floor::Presence;
use queries::Query;
use scorer::{Document, Scored, score};
use support::{BEGINNING, MODEL, Random, open_with, question, rebuild, word};
use texts::{SPEAKERS, chunks, phrase, turn, vector};

const DAY_MS: i64 = 86_400_000;
const NOW: i64 = BEGINNING + 400 * DAY_MS;
const PROJECTS: [&str; 3] = ["lamp", "door", "roof"];
const SESSIONS: [&str; 2] = ["morning", "evening"];
/// Positions of a conversation. There are more turns than positions, so some messages have several memories.
const POSITIONS: usize = 12;
/// Dimensions of the vectors. The cosines of 16 dimensions are above the floor by chance, those of 256 below it.
const DIMENSIONS: [usize; 2] = [16, 256];
/// Both searches take their best 64. With at most this number of permitted memories, all of them are compared.
const DEPTH: usize = 64;
/// Difference of two scores that the half precision of stored vectors may cause.
const ROUNDING: f64 = 0.01;
const ROUNDS: usize = 40;
const QUERIES: usize = 16;

fn statement(random: &mut Random, number: usize) -> NewMemory {
    NewMemory::new(format!("{} {}", phrase(random, 2, 14), word(number)))
}

fn turn_of_conversation(random: &mut Random, number: usize) -> NewMemory {
    let end = if random.below(3) == 0 { "?" } else { "" };
    NewMemory {
        session: Some(SESSIONS[random.below(SESSIONS.len())].to_owned()),
        // Without a position, the memory is a statement.
        position: (random.below(6) > 0).then(|| random.below(POSITIONS) as i64),
        speaker: (random.below(4) > 0).then(|| SPEAKERS[random.below(SPEAKERS.len())].to_owned()),
        ..NewMemory::new(format!("{} {}{end}", turn(random), word(number)))
    }
}

/// A memory with random properties; `turns` is the share of turns, in percent.
fn memory(random: &mut Random, number: usize, turns: usize) -> NewMemory {
    let is_turn = random.below(100) < turns;
    let memory = if is_turn { turn_of_conversation(random, number) } else { statement(random, number) };
    NewMemory {
        project: Some(PROJECTS[random.below(PROJECTS.len())].to_owned()),
        category: if random.below(4) == 0 { Category::Decision } else { Category::Fact },
        pinned: random.below(6) == 0,
        time: Some(NOW - (random.below(500) as i64) * DAY_MS),
        expires_at: (random.below(6) == 0).then_some(NOW - DAY_MS),
        status: if random.below(6) == 0 { Status::Archived } else { Status::Active },
        ..memory
    }
}

fn is_permitted(memory: &Memory, project: Option<&str>) -> bool {
    memory.status == Status::Active
        && memory.expires_at.is_none_or(|end| end > NOW)
        && project.is_none_or(|name| memory.project.as_deref() == Some(name))
}

/// Numbers of the comparisons, so that a test does not pass because it compares nothing.
#[derive(Debug, Default)]
struct Compared {
    hits: usize,
    turns: usize,
    dated: usize,
    refused_hits: usize,
    refused_answers: usize,
    undecided: usize,
}

/// Create a random store and compare random recalls.
fn compare(random: &mut Random, compared: &mut Compared) {
    let dir = support::folder();
    let engine = open_with(dir.path(), Options { background: false, ..support::options() });
    engine.clock().set(NOW - 300 * DAY_MS);
    let dimension = DIMENSIONS[random.below(DIMENSIONS.len())];
    engine.activate_model(MODEL, dimension).expect("a model");
    let share = [0, 10, 50, 90, 100][random.below(5)];
    let turns = [0, 50, 90][random.below(3)];
    let (mut number, parts) = (0, 1 + random.below(2));
    let mut vectors: HashMap<i64, Vec<Vec<f32>>> = HashMap::new();
    for part in 0..parts {
        // Batches of this size are not compared with older memories, so none is superseded.
        let memories: Vec<NewMemory> = (0..65 + random.below(20))
            .map(|_| {
                number += 1;
                memory(random, number, turns)
            })
            .collect();
        engine.remember_many(memories).expect("a write");
        let mut embedded = Vec::new();
        for pending in engine.pending_embeddings(0, 1_000).expect("what waits") {
            if random.below(100) < share {
                let chunks: Vec<Chunk> = chunks(&pending.text)
                    .into_iter()
                    .map(|text| Chunk { vector: Some(vector(&text, dimension).into()), text })
                    .collect();
                vectors.insert(
                    pending.key,
                    chunks.iter().filter_map(|chunk| chunk.vector.as_deref().map(<[f32]>::to_vec)).collect(),
                );
                embedded.push((pending.key, chunks));
            }
        }
        engine.store_embeddings(MODEL, &embedded).expect("vectors stored");
        if part == 0 && random.below(4) > 0 {
            rebuild(&engine);
        }
    }
    engine.clock().set(NOW);
    let documents: Vec<Document> = support::all(&engine)
        .into_iter()
        .map(|memory| {
            let vectors = vectors.remove(&memory.key).unwrap_or_default();
            Document::new(memory, vectors)
        })
        .collect();
    for _ in 0..QUERIES {
        let query = Query::random(random);
        let project = (random.below(4) > 0).then(|| PROJECTS[random.below(3)]);
        let dimension = (random.below(5) > 0).then_some(dimension);
        let nearest = random.below(2) == 0;
        let permitted: Vec<&Document> =
            documents.iter().filter(|document| is_permitted(&document.memory, project)).collect();
        if permitted.len() > DEPTH {
            continue;
        }
        let expected = score(&documents, &permitted, &query, dimension);
        let presences = match floor::decide(&expected, permitted.len()) {
            _ if nearest => vec![Presence::Required; expected.len()],
            Some(presences) => presences,
            None => {
                compared.undecided += 1;
                continue;
            }
        };
        let scope = project.map_or(Scope::Everything, |name| Scope::Project { name: name.into(), with_global: false });
        let request = RecallRequest {
            vector: dimension
                .map(|dimension| QueryVector::new(MODEL, vector(&query.text, dimension)).expect("a vector")),
            selection: Selection::of(scope),
            nearest,
            ..question(&query.text)
        };
        let hits = engine.recall(request).expect("a recall");
        let what = format!(
            "{query:?} in {project:?}, {} of {} permitted, {share} % with vectors of {dimension:?}, nearest: {nearest}",
            permitted.len(),
            documents.len()
        );
        check(&hits, &expected, &presences, permitted.len(), &what);
        compared.hits += hits.len();
        compared.turns += hits.iter().filter(|hit| hit.memory.position.is_some()).count();
        compared.dated += if query.date.is_some() { hits.len() } else { 0 };
        compared.refused_hits += presences.iter().filter(|presence| **presence == Presence::Forbidden).count();
        compared.refused_answers += usize::from(hits.is_empty() && !expected.is_empty());
    }
}

/// Compare the hits of a recall with the scores and the floor of the naive scorer.
fn check(hits: &[Hit], expected: &[Scored], presences: &[Presence], permitted: usize, what: &str) {
    let mut best_left: Vec<f64> = hits.iter().map(|hit| hit.score).collect();
    for hit in hits {
        let place = expected.iter().position(|scored| scored.id == hit.memory.id);
        let place = place.unwrap_or_else(|| panic!("{what}: unexpected {hit:#?}"));
        let scored = &expected[place];
        assert_ne!(presences[place], Presence::Forbidden, "{what}: {:?} but {hit:#?}", scored.signals);
        assert!((hit.score - scored.score).abs() < ROUNDING, "{what}: {} expected, {hit:#?}", scored.score);
        let floor = floor::least_relevance(permitted);
        assert!((hit.floor - floor).abs() < 1e-9, "{what}: the floor is {} instead of {floor}", hit.floor);
        let relevance = hit.relevance.expect("no hit was moved");
        let bounds = scored.signals.relevance(-floor::SLACK)..=scored.signals.relevance(floor::SLACK);
        assert!(bounds.contains(&relevance), "{what}: relevance {relevance} is not in {bounds:?}, {hit:#?}");
        best_left.remove(0);
        let is_first = best_left.iter().all(|score| *score <= hit.score);
        assert!(is_first, "{what}: rank {} is lower than a later one", hit.rank);
    }
    for (scored, presence) in expected.iter().zip(presences) {
        let is_there = hits.iter().any(|hit| hit.memory.id == scored.id);
        assert!(is_there || *presence != Presence::Required, "{what}: {} is missing, {:?}", scored.id, scored.signals);
    }
}

#[test]
fn i2_i7_fused_scores_equal_those_of_a_naive_scorer() {
    let mut random = support::seed(21);
    let (mut rounds, begun, mut compared) = (ROUNDS, Instant::now(), Compared::default());
    while support::soaking(&mut rounds, begun) {
        compare(&mut random, &mut compared);
    }
    eprintln!("{compared:?}");
    let Compared { hits, turns, dated, refused_hits, refused_answers, undecided } = compared;
    let least = [(hits, 3_000), (turns, 1_000), (dated, 1_000), (refused_hits, 500), (refused_answers, 20)];
    assert!(least.iter().all(|(count, least)| count >= least), "too little was compared: {least:?}");
    assert!(undecided < hits / 100, "rounding decided {undecided} answers");
}
