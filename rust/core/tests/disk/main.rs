//! Loss of power, and calls to the file system that fail.
//!
//! A loss of power drops or reorders what was not synced. A disk may refuse any call. After both, each acknowledged write
//! must be there, nothing is doubled, and derived indexes are built again.

#![cfg(target_os = "linux")] // takes the place of functions of the C library
#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

#[path = "../support/mod.rs"]
mod support;

mod faults;
mod image;
mod layer;
mod power_loss;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opencode_memory_core::control::Control;
use opencode_memory_core::model::{NewMemory, Patch};
use opencode_memory_core::store::embedding::Chunk;
use opencode_memory_core::{Clock, Engine, Result};

use support::{BEGINNING, DIMENSION, MODEL, options, text, vector};

/// The layer watches one folder of the process, so the tests run one after the other.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(dir: &Path) -> Result<Engine> {
    Engine::open(dir, options(), Clock::fixed(BEGINNING))
}

/// Steps of the script. Numbers identify texts.
#[derive(Debug, Clone, Copy)]
enum Step {
    Remember(usize, usize),
    Edit(usize, usize),
    Delete(usize),
    Embed,
    CatchUp,
    Backup,
    Value,
}

/// Passes all paths that write. The first texts are enough for a graph.
const SCRIPT: &[Step] = &[
    Step::Remember(0, 24),
    Step::Embed,
    Step::CatchUp,
    Step::Remember(24, 25),
    Step::Value,
    Step::Edit(1, 30),
    Step::Delete(2),
    Step::Embed,
    Step::CatchUp,
    Step::Backup,
    Step::Remember(25, 28),
    Step::CatchUp,
];

impl Step {
    fn run(self, engine: &Engine) -> Result<()> {
        let id = |number: usize| {
            let held = engine.list(&support::everything(), 1_000, 0, None)?;
            Ok::<_, opencode_memory_core::Error>(held.into_iter().find(|memory| memory.content == text(number)))
        };
        match self {
            Self::Remember(from, to) => {
                engine.remember_many((from..to).map(|number| NewMemory::new(text(number))).collect())?;
            }
            Self::Edit(from, to) => {
                if let Some(memory) = id(from)? {
                    engine.edit(&memory.id, Patch { content: Some(text(to)), ..Patch::default() })?;
                }
            }
            Self::Delete(number) => {
                if let Some(memory) = id(number)? {
                    engine.delete(&[memory.id])?;
                }
            }
            Self::Embed => {
                engine.activate_model(MODEL, DIMENSION)?;
                let pending = engine.pending_embeddings(0, usize::MAX >> 1)?;
                let chunks: Vec<(i64, Vec<Chunk>)> = pending
                    .into_iter()
                    .map(|one| (one.key, vec![Chunk { vector: Some(vector(&one.text).into()), text: one.text }]))
                    .collect();
                engine.store_embeddings(MODEL, &chunks)?;
            }
            Self::CatchUp => drop(engine.catch_up(&Control::none())?),
            Self::Backup => {
                let target = engine.data_dir().join("backups/first.db");
                if !target.exists() {
                    engine.backup(&target, &Control::none())?;
                }
            }
            Self::Value => drop(engine.kv_set(None, "deploy", "1", None)?),
        }
        Ok(())
    }

    /// The texts after this step.
    fn after(self, texts: &mut BTreeSet<usize>) {
        match self {
            Self::Remember(from, to) => texts.extend(from..to),
            Self::Edit(from, to) => {
                texts.remove(&from);
                texts.insert(to);
            }
            Self::Delete(number) => drop(texts.remove(&number)),
            Self::Embed | Self::CatchUp | Self::Backup | Self::Value => {}
        }
    }
}

/// The texts after the first steps of the script.
fn texts_after(steps: usize) -> BTreeSet<usize> {
    let mut texts = BTreeSet::new();
    SCRIPT[..steps].iter().for_each(|step| step.after(&mut texts));
    texts
}

/// Assert that a store holds the texts of the acknowledged steps, or also those of the step that was under way; that it
/// can be verified, and that its indexes can be built again.
fn assert_state(dir: &Path, acknowledged: usize, what: &str) {
    let engine = open(dir).unwrap_or_else(|error| panic!("{what}: {error}"));
    let held: Vec<String> = support::contents(&engine);
    let possible = [acknowledged, SCRIPT.len().min(acknowledged + 1)].map(texts_after);
    let state = possible.iter().find(|texts| {
        let mut expected: Vec<String> = texts.iter().map(|number| text(*number)).collect();
        expected.sort();
        expected == held
    });
    let Some(state) = state else { panic!("{what}: after {acknowledged} steps there are {held:#?}") };
    support::assert_holds(&engine, state.iter().copied());
    if SCRIPT[..acknowledged].iter().any(|step| matches!(step, Step::Value)) {
        assert!(engine.kv_get(None, "deploy").expect("a value").is_some(), "{what}: the value is lost");
    }
    support::embed(&engine);
    support::catch_up(&engine);
    support::assert_clean(&engine);
    support::assert_holds(&engine, state.iter().copied());
}
