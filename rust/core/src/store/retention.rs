//! Retention of rows that no memory owns: extraction states, dead jobs, backups and folders of projects.

use std::path::Path;

use rusqlite::Connection;

use super::WriteTx;
use super::backup::partial_names;
use crate::error::Result;

/// Folders of a project up to which none is dropped.
const FOLDERS: i64 = 64;

/// Rows that name files which are gone. They are searched before a write begins, because a network disk may be slow.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Gone {
    backups: Vec<String>,
    folders: Vec<(i64, String)>,
}

/// Backups from before `before_ms` whose file is gone, and gone folders of projects that have many folders and a remote.
///
/// A repository with a remote is recognised without its folder, so it keeps its memories if the folder comes back.
pub fn find_gone(connection: &Connection, before_ms: i64) -> Result<Gone> {
    let mut backups = connection.prepare_cached("SELECT path FROM backup WHERE at < ?1")?;
    let backups: Vec<String> = backups.query_map([before_ms], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut folders = connection.prepare_cached(
        "SELECT project, value FROM project_mark WHERE kind = 'folder' AND project IN (\
         SELECT project FROM project_mark WHERE kind = 'folder' GROUP BY project HAVING count(*) > ?1 \
         INTERSECT SELECT project FROM project_mark WHERE kind = 'remote')",
    )?;
    let rows = folders.query_map([FOLDERS], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let folders: Vec<(i64, String)> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(Gone {
        backups: backups
            .into_iter()
            .filter(|path| is_gone(path) && partial_names(path.as_ref()).iter().all(is_gone))
            .collect(),
        folders: folders.into_iter().filter(|(_, folder)| is_gone(folder)).collect(),
    })
}

/// Whether nothing has this name. A file that this process may not see is not gone.
fn is_gone(path: impl AsRef<Path>) -> bool {
    matches!(path.as_ref().try_exists(), Ok(false))
}

impl WriteTx<'_> {
    /// Delete the rows of files that are gone, extraction states of sessions without messages since `before_ms` with the
    /// rows of their digests, and jobs that died before it.
    ///
    /// A state that was deleted does no harm if the session goes on, because its messages stay processed.
    pub fn forget_leftovers(&self, gone: &Gone, before_ms: i64) -> Result<()> {
        for path in &gone.backups {
            // The file may have been written again since the search.
            self.execute("DELETE FROM backup WHERE path = ?1 AND at < ?2", (path, before_ms))?;
        }
        for (project, folder) in &gone.folders {
            self.execute(
                "DELETE FROM project_mark WHERE kind = 'folder' AND value = ?1 AND project = ?2",
                (folder, project),
            )?;
        }
        self.execute("DELETE FROM learning WHERE updated_at < ?1", [before_ms])?;
        // The mark of a digest is a copy of the state of its session. Without that state, no process can claim the session.
        self.execute(
            "DELETE FROM feed WHERE mark LIKE '{%' AND NOT EXISTS (\
             SELECT 1 FROM learning WHERE learning.session = feed.session)",
            [],
        )?;
        self.execute("DELETE FROM job WHERE dead_at < ?1", [before_ms])?;
        Ok(())
    }
}
