//! The candidate pool of a recall: results of the two searches and the neighbouring turns of these results.
//!
//! A turn of a conversation often answers the previous turn without sharing a word with it. Therefore the pool also
//! contains the neighbours of each result that pass the filter, and the score of a member includes its neighbours.

use rustc_hash::FxHashMap;

use super::filter::Filter;
use super::view::View;
use crate::error::Result;
use crate::index::best::Scored;
use crate::index::bm25::{Counts, ScoredTerm};

/// Offsets of a memory's neighbours in its conversation, in the order used for arrays in this module.
pub const OFFSETS: [i64; 4] = [-1, 1, -2, 2];

/// Index of a row in the pool.
pub type Index = usize;

/// A row of the pool, which may become a hit.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Rank in the word search, from 1.
    pub words_rank: Option<usize>,
    /// Rank in the vector search, from 1.
    pub meaning_rank: Option<usize>,
    /// Neighbours that are also in the pool, in the order of [`OFFSETS`]. A neighbour outside of the pool is no
    /// context.
    pub neighbours: [Option<Index>; OFFSETS.len()],
}

/// The input of the score fusion.
#[derive(Debug)]
pub struct Pool {
    /// Rows that may become hits. The other fields have the same order.
    pub members: Vec<Member>,
    /// Places of the members in the mirror.
    pub places: Vec<u32>,
    /// Frequency of each query term in each member.
    pub counts: Counts,
}

impl Pool {
    /// Build the pool from the results of both searches and their neighbours.
    pub fn gather(
        view: &View,
        filter: &Filter,
        terms: &[ScoredTerm],
        words: &[Scored<u32>],
        meaning: &[Scored<u32>],
    ) -> Result<Self> {
        let mut rows = Rows::default();
        let mut ranks: Vec<(Option<usize>, Option<usize>)> = Vec::new();
        for (rank, scored) in words.iter().enumerate() {
            rows.add(scored.item);
            ranks.push((Some(rank + 1), None));
        }
        for (rank, scored) in meaning.iter().enumerate() {
            let row = rows.add(scored.item);
            ranks.resize(rows.places.len(), (None, None));
            ranks[row].1 = Some(rank + 1);
        }
        // If one message produced several memories, use the newest one that the filter allows.
        let mirror = &view.mirror;
        let neighbour = |place: u32, offset: i64| {
            mirror.conversations().neighbours(place, offset).find(|place| filter.allows(mirror.row(*place)))
        };
        for found in 0..rows.places.len() {
            for offset in OFFSETS {
                if let Some(place) = neighbour(rows.places[found], offset) {
                    rows.add(place);
                }
            }
        }
        ranks.resize(rows.places.len(), (None, None));
        let members = ranks
            .into_iter()
            .enumerate()
            .map(|(row, (words_rank, meaning_rank))| {
                let in_pool = |offset| rows.row_of.get(&neighbour(rows.places[row], offset)?).copied();
                Member { words_rank, meaning_rank, neighbours: OFFSETS.map(in_pool) }
            })
            .collect();
        let places = rows.places;
        let mut counts = Counts::new(places.len(), terms.len());
        if let Some(index) = &view.lexical {
            index.count(terms, &view.document_places, &places, &mut counts)?;
        }
        let keys = places.iter().map(|place| view.mirror.row(*place).columns.key);
        view.overlay.count(terms, keys, &mut counts);
        Ok(Self { members, places, counts })
    }
}

/// Distinct places in order of first insertion.
#[derive(Debug, Default)]
struct Rows {
    places: Vec<u32>,
    row_of: FxHashMap<u32, Index>,
}

impl Rows {
    fn add(&mut self, place: u32) -> Index {
        *self.row_of.entry(place).or_insert_with(|| {
            self.places.push(place);
            self.places.len() - 1
        })
    }
}
