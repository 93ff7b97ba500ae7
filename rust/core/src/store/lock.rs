//! Locks between processes: files that a process locks for as long as it does something alone.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::files;
use crate::error::{Error, Result};

/// Name of the file that the process locks which restores a backup.
const RESTORE: &str = "restore.lock";

/// A lock that this process holds. Closing the file does not release it if a child forked meanwhile has the file open,
/// too.
pub struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.unlock(); // On failure, the lock ends when the last process closes the file.
    }
}

/// Lock the file `path`, which is created; `None` if another process or thread holds the lock. The lock is released when
/// the process ends, for any reason.
pub fn try_lock(path: &Path) -> Result<Option<Lock>> {
    files::create_file(path)?;
    // For reading as well, because Windows locks no file that is open for appending alone.
    let opened = File::options().read(true).append(true).open(path);
    let file = opened.map_err(|source| Error::storage("open", path, source))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(Error::storage("lock", path, source)),
    }
}

/// Take the lock of the process that restores a backup into `dir`, because the folders in which it works have fixed names.
///
/// # Errors
/// [`Error::Conflict`] if another process restores one.
pub fn lock_restore(dir: &Path) -> Result<Lock> {
    let refused = || Error::Conflict(format!("another process is restoring a backup into {}", dir.display()));
    try_lock(&dir.join(RESTORE))?.ok_or_else(refused)
}
