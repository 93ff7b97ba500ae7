//! The place of an open store: whether `store.db` and its WAL are still the files that were opened.

use std::io;
use std::path::{Path, PathBuf};

use super::open;
use crate::error::{Error, Result};

/// Device and inode of a file.
type Identity = (u64, u64);

/// The files of an open store, as they were opened.
#[derive(Debug)]
pub struct Place {
    identity: Identity,
    /// The WAL of a store that is open for writing. `SQLite` keeps it until the last connection is closed.
    wal: Option<(PathBuf, Identity)>,
}

impl Place {
    /// Note the WAL that stands beside `file`, whose connection is open and has read.
    pub fn new(file: &Path, identity: Identity, is_writable: bool) -> Self {
        let wal = open::wal_of(file);
        let found = if is_writable { open::identity(&wal).ok() } else { None };
        Self { identity, wal: found.map(|identity| (wal, identity)) }
    }

    /// Refuse to go on if another file, or none, has the name of `file` or of its WAL.
    ///
    /// # Errors
    /// [`Error::Storage`]: writes would go to a file without a name.
    pub fn check(&self, attempted: &str, file: &Path) -> Result<()> {
        check(attempted, file, self.identity)?;
        match &self.wal {
            Some((wal, identity)) => check(attempted, wal, *identity),
            None => Ok(()),
        }
    }

    /// Whether `SQLite` may close its connections. It writes the WAL that it has open into `store.db`, which keeps
    /// acknowledged writes if the WAL was only removed. It must not do so beside another file or another WAL.
    pub fn may_be_closed(&self, file: &Path) -> bool {
        let wal_was_replaced =
            || self.wal.as_ref().is_some_and(|(wal, opened)| open::identity(wal).is_ok_and(|found| found != *opened));
        check("close", file, self.identity).is_ok() && !wal_was_replaced()
    }
}

fn check(attempted: &str, file: &Path, opened: Identity) -> Result<()> {
    match open::identity(file) {
        Ok(found) if found == opened => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound && error.kind() != io::ErrorKind::NotADirectory => {
            Err(Error::storage(attempted, file, error))
        }
        found => {
            let what = if found.is_ok() { "replaced" } else { "removed or renamed" };
            let message = format!(
                "the file was {what} while it was open, so nothing is stored. Put it back, or restart the programs that \
                 use the store"
            );
            Err(Error::storage(attempted, file, io::Error::new(io::ErrorKind::NotFound, message)))
        }
    }
}
