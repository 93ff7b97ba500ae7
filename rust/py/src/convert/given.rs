//! Values from Python: memories to be written, filters, patches.

use opencode_memory_core::engine::{Relocation, Retold};
use opencode_memory_core::model::memory::Patch;
use opencode_memory_core::model::{Category, NewMemory, Scope, Selection, Source, Status, Trust};
use opencode_memory_core::{Error, Result};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::to_exception;

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
    /// Kind of the scope: `everything`, `global` or `project`.
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

/// A move of a memory to another topic, read from a dictionary that has every key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct GivenRelocation {
    id: String,
    from: String,
    topic: String,
    followers: Vec<String>,
    file: Option<String>,
    line: Option<i64>,
    metadata: String,
    /// Key of the version that was read, text, entities.
    text: Option<(i64, String, Vec<String>)>,
    category: Option<String>,
    revived_as: Option<String>,
}

impl GivenRelocation {
    /// Convert to the core's type.
    pub fn into_core(self) -> Result<Relocation> {
        Ok(Relocation {
            id: self.id,
            from: self.from,
            topic: self.topic,
            followers: self.followers,
            file: self.file,
            line: self.line,
            metadata: self.metadata,
            text: self.text.map(|(key, content, entities)| Retold { key, content, entities }),
            category: self.category.map(|name| Category::parse(&name)).transpose()?,
            revived_as: self.revived_as.map(|name| Status::parse(&name)).transpose()?,
        })
    }
}

/// Read the changes of a memory from a dictionary with one key for each changed field.
pub fn patch(given: &Bound<'_, PyDict>) -> PyResult<Patch> {
    let mut patch = Patch::default();
    for (name, value) in given.iter() {
        match name.extract::<String>()?.as_str() {
            "content" => patch.content = Some(value.extract()?),
            "category" => patch.category = Some(member(given, "category", Category::parse)?),
            "topic" => patch.topic = Some(value.extract()?),
            "tags" => patch.tags = Some(value.extract()?),
            "entities" => patch.entities = Some(value.extract()?),
            "expires_at" => patch.expires_at = Some(value.extract()?),
            "time" => patch.time = Some(value.extract()?),
            "metadata" => patch.metadata = Some(value.extract()?),
            "project" => patch.project = Some(value.extract()?),
            "trust" => patch.trust = Some(member(given, "trust", Trust::parse)?),
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
    Ok(patch)
}
