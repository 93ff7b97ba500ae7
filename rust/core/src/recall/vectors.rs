//! Vectors of the mirror: slot allocation and cosines with a query.

use half::f16;

use super::NONE;
use super::first_slots::FirstSlots;
use super::mirror::Mirror;
use super::slot_allocator::SlotAllocator;
use crate::error::Result;
use crate::index::signs::SignProducts;
use crate::index::slab::Slab;
use crate::store::Connection;
use crate::store::{embedding, scale};

/// Weight of the chunks of a memory after the first one.
const LATER: f32 = 0.9;

/// The vectors of one memory, which get adjacent slots.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    key: i64,
    embeddings: Vec<i64>,
    bytes: Vec<u8>,
}

impl Chunks {
    /// The vectors of a turn, all under its key.
    pub(super) fn of(key: i64, count: usize, bytes: &[u8]) -> Self {
        Self { key, embeddings: vec![key; count], bytes: bytes.to_vec() }
    }

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

impl Mirror {
    pub(super) fn load_vectors(&mut self, at: &Connection) -> Result<()> {
        self.model = embedding::active_model(at)?;
        self.scale = scale::active(at)?;
        self.slab = Slab::new(self.model.as_ref().map_or(0, |model| model.dimension));
        self.vector_slots = SlotAllocator::default();
        self.slot_row.clear();
        self.slot_embedding.clear();
        self.allocated_slots.clear();
        self.first_slot_of = FirstSlots::default();
        self.next_slot_of_embedding.clear();
        self.live_slots = 0;
        for row in &mut self.rows {
            row.slots = 0;
        }
        self.read_vectors(at, None)
    }

    pub(super) fn read_vectors(&mut self, at: &Connection, memory: Option<i64>) -> Result<()> {
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

    pub(super) fn place_vectors(&mut self, chunks: &Chunks) {
        let Some(&at) = self.by_key.get(&chunks.key) else { return };
        let length = self.slab.dimension().checked_mul(2 * chunks.embeddings.len());
        if chunks.bytes.is_empty() || length != Some(chunks.bytes.len()) {
            return; // A vector of the wrong length cannot be compared. Treat it as missing; `verify` reports it.
        }
        let row = &mut self.rows[at as usize];
        let count = chunks.embeddings.len() as u32;
        row.first_slot = self.vector_slots.allocate(row.columns.project, count);
        row.slots = count;
        let end = self.vector_slots.end() as usize;
        self.slot_row.resize(end, NONE);
        self.slot_embedding.resize(end, 0);
        self.next_slot_of_embedding.resize(end, NONE);
        let vectors = chunks.bytes.chunks_exact(2 * self.slab.dimension());
        for (slot, (&embedding, vector)) in (row.first_slot..).zip(chunks.embeddings.iter().zip(vectors)) {
            self.slab.put(slot, vector);
            self.slot_row[slot as usize] = at;
            self.slot_embedding[slot as usize] = embedding;
            self.allocated_slots.push(slot);
            self.next_slot_of_embedding[slot as usize] = self.first_slot_of.replace(embedding, slot);
        }
        self.live_slots += chunks.embeddings.len();
    }

    pub(super) fn drop_vectors(&mut self, key: i64) {
        let Some(&at) = self.by_key.get(&key) else { return };
        let row = &mut self.rows[at as usize];
        for slot in row.first_slot..row.first_slot + row.slots {
            self.slot_row[slot as usize] = NONE;
            self.live_slots -= 1;
        }
        row.slots = 0;
    }

    /// The vectors by slot.
    pub fn slab(&self) -> &Slab {
        &self.slab
    }

    /// Number of slots that belong to an existing memory.
    pub fn live_slots(&self) -> usize {
        self.live_slots
    }

    /// Slots in order of allocation, including dead ones.
    pub fn allocated_slots(&self) -> &[u32] {
        &self.allocated_slots
    }

    /// Place of the row that owns a slot, or [`NONE`].
    #[inline]
    pub fn row_of_slot(&self, slot: u32) -> u32 {
        self.slot_row[slot as usize]
    }

    /// As [`Mirror::row_of_slot`], for all slots.
    pub fn rows_of_slots(&self) -> &[u32] {
        &self.slot_row
    }

    /// Key of the embedding in a slot.
    #[inline]
    pub fn embedding_of_slot(&self, slot: u32) -> i64 {
        self.slot_embedding[slot as usize]
    }

    /// A slot with the vector of an embedding; `None` if there is none. The memory of the slot may have been deleted since.
    #[inline]
    pub fn slot_of_embedding(&self, embedding: i64) -> Option<u32> {
        Some(self.first_slot_of.get(embedding)).filter(|slot| *slot != NONE)
    }

    /// All slots that contain an embedding, including those of memories that were deleted since.
    #[inline]
    pub fn slots_of_embedding(&self, embedding: i64) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.first_slot_of.get(embedding);
        std::iter::from_fn(move || {
            let slot = next;
            if slot == NONE {
                return None;
            }
            next = self.next_slot_of_embedding[slot as usize];
            Some(slot)
        })
    }

    /// Prefetch a row's first vector into the processor's cache.
    #[inline]
    pub fn prefetch(&self, at: u32) {
        let row = self.row(at);
        if row.slots > 0 {
            self.slab.prefetch(row.first_slot);
        }
    }

    /// Prefetch a row's first exact vector into the processor's cache.
    #[inline]
    pub fn prefetch_exact(&self, at: u32) {
        if let Some(slot) = self.first_slot(at) {
            self.slab.prefetch_exact(slot);
        }
    }

    /// Product of a quantised query with a row's best chunk; `None` if the row has no vectors.
    #[inline]
    pub fn rough_product(&self, query: &[i8], at: u32) -> Option<i32> {
        let row = self.row(at);
        let first = (row.slots > 0).then(|| self.slab.rough_product(query, row.first_slot))?;
        let later = row.first_slot + 1..row.first_slot + row.slots;
        Some(later.map(|slot| (LATER * self.slab.rough_product(query, slot) as f32) as i32).fold(first, i32::max))
    }

    /// Number of components whose sign differs between a query and a row's best chunk; `None` if the row has no vectors.
    ///
    /// Half of the components differ for unrelated vectors. A later chunk counts less, so its number moves to the half.
    #[inline]
    pub fn differing_signs(&self, query: &[u64], at: u32) -> Option<u32> {
        let row = self.row(at);
        if row.slots == 0 {
            return None;
        }
        let mut best = self.slab.differing_signs(query, row.first_slot);
        let half = self.slab.dimension() as f32 / 2.0;
        for slot in row.first_slot + 1..row.first_slot + row.slots {
            let count = self.slab.differing_signs(query, slot) as f32;
            best = best.min((half - LATER * (half - count)).round() as u32);
        }
        Some(best)
    }

    /// Product of a query with the signs of a row's best chunk; `None` if the row has no vectors.
    #[inline]
    pub fn sign_product(&self, query: &SignProducts, at: u32) -> Option<i32> {
        let first = self.first_slot(at)?;
        let later = first + 1..first + self.row(at).slots;
        let products = later.map(|slot| (LATER * self.slab.sign_product(query, slot) as f32) as i32);
        Some(products.fold(self.slab.sign_product(query, first), i32::max))
    }

    /// Cosine of a unit query with a row's best chunk; `None` if the row has no vectors.
    ///
    /// Later chunks count slightly less, because a long text has many chances of a match.
    pub fn cosine(&self, query: &[f32], at: u32) -> Option<f32> {
        self.cosines(query, at).map(|cosines| cosines.0)
    }

    /// As [`Mirror::cosine`], together with the unweighted cosine of the nearest chunk.
    pub fn cosines(&self, query: &[f32], at: u32) -> Option<(f32, f32)> {
        let first = self.first_slot(at)?;
        let nearest = self.slab.cosine(query, first);
        let later = (first + 1..first + self.row(at).slots).map(|slot| self.slab.cosine(query, slot));
        Some(later.fold((nearest, nearest), |(best, nearest), cosine| (best.max(LATER * cosine), nearest.max(cosine))))
    }

    /// Weighted cosine of one chunk, whose memory must exist.
    #[inline]
    pub fn cosine_of_slot(&self, query: &[f32], slot: u32) -> f32 {
        let is_first = self.rows[self.slot_row[slot as usize] as usize].first_slot == slot;
        self.slab.cosine(query, slot) * if is_first { 1.0 } else { LATER }
    }

    /// First slot of a row; `None` if the row has no vectors.
    #[inline]
    pub fn first_slot(&self, at: u32) -> Option<u32> {
        let row = self.row(at);
        (row.slots > 0).then_some(row.first_slot)
    }

    /// The stored vector of a memory's first chunk. `None` if the memory is unknown or has no vectors.
    pub fn first_vector(&self, key: i64) -> Option<&[f16]> {
        Some(self.slab.get(self.first_slot(self.row_of(key)?)?))
    }

    /// As [`Mirror::first_vector`], in single precision.
    pub fn vector_of(&self, key: i64) -> Option<Vec<f32>> {
        Some(self.first_vector(key)?.iter().map(|value| value.to_f32()).collect())
    }
}
