//! Score fusion: normalises word and vector scores per query over the pool and adds them, for each memory and its
//! window.
//!
//! Reciprocal rank fusion discards score differences. On conversations it was worse than words alone, and on long
//! messages worse than vectors alone. The score of a memory's window is a weighted mean with the memory's own score,
//! because adding it would favour short memories. The weight of the window decreases with the memory's length. A memory
//! without neighbours has only its own score.

use rustc_hash::FxHashMap;

use super::NONE;
use super::coverage::Coverage;
use super::floor::Raw;
use super::pool::Pool;
use super::view::View;
use super::window::{LONG, Window, windows};
use crate::index::bm25::ScoredTerm;

/// Weight of words in the score of a turn; vectors have the rest. If no memory of the pool has vectors, words have the
/// full weight.
const WORDS_OF_TURN: f64 = 0.4;
/// The same for a statement, which stands alone. Between 0.2 and 0.3 the rank of a note hardly changes.
const WORDS_OF_STATEMENT: f64 = 0.2;
/// Bonus of a statement that contains the rare identifiers of the query. It outweighs any difference in meaning.
const NAMED: f64 = 1.0 - WORDS_OF_STATEMENT;
/// Weight of a short memory's window, relative to the memory itself.
const AROUND: f64 = 1.6;
/// Fraction of the distance by which a memory's score moves towards the best score of its conversation.
const SESSION: f64 = 1.0 / 6.0;

/// A row of the pool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidate {
    /// Row in the pool.
    pub row: usize,
    /// Place in the mirror.
    pub place: u32,
    /// BM25 score of the memory's own text.
    pub words: f32,
    /// Rank in the word search, from 1.
    pub words_rank: Option<usize>,
    /// Share of the query that the memory's own text contains, 0 to 1.
    pub coverage: f64,
    /// Share of the query's rare identifiers that the text contains, 0 to 1.
    pub names: f64,
    /// Best cosine if the memory has vectors; chunks after the first count slightly less.
    pub cosine: Option<f32>,
    /// Cosine of the nearest chunk, unweighted, on the scale of the bundled model.
    pub nearest: Option<f32>,
    /// Rank in the vector search, from 1.
    pub meaning_rank: Option<usize>,
    /// Scores of the memory's window.
    pub window: Window,
    /// Contribution of each part to the score.
    pub shares: Shares,
    /// Total of shares, hints and boosts.
    pub score: f64,
}

impl Candidate {
    /// The relevance of the text by itself; see [`Raw::relevance`].
    pub fn relevance(&self) -> f64 {
        Raw { cosine: self.nearest, coverage: self.coverage, answers: false }.relevance()
    }
}

/// Contributions of words, vectors, window and conversation to a score.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shares {
    /// Words of the memory.
    pub words: f64,
    /// Rare identifiers of the query that the memory contains.
    pub names: f64,
    /// Vectors of the memory.
    pub meaning: f64,
    /// Words of the window.
    pub words_around: f64,
    /// Vectors of the window.
    pub meaning_around: f64,
    /// Increase towards the best score of the conversation.
    pub session: f64,
}

impl Shares {
    /// The part of the vectors' contributions that was estimated, because the memory has no vector yet.
    pub fn estimated(&self, candidate: &Candidate) -> f64 {
        let own = if candidate.cosine.is_none() { self.meaning } else { 0.0 };
        own + if candidate.window.cosine.is_none() { self.meaning_around } else { 0.0 }
    }

    /// The sum of all contributions.
    pub fn total(&self) -> f64 {
        self.words + self.names + self.meaning + self.words_around + self.meaning_around + self.session
    }
}

/// Least and greatest values of the pool, used to normalise scores.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// BM25 of memories.
    pub words: (f32, f32),
    /// Cosine of memories.
    pub cosine: (f32, f32),
    /// BM25 of windows.
    pub words_around: (f32, f32),
    /// Cosine of windows.
    pub cosine_around: (f32, f32),
}

/// Compute the score contributions of every member of the pool. The result is not sorted.
pub fn fuse(
    view: &View,
    pool: &Pool,
    terms: &[ScoredTerm],
    coverage: &Coverage,
    query: Option<&[f32]>,
) -> (Vec<Candidate>, Bounds) {
    if query.is_some() {
        // Each vector is read several times from here on, first in an order that the processor cannot foresee.
        pool.places.iter().for_each(|place| view.mirror.prefetch_exact(*place));
    }
    let windows = windows(view, pool, terms, query);
    let mut candidates: Vec<Candidate> = pool
        .members
        .iter()
        .zip(windows)
        .enumerate()
        .map(|(row, (member, window))| {
            let cosines = query.and_then(|query| view.mirror.cosines(query, pool.places[row]));
            Candidate {
                row,
                place: pool.places[row],
                words: pool.counts.bm25(row, terms),
                words_rank: member.words_rank,
                coverage: coverage.of(pool.counts.of(row)),
                names: coverage.of_names(pool.counts.of(row)),
                cosine: cosines.map(|(best, _)| best),
                nearest: cosines.map(|(_, nearest)| view.mirror.scale().apply(nearest)),
                meaning_rank: member.meaning_rank,
                window,
                ..Candidate::default()
            }
        })
        .collect();
    let bounds = Bounds {
        words: range(candidates.iter().map(|candidate| candidate.words)),
        cosine: range(candidates.iter().filter_map(|candidate| candidate.cosine)),
        words_around: range(candidates.iter().map(|candidate| candidate.window.words)),
        cosine_around: range(candidates.iter().filter_map(|candidate| candidate.window.cosine)),
    };
    let has_vectors = candidates.iter().any(|candidate| candidate.cosine.is_some());
    for candidate in &mut candidates {
        candidate.shares = compute_shares(view, candidate, &bounds, has_vectors, coverage.whole());
    }
    share_sessions(view, &mut candidates);
    (candidates, bounds)
}

fn compute_shares(view: &View, candidate: &Candidate, bounds: &Bounds, has_vectors: bool, whole: f64) -> Shares {
    let turn = view.mirror.conversations().turn(candidate.place);
    let around = if candidate.window.has_neighbours {
        AROUND * f64::from(LONG / turn.traits.words.max(1) as f32).min(1.0)
    } else {
        0.0
    };
    let (own, around) = (1.0 / (1.0 + around), around / (1.0 + around));
    let words_weight = match (has_vectors, turn.has_position()) {
        (false, _) => 1.0,
        (true, true) => WORDS_OF_TURN,
        (true, false) => WORDS_OF_STATEMENT,
    };
    // The vectors of a new memory are computed after its acknowledgement. Until then its words estimate its meaning.
    let meaning = |cosine: Option<f32>, bounds| {
        (1.0 - words_weight) * cosine.map_or(candidate.coverage, |cosine| normalise(cosine, bounds))
    };
    let (words, names) = if turn.has_position() || !has_vectors {
        (normalise(candidate.words, bounds.words), 0.0)
    } else {
        (scale_to_query(candidate, bounds.words, whole), candidate.names)
    };
    Shares {
        words: own * words_weight * words,
        names: NAMED * names,
        meaning: own * meaning(candidate.cosine, bounds.cosine),
        words_around: around * words_weight * normalise(candidate.window.words, bounds.words_around),
        meaning_around: around * meaning(candidate.window.cosine, bounds.cosine_around),
        session: 0.0,
    }
}

/// Scale the BM25 score of a statement by the score that the whole query could bring, and by the covered share.
///
/// If scores were scaled by the best of the pool, one incidental word would earn the full share whenever no statement
/// matches well. Turns of conversations keep that scale, because their neighbours confirm or refute an incidental word.
fn scale_to_query(candidate: &Candidate, (least, greatest): (f32, f32), whole: f64) -> f64 {
    candidate.coverage * normalise(candidate.words, (least, greatest.max(whole as f32)))
}

/// Raise the turns of a conversation towards its best turn, because a conversation with one good match is likely
/// relevant. No turn is raised above the best one. Otherwise notes outside of conversations would be at a disadvantage.
fn share_sessions(view: &View, candidates: &mut [Candidate]) {
    // A note may name its session but has no position, so it is not part of the conversation.
    let session_of = |candidate: &Candidate| {
        let turn = view.mirror.conversations().turn(candidate.place);
        if turn.has_position() { turn.session } else { NONE }
    };
    let mut best_of: FxHashMap<u32, f64> = FxHashMap::default();
    for candidate in candidates.iter().filter(|candidate| session_of(candidate) != NONE) {
        let best = best_of.entry(session_of(candidate)).or_default();
        *best = best.max(candidate.shares.total());
    }
    for candidate in candidates {
        let own = candidate.shares.total();
        candidate.shares.session = best_of.get(&session_of(candidate)).map_or(0.0, |best| SESSION * (best - own));
    }
}

fn range(values: impl Iterator<Item = f32>) -> (f32, f32) {
    values
        .fold(None, |range: Option<(f32, f32)>, value| {
            Some(range.map_or((value, value), |(least, greatest)| (least.min(value), greatest.max(value))))
        })
        .unwrap_or((0.0, 0.0))
}

/// Scale a value to 0..1 between the bounds. If all members of the pool have the same positive value, return 0.5.
fn normalise(value: f32, (least, greatest): (f32, f32)) -> f64 {
    if greatest > least {
        f64::from((value - least) / (greatest - least))
    } else if greatest > 0.0 {
        0.5
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalise_scales_between_bounds_and_maps_equal_values_to_the_middle() {
        assert!((normalise(3.0, (1.0, 5.0)) - 0.5).abs() < 1e-9);
        assert!((normalise(5.0, (1.0, 5.0)) - 1.0).abs() < 1e-9);
        assert!((normalise(2.0, (2.0, 2.0)) - 0.5).abs() < 1e-9);
        assert!(normalise(0.0, (0.0, 0.0)).abs() < 1e-9);
        assert_eq!(range([].into_iter()), (0.0, 0.0));
    }
}
