//! One order: scores normalised per query over the pool and added, each memory by itself and in the light of what was said
//! around it.
//!
//! Reciprocal ranks throw away how much better the first is than the second; on conversations that was worse than words
//! alone, on long messages worse than meaning alone. The window of a memory is mixed in, not added: added, it would be a
//! bonus for being short. How much of it counts falls with the memory's own length, and a memory without neighbours is
//! what it is by itself.

use rustc_hash::FxHashMap;

use super::NONE;
use super::pool::Pool;
use super::view::View;
use super::window::{LONG, Window, windows};
use crate::index::bm25::ScoredTerm;

/// Share of words in the score; meaning has the rest. Without vectors words have all of it.
const WORDS: f64 = 0.4;
/// How much the window of a short memory counts beside the memory itself.
const AROUND: f64 = 1.6;
/// How far a memory is drawn to the best of its conversation.
const SESSION: f64 = 1.0 / 6.0;

/// A row of the pool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidate {
    /// Its row in the pool.
    pub row: usize,
    /// Its place in the mirror.
    pub place: u32,
    /// BM25 of its own text.
    pub words: f32,
    /// Place among the best by words, from 1.
    pub words_rank: Option<usize>,
    /// Cosine, where it has vectors; later chunks count a little less than the first.
    pub cosine: Option<f32>,
    /// Cosine of the nearest chunk.
    pub nearest: Option<f32>,
    /// Place among the best by meaning, from 1.
    pub meaning_rank: Option<usize>,
    /// What its window says.
    pub window: Window,
    /// What each part adds to the score.
    pub shares: Shares,
    /// The shares, the hints and the boosts together.
    pub score: f64,
}

/// What words and meaning add to a score, by themselves and by their window, and what the conversation adds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shares {
    /// Its own words.
    pub words: f64,
    /// Its own meaning.
    pub meaning: f64,
    /// The words around it.
    pub words_around: f64,
    /// The meaning of what is around it.
    pub meaning_around: f64,
    /// The draw to the best of its conversation.
    pub session: f64,
}

impl Shares {
    /// The sum.
    pub fn total(&self) -> f64 {
        self.words + self.meaning + self.words_around + self.meaning_around + self.session
    }
}

/// The bounds by which scores were normalised: least and greatest of the pool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// BM25.
    pub words: (f32, f32),
    /// Cosine.
    pub cosine: (f32, f32),
    /// BM25 of windows.
    pub words_around: (f32, f32),
    /// Cosine of windows.
    pub cosine_around: (f32, f32),
}

/// Give every member of the pool its shares of the score; unsorted.
pub fn fuse(view: &View, pool: &Pool, terms: &[ScoredTerm], query: Option<&[f32]>) -> (Vec<Candidate>, Bounds) {
    let windows = windows(view, pool, terms, query);
    let mut candidates: Vec<Candidate> = pool
        .members
        .iter()
        .zip(windows)
        .enumerate()
        .map(|(row, (member, window))| Candidate {
            row,
            place: pool.places[row],
            words: pool.counts.bm25(row, terms),
            words_rank: member.words_rank,
            cosine: query.and_then(|query| view.mirror.cosine(query, pool.places[row])),
            nearest: query.and_then(|query| view.mirror.nearest(query, pool.places[row])),
            meaning_rank: member.meaning_rank,
            window,
            ..Candidate::default()
        })
        .collect();
    let bounds = Bounds {
        words: range(candidates.iter().map(|candidate| candidate.words)),
        cosine: range(candidates.iter().filter_map(|candidate| candidate.cosine)),
        words_around: range(candidates.iter().map(|candidate| candidate.window.words)),
        cosine_around: range(candidates.iter().filter_map(|candidate| candidate.window.cosine)),
    };
    let words_weight = if candidates.iter().any(|candidate| candidate.cosine.is_some()) { WORDS } else { 1.0 };
    for candidate in &mut candidates {
        candidate.shares = compute_shares(view, candidate, &bounds, words_weight);
    }
    share_sessions(view, &mut candidates);
    (candidates, bounds)
}

fn compute_shares(view: &View, candidate: &Candidate, bounds: &Bounds, words_weight: f64) -> Shares {
    let turn = view.mirror.conversations().turn(candidate.place);
    let around = if candidate.window.has_neighbours {
        AROUND * f64::from(LONG / turn.traits.words.max(1) as f32).min(1.0)
    } else {
        0.0
    };
    let (own, around) = (1.0 / (1.0 + around), around / (1.0 + around));
    let meaning =
        |cosine: Option<f32>, bounds| cosine.map_or(0.0, |cosine| (1.0 - words_weight) * normalise(cosine, bounds));
    Shares {
        words: own * words_weight * normalise(candidate.words, bounds.words),
        meaning: own * meaning(candidate.cosine, bounds.cosine),
        words_around: around * words_weight * normalise(candidate.window.words, bounds.words_around),
        meaning_around: around * meaning(candidate.window.cosine, bounds.cosine_around),
        session: 0.0,
    }
}

/// A conversation in which one turn fits well is likely to be the right one. Its turns are drawn to the best of them, not
/// lifted beyond it, so that a note is not the worse for having no conversation.
fn share_sessions(view: &View, candidates: &mut [Candidate]) {
    // A note that names its session has no place in a conversation.
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

/// Where a value lies between the bounds; a pool whose members are all alike gets the middle of the scale when they have
/// anything at all.
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
    fn normalising_keeps_order_and_bounds() {
        assert!((normalise(3.0, (1.0, 5.0)) - 0.5).abs() < 1e-9);
        assert!((normalise(5.0, (1.0, 5.0)) - 1.0).abs() < 1e-9);
        assert!((normalise(2.0, (2.0, 2.0)) - 0.5).abs() < 1e-9);
        assert!(normalise(0.0, (0.0, 0.0)).abs() < 1e-9);
        assert_eq!(range([].into_iter()), (0.0, 0.0));
    }
}
