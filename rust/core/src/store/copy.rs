//! Writes a copy of a database, for a backup and before a migration.

use std::path::Path;

use rusqlite::Connection;

use super::interrupt::interruptible;
use super::{connection, files};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::platform;

/// Write a complete, compact copy of a database to `target`. Until it is complete, it has the name `partial`.
pub fn write(
    connection: &Connection,
    partial: &Path,
    target: &Path,
    attempted: &str,
    control: &Control<'_>,
) -> Result<()> {
    write_partial(connection, partial, target, attempted, control)?;
    crate::crash::point("backup:copied");
    publish(partial, target, attempted)
}

/// Write the copy under its first name.
pub fn write_partial(
    connection: &Connection,
    partial: &Path,
    target: &Path,
    attempted: &str,
    control: &Control<'_>,
) -> Result<()> {
    let name = partial.to_str().ok_or_else(|| Error::invalid("path", "is not UTF-8, which SQLite needs"))?;
    files::remove_if_there(partial)?;
    files::create_file(partial)?;
    let copied = interruptible(connection, control, || {
        connection
            .execute("VACUUM INTO ?1", [name])
            .map(drop)
            .map_err(|error| connection::describe(attempted, target, error))
    });
    if copied.is_err() {
        files::remove_if_there(partial)?;
    }
    copied
}

/// Give a complete copy its last name.
pub fn publish(partial: &Path, target: &Path, attempted: &str) -> Result<()> {
    let fail = |source| Error::storage(attempted, target, source);
    crate::durable::sync_file(partial).map_err(fail)?;
    platform::rename(partial, target).map_err(fail)?;
    crate::durable::sync_folder_of(target)
}
