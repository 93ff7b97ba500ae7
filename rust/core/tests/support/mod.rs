//! Helpers of the tests of this folder: folders, engines with a fixed clock, texts and vectors made from numbers.

#![allow(dead_code)] // every test binary uses another part of it

pub mod child;
pub mod dump;
pub mod files;

use std::collections::BTreeSet;
use std::path::Path;

use opencode_memory_core::control::Control;
use opencode_memory_core::model::query::{RecallRequest, Scope, Selection};
use opencode_memory_core::model::report::VerifyReport;
use opencode_memory_core::model::{Hit, Memory, NewMemory, QueryVector, Status};
use opencode_memory_core::store::embedding::Chunk;
use opencode_memory_core::store::turns::{NewTurn, Page};
use opencode_memory_core::{Clock, Engine, Options};

/// The fixed time at which tests begin: 2026-01-01.
pub const BEGINNING: i64 = 1_767_225_600_000;
/// Length of the vectors.
pub const DIMENSION: usize = 16;
/// Name of the model.
pub const MODEL: &str = "test-model";

/// A temporary folder, in memory if possible. A killed process does not lose data that it passed to the kernel.
pub fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a temporary folder")
}

/// Options under which small stores use all indexes, without a background thread.
pub fn options() -> Options {
    Options { graph_from: 20, lexical_tail: 4, threads: 1, background: false, ..Options::default() }
}

/// Open with [`options`] and a fixed clock.
pub fn open(dir: &Path) -> Engine {
    open_with(dir, options())
}

/// Open with a fixed clock.
pub fn open_with(dir: &Path, options: Options) -> Engine {
    Engine::open(dir, options, Clock::fixed(BEGINNING)).expect("a store that opens")
}

/// A word that is unique for a number, and that analyzers do not split.
pub fn word(number: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjkmn";
    format!("{number:07}").bytes().fold("zx".to_owned(), |mut word, digit| {
        word.push(char::from(LETTERS[usize::from(digit - b'0')]));
        word
    })
}

/// A text that only its own word matches.
pub fn text(number: usize) -> String {
    format!("The note {} belongs to the shelf", word(number))
}

/// A unit vector that depends only on the text.
pub fn vector(text: &str) -> Vec<f32> {
    let mut random = Random(text.bytes().fold(0x9E37_79B9, |seed, byte| mixed(seed ^ u64::from(byte))));
    let raw: Vec<f32> = (0..DIMENSION).map(|_| random.next() as f32 / u64::MAX as f32 - 0.5).collect();
    let length = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
    raw.iter().map(|value| value / length).collect()
}

/// The vector of a query, made by [`MODEL`].
pub fn query_vector(values: Vec<f32>) -> QueryVector {
    QueryVector::new(MODEL, values).expect("a vector")
}

/// Seconds for which a long test runs, if the environment sets `SOAK_MINUTES`, a decimal number.
pub fn soak_seconds() -> Option<u64> {
    let minutes = std::env::var("SOAK_MINUTES").ok()?;
    Some((minutes.parse::<f64>().expect("a number of minutes") * 60.0) as u64)
}

/// A fixed seed; a long run uses a new seed each time and prints it.
pub fn seed(fixed: u64) -> Random {
    let seed = match soak_seconds() {
        Some(_) => u64::from(std::process::id()) << 20 | fixed,
        None => fixed,
    };
    eprintln!("seed {seed}");
    Random(seed)
}

/// Whether to continue: for `rounds` rounds, or for the requested time.
pub fn soaking(rounds: &mut usize, begun: std::time::Instant) -> bool {
    match soak_seconds() {
        Some(seconds) => begun.elapsed().as_secs() < seconds,
        None => std::mem::replace(rounds, rounds.saturating_sub(1)) > 0,
    }
}

/// Random numbers that are the same for the same seed.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.0)
    }

    /// The next number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

fn mixed(seed: u64) -> u64 {
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    seed ^ (seed >> 31)
}

/// Write the texts of these numbers in one transaction; returns their ids.
pub fn remember(engine: &Engine, numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    let memories = numbers.into_iter().map(|number| NewMemory::new(text(number))).collect();
    engine.remember_many(memories).expect("a write").into_iter().map(|remembered| remembered.id).collect()
}

/// Embed all memories without vectors; returns how many there were.
pub fn embed(engine: &Engine) -> usize {
    engine.activate_model(MODEL, DIMENSION).expect("a model");
    let pending = engine.pending_embeddings(0, usize::MAX >> 1).expect("what waits");
    let chunks: Vec<(i64, Vec<Chunk>)> = pending
        .into_iter()
        .map(|pending| (pending.key, vec![Chunk { vector: Some(vector(&pending.text).into()), text: pending.text }]))
        .collect();
    engine.store_embeddings(MODEL, &chunks).expect("vectors stored").stored
}

/// A selection of all memories of any status.
pub fn everything() -> Selection {
    Selection { statuses: Status::ALL.to_vec(), with_expired: true, ..Selection::of(Scope::Everything) }
}

/// A recall among active memories of every project.
pub fn question(query: &str) -> RecallRequest {
    RecallRequest {
        query: query.to_owned(),
        vector: None,
        selection: Selection::of(Scope::Everything),
        limit: 1_000,
        as_of: None,
        explain: true,
        unasked: false,
        nearest: false,
    }
}

/// A recall by meaning only.
pub fn near(text: &str) -> RecallRequest {
    RecallRequest { vector: Some(query_vector(vector(text))), ..question("") }
}

/// Ids of the hits.
pub fn ids(hits: &[Hit]) -> BTreeSet<String> {
    hits.iter().map(|hit| hit.memory.id.clone()).collect()
}

/// Ids and exact cosines of the hits.
pub fn cosines(hits: &[Hit]) -> BTreeSet<(String, u64)> {
    hits.iter()
        .flat_map(|hit| {
            hit.signals
                .iter()
                .filter(|signal| signal.name == "meaning")
                .map(|signal| (hit.memory.id.clone(), signal.raw.to_bits()))
        })
        .collect()
}

/// Texts of all memories, sorted.
pub fn contents(engine: &Engine) -> Vec<String> {
    let mut contents: Vec<String> = all(engine).into_iter().map(|memory| memory.content).collect();
    contents.sort();
    contents
}

/// All memories.
pub fn all(engine: &Engine) -> Vec<Memory> {
    engine.list(&everything(), usize::MAX >> 1, 0, None).expect("a list")
}

/// Catch up the indexes.
pub fn catch_up(engine: &Engine) {
    engine.catch_up(&Control::none()).expect("a catch-up");
}

/// Rebuild the indexes.
pub fn rebuild(engine: &Engine) {
    engine.rebuild_indexes(&Control::none()).expect("a rebuild");
}

/// Assert that `verify` reports no problem of the store or the indexes.
#[track_caller]
pub fn assert_clean(engine: &Engine) -> VerifyReport {
    let report = engine.verify(&Control::none()).expect("a verification");
    assert!(report.store_problems.is_empty() && report.index_problems.is_empty(), "{report:#?}");
    report
}

/// Assert that exactly the texts of these numbers exist: in the list, by words and, if embedded, by vectors.
#[track_caller]
pub fn assert_holds(engine: &Engine, numbers: impl IntoIterator<Item = usize>) {
    let numbers: BTreeSet<usize> = numbers.into_iter().collect();
    let mut expected: Vec<String> = numbers.iter().map(|number| text(*number)).collect();
    expected.sort();
    assert_eq!(contents(engine), expected);
    let has_vectors = engine.stats().expect("numbers").pending_embeddings == 0;
    for number in numbers {
        assert_eq!(found(engine, &question(&word(number))), [text(number)], "by the word of {number}");
        if has_vectors {
            let hits = engine.recall(RecallRequest { limit: 1, ..near(&text(number)) }).expect("a recall");
            assert_eq!(
                hits.first().map(|hit| hit.memory.content.clone()),
                Some(text(number)),
                "by the vector of {number}"
            );
        }
    }
}

/// Texts of the hits of a recall, best first.
pub fn found(engine: &Engine, question: &RecallRequest) -> Vec<String> {
    engine.recall(question.clone()).expect("a recall").into_iter().map(|hit| hit.memory.content).collect()
}

/// A page of a session with the texts of these numbers and their vectors.
pub fn turns_page(numbers: impl IntoIterator<Item = usize>) -> Page<'static> {
    let turn = |number: usize| NewTurn {
        message: format!("message {number}"),
        speaker: "user".to_owned(),
        time: BEGINNING,
        text: text(number),
        digest: number.to_le_bytes().to_vec(),
        announces: false,
        vectors: vector(&text(number)).into(),
    };
    Page {
        database: "/agent.db".to_owned(),
        session: "session".to_owned(),
        project: None,
        mark: "1".to_owned(),
        cursor: None,
        restart: false,
        turns: numbers.into_iter().map(turn).collect(),
    }
}
