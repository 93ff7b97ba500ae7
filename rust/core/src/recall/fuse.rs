//! One order from two: scores normalised per query over the pool, and added.
//!
//! Reciprocal ranks throw away how much better the first is than the second; on conversations that was worse than words
//! alone, on long messages worse than meaning alone. Every candidate gets its true cosine, also when only its words were
//! found, because the vectors are at hand.

use rustc_hash::FxHashMap;

use super::view::View;
use crate::index::exact::Scored;

/// Share of words in the score; meaning has the rest. Without vectors words have all of it.
const WORDS: f64 = 0.5;

/// A row of the pool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidate {
    /// Its place in the mirror.
    pub place: u32,
    /// BM25, 0 when no word of the query was found among the best.
    pub words: f32,
    /// Place among the best by words, from 1.
    pub words_rank: Option<usize>,
    /// Cosine, where it has vectors.
    pub cosine: Option<f32>,
    /// Place among the best by meaning, from 1.
    pub meaning_rank: Option<usize>,
    /// What words add to the score.
    pub words_share: f64,
    /// What meaning adds to the score.
    pub meaning_share: f64,
    /// Both shares and the boosts.
    pub score: f64,
}

/// The bounds by which scores were normalised.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// Least and greatest BM25 of the pool.
    pub words: (f32, f32),
    /// Least and greatest cosine of the pool.
    pub cosine: (f32, f32),
}

/// Put both lists into one pool with shares of the score; unsorted.
pub fn fuse(
    view: &View,
    query: Option<&[f32]>,
    words: &[Scored<u32>],
    meaning: &[Scored<u32>],
) -> (Vec<Candidate>, Bounds) {
    let mut pool: FxHashMap<u32, Candidate> = FxHashMap::default();
    for (rank, scored) in words.iter().enumerate() {
        let candidate = pool.entry(scored.item).or_default();
        candidate.words = scored.score;
        candidate.words_rank = Some(rank + 1);
    }
    for (rank, scored) in meaning.iter().enumerate() {
        let candidate = pool.entry(scored.item).or_default();
        candidate.cosine = Some(scored.score);
        candidate.meaning_rank = Some(rank + 1);
    }
    let mut candidates: Vec<Candidate> = pool
        .into_iter()
        .map(|(place, candidate)| {
            let cosine = candidate.cosine.or_else(|| query.and_then(|query| view.mirror.cosine(query, place)));
            Candidate { place, cosine, ..candidate }
        })
        .collect();
    let bounds = Bounds {
        words: range(candidates.iter().map(|candidate| candidate.words)),
        cosine: range(candidates.iter().filter_map(|candidate| candidate.cosine)),
    };
    let words_weight = if meaning.is_empty() { 1.0 } else { WORDS };
    for candidate in &mut candidates {
        candidate.words_share = words_weight * normalised(candidate.words, bounds.words);
        candidate.meaning_share =
            candidate.cosine.map_or(0.0, |cosine| (1.0 - words_weight) * normalised(cosine, bounds.cosine));
    }
    (candidates, bounds)
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
fn normalised(value: f32, (least, greatest): (f32, f32)) -> f64 {
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
        assert!((normalised(3.0, (1.0, 5.0)) - 0.5).abs() < 1e-9);
        assert!((normalised(5.0, (1.0, 5.0)) - 1.0).abs() < 1e-9);
        assert!((normalised(2.0, (2.0, 2.0)) - 0.5).abs() < 1e-9);
        assert!(normalised(0.0, (0.0, 0.0)).abs() < 1e-9);
        assert_eq!(range([].into_iter()), (0.0, 0.0));
    }
}
