//! Scores of a recall by words and meaning equal those of a naive scorer, which reads all memories and knows no index.
//!
//! Stores are random: shares of the memories have no vector, are not in the indexes, are archived, expired or of another
//! project. The scorer follows the documentation of the formulas and shares only the analysis of texts with the engine.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::time::Instant;

use opencode_memory_core::Options;
use opencode_memory_core::model::query::{RecallRequest, Scope, Selection};
use opencode_memory_core::model::{Category, Memory, NewMemory, Status};
use opencode_memory_core::store::embedding::Chunk;
use opencode_memory_core::text;

use support::{BEGINNING, DIMENSION, MODEL, Random, open_with, question, rebuild, vector, word};

const DAY_MS: i64 = 86_400_000;
const NOW: i64 = BEGINNING + 400 * DAY_MS;
const PROJECTS: [&str; 3] = ["lamp", "door", "roof"];
const WORDS: [&str; 24] = [
    "lantern", "harbour", "copper", "window", "gravel", "orchard", "velvet", "thunder", "pebble", "meadow", "anchor",
    "kettle", "saddle", "marble", "willow", "basket", "candle", "feather", "hammer", "island", "jacket", "ladder",
    "mirror", "needle",
];
const NAMES: [&str; 4] = ["retryLimit", "parse_config", "HTTPServer", "E4711"];
/// Both searches take their best 64. With at most this number of permitted memories, all of them are compared.
const DEPTH: usize = 64;
/// Difference of two scores that the half precision of stored vectors may cause.
const ROUNDING: f64 = 0.01;
const ROUNDS: usize = 30;
const QUERIES: usize = 12;

fn phrase(random: &mut Random, least: usize, most: usize) -> String {
    let mut words: Vec<&str> =
        (0..least + random.below(most - least)).map(|_| WORDS[random.below(WORDS.len())]).collect();
    if random.below(3) == 0 {
        words.push(NAMES[random.below(NAMES.len())]);
    }
    words.join(" ")
}

/// Terms of a text by field, 0 for prose and 1 for identifiers.
fn analyze(memory: &Memory) -> [Vec<String>; 2] {
    let analysis = text::analyze(&memory.searched_text());
    [analysis.prose, analysis.identifiers]
}

struct Document {
    memory: Memory,
    terms: [Vec<String>; 2],
    has_vector: bool,
}

impl Document {
    fn count(&self, (field, term): &(usize, String)) -> f64 {
        self.terms[*field].iter().filter(|own| *own == term).count() as f64
    }
}

/// Rarity of a term in a store, times the weight of its field.
fn rarity(field: usize, frequency: usize, documents: usize) -> f64 {
    let (frequency, documents) = (frequency.max(1) as f64, documents.max(frequency) as f64);
    (1.0 + (documents - frequency + 0.5).max(0.0) / (frequency + 0.5)).ln() * [1.0, 0.3][field]
}

fn scale(value: f64, (least, greatest): (f64, f64)) -> f64 {
    if greatest > least {
        (value - least) / (greatest - least)
    } else if greatest > 0.0 {
        0.5
    } else {
        0.0
    }
}

fn range(values: &[f64]) -> (f64, f64) {
    match values {
        [] => (0.0, 0.0),
        _ => (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(f64::MIN, f64::max)),
    }
}

/// Score all permitted memories; returns ids and scores of those that share a term or have a vector.
fn score(documents: &[Document], permitted: &[&Document], query: &str, with_vector: bool) -> Vec<(String, f64)> {
    let analysis = text::analyze_query(&text::subject(query));
    let prose = analysis.prose.into_iter().map(|term| (0, term));
    let terms: Vec<(usize, String)> = prose.chain(analysis.identifiers.into_iter().map(|term| (1, term))).collect();
    let average = [0, 1].map(|field| {
        let sum: usize = documents.iter().map(|document| document.terms[field].len()).sum();
        (sum as f64 / documents.len() as f64).max(1.0)
    });
    let weights: Vec<f64> = terms
        .iter()
        .map(|term| {
            let frequency = documents.iter().filter(|document| document.count(term) > 0.0).count();
            rarity(term.0, frequency, documents.len())
        })
        .collect();
    let whole: f64 = weights.iter().sum();
    let least_of_names = 0.75 * rarity(1, 1, documents.len());
    let is_name = |place: usize| terms[place].0 == 1 && weights[place] >= least_of_names - 1e-6;
    let share = |document: &Document, counts: &dyn Fn(usize) -> bool| {
        let all: f64 = (0..terms.len()).filter(|place| counts(*place)).map(|place| weights[place]).sum();
        let found = (0..terms.len()).filter(|place| counts(*place) && document.count(&terms[*place]) > 0.0);
        if all > 0.0 { found.map(|place| weights[place]).sum::<f64>() / all } else { 0.0 }
    };
    let bm25 = |document: &Document| -> f64 {
        let one = |(term, weight): (&(usize, String), &f64)| {
            let (count, length) = (document.count(term), document.terms[term.0].len() as f64);
            weight * 2.2 * count / (count + 1.2 * (0.25 + 0.75 * length / average[term.0]))
        };
        terms.iter().zip(&weights).map(one).sum()
    };
    let asked = vector(query);
    let cosine = |document: &Document| {
        let own = vector(&document.memory.content);
        let product = own.iter().zip(&asked).map(|(a, b)| f64::from(a * b)).sum::<f64>();
        (with_vector && document.has_vector).then_some(product)
    };
    let pool: Vec<(&&Document, f64, Option<f64>)> = permitted
        .iter()
        .map(|document| (document, bm25(document), cosine(document)))
        .filter(|(_, words, cosine)| *words > 0.0 || cosine.is_some())
        .collect();
    let (least, greatest) = range(&pool.iter().map(|(_, words, _)| *words).collect::<Vec<_>>());
    let cosines: Vec<f64> = pool.iter().filter_map(|(_, _, cosine)| *cosine).collect();
    let has_vectors = !cosines.is_empty();
    let bounds = range(&cosines);
    pool.into_iter()
        .map(|(document, words, cosine)| {
            let coverage = share(document, &|_| true);
            let relevance = if has_vectors {
                0.2 * coverage * scale(words, (least, greatest.max(whole)))
                    + 0.8 * share(document, &is_name)
                    + 0.8 * cosine.map_or(coverage, |cosine| scale(cosine, bounds))
            } else {
                scale(words, (least, greatest))
            };
            let days = (NOW - document.memory.time) as f64 / DAY_MS as f64;
            let recent = 0.01 * 0.5_f64.powf(days / 90.0);
            let pinned = if document.memory.pinned { 0.02 } else { 0.0 };
            let deliberate = if document.memory.category == Category::Decision { 0.01 } else { 0.0 };
            (document.memory.id.clone(), relevance + recent + pinned + deliberate)
        })
        .collect()
}

fn is_permitted(memory: &Memory, project: Option<&str>) -> bool {
    memory.status == Status::Active
        && memory.expires_at.is_none_or(|end| end > NOW)
        && project.is_none_or(|name| memory.project.as_deref() == Some(name))
}

/// Create a random store and compare random recalls. Return the number of hits that were compared.
fn compare(random: &mut Random) -> usize {
    let dir = support::folder();
    let engine = open_with(dir.path(), Options { background: false, ..support::options() });
    engine.clock().set(NOW - 300 * DAY_MS);
    engine.activate_model(MODEL, DIMENSION).expect("a model");
    let share = [0, 10, 50, 90, 100][random.below(5)];
    let (mut number, parts) = (0, 1 + random.below(2));
    for part in 0..parts {
        // Batches of this size are not compared with older memories, so none is superseded.
        let memories = (0..65 + random.below(20)).map(|_| {
            number += 1;
            NewMemory {
                project: Some(PROJECTS[random.below(3)].to_owned()),
                category: if random.below(4) == 0 { Category::Decision } else { Category::Fact },
                pinned: random.below(6) == 0,
                time: Some(NOW - (random.below(300) as i64) * DAY_MS),
                expires_at: (random.below(6) == 0).then_some(NOW - DAY_MS),
                status: if random.below(6) == 0 { Status::Archived } else { Status::Active },
                ..NewMemory::new(format!("{} {}", phrase(random, 2, 14), word(number)))
            }
        });
        let memories = memories.collect();
        engine.remember_many(memories).expect("a write");
        let pending = engine.pending_embeddings(0, 1_000).expect("what waits");
        let chosen = pending.into_iter().filter(|_| random.below(100) < share);
        let chunks: Vec<_> =
            chosen.map(|one| (one.key, vec![Chunk { vector: Some(vector(&one.text)), text: one.text }])).collect();
        engine.store_embeddings(MODEL, &chunks).expect("vectors stored");
        if part == 0 && random.below(4) > 0 {
            rebuild(&engine);
        }
    }
    engine.clock().set(NOW);
    let pending: Vec<i64> =
        engine.pending_embeddings(0, 1_000).expect("what waits").into_iter().map(|one| one.key).collect();
    let documents: Vec<Document> = support::all(&engine)
        .into_iter()
        .map(|memory| Document { terms: analyze(&memory), has_vector: !pending.contains(&memory.key), memory })
        .collect();
    let mut compared = 0;
    for _ in 0..QUERIES {
        let query = phrase(random, 1, 5);
        let project = (random.below(4) > 0).then(|| PROJECTS[random.below(3)]);
        let with_vector = random.below(5) > 0;
        let permitted: Vec<&Document> =
            documents.iter().filter(|document| is_permitted(&document.memory, project)).collect();
        if permitted.len() > DEPTH {
            continue;
        }
        let mut expected = score(&documents, &permitted, &query, with_vector);
        let scope = project.map_or(Scope::Everything, |name| Scope::Project { name: name.into(), with_global: false });
        let request = RecallRequest {
            vector: with_vector.then(|| vector(&query)),
            selection: Selection::of(scope),
            nearest: true,
            ..question(&query)
        };
        let hits = engine.recall(request).expect("a recall");
        let what = format!("{query:?} in {project:?} of {} with {share} % vectors: {with_vector}", documents.len());
        assert_eq!(hits.len(), expected.len(), "{what}");
        for hit in &hits {
            let place = expected.iter().position(|(id, _)| *id == hit.memory.id).expect("an expected hit");
            let best = expected.iter().map(|(_, score)| *score).fold(f64::MIN, f64::max);
            let (_, score) = expected.swap_remove(place);
            assert!((hit.score - score).abs() < ROUNDING, "{what}: {score} expected, {hit:#?}");
            assert!(score > best - 2.0 * ROUNDING, "{what}: {best} is greater than the {score} of rank {}", hit.rank);
            compared += 1;
        }
    }
    compared
}

#[test]
fn i2_i7_fused_scores_equal_those_of_a_naive_scorer() {
    let mut random = support::seed(21);
    let (mut rounds, begun, mut compared) = (ROUNDS, Instant::now(), 0);
    while support::soaking(&mut rounds, begun) {
        compared += compare(&mut random);
    }
    eprintln!("{compared} hits compared");
    assert!(compared > 1_000, "only {compared} hits were compared");
}
