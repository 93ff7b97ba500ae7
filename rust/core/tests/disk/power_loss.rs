//! A loss of power at each sync of a script.

use super::image::{Disk, Unsynced};
use super::layer::{self, Event};
use super::support::{self, Random};
use super::{SCRIPT, assert_state, open, turn};

/// Run the script and record what reaches the disk.
fn record(dir: &std::path::Path) -> Vec<Event> {
    layer::begin(dir, None);
    let engine = open(dir).expect("a store");
    layer::acknowledge(0);
    for (number, step) in SCRIPT.iter().enumerate() {
        step.run(&engine).expect("a step");
        layer::acknowledge(number + 1);
    }
    drop(engine);
    layer::end().0
}

#[test]
fn acknowledged_writes_survive_a_loss_of_power_at_each_sync() {
    let _turn = turn();
    let folder = support::folder();
    let root = folder.path().join("store");
    let events = record(&root);
    let syncs = events.iter().filter(|event| matches!(event, Event::Sync(_))).count();
    assert!(syncs > 30, "only {syncs} syncs were recorded");
    let mut random = support::seed(11);
    let (mut rounds, begun) = (1, std::time::Instant::now());
    while support::soaking(&mut rounds, begun) {
        replay(&root, &events, &mut random);
    }
}

/// Lose the power after each event that follows a sync or precedes one, with three fates of what was not synced.
fn replay(root: &std::path::Path, events: &[Event], random: &mut Random) {
    let mut disk = Disk::default();
    for (number, event) in events.iter().enumerate() {
        let is_point = matches!(event, Event::Sync(_) | Event::SyncFolder(_) | Event::Acknowledged(_));
        if is_point {
            lose_power(&disk, random, root, &format!("before event {number}, {event:?}"));
        }
        disk.apply(event);
        if is_point {
            lose_power(&disk, random, root, &format!("after event {number}, {event:?}"));
        }
    }
}

fn lose_power(disk: &Disk, random: &mut Random, root: &std::path::Path, when: &str) {
    for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Mixed] {
        let after = support::folder();
        let dir = after.path().join("store");
        disk.write(unsynced, random, root, &dir);
        let Some(acknowledged) = disk.acknowledged.last() else { continue };
        assert_state(&dir, *acknowledged, &format!("power lost {when}, unsynced writes {unsynced:?}"));
    }
}
