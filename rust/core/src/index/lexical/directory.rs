//! Directories of the index without tantivy's locks.
//!
//! tantivy gives a lock back by closing its file. A child that the process starts meanwhile has the file open, too, until
//! it runs its own program, and so long the lock is taken and the index looks unusable. Writers hold the indexer lock
//! instead, which is unlocked.
//!
//! Readers take no lock, so read-only folders work and nothing is written (I4). The writer may delete a file of a commit
//! before a reader opened it. The reader then retries.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

use crate::platform;

/// A directory of files; writes are refused if it is only for reading.
#[derive(Debug, Clone)]
pub struct Unlocked {
    files: MmapDirectory,
    is_writable: bool,
}

impl Unlocked {
    /// Open `folder` for reading.
    pub fn for_reading(folder: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self { files: MmapDirectory::open(folder)?, is_writable: false })
    }

    /// Open `folder` for writing. The caller must hold the indexer lock.
    pub fn for_writing(folder: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self { files: MmapDirectory::open(folder)?, is_writable: true })
    }

    fn writable(&self) -> io::Result<&MmapDirectory> {
        let refused = || io::Error::new(io::ErrorKind::PermissionDenied, "an index that is only read");
        self.is_writable.then_some(&self.files).ok_or_else(refused)
    }
}

impl Directory for Unlocked {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.files.atomic_read(path)
    }

    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let refused = |error| DeleteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() };
        self.writable().map_err(refused)?.delete(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.writable().map_err(|error| OpenWriteError::wrap_io_error(error, path.to_owned()))?.open_write(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let files = self.writable()?;
        // Windows cannot replace a file while a reader has it open.
        platform::retry(|| files.atomic_write(path, data))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.writable()?.sync_directory()
    }
}
