//! Operations on projects: find by the identity of a repository, rename, merge.

use super::{Engine, redaction};
use crate::error::{Error, Result};
use crate::model::{Memory, Status, validate};
use crate::store::project::{self, Identity, Project};
use crate::store::project_merge::Clash;
use crate::store::{WriteTx, memory};

/// Result of a merge of projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Number of moved memories. The history, from which an undo is computed, holds nothing of a merge without memories.
    pub memories: usize,
    /// Keys that both projects had.
    pub clashes: Vec<Clash>,
}

impl Engine {
    /// All projects, ordered by name.
    pub fn projects(&self) -> Result<Vec<Project>> {
        project::list(&*self.enter()?.store.read()?)
    }

    /// The names of all projects, in order.
    pub fn project_names(&self) -> Result<Vec<String>> {
        project::all_names(&*self.enter()?.store.read()?)
    }

    /// The name of an identity's project. If there is none and `create` is set, the project is created.
    pub fn resolve_project(&self, identity: &Identity, create: bool) -> Result<Option<String>> {
        for value in identity.remotes.iter().chain(&identity.root_commits).chain(&identity.folder) {
            validate::name("project", value)?;
        }
        let shared = self.enter()?;
        {
            let at = shared.store.read()?;
            let found = project::find(&at, identity)?;
            if let Some(id) = found
                && (!create || project::knows(&at, id, identity)?)
            {
                return project::name_of(&at, id);
            }
            if !create {
                return Ok(None);
            }
        }
        shared.store.write(&shared.clock, self.writer(), |write| write.project_of(identity)).map(Some)
    }

    /// The name of an identity's project, or the name that a new project would get.
    pub fn project_name(&self, identity: &Identity) -> Result<String> {
        project::name_for(&*self.enter()?.store.read()?, identity)
    }

    /// Whether only the first commits of an identity, which it lacks, can tell which project it belongs to.
    pub fn needs_root_commits(&self, identity: &Identity) -> Result<bool> {
        project::needs_roots(&*self.enter()?.store.read()?, identity)
    }

    /// The folders of projects without remotes, one of which may be that of an identity without first commits.
    pub fn folders_without_remotes(&self, identity: &Identity) -> Result<Vec<String>> {
        project::folders_without_remotes(&*self.enter()?.store.read()?, identity)
    }

    /// Rename a project.
    pub fn rename_project(&self, old: &str, new: &str) -> Result<()> {
        validate::new_project_name(new)?;
        redaction::refuse("project", new)?;
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.rename_project(old, new))?;
        shared.indexer.notify();
        Ok(())
    }

    /// Move all rows of `source` into `target`. An undo brings the whole project back, if it had memories.
    pub fn merge_projects(&self, source: &str, target: &str) -> Result<Merged> {
        let shared = self.enter()?;
        let merged = shared.store.write(&shared.clock, self.writer(), |write| {
            let (from, to) = (project::existing(write, source)?, project::existing(write, target)?);
            if from == to {
                return Err(Error::invalid("project", format!("{source:?} cannot be merged into itself")));
            }
            let ids = memory::ids_in_project(write, from)?;
            for id in &ids {
                move_to(write, &memory::existing(write, id)?, to, target)?;
            }
            let clashes = write.absorb_project(from, source, to)?;
            Ok(Merged { memories: ids.len(), clashes })
        })?;
        shared.indexer.notify();
        Ok(merged)
    }
}

/// Move a memory. Active topics are unique per scope; if both scopes have the topic, the memory changed last keeps it.
fn move_to(write: &WriteTx<'_>, before: &Memory, project_id: i64, name: &str) -> Result<()> {
    let mut after =
        Memory { project_id, project: Some(name.to_owned()), updated_at: before.updated_at, ..before.clone() };
    if before.status == Status::Active
        && let Some(topic) = &before.topic
        && let Some(held) = memory::by_topic(write, project_id, topic)?
    {
        if held.updated_at > before.updated_at {
            after.status = Status::Superseded;
            after.superseded_by = Some(held.id);
        } else {
            write.record(&held.id, "supersede", Some(&held))?;
            let past = Memory { status: Status::Superseded, superseded_by: Some(before.id.clone()), ..held.clone() };
            write.replace(&held, &past)?;
        }
    }
    write.record(&before.id, "move", Some(before))?;
    write.replace(before, &after)?;
    Ok(())
}
