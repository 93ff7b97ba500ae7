//! The pool: what the two searches found, and what was said just before and after it.
//!
//! A turn of a conversation often answers the one before it and has none of its words. So the pool is widened by the
//! neighbours of what was found, as far as the filter allows them, and every one of its members is scored in the light of
//! its own neighbours.

use rustc_hash::FxHashMap;

use super::filter::Filter;
use super::view::View;
use crate::error::Result;
use crate::index::bm25::{Counts, ScoredTerm};
use crate::index::exact::Scored;

/// How far a memory's neighbourhood reaches, in places of the conversation, and in which order it is written here.
pub const OFFSETS: [i64; 4] = [-1, 1, -2, 2];

/// A row among those that a recall looks at.
pub type Index = usize;

/// A row that may become a hit.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Place among the best by words, from 1.
    pub words_rank: Option<usize>,
    /// Place among the best by meaning, from 1.
    pub meaning_rank: Option<usize>,
    /// Its neighbours, in the order of [`OFFSETS`], as far as they are in the pool: what neither search found is no context.
    pub neighbours: [Option<Index>; OFFSETS.len()],
}

/// Everything that is needed to put what was found into one order.
#[derive(Debug)]
pub struct Pool {
    /// Rows that may become hits; member `i` is row `i` of the others.
    pub members: Vec<Member>,
    /// Their places in the mirror.
    pub places: Vec<u32>,
    /// How often the terms of the query stand in each of these rows.
    pub counts: Counts,
}

impl Pool {
    /// Gather what was found with its neighbourhood.
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
        // Of several memories of one message the newest that the filter allows stands for all.
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

/// Places in the order in which they were seen first.
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
