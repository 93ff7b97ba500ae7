//! The write path: validate, redact, find a memory to merge with or to update, store, log, commit.
//!
//! No given text is lost (I9). An exact repetition merges its metadata. A topic is updated and keeps its history. A
//! text of lower trust is stored as a candidate beside the topic that it would have overwritten.

use super::replace::{SEARCHED_AT_ONCE, SameSubject, replace_rivals};
use super::twins::Twins;
use super::{Engine, Shared, redaction};
use crate::error::{Error, Result};
use crate::ids;
use crate::model::report::{Outcome, Remembered};
use crate::model::{Category, Memory, NewMemory, Status, Trust, validate};
use crate::store::{WriteTx, memory};
use crate::text;

impl Engine {
    /// Write one memory. When this returns, the memory is durable and every recall finds it.
    pub fn remember(&self, memory: NewMemory) -> Result<Remembered> {
        let mut results = self.remember_many(vec![memory])?;
        results.pop().ok_or_else(|| Error::Conflict("a write of one memory gave no result".into()))
    }

    /// Write many memories in one transaction: all of them, or none after an error.
    pub fn remember_many(&self, memories: Vec<NewMemory>) -> Result<Vec<Remembered>> {
        let shared = self.enter()?;
        let prepared = prepare_all(memories)?;
        let rivals = shared.find_rivals(prepared.iter().map(|(memory, _)| memory))?;
        let results = shared.store.write(&shared.clock, self.writer(), |write| place_all(write, prepared, &rivals))?;
        shared.note_repetitions(&results);
        shared.indexer.notify();
        Ok(results)
    }

    /// The active memory that a sentence would replace if it were remembered, or else one that it would contradict.
    /// Found by words, so that memories without vectors are found as well.
    pub fn find_same_subject(&self, content: &str, project: Option<&str>) -> Result<Option<SameSubject>> {
        validate::content(content)?;
        project.map_or(Ok(()), validate::project_name)?;
        self.enter()?.find_same_subject(content, project)
    }
}

impl Shared {
    /// Count a repetition as a use. Importing the same file again uses nothing.
    pub(super) fn note_repetitions(&self, results: &[Remembered]) {
        let now_ms = self.clock.now_ms();
        let repeated = results.iter().filter(|result| result.outcome == Outcome::Merged && !result.is_import);
        self.uses.lock().extend(repeated.map(|result| (result.id.clone(), now_ms)));
    }
}

/// A validated and redacted memory, and the kinds of secrets that were redacted.
pub(super) type Prepared = (NewMemory, Vec<&'static str>);

/// Validate and redact memories. If there are several, the error names the number of the invalid one.
pub(super) fn prepare_all(memories: Vec<NewMemory>) -> Result<Vec<Prepared>> {
    let several = memories.len() > 1;
    let prepared = memories.into_iter().enumerate().map(|(number, memory)| {
        prepare(memory).map_err(|error| if several { with_number(error, number) } else { error })
    });
    prepared.collect()
}

/// Store memories, and replace older memories on the same subject. `rivals` has the keys of those that may be.
pub(super) fn place_all(write: &WriteTx<'_>, prepared: Vec<Prepared>, rivals: &[Vec<i64>]) -> Result<Vec<Remembered>> {
    let is_searched = rivals.len() == prepared.len() && rivals.len() <= SEARCHED_AT_ONCE;
    let mut placed = Vec::with_capacity(prepared.len());
    // Memories of this batch are not in the view that was searched.
    let mut of_batch: Vec<i64> = Vec::new();
    let mut twins = Twins::default();
    for (number, (memory, redactions)) in prepared.into_iter().enumerate() {
        let is_import = memory.id.is_some();
        let (id, outcome) = place(write, memory, &mut twins)?;
        let mut replaced = Vec::new();
        if is_searched && !is_import && outcome != Outcome::Kept {
            replaced = replace_rivals(write, &id, &[&rivals[number][..], &of_batch].concat())?;
            let present = memory::by_id(write, &id)?;
            if let Some(repeated) = present.as_ref().filter(|_| outcome == Outcome::Merged && !replaced.is_empty()) {
                // Otherwise the operation would look like a comparison of vectors, which no person asked for.
                write.record_repetition(repeated)?;
            }
            of_batch.extend(present.map(|memory| memory.key));
        }
        placed.push(Remembered { id, outcome, redactions, replaced, is_import });
    }
    Ok(placed)
}

/// Validate and redact a memory. This needs no lock, so it happens before the transaction.
fn prepare(mut memory: NewMemory) -> Result<Prepared> {
    validate::new_memory(&memory)?;
    memory.project.as_deref().map_or(Ok(()), |name| redaction::refuse("project", name))?;
    let redactions = redaction::clean(&mut memory)?.into_vec();
    // Otherwise the words of an agent, a tool or a file could become an instruction. An export of this very store, which
    // keeps ids and trust, must come back as it was.
    let is_own_past = memory.id.is_some() && memory.trust.is_at_least(Trust::Extracted);
    if memory.status == Status::Active && is_instruction(memory.category) && !may_instruct(&memory) && !is_own_past {
        memory.status = Status::Candidate;
    }
    Ok((memory, redactions))
}

/// Whether memories of a category tell an agent what to do.
pub(super) fn is_instruction(category: Category) -> bool {
    matches!(category, Category::Directive | Category::Procedure)
}

/// Whether a memory may tell an agent what to do without a review: words of the user, a how-to of notes that the user
/// let be read, or a record of a command that succeeded in a session. An imported file may be a stranger's.
fn may_instruct(memory: &NewMemory) -> bool {
    let is_import = memory.id.is_some();
    let is_how_to = memory.category == Category::Procedure && memory.trust == Trust::Imported && !is_import;
    memory.trust == Trust::User || is_how_to || is_observed_command(memory)
}

fn is_observed_command(memory: &NewMemory) -> bool {
    memory.trust == Trust::Extracted
        && memory.category == Category::Procedure
        && metadata_member(&memory.metadata, "observed") == Some(serde_json::Value::Bool(true))
}

fn metadata_member(metadata: &str, name: &str) -> Option<serde_json::Value> {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(metadata).ok()?.remove(name)
}

fn with_number(error: Error, number: usize) -> Error {
    match error {
        Error::InvalidInput { field, message, limit } => {
            Error::InvalidInput { field, message: format!("{message} (memory {} of this batch)", number + 1), limit }
        }
        other => other,
    }
}

/// Store a memory: replace the memory with its id or topic, merge with its twin, or insert a new one.
fn place(write: &WriteTx<'_>, new: NewMemory, twins: &mut Twins) -> Result<(String, Outcome)> {
    let project_id = write.project_named(new.project.as_deref())?;
    let (hash, topic) = (text::content_hash(&new.content), new.topic.clone());
    let placed = place_in(write, new, project_id, twins)?;
    twins.note(project_id, hash, topic);
    Ok(placed)
}

fn place_in(write: &WriteTx<'_>, new: NewMemory, project_id: i64, twins: &mut Twins) -> Result<(String, Outcome)> {
    if let Some(id) = new.id.as_deref().and_then(ids::canonical) {
        return import(write, &new, &id, project_id);
    }
    if new.status == Status::Active
        && let Some(topic) = &new.topic
        && let Some(held) = memory::by_topic(write, project_id, topic)?
    {
        if held.is_expired(write.now_ms) {
            let outcome = overwrite(write, &held, &new, project_id)?;
            return Ok((held.id, outcome));
        }
        // A text that the user confirmed or edited belongs to the user, even if an agent wrote it first.
        let confirmed = held.verified_at.is_some() && new.trust != Trust::User;
        let may_overwrite = new.trust.is_at_least(held.trust) && !confirmed;
        let says_the_same = text::content_hash(&held.content) == text::content_hash(&new.content);
        // A writer that may overwrite the topic also sets the exact spelling, for example a corrected capital.
        if says_the_same && (!may_overwrite || held.content == new.content) {
            return merge(write, &held, &new);
        }
        if may_overwrite {
            let outcome = overwrite(write, &held, &new, project_id)?;
            return Ok((held.id, outcome));
        }
        let waiting = NewMemory { status: Status::Candidate, ..new };
        return Ok((insert(write, &waiting, project_id, ids::new_memory_id())?, Outcome::Kept));
    }
    for twin in twins.find(write, project_id, &new)? {
        if repeats(&twin, &new, write.now_ms) && !would_take_topic(write, &twin, &new)? {
            return merge(write, &twin, &new);
        }
    }
    Ok((insert(write, &new, project_id, ids::new_memory_id())?, Outcome::Stored))
}

/// Whether a memory with the same text is the same statement as the new memory.
fn repeats(twin: &Memory, new: &NewMemory, now_ms: i64) -> bool {
    // "Yes." at two places of a conversation is two statements.
    let same_place = new.position.is_none() && twin.position.is_none()
        || (new.position == twin.position && new.session == twin.session);
    let same_topic = new.topic.is_none() || new.topic == twin.topic;
    let same_speaker = new.speaker == twin.speaker;
    !twin.is_expired(now_ms) && same_place && same_topic && same_speaker
}

/// Whether the repetition of a candidate would give it a topic that another memory holds. The candidate must keep
/// waiting.
fn would_take_topic(write: &WriteTx<'_>, twin: &Memory, new: &NewMemory) -> Result<bool> {
    match &twin.topic {
        Some(topic) if twin.status == Status::Candidate && new.status == Status::Active => {
            Ok(memory::by_topic(write, twin.project_id, topic)?.is_some())
        }
        _ => Ok(false),
    }
}

/// Insert a memory.
fn insert(write: &WriteTx<'_>, new: &NewMemory, project_id: i64, id: String) -> Result<String> {
    write.record(&id, "create", None)?;
    write.insert(&new.to_memory(&id, project_id, write.now_ms))?;
    Ok(id)
}

/// Replace the memory that holds a topic; the old text stays in its history.
///
/// A new text keeps the labels and dates that its writer did not give, unless the held memory has expired. A section of a
/// file always gives its category.
fn overwrite(write: &WriteTx<'_>, held: &Memory, new: &NewMemory, project_id: i64) -> Result<Outcome> {
    let mut after = new.to_memory(&held.id, project_id, write.now_ms);
    after.created_at = held.created_at;
    after.stored_at = held.stored_at;
    after.updated_at = write.now_ms;
    after.pinned |= held.pinned;
    if !held.is_expired(write.now_ms) {
        // A fact is what a writer means who gives no category. Only the user may turn other words into an instruction.
        let may_keep = !is_instruction(held.category) || new.trust == Trust::User;
        if new.category == Category::Fact && may_keep && new.source.file.is_none() {
            after.category = held.category;
        }
        if new.tags.is_empty() {
            after.tags.clone_from(&held.tags);
        }
        if new.remind_at.is_none() {
            (after.remind_at, after.remind_every) = (held.remind_at, held.remind_every);
        }
        if new.review_after.is_none() {
            (after.review_after, after.review_every) = (held.review_after, held.review_every);
        }
    }
    write.record(&held.id, "update", Some(held))?;
    write.replace(held, &after)?;
    Ok(Outcome::Updated)
}

/// Merge the fields of a repetition into the memory with the same text.
fn merge(write: &WriteTx<'_>, twin: &Memory, new: &NewMemory) -> Result<(String, Outcome)> {
    let mut after = twin.clone();
    let counts_more = new.trust.is_at_least(twin.trust);
    after.tags = union(&twin.tags, &new.tags);
    after.entities = union(&twin.entities, &new.entities);
    after.pinned |= new.pinned;
    after.trust = twin.trust.min(new.trust);
    // Only the user, or a command that succeeded again, activates an instruction that waits.
    let may_activate = match twin.category {
        Category::Directive => new.trust == Trust::User,
        Category::Procedure => may_instruct(new),
        _ => true,
    };
    if twin.status == Status::Candidate && new.status == Status::Active && may_activate {
        after.status = Status::Active; // repeated by a writer whose memories need no review
    }
    // The default category of a repetition must not replace a specific one, for example "decision".
    let may_order = !is_instruction(new.category) || may_instruct(new);
    if counts_more && may_order && matches!(twin.category, Category::Fact | Category::Context | Category::Conversation)
    {
        after.category = new.category;
    }
    if counts_more {
        after.time = time_of_repetition(twin, new, write.now_ms);
    }
    after.topic = twin.topic.clone().or_else(|| new.topic.clone());
    after.session = twin.session.clone().or_else(|| new.session.clone());
    after.confidence = match (twin.confidence, new.confidence) {
        (Some(old), Some(new)) => Some(old.max(new)),
        (old, new) => old.or(new),
    };
    // No expiry wins, then the later one.
    after.expires_at = twin.expires_at.zip(new.expires_at).map(|(old, new)| old.max(new));
    if new.remind_at.is_some() {
        (after.remind_at, after.remind_every) = (new.remind_at, new.remind_every);
    }
    if new.review_after.is_some() {
        (after.review_after, after.review_every) = (new.review_after, new.review_every);
    }
    if after.source == crate::model::Source::default() {
        after.source = new.source.clone();
    }
    after.metadata = merge_metadata(&twin.metadata, &new.metadata);
    // Only the user confirms a memory. An agent that repeats a statement does not, and neither does a sentence that was
    // learned from a session.
    let is_quoted = metadata_member(&new.metadata, "evidence").is_some_and(|quote| quote.is_string());
    let confirms = new.trust == Trust::User && !is_quoted;
    if after != *twin || (confirms && twin.is_learned()) {
        after.updated_at = write.now_ms;
        if confirms {
            after.verified_at = Some(write.now_ms);
        }
        write.record(&twin.id, "merge", Some(twin))?;
        write.replace(twin, &after)?;
    }
    Ok((twin.id.clone(), Outcome::Merged))
}

/// The time of a memory that was said again, so that its words are the newest on their subject.
fn time_of_repetition(twin: &Memory, new: &NewMemory, now_ms: i64) -> i64 {
    // A section of a file or a record of a session is read again, which says nothing anew.
    let is_said_now = new.source.file.is_none()
        && new.position.is_none()
        && new.session.is_none()
        && new.trust.is_at_least(Trust::Extracted);
    match new.time {
        // Learning may read an older session after a newer one.
        Some(time) if new.source.message.is_some() && twin.has_time_of_words() => twin.time.max(time),
        Some(time) => time,
        None if is_said_now && twin.has_time_of_words() => twin.time.max(now_ms),
        None => twin.time,
    }
}

/// Write an imported memory under its own id.
fn import(write: &WriteTx<'_>, new: &NewMemory, id: &str, project_id: i64) -> Result<(String, Outcome)> {
    let mut after = new.to_memory(id, project_id, write.now_ms);
    let rival = match &new.topic {
        Some(topic) if new.status == Status::Active => memory::by_topic(write, project_id, topic)?,
        _ => None,
    };
    // If another memory holds the topic, the memory changed last keeps it and the other one is superseded. But a
    // newer text of lower trust does not take the topic; it becomes a candidate.
    let rival = rival.filter(|held| held.id != id);
    let gives_way = match &rival {
        Some(held) if held.updated_at > after.updated_at => {
            after.status = Status::Superseded;
            after.superseded_by = Some(held.id.clone());
            false
        }
        Some(held) if !new.trust.is_at_least(held.trust) => {
            after.status = Status::Candidate;
            false
        }
        held => held.is_some(),
    };
    let before = memory::by_id(write, id)?;
    if let Some(before) = &before {
        after.stored_at = before.stored_at;
        let is_known = same_but_for_key(before, &after) || before.updated_at > after.updated_at;
        // A file may contain any id and any time, so it must not replace a memory of higher trust.
        if is_known || !new.trust.is_at_least(before.trust) {
            return Ok((id.to_owned(), Outcome::Merged));
        }
        after.trust = before.trust; // an import never raises trust
    }
    if let Some(held) = rival.filter(|_| gives_way) {
        write.record(&held.id, "supersede", Some(&held))?;
        let past = Memory { status: Status::Superseded, superseded_by: Some(id.to_owned()), ..held.clone() };
        write.replace(&held, &past)?;
    }
    let Some(before) = before else {
        write.record(id, "create", None)?;
        write.insert(&after)?;
        let waits = after.status == Status::Candidate && new.status == Status::Active;
        return Ok((id.to_owned(), if waits { Outcome::Kept } else { Outcome::Stored }));
    };
    write.record(id, "import", Some(&before))?;
    write.replace(&before, &after)?;
    Ok((id.to_owned(), Outcome::Updated))
}

fn same_but_for_key(a: &Memory, b: &Memory) -> bool {
    // Metadata is stored as written, so spaces and the order of names may differ.
    let metadata =
        |json: &str| serde_json::from_str::<serde_json::Value>(json).map_or(json.to_owned(), |value| value.to_string());
    let plain = |memory: &Memory| Memory {
        key: 0,
        uses: 0,
        used_at: None,
        metadata: metadata(&memory.metadata),
        ..memory.clone()
    };
    plain(a) == plain(b)
}

fn union(old: &[String], new: &[String]) -> Vec<String> {
    let mut all = old.to_vec();
    for name in new {
        if !all.contains(name) && all.len() < crate::model::limits::LABELS {
            all.push(name.clone());
        }
    }
    all
}

fn merge_metadata(old: &str, new: &str) -> String {
    let parse =
        |json: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(json).unwrap_or_default();
    let new = parse(new);
    if new.is_empty() {
        return old.to_owned(); // unchanged, with its spaces and its order of names
    }
    let mut all = parse(old);
    all.extend(new);
    let merged = serde_json::Value::Object(all).to_string();
    if merged.len() > crate::model::limits::METADATA_BYTES { old.to_owned() } else { merged }
}

/// Set members of metadata; null removes one. Metadata that would become too long stays as it is.
pub(super) fn set_members(metadata: &str, members: &str) -> String {
    let parse =
        |json: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(json).unwrap_or_default();
    let mut all = parse(metadata);
    for (name, value) in parse(members) {
        if value.is_null() {
            all.remove(&name)
        } else {
            all.insert(name, value)
        };
    }
    let changed = serde_json::Value::Object(all).to_string();
    if changed.len() > crate::model::limits::METADATA_BYTES { metadata.to_owned() } else { changed }
}
