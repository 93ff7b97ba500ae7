//! The place of an open store: whether `store.db`, its WAL and its shared memory are still the files that were opened.

use std::io;
use std::path::{Path, PathBuf};

use super::files;
use crate::error::{Error, Result};
use crate::platform::{self, Identity};

/// The files of an open store, as they were opened.
#[derive(Debug)]
pub struct Place {
    identity: Identity,
    /// The WAL and the shared memory of a store that is open for writing. `SQLite` keeps them until the last connection
    /// is closed. Beside another shared memory, processes do not see each other's locks.
    beside: Vec<(PathBuf, Identity)>,
}

impl Place {
    /// Note what stands beside `file`, whose connection is open and has read.
    pub fn new(file: &Path, identity: Identity, is_writable: bool) -> Self {
        let names = if is_writable { vec![files::wal_of(file), files::shared_memory_of(file)] } else { Vec::new() };
        let found =
            names.into_iter().filter_map(|name| platform::identity(&name).ok().map(|identity| (name, identity)));
        Self { identity, beside: found.collect() }
    }

    /// Refuse to go on if another file, or none, has the name of `file`, of its WAL or of its shared memory.
    ///
    /// # Errors
    /// [`Error::Storage`]: writes would go to a file without a name.
    pub fn check(&self, attempted: &str, file: &Path) -> Result<()> {
        check(attempted, file, self.identity)?;
        self.beside.iter().try_for_each(|(other, identity)| check(attempted, other, *identity))
    }

    /// Whether `SQLite` may close its connections. It writes the WAL that it has open into `store.db`, which keeps
    /// acknowledged writes if the WAL was only removed. It must not do so beside files of another process.
    pub fn may_be_closed(&self, file: &Path) -> bool {
        let replaced =
            |(other, opened): &(PathBuf, Identity)| platform::identity(other).is_ok_and(|found| found != *opened);
        check("close", file, self.identity).is_ok() && !self.beside.iter().any(replaced)
    }
}

fn check(attempted: &str, file: &Path, opened: Identity) -> Result<()> {
    match platform::identity(file) {
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
