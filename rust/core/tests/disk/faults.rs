//! Calls to the file system that fail: each one in turn, once or from then on.

use super::layer::{self, Fault};
use super::support;
use super::{SCRIPT, assert_state, open, turn};

/// Result of a run with a fault.
struct Run {
    /// Steps that were acknowledged before the first error.
    acknowledged: usize,
    /// Number of calls that failed.
    failures: usize,
    /// Message of the error that ended the run.
    error: Option<String>,
}

/// Run the script until the first write that fails, with a fault in the layer. The folder is a new one.
fn run(dir: &std::path::Path, fault: Fault) -> Run {
    let engine = open(dir).expect("a store");
    let mut result = Run { acknowledged: 0, failures: 0, error: None };
    // The next process finds a store that exists.
    drop(engine);
    let mut engine = None;
    layer::begin(dir, Some(fault));
    for step in SCRIPT {
        let outcome = match &engine {
            Some(engine) => step.run(engine),
            None => open(dir).and_then(|opened| step.run(engine.insert(opened))),
        };
        if let Err(error) = outcome {
            result.error = Some(error.to_string());
            break;
        }
        result.acknowledged += 1;
    }
    layer::heal();
    drop(engine);
    result.failures = layer::end().1;
    result
}

/// Let the call with each number fail, until a run has so few calls that none fails.
fn fail_each_call(stays: bool, syncs_only: bool, errno: libc::c_int, step: usize) -> usize {
    for after in (0..).step_by(step) {
        let folder = support::folder();
        let dir = folder.path().join("store");
        let what = format!("call {after} fails with {errno}, {}", if stays { "as all later ones" } else { "once" });
        let done = run(&dir, Fault { after, stays, syncs_only, errno });
        assert_state(&dir, done.acknowledged, &what);
        if done.failures == 0 {
            assert_eq!(done.acknowledged, SCRIPT.len(), "{what}: {:?}", done.error);
            return after;
        }
    }
    unreachable!("the numbers of calls do not end")
}

#[test]
fn write_with_a_failed_sync_is_never_acknowledged_and_lost() {
    let _turn = turn();
    for errno in [libc::EIO, libc::ENOSPC] {
        assert!(fail_each_call(false, true, errno, 1) > 20);
    }
}

#[test]
fn any_call_may_fail_once_without_losing_an_acknowledged_write() {
    let _turn = turn();
    let step = if support::soak_seconds().is_some() { 1 } else { 7 };
    assert!(fail_each_call(false, false, libc::EIO, step) > 100);
}

#[test]
fn all_calls_may_fail_from_any_point_on_without_losing_an_acknowledged_write() {
    let _turn = turn();
    let step = if support::soak_seconds().is_some() { 1 } else { 7 };
    assert!(fail_each_call(true, false, libc::ENOSPC, step) > 100);
}

#[test]
fn full_disk_does_not_refuse_what_was_read() {
    let _turn = turn();
    let mut refused = 0;
    for after in 0.. {
        let folder = support::folder();
        let dir = folder.path().join("store");
        let ids = support::remember(&open(&dir).expect("a store"), 0..1);
        layer::begin(&dir, Some(Fault { after, stays: true, syncs_only: false, errno: libc::ENOSPC }));
        let outcome = open(&dir).and_then(|engine| {
            engine.get(&ids[0])?;
            engine.note_uses(ids.clone())?;
            Ok(engine.close())
        });
        let failures = layer::end().1;
        // The disk may be too full to open the store. Once the memory was read, its use need not be counted.
        match outcome {
            Ok(closed) => closed.unwrap_or_else(|error| panic!("call {after}: {error}")),
            Err(_) => refused += 1,
        }
        if failures == 0 {
            assert!(after > refused, "no call failed after the memory was read");
            return;
        }
    }
}
