//! Tests of a graph that is built while other processes write to the store.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use opencode_memory_core::Engine;
use opencode_memory_core::control::Control;
use opencode_memory_core::store::Store;

use support::{assert_clean, assert_holds, catch_up, embed, open, remember};

/// Build the graph anew, and call `during` after its vectors were added.
fn rebuild(engine: &Engine, during: impl Fn() + Sync) {
    let calls = AtomicUsize::new(0);
    let progress = |stage: &'static str, _: usize, _: usize| {
        if stage == "vectors" {
            calls.fetch_add(1, Ordering::Relaxed);
            during();
        }
    };
    let control = Control { is_interrupted: &|| false, progress: &progress };
    assert!(engine.rebuild_indexes(&control).expect("a rebuild").graph_rebuilt);
    assert_eq!(calls.into_inner(), 1);
}

#[test]
fn graph_that_is_built_lets_the_wal_be_emptied() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..30);
    embed(&engine);
    let other = Store::open(dir.path(), false, 1).expect("a store");
    rebuild(&engine, || {
        remember(&engine, 30..31);
        assert!(other.truncate_wal(Duration::ZERO, &Control::none()).expect("a checkpoint"));
    });
    assert_holds(&engine, 0..31);
}

#[test]
fn vectors_that_change_while_a_graph_is_built_are_found() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..30);
    embed(&engine);
    let other = open(dir.path());
    rebuild(&engine, || {
        other.delete(&ids[..5]).expect("a deletion");
        remember(&other, 30..40);
        embed(&other);
    });
    for engine in [&engine, &other] {
        assert_holds(engine, 5..40);
    }
    catch_up(&engine);
    assert_holds(&other, 5..40);
    assert_clean(&engine);
}
