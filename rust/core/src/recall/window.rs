//! Windows: scores of a memory together with its neighbouring turns, as one weighted text and one weighted vector.
//!
//! A window needs no embedding of its own. Its vector is the weighted mean of its members' vectors, and its term counts
//! are the weighted sum of theirs. The previous turn has the greatest weight. Long neighbours weigh less, because most
//! of their text is unrelated to the memory.

use super::pool::{OFFSETS, Pool};
use super::view::View;
use crate::index::bm25::{Bm25, ScoredTerm, TermField};
use crate::index::weighted_sum::cosine_of_sum;

/// Weights of the neighbours, in the order of [`OFFSETS`].
const NEAR: [f32; OFFSETS.len()] = [1.0, 0.5, 0.4, 0.4];
/// Number of words above which a text has less weight as context, and needs less context itself.
pub const LONG: f32 = 40.0;

/// Scores of a window for a query.
#[derive(Debug, Clone, Copy, Default)]
pub struct Window {
    /// BM25 score of the joined texts.
    pub words: f32,
    /// Cosine of the mean vector and the query.
    pub cosine: Option<f32>,
    /// Whether the pool contains neighbours of the memory. If not, the window is the memory itself.
    pub has_neighbours: bool,
}

/// Compute the window of every member of a pool.
pub fn windows(view: &View, pool: &Pool, terms: &[ScoredTerm], query: Option<&[f32]>) -> Vec<Window> {
    let has_neighbours = |row: usize| pool.members[row].neighbours.iter().any(Option::is_some);
    if !(0..pool.members.len()).any(has_neighbours) {
        return vec![Window::default(); pool.members.len()];
    }
    let weights: Vec<[f32; OFFSETS.len()]> = (0..pool.members.len()).map(|row| weights(view, pool, row)).collect();
    let lengths = [TermField::Prose, TermField::Identifier].map(|field| {
        (0..pool.members.len()).map(|row| window_length(pool, row, &weights[row], field)).collect::<Vec<f32>>()
    });
    let average =
        lengths.each_ref().map(|lengths| (lengths.iter().sum::<f32>() / lengths.len().max(1) as f32).max(1.0));
    (0..pool.members.len())
        .map(|row| {
            let mut words = 0.0;
            for (column, term) in terms.iter().enumerate() {
                let count = weighted_sum(pool, row, &weights[row], |row| pool.counts.of(row)[column]);
                let field = term.field as usize;
                words += term.bm25.score_with_norm(count, Bm25::norm_of(lengths[field][row], average[field]));
            }
            let cosine = query.and_then(|query| mean_cosine(view, pool, row, &weights[row], query));
            Window { words, cosine, has_neighbours: has_neighbours(row) }
        })
        .collect()
}

/// Weight of each neighbour of a member, relative to the member.
fn weights(view: &View, pool: &Pool, row: usize) -> [f32; OFFSETS.len()] {
    let conversations = view.mirror.conversations();
    let mut weights = NEAR;
    for (weight, neighbour) in weights.iter_mut().zip(pool.members[row].neighbours) {
        let Some(neighbour) = neighbour else {
            *weight = 0.0;
            continue;
        };
        let turn = conversations.turn(pool.places[neighbour]);
        *weight *= (LONG / turn.traits.words.max(1) as f32).min(1.0);
    }
    weights
}

fn weighted_sum(pool: &Pool, row: usize, weights: &[f32; OFFSETS.len()], value: impl Fn(usize) -> f32) -> f32 {
    let around: f32 = pool.members[row]
        .neighbours
        .iter()
        .zip(weights)
        .filter_map(|(neighbour, weight)| neighbour.map(|neighbour| weight * value(neighbour)))
        .sum();
    value(row) + around
}

fn window_length(pool: &Pool, row: usize, weights: &[f32; OFFSETS.len()], field: TermField) -> f32 {
    weighted_sum(pool, row, weights, |row| pool.counts.length(row, field))
}

/// Cosine of a unit query with the weighted mean vector of a member and its neighbours.
fn mean_cosine(view: &View, pool: &Pool, row: usize, weights: &[f32; OFFSETS.len()], query: &[f32]) -> Option<f32> {
    let mirror = &view.mirror;
    let own = (mirror.first_slot(pool.places[row])?, 1.0);
    let (mut weighted, mut count) = ([own; 1 + OFFSETS.len()], 1);
    for (neighbour, weight) in pool.members[row].neighbours.iter().zip(weights) {
        if let Some(slot) = neighbour.and_then(|neighbour| mirror.first_slot(pool.places[neighbour]))
            && *weight > 0.0
        {
            weighted[count] = (slot, *weight);
            count += 1;
        }
    }
    cosine_of_sum(mirror.slab(), query, &weighted[..count])
}
