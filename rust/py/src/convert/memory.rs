//! Builds the memories and hits of `opencode_memory.models`.
//!
//! A recall builds one of each for every hit, so its speed depends on this. The slots are filled directly, because the
//! constructor of a frozen dataclass takes twice as long.

use opencode_memory_core::model::{Category, Hit, Memory, Signal, Source, Status, Trust};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, ffi, intern};

use super::signal;

/// Fill slots of a blank object, by name.
macro_rules! fill {
    ($blank:expr, $($name:literal : $value:expr),+ $(,)?) => {
        $($blank.fill(intern!($blank.0.py(), $name), $value)?;)+
    };
}

/// Classes and constants that memories and hits are made of.
struct Classes {
    memory: Py<PyType>,
    hit: Py<PyType>,
    source: Py<PyType>,
    signal: Py<PyType>,
    explanation: Py<PyType>,
    /// `object.__new__`.
    new: Py<PyAny>,
    /// Members in the order of their numbers.
    categories: Vec<Py<PyAny>>,
    statuses: Vec<Py<PyAny>>,
    trusts: Vec<Py<PyAny>>,
    global: Py<PyAny>,
    project: Py<PyAny>,
    no_source: Py<PyAny>,
    epoch: Py<PyAny>,
    timedelta: Py<PyAny>,
    parse_json: Py<PyAny>,
}

impl Classes {
    fn get(py: Python<'_>) -> PyResult<&'static Self> {
        static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
        CLASSES.get_or_try_init(py, || Self::import(py))
    }

    fn import(py: Python<'_>) -> PyResult<Self> {
        let models = py.import("opencode_memory.models")?;
        let datetime = py.import("datetime")?;
        let class = |name: &str| -> PyResult<Py<PyType>> { Ok(models.getattr(name)?.cast_into::<PyType>()?.unbind()) };
        let member =
            |class: &str, name: &str| -> PyResult<Py<PyAny>> { Ok(models.getattr(class)?.call1((name,))?.unbind()) };
        let members = |class: &str, names: &mut dyn Iterator<Item = &'static str>| -> PyResult<Vec<Py<PyAny>>> {
            names.map(|name| member(class, name)).collect()
        };
        let epoch = datetime.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, datetime.getattr("UTC")?))?;
        Ok(Self {
            memory: class("Memory")?,
            hit: class("Hit")?,
            source: class("Source")?,
            signal: class("Signal")?,
            explanation: class("Explanation")?,
            new: py.get_type::<PyAny>().getattr("__new__")?.unbind(),
            categories: members("Category", &mut Category::ALL.iter().map(|member| member.as_str()))?,
            statuses: members("Status", &mut Status::ALL.iter().map(|member| member.as_str()))?,
            trusts: members("Trust", &mut Trust::ALL.iter().map(|member| member.as_str()))?,
            global: member("ScopeKind", "global")?,
            project: member("ScopeKind", "project")?,
            no_source: models.getattr("Source")?.call0()?.unbind(),
            epoch: epoch.unbind(),
            timedelta: datetime.getattr("timedelta")?.unbind(),
            parse_json: py.import("json")?.getattr("loads")?.unbind(),
        })
    }

    /// Create an object of a class, with empty slots.
    fn blank<'py>(&self, py: Python<'py>, class: &Py<PyType>) -> PyResult<Blank<'py>> {
        Ok(Blank(self.new.bind(py).call1((class,))?))
    }

    /// Convert UTC milliseconds to a `datetime`.
    fn moment<'py>(&self, py: Python<'py>, value: i64) -> PyResult<Bound<'py, PyAny>> {
        self.epoch.bind(py).add(self.timedelta.bind(py).call1((0, 0, 0, value))?)
    }

    fn optional_moment<'py>(&self, py: Python<'py>, value: Option<i64>) -> PyResult<Option<Bound<'py, PyAny>>> {
        value.map(|value| self.moment(py, value)).transpose()
    }

    fn source<'py>(&self, py: Python<'py>, source: &Source) -> PyResult<Bound<'py, PyAny>> {
        if *source == Source::default() {
            return Ok(self.no_source.bind(py).clone());
        }
        let built = self.blank(py, &self.source)?;
        fill!(built,
            "tool": source.tool.as_deref(),
            "session": source.session.as_deref(),
            "message": source.message.as_deref(),
            "file": source.file.as_deref(),
            "line": source.line,
            "commit": source.commit.as_deref(),
        );
        Ok(built.0)
    }

    fn metadata<'py>(&self, py: Python<'py>, metadata: &str) -> PyResult<Bound<'py, PyAny>> {
        if metadata == "{}" {
            return Ok(PyDict::new(py).into_any());
        }
        self.parse_json.bind(py).call1((metadata,))
    }

    fn explanation<'py>(&self, py: Python<'py>, signals: &[Signal]) -> PyResult<Bound<'py, PyAny>> {
        let class = self.signal.bind(py);
        let signals: Vec<_> =
            signals.iter().map(|found| class.call((), Some(&signal(py, found)?))).collect::<PyResult<_>>()?;
        let fields = PyDict::new(py);
        fields.set_item("signals", PyTuple::new(py, signals)?)?;
        self.explanation.bind(py).call((), Some(&fields))
    }
}

/// A new object of a frozen dataclass. Its slots can still be filled, because no other code has the object yet.
struct Blank<'py>(Bound<'py, PyAny>);

impl<'py> Blank<'py> {
    /// Fill a slot.
    fn fill(&self, name: &Bound<'py, PyString>, value: impl IntoPyObjectExt<'py>) -> PyResult<()> {
        let py = self.0.py();
        let value = value.into_bound_py_any(py)?;
        // SAFETY: All three pointers belong to live objects, and the interpreter's lock is held.
        match unsafe { ffi::PyObject_GenericSetAttr(self.0.as_ptr(), name.as_ptr(), value.as_ptr()) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(py)),
        }
    }
}

/// Build a memory.
pub fn memory<'py>(py: Python<'py>, memory: &Memory) -> PyResult<Bound<'py, PyAny>> {
    let classes = Classes::get(py)?;
    let built = classes.blank(py, &classes.memory)?;
    let created_at = classes.moment(py, memory.created_at)?;
    // Most memories are never changed, and speak of the time when they were written.
    let moment = |value: i64| {
        if value == memory.created_at { Ok(created_at.clone()) } else { classes.moment(py, value) }
    };
    fill!(built,
        "id": &memory.id,
        "key": memory.key,
        "content": &memory.content,
        "category": &classes.categories[memory.category as usize],
        "scope": if memory.project.is_some() { &classes.project } else { &classes.global },
        "project": memory.project.as_deref(),
        "topic": memory.topic.as_deref(),
        "status": &classes.statuses[memory.status as usize],
        "trust": &classes.trusts[memory.trust as usize],
        "pinned": memory.pinned,
        "session": memory.session.as_deref(),
        "position": memory.position,
        "speaker": memory.speaker.as_deref(),
        "time": moment(memory.time)?,
        "source": classes.source(py, &memory.source)?,
        "entities": PyTuple::new(py, &memory.entities)?,
        "tags": PyTuple::new(py, &memory.tags)?,
        "created_at": &created_at,
        "updated_at": moment(memory.updated_at)?,
        "verified_at": classes.optional_moment(py, memory.verified_at)?,
        "expires_at": classes.optional_moment(py, memory.expires_at)?,
        "used_at": classes.optional_moment(py, memory.used_at)?,
        "uses": memory.uses,
        "superseded_by": memory.superseded_by.as_deref(),
        "remind_at": classes.optional_moment(py, memory.remind_at)?,
        "remind_every": memory.remind_every,
        "review_after": classes.optional_moment(py, memory.review_after)?,
        "review_every": memory.review_every,
        "confidence": memory.confidence,
        "metadata": classes.metadata(py, &memory.metadata)?,
    );
    Ok(built.0)
}

/// Build memories.
pub fn memories<'py>(py: Python<'py>, found: &[Memory]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    found.iter().map(|found| memory(py, found)).collect()
}

/// Build a hit.
pub fn hit<'py>(py: Python<'py>, hit: &Hit, explained: bool) -> PyResult<Bound<'py, PyAny>> {
    let classes = Classes::get(py)?;
    let built = classes.blank(py, &classes.hit)?;
    fill!(built,
        "memory": memory(py, &hit.memory)?,
        "score": hit.score,
        "rank": hit.rank,
        "relevance": hit.relevance,
        "floor": hit.floor,
        "explanation": if explained { Some(classes.explanation(py, &hit.signals)?) } else { None },
    );
    Ok(built.0)
}
