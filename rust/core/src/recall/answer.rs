//! Runs a recall: searches, fusion, floor and the final hits, in the order of the read path.

use super::coverage::Coverage;
use super::filter::Filter;
use super::floor::{self, Raw, WORDS_ALONE};
use super::fuse::{Bounds, Candidate, fuse};
use super::hints::{Hints, QueryCues};
use super::pool::Pool;
use super::view::{Current, View};
use super::{boost, candidates, order};
use crate::error::Result;
use crate::model::{Hit, Memory, QueryVector, RecallRequest, Signal};
use crate::store::memory;
use crate::text;

/// The rows that answer a query, best first; none if the floor rejects the answer.
#[derive(Debug)]
pub struct Ranking<'a> {
    /// The rows.
    pub candidates: Vec<Candidate>,
    /// Relevance that at least one of them had to reach.
    pub floor: f64,
    bounds: Bounds,
    hints: Hints<'a>,
}

impl Ranking<'_> {
    /// The contributions to a candidate's score.
    pub fn explain(&self, view: &View, candidate: &Candidate, now_ms: i64) -> Vec<Signal> {
        explain(view, candidate, self.bounds, &self.hints, now_ms)
    }
}

/// Rank the rows that pass a filter. With `nearest`, the rows need not be relevant.
pub fn rank<'a>(
    view: &'a View,
    filter: &Filter,
    query: &str,
    vector: Option<&[f32]>,
    now_ms: i64,
    nearest: bool,
) -> Result<Ranking<'a>> {
    let subject = text::subject(query);
    let terms = text::analyze_query(&subject);
    let terms = view.overlay.score_terms(view.lexical.as_ref(), &terms)?;
    let remaining = filter.remaining(&view.mirror, view.scan_filtered());
    let words = candidates::by_words(view, filter, &remaining, &terms, candidates::DEPTH)?;
    let meaning = match vector {
        Some(vector) => candidates::by_meaning(view, filter, &remaining, vector, candidates::DEPTH)?,
        None => Vec::new(),
    };
    let pool = Pool::gather(view, filter, &terms, &words, &meaning)?;
    let coverage = Coverage::new(&terms, &subject, view.mirror.len());
    let (mut candidates, bounds) = fuse(view, &pool, &terms, &coverage, vector);
    let hints = Hints::new(view, QueryCues::of(query, now_ms), &pool.places);
    for candidate in &mut candidates {
        let is_turn = view.mirror.conversations().turn(candidate.place).has_position();
        let boosts = boost::total(view.mirror.row(candidate.place), is_turn, now_ms);
        candidate.score = candidate.shares.total() + hints.total(candidate.place) + boosts;
    }
    let key = |candidate: &Candidate| view.mirror.row(candidate.place).columns.key;
    candidates.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| key(b).cmp(&key(a))));
    let covered = |row: usize| coverage.of(pool.counts.of(row));
    let raw = |candidate: &Candidate| {
        let before = pool.members[candidate.row].neighbours[0];
        let asks = |row: usize| view.mirror.conversations().turn(pool.places[row]).traits.asks;
        let answers = before.is_some_and(|before| asks(before) && covered(before) >= WORDS_ALONE);
        Raw { cosine: candidate.nearest, coverage: candidate.coverage, answers }
    };
    let compared = remaining.count(&view.mirror);
    let floor = floor::least_relevance(compared);
    if !nearest {
        if floor::is_answer(candidates.iter().map(raw), compared) {
            candidates.retain(|candidate| raw(candidate).is_relevant());
        } else {
            candidates.clear();
        }
    }
    Ok(Ranking { candidates, floor, bounds, hints })
}

/// The values of a query's vector that can be compared with those of the view.
pub fn comparable<'v>(view: &View, vector: Option<&'v QueryVector>) -> Result<Option<&'v [f32]>> {
    match (view.mirror.model(), vector) {
        (Some(model), Some(vector)) => model.values_of(vector),
        _ => Ok(None),
    }
}

/// Answer a request that has been validated.
pub fn recall(current: &Current<'_>, request: &RecallRequest, now_ms: i64) -> Result<Vec<Hit>> {
    let (view, at) = current;
    let view: &View = view;
    let filter = Filter::new(at, &request.selection, now_ms)?;
    let vector = comparable(view, request.vector.as_ref())?;
    let ranking = rank(view, &filter, &request.query, vector, now_ms, request.nearest)?;
    let mut answer = Vec::with_capacity(request.limit.min(ranking.candidates.len()));
    for candidate in &ranking.candidates {
        if answer.len() == request.limit {
            break;
        }
        let row = view.mirror.row(candidate.place);
        let Some(found) = memory::by_key(at, row.columns.key)? else { continue };
        answer.push(Hit {
            memory: found,
            score: candidate.score,
            rank: answer.len() + 1,
            relevance: Some(candidate.relevance()),
            floor: ranking.floor,
            signals: if request.explain { ranking.explain(view, candidate, now_ms) } else { Vec::new() },
        });
    }
    order::place_later_first(current, &filter, &mut answer, request.limit, request.explain)?;
    Ok(answer)
}

/// Return at most `depth` memories near a vector with their cosine, best first.
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

fn explain(view: &View, candidate: &Candidate, bounds: Bounds, hints: &Hints<'_>, now_ms: i64) -> Vec<Signal> {
    let shares = &candidate.shares;
    let mut signals = Vec::new();
    let scale = |(least, greatest): (f32, f32), digits: usize| {
        format!("on a scale from {least:.digits$} to {greatest:.digits$}")
    };
    let mut say = |name, raw: f32, rank, contribution: f64, detail: String| {
        signals.push(Signal {
            name,
            raw: f64::from(raw),
            rank,
            contribution,
            detail: format!("{detail}: {contribution:+.3}"),
        });
    };
    let rank = |rank: Option<usize>| rank.map_or(String::new(), |rank| format!("number {rank}, "));
    if candidate.words > 0.0 || shares.words > 0.0 {
        let (words, place) = (candidate.words, rank(candidate.words_rank));
        let covered = 100.0 * candidate.coverage;
        let detail = format!("words: BM25 {words:.2}, {place}{}, {covered:.0} % of the query", scale(bounds.words, 2));
        say("words", words, candidate.words_rank, shares.words, detail);
    }
    if shares.names > 0.0 {
        let detail = "contains a rare identifier of the query".to_owned();
        say("identifier", candidate.names as f32, None, shares.names, detail);
    }
    if let Some(cosine) = candidate.cosine {
        let place = rank(candidate.meaning_rank);
        let detail = format!("meaning: cosine {cosine:.3}, {place}{}", scale(bounds.cosine, 3));
        // Callers compare the value with limits that were measured with the bundled model; the text names the cosine itself.
        let scaled = view.mirror.scale().apply(cosine);
        say("meaning", scaled, candidate.meaning_rank, shares.meaning, detail);
    }
    let estimated = shares.estimated(candidate);
    if estimated > 0.0 {
        let detail = format!("no vector yet: estimated from {:.0} % of the query's words", 100.0 * candidate.coverage);
        say("estimated", candidate.coverage as f32, None, estimated, detail);
    }
    if candidate.window.has_neighbours {
        let words = candidate.window.words;
        let detail = format!("words with the turns around it: BM25 {words:.2}, {}", scale(bounds.words_around, 2));
        say("words_around", words, None, shares.words_around, detail);
        if let Some(cosine) = candidate.window.cosine {
            let detail =
                format!("meaning with the turns around it: cosine {cosine:.3}, {}", scale(bounds.cosine_around, 3));
            say("meaning_around", cosine, None, shares.meaning_around, detail);
        }
    }
    if shares.session > 0.0 {
        say("session", 1.0, None, shares.session, "drawn to the best of its conversation".to_owned());
    }
    signals.extend(hints.signals(candidate.place));
    let is_turn = view.mirror.conversations().turn(candidate.place).has_position();
    signals.extend(boost::boosts(view.mirror.row(candidate.place), is_turn, now_ms));
    signals
}
