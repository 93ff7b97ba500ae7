//! From a question to hits: the order of the read path, top to bottom.

use super::filter::Filter;
use super::floor::{self, Floor};
use super::fuse::{Bounds, Candidate, fuse};
use super::view::{Current, View};
use super::{boost, candidates};
use crate::error::{Error, Result};
use crate::model::{Hit, Memory, RecallRequest, Signal};
use crate::store::memory;
use crate::text;

/// Answer a question that passed its checks.
pub fn recall((view, at): &Current<'_>, request: &RecallRequest, now_ms: i64) -> Result<Vec<Hit>> {
    let view: &View = view;
    let filter = Filter::new(at, &request.selection, now_ms)?;
    let terms = text::analyze_query(&request.query);
    let vector = request.vector.as_deref();
    check_dimension(view, vector)?;
    let terms = view.overlay.scored(view.lexical.as_ref(), &terms);
    let remaining = filter.remaining(&view.mirror, view.scan_filtered());
    let words = candidates::by_words(view, &filter, &remaining, &terms, candidates::DEPTH)?;
    let meaning = match vector {
        Some(vector) => candidates::by_meaning(view, &filter, &remaining, vector, candidates::DEPTH)?,
        None => Vec::new(),
    };
    let (mut pool, bounds) = fuse(view, vector, &words, &meaning);
    for candidate in &mut pool {
        let boosts = boost::total(view.mirror.row(candidate.place), now_ms);
        candidate.score = candidate.words_share + candidate.meaning_share + boosts;
    }
    let key = |candidate: &Candidate| view.mirror.row(candidate.place).columns.key;
    pool.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| key(b).cmp(&key(a))));
    let floor = Floor::new(&terms);
    let mut hits = Vec::with_capacity(request.limit.min(pool.len()));
    for candidate in &pool {
        if hits.len() == request.limit {
            break;
        }
        let row = view.mirror.row(candidate.place);
        let Some(found) = memory::by_key(at, row.columns.key)? else { continue };
        let is_near = candidate.cosine.is_some_and(|cosine| cosine >= floor::COSINE);
        if !is_near && !floor.is_covered_by(candidate.words, || found.searched_text()) {
            continue;
        }
        let signals = if request.explain { explain(view, candidate, bounds, now_ms) } else { Vec::new() };
        hits.push(Hit { memory: found, score: candidate.score, rank: hits.len() + 1, signals });
    }
    Ok(hits)
}

/// Memories near a vector, best first, with their cosine; `depth` of them at most.
pub fn nearest((view, at): &Current<'_>, filter: &Filter, vector: &[f32], depth: usize) -> Result<Vec<(Memory, f32)>> {
    let view: &View = view;
    let remaining = filter.remaining(&view.mirror, view.scan_filtered());
    let found = candidates::by_meaning(view, filter, &remaining, vector, depth)?;
    let mut memories = Vec::with_capacity(found.len());
    for scored in found {
        if let Some(memory) = memory::by_key(at, view.mirror.row(scored.item).columns.key)? {
            memories.push((memory, scored.score));
        }
    }
    Ok(memories)
}

fn check_dimension(view: &View, vector: Option<&[f32]>) -> Result<()> {
    match (vector, view.mirror.model()) {
        (Some(vector), Some(model)) if vector.len() != model.dimension => {
            Err(Error::DimensionMismatch { expected: model.dimension, received: vector.len() })
        }
        _ => Ok(()),
    }
}

fn explain(view: &View, candidate: &Candidate, bounds: Bounds, now_ms: i64) -> Vec<Signal> {
    let mut signals = Vec::new();
    if let Some(rank) = candidate.words_rank {
        signals.push(Signal {
            name: "words",
            raw: f64::from(candidate.words),
            rank: Some(rank),
            contribution: candidate.words_share,
            detail: format!(
                "words: BM25 {:.2}, number {rank}, on a scale from {:.2} to {:.2}: +{:.3}",
                candidate.words, bounds.words.0, bounds.words.1, candidate.words_share
            ),
        });
    }
    if let Some(cosine) = candidate.cosine {
        let place = candidate.meaning_rank.map_or("found by its words".to_owned(), |rank| format!("number {rank}"));
        signals.push(Signal {
            name: "meaning",
            raw: f64::from(cosine),
            rank: candidate.meaning_rank,
            contribution: candidate.meaning_share,
            detail: format!(
                "meaning: cosine {cosine:.3}, {place}, on a scale from {:.3} to {:.3}: +{:.3}",
                bounds.cosine.0, bounds.cosine.1, candidate.meaning_share
            ),
        });
    }
    signals.extend(boost::boosts(view.mirror.row(candidate.place), now_ms));
    signals
}
