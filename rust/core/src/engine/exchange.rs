//! Export and import of all rows as JSON, complete and without loss.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::curate::one_line;
use super::kv::check_key;
use super::{Engine, document as documents, redaction};
use crate::error::{Error, Result};
use crate::model::{Trust, validate};
use crate::store::history::{self, Recorded};
use crate::store::{WriteTx, document, kv, link, memory, project};

/// One page of an export.
#[derive(Debug)]
pub struct Dumped {
    /// JSON objects.
    pub rows: Vec<String>,
    /// The cursor of the next page; `None` after the last.
    pub next: Option<i64>,
}

/// The result of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Rows that were added.
    pub added: usize,
    /// Rows that existed already.
    pub known: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryRow {
    operation: i64,
    memory: String,
    at: i64,
    kind: String,
    actor: String,
    undone_by: Option<i64>,
    before: Option<crate::model::Memory>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkRow {
    source: String,
    target: String,
    kind: String,
    weight: f64,
    reason: String,
    created_at: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KvRow {
    project: Option<String>,
    key: String,
    value: Value,
    created_at: i64,
    updated_at: i64,
    expires_at: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentRow {
    kind: String,
    name: String,
    project: Option<String>,
    created_at: i64,
    updated_at: i64,
    body: Value,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectRow {
    name: String,
    remotes: Vec<String>,
    root_commits: Vec<String>,
    folders: Vec<String>,
    created_at: i64,
}

impl Engine {
    /// Read a page of one kind: `project`, `memory`, `link`, `history`, `kv` or `document`. `cursor` is 0 for the first page.
    pub fn dump(&self, kind: &str, cursor: i64, limit: usize) -> Result<Dumped> {
        let shared = self.enter()?;
        let at = shared.store.read()?;
        let (rows, next): (Vec<String>, i64) = match kind {
            "memory" => {
                let page = memory::page(&at, cursor, limit)?;
                let next = page.last().map_or(0, |last| last.key);
                (page.iter().map(memory_json).collect::<Result<_>>()?, next)
            }
            "history" => {
                let page = history::page(&at, cursor, limit)?;
                let next = page.last().map_or(0, |last| last.seq);
                (page.into_iter().map(|row| to_json(&HistoryRow::from(row))).collect::<Result<_>>()?, next)
            }
            "link" => {
                let page = link::page(&at, cursor as usize, limit)?;
                let next = cursor + page.len() as i64;
                (page.into_iter().map(|row| to_json(&LinkRow::from(row))).collect::<Result<_>>()?, next)
            }
            "document" => {
                let page = document::page(&at, cursor as usize, limit)?;
                let next = cursor + page.len() as i64;
                let rows = page.into_iter().map(|row| {
                    let body = serde_json::from_str(&row.body)
                        .map_err(|error| unreadable(&format!("the {} {}", row.kind, row.name), &error))?;
                    let document::Document { kind, name, project, created_at, updated_at, .. } = row;
                    to_json(&DocumentRow { kind, name, project, created_at, updated_at, body })
                });
                (rows.collect::<Result<_>>()?, next)
            }
            "project" if cursor == 0 => (
                project::list(&at)?.into_iter().map(|row| to_json(&ProjectRow::from(row))).collect::<Result<_>>()?,
                1,
            ),
            "kv" if cursor == 0 => {
                let rows = kv::all(&at, shared.clock.now_ms())?;
                let rows = rows.into_iter().map(|(project_id, row)| {
                    to_json(&KvRow {
                        project: project::name_of(&at, project_id)?,
                        key: row.name,
                        value: serde_json::from_str(&row.value).map_err(|error| unreadable("a value", &error))?,
                        created_at: row.created_at,
                        updated_at: row.updated_at,
                        expires_at: row.expires_at,
                    })
                });
                (rows.collect::<Result<_>>()?, 1)
            }
            "project" | "kv" => (Vec::new(), 0),
            other => return Err(Error::invalid("kind", format!("{other:?} is not a kind of row that is exported"))),
        };
        let is_last =
            rows.is_empty() || (matches!(kind, "memory" | "history" | "link" | "document") && rows.len() < limit);
        Ok(Dumped { next: (!is_last).then_some(next), rows })
    }

    /// Write rows of an export. `memory` rows go through `remember_many` instead. A second run changes nothing.
    pub fn load(&self, kind: &str, rows: &[String]) -> Result<Loaded> {
        let shared = self.enter()?;
        let clean = rows
            .iter()
            .map(|row| {
                let mut row = row.clone();
                redaction::Kinds::default().clean_json("import", &mut row)?;
                Ok(row)
            })
            .collect::<Result<Vec<String>>>()?;
        let loaded = shared.store.write(&shared.clock, self.writer(), |write| {
            let added = match kind {
                "project" => load_projects(write, &clean)?,
                "link" => load_links(write, &clean)?,
                "history" => load_history(write, &clean)?,
                "kv" => load_values(write, &clean)?,
                "document" => load_documents(write, &clean)?,
                other => return Err(Error::invalid("kind", format!("{other:?} is not a kind of row that is loaded"))),
            };
            Ok(Loaded { added, known: rows.len() - added })
        })?;
        shared.indexer.notify();
        Ok(loaded)
    }
}

fn load_projects(write: &WriteTx<'_>, rows: &[String]) -> Result<usize> {
    let mut added = 0;
    for row in parse::<ProjectRow>(rows)? {
        row.check()?;
        let marks = [("remote", &row.remotes[..]), ("root", &row.root_commits), ("folder", &row.folders)];
        added += usize::from(write.restore_project(&row.name, row.created_at, marks)?);
    }
    Ok(added)
}

fn load_links(write: &WriteTx<'_>, rows: &[String]) -> Result<usize> {
    let mut added = 0;
    for row in parse::<LinkRow>(rows)? {
        row.check()?;
        added += write.restore_link(&link::Link {
            source: row.source,
            target: row.target,
            kind: row.kind,
            weight: row.weight,
            reason: one_line(&row.reason),
            created_at: row.created_at,
        })?;
    }
    Ok(added)
}

fn load_history(write: &WriteTx<'_>, rows: &[String]) -> Result<usize> {
    let rows =
        parse::<HistoryRow>(rows)?.into_iter().map(HistoryRow::into_recorded).collect::<Result<Vec<Recorded>>>()?;
    history::restore_rows(write, &rows)
}

fn load_values(write: &WriteTx<'_>, rows: &[String]) -> Result<usize> {
    let mut added = 0;
    for row in parse::<KvRow>(rows)? {
        row.check()?;
        let project_id = write.project_named(row.project.as_deref())?;
        let value = kv::Value {
            name: row.key,
            value: row.value.to_string(),
            created_at: row.created_at,
            updated_at: row.updated_at,
            expires_at: row.expires_at,
        };
        added += write.kv_restore(project_id, &value)?;
    }
    Ok(added)
}

fn load_documents(write: &WriteTx<'_>, rows: &[String]) -> Result<usize> {
    let mut added = 0;
    for row in parse::<DocumentRow>(rows)? {
        let body = row.body.to_string();
        check_times(row.created_at, row.updated_at)?;
        documents::check(&row.kind, &row.name, row.project.as_deref(), &body)?;
        added += write.restore_document(&document::Document {
            kind: row.kind,
            name: row.name,
            project: row.project,
            version: 1,
            created_at: row.created_at,
            updated_at: row.updated_at,
            body,
        })?;
    }
    Ok(added)
}

/// Render a memory for an export, without values that are valid in this store only.
fn memory_json(memory: &crate::model::Memory) -> Result<String> {
    let mut value = serde_json::to_value(memory).map_err(|error| Error::invalid("memory", error.to_string()))?;
    if let Value::Object(members) = &mut value {
        members.remove("key");
        members.remove("project_id");
        members.insert("uses".into(), json!(memory.uses));
        members.insert("used_at".into(), json!(memory.used_at));
        let metadata = serde_json::from_str(&memory.metadata).map_err(|error| unreadable(&memory.id, &error))?;
        members.insert("metadata".into(), metadata);
    }
    Ok(value.to_string())
}

// A file may contain any number and any text. A row with a time that no reader can convert would make the list of all rows
// unreadable, so a row has to keep the rules of the operation that writes such rows.

impl ProjectRow {
    fn check(&self) -> Result<()> {
        validate::project_name(&self.name)?;
        let mut marks = self.remotes.iter().chain(&self.root_commits).chain(&self.folders);
        marks.try_for_each(|mark| validate::name("project", mark))?;
        validate::time("created_at", Some(self.created_at))
    }
}

impl LinkRow {
    fn check(&self) -> Result<()> {
        validate::name("kind", &self.kind)?;
        validate::weight(self.weight)?;
        validate::time("created_at", Some(self.created_at))
    }
}

impl KvRow {
    fn check(&self) -> Result<()> {
        self.project.as_deref().map_or(Ok(()), validate::project_name)?;
        check_key("key", &self.key)?;
        validate::json_value("value", &self.value.to_string())?;
        validate::time("expires_at", self.expires_at)?;
        check_times(self.created_at, self.updated_at)
    }
}

fn check_times(created_at: i64, updated_at: i64) -> Result<()> {
    validate::time("created_at", Some(created_at))?;
    validate::time("updated_at", Some(updated_at))
}

/// The error for damaged JSON in the store. The caller that knows the path of the file adds it.
fn unreadable(what: &str, error: &serde_json::Error) -> Error {
    let message = format!("{what} cannot be read ({error}); run `opencode-memory verify` for details");
    Error::CorruptStore { path: std::path::PathBuf::new(), message }
}

fn to_json<T: Serialize>(row: &T) -> Result<String> {
    serde_json::to_string(row).map_err(|error| Error::invalid("export", error.to_string()))
}

fn parse<T: for<'de> Deserialize<'de>>(rows: &[String]) -> Result<Vec<T>> {
    rows.iter()
        .map(|row| {
            serde_json::from_str(row).map_err(|error| Error::invalid("import", format!("a row is invalid: {error}")))
        })
        .collect()
}

impl From<Recorded> for HistoryRow {
    fn from(row: Recorded) -> Self {
        Self {
            operation: row.operation,
            memory: row.id,
            at: row.at,
            kind: row.kind,
            actor: row.actor.as_str().to_owned(),
            undone_by: row.undone_by,
            before: row.before,
        }
    }
}

impl HistoryRow {
    fn into_recorded(self) -> Result<Recorded> {
        validate::time("at", Some(self.at))?;
        self.before.as_ref().map_or(Ok(()), validate::times)?;
        Ok(Recorded {
            seq: 0,
            operation: self.operation,
            id: self.memory,
            at: self.at,
            kind: self.kind,
            actor: Trust::parse(&self.actor)?,
            undone_by: self.undone_by,
            before: self.before,
        })
    }
}

impl From<link::Link> for LinkRow {
    fn from(row: link::Link) -> Self {
        Self {
            source: row.source,
            target: row.target,
            kind: row.kind,
            weight: row.weight,
            reason: row.reason,
            created_at: row.created_at,
        }
    }
}

impl From<project::Project> for ProjectRow {
    fn from(row: project::Project) -> Self {
        Self {
            name: row.name,
            remotes: row.remotes,
            root_commits: row.root_commits,
            folders: row.folders,
            created_at: row.created_at,
        }
    }
}
