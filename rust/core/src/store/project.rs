//! Projects: one id for all the remotes, root commits and folders by which a repository is recognised.
//!
//! A remote decides; else the folder (worktrees share the common git folder); else the root commit. One root commit never
//! merges two remotes, because forks and templates share it. A remote that is added later joins the project it is found in.
//! So does a renamed remote, if folder and root commits are the same.

use rusqlite::{Connection, OptionalExtension};

use super::WriteTx;
use crate::error::{Error, Result};
use crate::model::validate;

/// The marks by which a repository is recognised.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// `host/path` of its remotes, the most telling first.
    pub remotes: Vec<String>,
    /// Its first commits.
    pub root_commits: Vec<String>,
    /// Its common git folder, or the folder itself.
    pub folder: Option<String>,
}

/// A project and its marks.
#[derive(Debug, Clone)]
pub struct Project {
    /// Row.
    pub id: i64,
    /// Name.
    pub name: String,
    /// Memories in it, of every status.
    pub memories: usize,
    /// Remotes.
    pub remotes: Vec<String>,
    /// Root commits.
    pub root_commits: Vec<String>,
    /// Folders.
    pub folders: Vec<String>,
    /// When it was first seen.
    pub created_at: i64,
}

/// The row of a project's name; 0 is global.
pub fn id_of(connection: &Connection, name: Option<&str>) -> Result<Option<i64>> {
    let Some(name) = name else { return Ok(Some(0)) };
    Ok(connection
        .prepare_cached("SELECT id FROM project WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?)
}

/// The name of a project's row.
pub fn name_of(connection: &Connection, id: i64) -> Result<Option<String>> {
    Ok(connection
        .prepare_cached("SELECT name FROM project WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?)
}

/// The row of a project that must be there.
pub fn existing(connection: &Connection, name: &str) -> Result<i64> {
    id_of(connection, Some(name))?.ok_or_else(|| Error::not_found("project", name))
}

/// The project that an identity belongs to, without creating one.
pub fn find(connection: &Connection, identity: &Identity) -> Result<Option<i64>> {
    for remote in &identity.remotes {
        if let Some(&project) = projects_with_mark(connection, "remote", remote)?.first() {
            return Ok(Some(project));
        }
    }
    if let Some(folder) = &identity.folder {
        for project in projects_with_mark(connection, "folder", folder)? {
            // Another repository may stand in the folder now; its first commits tell.
            let known = marks(connection, project, "root")?;
            let same = if known.is_empty() || identity.root_commits.is_empty() {
                // A remote may be added later, but two sets of remotes without a common one are two repositories.
                identity.remotes.is_empty() || marks(connection, project, "remote")?.is_empty()
            } else {
                identity.root_commits.iter().any(|root| known.contains(root))
            };
            if same {
                return Ok(Some(project));
            }
        }
    }
    for root in &identity.root_commits {
        for project in projects_with_mark(connection, "root", root)? {
            if marks(connection, project, "remote")?.is_empty() {
                return Ok(Some(project));
            }
        }
    }
    unmarked(connection, identity)
}

/// Whether only its first commits can tell if an identity is that of a project which was seen in its folder with other
/// remotes. Reading them takes longer than everything else here.
pub fn needs_roots(connection: &Connection, identity: &Identity) -> Result<bool> {
    let Some(folder) = &identity.folder else { return Ok(false) };
    if !identity.root_commits.is_empty() || find(connection, identity)?.is_some() {
        return Ok(false);
    }
    for project in projects_with_mark(connection, "folder", folder)? {
        if !marks(connection, project, "root")?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The folders of the projects that only their folders and first commits tell. One of them may be in another folder now,
/// and have its first remote. None if the identity has its first commits, or is of a known project.
pub fn folders_without_remotes(connection: &Connection, identity: &Identity) -> Result<Vec<String>> {
    if !identity.root_commits.is_empty() || find(connection, identity)?.is_some() {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(
        "SELECT value FROM project_mark f WHERE kind = 'folder' \
         AND EXISTS (SELECT 1 FROM project_mark WHERE project = f.project AND kind = 'root') \
         AND NOT EXISTS (SELECT 1 FROM project_mark WHERE project = f.project AND kind = 'remote') ORDER BY value",
    )?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A project that has this name and no marks yet is taken for the same project.
fn unmarked(connection: &Connection, identity: &Identity) -> Result<Option<i64>> {
    for name in names(identity)? {
        match id_of(connection, Some(&name))? {
            Some(project) if is_unmarked(connection, project)? => return Ok(Some(project)),
            Some(_) => {}
            None => break,
        }
    }
    Ok(None)
}

/// The names that an identity's project may get, the plainest first.
fn names(identity: &Identity) -> Result<impl Iterator<Item = String>> {
    // The name of a folder may have control characters.
    let base = plain_name(identity)?.replace(validate::rewrites_a_line, "\u{fffd}");
    let numbered = base.clone();
    Ok(std::iter::once(base).chain((2..).map(move |number| format!("{numbered}~{number}"))))
}

fn is_unmarked(connection: &Connection, project: i64) -> Result<bool> {
    Ok(!connection.prepare_cached("SELECT 1 FROM project_mark WHERE project = ?1")?.exists([project])?)
}

impl WriteTx<'_> {
    /// The row of a project's name, created when it is new; then the name must be valid.
    pub fn project_named(&self, name: Option<&str>) -> Result<i64> {
        if let Some(id) = id_of(self, name)? {
            return Ok(id);
        }
        name.map_or(Ok(()), validate::new_project_name)?;
        self.execute("INSERT INTO project(name, created_at) VALUES (?1, ?2)", (name, self.now_ms))?;
        Ok(self.last_insert_rowid())
    }

    /// The project of an identity, created if needed; new parts of the identity are added to its marks.
    pub fn project_of(&self, identity: &Identity) -> Result<String> {
        let id = match find(self, identity)? {
            Some(id) => id,
            None => self.project_named(Some(&name_for(self, identity)?))?,
        };
        self.mark(id, "remote", &identity.remotes)?;
        self.mark(id, "root", &identity.root_commits)?;
        self.mark(id, "folder", identity.folder.as_slice())?;
        name_of(self, id)?.ok_or_else(|| Error::not_found("project", id.to_string()))
    }

    /// Add marks to a project; a remote or a folder that another project holds stays there.
    pub fn mark(&self, project: i64, kind: &str, values: &[String]) -> Result<()> {
        for value in values {
            if kind == "folder" {
                // The repository in the folder was replaced; the folder belongs to the current one.
                self.execute(
                    "DELETE FROM project_mark WHERE kind = 'folder' AND value = ?1 AND project <> ?2",
                    (value, project),
                )?;
            }
            if kind == "remote" && !projects_with_mark(self, kind, value)?.is_empty() {
                continue;
            }
            self.execute(
                "INSERT OR IGNORE INTO project_mark(kind, value, project) VALUES (?1, ?2, ?3)",
                (kind, value, project),
            )?;
        }
        Ok(())
    }

    /// Add a project of an export with its marks, each kind with its values; whether the project is new here. The
    /// earlier time of its creation counts.
    pub fn restore_project(&self, name: &str, created_at: i64, marks: [(&str, &[String]); 3]) -> Result<bool> {
        let is_new = id_of(self, Some(name))?.is_none();
        let id = self.project_named(Some(name))?;
        self.execute("UPDATE project SET created_at = min(created_at, ?2) WHERE id = ?1", (id, created_at))?;
        for (kind, values) in marks {
            self.mark(id, kind, values)?;
        }
        Ok(is_new)
    }

    /// Give a project another name.
    pub fn rename_project(&self, old: &str, new: &str) -> Result<()> {
        let id = existing(self, old)?;
        if id_of(self, Some(new))?.is_some() {
            return Err(Error::Conflict(format!(
                "project {new:?} exists already; `opencode-memory projects merge` moves the memories of one into another"
            )));
        }
        self.execute("UPDATE project SET name = ?2 WHERE id = ?1", (id, new))?;
        // The history names projects, and is asked, and undone, by the names that they have now. A project that was
        // merged away may have had the same name; rows of an import have ids of another store.
        self.execute(
            "UPDATE history SET before = json_set(before, '$.project', ?2) WHERE before ->> '$.project' = ?1 \
             AND (before ->> '$.project_id' = ?3 OR operation < 0)",
            (old, new, id),
        )?;
        Ok(())
    }
}

/// The name that an identity's project has, or would get: the plainest that no other project has.
pub fn name_for(connection: &Connection, identity: &Identity) -> Result<String> {
    if let Some(id) = find(connection, identity)? {
        return name_of(connection, id)?.ok_or_else(|| Error::not_found("project", id.to_string()));
    }
    for name in names(identity)? {
        if id_of(connection, Some(&name))?.is_none() {
            return Ok(name);
        }
    }
    Err(Error::Conflict("every name that this project could have is taken".into()))
}

fn plain_name(identity: &Identity) -> Result<String> {
    if let Some(remote) = identity.remotes.first() {
        Ok(remote.clone())
    } else if let Some(root) = identity.root_commits.first() {
        let folder = identity.folder.as_deref().and_then(|folder| folder.trim_end_matches('/').rsplit('/').next());
        let root: String = root.chars().take(12).collect();
        Ok(format!("{}@{root}", folder.filter(|name| !name.is_empty()).unwrap_or("git")))
    } else if let Some(folder) = &identity.folder {
        Ok(folder.clone())
    } else {
        Err(Error::invalid("project", "an identity needs a remote, a root commit or a folder"))
    }
}

/// The names of all projects, in order.
pub fn all_names(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT name FROM project ORDER BY name")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Every project with its marks, by name. It counts the memories, which takes longer the more there are.
pub fn list(connection: &Connection) -> Result<Vec<Project>> {
    let mut statement = connection.prepare_cached(
        "SELECT p.id, p.name, p.created_at, (SELECT count(*) FROM memory m WHERE m.project = p.id) FROM project p ORDER BY p.name",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, i64>(3)?)))?;
    let rows: Vec<(i64, String, i64, i64)> = rows.collect::<rusqlite::Result<_>>()?;
    rows.into_iter()
        .map(|(id, name, created_at, memories)| {
            Ok(Project {
                id,
                name,
                memories: memories as usize,
                remotes: marks(connection, id, "remote")?,
                root_commits: marks(connection, id, "root")?,
                folders: marks(connection, id, "folder")?,
                created_at,
            })
        })
        .collect()
}

fn projects_with_mark(connection: &Connection, kind: &str, value: &str) -> Result<Vec<i64>> {
    let mut statement = connection
        .prepare_cached("SELECT project FROM project_mark WHERE kind = ?1 AND value = ?2 ORDER BY project")?;
    let rows = statement.query_map((kind, value), |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn marks(connection: &Connection, project: i64, kind: &str) -> Result<Vec<String>> {
    let mut statement =
        connection.prepare_cached("SELECT value FROM project_mark WHERE project = ?1 AND kind = ?2 ORDER BY value")?;
    let rows = statement.query_map((project, kind), |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether a project carries every mark of an identity, so that no write is needed.
pub fn knows(connection: &Connection, project: i64, identity: &Identity) -> Result<bool> {
    for (kind, values) in [
        ("remote", identity.remotes.as_slice()),
        ("root", &identity.root_commits),
        ("folder", identity.folder.as_slice()),
    ] {
        for value in values {
            let holders = projects_with_mark(connection, kind, value)?;
            // A remote of another project stays there, so it needs no write either.
            if !holders.contains(&project) && (kind != "remote" || holders.is_empty()) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_root_commit_is_cut_between_characters() {
        let name =
            |root: &str| plain_name(&Identity { root_commits: vec![root.to_owned()], ..Identity::default() }).unwrap();
        assert_eq!(name("0123456789abcdef"), "git@0123456789ab");
        assert_eq!(name("aé"), "git@aé");
        assert_eq!(name(&format!("a{}", "é".repeat(20))), format!("git@a{}", "é".repeat(11)));
    }
}
