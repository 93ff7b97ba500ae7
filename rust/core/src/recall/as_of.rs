//! Recall from the state of the store at an earlier time. Exact, but slow.
//!
//! The state of a memory at that time is the state before its first later change, or the current state if there is no
//! later change. Memories that were purged since then are missing.

use half::f16;
use rustc_hash::{FxHashMap, FxHashSet};

use super::coverage::Coverage;
use super::floor::{self, Raw};
use crate::error::Result;
use crate::index::bm25::{Bm25, Counts, FieldStatistics, ScoredTerm, TermField, count_terms, terms_of};
use crate::index::exact::dot;
use crate::index::occurrences::Occurrences;
use crate::model::{Hit, Memory, QueryVector, RecallRequest, Scope, Selection, Signal};
use crate::store::Connection;
use crate::store::{embedding, history, memory, scale};
use crate::text;

const PAGE: usize = 1_000;

/// Return the memories that match `selection`, in their state at `moment`.
pub fn states(at: &Connection, selection: &Selection, moment: i64) -> Result<Vec<Memory>> {
    let mut states = Vec::new();
    let mut changed_later: FxHashSet<String> = FxHashSet::default();
    for (id, before) in history::states_before_changes_after(at, moment)? {
        changed_later.insert(id);
        states.extend(before);
    }
    let mut after = 0;
    loop {
        let page = memory::page(at, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.key;
        states.extend(
            page.into_iter().filter(|memory| memory.stored_at <= moment && !changed_later.contains(&memory.id)),
        );
    }
    states.retain(|memory| matches_selection(selection, memory, moment));
    Ok(states)
}

/// Apply a selection to a whole memory, by the same rules as the filter on rows of the mirror.
fn matches_selection(selection: &Selection, memory: &Memory, moment: i64) -> bool {
    let in_scope = match &selection.scope {
        Scope::Everything => true,
        Scope::EveryProject => memory.project.is_some(),
        Scope::Global => memory.project.is_none(),
        Scope::Project { name, with_global } => match &memory.project {
            Some(project) => project == name,
            None => *with_global,
        },
    };
    let is_named = |names: &[String], wanted: &Option<String>| match wanted {
        Some(wanted) => names.iter().any(|name| name.trim().eq_ignore_ascii_case(wanted.trim())),
        None => true,
    };
    in_scope
        && selection.wanted_statuses().contains(&memory.status)
        && (selection.categories.is_empty() || selection.categories.contains(&memory.category))
        && selection.since.is_none_or(|since| memory.time >= since)
        && selection.until.is_none_or(|until| memory.time < until)
        && selection.created_before.is_none_or(|before| memory.created_at < before)
        && (selection.with_expired || !memory.is_expired(moment))
        && (!selection.pinned_only || memory.pinned)
        && is_named(&memory.entities, &selection.entity)
        && is_named(&memory.tags, &selection.tag)
}

/// Answer a request from the state at `moment`.
pub fn recall(at: &Connection, request: &RecallRequest, moment: i64) -> Result<Vec<Hit>> {
    let states = states(at, &request.selection, moment)?;
    let subject = text::subject(&request.query);
    let (terms, counts) = count_query_terms(&states, &text::analyze_query(&subject));
    let words: Vec<f32> = (0..states.len()).map(|place| counts.bm25(place, &terms)).collect();
    let cosines = cosines(at, &states, request.vector.as_ref())?;
    let coverage = Coverage::new(&terms, &subject, states.len());
    let covered: Vec<f64> = (0..states.len()).map(|place| coverage.of(counts.of(place))).collect();
    let scale = scale::active(at)?;
    let raw = |place: usize| {
        let cosine = cosines[place].map(|cosine| scale.apply(cosine));
        Raw { cosine, coverage: covered[place], answers: false }
    };
    let most_words = words.iter().copied().fold(coverage.whole() as f32, f32::max);
    let has_vectors = cosines.iter().any(Option::is_some);
    let mut ranked: Vec<(f64, f64, usize)> = (0..states.len())
        .map(|place| {
            let by_words = if most_words > 0.0 { f64::from(words[place] / most_words) } else { 0.0 };
            let by_meaning = cosines[place].map_or(covered[place], |cosine| f64::from(cosine.max(0.0)));
            if has_vectors { (0.5 * by_words, 0.5 * by_meaning, place) } else { (by_words, 0.0, place) }
        })
        .collect();
    ranked.sort_by(|a, b| (b.0 + b.1).total_cmp(&(a.0 + a.1)).then_with(|| b.2.cmp(&a.2)));
    if !request.nearest && !floor::is_answer(ranked.iter().map(|(_, _, place)| raw(*place)), states.len()) {
        return Ok(Vec::new());
    }
    ranked.retain(|(_, _, place)| request.nearest || raw(*place).is_relevant());
    ranked.truncate(request.limit);
    let floor = floor::least_relevance(states.len());
    Ok(ranked
        .into_iter()
        .enumerate()
        .map(|(rank, (by_words, by_meaning, place))| Hit {
            score: by_words + by_meaning,
            rank: rank + 1,
            relevance: Some(raw(place).relevance()),
            floor,
            signals: if request.explain {
                explain(words[place], by_words, cosines[place], by_meaning)
            } else {
                Vec::new()
            },
            memory: states[place].clone(),
        })
        .collect())
}

/// Weight the terms of a query by their rarity at that time, and count them in each text.
fn count_query_terms(states: &[Memory], terms: &text::QueryTerms) -> (Vec<ScoredTerm>, Counts) {
    let documents: Vec<[(FxHashMap<String, u32>, u32); 2]> = states
        .iter()
        .map(|memory| {
            let analysis = text::analyze(&memory.searched_text());
            [analysis.prose, analysis.identifiers].map(|terms| {
                let length = terms.len() as u32;
                (count_terms(terms), length)
            })
        })
        .collect();
    let statistics = [TermField::Prose, TermField::Identifier].map(|field| FieldStatistics {
        documents: documents.len() as u64,
        terms: documents.iter().map(|document| u64::from(document[field as usize].1)).sum(),
    });
    let terms: Vec<ScoredTerm> = terms_of(terms)
        .map(|(field, term)| {
            let frequency = documents.iter().filter(|document| document[field as usize].0.contains_key(term)).count();
            let bm25 = Bm25::new(frequency as u64, statistics[field as usize]).with_weight(field.weight());
            ScoredTerm { field, text: term.to_owned(), bm25, occurrences: Occurrences::default() }
        })
        .collect();
    let mut counts = Counts::new(documents.len(), terms.len());
    for (place, document) in documents.iter().enumerate() {
        for field in [TermField::Prose, TermField::Identifier] {
            counts.set_length(place, field, document[field as usize].1);
        }
        for (column, term) in terms.iter().enumerate() {
            if let Some(count) = document[term.field as usize].0.get(&term.text) {
                counts.set(place, column, *count);
            }
        }
    }
    (terms, counts)
}

fn cosines(at: &Connection, states: &[Memory], query: Option<&QueryVector>) -> Result<Vec<Option<f32>>> {
    let (Some(query), Some(model)) = (query, embedding::active_model(at)?) else { return Ok(vec![None; states.len()]) };
    let Some(query) = model.values_of(query)? else { return Ok(vec![None; states.len()]) };
    states
        .iter()
        .map(|memory| {
            // Use the current chunks if the memory is unchanged. Otherwise use the embedding of the old text, which
            // exists if that text was embedded as a single chunk.
            let mut nearest: Option<f32> = None;
            embedding::for_each_vector(at, Some(memory.key), |_, _, vector| {
                let cosine = compare(query, &embedding::decode(vector));
                nearest = cosine.into_iter().chain(nearest).reduce(f32::max);
                Ok(())
            })?;
            if nearest.is_some() {
                return Ok(nearest);
            }
            let vector = embedding::vector_of(at, &model, &memory.embedding_text())?;
            Ok(vector.and_then(|vector| compare(query, &vector)))
        })
        .collect()
}

/// Cosine of two unit vectors. A stored one of the wrong length is damaged and counts as missing; `verify` reports it.
fn compare(query: &[f32], stored: &[f16]) -> Option<f32> {
    (stored.len() == query.len()).then(|| dot(query, stored))
}

fn explain(bm25: f32, by_words: f64, cosine: Option<f32>, by_meaning: f64) -> Vec<Signal> {
    let mut signals = vec![Signal {
        name: "words",
        raw: f64::from(bm25),
        rank: None,
        contribution: by_words,
        detail: format!("words: BM25 {bm25:.2}: +{by_words:.3}"),
    }];
    let (name, detail) = match cosine {
        Some(cosine) => ("meaning", format!("meaning: cosine {cosine:.3}: +{by_meaning:.3}")),
        None => ("estimated", format!("no vector: estimated from the words: +{by_meaning:.3}")),
    };
    if cosine.is_some() || by_meaning > 0.0 {
        let raw = cosine.map_or(by_meaning, f64::from);
        signals.push(Signal { name, raw, rank: None, contribution: by_meaning, detail });
    }
    signals
}
