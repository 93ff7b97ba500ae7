//! In-memory mirror of filter columns, conversation turns and vectors, updated from the store's change log.
//!
//! The mirror is exact: after [`Mirror::refresh`] it equals the snapshot. A recall therefore sees every acknowledged
//! write of every process (I2), and a filter decides on current values instead of the values in an index (I7).
//!
//! A *place* is the index of a memory's row in the mirror.

mod turns;

use rustc_hash::FxHashMap;

use super::conversation::Conversations;
use super::first_slots::FirstSlots;
use super::slot_allocator::SlotAllocator;
use crate::error::Result;
use crate::index::slab::Slab;
use crate::store::Connection;
use crate::store::change::{self, Head, Op};
use crate::store::embedding::Model;
use crate::store::memory::{self, FilterRow, MirrorRow};
use crate::store::scale::Scale;

/// Number of changes above which a full reload is cheaper than applying them.
const FOLLOW_LIMIT: usize = 50_000;

/// The filter columns and vector slots of one memory.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Columns of the store.
    pub columns: FilterRow,
    /// First vector slot.
    pub first_slot: u32,
    /// Number of vector slots.
    pub slots: u32,
    /// Whether the memory exists.
    pub alive: bool,
}

/// Row of an unused place.
const HOLE: Row = Row { columns: FilterRow::NOTHING, first_slot: 0, slots: 0, alive: false };

/// The mirror of one store.
#[derive(Debug, Default)]
pub struct Mirror {
    head: Option<Head>,
    /// Contains holes, because places are allocated in runs per project.
    pub(super) rows: Vec<Row>,
    row_slots: SlotAllocator,
    pub(super) by_key: FxHashMap<i64, u32>,
    by_project: FxHashMap<i64, Vec<u32>>,
    dead_rows: usize,
    conversations: Conversations,
    pub(super) model: Option<Model>,
    pub(super) scale: Scale,
    pub(super) slab: Slab,
    pub(super) vector_slots: SlotAllocator,
    pub(super) slot_row: Vec<u32>,
    pub(super) slot_embedding: Vec<i64>,
    /// Slots in order of allocation.
    pub(super) allocated_slots: Vec<u32>,
    /// First slot by embedding key.
    pub(super) first_slot_of: FirstSlots,
    pub(super) next_slot_of_embedding: Vec<u32>,
    pub(super) live_slots: usize,
    loads: u64,
}

impl Mirror {
    /// Whether the mirror equals the store at `head`.
    pub fn is_at(&self, head: &Head) -> bool {
        self.head.as_ref() == Some(head)
    }

    /// Make the mirror equal to the snapshot. Return true if slots were renumbered, which invalidates all old slots.
    pub fn refresh(&mut self, at: &Connection, head: Head) -> Result<bool> {
        let follows = match &self.head {
            Some(mine) => change::is_on_history(at, mine)? && head.seq - mine.seq <= FOLLOW_LIMIT as i64,
            None => false,
        };
        let mine = self.head.as_ref().map_or(0, |mine| mine.seq);
        // Otherwise a refresh that fails half-way would look complete.
        self.head = None;
        let renumbered = if follows && self.dead_rows <= self.by_key.len() {
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
        memory::for_each_mirror_row(at, |row| self.put(row))?;
        self.load_vectors(at)
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
            if is_deleted || !memory::mirror_row(at, key, |row| self.put(row))? {
                self.remove(key);
            } else if has_vectors && !everything_embedded_anew {
                self.drop_vectors(key);
                self.read_vectors(at, Some(key))?;
            }
        }
        let mostly_dead = self.allocated_slots.len() > 1024 && self.live_slots * 2 < self.allocated_slots.len();
        if everything_embedded_anew || mostly_dead {
            self.load_vectors(at)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn put(&mut self, row: &MirrorRow<'_>) {
        let at = self.put_columns(row.columns);
        self.conversations.put(at, row);
    }

    fn put_columns(&mut self, columns: FilterRow) -> u32 {
        if let Some(&at) = self.by_key.get(&columns.key) {
            let row = &mut self.rows[at as usize];
            if row.columns.project != columns.project {
                // The old project's list keeps a stale entry. Readers detect it by the project of the row.
                self.by_project.entry(columns.project).or_default().push(at);
            }
            row.columns = columns;
            return at;
        }
        let at = self.row_slots.allocate(columns.project, 1);
        self.rows.resize(self.row_slots.end() as usize, HOLE);
        self.rows[at as usize] = Row { columns, first_slot: 0, slots: 0, alive: true };
        self.by_key.insert(columns.key, at);
        self.by_project.entry(columns.project).or_default().push(at);
        at
    }

    fn remove(&mut self, key: i64) {
        self.drop_vectors(key);
        if let Some(at) = self.by_key.remove(&key) {
            self.rows[at as usize].alive = false;
            self.conversations.remove(at);
            self.dead_rows += 1;
        }
    }

    /// Place of an existing memory by its key.
    #[inline]
    pub fn row_of(&self, key: i64) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// Row at a place.
    #[inline]
    pub fn row(&self, at: u32) -> &Row {
        &self.rows[at as usize]
    }

    /// Places of all rows, including dead rows and holes.
    pub fn places(&self) -> std::ops::Range<u32> {
        0..self.rows.len() as u32
    }

    /// Places of the rows of a project. The list may contain duplicates and rows that moved to another project.
    pub fn places_in(&self, project: i64) -> &[u32] {
        self.by_project.get(&project).map_or(&[], Vec::as_slice)
    }

    /// Number of full reloads. Each of them assigns new places.
    pub fn loads(&self) -> u64 {
        self.loads
    }

    /// Number of existing memories.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether no memory exists.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Conversation turns of the memories and their neighbours.
    pub fn conversations(&self) -> &Conversations {
        &self.conversations
    }

    /// The active embedding model, if any.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }

    /// The scale of the model's cosines. Limits that were measured with the bundled model need it.
    pub fn scale(&self) -> Scale {
        self.scale
    }
}
