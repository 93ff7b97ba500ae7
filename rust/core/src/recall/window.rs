//! A memory seen with what was said around it: one text, one vector, both weighed.
//!
//! A window costs no second embedding: its vector is the weighted mean of its members', its words are theirs together. The
//! turn before weighs most. A long neighbour says too much of its own to be context, and a long memory needs none.

use super::pool::{OFFSETS, Pool};
use super::view::View;
use crate::index::bm25::{Bm25, ScoredTerm, TermField};

/// Weights of the neighbours, in the order of [`OFFSETS`].
const NEAR: [f32; OFFSETS.len()] = [1.0, 0.5, 0.4, 0.4];
/// A question and what follows it belong together: so much more.
const ANSWER: f32 = 0.5;
/// Words from which on a text counts for less as context, and needs less.
pub const LONG: f32 = 40.0;

/// What a window says about a query.
#[derive(Debug, Clone, Copy, Default)]
pub struct Window {
    /// BM25 of the joined texts.
    pub words: f32,
    /// Cosine of the mean vector.
    pub cosine: Option<f32>,
    /// Whether there is anything around the memory; without, its window is the memory itself.
    pub has_neighbours: bool,
}

/// The window of every member of a pool.
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
    let mut sum = vec![0.0_f32; view.mirror.slab().dimension()];
    (0..pool.members.len())
        .map(|row| {
            let mut words = 0.0;
            for (column, term) in terms.iter().enumerate() {
                let count = weighted_sum(pool, row, &weights[row], |row| pool.counts.of(row)[column]);
                let field = term.field as usize;
                words += term.bm25.score_with_norm(count, Bm25::norm_of(lengths[field][row], average[field]));
            }
            let cosine = query.and_then(|query| mean_cosine(view, pool, row, &weights[row], query, &mut sum));
            Window { words, cosine, has_neighbours: has_neighbours(row) }
        })
        .collect()
}

/// How much each neighbour of a member weighs beside it.
fn weights(view: &View, pool: &Pool, row: usize) -> [f32; OFFSETS.len()] {
    let conversations = view.mirror.conversations();
    let asks = conversations.turn(pool.places[row]).traits.asks;
    let mut weights = NEAR;
    for ((weight, offset), neighbour) in weights.iter_mut().zip(OFFSETS).zip(pool.members[row].neighbours) {
        let Some(neighbour) = neighbour else {
            *weight = 0.0;
            continue;
        };
        let turn = conversations.turn(pool.places[neighbour]);
        *weight *= (LONG / turn.traits.words.max(1) as f32).min(1.0);
        if (offset == -1 && turn.traits.asks) || (offset == 1 && asks) {
            *weight *= 1.0 + ANSWER;
        }
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

/// The cosine of a unit query and the weighted mean of the vectors of a member and its neighbours.
fn mean_cosine(
    view: &View,
    pool: &Pool,
    row: usize,
    weights: &[f32; OFFSETS.len()],
    query: &[f32],
    sum: &mut [f32],
) -> Option<f32> {
    let mirror = &view.mirror;
    sum.fill(0.0);
    let has_vector = mirror.add_first_vector(pool.places[row], 1.0, sum);
    if !has_vector {
        return None;
    }
    for (neighbour, weight) in pool.members[row].neighbours.iter().zip(weights) {
        if let Some(neighbour) = neighbour
            && *weight > 0.0
        {
            mirror.add_first_vector(pool.places[*neighbour], *weight, sum);
        }
    }
    let (mut product, mut squares) = (0.0_f32, 0.0_f32);
    for (value, query) in sum.iter().zip(query) {
        product += value * query;
        squares += value * value;
    }
    (squares > 0.0).then(|| product / squares.sqrt())
}
