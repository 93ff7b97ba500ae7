//! Files beside a store that may hold its texts and that no table names: incomplete copies that a kill left, and damaged
//! files that a restore moved aside.

use std::path::{Path, PathBuf};

use super::migration::{BACKUPS, MIGRATING};
use super::recovery::{ASIDE, BUILDING};

/// A file or folder that may hold texts, and when the user can delete it.
pub type Leftover = (PathBuf, &'static str);

/// Find the leftovers in `dir`, the folder of a store. A folder that cannot be read has none.
pub fn find(dir: &Path) -> Vec<Leftover> {
    // A migration notes its copy only when it is complete.
    let partial = names(&dir.join(BACKUPS))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "partial" || ending == "partial-journal"));
    let partial = partial.map(|path| (path, "if no program is upgrading the store, delete this file"));
    let folders = names(dir).into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?;
        let advice = match name {
            BUILDING | MIGRATING => "if no backup is being restored, delete this folder",
            _ if name.starts_with(ASIDE) => "delete this folder when you do not need the damaged files",
            _ => return None,
        };
        Some((path, advice))
    });
    partial.chain(folders).collect()
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs_err::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}
