//! Uses of memories are written in batches, also by an engine without a thread for its indexes, as a resident server has.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::time::{Duration, Instant};

use opencode_memory_core::Options;

use support::{open, open_with, options, remember};

/// More than a batch.
const USES: usize = 5_000;
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn batch_of_uses_is_written_before_the_engine_is_closed() {
    for background in [false, true] {
        let dir = support::folder();
        let engine = open_with(dir.path(), Options { background, ..options() });
        let ids = remember(&engine, 0..2);
        let reader = open(dir.path());
        for round in 1..=2 {
            engine.note_uses(vec![ids[0].clone(); USES]).expect("noted");
            let begun = Instant::now();
            while reader.get(&ids[0]).expect("a memory").uses < (round * USES) as i64 {
                assert!(begun.elapsed() < PATIENCE, "round {round} is not written, background: {background}");
                std::thread::yield_now();
            }
        }
        assert_eq!(reader.get(&ids[1]).expect("a memory").uses, 0);
        engine.close().expect("closed");
        assert_eq!(reader.get(&ids[0]).expect("a memory").uses, 2 * USES as i64);
    }
}

#[test]
fn few_uses_are_written_by_the_end() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..1);
    engine.note_uses(ids.clone()).expect("noted");
    let reader = open(dir.path());
    assert_eq!(reader.get(&ids[0]).expect("a memory").uses, 0);
    engine.close().expect("closed");
    assert_eq!(reader.get(&ids[0]).expect("a memory").uses, 1);
}
