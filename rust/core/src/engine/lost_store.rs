//! Alarm for a store that was lost: its file is missing or empty, but its folder has traces of a store.
//!
//! `SQLite` takes an empty file for a new database. Without this check, a lost store would silently become an empty one.

use std::path::Path;

use crate::error::{Error, Result};
use crate::index::graph::snapshot;
use crate::index::lexical;
use crate::store::{BACKUPS, FILE, recovery};

/// Traces of an earlier store in `dir`, in words; empty if there are none.
fn traces(dir: &Path) -> Vec<&'static str> {
    let has_backup = std::fs::read_dir(dir.join(BACKUPS))
        .is_ok_and(|files| files.flatten().any(|file| file.path().extension().is_some_and(|found| found == "db")));
    let has_aside = std::fs::read_dir(dir)
        .is_ok_and(|files| files.flatten().any(|file| file.file_name().to_string_lossy().starts_with(recovery::ASIDE)));
    [
        (has_backup, "backups"),
        (lexical::folder(dir).exists() || snapshot::manifest_file(dir).exists(), "indexes"),
        (has_aside, "damaged files of an earlier store"),
    ]
    .into_iter()
    .filter_map(|(is_there, what)| is_there.then_some(what))
    .collect()
}

/// Refuse to begin a new store in a folder that has held another one.
///
/// # Errors
/// [`Error::CorruptStore`] if the store is missing or empty, and `dir` has traces of one.
pub fn refuse_lost_store(dir: &Path) -> Result<()> {
    let file = dir.join(FILE);
    let state = match fs_err::metadata(&file) {
        Ok(found) if found.len() == 0 => "is empty",
        Ok(_) => return Ok(()),
        Err(_) => "is missing",
    };
    let traces = traces(dir);
    if traces.is_empty() {
        return Ok(());
    }
    Err(Error::CorruptStore {
        path: file,
        message: format!(
            "{state}, but its folder has {} of a store. `opencode-memory backup list` shows the backups that can be \
             restored. To begin a new store, move the folder away",
            traces.join(" and ")
        ),
    })
}
