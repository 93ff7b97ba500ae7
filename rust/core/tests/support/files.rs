//! Helpers that read and damage the files of a data directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// All files under `dir`, in order; empty if it does not exist.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(dir) else { return found };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// All files under `dir` with their bytes.
pub fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files(dir).into_iter().map(|path| (path.clone(), std::fs::read(&path).expect("a file"))).collect()
}

/// Copy a folder with its content; the target must not exist.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// Flip one bit.
pub fn flip(path: &Path, offset: usize, bit: usize) {
    let mut bytes = std::fs::read(path).expect("a file");
    bytes[offset] ^= 1 << (bit % 8);
    std::fs::write(path, bytes).expect("a file");
}
