//! What the tests of this folder share: folders, engines with a fixed clock, texts and vectors that name themselves.

#![allow(dead_code)] // every test binary uses another part of it

pub mod child;
pub mod dump;
pub mod files;

use std::collections::BTreeSet;
use std::path::Path;

use opencode_memory_core::index::catch_up::Control;
use opencode_memory_core::model::query::{RecallRequest, Scope, Selection};
use opencode_memory_core::model::report::VerifyReport;
use opencode_memory_core::model::{Hit, Memory, NewMemory, Status};
use opencode_memory_core::store::embedding::Chunk;
use opencode_memory_core::{Clock, Engine, Options};

/// The time at which every test begins: 2026-01-01.
pub const BEGINNING: i64 = 1_767_225_600_000;
/// Length of the vectors.
pub const DIMENSION: usize = 16;
/// Name of the model.
pub const MODEL: &str = "test-model";

/// A folder that goes away, in memory where that is possible: a killed process does not lose what it gave to the kernel.
pub fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a temporary folder")
}

/// Options under which small stores use everything that large ones do, and nothing happens by itself.
pub fn options() -> Options {
    Options { graph_from: 20, lexical_tail: 4, threads: 1, background: false, ..Options::default() }
}

/// Open with [`options`] and a clock that stands.
pub fn open(dir: &Path) -> Engine {
    open_with(dir, options())
}

/// Open with a clock that stands.
pub fn open_with(dir: &Path, options: Options) -> Engine {
    Engine::open(dir, options, Clock::fixed(BEGINNING)).expect("a store that opens")
}

/// A word that no other number has, and that no analyzer takes apart.
pub fn word(number: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjkmn";
    format!("{number:07}").bytes().fold("zx".to_owned(), |mut word, digit| {
        word.push(char::from(LETTERS[usize::from(digit - b'0')]));
        word
    })
}

/// A text that only its own word finds.
pub fn text(number: usize) -> String {
    format!("The note {} belongs to the shelf", word(number))
}

/// A unit vector that depends on the text alone.
pub fn vector(text: &str) -> Vec<f32> {
    let mut random = Random(text.bytes().fold(0x9E37_79B9, |seed, byte| mixed(seed ^ u64::from(byte))));
    let raw: Vec<f32> = (0..DIMENSION).map(|_| random.next() as f32 / u64::MAX as f32 - 0.5).collect();
    let length = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
    raw.iter().map(|value| value / length).collect()
}

/// Seconds for which a long test is to run, when somebody asks for that.
pub fn soak_seconds() -> Option<u64> {
    std::env::var("OPENCODE_MEMORY_SOAK_SECONDS").ok().map(|seconds| seconds.parse().expect("a number of seconds"))
}

/// A fixed seed; another one each time in a long run, which says it.
pub fn seed(fixed: u64) -> Random {
    let seed = match soak_seconds() {
        Some(_) => u64::from(std::process::id()) << 20 | fixed,
        None => fixed,
    };
    eprintln!("seed {seed}");
    Random(seed)
}

/// Whether to go on: `rounds` times, or for as long as somebody asks for.
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

/// Write the texts of these numbers in one transaction; their ids.
pub fn remember(engine: &Engine, numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    let memories = numbers.into_iter().map(|number| NewMemory::new(text(number))).collect();
    engine.remember_many(memories).expect("a write").into_iter().map(|remembered| remembered.id).collect()
}

/// Give vectors to everything that waits for them; how many that were.
pub fn embed(engine: &Engine) -> usize {
    engine.activate_model(MODEL, DIMENSION).expect("a model");
    let pending = engine.pending_embeddings(0, usize::MAX >> 1).expect("what waits");
    let chunks: Vec<(i64, Vec<Chunk>)> = pending
        .into_iter()
        .map(|pending| (pending.key, vec![Chunk { vector: Some(vector(&pending.text)), text: pending.text }]))
        .collect();
    engine.store_embeddings(MODEL, &chunks).expect("vectors stored").stored
}

/// Everything that there is, whatever its state.
pub fn everything() -> Selection {
    Selection { statuses: Status::ALL.to_vec(), with_expired: true, ..Selection::of(Scope::Everything) }
}

/// A question for active memories of every project.
pub fn question(query: &str) -> RecallRequest {
    RecallRequest {
        query: query.to_owned(),
        vector: None,
        selection: Selection::of(Scope::Everything),
        limit: 1_000,
        as_of: None,
        explain: true,
        unasked: false,
    }
}

/// A question by meaning alone.
pub fn near(text: &str) -> RecallRequest {
    RecallRequest { vector: Some(vector(text)), ..question("") }
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

/// Texts of everything, in order.
pub fn contents(engine: &Engine) -> Vec<String> {
    let mut contents: Vec<String> = all(engine).into_iter().map(|memory| memory.content).collect();
    contents.sort();
    contents
}

/// Every memory.
pub fn all(engine: &Engine) -> Vec<Memory> {
    engine.list(&everything(), usize::MAX >> 1, 0, None).expect("a list")
}

/// Bring the indexes up to the store.
pub fn catch_up(engine: &Engine) {
    engine.catch_up(&Control::none()).expect("a catch-up");
}

/// Build the indexes anew.
pub fn rebuild(engine: &Engine) {
    engine.rebuild_indexes(&Control::none()).expect("a rebuild");
}

/// Nothing is wrong, neither with the truth nor with what is derived from it.
#[track_caller]
pub fn assert_clean(engine: &Engine) -> VerifyReport {
    let report = engine.verify().expect("a verification");
    assert!(report.store_problems.is_empty() && report.index_problems.is_empty(), "{report:#?}");
    report
}

/// Exactly the texts of these numbers are there: in the list, by their words and, where they have them, by their vectors.
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

/// Texts that answer a question, best first.
pub fn found(engine: &Engine, question: &RecallRequest) -> Vec<String> {
    engine.recall(question.clone()).expect("a recall").into_iter().map(|hit| hit.memory.content).collect()
}
