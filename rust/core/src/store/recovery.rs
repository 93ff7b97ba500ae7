//! Recovery of a store that cannot be used: whether its file is sound, and a restore that replaces the file.
//!
//! [`Store::restore`] writes rows into the open store, so other processes go on with the restored state. It needs an
//! undamaged file. [`restore_beside`] needs none: it builds the restored store in a folder of its own, moves the damaged
//! files aside without opening them, and renames the new file into their place.

use std::path::{Path, PathBuf};

use super::{FILE, Store, check, connection, files, lock, open, schema};
use crate::control::Control;
use crate::error::{Error, ErrorKind, Result};
use crate::platform;

/// Beginning of the name of a folder with damaged files that a restore moved aside.
pub const ASIDE: &str = "damaged-";
/// Folder in which a restored store is built.
pub const BUILDING: &str = "restoring";
/// Parts of a store on disk: the file first, so that a restore that is killed leaves no store with a foreign WAL.
/// `SQLite` would apply a journal to the restored file.
const PARTS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Result of a restore that replaced the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// Number of restored memories.
    pub memories: usize,
    /// Folder with the files that were in the way; `None` if there were none.
    pub aside: Option<PathBuf>,
}

/// Whether the store in `dir` can be opened and its pages are sound. Nothing is changed.
///
/// # Errors
/// [`Error::Busy`] and [`Error::FormatVersion`]: these stores are not damaged. [`Error::Interrupted`]: the caller stopped
/// the check.
pub fn is_sound(dir: &Path, control: &Control<'_>) -> Result<bool> {
    let file = dir.join(FILE);
    if !file.exists() {
        return Ok(false);
    }
    match examine(&file, control) {
        Ok(is_sound) => Ok(is_sound),
        Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::FormatVersion | ErrorKind::Interrupted) => {
            Err(error)
        }
        // An I/O error of a failing disk needs a restore as well.
        Err(_) => Ok(false),
    }
}

/// The first damage of the pages and of `SQLite`'s indexes in the store in `dir`; `None` if there is none.
///
/// It takes about a second for 100,000 memories, so opening a store does not ask.
pub fn first_damage(dir: &Path, control: &Control<'_>) -> Result<Option<String>> {
    let file = dir.join(FILE);
    let connection = connection::reader(&file, open::read_access(&file)?)?;
    check::first_damage(&connection, "integrity_check", &file, control)
}

/// Restore a backup into `dir` by replacing the file. Files that are in the way are moved aside unopened.
///
/// # Errors
/// [`Error::CorruptStore`] if the backup is damaged, and [`Error::Conflict`] if another process restores one or has just
/// restored one; nothing is changed then.
pub fn restore_beside(dir: &Path, source: &Path, now_ms: i64, control: &Control<'_>) -> Result<Replaced> {
    files::create_folder(dir)?;
    let _lock = lock::lock_restore(dir)?;
    // Another process may have restored the store since the caller looked. Its file may have new memories already.
    if is_sound(dir, control)? {
        return Err(Error::Conflict(format!("{} is not damaged any more, so nothing was restored", dir.display())));
    }
    let building = dir.join(BUILDING);
    files::remove_if_there(&building)?;
    let restored = build(&building, source, now_ms, control);
    let memories = match restored {
        Ok(memories) => memories,
        Err(error) => {
            files::remove_if_there(&building)?;
            return Err(error);
        }
    };
    crate::crash::point("recovery:built");
    let aside = move_aside(dir, now_ms)?;
    crate::crash::point("recovery:moved");
    let file = dir.join(FILE);
    platform::rename(&building.join(FILE), &file).map_err(|source| Error::storage("restore", &file, source))?;
    crate::durable::sync_folder_of(&file)?;
    crate::crash::point("recovery:replaced");
    files::remove_if_there(&building)?;
    Ok(Replaced { memories, aside })
}

/// Build the restored store in a folder of its own. Its closing folds the WAL into the file.
fn build(building: &Path, source: &Path, now_ms: i64, control: &Control<'_>) -> Result<usize> {
    let store = Store::open(building, false, now_ms)?;
    let memories = store.restore(source, control)?;
    store.close();
    let file = building.join(FILE);
    crate::durable::sync_file(&file).map_err(|error| Error::storage("sync", &file, error))?;
    Ok(memories)
}

/// Move the files of a store into a new folder; returns it, or `None` if there was no file.
fn move_aside(dir: &Path, now_ms: i64) -> Result<Option<PathBuf>> {
    let found: Vec<String> =
        PARTS.iter().map(|part| format!("{FILE}{part}")).filter(|name| dir.join(name).exists()).collect();
    if found.is_empty() {
        return Ok(None);
    }
    let mut number = now_ms;
    let mut aside = dir.join(format!("{ASIDE}{number}"));
    while aside.exists() {
        number += 1;
        aside = dir.join(format!("{ASIDE}{number}"));
    }
    files::create_folder(&aside)?;
    for name in found {
        let (from, to) = (dir.join(&name), aside.join(&name));
        platform::rename(&from, &to).map_err(|error| Error::storage("move", &from, error))?;
    }
    crate::durable::sync_folder_of(&dir.join(FILE))?;
    Ok(Some(aside))
}

fn examine(file: &Path, control: &Control<'_>) -> Result<bool> {
    let connection = connection::reader(file, open::read_access(file)?)?;
    if schema::inspect(&connection, file)? == schema::Found::Nothing {
        return Ok(false);
    }
    Ok(check::first_damage(&connection, "quick_check", file, control)?.is_none())
}
