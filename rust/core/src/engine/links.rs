//! Links between near memories. A cosine measures nearness but not negation, so only rules decide that a memory
//! supersedes or contradicts another one. Every link has a reason.

use rustc_hash::FxHashSet;

use super::replace::{Settled, settle, supersede};
use crate::error::Result;
use crate::model::{Memory, Status};
use crate::store::{WriteTx, memory};
use crate::text;

/// Below this cosine two memories are unrelated: of 400,000 pairs of statements from different projects,
/// embedded by the bundled model, one in 700 was this near.
pub const NEAREST: f32 = 0.45;
/// From this cosine on two memories have the same subject; one in 5,000 of those pairs was this near.
const RELATED: f32 = 0.6;
/// From this cosine on a memory may extend another one.
const EXTENDS: f32 = 0.7;
/// From this cosine on two memories say nearly the same.
const SIMILAR: f32 = 0.9;
/// Statements of one session within this time belong together.
const SEQUENCE_MS: i64 = 10 * 60 * 1000;
/// Minimum number of terms of a text that another text can extend.
const LEAST_TERMS: usize = 3;

/// Link two near memories, or supersede the older one. Do nothing if one of them has changed since the comparison.
pub fn relate(write: &WriteTx<'_>, a: i64, b: i64, cosine: f32) -> Result<()> {
    let (Some(a), Some(b)) = (memory::by_key(write, a)?, memory::by_key(write, b)?) else { return Ok(()) };
    if a.status != Status::Active || b.status != Status::Active {
        return Ok(());
    }
    let (newer, older) = if a.said_at() >= b.said_at() { (a, b) } else { (b, a) };
    let weight = f64::from(cosine).clamp(0.0, 1.0);
    if cosine >= SIMILAR && is_superseded_by(&older, &newer) {
        return supersede(write, &newer, &older, weight, "the same statement in other words");
    }
    if cosine >= RELATED {
        let is_settled = settle(write, &newer, &older, Some(cosine))?;
        if is_settled != Settled::Unrelated {
            return Ok(());
        }
    }
    match kind_of(&newer, &older, cosine) {
        Some((kind, reason)) => write.link(&newer.id, &older.id, kind, weight, &reason),
        None => Ok(()),
    }
}

fn kind_of(newer: &Memory, older: &Memory, cosine: f32) -> Option<(&'static str, String)> {
    if cosine >= SIMILAR {
        return Some(("similar", format!("cosine {cosine:.3}")));
    }
    if cosine >= EXTENDS && extends(&newer.content, &older.content) {
        return Some(("extends", format!("cosine {cosine:.3}, and nearly all of its words with more to them")));
    }
    if let Some(entity) = newer.entities.iter().find(|name| older.entities.contains(name)) {
        return Some(("same_entity", format!("both are about {entity}, cosine {cosine:.3}")));
    }
    let session = |memory: &Memory| memory.session.clone().or_else(|| memory.source.session.clone());
    if session(newer).is_some()
        && session(newer) == session(older)
        && newer.time.saturating_sub(older.time).abs() <= SEQUENCE_MS
    {
        return Some(("sequence", format!("said within ten minutes in one session, cosine {cosine:.3}")));
    }
    (cosine >= RELATED).then(|| ("related", format!("cosine {cosine:.3}")))
}

/// Whether a text has nearly all terms of an older text, and additional ones.
fn extends(newer: &str, older: &str) -> bool {
    let terms = |content: &str| text::analyze(content).prose.into_iter().collect::<FxHashSet<String>>();
    let (newer, older) = (terms(newer), terms(older));
    let shared = older.iter().filter(|term| newer.contains(*term)).count();
    older.len() >= LEAST_TERMS && shared * 5 >= older.len() * 4 && newer.len() * 4 >= older.len() * 5
}

/// Whether the newer memory is certainly the same statement, with the same scope and category and at least the same
/// trust, and neither a topic nor a pin protects the older one.
fn is_superseded_by(older: &Memory, newer: &Memory) -> bool {
    older.project_id == newer.project_id
        && older.category == newer.category
        && older.speaker == newer.speaker
        && older.session == newer.session
        && newer.trust.is_at_least(older.trust)
        && !older.pinned
        && older.topic.is_none()
        && older.expires_at.is_none() == newer.expires_at.is_none()
        && text::same_statement(&newer.content, &older.content)
}
