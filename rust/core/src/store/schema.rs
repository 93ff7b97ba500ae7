//! The layout of `store.db`: tables and format number. [`super::migration`] brings older formats to it.

use std::path::Path;

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::ids;

/// `application_id` of our files: "ocmm".
pub const APPLICATION_ID: i64 = 0x6F63_6D6D;

/// The format that this version writes.
pub const FORMAT: i64 = 4;

const TABLES: &str = "
CREATE TABLE meta(
    name TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE project(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;

-- What a project is recognised by. One root commit may mark several projects (forks), a remote or a folder only one.
CREATE TABLE project_mark(
    kind TEXT NOT NULL CHECK(kind IN ('remote', 'root', 'folder')),
    value TEXT NOT NULL,
    project INTEGER NOT NULL REFERENCES project(id),
    PRIMARY KEY(kind, value, project)
) STRICT, WITHOUT ROWID;

-- One row is one version of a text: a changed text is a new row with a new key. The long columns come last, so that a
-- scan of the filter columns does not have to follow overflow pages.
CREATE TABLE memory(
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    project INTEGER NOT NULL,
    category INTEGER NOT NULL,
    status INTEGER NOT NULL,
    trust INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    time INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    expires_at INTEGER,
    verified_at INTEGER,
    position INTEGER,
    session TEXT,
    speaker TEXT,
    -- What the order of hits asks of a text, so that no text is read for it: see Traits.
    words INTEGER NOT NULL,
    traits INTEGER NOT NULL,
    embedded_by INTEGER NOT NULL DEFAULT 0,
    compared INTEGER NOT NULL DEFAULT 0,
    content_hash BLOB NOT NULL,
    topic TEXT,
    superseded_by TEXT,
    confidence REAL,
    source TEXT NOT NULL,
    entities TEXT NOT NULL,
    tags TEXT NOT NULL,
    metadata TEXT NOT NULL,
    content TEXT NOT NULL,
    -- Since format 2. Few memories have them, and their indexes find these.
    remind_at INTEGER,
    remind_every INTEGER,
    review_after INTEGER,
    review_every INTEGER
) STRICT;
CREATE UNIQUE INDEX memory_by_topic ON memory(project, topic) WHERE topic IS NOT NULL AND status = 0;
CREATE INDEX memory_by_text ON memory(content_hash, project);
CREATE INDEX memory_by_embedder ON memory(embedded_by);
CREATE INDEX memory_not_compared ON memory(key) WHERE compared = 0 AND embedded_by <> 0;
CREATE INDEX memory_by_reminder ON memory(remind_at) WHERE remind_at IS NOT NULL;
CREATE INDEX memory_by_review ON memory(review_after) WHERE review_after IS NOT NULL;

CREATE TABLE mention(
    name TEXT NOT NULL COLLATE NOCASE,
    memory TEXT NOT NULL,
    PRIMARY KEY(name, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX mention_by_memory ON mention(memory);

CREATE TABLE link(
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    kind TEXT NOT NULL,
    weight REAL NOT NULL,
    reason TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY(source, target, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_by_target ON link(target);
-- Since format 4. Each hit of a recall asks for the statements on its subject. They are few among the links of a memory.
CREATE INDEX subject_link_by_source ON link(source) WHERE kind = 'contradicts' OR kind = 'supersedes';
CREATE INDEX subject_link_by_target ON link(target) WHERE kind = 'contradicts' OR kind = 'supersedes';

CREATE TABLE model(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    dimension INTEGER NOT NULL
) STRICT;

-- Vectors are truth: they cost the model. Keyed by the exact text, so that one text is embedded once.
CREATE TABLE embedding(
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    model INTEGER NOT NULL REFERENCES model(id),
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE(model, text_hash)
) STRICT;

-- Which vectors a text has, by the order of its pieces. A negative ordinal, -1 for the first piece, marks a vector of the
-- next model during a change of the model.
CREATE TABLE chunk(
    memory INTEGER NOT NULL REFERENCES memory(key) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    embedding INTEGER NOT NULL REFERENCES embedding(key),
    PRIMARY KEY(memory, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX chunk_by_embedding ON chunk(embedding);

CREATE TABLE change(
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    key INTEGER NOT NULL,
    op INTEGER NOT NULL,
    nonce INTEGER NOT NULL
) STRICT;

CREATE TABLE history(
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    operation INTEGER NOT NULL,
    memory TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    actor INTEGER NOT NULL,
    undone_by INTEGER,
    before TEXT
) STRICT;
CREATE INDEX history_by_memory ON history(memory, seq);
CREATE INDEX history_by_operation ON history(operation);

CREATE TABLE kv(
    project INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY(project, name)
) STRICT, WITHOUT ROWID;

-- Outside of the change log: a recall is not a write.
CREATE TABLE use_count(
    memory TEXT PRIMARY KEY,
    uses INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The same by day, for what is used most just now.
CREATE TABLE use_day(
    memory TEXT NOT NULL,
    day INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    PRIMARY KEY(memory, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX use_day_by_day ON use_day(day);

-- A session of an agent is a lease: alive until its end, or until nobody has heard of it for too long.
CREATE TABLE session(
    project INTEGER NOT NULL,
    name TEXT NOT NULL,
    working_on TEXT,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY(project, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE claim(
    project INTEGER NOT NULL,
    item TEXT NOT NULL COLLATE NOCASE,
    session TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    PRIMARY KEY(project, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_by_session ON claim(project, session);

-- Work for whoever has time: claimed by a lease, tried again after a failure, dead when it never succeeds. A subject is
-- worked on once, however often it was asked for.
CREATE TABLE job(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    payload TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    run_at INTEGER NOT NULL,
    lease_until INTEGER,
    worker TEXT,
    again INTEGER NOT NULL DEFAULT 0,
    dead_at INTEGER,
    error TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE(kind, subject)
) STRICT;
CREATE INDEX job_by_time ON job(run_at) WHERE dead_at IS NULL;

-- Whose turn it is: the kind that was served longest ago comes first.
CREATE TABLE job_turn(
    kind TEXT PRIMARY KEY,
    turn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What is open in a session that is learned from. A writer that read another version has lost a race.
CREATE TABLE learning(
    session TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    state TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How far a feed was read.
CREATE TABLE feed(
    feed TEXT NOT NULL,
    session TEXT NOT NULL,
    mark TEXT NOT NULL,
    cursor TEXT,
    PRIMARY KEY(feed, session)
) STRICT, WITHOUT ROWID;

-- Messages that counted, by id and by what they say: feeds overlap, and a fork copies its past.
CREATE TABLE counted(
    message BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- In which sessions something was seen, by its hash: what is seen in a second one is no accident.
CREATE TABLE sighting(
    project INTEGER NOT NULL,
    what TEXT NOT NULL,
    session TEXT NOT NULL,
    times INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY(project, what, session)
) STRICT, WITHOUT ROWID;

-- What was decided to stand beside the messages of a session: final, and replayed byte for byte. The long columns come
-- last here too.
CREATE TABLE injection(
    session TEXT NOT NULL,
    message TEXT NOT NULL,
    project INTEGER NOT NULL,
    at INTEGER NOT NULL,
    state TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    about TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY(session, message)
) STRICT, WITHOUT ROWID;
-- With the columns of the key it says everything of a session but its texts.
CREATE INDEX injection_by_time ON injection(at, project);

CREATE TABLE injected(
    session TEXT NOT NULL,
    message TEXT NOT NULL,
    memory TEXT NOT NULL,
    key INTEGER NOT NULL,
    place INTEGER NOT NULL,
    score REAL NOT NULL,
    why TEXT NOT NULL,
    outcome TEXT,
    PRIMARY KEY(session, message, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX injected_by_memory ON injected(memory);

-- Since format 2. Rows that a merge of projects moved or dropped besides memories, for its undo.
CREATE TABLE project_merge(
    operation INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    target INTEGER NOT NULL,
    rows TEXT NOT NULL
) STRICT;

-- Since format 3. Plans and loops: JSON that Python understands. A writer that read another version has lost a race.
CREATE TABLE document(
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    project INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY(kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE backup(
    path TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// The content of a file that was just opened.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// An empty file.
    Nothing,
    /// A store of the format that this version writes.
    Current,
    /// A store of an older format.
    Older(i64),
}

/// Inspect a file; refuse files of other programs and of newer formats.
pub fn inspect(connection: &Connection, path: &Path) -> Result<Found> {
    // One snapshot for the three: another process may be creating the store between them.
    let _snapshot = connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
    let application_id: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let format: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application_id, format, tables) {
        (0, 0, 0) => Ok(Found::Nothing),
        (APPLICATION_ID, FORMAT, _) => Ok(Found::Current),
        (APPLICATION_ID, found @ 1..FORMAT, _) => Ok(Found::Older(found)),
        (APPLICATION_ID, found, _) if found > FORMAT => {
            Err(Error::FormatVersion { path: path.to_owned(), found, supported: FORMAT })
        }
        _ => Err(Error::CorruptStore {
            path: path.to_owned(),
            message: "is a SQLite file but not a store of opencode-memory; nothing was changed in it".into(),
        }),
    }
}

/// Refuse a store that a newer version has migrated since it was opened.
///
/// # Errors
/// [`Error::FormatVersion`] with both formats: this version does not know what else the newer one keeps in step.
pub fn check_format(connection: &Connection, path: &Path) -> Result<()> {
    let found: i64 = connection.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))?;
    if found > FORMAT {
        return Err(Error::FormatVersion { path: path.to_owned(), found, supported: FORMAT });
    }
    Ok(())
}

/// Create the tables of an empty file. The caller holds the write lock.
pub fn create(connection: &Connection, now_ms: i64) -> Result<()> {
    connection.execute_batch(TABLES)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", FORMAT)?;
    let mut insert = connection.prepare("INSERT INTO meta(name, value) VALUES (?1, ?2)")?;
    insert.execute(("store_id", ids::new_store_id()))?;
    insert.execute(("created_at", now_ms))?;
    insert.execute(("trimmed_seq", 0))?;
    insert.execute(("active_model", 0))?;
    Ok(())
}
