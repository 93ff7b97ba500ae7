//! Conversion between Python and the core: dictionaries in and out, times as UTC milliseconds, enums by name.

use opencode_memory_core::model::memory::Patch;
use opencode_memory_core::model::report::{HistoryEntry, Operation, Related, Remembered};
use opencode_memory_core::model::{Category, Hit, Memory, NewMemory, Scope, Selection, Signal, Source, Status, Trust};
use opencode_memory_core::store::history::Recorded;
use opencode_memory_core::store::kv;
use opencode_memory_core::store::project::Project;
use opencode_memory_core::{Error, Result};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::to_exception;

/// The result of a write: id, outcome, kinds of redacted secrets, ids of replaced memories.
pub type Written = (String, &'static str, Vec<&'static str>, Vec<String>);

/// Convert the result of a write.
pub fn written(result: Remembered) -> Written {
    (result.id, result.outcome.as_str(), result.redactions, result.replaced)
}

/// A memory to be written, read from a dictionary that has every key.
pub struct GivenMemory(pub NewMemory);

impl<'py> FromPyObject<'_, 'py> for GivenMemory {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let source = given.get_item("source")?;
        Ok(Self(NewMemory {
            content: item(&given, "content")?,
            category: member(&given, "category", Category::parse)?,
            project: item(&given, "project")?,
            topic: item(&given, "topic")?,
            session: item(&given, "session")?,
            position: item(&given, "position")?,
            speaker: item(&given, "speaker")?,
            time: item(&given, "time")?,
            expires_at: item(&given, "expires_at")?,
            source: Source {
                tool: item(&source, "tool")?,
                session: item(&source, "session")?,
                message: item(&source, "message")?,
                file: item(&source, "file")?,
                line: item(&source, "line")?,
                commit: item(&source, "commit")?,
            },
            entities: item(&given, "entities")?,
            tags: item(&given, "tags")?,
            trust: member(&given, "trust", Trust::parse)?,
            pinned: item(&given, "pinned")?,
            status: member(&given, "status", Status::parse)?,
            confidence: item(&given, "confidence")?,
            metadata: item::<Option<String>>(&given, "metadata")?.unwrap_or_else(|| "{}".to_owned()),
            id: item(&given, "id")?,
            created_at: item(&given, "created_at")?,
            updated_at: item(&given, "updated_at")?,
            verified_at: item(&given, "verified_at")?,
            superseded_by: item(&given, "superseded_by")?,
            remind_at: item(&given, "remind_at")?,
            remind_every: item(&given, "remind_every")?,
            review_after: item(&given, "review_after")?,
            review_every: item(&given, "review_every")?,
            stored_at: item(&given, "stored_at")?,
        }))
    }
}

fn item<'py, T: FromPyObjectOwned<'py>>(given: &Bound<'py, PyAny>, name: &str) -> PyResult<T> {
    given.get_item(name)?.extract().map_err(Into::into)
}

/// Parse the name of an enum member in a dictionary.
fn member<T>(given: &Bound<'_, PyAny>, name: &str, parse: fn(&str) -> Result<T>) -> PyResult<T> {
    parse(&item::<String>(given, name)?).map_err(|error| to_exception(given.py(), &error))
}

/// A filter of memories, read from a dictionary that has every key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct GivenSelection {
    /// `everything`, `global` or `project`.
    scope: String,
    project: Option<String>,
    with_global: bool,
    categories: Vec<String>,
    statuses: Vec<String>,
    since: Option<i64>,
    until: Option<i64>,
    created_before: Option<i64>,
    entity: Option<String>,
    tag: Option<String>,
    with_expired: bool,
    pinned_only: bool,
}

impl GivenSelection {
    /// Convert to the core's type.
    pub fn into_core(self) -> Result<Selection> {
        let scope = match (self.scope.as_str(), self.project) {
            ("everything", _) if self.with_global => Scope::Everything,
            ("everything", _) => Scope::EveryProject,
            ("project", Some(name)) => Scope::Project { name, with_global: self.with_global },
            ("global", _) => Scope::Global,
            (other, _) => return Err(Error::invalid("scope", format!("{other:?} needs a project, or is unknown"))),
        };
        Ok(Selection {
            scope,
            categories: self.categories.iter().map(|name| Category::parse(name)).collect::<Result<_>>()?,
            statuses: self.statuses.iter().map(|name| Status::parse(name)).collect::<Result<_>>()?,
            since: self.since,
            until: self.until,
            created_before: self.created_before,
            entity: self.entity,
            tag: self.tag,
            with_expired: self.with_expired,
            pinned_only: self.pinned_only,
        })
    }
}

/// Read a patch from a dictionary whose keys are the fields to change. Category and trust are returned as names.
pub fn patch(given: &Bound<'_, PyDict>) -> PyResult<(Patch, Option<String>, Option<String>)> {
    let mut patch = Patch::default();
    let (mut category, mut trust) = (None, None);
    for (name, value) in given.iter() {
        match name.extract::<String>()?.as_str() {
            "content" => patch.content = Some(value.extract()?),
            "category" => category = Some(value.extract()?),
            "topic" => patch.topic = Some(value.extract()?),
            "tags" => patch.tags = Some(value.extract()?),
            "entities" => patch.entities = Some(value.extract()?),
            "expires_at" => patch.expires_at = Some(value.extract()?),
            "time" => patch.time = Some(value.extract()?),
            "metadata" => patch.metadata = Some(value.extract()?),
            "project" => patch.project = Some(value.extract()?),
            "trust" => trust = Some(value.extract()?),
            "verified" => patch.verified = value.extract()?,
            "remind_at" => patch.remind_at = Some(value.extract()?),
            "remind_every" => patch.remind_every = Some(value.extract()?),
            "review_after" => patch.review_after = Some(value.extract()?),
            "review_every" => patch.review_every = Some(value.extract()?),
            other => {
                return Err(pyo3::exceptions::PyTypeError::new_err(format!("a memory has no field {other:?} to edit")));
            }
        }
    }
    Ok((patch, category, trust))
}

macro_rules! dict {
    ($py:expr, $($name:literal : $value:expr),+ $(,)?) => {{
        let dict = PyDict::new($py);
        $(dict.set_item(pyo3::intern!($py, $name), $value)?;)+
        dict
    }};
}
pub(crate) use dict;

/// Convert a memory to a dictionary.
pub fn memory<'py>(py: Python<'py>, memory: &Memory) -> PyResult<Bound<'py, PyDict>> {
    let source = &memory.source;
    Ok(dict!(py,
        "id": &memory.id,
        "key": memory.key,
        "content": &memory.content,
        "category": memory.category.as_str(),
        "project": memory.project.as_deref(),
        "topic": memory.topic.as_deref(),
        "status": memory.status.as_str(),
        "trust": memory.trust.as_str(),
        "pinned": memory.pinned,
        "session": memory.session.as_deref(),
        "position": memory.position,
        "speaker": memory.speaker.as_deref(),
        "time": memory.time,
        "source": (
            source.tool.as_deref(),
            source.session.as_deref(),
            source.message.as_deref(),
            source.file.as_deref(),
            source.line,
            source.commit.as_deref(),
        ),
        "entities": &memory.entities,
        "tags": &memory.tags,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "verified_at": memory.verified_at,
        "expires_at": memory.expires_at,
        "used_at": memory.used_at,
        "uses": memory.uses,
        "superseded_by": memory.superseded_by.as_deref(),
        "remind_at": memory.remind_at,
        "remind_every": memory.remind_every,
        "review_after": memory.review_after,
        "review_every": memory.review_every,
        "confidence": memory.confidence,
        "metadata": &memory.metadata,
    ))
}

/// Convert memories to dictionaries.
pub fn memories<'py>(py: Python<'py>, found: &[Memory]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    found.iter().map(|found| memory(py, found)).collect()
}

/// Convert a hit to a dictionary.
pub fn hit<'py>(py: Python<'py>, hit: &Hit) -> PyResult<Bound<'py, PyDict>> {
    let signals = hit.signals.iter().map(|found| signal(py, found)).collect::<PyResult<Vec<_>>>()?;
    Ok(dict!(py,
        "memory": memory(py, &hit.memory)?,
        "score": hit.score,
        "rank": hit.rank,
        "relevance": hit.relevance,
        "floor": hit.floor,
        "signals": signals,
    ))
}

/// Convert a contribution to a score.
pub fn signal<'py>(py: Python<'py>, signal: &Signal) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "name": signal.name,
        "raw": signal.raw,
        "rank": signal.rank,
        "contribution": signal.contribution,
        "detail": &signal.detail,
    ))
}

/// Convert a neighbour to a dictionary.
pub fn related<'py>(py: Python<'py>, related: &Related) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "memory": memory(py, &related.memory)?,
        "kind": &related.kind,
        "direction": related.direction,
        "weight": related.weight,
        "reason": &related.reason,
    ))
}

/// Convert a change to a dictionary.
pub fn history_entry<'py>(py: Python<'py>, entry: &HistoryEntry) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "operation": entry.operation,
        "id": &entry.id,
        "at": entry.at,
        "kind": &entry.kind,
        "actor": entry.actor.as_str(),
        "undone": entry.undone,
        "before": entry.before.as_ref().map(|before| memory(py, before)).transpose()?,
        "after": entry.after.as_ref().map(|after| memory(py, after)).transpose()?,
    ))
}

/// Convert an operation to a dictionary.
pub fn operation<'py>(py: Python<'py>, operation: &Operation) -> PyResult<Bound<'py, PyDict>> {
    let changes = operation.changes.iter().map(|change| history_entry(py, change)).collect::<PyResult<Vec<_>>>()?;
    Ok(dict!(py,
        "operation": operation.operation,
        "at": operation.at,
        "actor": operation.actor.as_str(),
        "kinds": operation.kinds.clone(),
        "undone": operation.undone,
        "changes": changes,
    ))
}

/// Convert an undone change to a dictionary. The memory before the change is the current one again.
pub fn undone_change<'py>(py: Python<'py>, change: &Recorded) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "operation": change.operation,
        "id": &change.id,
        "at": change.at,
        "kind": &change.kind,
        "actor": change.actor.as_str(),
        "undone": true,
        "before": change.before.as_ref().map(|before| memory(py, before)).transpose()?,
        "after": py.None(),
    ))
}

/// Convert a value of the key-value store to a dictionary.
pub fn kv_value<'py>(py: Python<'py>, value: &kv::Value) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "key": &value.name,
        "value": &value.value,
        "created_at": value.created_at,
        "updated_at": value.updated_at,
        "expires_at": value.expires_at,
    ))
}

/// Convert a project to a dictionary.
pub fn project<'py>(py: Python<'py>, project: &Project) -> PyResult<Bound<'py, PyDict>> {
    Ok(dict!(py,
        "name": &project.name,
        "memories": project.memories,
        "remotes": &project.remotes,
        "root_commits": &project.root_commits,
        "folders": &project.folders,
    ))
}
