//! Writes a copy of a database, for a backup and before a migration.

use std::io;
use std::path::Path;

use rusqlite::Connection;

use super::interrupt::interruptible;
use super::{connection, files};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::platform::{self, Identity};

/// A complete, compact copy of a database.
pub struct DatabaseCopy<'a> {
    /// Its name until it is complete.
    pub partial: &'a Path,
    /// Its name from then on.
    pub target: &'a Path,
    /// What the caller does, for errors.
    pub attempted: &'a str,
}

impl DatabaseCopy<'_> {
    /// Write the copy under its first name; returns the identity of its file.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another process writes a copy of the same names.
    pub fn write_partial(&self, connection: &Connection, control: &Control<'_>) -> Result<Identity> {
        let name = self.partial.to_str().ok_or_else(|| Error::invalid("path", "is not UTF-8, which SQLite needs"))?;
        let fail = |source| Error::storage(self.attempted, self.target, source);
        self.remove_partial()?;
        platform::create_private_file(self.partial).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => self.conflict(),
            _ => fail(source),
        })?;
        let own = platform::identity(self.partial).map_err(fail)?;
        let copied = interruptible(connection, control, || {
            connection
                .execute("VACUUM INTO ?1", [name])
                .map(drop)
                .map_err(|error| connection::describe(self.attempted, self.target, error))
        });
        match copied {
            Ok(()) => Ok(own),
            Err(error) if self.is_own(own) => {
                self.remove_partial()?;
                Err(error)
            }
            Err(Error::Interrupted) => Err(Error::Interrupted),
            Err(_) => Err(self.conflict()),
        }
    }

    /// Give the complete copy, whose file is `own`, its last name.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another process has removed this file, because it writes a copy of the same names. Its file
    /// may be incomplete, so it must not get the last name yet.
    pub fn publish(&self, own: Identity) -> Result<()> {
        let fail = |source| Error::storage(self.attempted, self.target, source);
        let synced = crate::durable::sync_file(self.partial);
        if !self.is_own(own) {
            return Err(self.conflict());
        }
        synced.map_err(fail)?;
        platform::rename(self.partial, self.target).map_err(fail)?;
        crate::durable::sync_folder_of(self.target)
    }

    /// Remove what another process that was killed may have left. `SQLite` would apply its journal to the new copy.
    fn remove_partial(&self) -> Result<()> {
        files::remove_if_there(&files::journal_of(self.partial))?;
        files::remove_if_there(self.partial)
    }

    fn conflict(&self) -> Error {
        Error::Conflict(format!("another process is writing {} as well", self.target.display()))
    }

    fn is_own(&self, own: Identity) -> bool {
        platform::identity(self.partial).is_ok_and(|found| found == own)
    }
}
