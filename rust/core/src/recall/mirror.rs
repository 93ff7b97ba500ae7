//! What filters and vectors need of every memory, held in memory and kept equal to the store by its change log.
//!
//! The mirror is exact: after [`Mirror::refresh`] it holds what the snapshot holds, so a recall sees every acknowledged
//! write of every process (I2), and a filter decides by what is true now, not by what an index once absorbed (I7).

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::runs::Runs;
use super::talk::Talk;
use crate::error::Result;
use crate::index::exact::Slab;
use crate::model::Status;
use crate::store::change::{self, Head, Op};
use crate::store::embedding::{self, Model};
use crate::store::memory::{self, FilterRow, MirrorRow};

/// No row, no slot.
pub const NONE: u32 = u32::MAX;

/// What a chunk counts for that is not the first of its memory.
const LATER: f32 = 0.9;

/// Beyond this many changes, reading everything anew is cheaper than following them.
const FOLLOW_LIMIT: usize = 50_000;

/// A memory as filters see it.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What the store's columns say.
    pub columns: FilterRow,
    /// First vector slot.
    pub first_slot: u32,
    /// Number of vector slots.
    pub slots: u32,
    /// Whether the memory still exists.
    pub alive: bool,
}

/// A place that no memory has.
const HOLE: Row = Row { columns: FilterRow::NOTHING, first_slot: 0, slots: 0, alive: false };

/// The vectors of one memory, which get slots in a row.
#[derive(Debug, Default)]
struct Chunks {
    key: i64,
    embeddings: Vec<i64>,
    bytes: Vec<u8>,
}

impl Chunks {
    fn begin(&mut self, key: i64) {
        self.key = key;
        self.embeddings.clear();
        self.bytes.clear();
    }

    fn add(&mut self, embedding: i64, vector: &[u8]) {
        self.embeddings.push(embedding);
        self.bytes.extend_from_slice(vector);
    }
}

/// The mirror of one store.
#[derive(Debug, Default)]
pub struct Mirror {
    head: Option<Head>,
    /// With holes: places are given out in runs by project.
    rows: Vec<Row>,
    row_runs: Runs,
    by_key: FxHashMap<i64, u32>,
    by_project: FxHashMap<i64, Vec<u32>>,
    dead_rows: usize,
    talk: Talk,
    model: Option<Model>,
    slab: Slab,
    slot_runs: Runs,
    slot_row: Vec<u32>,
    slot_embedding: Vec<i64>,
    /// Slots in the order in which they were given out.
    given_slots: Vec<u32>,
    /// By embedding key, which are dense: the graph asks this for every vector that it looks at.
    first_slot_of: Vec<u32>,
    next_slot_of_embedding: Vec<u32>,
    live_slots: usize,
    loads: u64,
}

impl Mirror {
    /// Whether the mirror equals the store at `head`.
    pub fn is_at(&self, head: &Head) -> bool {
        self.head.as_ref() == Some(head)
    }

    /// Make the mirror equal to the snapshot; `true` when vectors were numbered anew, so that slots mean others now.
    pub fn refresh(&mut self, at: &Connection, head: Head) -> Result<bool> {
        let follows = match &self.head {
            Some(mine) => change::is_on_history(at, mine)? && head.seq - mine.seq <= FOLLOW_LIMIT as i64,
            None => false,
        };
        let mine = self.head.as_ref().map_or(0, |mine| mine.seq);
        // A refresh that fails half-way must not be taken for one that was done.
        self.head = None;
        let renumbered = if follows && self.dead_rows * 2 <= self.rows.len() {
            self.follow(at, mine)?
        } else {
            self.load(at)?;
            true
        };
        self.head = Some(head);
        Ok(renumbered)
    }

    fn load(&mut self, at: &Connection) -> Result<()> {
        *self = Self { loads: self.loads + 1, ..Self::default() };
        memory::for_each_mirror_row(at, |row| self.place(row))?;
        self.load_vectors(at)
    }

    fn load_vectors(&mut self, at: &Connection) -> Result<()> {
        self.model = embedding::active_model(at)?;
        self.slab = Slab::new(self.model.as_ref().map_or(0, |model| model.dimension));
        self.slot_runs = Runs::default();
        self.slot_row.clear();
        self.slot_embedding.clear();
        self.given_slots.clear();
        self.first_slot_of.clear();
        self.next_slot_of_embedding.clear();
        self.live_slots = 0;
        for row in &mut self.rows {
            row.slots = 0;
        }
        self.read_vectors(at, None)
    }

    fn read_vectors(&mut self, at: &Connection, memory: Option<i64>) -> Result<()> {
        let mut chunks = Chunks::default();
        embedding::for_each_vector(at, memory, |embedding, key, vector| {
            if chunks.key != key {
                self.place_vectors(&chunks);
                chunks.begin(key);
            }
            chunks.add(embedding, vector);
            Ok(())
        })?;
        self.place_vectors(&chunks);
        Ok(())
    }

    fn follow(&mut self, at: &Connection, seq: i64) -> Result<bool> {
        let changes = change::since(at, seq)?;
        let mut latest: FxHashMap<i64, (bool, bool)> = FxHashMap::default();
        let mut order = Vec::new();
        for change in changes {
            let (is_deleted, has_vectors) = latest.entry(change.key).or_insert_with(|| {
                order.push(change.key);
                (false, false)
            });
            *is_deleted |= change.op == Op::Delete;
            *has_vectors |= change.op == Op::Embed;
        }
        let everything_embedded_anew = latest.contains_key(&0);
        for key in order {
            let (is_deleted, has_vectors) = latest[&key];
            if is_deleted || !memory::mirror_row(at, key, |row| self.place(row))? {
                self.remove(key);
            } else if has_vectors && !everything_embedded_anew {
                self.drop_vectors(key);
                self.read_vectors(at, Some(key))?;
            }
        }
        let mostly_dead = self.given_slots.len() > 1024 && self.live_slots * 2 < self.given_slots.len();
        if everything_embedded_anew || mostly_dead {
            self.load_vectors(at)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn place(&mut self, row: &MirrorRow<'_>) {
        let at = self.place_columns(row.columns);
        self.talk.put(at, row);
    }

    fn place_columns(&mut self, columns: FilterRow) -> u32 {
        if let Some(&at) = self.by_key.get(&columns.key) {
            let row = &mut self.rows[at as usize];
            if row.columns.project != columns.project {
                // The old project's list keeps a stale entry, which its reader sees by the row's project.
                self.by_project.entry(columns.project).or_default().push(at);
            }
            row.columns = columns;
            return at;
        }
        let at = self.row_runs.take(columns.project, 1);
        self.rows.resize(self.row_runs.end() as usize, HOLE);
        self.rows[at as usize] = Row { columns, first_slot: 0, slots: 0, alive: true };
        self.by_key.insert(columns.key, at);
        self.by_project.entry(columns.project).or_default().push(at);
        at
    }

    fn remove(&mut self, key: i64) {
        self.drop_vectors(key);
        if let Some(at) = self.by_key.remove(&key) {
            self.rows[at as usize].alive = false;
            self.talk.remove(at);
            self.dead_rows += 1;
        }
    }

    fn place_vectors(&mut self, chunks: &Chunks) {
        let Some(&at) = self.by_key.get(&chunks.key) else { return };
        if chunks.embeddings.is_empty() || chunks.bytes.len() != 2 * self.slab.dimension() * chunks.embeddings.len() {
            return; // `verify` reports it; a vector that cannot be compared is as good as none
        }
        let row = &mut self.rows[at as usize];
        let count = chunks.embeddings.len() as u32;
        row.first_slot = self.slot_runs.take(row.columns.project, count);
        row.slots = count;
        let end = self.slot_runs.end() as usize;
        self.slot_row.resize(end, NONE);
        self.slot_embedding.resize(end, 0);
        self.next_slot_of_embedding.resize(end, NONE);
        let vectors = chunks.bytes.chunks_exact(2 * self.slab.dimension());
        for (slot, (&embedding, vector)) in (row.first_slot..).zip(chunks.embeddings.iter().zip(vectors)) {
            self.slab.put(slot, vector);
            self.slot_row[slot as usize] = at;
            self.slot_embedding[slot as usize] = embedding;
            self.given_slots.push(slot);
            let key = embedding as usize;
            if self.first_slot_of.len() <= key {
                self.first_slot_of.resize(key + 1, NONE);
            }
            self.next_slot_of_embedding[slot as usize] = std::mem::replace(&mut self.first_slot_of[key], slot);
        }
        self.live_slots += chunks.embeddings.len();
    }

    fn drop_vectors(&mut self, key: i64) {
        let Some(&at) = self.by_key.get(&key) else { return };
        let row = &mut self.rows[at as usize];
        for slot in row.first_slot..row.first_slot + row.slots {
            self.slot_row[slot as usize] = NONE;
            self.live_slots -= 1;
        }
        row.slots = 0;
    }

    /// The row of a key that exists.
    #[inline]
    pub fn row_of(&self, key: i64) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// A row by its place.
    #[inline]
    pub fn row(&self, at: u32) -> &Row {
        &self.rows[at as usize]
    }

    /// Places of all rows, dead ones and holes included.
    pub fn places(&self) -> std::ops::Range<u32> {
        0..self.rows.len() as u32
    }

    /// Places of the rows of a project; a row that moved away is still listed, and a row may be listed twice.
    pub fn places_in(&self, project: i64) -> &[u32] {
        self.by_project.get(&project).map_or(&[], Vec::as_slice)
    }

    /// How often everything was read anew, which gives rows other places.
    pub fn loads(&self) -> u64 {
        self.loads
    }

    /// Memories that exist.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Active memories.
    pub fn active(&self) -> usize {
        self.rows.iter().filter(|row| row.alive && row.columns.status == Status::Active as u8).count()
    }

    /// How each was said, and what was said before and after it.
    pub fn talk(&self) -> &Talk {
        &self.talk
    }

    /// The active model.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }

    /// The vectors.
    pub fn slab(&self) -> &Slab {
        &self.slab
    }

    /// Vectors that belong to a memory.
    pub fn live_slots(&self) -> usize {
        self.live_slots
    }

    /// Slots in the order in which they were given out, dead ones included.
    pub fn given_slots(&self) -> &[u32] {
        &self.given_slots
    }

    /// The row that a slot belongs to, or [`NONE`].
    #[inline]
    pub fn row_of_slot(&self, slot: u32) -> u32 {
        self.slot_row[slot as usize]
    }

    /// The embedding that a slot holds.
    #[inline]
    pub fn embedding_of_slot(&self, slot: u32) -> i64 {
        self.slot_embedding[slot as usize]
    }

    /// Every slot that holds an embedding.
    #[inline]
    pub fn slots_of_embedding(&self, embedding: i64) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.first_slot_of.get(embedding as usize).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let slot = next;
            if slot == NONE {
                return None;
            }
            next = self.next_slot_of_embedding[slot as usize];
            Some(slot)
        })
    }

    /// Ask the processor for a row's first vector before it is compared.
    #[inline]
    pub fn prefetch(&self, at: u32) {
        let row = self.row(at);
        if row.slots > 0 {
            self.slab.prefetch(row.first_slot);
        }
    }

    /// The product of a row's best chunk with a quantised query, or nothing when the row has no vectors.
    #[inline]
    pub fn rough_product(&self, query: &[i8], at: u32) -> Option<i32> {
        let row = self.row(at);
        let first = (row.slots > 0).then(|| self.slab.rough_product(query, row.first_slot))?;
        let later = row.first_slot + 1..row.first_slot + row.slots;
        Some(later.map(|slot| (LATER * self.slab.rough_product(query, slot) as f32) as i32).fold(first, i32::max))
    }

    /// The cosine of a row's nearest chunk with a unit query, or nothing when the row has no vectors.
    pub fn nearest(&self, query: &[f32], at: u32) -> Option<f32> {
        let row = self.row(at);
        (row.first_slot..row.first_slot + row.slots).map(|slot| self.slab.cosine(query, slot)).reduce(f32::max)
    }

    /// As [`Mirror::nearest`], but later chunks count a little less: a long text has many chances to be near.
    pub fn cosine(&self, query: &[f32], at: u32) -> Option<f32> {
        let row = self.row(at);
        (row.first_slot..row.first_slot + row.slots).map(|slot| self.cosine_of_slot(query, slot)).reduce(f32::max)
    }

    /// What one chunk brings to the cosine of its row.
    #[inline]
    pub fn cosine_of_slot(&self, query: &[f32], slot: u32) -> f32 {
        let is_first = self.rows[self.slot_row[slot as usize] as usize].first_slot == slot;
        self.slab.cosine(query, slot) * if is_first { 1.0 } else { LATER }
    }

    /// Add the weighted vector of a row's first chunk to a sum; whether it has one.
    pub fn add_first_vector(&self, at: u32, weight: f32, sum: &mut [f32]) -> bool {
        let row = self.row(at);
        if row.slots > 0 {
            self.slab.add_to(row.first_slot, weight, sum);
        }
        row.slots > 0
    }
}

impl Mirror {
    /// The vector of a memory's first chunk.
    pub fn vector_of(&self, key: i64) -> Option<Vec<f32>> {
        let row = self.row(self.row_of(key)?);
        (row.slots > 0).then(|| self.slab.get(row.first_slot).iter().map(|value| value.to_f32()).collect())
    }
}
