//! Replacement of older memories by newer ones on the same subject, when a memory is written and when vectors are
//! compared.
//!
//! `text::compare` decides the relation of two statements. This module decides whether the newer memory may replace the
//! older one. If it may not, both stay active and are linked `contradicts`.

use super::Shared;
use crate::error::Result;
use crate::model::{Category, Memory, NewMemory, Scope, Selection, Status, Trust};
use crate::recall::candidates;
use crate::recall::filter::Filter;
use crate::recall::view::{Current, View};
use crate::store::{WriteTx, memory};
use crate::text::{self, Relation, Statement};

/// Memories found by words that are compared with a new one.
const MOST_RIVALS: usize = 24;
/// A larger batch is compared later, together with its vectors, because one search per memory would slow it down.
pub(super) const SEARCHED_AT_ONCE: usize = 64;
/// A statement that is related to more older ones belongs to a series, such as the entries of a list.
const MOST_RELATED: usize = 3;
/// Categories whose memories state something that a later word may change.
const STATEMENTS: &[Category] = &[
    Category::Decision,
    Category::Convention,
    Category::Preference,
    Category::Procedure,
    Category::Fact,
    Category::Context,
    Category::Directive,
];

/// Tool of the source of facts that were fetched from GitHub or GitLab.
const FORGE: &str = "forge";

/// A stored memory that a sentence would replace or contradict.
#[derive(Debug, Clone)]
pub struct SameSubject {
    /// The memory.
    pub memory: Memory,
    /// `replaces` or `contradicts`.
    pub relation: &'static str,
    /// Why.
    pub reason: &'static str,
}

impl Shared {
    /// Find for each new memory the keys of older memories on the same subject, among those with the same words.
    ///
    /// They are read and compared before the transaction, which reads only these few again.
    pub(super) fn find_rivals<'m>(&self, memories: impl Iterator<Item = &'m NewMemory>) -> Result<Vec<Vec<i64>>> {
        let memories: Vec<&NewMemory> = memories.collect();
        let is_searched = |memory: &&NewMemory| {
            memory.status == Status::Active
                && memory.id.is_none()
                && memory.position.is_none()
                && STATEMENTS.contains(&memory.category)
        };
        if memories.len() > SEARCHED_AT_ONCE || !memories.iter().any(is_searched) {
            return Ok(vec![Vec::new(); memories.len()]);
        }
        let mut current = None;
        let mut found = Vec::with_capacity(memories.len());
        for memory in &memories {
            let statement = Some(memory).filter(|memory| is_searched(memory));
            let statement = statement.and_then(|memory| Statement::read(&memory.content));
            let Some(statement) = statement.filter(Statement::may_replace) else {
                found.push(Vec::new());
                continue;
            };
            let current = match &mut current {
                Some(current) => current,
                none => none.insert(self.current()?),
            };
            let is_learned = memory.source.session.is_some() && memory.source.message.is_some();
            found.push(rivals(current, &statement, memory.project.as_deref(), is_learned, self.clock.now_ms())?);
        }
        Ok(found)
    }

    /// Find the keys of older memories on the subject of a stored memory's text.
    pub(super) fn find_rivals_of(&self, content: &str, project: Option<&str>) -> Result<Vec<i64>> {
        match Statement::read(content).filter(Statement::may_replace) {
            Some(statement) => rivals(&self.current()?, &statement, project, true, self.clock.now_ms()),
            None => Ok(Vec::new()),
        }
    }

    /// Find the active memory that a sentence would replace, or else one that it would contradict.
    pub(super) fn find_same_subject(&self, content: &str, project: Option<&str>) -> Result<Option<SameSubject>> {
        let Some(statement) = Statement::read(content) else { return Ok(None) };
        let current = self.current()?;
        let mut contradicted = None;
        for key in search(&current, &statement, project, self.clock.now_ms())? {
            let Some(memory) = memory::by_key(&current.1, key)?.filter(is_statement) else { continue };
            match statement.compare(&memory.content, None) {
                Relation::Replaces(reason) if memory.project.as_deref() == project => {
                    return Ok(Some(SameSubject { memory, relation: "replaces", reason }));
                }
                Relation::Replaces(reason) | Relation::Contradicts(reason) if contradicted.is_none() => {
                    contradicted = Some(SameSubject { memory, relation: "contradicts", reason });
                }
                _ => {}
            }
        }
        Ok(contradicted)
    }
}

/// Keys of the memories that a statement is related to. If the statement `may_be_earlier` than them, because it was
/// learned of an old session, they may also replace it.
fn rivals(
    current: &Current<'_>,
    statement: &Statement<'_>,
    project: Option<&str>,
    may_be_earlier: bool,
    now_ms: i64,
) -> Result<Vec<i64>> {
    let mut related = Vec::new();
    for key in search(current, statement, project, now_ms)? {
        let Some(memory) = memory::by_key(&current.1, key)?.filter(is_statement) else { continue };
        let own = statement.reading().text();
        if statement.compare(&memory.content, None) != Relation::Unrelated
            || may_be_earlier && text::compare(&memory.content, own, None) != Relation::Unrelated
        {
            related.push(key);
        }
    }
    Ok(related)
}

fn search((view, at): &Current<'_>, statement: &Statement<'_>, project: Option<&str>, now_ms: i64) -> Result<Vec<i64>> {
    let view: &View = view;
    let scope = match project {
        Some(name) => Scope::Project { name: name.to_owned(), with_global: true },
        None => Scope::Global,
    };
    let selection = Selection { categories: STATEMENTS.to_vec(), ..Selection::of(scope) };
    let filter = Filter::new(at, &selection, now_ms)?;
    let terms = text::analyze_query(&statement.search_text());
    let terms = view.overlay.score_terms(view.lexical.as_ref(), &terms)?;
    let remaining = filter.remaining(&view.mirror, view.scan_filtered());
    let found = candidates::by_words(view, &filter, &remaining, &terms, MOST_RIVALS)?;
    Ok(found.into_iter().map(|scored| view.mirror.row(scored.item).columns.key).collect())
}

/// Compare a memory that has just become active with its rivals. The memory counts as the newer one, unless it was
/// learned of an earlier time than a rival. Returns the ids of the memories that it replaced.
pub(super) fn replace_rivals(write: &WriteTx<'_>, id: &str, rivals: &[i64]) -> Result<Vec<String>> {
    let mut replaced = Vec::new();
    if is_of_series(write, id, rivals)? {
        return Ok(replaced);
    }
    for rival in rivals {
        // Read again, because a rival may have replaced the memory.
        let (Some(new), Some(rival)) = (memory::by_id(write, id)?, memory::by_key(write, *rival)?) else { continue };
        if new.id == rival.id || !are_statements(&new, &rival) {
            continue;
        }
        let is_earlier = is_backfilled(&new) && new.said_at() < rival.said_at();
        let (newer, older) = if is_earlier { (&rival, &new) } else { (&new, &rival) };
        if settle(write, newer, older, None)? == Settled::Superseded && !is_earlier {
            replaced.push(older.id.clone());
        }
    }
    Ok(replaced)
}

/// Whether a memory is related to so many rivals that all of them are entries of one series.
fn is_of_series(write: &WriteTx<'_>, id: &str, rivals: &[i64]) -> Result<bool> {
    let Some(new) = memory::by_id(write, id)? else { return Ok(false) };
    let Some(statement) = Statement::read(&new.content) else { return Ok(false) };
    let mut related = 0;
    for rival in rivals {
        let Some(rival) = memory::by_key(write, *rival)? else { continue };
        let is_related = rival.id != new.id
            && are_statements(&new, &rival)
            && statement.compare(&rival.content, None) != Relation::Unrelated;
        related += usize::from(is_related);
    }
    Ok(is_same_series(related))
}

/// Whether a statement that is related to so many older ones is an entry of a series.
pub(super) fn is_same_series(related: usize) -> bool {
    related > MOST_RELATED
}

/// The result of comparing two memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    /// The older one was superseded.
    Superseded,
    /// Both are linked `contradicts`.
    Linked,
    /// Nothing was done.
    Unrelated,
}

/// Supersede the older of two active memories on the same subject, or link both `contradicts`.
pub(super) fn settle(write: &WriteTx<'_>, newer: &Memory, older: &Memory, cosine: Option<f32>) -> Result<Settled> {
    if !are_statements(newer, older) || are_of_one_message(newer, older) {
        return Ok(Settled::Unrelated);
    }
    let weight = f64::from(cosine.unwrap_or(1.0)).clamp(0.0, 1.0);
    // A link that the comparison of vectors found is forgotten when a text changes; its reason ends with the cosine.
    let explain = |reason: &str| match cosine {
        Some(cosine) => format!("{reason}, cosine {cosine:.3}"),
        None => format!("{reason}, found by its words"),
    };
    match text::compare(&newer.content, &older.content, cosine) {
        Relation::Replaces(reason) if may_replace(newer, older) => {
            supersede(write, newer, older, weight, &explain(reason))?;
            Ok(Settled::Superseded)
        }
        Relation::Replaces(reason) | Relation::Contradicts(reason) => {
            write.link(&newer.id, &older.id, "contradicts", weight, &explain(reason))?;
            Ok(Settled::Linked)
        }
        Relation::Unrelated => Ok(Settled::Unrelated),
    }
}

/// Make `newer` the successor of `older`. The history keeps the older one, and an undo brings it back.
pub(super) fn supersede(write: &WriteTx<'_>, newer: &Memory, older: &Memory, weight: f64, reason: &str) -> Result<()> {
    let past = Memory {
        status: Status::Superseded,
        superseded_by: Some(newer.id.clone()),
        updated_at: write.now_ms,
        ..older.clone()
    };
    write.record(&older.id, "supersede", Some(older))?;
    write.replace(older, &past)?;
    write.link(&newer.id, &older.id, "supersedes", weight, reason)
}

/// Whether the trust and the scope of the newer memory allow it to replace the older one. A pin, a topic and a
/// confirmation protect a memory from all but the user.
pub(super) fn may_replace(newer: &Memory, older: &Memory) -> bool {
    let is_protected = older.pinned || older.topic.is_some() || older.verified_at.is_some();
    let have_other_topics = newer.topic.is_some() && older.topic.is_some();
    newer.project_id == older.project_id
        && newer.trust.is_at_least(older.trust)
        && (newer.trust == Trust::User || !is_protected)
        && !have_other_topics
        && (newer.expires_at.is_none() || older.expires_at.is_some())
}

/// Whether a memory states how something is. The title of an issue, which a fact of a forge quotes, does not: it may be
/// a wish or a complaint, and anyone may have written it.
fn is_statement(memory: &Memory) -> bool {
    memory.status == Status::Active
        && memory.position.is_none()
        && STATEMENTS.contains(&memory.category)
        && memory.source.tool.as_deref() != Some(FORGE)
}

pub(super) fn are_statements(a: &Memory, b: &Memory) -> bool {
    is_statement(a) && is_statement(b) && (a.project_id == b.project_id || a.project_id == 0 || b.project_id == 0)
}

/// Whether both were said in one message, in which the second statement adds to the first one.
pub(super) fn are_of_one_message(a: &Memory, b: &Memory) -> bool {
    a.source.message.is_some() && a.source.message == b.source.message && a.source.session == b.source.session
}

/// Whether a memory was read from an old session, so that its words are older than the memory.
fn is_backfilled(memory: &Memory) -> bool {
    memory.said_at().0 < memory.created_at
}
