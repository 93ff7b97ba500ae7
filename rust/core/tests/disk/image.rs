//! What a disk may hold after a loss of power.
//!
//! The model promises little. What a sync of a file wrote is there. Of later writes, each may be there, be missing or be cut
//! at a sector. Names of files are there after a sync of their folder; of later changes of names, the first ones may be
//! there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::layer::Event;
use crate::support::Random;

/// Bytes that a disk writes as a whole.
const SECTOR: usize = 512;

/// What becomes of changes that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// All are lost.
    Lost,
    /// All are there.
    Kept,
    /// Each has its own fate.
    Mixed,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

#[derive(Debug, Default)]
struct File {
    synced: Vec<u8>,
    later: Vec<Change>,
}

/// A disk to which events are applied.
#[derive(Debug, Default)]
pub struct Disk {
    files: BTreeMap<usize, File>,
    names: BTreeMap<PathBuf, usize>,
    later_names: Vec<Event>,
    /// The writes that were acknowledged.
    pub acknowledged: Vec<usize>,
}

impl Disk {
    /// Apply the next event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Create(_, number) => {
                self.files.entry(*number).or_default();
                self.later_names.push(event.clone());
            }
            Event::Rename(..) | Event::Remove(_) => self.later_names.push(event.clone()),
            Event::Write(number, offset, bytes) => self.change(*number, Change::Write(*offset, bytes.clone())),
            Event::Truncate(number, length) => self.change(*number, Change::Truncate(*length)),
            Event::Sync(number) => {
                let file = self.files.entry(*number).or_default();
                for change in file.later.drain(..) {
                    apply(&mut file.synced, &change);
                }
            }
            Event::SyncFolder(folder) => {
                let (synced, later) =
                    self.later_names.drain(..).partition(|event| folders(event).any(|of| of == *folder));
                self.later_names = later;
                for event in &synced as &Vec<Event> {
                    name(&mut self.names, event);
                }
            }
            Event::Acknowledged(number) => self.acknowledged.push(*number),
        }
    }

    fn change(&mut self, number: usize, change: Change) {
        self.files.entry(number).or_default().later.push(change);
    }

    /// Write what is left after a loss of power into a new folder. Paths are moved from `root` to `target`.
    pub fn write(&self, unsynced: Unsynced, random: &mut Random, root: &Path, target: &Path) {
        let mut names = self.names.clone();
        let kept = match unsynced {
            Unsynced::Lost => 0,
            Unsynced::Kept => self.later_names.len(),
            Unsynced::Mixed => random.below(self.later_names.len() + 1),
        };
        for event in &self.later_names[..kept] {
            name(&mut names, event);
        }
        std::fs::create_dir_all(target).expect("a folder");
        for (path, number) in names {
            let path = target.join(path.strip_prefix(root).expect("a watched path"));
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, self.content(number, unsynced, random)).expect("a file");
        }
    }

    fn content(&self, number: usize, unsynced: Unsynced, random: &mut Random) -> Vec<u8> {
        let Some(file) = self.files.get(&number) else { return Vec::new() };
        let mut content = file.synced.clone();
        for change in &file.later {
            match (unsynced, change) {
                (Unsynced::Lost, _) => {}
                (Unsynced::Kept, _) => apply(&mut content, change),
                (Unsynced::Mixed, Change::Truncate(_)) => {
                    if random.below(2) == 0 {
                        apply(&mut content, change);
                    }
                }
                (Unsynced::Mixed, Change::Write(offset, bytes)) => {
                    let sectors = bytes.len().div_ceil(SECTOR);
                    let kept = match random.below(3) {
                        0 => 0,
                        1 => bytes.len(),
                        _ => (random.below(sectors + 1) * SECTOR).min(bytes.len()),
                    };
                    if kept > 0 {
                        apply(&mut content, &Change::Write(*offset, bytes[..kept].to_vec()));
                    }
                }
            }
        }
        content
    }
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Truncate(length) => content.resize(*length, 0),
        Change::Write(offset, bytes) => {
            let end = offset + bytes.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*offset..end].copy_from_slice(bytes);
        }
    }
}

fn name(names: &mut BTreeMap<PathBuf, usize>, event: &Event) {
    match event {
        Event::Create(path, number) => drop(names.insert(path.clone(), *number)),
        Event::Remove(path) => drop(names.remove(path)),
        Event::Rename(from, to) => {
            let moved: Vec<PathBuf> = names.keys().filter(|name| name.starts_with(from)).cloned().collect();
            for old in moved {
                let number = names.remove(&old).expect("a name that was just listed");
                let rest = old.strip_prefix(from).expect("a name below the renamed one");
                names.insert(if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) }, number);
            }
        }
        _ => {}
    }
}

/// The folders whose sync makes a change of names durable.
fn folders(event: &Event) -> impl Iterator<Item = &Path> {
    let paths = match event {
        Event::Create(path, _) | Event::Remove(path) => [Some(path), None],
        Event::Rename(from, to) => [Some(from), Some(to)],
        _ => [None, None],
    };
    paths.into_iter().flatten().filter_map(|path| path.parent())
}
