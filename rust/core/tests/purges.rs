//! Several purges at once: the end of one does not hide that another has not ended.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use opencode_memory_core::Clock;
use opencode_memory_core::index::catch_up::Control;
use opencode_memory_core::model::Trust;
use opencode_memory_core::store::{Store, purge};

use support::{BEGINNING, open, remember};

#[test]
fn purge_that_ends_leaves_the_mark_of_one_that_began_meanwhile() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..4);
    let other = Store::open(dir.path(), false, BEGINNING).expect("the store");
    let is_erased = AtomicBool::new(false);
    // The other process erases its rows after the first purge has cleaned the file, and is killed then.
    let erase_once = || {
        if !is_erased.swap(true, Ordering::SeqCst) {
            let erased = other.write(&Clock::fixed(BEGINNING), Trust::User, |write| write.erase(&ids[1..2]));
            assert_eq!(erased.expect("erased"), 1);
        }
        false
    };
    let control = Control { is_interrupted: &erase_once, progress: &|_, _, _| {} };
    let report = engine.purge(&ids[..1], &control).expect("a purge");
    assert!(is_erased.load(Ordering::SeqCst) && report.problems.is_empty(), "{:?}", report.problems);
    let unfinished = || purge::unfinished(&other.read().expect("a snapshot")).expect("a mark");
    assert!(unfinished().is_some(), "the maintenance would not look for the text of the other purge");
    engine.maintain().expect("maintained");
    assert_eq!(unfinished(), None);
}
