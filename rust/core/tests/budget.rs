//! Tests of the budget of tokens for embedding servers: one count for all processes, by days of UTC.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use opencode_memory_core::control::Control;
use opencode_memory_core::{Clock, Engine};

use support::{BEGINNING, open, options};

const DAY_MS: i64 = 86_400_000;
const DAY: i64 = BEGINNING / DAY_MS;

fn open_at(dir: &std::path::Path, now_ms: i64) -> Engine {
    Engine::open(dir, options(), Clock::fixed(now_ms)).expect("a store")
}

#[test]
fn tokens_are_counted_over_all_processes_and_after_a_restart() {
    let dir = support::folder();
    let (one, other) = (open(dir.path()), open(dir.path()));
    assert_eq!(one.charge_tokens(60, 100).unwrap(), Some(DAY));
    assert_eq!(other.charge_tokens(41, 100).unwrap(), None);
    assert_eq!(other.charge_tokens(40, 100).unwrap(), Some(DAY));
    drop((one, other));
    assert_eq!(open(dir.path()).charge_tokens(1, 100).unwrap(), None);
}

#[test]
fn simultaneous_charges_never_exceed_the_limit() {
    let dir = support::folder();
    open(dir.path());
    let charged: i64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let engine = open(dir.path());
                    (0..50).filter(|_| engine.charge_tokens(7, 500).unwrap().is_some()).count() as i64
                })
            })
            .collect();
        threads.into_iter().map(|thread| 7 * thread.join().unwrap()).sum()
    });
    assert_eq!(charged, 497);
    assert_eq!(open(dir.path()).spent_tokens().unwrap().tokens, charged);
}

#[test]
fn correction_counts_for_its_own_day_only() {
    let dir = support::folder();
    let engine = open(dir.path());
    let day = engine.charge_tokens(60, 100).unwrap().unwrap();
    engine.correct_tokens(day, -50).unwrap();
    assert_eq!(engine.spent_tokens().unwrap().tokens, 10);
    engine.correct_tokens(day, -50).unwrap();
    assert_eq!(engine.spent_tokens().unwrap().tokens, 0);
    let tomorrow = open_at(dir.path(), BEGINNING + DAY_MS);
    assert_eq!(tomorrow.charge_tokens(100, 100).unwrap(), Some(DAY + 1));
    tomorrow.correct_tokens(day, -60).unwrap();
    assert_eq!(tomorrow.spent_tokens().unwrap().tokens, 100);
}

#[test]
fn next_day_begins_a_new_count_and_a_clock_set_back_does_not() {
    let dir = support::folder();
    let before_midnight = BEGINNING + DAY_MS - 1;
    assert_eq!(open_at(dir.path(), before_midnight).charge_tokens(100, 100).unwrap(), Some(DAY));
    let after_midnight = open_at(dir.path(), before_midnight + 1);
    assert_eq!(after_midnight.spent_tokens().unwrap().tokens, 0);
    assert_eq!(after_midnight.charge_tokens(100, 100).unwrap(), Some(DAY + 1));
    assert_eq!(open_at(dir.path(), before_midnight).charge_tokens(1, 100).unwrap(), None);
    // A clock that was wrong by months must not stop embedding for months.
    assert_eq!(open_at(dir.path(), before_midnight - 90 * DAY_MS).charge_tokens(1, 100).unwrap(), Some(DAY - 90));
}

#[test]
fn smallest_refused_request_is_noted_until_the_next_day() {
    let dir = support::folder();
    let engine = open(dir.path());
    assert_eq!(engine.charge_tokens(200, 100).unwrap(), None);
    assert_eq!(engine.spent_tokens().unwrap().refused, None, "a caller may try a smaller request");
    for tokens in [300, 200, 400] {
        engine.note_refused_tokens(tokens).unwrap();
    }
    let spent = engine.spent_tokens().unwrap();
    assert_eq!((spent.tokens, spent.refused), (0, Some(200)));
    assert_eq!(open_at(dir.path(), BEGINNING + DAY_MS).spent_tokens().unwrap().refused, None);
    assert!(engine.charge_tokens(-1, 100).is_err());
    assert!(engine.note_refused_tokens(-1).is_err());
}

#[test]
fn restored_backup_does_not_begin_a_new_count() {
    let dir = support::folder();
    let engine = open(dir.path());
    let copy = dir.path().join("copy.db");
    engine.backup(&copy, &Control::none()).unwrap();
    engine.charge_tokens(100, 100).unwrap();
    engine.restore_backup(&copy, &Control::none()).unwrap();
    assert_eq!(engine.charge_tokens(1, 100).unwrap(), None);
}
